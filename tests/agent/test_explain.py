"""What a dry run shows."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.assembly import assemble
from prowess.agent.explain import dry_run, explain_assembly
from prowess.errors import ConfigError
from prowess.prompt import estimate_tokens
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

ROLE = "name: a\nprompt: You help.\nmodel: openai:m\nskills: [named]\n"


def dry_run_text(top: Path, text: str = ROLE, model: str | None = None) -> dict[str, Any]:
    (top / "role.yaml").write_text(text)
    (top / "home").mkdir(exist_ok=True)
    assembly, _ = assemble(top / "role.yaml", home=str(top / "home"), env={})
    assert assembly is not None
    return dry_run(assembly, model)


def test_a_dry_run_shows_everything_that_is_sent(tmp_path: Path) -> None:
    """The prompt with the role's skills, the catalog, and the tools with their parameters and origins."""
    named = skill(tmp_path / "skills/named", body="Do it well.", more="tools:\n- type: git\n")
    found = skill(tmp_path / "skills/found", description="Finds.")
    report = dry_run_text(tmp_path, ROLE + "tools:\n- type: filesystem\n- {type: mcp, command: a-server}\n")
    assert report["model"] == "openai:m"
    assert report["instructions"] == (
        "You help.\n\n## Skill: named\n\nDo it well.\n\n"
        "When a task fits the description of a skill, call `activate_skill` with its name before you go on.\n\n"
        "<available_skills>\n- found: Finds.\n</available_skills>"
    )
    origins = {tool["name"]: tool["origin"] for tool in report["tools"]}
    assert origins["read_file"] == "role"
    assert origins["git_diff"] == "named"
    assert origins["mcp:a-server"] == "role"
    assert list(origins)[-2:] == ["activate_skill", "read_skill_file"]
    assert origins["activate_skill"] == "prowess"
    assert {key for tool in report["tools"] for key in tool} == {"name", "description", "parameters", "origin"}
    assert report["skills"] == [
        {"name": "named", "path": str(named), "loaded": "whole"},
        {"name": "found", "path": str(found), "loaded": "listed"},
    ]
    assert report["findings"] == []


def test_without_skills_there_is_no_catalog_and_no_session_tool(tmp_path: Path) -> None:
    report = dry_run_text(tmp_path, "name: a\nprompt: You help.\nmodel: openai:m\n")
    assert (report["instructions"], report["tools"], report["skills"]) == ("You help.", [], [])
    skill(tmp_path / "skills/found")
    report = dry_run_text(tmp_path, "name: a\nprompt: You help.\nmodel: openai:m\nauto_skills: {enabled: false}\n")
    assert (report["instructions"], report["tools"], report["skills"]) == ("You help.", [], [])


@pytest.mark.slow
def test_many_skills_are_shown_within_a_budget_and_the_user_is_informed(tmp_path: Path) -> None:
    """8,000 tokens, or 2 % of the context window that the role names."""
    for number in range(200):
        skill(tmp_path / f"skills/s{number}", description=f"Does {number}. " * 30)
    limit = "auto_skills: {max_skills: 200}\n"
    small = "name: a\nprompt: You help.\nmodel: {name: m, context_window: 20000}\n"
    for text, tokens in ((ROLE.replace("skills: [named]\n", "") + limit, 8_000), (small + limit, 400)):
        report = dry_run_text(tmp_path, text)
        (tool,) = (tool for tool in report["tools"] if tool["name"] == "activate_skill")
        names = tool["parameters"]["properties"]["name"].get("enum")
        block = report["instructions"].removeprefix("You help.\n\n")
        assert (estimate_tokens(block) <= tokens, estimate_tokens(block) > tokens * 0.8, names) == (True, True, None)
        assembly, _ = assemble(tmp_path / "role.yaml", home=str(tmp_path / "home"), env={})
        assert assembly is not None
        (note,) = explain_assembly(assembly)["notes"]
        assert note.startswith("the catalog of skills is over its budget (skills shortened: ")


def test_a_dry_run_shows_the_model_from_the_command_line(tmp_path: Path) -> None:
    assert dry_run_text(tmp_path, "name: a\nprompt: x\n", "script:s.yaml")["model"] == "script:s.yaml"
    assert dry_run_text(tmp_path, "name: a\nprompt: x\n")["model"] is None


def test_no_framework_is_imported() -> None:
    """A dry run, `validate` and `show` work without Pydantic AI, and start fast."""
    code = (
        "import sys, prowess.cli.agents.run, prowess.cli.agents.validate, prowess.agent.explain\n"
        "print([name for name in ('pydantic_ai', 'pydantic', 'httpx2', 'openai', 'lxml') if name in sys.modules])"
    )
    report = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert report.stdout == "[]\n"


def test_an_invalid_model_is_an_error_as_in_a_run(tmp_path: Path) -> None:
    """A dry run without errors must not be followed by a run that fails."""
    with pytest.raises(ConfigError) as caught:
        dry_run_text(tmp_path, model="opnai:m")
    assert "`opnai`" in str(caught.value)
    assert dry_run_text(tmp_path, model="script:anything.yaml")["model"] == "script:anything.yaml"


def test_a_dry_run_of_a_prompt_shows_its_messages(tmp_path: Path) -> None:
    """The skills that it names follow the prompt in its message, and their tools are offered."""
    skill(tmp_path / "skills/found", body="Do it well.", more="tools:\n- type: git\n")
    (tmp_path / "role.yaml").write_text("name: a\nprompt: You help.\nmodel: openai:m\n")
    assembly, _ = assemble(tmp_path / "role.yaml", home=str(tmp_path), env={})
    assert assembly is not None
    assert dry_run(assembly)["messages"] == []
    report = dry_run(assembly, None, "Hello")
    assert (report["messages"], report["notes"]) == ([{"role": "user", "content": "Hello"}], [])
    assert "git_diff" not in [tool["name"] for tool in report["tools"]]
    report = dry_run(assembly, None, "Use $found")
    (message,) = report["messages"]
    assert message["role"] == "user"
    assert message["content"].startswith('Use $found\n\n<skill_content name="found">\nDo it well.')
    assert "git_diff" in [tool["name"] for tool in report["tools"]]


def test_a_dry_run_says_why_a_named_skill_brings_no_tools(tmp_path: Path) -> None:
    skill(tmp_path / "skills/found", more="tools:\n- type: shell\n")
    (tmp_path / "role.yaml").write_text("name: a\nprompt: You help.\nmodel: openai:m\n")
    assembly, _ = assemble(tmp_path / "role.yaml", home=str(tmp_path), env={})
    assert assembly is not None
    (note,) = dry_run(assembly, None, "Use $found")["notes"]
    assert note.startswith("the tools of `found` are not offered: `found` is not trusted")
