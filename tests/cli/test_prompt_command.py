"""`prowess prompt`: the block a model would get. What is in it under which budget is `tests/test_prompt.py`'s."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess.catalog import discover
from prowess.cli import main
from prowess.hosts import evidence_note, host_names
from prowess.prompt._prompt import render
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


@pytest.mark.parametrize("query", ["--", "-", "-x", "--json", "--query=--", "---"])
def test_a_query_that_looks_like_an_option_is_a_query(
    query: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also for the words of `search`; Python before 3.13 reads `--query=--` as the end of the options."""
    write_many_skills(tmp_path / ".agents/skills")
    assert run(tmp_path, "--no-cache", "--budget", "1500", f"--query={query}") == 0
    assert "<available_skills>" in capsys.readouterr().out
    place = ["--cwd", str(tmp_path), "--home", str(tmp_path.parent / "home")]
    assert main(["search", "--json", "--no-cache", *place, "--", query]) == 0
    assert json.loads(capsys.readouterr().out)["query"] == query


def test_an_option_with_fixed_values_refuses_two_hyphens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As it refuses every other word."""
    assert run(tmp_path, "--format=--") == 2
    assert capsys.readouterr().err.startswith("error: `--format` cannot be '--'\n")
