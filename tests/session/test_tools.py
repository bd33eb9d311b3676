"""The tools of a session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.session import Session
from support.proofs import short_or_long
from support.sessions import new_session, tools_by_name
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def test_tools_have_a_name_a_description_and_a_schema(project: Path) -> None:
    """Names of skills are in the catalog alone."""
    name = {"type": "string", "description": "the skill's name"}
    tools = new_session(project).tools()
    assert [(tool.name, tool.parameters) for tool in tools] == [
        (
            "activate_skill",
            {
                "type": "object",
                "properties": {
                    "name": name,
                    "arguments": {"type": "string", "description": "what to work on"},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        ),
        (
            "read_skill_file",
            {
                "type": "object",
                "properties": {
                    "name": name,
                    "path": {
                        "type": "string",
                        "description": "in the skill's directory, for example references/api.md",
                    },
                    "offset": {"type": "integer", "minimum": 0, "description": "first byte"},
                    "limit": {"type": "integer", "minimum": 1, "description": "bytes at most"},
                },
                "required": ["name", "path"],
                "additionalProperties": False,
            },
        ),
    ]
    assert all(tool.description for tool in tools)
    assert json.loads(json.dumps([tool.parameters for tool in tools])) == [tool.parameters for tool in tools]


@pytest.mark.parametrize("value", [0, 1.5, True, [], {}, "", "\0", "x" * 10_000, "\ud800", "../..", -1, 10**30, None])
def test_no_argument_value_raises(value: Any, project: Path) -> None:
    """Whatever a model makes up."""
    session = new_session(project, budget=150)
    for tool in session.tools():
        known = {"name": "pdf", "path": "SKILL.md", "query": "x"}
        for key in tool.parameters["properties"]:
            given = {name: text for name, text in known.items() if name in tool.parameters["required"]}
            answer = tool.call(**{**given, key: value})
            assert isinstance(answer, str)


@pytest.mark.proof
@pytest.mark.slow
def test_2000_skills_are_reachable_within_4000_characters(tmp_path: Path) -> None:
    """Each through `search_skills` by its name; one that is not shown can be activated."""
    names = [f"skill{number:04}" for number in range(2000)]
    for name in names:
        skill(tmp_path / "skills" / name, body=f"Body of {name}.")
    catalog = discover(tmp_path, home=tmp_path, skill_dirs=[tmp_path / "skills"], env={}, cache=False)
    session = Session(catalog, budget=4000)
    block = session.static_block()
    assert len(block) <= 4000
    tools = tools_by_name(session)
    shown = [name for name in names if f"\n- {name}" in block]
    assert 0 < len(shown) < 400
    search = tools["search_skills"].call
    searched = names[:: short_or_long(9, 1)]
    assert [name for name in searched if not search(query=name).startswith(f"- {name}: ")] == []
    (hidden, *_) = (name for name in names if name not in shown)
    assert f"Body of {hidden}." in tools["activate_skill"].call(name=hidden)
    assert tools["read_skill_file"].call(name=names[-1], path="SKILL.md").endswith("Body of skill1999.\n")
