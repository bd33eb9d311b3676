"""Agents that were never run say so, in every answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.hosts import evidence_marks, evidence_note, evidence_of, host_names, load_host

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTED = [name for name in host_names() if evidence_of(name).kind == "documented"]
NOTE = "* from documentation, never run: goose"


def test_each_host_has_one_kind_of_evidence() -> None:
    kinds = {name: evidence_of(name).kind for name in host_names()}
    assert kinds["codex"] == "observed"
    assert kinds["cursor"] == "documented"
    assert kinds["prowess"] == "designed"
    assert set(kinds.values()) == {"observed", "documented", "designed"}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_rules_name_what_they_rest_on(name: str) -> None:
    """Each sentence with its page and its date."""
    sources = load_host(name).sources
    assert sources
    for source in sources:
        assert source.says
        assert source.link.startswith("https://")
        assert source.date[:3] == "202"
    assert evidence_of(name).date == max(source.date for source in sources)


def test_only_agents_that_were_never_run_are_marked() -> None:
    assert evidence_marks(["goose", "codex", "prowess"]) == ["goose*", "codex", "prowess"]
    assert evidence_note(["codex", "goose", "amp"]) == "* from documentation, never run: goose, amp"
    assert evidence_note(["codex", "prowess"]) is None


@pytest.fixture
def project(tmp_path: Path) -> Path:
    skill = tmp_path / "project/.agents/skills/a/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: a\ndescription: Use for tests.\n---\nDo it.\n")
    return tmp_path / "project"


COMMANDS = [
    pytest.param(["list", "--host", "goose"], id="list"),
    pytest.param(["list", "--host", "goose", "--host", "codex"], id="matrix"),
    pytest.param(["why", "a", "--host", "goose"], id="why"),
    pytest.param(["why", "a", "--host", "goose", "--host", "codex"], id="why-of-two"),
    pytest.param(["check", "--host", "goose"], id="check"),
    pytest.param(["prompt", "--host", "goose"], id="prompt"),
    pytest.param(["inventory", "--host", "goose"], id="inventory"),
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_every_answer_says_that_an_agent_was_never_run(
    arguments: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a text by a line, and in JSON by `evidence`."""
    where = ["--cwd", str(project), "--home", str(project.parent / "home")]
    (project.parent / "home").mkdir()
    assert main([*arguments, *where]) == 0
    assert NOTE in capsys.readouterr().err.splitlines()
    assert main([*arguments, *where, "--json"]) == 0
    evidence: Any = json.loads(capsys.readouterr().out)["evidence"]
    evidence = evidence.get("goose", evidence)
    assert evidence["kind"] == "documented"
    assert evidence["source"]
    assert evidence["version"] is None


@pytest.mark.parametrize("arguments", COMMANDS)
def test_an_observed_agent_has_no_note(arguments: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--cwd", str(project), "--home", str(project.parent / "home")]
    (project.parent / "home").mkdir()
    assert main([*(word.replace("goose", "codex") for word in arguments), *where]) == 0
    assert "never run" not in capsys.readouterr().err
