"""`prowess mount`: skills come into a home, all of them or none, and go again."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import prowess
from prowess._internal.files import skill_digest
from prowess.cli import main
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable


MOUNT = import_module("prowess.mount._apply")


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with two skills that agents find, and three in other folders."""
    top = tmp_path.resolve()
    project = top / "project"
    (project / ".git").mkdir(parents=True)
    pdf = skill(project / ".agents/skills/pdf", "pdf", "Fills forms.").parent
    (pdf / "scripts").mkdir()
    (pdf / "scripts/fill.py").write_text("print(1)\n" * 500)
    skill(project / ".agents/skills/xls", "xls", "Adds up.")
    skill(project / "lib/review", "review", "Reviews.")
    skill(project / "lib/a=b", "a=b", "Odd.")
    (project / "lib/notes.md").write_text("---\nname: my-notes\ndescription: Notes.\n---\nNote.\n")
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(top / "own"))
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    return top


def run(top: Path, *arguments: str, host: str = "claude-code") -> int:
    return main(["mount", *arguments, "--to", str(top / "home"), "--host", host])


def data(top: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert run(top, *arguments, "--json") == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def there(top: Path) -> list[str]:
    """Return all that is in the home."""
    return sorted(str(path.relative_to(top / "home")) for path in (top / "home").rglob("*"))


def names(top: Path, root: str = ".claude/skills") -> set[str]:
    folder = top / "home" / root
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


# ── mounting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_skill_is_reported_on_a_line(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its path and size, and its original name if it was renamed."""
    assert run(top, "pdf", "lib/review/SKILL.md", "notes=lib/notes.md") == 0
    assert capsys.readouterr() == (
        f"""\
mounted `pdf` in {top}/home/.claude/skills/pdf (2 files, 4.6 kB)
mounted `review` in {top}/home/.claude/skills/review (1 file, 50 bytes)
mounted `notes` in {top}/home/.claude/skills/notes (1 file, 46 bytes), renamed from `my-notes`
""",
        "",
    )
    assert there(top) == [
        ".claude",
        ".claude/.prowess-skills.json",
        ".claude/skills",
        ".claude/skills/notes",
        ".claude/skills/notes/SKILL.md",
        ".claude/skills/pdf",
        ".claude/skills/pdf/SKILL.md",
        ".claude/skills/pdf/scripts",
        ".claude/skills/pdf/scripts/fill.py",
        ".claude/skills/review",
        ".claude/skills/review/SKILL.md",
    ]
    notes = top / "home/.claude/skills/notes/SKILL.md"
    assert notes.read_text() == "---\nname: notes\ndescription: Notes.\n---\nNote.\n"


def test_json_lists_exactly_the_mounted_skills(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of the command line."""
    mounted = f"{top}/home/.claude/skills"
    assert data(top, "form=pdf", "xls", capsys=capsys) == {
        "home": f"{top}/home",
        "skills": [
            {
                "name": "form",
                "source": f"{top}/project/.agents/skills/pdf",
                "destination": f"{mounted}/form",
                "files": 2,
                "bytes": 4552,
                "digest": skill_digest(f"{mounted}/form"),
                "renamed_from": "pdf",
            },
            {
                "name": "xls",
                "source": f"{top}/project/.agents/skills/xls",
                "destination": f"{mounted}/xls",
                "files": 1,
                "bytes": 47,
                "digest": skill_digest(f"{top}/project/.agents/skills/xls"),
                "renamed_from": None,
            },
        ],
    }


@pytest.mark.parametrize(
    ("typed", "name", "source"),
    [
        ("pdf", "pdf", ".agents/skills/pdf"),
        ("PDF", "pdf", ".agents/skills/pdf"),
        ("project:pdf", "pdf", ".agents/skills/pdf"),
        ("{digest}", "pdf", ".agents/skills/pdf"),
        ("form=pdf", "form", ".agents/skills/pdf"),
        ("lib=xls", "lib", ".agents/skills/xls"),
        ("lib/review", "review", "lib/review"),
        ("lib/review/", "review", "lib/review"),
        ("./lib/review", "review", "lib/review"),
        ("{top}/project/lib/review", "review", "lib/review"),
        ("~/../project/lib/review", "review", "lib/review"),
        ("lib/review/SKILL.md", "review", "lib/review"),
        ("x=lib/review/SKILL.md", "x", "lib/review"),
        ("lib=lib/review", "lib", "lib/review"),
        ("lib/notes.md", "notes", "lib/notes.md"),
        ("n=lib/notes.md", "n", "lib/notes.md"),
        ("n=lib/a=b", "n", "lib/a=b"),
        ("n=./lib/a=b/SKILL.md", "n", "lib/a=b"),
    ],
)
def test_a_skill_is_named_in_many_ways(
    typed: str, name: str, source: str, top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its path, by what `activate` takes, and under another name."""
    digest = (skill_digest(f"{top}/project/.agents/skills/pdf") or "")[7:19]
    (row,) = data(top, typed.format(top=top, digest=digest), "--no-validate", capsys=capsys)["skills"]
    assert (row["name"], row["source"]) == (name, f"{top}/project/{source}")
    assert names(top) == {name}


def test_an_existing_file_is_a_path(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the name of a skill; also if it contains a `=`."""
    monkeypatch.chdir(top / "project/lib")
    skill(top / "project/lib/pdf", "pdf", "Another.")
    assert run(top, "pdf", "review", "notes.md") == 0
    assert "Another." in (top / "home/.claude/skills/pdf/SKILL.md").read_text()
    assert run(top, "a=b", "--no-validate") == 1
    assert run(top, "ab=a=b", "--no-validate") == 0


def test_paths_are_relative_to_the_working_directory_that_is_named(
    top: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So is the home."""
    monkeypatch.chdir("/")
    assert main(["mount", "pdf", "lib/review", "--cwd", str(top / "project"), "--to", "out", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["home"] == f"{top}/project/out"
    assert [row["destination"] for row in shown["skills"]] == [
        f"{top}/project/out/.prowess/skills/pdf",
        f"{top}/project/out/.prowess/skills/review",
    ]


@pytest.mark.parametrize("home", ["~/x", "{top}/own/x"])
def test_the_home_may_begin_with_a_tilde(home: str, top: Path) -> None:
    """As in `--to=~/x`, which not every shell writes out."""
    assert main(["mount", "pdf", f"--to={home.format(top=top)}", "--host", "codex"]) == 0
    assert (top / "own/x/.codex/skills/pdf/SKILL.md").is_file()


def test_names_are_those_that_prowess_sees(top: Path) -> None:
    """The agent does not have to find the skill where it is now; `--skill-dir` is searched."""
    assert run(top, "pdf", "review", "--skill-dir", "lib") == 0
    assert names(top) == {"pdf", "review"}


def test_a_name_that_leads_to_a_link_mounts_its_target(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If it is named; a path to it is refused, as every link that is given."""
    (top / "project/.agents/skills/review").symlink_to("../../lib/review")
    (row,) = data(top, "review", capsys=capsys)["skills"]
    assert row["source"] == f"{top}/project/lib/review"
    assert run(top, ".agents/skills/review") == 1
    assert capsys.readouterr().err == (
        f"error: `{top}/project/.agents/skills/review` is a link\n\n"
        f"hint: give its target instead: {top}/project/lib/review\n"
    )


def test_mounting_again_replaces_a_mounted_skill(top: Path) -> None:
    """And leaves all else as it is."""
    run(top, "pdf", "xls")
    skill(top / "project/.agents/skills/pdf", "pdf", "Changed.")
    assert run(top, "pdf") == 0
    assert "Changed." in (top / "home/.claude/skills/pdf/SKILL.md").read_text()
    assert names(top) == {"pdf", "xls"}


def test_without_validation_invalid_skills_are_mounted(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Links, limits and names are still checked."""
    (top / "project/lib/review/SKILL.md").write_text("no front matter\n")
    assert run(top, "lib/review", "--no-validate") == 0
    (top / "project/lib/review/more.md").symlink_to("SKILL.md")
    capsys.readouterr()
    assert run(top, "lib/review", "--no-validate") == 1
    assert capsys.readouterr() == (
        "",
        f"error: {top}/project/lib/review: `more.md` is a link\n\nhint: replace it with the file itself\n",
    )


@pytest.mark.parametrize(
    ("count", "shown"),
    [(1, "1 byte"), (999, "999 bytes"), (1_000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB")],
)
def test_sizes_are_short(count: int, shown: str) -> None:
    """And never `1000.0 kB`."""
    from prowess.cli.mount import _format_size

    assert _format_size(count) == shown


# ── what is not mounted ──────────────────────────────────────────────────────────────────────────────────────────────


def test_all_problems_are_reported_together(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names, paths, rules and conflicts, each with a hint; nothing is mounted."""
    skill(top / "home/.claude/skills/xls", "xls", "Made by hand.")
    before = there(top)
    skill(top / "project/lib/review", "reviews", "Reviews.")
    (top / "project/lib/review/link").symlink_to("SKILL.md")
    assert run(top, "pfd", "pdf", "xls", "lib/review", "lib/nope", "A=pdf") == 2
    lib = f"{top}/project/lib"
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        err
        == f"""\
error: 6 problems; nothing was mounted:
  no skill is called `pfd` for host `prowess` (did you mean `pdf`?)
  {top}/project/.agents/skills/xls: `{top}/home/.claude/skills/xls` already exists, and Prowess did not mount it \
(move it away, or mount the skill under another name: `NAME=PATH`)
  {lib}/review/SKILL.md:2: the name `reviews` differs from the folder name `review` \
(write `name: review`, or rename the folder to `reviews`)
  {lib}/review: `link` is a link (replace it with the file itself)
  no such file or folder: `{lib}/nope` (check the path)
  {top}/project/.agents/skills/pdf: `A` is not a valid skill name (use lower case letters, digits and single hyphens \
between them)

hint: fix all of them, then try again
"""
    )
    assert there(top) == before


def test_an_ambiguous_name_is_reported_with_the_other_problems(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The candidates are listed below it."""
    for part in ("a", "b"):
        (skill(top / f"project/.agents/skills/{part}", part, f"Part {part}.")).write_text("---\nname: twin\n---\n")
    assert run(top, "twin", "lib/nope") == 2
    shown = capsys.readouterr().err.splitlines()
    assert shown[:2] == [
        "error: 2 problems; nothing was mounted:",
        "  `twin` matches 2 skills:",
    ]
    assert shown[2:4] == [
        f"    project:twin  {top}/project/.agents/skills/{part}/SKILL.md{end}"
        for part, end in (("a", ""), ("b", " (use the path of one of them)"))
    ]
    assert shown[4] == f"  no such file or folder: `{top}/project/lib/nope` (check the path)"


def test_a_skill_that_cannot_be_selected_is_not_mounted_by_name(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For example a rejected one; its path still mounts it."""
    (top / "project/.agents/skills/pdf/SKILL.md").write_text("---\nname: pdf\n---\nDo it.\n")
    assert run(top, "pdf") == 1
    assert capsys.readouterr() == (
        "",
        """\
error: the skill `pdf` is rejected: its description is missing

hint: `prowess why pdf` says why; to mount it anyway, give its path
""",
    )
    assert run(top, ".agents/skills/pdf", "--no-validate") == 0


def _by_hand(top: Path) -> None:
    skill(top / "home/.claude/skills/pdf")


def _changed(top: Path) -> None:
    run(top, "pdf")
    (top / "home/.claude/skills/pdf/mine.txt").write_text("mine")


CONFLICTS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "made by hand": (
        _by_hand,
        "already exists, and Prowess did not mount it",
        "move it away, or mount the skill under another name: `NAME=PATH`",
    ),
    "changed": (
        _changed,
        "has changed since it was mounted",
        "copy what you need from it, then remove the folder",
    ),
}


@pytest.mark.parametrize("what", CONFLICTS)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_users_own_files_are_not_changed(
    what: str, form: list[str], top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing else is mounted beside it."""
    make, why, hint = CONFLICTS[what]
    make(top)
    before = there(top)
    capsys.readouterr()
    assert run(top, "xls", "pdf", *form) == 1
    source, target = f"{top}/project/.agents/skills/pdf", f"{top}/home/.claude/skills/pdf"
    assert capsys.readouterr() == ("", f"error: {source}: `{target}` {why}\n\nhint: {hint}\n")
    assert there(top) == before


NO_FOLDER = (
    "the host `wink` has no folder for its user's skills\n\nhint: `prowess hosts` shows the folders of each host"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pfd"], "no skill is called `pfd` for host `prowess`\n\nhint: did you mean `pdf`?"),
        (["=pdf"], None),
        (["x="], "no skill is called `` for host `prowess`\n\nhint: `prowess list` shows all skills"),
        ([""], "no skill is called `` for host `prowess`\n\nhint: `prowess list` shows all skills"),
        (["lib/nope"], "no such file or folder: `{top}/project/lib/nope`\n\nhint: check the path"),
        (["lib/no\x1b[2J"], "no such file or folder: `{top}/project/lib/no\\x1b[2J`\n\nhint: check the path"),
        (["pdf", "--host", "cdx"], "unknown host `cdx`\n\nhint: did you mean `codex`?"),
        (["pdf", "--host", "wink"], NO_FOLDER),
        (["--remove", "--host", "wink"], NO_FOLDER),
        (
            ["pdf", "--to", ""],
            (
                "missing option `--to`: the home directory to mount into\n\nhint: `prowess mount SKILL --to DIR`, "
                "or `prowess mount SKILL --project` to mount into the project"
            ),
        ),
        (
            ["--remove", "--to", ""],
            (
                "missing option `--to`: the home directory to mount into\n\nhint: `prowess mount --remove --to DIR`, "
                "or `prowess mount --remove --project` to mount into the project"
            ),
        ),
        (["pdf", "--to", "lib/notes.md"], "`--to` is not a folder: {top}/project/lib/notes.md\n\nhint: check the path"),
        (["pdf", "--cwd", "/nope"], "`--cwd` is not a folder: /nope\n\nhint: check the path"),
        (["pdf", "--home", "/nope"], "`--home` is not a folder: /nope\n\nhint: check the path"),
        ([], "no skill to mount\n\nhint: `prowess mount SKILL --to DIR`"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_wrong_use_is_an_error(
    arguments: list[str], message: str | None, form: list[str], top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing on stdout, nothing mounted. An invalid name is a failure, wherever it comes from."""
    host = [] if "--host" in arguments else ["--host", "claude-code"]
    code = main(["mount", "--to", str(top / "home"), *host, *arguments, *form])
    if message is None:
        code, message = code + 1, "{top}/project/.agents/skills/pdf: the skill name is empty\n\nhint: " + EMPTY_NAME
    assert (code, *capsys.readouterr()) == (2, "", f"error: {message}\n".replace("{top}", str(top)))
    assert not (top / "home").exists()


EMPTY_NAME = "use lower case letters, digits and single hyphens between them"


def test_the_home_is_required(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no default, so that users do not mount into their own home by accident."""
    assert main(["mount", "pdf"]) == 2
    assert capsys.readouterr() == (
        "",
        (
            "error: missing option `--to`: the home directory to mount into\n\nhint: `prowess mount SKILL --to DIR`, "
            "or `prowess mount SKILL --project` to mount into the project\n"
        ),
    )
    assert not (top / "own").exists()


def test_help_explains_names_and_paths(capsys: pytest.CaptureFixture[str]) -> None:
    """And how it is mounted under another name."""
    assert main(["mount", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        "usage: prowess mount [-h] [--color WHEN] [--to DIR] [--project] [--host NAME] [--remove]\n"
    )
    assert "Copy skills to where an agent finds them: all of them, or none if one fails\n" in shown
    assert "NAME=SKILL mounts the skill under another name." in shown


# ── removing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_all_that_was_mounted_is_removed(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For that agent; the user's own files and their folders stay."""
    run(top, "pdf", "lib/review")
    run(top, "pdf", host="codex")
    skill(top / "home/.claude/skills/own")
    capsys.readouterr()
    assert run(top, "--remove") == 0
    assert capsys.readouterr() == (
        f"removed `pdf` from {top}/home/.claude/skills/pdf\nremoved `review` from {top}/home/.claude/skills/review\n",
        "",
    )
    assert there(top) == [
        ".claude",
        ".claude/skills",
        ".claude/skills/own",
        ".claude/skills/own/SKILL.md",
        ".codex",
        ".codex/.prowess-skills.json",
        ".codex/skills",
        ".codex/skills/pdf",
        ".codex/skills/pdf/SKILL.md",
        ".codex/skills/pdf/scripts",
        ".codex/skills/pdf/scripts/fill.py",
    ]


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        (["form"], {"xls", "review", "notes"}),
        (["form=pdf"], {"xls", "review", "notes"}),
        (["form=anything"], {"xls", "review", "notes"}),
        (["pdf"], {"xls", "review", "notes"}),
        (["project:pdf", "xls"], {"review", "notes"}),
        ([".agents/skills/pdf"], {"xls", "review", "notes"}),
        ([".agents/skills/pdf/SKILL.md", "form"], {"xls", "review", "notes"}),
        (["lib/notes.md", "lib/review/"], {"form", "xls"}),
        (["{top}/link/lib/review"], {"form", "xls", "notes"}),
    ],
)
def test_named_skills_are_removed(typed: list[str], left: set[str], top: Path) -> None:
    """By the name it was mounted under, or by what it was mounted from."""
    (top / "link").symlink_to("project")
    assert run(top, "form=pdf", "xls", "lib/review", "lib/notes.md") == 0
    assert run(top, "--remove", *(text.format(top=top) for text in typed)) == 0
    assert names(top) == left


def test_a_skill_whose_source_is_deleted_can_be_removed(top: Path) -> None:
    """By its path as by its name."""
    assert run(top, "lib/review", "lib/notes.md") == 0
    (top / "project/lib/review/SKILL.md").unlink()
    (top / "project/lib/review").rmdir()
    (top / "project/lib/notes.md").unlink()
    assert run(top, "--remove", "lib/review/SKILL.md", "notes") == 0
    assert names(top) == set()


def test_a_source_behind_a_link_that_cannot_be_read_is_not_mounted_there(
    top: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `/proc/1/root`; it is an error of the user, not a bug."""
    assert run(top, "lib/review") == 0
    (top / "project/link").symlink_to(top)

    def refuse(path: Any, **_options: Any) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "readlink", refuse)
    assert run(top, "--remove", "./link") == 2
    assert "was not mounted in" in capsys.readouterr().err


def test_a_repository_is_not_mounted(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (top / "project/lib/review/.GIT/hooks").mkdir(parents=True)
    assert run(top, "lib/review") == 1
    out, err = capsys.readouterr()
    assert (out, there(top)) == ("", [])
    assert "`.GIT` is a repository\n\nhint: remove it, or copy the skill without it" in err


def test_json_lists_the_removed_skills(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty list is one, too."""
    run(top, "pdf")
    capsys.readouterr()
    removed = [{"name": "pdf", "destination": f"{top}/home/.claude/skills/pdf"}]
    assert data(top, "--remove", "pdf", capsys=capsys) == {"home": f"{top}/home", "removed": removed}
    assert data(top, "--remove", capsys=capsys) == {"home": f"{top}/home", "removed": []}


def test_a_home_without_mounted_skills_is_reported(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to remove is not an error, and no files are created."""
    assert run(top, "--remove") == 0
    assert capsys.readouterr() == ("", f"no mounted skills in {top}/home/.claude/skills\n")
    assert not (top / "home").exists()


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_unmounted_skill_cannot_be_removed(form: list[str], top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of it is reported, and nothing is removed."""
    run(top, "pdf", "xls")
    skill(top / "home/.claude/skills/own")
    capsys.readouterr()
    assert run(top, "--remove", "pfd", "pdf", "lib/review", "own", "n=pdf", *form) == 2
    where = f"was not mounted in {top}/home/.claude/skills"
    assert capsys.readouterr() == (
        "",
        f"""\
error: 4 problems; nothing was removed:
  `pfd` {where} (did you mean `pdf`?)
  `lib/review` {where} (only skills that Prowess mounted can be removed)
  `own` {where} (only skills that Prowess mounted can be removed)
  `n=pdf` {where} (did you mean `pdf`?)

hint: fix all of them, then try again
""",
    )
    assert names(top) == {"pdf", "xls", "own"}


def test_a_changed_skill_is_not_removed(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The user may need it."""
    _changed(top)
    run(top, "xls")
    capsys.readouterr()
    assert run(top, "--remove") == 1
    assert capsys.readouterr() == (
        "",
        f"""\
error: `{top}/home/.claude/skills/pdf` has changed since it was mounted

hint: copy what you need from it, then remove the folder
""",
    )
    assert names(top) == {"pdf", "xls"}


# ── signals ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_the_home_as_it_was(
    number: int, code: int, top: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between two copies, with an older skill to replace; a second signal changes nothing; no message."""
    assert run(top, "pdf") == 0
    skill(top / "project/.agents/skills/pdf", "pdf", "Changed.")
    before = there(top), (top / "home/.claude/skills/pdf/SKILL.md").read_text()
    real, copied = MOUNT.copy_tree, []

    def copy(*arguments: Any) -> Any:
        copied.append(real(*arguments))
        if len(copied) == 2:
            try:
                os.kill(os.getpid(), number)
            finally:
                if number == signal.SIGTERM:
                    os.kill(os.getpid(), number)
        return copied[-1]

    monkeypatch.setattr(MOUNT, "copy_tree", copy)
    capsys.readouterr()
    assert run(top, "pdf", "xls", "lib/review") == code
    assert capsys.readouterr() == ("", "")
    assert (there(top), (top / "home/.claude/skills/pdf/SKILL.md").read_text()) == before
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what a process does with a signal")
def test_a_signal_ends_the_wait_for_another_process(top: Path) -> None:
    """As a separate process, which waits for a locked folder."""
    (top / "home/.claude").mkdir(parents=True)
    lock = os.open(top / "home/.claude", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    command = [sys.executable, "-m", "prowess", "mount", "pdf", "--to", str(top / "home"), "--host", "claude-code"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None:  # until it has come so far as to handle signals, each would just kill it
            status = Path(f"/proc/{process.pid}/status").read_text()
            if int(status.split("SigCgt:")[1].split()[0], 16) >> (signal.SIGTERM - 1) & 1:
                break
            time.sleep(0.01)
        process.terminate()
        assert process.communicate() == (b"", b"")
        assert process.returncode == 143
    os.close(lock)
    assert there(top) == [".claude"]


def test_a_handler_of_the_caller_s_stays(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that runs commands in its own process has its own handlers."""
    caught: list[int] = []
    real = MOUNT.copy_tree

    def copy(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return real(*arguments)

    monkeypatch.setattr(MOUNT, "copy_tree", copy)
    before = signal.signal(signal.SIGTERM, lambda number, _: caught.append(number))
    try:
        assert run(top, "pdf") == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught == [signal.SIGTERM]


def test_another_thread_can_mount(top: Path) -> None:
    """Which cannot handle signals."""
    from threading import Thread

    codes: list[int] = []
    thread = Thread(target=lambda: codes.append(run(top, "pdf")))
    thread.start()
    thread.join()
    assert codes == [0]


# ── into a project ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("host", "folder"),
    [
        ("copilot", ".agents/skills"),
        ("claude-code", ".claude/skills"),
        ("pi", ".agents/skills"),
        ("camel", ".camel/skills"),
    ],
)
def test_a_project_s_folder_is_one_in_which_the_agent_looks(top: Path, host: str, folder: str) -> None:
    project = top / "project"
    assert main(["mount", "lib/review", "--project", "--host", host]) == 0
    assert (project / folder / "review/SKILL.md").is_file()
    seen = prowess.discover(project, host=host, home=top / "own")
    (entry,) = (entry for entry in seen.skills if entry.name == "review")
    assert str(entry.state) == ("untrusted" if host == "pi" else "active")
    assert main(["mount", "--project", "--host", host, "--remove"]) == 0
    assert not (project / folder / "review").exists()
    assert (project / ".agents/skills/pdf").is_dir()


def test_from_a_folder_of_the_project_an_agent_that_looks_upwards_gets_it_at_the_top(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = top / "project"
    monkeypatch.chdir(project / "lib")
    assert main(["mount", "./review", "--project", "--host", "codex"]) == 0
    assert (project / ".agents/skills/review").is_dir()
    # Gemini CLI looks in the working directory only.
    assert main(["mount", "./review", "--project", "--host", "gemini-cli"]) == 0
    assert (project / "lib/.agents/skills/review").is_dir()


def test_a_project_can_be_named(top: Path) -> None:
    assert main(["mount", "lib/review", "--project", "--to", str(top / "other"), "--host", "pi"]) == 0
    assert (top / "other/.agents/skills/review").is_dir()


def test_an_agent_without_a_folder_in_projects_is_an_error(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mount", "lib/review", "--project", "--host", "wink"]) == 2
    assert "no folder for a project's skills" in capsys.readouterr().err


def test_a_folder_that_contains_skills_mounts_all_of_them(top: Path) -> None:
    skill(top / "project/lib/deep/er/tables", "tables", "Adds up.")
    skill(top / "project/lib/deep/er/tables/examples/inner", "inner", "An example.")
    (top / "project/lib/a=b/SKILL.md").unlink()
    assert main(["mount", "lib", "--project", "--host", "codex"]) == 0
    mounted = sorted(path.name for path in (top / "project/.agents/skills").iterdir())
    assert mounted == ["pdf", "review", "tables", "xls"]


def test_a_folder_without_skills_is_an_error(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (top / "project/empty").mkdir()
    assert main(["mount", "./empty", "--project", "--host", "codex"]) == 1
    assert "give the folder that contains SKILL.md" in capsys.readouterr().err
