"""`prowess check`: findings under a policy, in four formats, and repairs on the disk."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog._check import check
from prowess.cli import main
from prowess.findings import CODES
from support.project_commands import run_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GOOD = "---\nname: {0}\ndescription: Does {0}.\n---\nDo it.\n"


def write(top: Path, path: str, text: str | bytes) -> Path:
    file = top / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a repository and a home with one agent, Codex."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "home/.codex").mkdir(parents=True)
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    return top


run = partial(run_in, "check")


def codes(project: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    run(project, *arguments, "--json")
    return [(item["severity"], item["code"]) for item in json.loads(capsys.readouterr().out)["findings"]]


def test_a_valid_skill_has_no_problems(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing on stdout, one line of counts on stderr, exit code 0."""
    write(project, ".agents/skills/pdf/SKILL.md", GOOD.format("pdf"))
    assert run(project) == 0
    assert capsys.readouterr() == ("", "1 skill checked: no problems\ncodex loses none of 1 skill\n")


def test_each_finding_shows_its_place_its_line_and_its_hint(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Findings are sorted by file and line, with a caret under the column."""
    write(project, "skills/a/SKILL.md", "---\nname: b\ndescription: Use: it\n---\nSee [x](no.md), [y](../up.md).\n")
    write(project, "skills/c/SKILL.md", "---\nname: c\n---\nDo it.\n")
    assert run(project, ".") == 1
    out, err = capsys.readouterr()
    assert out == (
        "skills/a/SKILL.md:2:1: warning: the name `b` differs from the folder name `a` [name-not-folder]\n"
        "  2 | name: b\n"
        "    | ^\n"
        "    hint: write `name: a`, or rename the folder to `b`\n"
        "skills/a/SKILL.md:3:14: warning: the unquoted value contains `: ` [repair-colon]\n"
        "  3 | description: Use: it\n"
        "    |              ^\n"
        "    hint: put the whole value in quotes, or run `prowess check --fix`\n"
        "skills/a/SKILL.md:5:9: warning: the link `no.md` leads to a missing file [link-missing]\n"
        "  5 | See [x](no.md), [y](../up.md).\n"
        "    |         ^\n"
        "    hint: fix the link, or add the file\n"
        "skills/a/SKILL.md:5:21: warning: the link `../up.md` leads out of the skill's folder [link-escapes]\n"
        "  5 | See [x](no.md), [y](../up.md).\n"
        "    |                     ^\n"
        "    hint: move the file into the skill, and link to it there\n"
        "\n"
        "skills/c/SKILL.md:1:1: error: missing `description` [description-missing]\n"
        "  1 | ---\n"
        "    | ^\n"
        "    invisible to codex\n"
        "    hint: add `description:` and say what the skill does and when to use it\n"
    )
    assert err == "2 skills checked: 1 error, 4 warnings\n1 of 1 agent rejects skills: codex 1 of 2\n"


def test_json_is_findings_and_counts(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shape of `--json` is a promise."""
    file = write(project, "a/SKILL.md", "---\nname: b\ndescription: It does.\n---\nDo it.\n")
    assert run(project, "a", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown.pop("evidence")["codex"]["kind"] == "observed"
    view = shown.pop("hosts")[str(file)]["codex"]
    assert [*view] == ["state", "reason", "rule", "winner", "loss"]
    assert (view["state"], view["loss"]["kind"]) == ("absent", "place")
    fingerprint = shown["findings"][0]["fingerprint"]
    assert shown == {
        "findings": [
            {
                "code": "name-not-folder",
                "severity": "warning",
                "path": str(file),
                "line": 2,
                "column": 1,
                "message": "the name `b` differs from the folder name `a`",
                "hint": "write `name: a`, or rename the folder to `b`",
                "agents": [],
                "fingerprint": fingerprint,
            }
        ],
        "counts": {"skills": 1, "error": 0, "warning": 1, "info": 0, "ignored": 0, "baseline": 0},
        "root": str(project),
        "lost": {"codex": 1},
    }
    assert len(fingerprint) == 32


def test_sarif_has_rules_and_escaped_relative_places(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paths are relative to the git root and percent-encoded; there is a rule for each code."""
    write(project, "my skills/é#1/SKILL.md", "---\nname: b\ndescription: It does.\n---\nDo it.\n")
    assert main(["check", ".", "--cwd", str(project / "my skills"), "--format", "sarif"]) == 0
    log: dict[str, Any] = json.loads(capsys.readouterr().out)
    run = log["runs"][0]
    assert (log["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "prowess")
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(CODES)
    assert run["originalUriBaseIds"] == {"SRCROOT": {"uri": f"{project.as_uri()}/"}}
    place = {
        "artifactLocation": {"uri": "my%20skills/%C3%A9%231/SKILL.md", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 2, "startColumn": 1},
    }
    assert run["results"] == [
        {
            "ruleId": "name-not-folder",
            "ruleIndex": list(CODES).index("name-not-folder"),
            "level": "warning",
            "message": {"text": "the name `b` differs from the folder name `é#1`; rename the folder to `b`"},
            "locations": [{"physicalLocation": place}],
            "partialFingerprints": run["results"][0]["partialFingerprints"],
        }
    ]


def test_a_path_cannot_forge_a_workflow_command(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Folder names are escaped as GitHub requires, so that they cannot start a new line."""
    write(project, "a,b:100%\n::error::x/SKILL.md", "---\nname: b\ndescription: It does.\n---\nDo it.\n")
    assert run(project, ".", "--format", "github") == 0
    assert capsys.readouterr().out == (
        "::warning file=a%2Cb%3A100%25%0A%3A%3Aerror%3A%3Ax/SKILL.md,line=2,col=1,title=name-not-folder::"
        "the name `b` differs from the folder name `a,b:100%25\\x0a::error::x`; "
        "rename the folder to `b`\n"
    )


def test_text_output_escapes_what_a_file_contains(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Escape sequences are shown, not sent; a path cannot look like a command at the beginning of a line."""
    write(project, "::error::x/SKILL.md", "---\nname: x\ndescription: a: \x1b[31mred\n---\nDo it.\n")
    run(project, ".", "--quiet", "--strict")
    out, err = capsys.readouterr()
    assert "\x1b" not in out
    assert all(line.startswith(("./::error", "  ")) for line in out.splitlines())
    assert err == ""


def test_policies_differ(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`spec` goes by the letter; `guide` loads what can be loaded; a host rejects what it rejects."""
    write(project, "a/SKILL.md", "---\nname: b\ndescription: It does: all\nmine: 1\n---\nDo it.\n")
    assert codes(project, "a", capsys=capsys) == [
        ("warning", "name-not-folder"),
        ("warning", "repair-colon"),
        ("info", "field-unknown"),
    ]
    assert codes(project, "a", "--policy", "spec", capsys=capsys) == [
        ("error", "name-not-folder"),
        ("error", "repair-colon"),
        ("error", "field-unknown"),
    ]


def test_with_a_host_errors_are_what_it_does_not_load(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each finding is shown once, with the most severe of its severities and the agents that it costs."""
    write(project, "a/SKILL.md", b"\xef\xbb\xbf---\nname: a\ndescription: It does.\n---\nDo it.\n")
    assert run(project, "a", "--host", "codex", "--host", "claude-code", "--host", "gemini-cli") == 1
    out, err = capsys.readouterr()
    assert out.count("[encoding-bom]") == 1
    assert "a/SKILL.md:1:1: error: the file begins with a byte order mark [encoding-bom]" in out
    assert "    invisible to codex, gemini-cli\n" in out
    assert err.splitlines()[-1] == "2 of 3 agents reject skills: codex 1, gemini-cli 1 of 1"
    assert run(project, "a", "--host", "copilot") == (1 if "encoding-bom" in _rejects("copilot") else 0)


def _rejects(host: str) -> tuple[str, ...]:
    from prowess.hosts import load_host

    return load_host(host).reading.rejects


def test_all_skills_below_a_folder_are_checked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hidden folders too; `.git`, `node_modules` and links not."""
    for folder in (".claude/skills/a", ".github/skills/b", "deep/er/c", ".git/d", "x/node_modules/e"):
        write(project, f"{folder}/SKILL.md", GOOD.format(folder[-1]))
    (project / "loop").symlink_to(project)
    assert run(project, ".", "--host", "codex") == 0
    assert capsys.readouterr().err == "3 skills checked: no problems\ncodex rejects none of 3 skills\n"


def test_a_walk_ends(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Past the limit of folders there is a finding, not silence."""
    monkeypatch.setattr("prowess.catalog._check_file.MAX_FOLDERS", 3)
    for number in range(5):
        (project / f"f{number}").mkdir()
    write(project, ".a/SKILL.md", GOOD.format("b"))
    found = codes(project, ".", capsys=capsys)
    assert found == [("warning", "name-not-folder"), ("warning", "folder-limit")]


def test_a_flat_file_is_named_like_a_folder(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`pdf.md` is the same as `pdf/SKILL.md`, also for a host."""
    write(project, "pdf.md", GOOD.format("pdf"))
    assert run(project, "pdf.md", "--policy", "spec") == 0
    assert run(project, "pdf.md", "--host", "claude-code") == 0
    assert capsys.readouterr().err == "1 skill checked: no problems\n" * 2
    write(project, "doc.md", GOOD.format("pdf"))
    assert run(project, "doc.md", "--quiet", "--strict") == 1
    assert "the name `pdf` differs from the file name `doc`" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["empty", "notes.txt"])
def test_a_path_without_skill_is_an_error(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was named, so it is not passed over in silence."""
    (project / "empty").mkdir()
    write(project, "notes.txt", "x")
    assert run(project, name) == 1
    assert "[file-missing]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "no such file or folder: `{project}/nowhere`"),
        (["", "."], "a path is empty"),
        ([".", "--host", "codx"], "unknown host `codx`"),
        (["--format", "xml"], "`--format` cannot be 'xml'\n\nhint: use one of text, json, sarif, github, gitlab"),
        (["a\0b"], "no such file or folder: `{project}/a\\x00b`"),
    ],
)
def test_wrong_use_ends_with_2(
    arguments: list[str], words: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path or host that is not there is the caller's mistake, not the skill's."""
    assert run(project, *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {words.format(project=project)}")


def test_a_folder_that_cannot_be_listed(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named, it is an error; below another one, a warning."""

    def refused(path: str) -> Any:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    scandir = os.scandir
    monkeypatch.setattr("os.scandir", refused)
    write(project, "a/SKILL.md", GOOD.format("a"))
    (project / "closed").mkdir()
    assert codes(project, ".", capsys=capsys) == [("warning", "folder-unreadable")]
    assert codes(project, "closed", capsys=capsys) == [("warning", "folder-unreadable"), ("error", "file-missing")]


def test_a_path_that_is_not_utf8(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its bytes are shown as escapes in every format."""
    write(project, os.fsdecode(b"a\xff/SKILL.md"), GOOD.format("a"))
    assert codes(project, ".", capsys=capsys) == [("warning", "path-not-utf8"), ("warning", "name-not-folder")]
    for form in ("text", "github"):
        run(project, ".", "--format", form)
        assert "a\\xff/SKILL.md" in capsys.readouterr().out
    run(project, ".", "--format", "sarif")
    result = json.loads(capsys.readouterr().out)["runs"][0]["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%FF/SKILL.md"


def test_strict_counts_warnings(project: Path) -> None:
    """What `guide` only warns of fails a strict check."""
    write(project, "a/SKILL.md", GOOD.format("b"))
    assert (run(project, "a"), run(project, "a", "--strict")) == (0, 1)


def test_no_skills_at_all_fail_unless_allowed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A check of nothing must not look like a check that passed."""
    for arguments in ([], ["--host", "codex"], ["--json"], ["--quiet"]):
        assert run(project, *arguments) == 1
        assert run(project, *arguments, "--allow-empty") == 0
    capsys.readouterr()
    run(project)
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == ("", "no skills found")
    assert "--allow-empty" in err


def test_the_same_file_is_checked_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However often and under whatever name it is reached."""
    write(project, "a/SKILL.md", GOOD.format("a"))
    run(project, ".", "a", "a/SKILL.md")
    assert capsys.readouterr().err == "1 skill checked: no problems\ncodex rejects none of 1 skill\n"


def test_an_unreadable_skill_file_is_a_finding(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A FIFO, a folder and a link called SKILL.md neither block nor end the check."""
    for folder in ("a", "b", "c"):
        (project / folder).mkdir()
    os.mkfifo(project / "a" / "SKILL.md")
    (project / "b" / "SKILL.md").mkdir()
    (project / "c" / "SKILL.md").symlink_to("/etc/passwd")
    found = codes(project, ".", capsys=capsys)
    assert found == [("error", "file-not-regular"), ("error", "file-not-regular"), ("error", "file-is-link")]


def test_a_link_inside_a_skill_is_not_followed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output does not show whether a file outside the skill exists."""
    write(project, "a/SKILL.md", GOOD.format("a") + "[x](out/passwd) [y](out/nothing)\n")
    (project / "a" / "out").symlink_to("/etc")
    assert codes(project, "a", capsys=capsys) == []


def test_the_python_function_returns_findings(project: Path) -> None:
    """`check` is what the command runs."""
    write(project, "a/SKILL.md", GOOD.format("b"))
    (found,) = check(project / "a", policy="spec")
    assert (found.code, found.severity, found.path) == ("name-not-folder", "error", str(project / "a" / "SKILL.md"))
    assert check(cwd=project, home=project.parent / "home", hosts=["codex"]) == ()


# ── --fix ────────────────────────────────────────────────────────────────────────────────────────────────────────────

BROKEN = b"\xef\xbb\xbf---  \r\ndescription: Use: it\r\nallowed_tools: Read\r\n--- \r\nbody \r\n"
FIXED = b"---\r\nname: a\r\ndescription: 'Use: it'\r\nallowed-tools: Read\r\n---\r\nbody \r\n"


def test_fix_repairs_the_file_and_nothing_else(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Line ends, body and mode stay; a second time there is nothing to do."""
    file = write(project, "a/skill.md", BROKEN)
    file.chmod(0o640)
    assert run(project, ".", "--fix", "--policy", "spec") == 0
    assert capsys.readouterr() == (
        "",
        (
            "fixed a/SKILL.md: removed the byte order mark, wrote the fences as `---`, quoted values, "
            "wrote `allowed-tools` for `allowed_tools`, added `name: a`, renamed it from `skill.md`\n"
            "1 skill checked: no problems\ncodex rejects none of 1 skill\n"
        ),
    )
    assert os.listdir(project / "a") == ["SKILL.md"]
    fixed_file = project / "a" / "SKILL.md"
    assert (fixed_file.read_bytes(), stat.S_IMODE(fixed_file.stat().st_mode)) == (FIXED, 0o640)
    before = fixed_file.stat()
    assert run(project, ".", "--fix") == 0
    assert capsys.readouterr() == ("", "1 skill checked: no problems\ncodex rejects none of 1 skill\n")
    assert fixed_file.stat().st_ino == before.st_ino


def test_fixes_are_part_of_the_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`fixed` is beside `findings` and `counts`."""
    file = write(project, "a/SKILL.md", "---\nname: a\ndescription: @all\n---\nDo it.\n")
    assert run(project, "a", "--fix", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["fixed"] == [{"path": str(file), "done": ["quoted values"]}]
    assert (shown["findings"], shown["counts"]["skills"]) == ([], 1)


def test_fix_does_not_write_through_links(project: Path) -> None:
    """Neither a linked file nor a linked folder below the path is touched."""
    outside = write(project.parent, "outside/SKILL.md", BROKEN)
    (project / "a").mkdir()
    (project / "a" / "SKILL.md").symlink_to(outside)
    (project / "b").symlink_to(outside.parent)
    assert run(project, ".", "--fix") == 1
    assert outside.read_bytes() == BROKEN


def test_fix_without_path_stays_in_the_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The user's own skills are checked, but fixed only if they are named."""
    mine = write(project.parent, "home/.agents/skills/a/SKILL.md", BROKEN)
    here = write(project, ".agents/skills/a/SKILL.md", BROKEN)
    run(project, "--fix", "--quiet")
    assert (mine.read_bytes(), here.read_bytes()) == (BROKEN, FIXED)
    assert "1 skill outside the project not fixed; to fix one, name its path\n" in capsys.readouterr().err


def test_fix_without_path_takes_no_link_out(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for a linked folder in a directory that the user named."""
    outside = write(project.parent, "outside/a/SKILL.md", BROKEN)
    named = write(project.parent, "named/b/SKILL.md", BROKEN)
    (project.parent / "named" / "a").symlink_to(outside.parent)
    (project / ".claude").mkdir()
    (project / ".claude" / "skills").symlink_to(outside.parent.parent)
    run(project, "--fix", "--host", "claude-code", "--skill-dir", str(project.parent / "named"))
    assert outside.read_bytes() == BROKEN
    assert named.read_bytes() == FIXED.replace(b"name: a", b"name: b")


def test_a_file_that_cannot_be_fixed_is_reported(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without permission is an error with a hint; permissions do not bind root, so the refusal is played."""
    file = write(project, "a/SKILL.md", BROKEN)

    def refuse(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("prowess.skill._fix_file.exchange_names", refuse)
    assert run(project, "a", "--fix") == 1
    assert f"error: cannot fix {file}: permission denied" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: os.link(file, file.parent.parent / "other"), "it is a hard link: it has 2 names"),
        (lambda file: file.chmod(0o444), "it is read-only"),
    ],
    ids=["hard link", "read-only"],
)
def test_a_file_that_fix_would_detach_or_must_not_change_is_reported(
    change: Callable[[Path], None], message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the reason; the other files are fixed."""
    file, other = write(project, "a/SKILL.md", BROKEN), write(project, "b/SKILL.md", BROKEN)
    change(file)
    assert run(project, ".", "--fix") == 1
    assert f"error: cannot fix {file}: {message}" in capsys.readouterr().err
    assert (file.read_bytes(), other.read_bytes()) == (BROKEN, FIXED.replace(b"name: a", b"name: b"))


def test_fix_survives_a_full_disk(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is as it was, nothing is left beside it, and the rest goes on."""

    def full(_fd: int, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("prowess.skill._fix_file.write_all", full)
    file = write(project, "a/SKILL.md", BROKEN)
    assert run(project, "a", "--fix", "--quiet") == 1
    assert (file.read_bytes(), os.listdir(file.parent)) == (BROKEN, ["SKILL.md"])
    assert capsys.readouterr().err == (
        f"error: cannot fix {file}: no space left on device\n\n"
        "hint: fix the permissions of its folder, or free disk space\n"
    )


def test_the_command_line_checks(project: Path) -> None:
    """As a process: data on stdout, words on stderr, exit code 1 for an error."""
    write(project, "a/SKILL.md", "no front matter\n")
    command = [sys.executable, "-m", "prowess", "check", "a", "--cwd", str(project), "--host", "codex"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "1 skill checked: 1 error\n1 of 1 agent rejects skills: codex 1 of 1\n",
    )
    assert done.stdout.startswith("a/SKILL.md:1:1: error: the file does not begin with a `---` line")


# ── which agents lose what ───────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_host_each_finding_names_the_agents_that_it_costs(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All agents on this machine, each finding once, and a last line that counts."""
    for name in (".copilot", ".claude"):
        (project.parent / "home" / name).mkdir()
    write(project, ".agents/skills/release/SKILL.md", "---\nname: release\ndescription: Use when: due\n---\nDo it.\n")
    assert run(project) == 0
    out, err = capsys.readouterr()
    assert out.count("[repair-colon]") == 1
    assert "\n    invisible to copilot\n" in out
    assert err.splitlines()[-1] == "2 of 3 agents lose skills: claude-code 1, copilot 1 of 1"


def test_a_loss_by_place_ends_in_the_command_that_cures_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    write(project, ".claude/skills/pdf/SKILL.md", GOOD.format("pdf"))
    assert run(project, "--host", "codex", "--host", "claude-code") == 0
    assert capsys.readouterr().out == (
        ".claude/skills: 1 skill invisible to codex, which does not search this folder: pdf\n"
        "    prowess mount .claude/skills/pdf --project --host codex\n"
    )
    assert main(["mount", ".claude/skills/pdf", "--project", "--host", "codex"]) == 0
    assert run(project, "--host", "codex", "--host", "claude-code") == 0
    assert capsys.readouterr().err.endswith("none of 2 agents loses a skill\n")


def test_a_path_asks_about_the_text_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A skill of a repository that is published is in no agent's folder."""
    write(project, "skills/pdf/SKILL.md", GOOD.format("pdf"))
    assert run(project, "skills") == 0
    assert capsys.readouterr() == ("", "1 skill checked: no problems\ncodex rejects none of 1 skill\n")


def test_without_a_path_every_skill_of_the_repository_counts(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where no agent looks: at the top, in plugins and in packages."""
    for folder in ("skills/a", "plugins/one/skills/b", "packages/web/.claude/skills/c", "deep/er/skills/d"):
        write(project, f"{folder}/SKILL.md", GOOD.format(folder[-1]))
    assert run(project, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["counts"]["skills"], len(shown["hosts"]), shown["lost"]) == (4, 4, {"codex": 4})


def test_where_no_agent_is_installed_the_observed_ones_are_asked(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in CI; and the last line says so."""
    (project.parent / "home/.codex").rmdir()
    monkeypatch.setenv("PATH", "")
    write(project, ".agents/skills/pdf/SKILL.md", GOOD.format("pdf"))
    assert run(project) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("1 of 10 agents loses skills: claude-code 1 of 1 (no agent found on this machine")


def test_a_linked_skill_file_is_not_read_to_compare(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its target may be any file."""
    (project / "skills/c").mkdir(parents=True)
    secret = write(project.parent, "secret", "---\nname: c\ndescription: A secret.\n---\n")
    (project / "skills/c/SKILL.md").symlink_to(secret)
    run(project, "--json")
    assert "A secret" not in capsys.readouterr().out
