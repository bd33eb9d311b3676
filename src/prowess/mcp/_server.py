"""Serve skills with the low-level server of the package `mcp`, to clients of both eras of the protocol.

Clients with the extension `io.modelcontextprotocol/skills` list skills and read their files. All others get the tools
of a session.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import mimetypes
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote
from weakref import WeakKeyDictionary, WeakSet

from prowess._internal.text import neutral, quoted
from prowess.cache import KeptTable
from prowess.catalog import Catalog
from prowess.errors import SkillFileError
from prowess.sandbox import CommandScope
from prowess.session import Session, scripts_option

from . import _package  # isort: skip  # noqa: F401
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ._connection import EXTENSION, MODERN
from ._contents import SkillContents
from ._raw_json import RawJson
from ._served import ServedCatalog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from prowess.catalog import LiveCatalog
    from prowess.session import Scripts, Tool as SessionTool

    Page = TypeVar("Page", bound=tuple[object, str | None])
    from ._served import ServedFile, ServedSkill

_PAGE = 100
"""Skills in one answer."""
_PAGE_FILES = 1000
"""Files in one answer; a skill is never divided."""
_NOT_FOUND_BEFORE_2026 = -32002
"""The code for an unknown resource in the older era."""
_TTL_MS = 60_000
_COMPLETE = {"resultType": "complete"}
_FRESHNESS = {"ttlMs": _TTL_MS, "cacheScope": "private"}
_SETTINGS = {"directoryRead": True}
"""Of the extension."""
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WATCH_SECONDS = 1.0
"""Between two looks for changes; while nothing changes, one is a system call (`LiveCatalog`)."""
_SCRIPTS_AT_ONCE = 8
"""More wait for one of them to end."""
_READS_FILES = "files it wrote, which `read_script_file` reads:"
_LOST_FILES = "files it wrote, which are gone, since each request is alone in this era of the protocol over HTTP:"
_INSTRUCTIONS_CHARS = 8000
"""Characters of the skills in the instructions of the server."""


class _UriParams(RequestParams):
    uri: str


class _DirectoryParams(PaginatedRequestParams):
    uri: str


def server(
    catalog: Catalog | LiveCatalog,
    *,
    only: Iterable[str] = (),
    tags: Iterable[str] = (),
    scripts: bool | Scripts = False,
    name: str = "prowess",
) -> Server[Any]:
    """Return a server of the skills of a catalog, for `mcp.server.stdio.stdio_server` or `http_app`.

    Args:
        catalog: the skills; those of a `LiveCatalog` are looked up for each request, and changes are announced.
        only: the names of the skills to serve; by default all.
        tags: serve skills with one of these tags in `metadata.tags` of their front matter.
        scripts: whether clients without the extension may run scripts of skills that the user of this machine trusts.
        name: the name of the server.
    """
    return SkillServer(catalog, only=only, tags=tags, scripts=scripts, name=name).server


class ScriptServer(Server[Any]):
    """A server whose clients can run scripts."""


class SkillServer:
    """A server of the skills of a catalog; see `server`. Files are read in threads.

    `on_left_out` gets the name of each skill that a list leaves out, and the reason.

    Attributes:
        server: the server of the package `mcp`.
    """

    def __init__(
        self,
        catalog: Catalog | LiveCatalog,
        *,
        only: Iterable[str] = (),
        tags: Iterable[str] = (),
        scripts: bool | Scripts = False,
        name: str = "prowess",
        on_left_out: Callable[[str, str], None] | None = None,
    ) -> None:
        self._on_left_out, self._reported = on_left_out, dict[str, str]()
        self._source, self._only, self._tags = catalog, frozenset(only), frozenset(tags)
        self._contents: SkillContents | None = None
        self._scripts = scripts_option(scripts) if scripts is not False else None
        # Its own threads: asyncio has few, and scripts that take long must not hold up the reading of files.
        self._script_threads = ThreadPoolExecutor(_SCRIPTS_AT_ONCE, "script")
        self._served: ServedCatalog | None = None
        self._cursors = Cursors()
        self._bus = InMemorySubscriptionBus()
        self._connections: WeakSet[Any] = WeakSet()
        """Those of the older era, which hear of changes."""
        self._sessions: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()
        """The session of each client, for the folder of its scripts, by the channel to it."""
        hint = CacheHint(ttl_ms=_TTL_MS, scope="private")
        self.server: Server[Any] = (Server if self._scripts is None else ScriptServer)(
            name,
            version=version("prowess"),
            title="Agent Skills",
            instructions=self._instructions(),
            cache_hints={"resources/list": hint, "resources/read": hint, "tools/list": hint},
            lifespan=self._lifespan,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.server.extensions[EXTENSION] = _SETTINGS
        self.server.middleware.append(self._declare)
        self.server.add_request_handler("skills/list", PaginatedRequestParams, self._list_skills)
        self.server.add_request_handler("skills/get", _UriParams, self._get_skill)
        self.server.add_request_handler("resources/directory/read", _DirectoryParams, self._read_directory)

    def current(self) -> ServedCatalog:
        """Return what is served now."""
        catalog = self._source if isinstance(self._source, Catalog) else self._source.current()
        if self._contents is None:
            self._contents = SkillContents(KeptTable(("served", catalog.cwd, catalog.home)))
        if self._served is None or self._served.catalog is not catalog:
            self._served = ServedCatalog(catalog, self._contents, self._only, self._tags)
        return self._served

    async def _declare(self, ctx: Any, call_next: Any) -> Any:
        """Declare the extension and the changes to clients of the older era too.

        The schema of that era has no extensions, so `mcp` drops them, and over HTTP it declares no changes.
        """
        result = await call_next(ctx)
        if ctx.method == "initialize":
            result["capabilities"]["extensions"] = {EXTENSION: _SETTINGS}
            result["capabilities"]["resources"]["listChanged"] = not isinstance(self._source, Catalog)
        return result

    def _instructions(self) -> str:
        """Return what clients show their model at the start: the skills, for those without the extension."""
        text = Session(self._for_tools(), budget=_INSTRUCTIONS_CHARS).static_block()
        return text and f"{text}\nCall `activate_skill` before you work on what a description names."

    def _for_tools(self) -> Catalog:
        served = self.current()
        if not self._only and not self._tags:
            return served.catalog
        return served.catalog.with_changes(skills=tuple(filter(served.is_chosen, served.catalog.skills)))

    # ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def _lifespan(self, _: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        """Announce changes as long as a client is connected."""
        watching = asyncio.create_task(self._watch()) if not isinstance(self._source, Catalog) else None
        try:
            yield {}
        finally:
            if watching is not None:
                watching.cancel()
            await asyncio.to_thread(self._keep, at_end=True)

    def _keep(self, *, at_end: bool = False) -> None:
        """Watch what was read, and keep it on disk: after the first answers, which are faster without."""
        if self._contents is not None and self._served is not None:
            folders = [*self._served.folders]
            if not at_end:
                self._contents.watch(folders)
            self._contents.store(folders, now=at_end)

    async def _watch(self) -> None:
        known = await asyncio.to_thread(self.current)
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            served = await asyncio.to_thread(self.current)
            await asyncio.to_thread(self._keep)
            if served is not known:
                known, self.server.instructions = served, await asyncio.to_thread(self._instructions)
                await self._bus.publish(ResourcesListChanged())
                for connection in [*self._connections]:
                    with suppress(Exception):  # one that is closing must not stop the others
                        await connection.send_resource_list_changed()

    # ── the extension ────────────────────────────────────────────────────────────────────────────────────────────────

    async def _list_skills(self, context: Any, params: PaginatedRequestParams | None) -> dict[str, Any]:
        self._remember(context)
        after = self._cursors.position("skills/list", params)
        skills, last = await asyncio.to_thread(self._page, ServedCatalog.page_json, after)
        more = {} if last is None else {"nextCursor": self._cursors.cursor("skills/list", last)}
        return {**_COMPLETE, "skills": RawJson(skills), **more, **_FRESHNESS}

    def _page(self, make: Callable[[ServedCatalog, str | None, int], Page], after: str | None) -> Page:
        """Return a page of skills, and report those that are left out, each once."""
        served = self.current()
        page = make(served, after, _PAGE)
        self._report(served.problems)
        return page

    def report_left_out(self) -> int:
        """Report the skills that lists leave out, as far as their front matter tells; return how many these are."""
        problems = self.current().early_problems()
        self._report(problems)
        return len(problems)

    def _report(self, problems: dict[str, str]) -> None:
        for top, problem in [*problems.items()]:
            if self._on_left_out is not None and self._reported.get(top) != problem:
                self._reported[top] = problem
                self._on_left_out(top.rpartition("/")[2], problem)

    async def _get_skill(self, context: Any, params: _UriParams) -> dict[str, Any]:
        self._remember(context)
        skill = await asyncio.to_thread(lambda: self.current().skill_json(params.uri))
        if skill is None:
            raise MCPError(code=INVALID_PARAMS, message=f"no skill is served at {quoted(params.uri)}")
        return {**_COMPLETE, "skill": RawJson(skill), **_FRESHNESS}

    async def _read_directory(self, _: Any, params: _DirectoryParams) -> dict[str, Any]:
        children = await asyncio.to_thread(lambda: self.current().children(params.uri))
        if children is None:
            raise MCPError(code=INVALID_PARAMS, message=f"{quoted(params.uri)} is not a directory")
        after = self._cursors.position(params.uri, params)
        uris = sorted(uri for uri in children if after is None or uri > after)
        page, rest = uris[:_PAGE_FILES], uris[_PAGE_FILES:]
        more = {"nextCursor": self._cursors.cursor(params.uri, page[-1])} if rest else {}
        return {**_COMPLETE, "resources": [child_of(uri, children[uri]) for uri in page], **more, **_FRESHNESS}

    # ── resources ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _list_resources(self, context: Any, params: PaginatedRequestParams | None) -> ListResourcesResult:
        self._remember(context)
        after = self._cursors.position("resources/list", params)
        skills, last = await asyncio.to_thread(self._page, ServedCatalog.page, after)
        resources: list[Resource] = []
        for at, skill in enumerate(skills):
            if resources and len(resources) + len(skill.files) > _PAGE_FILES:
                last = skills[at - 1].top
                break
            resources += resources_of(skill)
        cursor = None if last is None else self._cursors.cursor("resources/list", last)
        return ListResourcesResult(resources=resources, next_cursor=cursor)

    async def _read_resource(self, context: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        try:
            return ReadResourceResult(contents=[await asyncio.to_thread(self._contents_at, uri)])
        except SkillFileError as error:
            version = getattr(context, "protocol_version", MODERN)
            code = INVALID_PARAMS if version in MODERN_PROTOCOL_VERSIONS else _NOT_FOUND_BEFORE_2026
            raise MCPError(code=code, message=str(error), data={"uri": uri}) from None

    def _contents_at(self, uri: str) -> TextResourceContents | BlobResourceContents:
        """Return what a resource contains.

        Raises:
            SkillFileError: there is no such resource, or it cannot be read.
        """
        served = self.current()
        document = served.document(uri)
        if document is not None:
            return TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(document))
        file = served.file(uri)
        if file is None:
            raise SkillFileError(f"no file is served at {quoted(uri)}")
        return contents_of(file, file.read())

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _tools(self, context: Any) -> dict[str, SessionTool]:
        """Return the tools of a call: a client may have forgotten what it read, so nothing counts as read before."""
        session = Session(self._for_tools(), locations=False)
        tools = {tool.name: tool for tool in session.tools(search=True)}
        if self._scripts is not None and tools:
            kept = self._remember(context) or session
            kept.update(session.catalog)
            scripts = {tool.name: tool for tool in kept.tools(scripts=self._scripts)}
            run = scripts["run_skill_script"]

            def activate_and_run(**arguments: Any) -> str:
                scripts["activate_skill"].call(name=arguments.get("skill"))
                text = run.call(**arguments)
                return text if kept is not session else text.replace(_READS_FILES, _LOST_FILES)

            tools["run_skill_script"] = run.with_changes(call=activate_and_run)
            if kept is not session:
                tools["read_script_file"] = scripts["read_script_file"]
        return tools

    def _remember(self, context: Any) -> Session | None:
        """Return the session of a client, which hears of changes too; `None` if each of its requests is alone.

        That is so over HTTP since 2026-07-28, which has no connections: nothing tells who asks.
        """
        # A context of the SDK (2.3) has a session of its own for each request, and only that knows its connection.
        connection = getattr(getattr(context, "session", None), "_connection", None)
        if connection is None or not connection.has_standalone_channel:
            return None
        if connection.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._connections.add(connection)
        # On pipes, 2026-07-28 has a connection for each request, and one channel for all.
        if connection.outbound not in self._sessions:
            self._sessions[connection.outbound] = Session(self._for_tools(), locations=False)
        return self._sessions[connection.outbound]

    def _without_places(self, text: str) -> str:
        """Return what a tool says in its own words without folders of this machine; files and output stay."""
        catalog = self.current().catalog
        places = {catalog.cwd: "the project's folder"} if "\nhint: " in text else {}
        if text.startswith("error: "):
            paths = [(path, entry.name) for entry in catalog.skills for path in (entry.path, entry.real)]
            places |= {os.path.dirname(path): name for path, name in paths}
        found = sorted(filter(text.__contains__, map(neutral, places)), key=len, reverse=True)
        lines = text.split("\n")
        for at, line in enumerate(lines):
            if line.startswith(("error: ", "hint: ")):
                for place in found:
                    line = line.replace(place, places.get(place, "a folder"))
                lines[at] = line
        return "\n".join(lines)

    async def _list_tools(self, context: Any, _: PaginatedRequestParams | None) -> ListToolsResult:
        tools = await asyncio.to_thread(self._tools, context)
        return ListToolsResult(
            tools=[
                Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(tool.parameters),
                    # Codex runs a tool without approval only if it reads.
                    annotations=None if tool.name == "run_skill_script" else _READS,
                    # Claude Code hides tools behind a search otherwise.
                    _meta={"anthropic/alwaysLoad": True} if tool.name == "activate_skill" else None,
                )
                for tool in tools.values()
            ]
        )

    async def _call_tool(self, context: Any, params: CallToolRequestParams) -> CallToolResult:
        def call() -> str | None:
            tool = self._tools(context).get(params.name)
            return None if tool is None else self._without_places(tool.call(**(params.arguments or {})))

        threads = self._script_threads if params.name == "run_skill_script" else None
        with CommandScope():  # the script of a call that is cancelled ends at once
            run = partial(copy_context().run, call)
            text = await asyncio.get_running_loop().run_in_executor(threads, run)
        if text is None:
            raise MCPError(code=INVALID_PARAMS, message=f"unknown tool {quoted(params.name)}")
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=text.startswith("error: "))


class Cursors:
    """Makes the cursors of pages, and accepts no others: each is for one list of this server, until it ends."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def cursor(self, name: str, position: str) -> str:
        """Return the cursor of the page that begins behind a position of a list."""
        return base64.urlsafe_b64encode(self._seal(name, position) + position.encode()).decode()

    def position(self, name: str, params: PaginatedRequestParams | None) -> str | None:
        """Return the position that a cursor has; `None` for the first page.

        Raises:
            MCPError: it is not a cursor of this list.
        """
        if params is None or params.cursor is None:
            return None
        try:
            data = base64.b64decode(params.cursor, altchars=b"-_", validate=True)
            position = data[_SEAL_BYTES:].decode()
            if hmac.compare_digest(data[:_SEAL_BYTES], self._seal(name, position)):
                return position
        except ValueError:
            pass
        raise MCPError(code=INVALID_PARAMS, message="invalid cursor; list again from the beginning")

    def _seal(self, name: str, position: str) -> bytes:
        text = json.dumps([name, position]).encode()
        return hmac.digest(self._key, text, "sha256")[:_SEAL_BYTES]


_SEAL_BYTES = 16


_MIME_TYPES = {
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".sh": "text/x-shellscript",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".ts": "text/typescript",
}


def resources_of(skill: ServedSkill) -> Iterable[Resource]:
    """Yield the files of a skill; its SKILL.md has its name and its description."""
    for file, digest, size in skill.files:
        fields: dict[str, Any] = {"name": file.path}
        if file.uri == skill.uri:
            fields = {"name": skill.frontmatter["name"], "description": skill.frontmatter["description"]}
        meta = {"io.modelcontextprotocol.skills/digest": digest}
        yield Resource(uri=file.uri, mime_type=_mime_type(file.path), size=size, _meta=meta, **fields)


def child_of(uri: str, path: str | None) -> dict[str, Any]:
    """Return a child of a directory as `resources/directory/read` lists it; a path is that of a file."""
    if path is None:
        return {"uri": uri, "name": unquote(uri.rpartition("/")[2]), "mimeType": "inode/directory"}
    return {"uri": uri, "name": path.rpartition("/")[2], "mimeType": _mime_type(path)}


def contents_of(file: ServedFile, data: bytes) -> TextResourceContents | BlobResourceContents:
    """Return the bytes of a file, as text if they are UTF-8."""
    mime_type = _mime_type(file.path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    if text is None or "\0" in text:
        return BlobResourceContents(uri=file.uri, mime_type=mime_type, blob=base64.b64encode(data).decode())
    return TextResourceContents(uri=file.uri, mime_type=mime_type, text=text)


def _mime_type(path: str) -> str:
    suffix = path[path.rfind(".") :].lower()
    return _MIME_TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"
