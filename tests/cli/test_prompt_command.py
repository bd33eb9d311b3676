"""`prowess prompt`: the block a model would get. What is in it under which budget is `tests/test_prompt.py`'s."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.catalog._prompt import estimate_tokens, render
from prowess.hosts import evidence_note, host_names
from support.project_commands import run_in
from support.skills import BANK_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from pathlib import Path

LONG = "Fills the fields of a PDF form. Use when the user gives a form and the values for it, or asks for one."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two skills that the model sees, one that only the user can call, and one that is hidden by another."""
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    skill(top / ".claude/skills/csv", description="Profiles a <CSV> file & more.")
    skill(top / ".claude/skills/deploy", more="disable-model-invocation: true\n")
    skill(top / ".claude/skills/pdf", description=LONG)
    skill(tmp_path / "home/.claude/skills/csv")
    return top


run = partial(run_in, "prompt")


def summary(text: str, words: str) -> str:
    return f"{words}; {len(text):,} characters, about {estimate_tokens(text):,} tokens\n"


@pytest.mark.parametrize(("budget", "unit"), [("5", "characters"), ("1t", "tokens")])
def test_a_budget_for_no_skill_says_what_the_catalog_takes(
    budget: str, unit: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = render(discover(project, home=project.parent / "home"))
    assert run(project, "--budget", budget) == 0
    out, err = capsys.readouterr()
    size = whole.chars if unit == "characters" else whole.tokens
    assert out == ""
    assert err.endswith(f"\nhint: use a larger `--budget`; the whole catalog takes {size:,} {unit}\n")


def test_the_block_is_that_of_agentskills_io(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The active skills in the catalog's order, escaped; a sum goes to stderr."""
    root = project / ".claude/skills"
    text = f"""\
<available_skills>
  <skill>
    <name>csv</name>
    <description>Profiles a &lt;CSV&gt; file &amp; more.</description>
    <location>{root}/csv/SKILL.md</location>
  </skill>
  <skill>
    <name>pdf</name>
    <description>{LONG}</description>
    <location>{root}/pdf/SKILL.md</location>
  </skill>
</available_skills>
"""
    assert run(project) == 0
    assert capsys.readouterr() == (text, summary(text, "2 skills"))
    assert run(project, "--format", "xml") == 0
    assert capsys.readouterr().out == text


def test_markdown_and_json_for_any_host(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same skills in two other forms."""
    root = project / ".claude/skills"
    assert run(project, "--format", "markdown") == 0
    assert capsys.readouterr().out == (
        "## Available skills\n\n"
        "- **csv**: Profiles a \\<CSV\\> file \\& more.\n"
        f"  - location: {str(root).replace('_', chr(92) + '_')}/csv/SKILL.md\n"
        f"- **pdf**: {LONG}\n"
        f"  - location: {str(root).replace('_', chr(92) + '_')}/pdf/SKILL.md\n"
    )
    assert run(project, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "available_skills": [
            {"name": "csv", "description": "Profiles a <CSV> file & more.", "location": f"{root}/csv/SKILL.md"},
            {"name": "pdf", "description": LONG, "location": f"{root}/pdf/SKILL.md"},
        ]
    }


def test_a_host_s_own_form(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The catalog of that client, with the copy that its rules choose."""
    assert run(project, "--host", "claude-code") == 0
    assert capsys.readouterr().out == f"- csv: Does csv. Use it for csv.\n- pdf: {LONG}\n"


def test_a_budget_shortens_and_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To the model in a last line, to the user on stderr."""
    text = (
        "- csv: Does csv. Use it for csv.\n- pdf: Fills the fields of a PDF form.\n"
        "Skills shortened: 1; left out: 0; find them with search_skills, or list the folders above\n"
    )
    skill(project / ".claude/skills/pdf", description=f"{LONG} {LONG}")
    assert run(project, "--host", "claude-code", "--budget", str(len(text))) == 0
    assert capsys.readouterr() == (text, summary(text, "2 skills, 1 shortened"))
    assert run(project, "--host", "claude-code", "--budget", f"{estimate_tokens(text)}t") == 0
    assert capsys.readouterr().out == text
    assert run(project, "--host", "claude-code", "--budget", "100") == 0
    out, err = capsys.readouterr()
    assert out.startswith("- csv\nSkills shortened: 1; left out: 1; ")
    assert err == summary(out, "1 skill, 1 shortened, 1 left out")


def test_levels_say_the_most_that_is_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of one skill each."""
    assert run(project, "--host", "claude-code", "--level", "csv=off", "--level", "pdf=name-only") == 0
    text = "- pdf\nSkills shortened: 1; left out: 1; find them with search_skills, or list the folders above\n"
    assert capsys.readouterr() == (text, summary(text, "1 skill, 1 shortened, 1 left out"))


def test_json_has_the_text_and_its_skills(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Six keys, in order, and not a word beside."""
    assert run(project, "--host", "claude-code", "--level", "csv=off", "--level", "pdf=short", "--json") == 0
    out, err = capsys.readouterr()
    text = f"- pdf: {LONG}\nSkills shortened: 0; left out: 1; find them with search_skills, or list the folders above\n"
    shown: dict[str, Any] = json.loads(out)
    evidence = shown.pop("evidence")
    assert shown == {
        "text": text,
        "shown": ["pdf"],
        "shortened": [],
        "omitted": ["csv"],
        "chars": len(text),
        "tokens": estimate_tokens(text),
    }
    assert list(shown) == ["text", "shown", "shortened", "omitted", "chars", "tokens"]
    assert evidence["kind"] == "observed"
    assert err == ""


@pytest.mark.parametrize("host", host_names())
def test_no_skills_no_text(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not even a heading, for any host."""
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    assert run(tmp_path / "project", "--host", host) == 0
    note = evidence_note([host])
    words = "0 skills; 0 characters, about 0 tokens\n" + (f"{note}\n" if note else "")
    assert capsys.readouterr() == ("", words)
    assert run(tmp_path / "project", "--host", host, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown.pop("evidence")["source"]
    assert shown == {
        "text": "",
        "shown": [],
        "shortened": [],
        "omitted": [],
        "chars": 0,
        "tokens": 0,
    }


@pytest.mark.parametrize("host", host_names())
def test_the_command_prints_the_same_as_render(host: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Byte for byte, for every host."""
    assert run(project, "--host", host) == 0
    catalog = discover(project, host=host, home=project.parent / "home")
    assert capsys.readouterr().out == render(catalog).text


def test_further_folders_take_part(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By option and by variable."""
    skill(tmp_path / "one/first")
    skill(tmp_path / "two/second")
    monkeypatch.setenv("PROWESS_SKILL_DIR", str(tmp_path / "two"))
    assert run(project, "--skill-dir", str(tmp_path / "one"), "--json") == 0
    assert json.loads(capsys.readouterr().out)["shown"] == ["csv", "pdf", "first", "second"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["--budget", "many"], "`--budget` must be a number", "for example 4000 for characters, 1000t for tokens"),
        (
            ["--budget", "-1"],
            "`--budget` must be a number",
            "for example 4000 for characters, 1000t for tokens",
        ),
        (["--budget", "٣"], "`--budget` must be a number", "for example 4000 for characters, 1000t for tokens"),
        (["--level", "csv"], "`--level` must be NAME=LEVEL", "for example --level pdf=pin"),
        (
            ["--level", "csv=all"],
            "`all` is not a level of detail for `csv`",
            "use one of off, name-only, short, full, pin",
        ),
        (["--level", "deploy=off"], "no active skill is called `deploy`", "`prowess list` shows all skills"),
        (["--level", "a\x1b[2J=off"], "no active skill is called `a\\x1b[2J`", "`prowess list` shows all skills"),
        (["--host", "claude"], "unknown host `claude`", "did you mean `claude-code`?"),
        (
            ["--host", "claude-code", "--budget", "20", "--level", "csv=pin"],
            "the pinned skills alone take 123, more than the budget of 20",
            "pin fewer skills, or raise the budget",
        ),
    ],
)
def test_wrong_use_is_an_error(
    arguments: list[str], message: str, hint: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong and what would be right, on stderr; stdout stays empty."""
    assert run(project, *arguments) == 2
    assert capsys.readouterr() == ("", f"error: {message}\n\nhint: {hint}\n")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_prompt_as_a_process(encoding: str, project: Path) -> None:
    """In any encoding, JSON in UTF-8; a closed pipe is not an error."""
    skill(project / ".claude/skills/csv", description="日本語 → ü")
    command = [sys.executable, "-m", "prowess", "prompt", "--cwd", str(project), "--home", str(project.parent)]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, check=False, env=env)
    assert done.returncode == 0
    assert ("日本語" in done.stdout.decode(encoding)) is (encoding == "utf-8")
    done = subprocess.run([*command, "--json"], capture_output=True, check=False, env=env)
    assert "日本語 → ü" in json.loads(done.stdout.decode())["text"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, env=env)
    os.close(writing)
    assert done.returncode == 0
    assert b"rror" not in done.stderr


@pytest.mark.parametrize("form", ["xml", "markdown", "json"])
def test_no_line_is_a_command_to_a_ci_system(form: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GitHub's runner obeys `##[` anywhere in a log; JSON escapes it."""
    skill(project / ".claude/skills/pdf", description="'##[error]forged ##vso[x]'")
    assert run(project, "--format", form, "--host", "claude-code") == 0
    shown = capsys.readouterr().out
    assert "##[" not in shown
    assert "##vso" not in shown
    assert "forged" in shown
    if form == "json":
        assert "##[error]forged ##vso[x]" in {item["description"] for item in json.loads(shown)["available_skills"]}


def test_a_message_chooses_what_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If not all skills fit; the rest is counted."""
    write_many_skills(tmp_path / ".agents/skills")
    assert run(tmp_path, "--budget", "1500", "--query", BANK_MESSAGE, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["shown"][0] == "z-books"
    assert len(data["shown"]) + len(data["omitted"]) == 60
    assert data["chars"] <= 1_500
    assert f"left out: {len(data['omitted'])};" in data["text"]
    assert run(tmp_path, "--query", BANK_MESSAGE) == run(tmp_path) == 0
