"""`prowess why`: every candidate behind a name, and the rule that decided."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess._internal.files import skill_digest
from prowess.cli import main
from prowess.hosts import host_names
from support.project_commands import json_in, run_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The same name in the project and at home, and a skill that some do not load."""
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    skill(top / ".claude/skills/pdf")
    skill(tmp_path / "home/.claude/skills/pdf", description="The user's own.")
    skill(top / ".agents/skills/release", description="Use when: a release is due")
    skill(top / ".agents/skills/notes", "release-notes")
    return top


run = partial(run_in, "why")
data = partial(json_in, "why")


def test_the_chain_begins_with_the_winner(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """State, place, digest, rule and reason of each candidate, with its findings."""
    users, own = project.parent / "home/.claude/skills", project / ".claude/skills"
    assert run(project, "pdf", "--host", "claude-code") == 0
    assert capsys.readouterr() == (
        f"""\
pdf for Claude Code: 2 candidates

1. active: {users}/pdf/SKILL.md
   name    pdf
   root    {users} (user)
   digest  {skill_digest(str(users / "pdf"))}
   rule    found

2. shadowed: {own}/pdf/SKILL.md
   name    pdf
   root    {own} (project)
   digest  {skill_digest(str(own / "pdf"))}
   rule    name-shadowed
   why     {users}/pdf/SKILL.md wins: user before project
   {own}/pdf/SKILL.md: info: `pdf` is hidden by {users}/pdf/SKILL.md [name-shadowed]
       hint: rename one of the two, or remove it
""",
        "",
    )


def test_a_skill_that_is_not_loaded_has_its_reason(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the finding with its place in the file."""
    root = project / ".agents/skills"
    assert run(project, "release", "--host", "pi") == 0
    assert capsys.readouterr() == (
        f"""\
release for pi: 1 candidate

1. rejected: {root}/release/SKILL.md
   name    release
   root    {root} (project)
   digest  {skill_digest(str(root / "release"))}
   rule    repair-colon
   why     the unquoted value contains `: `
   {root}/release/SKILL.md:3:14: error: the unquoted value contains `: ` [repair-colon]
       hint: put the whole value in quotes, or run `prowess check --fix`
""",
        "",
    )


def test_an_alias_is_shown_with_the_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Claude Code calls a skill by its folder; either name finds it."""
    skill(project / ".claude/skills/sheets", "tables")
    for name in ("sheets", "tables"):
        assert run(project, name, "--host", "claude-code") == 0
        assert "   name    sheets (tables)\n" in capsys.readouterr().out


def test_an_undefined_order_is_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Opencode has no order between two copies."""
    shown = data(project, "pdf", "--host", "opencode", capsys=capsys)["candidates"]
    assert [entry["rule"] for entry in shown] == ["undefined", "undefined"]


def test_json_has_the_rule_of_each_candidate(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The objects of `list --json`, each with its digest and its rule."""
    where = ["--cwd", str(project), "--home", str(project.parent / "home")]
    shown = data(project, "pdf", "--host", "claude-code", capsys=capsys)
    assert list(shown) == ["name", "host", "candidates", "evidence"]
    assert (shown["name"], shown["host"]) == ("pdf", "claude-code")
    assert main(["list", "--host", "claude-code", "--digest", "--json", *where]) == 0
    listed = json.loads(capsys.readouterr().out)["skills"]
    rules = ["found", "name-shadowed"]
    assert shown["candidates"] == [{**entry, "rule": rule} for entry, rule in zip(listed, rules, strict=True)]
    assert [list(entry) for entry in shown["candidates"]] == [[*listed[0], "rule"]] * 2
    assert all(entry["digest"].startswith("sha256:") for entry in shown["candidates"])


@pytest.mark.parametrize("name", ["PDF", "pdf", "project:pdf", "./.claude/skills/pdf", ".claude/skills/pdf/SKILL.md"])
def test_a_skill_has_many_names(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its name in any case, its scope before it, the paths of its folder and file."""
    candidates = data(project, name, capsys=capsys)["candidates"]
    assert candidates[0]["path"] == f"{project}/.claude/skills/pdf/SKILL.md"
    assert len(candidates) == (1 if set(name) & set(":/") else 2)


def test_a_digest_s_beginning_names_a_skill(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With and without the word before it."""
    digest = skill_digest(str(project / ".claude/skills/pdf")) or ""
    for name in (digest, digest[:16], digest.removeprefix("sha256:")[:8]):
        (candidate,) = data(project, name, capsys=capsys)["candidates"]
        assert candidate["digest"] == digest


def test_without_a_host_the_rules_are_our_own(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The project wins."""
    shown = data(project, "pdf", capsys=capsys)
    assert shown["host"] == "prowess"
    assert [entry["scope"] for entry in shown["candidates"]] == ["project", "user"]


def test_further_folders_take_part(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By option and by variable."""
    skill(tmp_path / "one/pdf")
    skill(tmp_path / "two/pdf")
    monkeypatch.setenv("PROWESS_SKILL_DIR", str(tmp_path / "two"))
    shown = data(project, "pdf", "--skill-dir", str(tmp_path / "one"), capsys=capsys)["candidates"]
    assert [entry["root"] for entry in shown] == [
        str(project / ".claude/skills"),
        str(tmp_path / "one"),
        str(tmp_path / "two"),
        str(tmp_path / "home/.claude/skills"),
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pfd", "no skill is called `pfd`\n\nhint: did you mean `pdf`?"),
        ("zzz", "no skill is called `zzz`\n\nhint: `prowess list` and `prowess inventory` show all skills"),
        (
            "a\x1b[2Jb",
            "no skill is called `a\\x1b[2Jb`\n\nhint: `prowess list` and `prowess inventory` show all skills",
        ),
        ("", "no skill is called ``\n\nhint: `prowess list` and `prowess inventory` show all skills"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_unknown_name_is_wrong_use(
    name: str, message: str, more: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With those that are called almost so; nothing on stdout."""
    assert run(project, name, *more) == 2
    assert capsys.readouterr() == ("", f"error: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pdf", "--host", "cdx"], "error: unknown host `cdx`\n\nhint: did you mean `codex`?\n"),
        ([], "error: missing argument: NAME\n\nhint: run `prowess why --help` for its options\n"),
        (
            ["pdf", "--hots", "pi"],
            "error: unknown option `--hots`\n\nhint: did you mean `--host`?\n",
        ),
    ],
)
def test_wrong_use_is_an_error(
    arguments: list[str], message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown host, a missing name, an unknown option."""
    assert run(project, *arguments) == 2
    assert capsys.readouterr() == ("", message)


@pytest.mark.parametrize("host", host_names())
def test_hostile_names_cannot_touch_the_terminal(
    host: str, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder and a name with escapes are printed as escapes."""
    for folder in ("skills", ".agents/skills", ".claude/skills", ".qwen/skills", ".infer/skills"):
        file = project / folder / "bad\x1b[2Jone" / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text('---\nname: "x\\e[2J\\u202Ey"\ndescription: d\n---\nx\n')
    code = run(project, "bad\x1b[2Jone", "--host", host)
    out, err = capsys.readouterr()
    assert code in (0, 2)
    assert not {"\x1b", "\u202e"} & set(out + err)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_why_as_a_process(encoding: str, project: Path) -> None:
    """Data on stdout in any encoding; a closed pipe is not an error."""
    skill(project / ".agents/skills/größe-日本", description="Use: →")
    command = [sys.executable, "-m", "prowess", "why", "größe-日本", "--cwd", str(project), "--host", "pi"]
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"}
    done = subprocess.run(command, capture_output=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "\\u65e5\\u672c for pi: 1 candidate\n" in done.stdout.decode(encoding)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, env=env)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
