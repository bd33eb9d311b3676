"""Serve skills with the low-level server of the package `mcp`, to clients of both eras of the protocol.

Clients with the extension `io.modelcontextprotocol/skills` list skills and read their files. All others get the tools
of a session.
"""

from __future__ import annotations

import asyncio
import base64
import mimetypes
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from prowess.catalog import Catalog
from prowess.errors import SkillFileError
from prowess.session import Session

from ._served import Digests, ServedCatalog

try:
    from mcp.server.caching import CacheHint
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        INVALID_PARAMS,
        BlobResourceContents,
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
    )
except ImportError as error:
    message = "skills over MCP need the package mcp: pip install 'prowess[mcp]'"
    raise ImportError(message) from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prowess.catalog import LiveCatalog
    from prowess.session import Tool as SessionTool

    from ._served import ServedFile, ServedSkill

__all__ = ["EXTENSION", "server"]

EXTENSION = "io.modelcontextprotocol/skills"
_PAGE = 1000
"""Entries in one answer."""
_TTL_MS = 60_000
_MIME_TYPES = {
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".sh": "text/x-shellscript",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".ts": "text/typescript",
}


class _UriParams(RequestParams):
    uri: str


class _DirectoryParams(PaginatedRequestParams):
    uri: str


def server(catalog: Catalog | LiveCatalog, *, only: Iterable[str] = (), name: str = "prowess") -> Server[Any]:
    """Return a server of the skills of a catalog, for `mcp.server.stdio.stdio_server` or `streamable_http_app`.

    Args:
        catalog: the skills; those of a `LiveCatalog` are looked up for each request.
        only: the names of the skills to serve; by default all.
        name: the name of the server.
    """
    handlers = _Handlers(catalog, frozenset(only))
    hint = CacheHint(ttl_ms=_TTL_MS, scope="private")
    result: Server[Any] = Server(
        name,
        version=version("prowess"),
        title="Agent Skills",
        cache_hints={"resources/list": hint, "resources/read": hint, "tools/list": hint},
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )
    result.extensions[EXTENSION] = {"directoryRead": True}
    result.add_request_handler("skills/list", PaginatedRequestParams, handlers.list_skills)
    result.add_request_handler("skills/get", _UriParams, handlers.get_skill)
    result.add_request_handler("resources/directory/read", _DirectoryParams, handlers.read_directory)
    return result


class _Handlers:
    """Answers requests; files are read in threads."""

    def __init__(self, catalog: Catalog | LiveCatalog, only: frozenset[str]) -> None:
        self._source, self._only, self._digests = catalog, only, Digests()
        self._served: ServedCatalog | None = None

    def _current(self) -> ServedCatalog:
        catalog = self._source if isinstance(self._source, Catalog) else self._source.current()
        if self._served is None or self._served.catalog is not catalog:
            self._served = ServedCatalog(catalog, self._digests, self._only)
        return self._served

    async def current(self) -> ServedCatalog:
        return await asyncio.to_thread(self._current)

    # ── the extension ────────────────────────────────────────────────────────────────────────────────────────────────

    async def list_skills(self, _: Any, params: PaginatedRequestParams | None) -> dict[str, Any]:
        served = await self.current()
        skills, last = served.page(_after(params), _PAGE)
        entries = [skill.as_dict() for skill in skills]
        more = {} if last is None else {"nextCursor": _cursor(last)}
        return {"resultType": "complete", "skills": entries, **more, "ttlMs": _TTL_MS, "cacheScope": "private"}

    async def get_skill(self, _: Any, params: _UriParams) -> dict[str, Any]:
        skill = (await self.current()).skills.get(params.uri)
        if skill is None:
            raise MCPError(code=INVALID_PARAMS, message=f"no skill is served at {params.uri[:500]}")
        return {"resultType": "complete", "skill": skill.as_dict(), "ttlMs": _TTL_MS, "cacheScope": "private"}

    async def read_directory(self, _: Any, params: _DirectoryParams) -> dict[str, Any]:
        children = (await self.current()).folders.get(params.uri)
        if children is None:
            raise MCPError(code=INVALID_PARAMS, message=f"{params.uri[:500]} is not a directory resource")
        uris = sorted(children)
        after = _after(params)
        chosen = [uri for uri in uris if after is None or uri > after][:_PAGE]
        more = {"nextCursor": _cursor(chosen[-1])} if chosen and chosen[-1] != uris[-1] else {}
        return {"resultType": "complete", "resources": [_child(uri, children[uri]) for uri in chosen], **more}

    # ── resources ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def list_resources(self, _: Any, params: PaginatedRequestParams | None) -> ListResourcesResult:
        skills, last = (await self.current()).page(_after(params), _PAGE)
        resources = [resource for skill in skills for resource in _resources(skill)]
        return ListResourcesResult(resources=resources, next_cursor=None if last is None else _cursor(last))

    async def read_resource(self, _: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        file = (await self.current()).files.get(uri)
        if file is None:
            raise MCPError(code=INVALID_PARAMS, message=f"no file is served at {uri[:500]}")
        try:
            data = await asyncio.to_thread(file.read)
        except SkillFileError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from None
        return ReadResourceResult(contents=[_contents(file, data)])

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _tools(self) -> Sequence[SessionTool]:
        return Session(self._current().catalog).tools()

    async def list_tools(self, _: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        tools = await asyncio.to_thread(self._tools)
        return ListToolsResult(
            tools=[
                Tool(name=tool.name, description=tool.description, input_schema=dict(tool.parameters)) for tool in tools
            ]
        )

    async def call_tool(self, _: Any, params: Any) -> CallToolResult:
        def call() -> str | None:
            tools = {tool.name: tool for tool in self._tools()}
            return tools[params.name].call(**(params.arguments or {})) if params.name in tools else None

        text = await asyncio.to_thread(call)
        if text is None:
            raise MCPError(code=INVALID_PARAMS, message=f"unknown tool {params.name[:100]!r}")
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=text.startswith("error: "))


def _after(params: PaginatedRequestParams | None) -> str | None:
    """Return the URI that a cursor encodes.

    Raises:
        MCPError: it is not a cursor of this server.
    """
    if params is None or params.cursor is None:
        return None
    try:
        return base64.b64decode(params.cursor, altchars=b"-_", validate=True).decode()
    except ValueError:
        raise MCPError(code=INVALID_PARAMS, message="invalid cursor") from None


def _cursor(uri: str) -> str:
    return base64.urlsafe_b64encode(uri.encode()).decode()


def _resources(skill: ServedSkill) -> Iterable[Resource]:
    for file in skill.files:
        fields: dict[str, Any] = {"name": file.path}
        if file.uri == skill.uri:
            fields = {"name": skill.frontmatter["name"], "description": skill.frontmatter["description"]}
        meta = {"io.modelcontextprotocol.skills/digest": file.digest}
        yield Resource(uri=file.uri, mime_type=_mime_type(file.path), size=file.size, _meta=meta, **fields)


def _child(uri: str, file: ServedFile | None) -> dict[str, Any]:
    """Return a child of a directory as `resources/directory/read` lists it."""
    if file is None:
        return {"uri": uri, "name": uri.rpartition("/")[2], "mimeType": "inode/directory"}
    name = file.path.rpartition("/")[2]
    return {"uri": uri, "name": name, "mimeType": _mime_type(file.path), "size": file.size}


def _contents(file: ServedFile, data: bytes) -> TextResourceContents | BlobResourceContents:
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
