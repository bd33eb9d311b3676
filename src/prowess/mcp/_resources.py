"""Describe files of skills as resources of MCP: their types, their digests, and their contents as text or bytes."""

from __future__ import annotations

import base64
import mimetypes
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mcp_types import BlobResourceContents, Resource, TextResourceContents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._served import ServedFile, ServedSkill

__all__ = ["child_of", "contents_of", "resources_of"]

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
