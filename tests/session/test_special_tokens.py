"""No text that Prowess gives a model contains a special token of a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prowess._internal.special_tokens import has_special_token
from prowess.session import Session
from prowess.session._tools import search_tool
from support.sessions import discover_project, tools_by_name
from support.skills import skill
from support.special_tokens import TOKENS, TURNS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("token", [*TOKENS, *TURNS])
def test_no_token_reaches_a_model(token: str, tmp_path: Path) -> None:
    """In the catalog, the schemas, an activation and its arguments, a repeated one, a file, a search, an error."""
    project = tmp_path / "project"
    line = token.replace("\n", " ")
    folder = project / ".agents/skills/pdf"
    skill(folder, description=f"'Does {line} it.'", body=f"Say {token} and stop.")
    skill(project / ".agents/skills/evil", name=f"'evil{line}'")
    (folder / "a.md").write_text(f"a{token}b", encoding="utf-8")
    session = Session(discover_project(project), env={})
    tools = tools_by_name(session)
    schemas = json.dumps([tool.parameters for tool in tools.values()], ensure_ascii=False)
    shown = [
        session.static_block(),
        schemas,
        tools["activate_skill"].call(name="pdf", arguments=f"x{token}y"),
        tools["activate_skill"].call(name="pdf"),
        tools["activate_skill"].call(name=f"none{token}"),
        tools["read_skill_file"].call(name="pdf", path="a.md"),
        search_tool(session.search).call(query="does"),
    ]
    assert "Say " in shown[2]
    assert [text for text in shown if has_special_token(text)] == []


def test_code_in_instructions_stays_readable(tmp_path: Path) -> None:
    """Only the first character of a token is escaped."""
    skill(tmp_path / ".agents/skills/pdf", body="Use `tokenizer.eos = '<|im_end|>'` and `a[i] < b`.")
    content = Session(discover_project(tmp_path), env={}).activate("pdf").content
    assert "Use `tokenizer.eos = '&lt;|im_end|>'` and `a[i] < b`." in content
