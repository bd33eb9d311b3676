"""Requests of clients to the server of skills."""

from __future__ import annotations

import asyncio
import shutil
import threading
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, PaginatedRequestParams, ReadResourceRequestParams

from prowess import LiveCatalog
from prowess.mcp import SkillServer, server
from prowess.session import Tool
from support.rows import rows
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def ask(source: Any, method: str, params: Any) -> Any:
    """Return what the server answers to a request."""
    handler = source.get_request_handler(method)
    return asyncio.run(handler.handler(None, handler.params_type(**params) if isinstance(params, dict) else params))


@pytest.fixture
def live(tmp_path: Path) -> Any:
    folder = skill(tmp_path / ".agents/skills/pages", body="Count twice.").parent
    (folder / "photo.bin").write_bytes(b"\xff\x00")
    with LiveCatalog(tmp_path, home=str(tmp_path / "home")) as catalog:
        yield server(catalog)


def test_skills_are_listed_and_got(live: Any) -> None:
    """With what the 2026-07-28 era needs."""
    listed = ask(live, "skills/list", {})
    assert (listed["resultType"], listed["cacheScope"], "nextCursor" in listed) == ("complete", "private", False)
    (entry,) = listed["skills"].value()
    assert ask(live, "skills/get", {"uri": entry["uri"]})["skill"].value() == entry
    assert live.extensions == {"io.modelcontextprotocol/skills": {"directoryRead": True}}


def test_a_new_skill_is_listed(live: Any, tmp_path: Path) -> None:
    """The catalog is live."""
    ask(live, "skills/list", {})
    skill(tmp_path / ".agents/skills/more")
    names = [entry["frontmatter"]["name"] for entry in ask(live, "skills/list", {})["skills"].value()]
    assert names == ["more", "pages"]


def test_a_list_has_each_change_at_once(tmp_path: Path) -> None:
    """While all is watched, and after a skill is added or removed."""
    folder = skill(tmp_path / ".agents/skills/pages").parent
    (folder / "a/b").mkdir(parents=True)

    def files() -> list[str]:
        entries = ask(source.server, "skills/list", {})["skills"].value()
        return [f"{file['uri']} {file['size']}" for entry in entries for file in entry["resources"]][1:]

    with patch("prowess.mcp._contents.SETTLE_NS", 0), LiveCatalog(tmp_path, home=str(tmp_path)) as catalog:
        source = SkillServer(catalog)
        assert files() == []
        for number in range(1, 4):
            source._keep()
            (folder / "a/b/deep.txt").write_text("x" * number)
            assert files() == [f"skill://pages/a/b/deep.txt {number}"]
        source._keep()
        other = skill(tmp_path / ".agents/skills/zoo")
        assert files() == ["skill://pages/a/b/deep.txt 3", f"skill://zoo/SKILL.md {other.stat().st_size}"]
        source._keep()
        shutil.rmtree(other.parent)
        (folder / "a/b").rename(folder / "c")
        assert files() == ["skill://pages/c/deep.txt 3"]


def test_files_are_read_as_text_or_bytes(live: Any) -> None:
    """Text is exactly the bytes of the file."""
    text = ask(live, "resources/read", ReadResourceRequestParams(uri="skill://pages/SKILL.md")).contents[0]
    assert (text.mime_type, "Count twice." in text.text) == ("text/markdown", True)
    blob = ask(live, "resources/read", ReadResourceRequestParams(uri="skill://pages/photo.bin")).contents[0]
    assert blob.blob == "/wA="


@pytest.mark.parametrize(("method", "params"), rows(__file__, "what_is_not_served_is_an_invalid_parameter"))
def test_what_is_not_served_is_an_invalid_parameter(live: Any, method: str, params: dict[str, str]) -> None:
    """-32602, as the specification says."""
    with pytest.raises(MCPError) as caught:
        ask(live, method, params)
    assert caught.value.error.code == -32602


def test_clients_without_the_extension_have_the_tools_of_a_session(live: Any) -> None:
    """They return the text of a skill, and errors as text."""
    tools = ask(live, "tools/list", PaginatedRequestParams()).tools
    assert [tool.name for tool in tools] == ["activate_skill", "read_skill_file", "search_skills"]
    answer = ask(live, "tools/call", CallToolRequestParams(name="activate_skill", arguments={"name": "pages"}))
    assert ("Count twice." in answer.content[0].text, answer.is_error) == (True, False)
    wrong = ask(live, "tools/call", CallToolRequestParams(name="activate_skill", arguments={"name": "pag"}))
    assert ("no skill is called `pag`" in wrong.content[0].text, wrong.is_error) == (True, True)


def test_tools_that_only_read_say_so(live: Any) -> None:
    """Codex calls no other tool without approval; Claude Code hides tools that are not marked behind a search."""
    tools = {tool.name: tool for tool in ask(live, "tools/list", PaginatedRequestParams()).tools}
    assert {tool.annotations.read_only_hint for tool in tools.values()} == {True}
    assert [name for name, tool in tools.items() if tool.meta] == ["activate_skill"]


def test_a_directory_says_for_how_long_it_is_current(live: Any) -> None:
    """The official TypeScript client refuses it otherwise."""
    found = ask(live, "resources/directory/read", {"uri": "skill://pages"})
    assert (found["ttlMs"], found["cacheScope"]) == (60_000, "private")


def test_scripts_that_take_long_do_not_hold_up_reading(
    live: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are more of them than asyncio has threads."""
    ended = threading.Event()
    waiting = Tool(
        name="run_skill_script",
        description="",
        parameters={},
        call=lambda **_: "done" if ended.wait(30) else "error: late",
    )
    monkeypatch.setattr(SkillServer, "_tools", lambda *_: {waiting.name: waiting})

    async def read_beside_scripts() -> tuple[str, set[str]]:
        run = live.get_request_handler("tools/call").handler
        params = CallToolRequestParams(name=waiting.name)
        scripts = [asyncio.create_task(run(None, params)) for _ in range(40)]
        await asyncio.sleep(0)
        read = live.get_request_handler("resources/read").handler
        found = await asyncio.wait_for(read(None, ReadResourceRequestParams(uri="skill://pages/SKILL.md")), 20)
        ended.set()
        return found.contents[0].text, {(await script).content[0].text for script in scripts}

    try:
        text, answers = asyncio.run(read_beside_scripts())
    finally:
        ended.set()
    assert "Count twice." in text
    assert answers == {"done"}
