"""`prowess trust`: what is trusted is shown before it is, and can be taken back."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.files import skill_digest
from prowess.cli import main
from prowess.session import Trust
from prowess.skill._integrity import integrity_digest
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = time.strftime("%Y-%m-%d", time.gmtime())
TRUSTED = "trusted: its tools and scripts may be used until a file in its folder changes\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with a skill with tools and scripts, one without, and a user skill."""
    top = tmp_path.resolve() / "project"
    (top / ".git").mkdir(parents=True)
    pdf = skill(
        top / ".agents/skills/pdf",
        more="allowed-tools: Read, Bash(git:*)\ntools:\n- type: shell\n  command: fill\n- type: http\n",
    ).parent
    (pdf / "scripts").mkdir()
    (pdf / "scripts/fill.py").write_text("print(1)\n")
    (pdf / "scripts/old").symlink_to("fill.py")
    (pdf / "run").write_text("#!/bin/sh\n")
    (pdf / "run").chmod(0o755)
    skill(top / ".agents/skills/xls")
    skill(tmp_path / "home/.agents/skills/mine")
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path.resolve() / "config"))
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    return top


def where(project: Path) -> list[str]:
    return ["--cwd", str(project), "--home", str(project.parent / "home")]


def run(project: Path, *arguments: str) -> int:
    return main(["trust", *arguments, *where(project)])


def data(project: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert run(project, *arguments, "--json") == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def folder(project: Path, name: str = "pdf") -> Path:
    return project / ".agents/skills" / name


def shown(project: Path, before: str = "") -> str:
    return f"""\
pdf
  path     {folder(project)}/SKILL.md
  scope    project
  digest   {skill_digest(str(folder(project)))}
  tools    2
    {{"type": "shell", "command": "fill"}}
    {{"type": "http"}}
  allowed  Read, Bash(git:*): a client may skip asking for these; Prowess grants nothing
  scripts  3
    run
    scripts/fill.py
    scripts/old
{before}"""


# ── trusting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_skill_is_shown_before_it_is_trusted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Path, scope, digest, tools, what it would like and what may be run; then it is on record, without a question."""
    assert run(project, "pdf") == 0
    assert capsys.readouterr() == (shown(project), TRUSTED)
    (row,) = Trust().all()
    assert row.as_dict() == {
        "seal": integrity_digest(str(folder(project))),
        "name": "pdf",
        "path": str(folder(project)),
        "since": DAY,
    }


def test_a_skill_that_wants_nothing_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every line is printed."""
    assert run(project, "xls") == 0
    assert (
        capsys.readouterr().out
        == f"""\
xls
  path     {folder(project, "xls")}/SKILL.md
  scope    project
  digest   {skill_digest(str(folder(project, "xls")))}
  tools    none
  allowed  none
  scripts  none
"""
    )


def test_tools_that_are_text_are_shown_as_they_are(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Published skills write them so."""
    skill(folder(project, "xls"), more="tools: Read, Grep\n")
    assert run(project, "xls") == 0
    assert "  tools    1\n    Read, Grep\n" in capsys.readouterr().out


def test_trusting_it_again_says_since_when(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And changes nothing."""
    run(project, "pdf")
    capsys.readouterr()
    assert run(project, "pdf") == 0
    assert capsys.readouterr() == (shown(project), f"already trusted, since {DAY}\n")


def test_a_changed_skill_says_that_it_has_changed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before it is trusted anew."""
    run(project, "pdf")
    (folder(project) / "scripts/fill.py").write_text("print(2)\n")
    capsys.readouterr()
    assert run(project, "pdf") == 0
    assert capsys.readouterr() == (shown(project, f"  before   trusted on {DAY}, changed since then\n"), TRUSTED)


@pytest.mark.parametrize(
    "name", ["pdf", "PDF", "project:pdf", "./.agents/skills/pdf", ".agents/skills/pdf/SKILL.md", "{digest}", "{short}"]
)
def test_a_skill_has_many_names(name: str, project: Path) -> None:
    """Those that `why` takes."""
    digest = skill_digest(str(folder(project))) or ""
    assert run(project, name.format(digest=digest, short=digest[7:15])) == 0
    assert [row.path for row in Trust().all()] == [str(folder(project))]


@pytest.mark.parametrize("name", ["lib/zip", "lib/zip/SKILL.md", "{}/lib/zip"])
def test_a_skill_in_any_folder_is_trusted_by_its_path(
    name: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also in a folder that no agent searches; skills of `--skill-dir` need trust as well."""
    skill(project / "lib/zip")
    shown = data(project, name.format(project), capsys=capsys)
    assert (shown["name"], shown["scope"], shown["path"]) == ("zip", "extra", f"{project}/lib/zip/SKILL.md")
    assert [row.path for row in Trust().all()] == [f"{project}/lib/zip"]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_skill_of_one_s_own_needs_no_trust(
    form: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message says so, the exit code is 0, and nothing is recorded."""
    assert run(project, "mine", *form) == 0
    out, err = capsys.readouterr()
    if form:
        shown = json.loads(out)
        assert (shown["needed"], shown["trusted"], shown["seal"], shown["scripts"]) == (False, True, None, None)
        assert err == ""
    else:
        assert (out, err) == ("", "`mine` needs no trust: its scope is `user`; nothing recorded\n")
    assert not os.path.exists(os.environ["PROWESS_CONFIG_DIR"])


def test_json_has_all_that_is_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the seal; no words beside it."""
    wanted = {
        "name": "pdf",
        "path": f"{folder(project)}/SKILL.md",
        "scope": "project",
        "needed": True,
        "trusted": True,
        "since": DAY,
        "digest": skill_digest(str(folder(project))),
        "seal": integrity_digest(str(folder(project))),
        "tools": [{"type": "shell", "command": "fill"}, {"type": "http"}],
        "allowed_tools": ["Read", "Bash(git:*)"],
        "scripts": ["run", "scripts/fill.py", "scripts/old"],
    }
    assert data(project, "pdf", capsys=capsys) == wanted
    assert data(project, "pdf", capsys=capsys) == wanted


# ── what cannot be trusted ───────────────────────────────────────────────────────────────────────────────────────────

UNTRUSTABLE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a link that leads out": (
        lambda top: (top / "lib").symlink_to("../../../lib"),
        "the link `lib` leads out of the skill",
        "put the file itself into the skill",
    ),
    "a FIFO": (
        lambda top: os.mkfifo(top / "pipe"),
        "`pipe` is not a file, folder or link",
        "remove it from the skill",
    ),
    "a skill that is rejected": (
        lambda top: (top / "SKILL.md").write_text("---\nname: pdf\n---\n"),
        "its description is missing",
        "`prowess check` says what to fix",
    ),
    "a SKILL.md that is a FIFO": (
        lambda top: ((top / "SKILL.md").rename(top / "x"), os.mkfifo(top / "SKILL.md"))[1],  # type: ignore[func-returns-value]
        "it is a FIFO, not a regular file",
        "`prowess check` says what to fix",
    ),
}


@pytest.mark.parametrize("what", UNTRUSTABLE)
@pytest.mark.parametrize("form", [[], ["--json"], ["--yes"]])
def test_an_untrustworthy_skill_is_an_error(
    what: str, form: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the reason and a hint, and nothing is recorded, even with `--yes`."""
    make, why, hint = UNTRUSTABLE[what]
    make(folder(project))
    assert run(project, "pdf", *form) == 1
    assert capsys.readouterr() == ("", f"error: cannot trust `pdf`: {why}\n\nhint: {hint}\n")
    assert Trust().all() == ()


@pytest.mark.parametrize("option", [[], ["--list"], ["--remove"]])
def test_an_invalid_record_is_an_error(option: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It stays as it is."""
    file = Path(os.environ["PROWESS_CONFIG_DIR"], "trust.json")
    file.parent.mkdir(mode=0o700)
    file.write_text("{}")
    file.chmod(0o600)
    assert run(project, *option, *([] if option == ["--list"] else ["pdf"])) == 2
    assert capsys.readouterr() == (
        "",
        f"""\
error: the trust record is invalid: {file}: it is not a trust record

hint: fix or remove it, then trust your skills again with `prowess trust SKILL`
""",
    )
    assert file.read_text() == "{}"


NAME_ONE = """\
name one skill to trust, or use `--list` or `--remove SKILL`

hint: run `prowess trust --help` for its options"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pfd"], "no skill is called `pfd` for host `prowess`\n\nhint: did you mean `pdf`?"),
        ([""], "no skill is called `` for host `prowess`\n\nhint: `prowess list` shows all skills"),
        (["pdf", "--host", "cdx"], "unknown host `cdx`\n\nhint: did you mean `codex`?"),
        *[
            (
                arguments,
                NAME_ONE,
            )
            for arguments in ([], ["pdf", "--list"], ["pdf", "--remove", "pdf"], ["--list", "--remove", "x"])
        ],
        (["--remove", "pdf"], "`pdf` is not a trusted skill\n\nhint: `prowess trust --list` shows all"),
        (["--remove", "zzz"], "`zzz` is not a trusted skill\n\nhint: `prowess trust --list` shows all"),
        (["--remove", "mine"], "`mine` is not a trusted skill\n\nhint: `prowess trust --list` shows all"),
        (["--remove", "a\x1b[2J"], "`a\\x1b[2J` is not a trusted skill\n\nhint: `prowess trust --list` shows all"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_wrong_use_is_an_error(
    arguments: list[str], message: str, form: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing on stdout, nothing recorded."""
    assert run(project, *arguments, *form) == 2
    assert capsys.readouterr() == ("", f"error: {message}\n")
    assert Trust().all() == ()


def test_hostile_words_cannot_touch_the_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tools, names of scripts and the skill's own name are written with escapes; in JSON too, and in the list."""
    bad = folder(project, "bad\x1b[2Jone")
    skill(bad, '"x\\e[2J\\u202Ey"', more='allowed-tools: "a\\e[2Jb"\ntools:\n- "k\\e[2J": "\\u202Ev"\n')
    (bad / "scripts").mkdir()
    (bad / "scripts/s\x1b[2J\u202e\n.sh").write_text("")
    for form in ([], ["--json"]):
        assert run(project, str(bad), *form) == 0
        assert run(project, "--list", *form) == 0
        out, err = capsys.readouterr()
        assert not {"\x1b", "\u202e"} & set(out + err)
    assert run(project, "--remove", str(bad)) == 0
    assert not {"\x1b", "\u202e"} & set("".join(capsys.readouterr()))


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "code"),
    [("y\n", 0), ("YES\n", 0), (" yes \n", 0), ("n\n", 1), ("\n", 1), ("", 1), ("yo\n", 1), ("no yes\n", 1)],
)
def test_on_a_terminal_it_asks(
    answer: str, code: int, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After all is shown; whatever is not a yes is a no, and so is the end."""
    out = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stdout", out)
    assert run(project, "pdf") == code
    assert out.getvalue() == shown(project)
    assert capsys.readouterr().err == "trust this skill? [y/N]\n" + ("nothing recorded\n" if code else TRUSTED)
    assert len(Trust().all()) == (code == 0)


@pytest.mark.parametrize("option", ["--yes", "-y", "--json"])
def test_it_does_not_ask_with_yes_or_json(
    option: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor without a terminal at both ends, nor if it is already trusted."""
    monkeypatch.setattr(sys, "stdin", Terminal())
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Terminal())
        assert run(project, "pdf", option) == 0
        assert run(project, "pdf") == 0
    assert run(project, "xls") == 0
    assert "[y/N]" not in capsys.readouterr().err
    assert len(Trust().all()) == 2


def test_a_skill_that_changes_before_confirmation_is_not_trusted(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The yes was to something else."""

    class Slow(Terminal):
        def readline(self, *_: object) -> str:  # type: ignore[override]
            (folder(project) / "scripts/fill.py").write_text("print(2)\n")
            return "y\n"

    monkeypatch.setattr(sys, "stdin", Slow())
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert run(project, "pdf") == 1
    assert capsys.readouterr().err == (
        "trust this skill? [y/N]\n"
        "error: `pdf` is not trusted: it has changed since it was shown\n\nhint: review it again\n"
    )
    assert Trust().all() == ()


def test_what_is_shown_is_what_is_trusted(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A skill that looks harmless while it is shown, and changes back, shows its tools."""
    from prowess.cli import trust
    from prowess.skill import load

    file = folder(project) / "SKILL.md"
    text, digest = file.read_text(), skill_digest(str(folder(project)))

    def load_meanwhile(path: str, **options: Any) -> Any:
        file.write_text("---\nname: pdf\ndescription: d\n---\n")
        try:
            return load(path, **options)
        finally:
            file.write_text(text)

    monkeypatch.setattr(trust, "load", load_meanwhile)
    assert run(project, "pdf", "--yes") == 0
    shown = capsys.readouterr().out
    assert "  tools    2\n" in shown
    assert f"  digest   {digest}\n" in shown


def test_trust_as_a_process(project: Path) -> None:
    """Without a terminal or without stdin it does not ask; with a terminal it does."""
    command = [sys.executable, "-m", "prowess", "trust", "pdf", *where(project)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, shown(project), TRUSTED)
    assert main(["trust", "--remove", "pdf", *where(project)]) == 0
    done = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, TRUSTED)
    assert main(["trust", "--remove", "pdf", *where(project)]) == 0
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        os.write(ours, b"n\n")
        assert process.stderr is not None
        assert process.stderr.read() == "trust this skill? [y/N]\nnothing recorded\n"
    os.close(ours)
    assert process.returncode == 1


# ── what is on record ────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_empty_list_is_valid(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing on stdout; stderr has the path of the record."""
    file = f"{os.environ['PROWESS_CONFIG_DIR']}/trust.json"
    assert run(project, "--list") == 0
    assert capsys.readouterr() == ("", f"0 trusted skills, recorded in {file}\n")
    assert data(project, "--list", capsys=capsys) == {"file": file, "trusted": []}


def test_the_list_marks_changed_and_missing_skills(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each by its own folder, in the order of names."""
    skill(folder(project, "csv"))
    for name in ("xls", "pdf", "csv"):
        run(project, name)
    rows = {row.name: row for row in Trust().all()}
    shutil.rmtree(folder(project, "csv"))
    (folder(project, "xls") / "SKILL.md").chmod(0o600)
    capsys.readouterr()
    assert run(project, "--list") == 0
    start = {name: row.digest[:15] for name, row in rows.items()}
    file = f"{os.environ['PROWESS_CONFIG_DIR']}/trust.json"
    assert capsys.readouterr() == (
        f"""\
SKILL  STATE    SINCE       INTEGRITY        FOLDER
csv    gone     {DAY}  {start["csv"]}  {folder(project, "csv")}
pdf    trusted  {DAY}  {start["pdf"]}  {folder(project)}
xls    changed  {DAY}  {start["xls"]}  {folder(project, "xls")}
""",
        f"3 trusted skills, 2 changed or gone, recorded in {file}\n",
    )
    states = {"csv": "gone", "pdf": "trusted", "xls": "changed"}
    assert data(project, "--list", capsys=capsys) == {
        "file": file,
        "trusted": [{**rows[name].as_dict(), "state": state} for name, state in states.items()],
    }


@pytest.mark.parametrize("name", ["pdf", "project:pdf", "{folder}", ".agents/skills/pdf", "{seal}", "{letters}"])
def test_a_skill_is_trusted_no_longer(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its name here, or as in the record; reported on stderr."""
    run(project, "pdf")
    run(project, "xls")
    row = Trust().all()[0]
    capsys.readouterr()
    assert run(project, "--remove", name.format(folder=row.path, seal=row.digest, letters=row.digest[7:15])) == 0
    assert capsys.readouterr() == ("", f"no longer trusted: `pdf` in {folder(project)}\n")
    assert [row.name for row in Trust().all()] == ["xls"]


@pytest.mark.parametrize("name", ["pdf", "{folder}", "{folder}/SKILL.md", "{seal}"])
def test_a_deleted_skill_can_be_removed(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From any folder."""
    run(project, "pdf")
    (row,) = Trust().all()
    shutil.rmtree(row.path)
    capsys.readouterr()
    reference = name.format(folder=row.path, seal=row.digest)
    assert data(project, "--remove", reference, capsys=capsys) == {"removed": [row.as_dict()]}
    assert Trust().all() == ()


def test_another_project_s_skill_of_that_name_stays(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The name refers to the skill of this project, which is not trusted."""
    run(project, "pdf")
    other = project.parent / "other"
    (other / ".git").mkdir(parents=True)
    skill(other / ".agents/skills/pdf")
    capsys.readouterr()
    assert run(other, "--remove", "pdf") == 2
    assert capsys.readouterr().err.startswith("error: `pdf` is not a trusted skill\n")
    assert len(Trust().all()) == 1


def test_the_page_shows_a_list_as_it_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Except days and digests."""
    page = (Path(__file__).parents[2] / "docs/commands/trust.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```text\n\$ prowess trust --list\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    home = project.parent
    for name in ("csv-profile", "python-traceback"):
        skill(folder(project, name))
        run(project, name)
    skill(folder(project, "python-traceback"), description="Another one.")
    capsys.readouterr()
    assert run(project, "--list") == 0
    printed = "".join(capsys.readouterr()).replace(str(home / "config"), "/home/ada/.config/prowess")
    varying = re.compile(r"(?<=trust1:)[0-9a-f]{8}|\d{4}-\d\d-\d\d")
    assert varying.sub("", printed.replace(str(home), "/home/ada")) == varying.sub("", example)
