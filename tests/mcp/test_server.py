"""Requests of clients to the server of skills."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import threading
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, PaginatedRequestParams, ReadResourceRequestParams

from prowess import LiveCatalog, discover
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


def all_pages(source: Any, method: str) -> list[list[str]]:
    """Return the URIs in each page of a list."""
    pages: list[list[str]] = []
    cursor = None
    while cursor is not None or not pages:
        answer = ask(source, method, PaginatedRequestParams(cursor=cursor))
        if isinstance(answer, dict):
            pages.append([entry["uri"] for entry in answer["skills"].value()])
            cursor = answer.get("nextCursor")
        else:
            pages.append([resource.uri for resource in answer.resources])
            cursor = answer.next_cursor
    return pages


def test_lists_have_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of files ends with a skill, however many files that has."""
    monkeypatch.setattr("prowess.mcp._server._PAGE_FILES", 10)
    for number in range(250):
        skill(tmp_path / f".agents/skills/s{number:03}")
    for number in range(20):
        (tmp_path / f".agents/skills/s007/{number:02}.txt").write_text("x")
    source = server(discover(tmp_path, home=tmp_path, env={}, cache=False))
    pages = all_pages(source, "skills/list")
    assert [len(page) for page in pages] == [100, 100, 50]
    assert [uri for page in pages for uri in page] == [f"skill://s{number:03}/SKILL.md" for number in range(250)]
    files = all_pages(source, "resources/list")
    assert [len(page) for page in files[:3]] == [7, 21, 10]
    assert len({uri for page in files for uri in page}) == sum(map(len, files)) == 270


def test_a_cursor_of_another_list_or_server_is_refused(tmp_path: Path) -> None:
    """A client cannot make one."""
    for number in range(101):
        skill(tmp_path / f".agents/skills/s{number:03}")
    catalog = discover(tmp_path, home=tmp_path, env={}, cache=False)
    source, other = server(catalog), server(catalog)
    cursor = ask(source, "skills/list", {})["nextCursor"]
    forged = base64.urlsafe_b64encode(b"s050").decode()
    changed = cursor[:-1] + ("A" if cursor[-1] != "A" else "B")
    for wrong in (forged, changed, "", "%", "\ud800", cursor[:20], ask(other, "skills/list", {})["nextCursor"]):
        with pytest.raises(MCPError, match="invalid cursor") as caught:
            ask(source, "skills/list", PaginatedRequestParams(cursor=wrong))
        assert caught.value.error.code == -32602
    with pytest.raises(MCPError, match="invalid cursor"):
        ask(source, "resources/list", PaginatedRequestParams(cursor=cursor))
    assert len(ask(source, "skills/list", PaginatedRequestParams(cursor=cursor))["skills"].value()) == 1


def test_older_clients_find_skills_and_their_files_in_two_documents(live: Any) -> None:
    """`skill://index.json` for Microsoft's Agent Framework, and `_manifest` for FastMCP."""

    def read(uri: str) -> Any:
        (content,) = ask(live, "resources/read", ReadResourceRequestParams(uri=uri)).contents
        assert content.mime_type == "application/json"
        return json.loads(content.text)

    (entry,) = ask(live, "skills/list", {})["skills"].value()
    files = {row["uri"]: row for row in entry["resources"]}
    (found,) = read("skill://index.json")["skills"]
    assert found.pop("digest") == files[entry["uri"]]["digest"]
    assert found == {"type": "skill-md", "url": entry["uri"], **entry["frontmatter"]}
    assert read("skill://pages/_manifest") == {
        "skill": "pages",
        "files": [
            {"path": uri.removeprefix("skill://pages/"), "size": row["size"], "hash": row["digest"]}
            for uri, row in files.items()
        ],
    }
    for uri in ("skill://other/_manifest", "skill://_manifest", "skill://pages/index.json", "skill://index.json/"):
        with pytest.raises(MCPError):
            ask(live, "resources/read", ReadResourceRequestParams(uri=uri))


def test_a_file_that_is_called_as_the_list_of_files_is_itself(live: Any, tmp_path: Path) -> None:
    (tmp_path / ".agents/skills/pages/_manifest").write_text("mine")
    (content,) = ask(live, "resources/read", ReadResourceRequestParams(uri="skill://pages/_manifest")).contents
    assert content.text == "mine"


def test_no_text_has_a_place_of_this_machine(live: Any, tmp_path: Path) -> None:
    """Neither the instructions nor what a tool answers: clients read files by their names."""
    texts = [str(live.instructions)]
    for name, arguments in (
        ("activate_skill", {"name": "pages"}),
        ("activate_skill", {"name": "pag"}),
        ("read_skill_file", {"name": "pages", "path": "photo.bin"}),
        ("read_skill_file", {"name": "pages", "path": "../../../x"}),
        ("read_skill_file", {"name": "pages", "path": str(tmp_path)}),
        ("search_skills", {"query": "count"}),
    ):
        answer = ask(live, "tools/call", CallToolRequestParams(name=name, arguments=arguments))
        texts.append(answer.content[0].text)
    assert "Paths in this skill are relative to its directory." in texts[1]
    assert [text for text in texts[1:] if f"{tmp_path}/" in text] == []


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
