"""a folder -> tools that list, read, search and write in it, and nowhere else"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import Frozen
from prowess._internal.text import describe_os_error, neutral, quoted
from prowess.agent.policy import RefusedError, ToolFailedError

from ._arguments import Argument, make_agent_tool
from ._glob import find_by_pattern
from ._paths import describe_file_type, open_folder, open_regular_file, resolve_folder, split_path
from ._writes import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import AgentTool, ToolContext

__all__ = ["tools"]

_MAX_LISTED = 500
_MAX_COUNTED = 100_000
"""Entries of a folder that are counted at most."""
_MAX_SHOWN_CHARS = 200
_RESERVED_BYTES = 1000
"""Bytes of a result that are for what is not the file's."""
_PATH_DOC = "of the file, relative to the folder that is open to this tool"


class _FolderAccess(Frozen):
    """What is open to the tools."""

    root: str
    """Absolute, without links."""
    extensions: tuple[str, ...]
    """In lower case, with their dots; none is all."""
    max_read_bytes: int
    """Bytes of a file that are read at once, or written."""
    max_file_bytes: int
    """Bytes of a file that is edited."""


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make the tools of a folder; links in it are not followed, wherever they lead.

    Raises:
        ConfigError: there is no such folder, or the policy does not open it.
    """
    endings = tuple(f".{text.lower().removeprefix('.')}" for text in options["allowed_extensions"])
    max_file_bytes = options["max_bytes"]
    max_read_bytes = max(1, min(max_file_bytes, context.policy.max_result_bytes - _RESERVED_BYTES))
    access = _FolderAccess(
        root=resolve_folder(context, options["root_path"], "root_path"),
        extensions=endings,
        max_read_bytes=max_read_bytes,
        max_file_bytes=max_file_bytes,
    )
    only = f" Only files ending in {', '.join(endings)} can be opened." if endings else ""
    folder = Argument("string", "of the folder, relative to the one that is open to this tool", ".")
    path = Argument("string", _PATH_DOC, needed=True)
    made = [
        make_agent_tool("filesystem", "list_directory", "List a folder.", {"path": folder}, partial(_list, access)),
        make_agent_tool(
            "filesystem",
            "read_file",
            f"Read a text file.{only}",
            {
                "path": path,
                "offset": Argument("integer", "the first byte to read", 0),
                "limit": Argument("integer", f"bytes at most; {max_read_bytes:,} if left out"),
            },
            partial(_read, access),
        ),
        make_agent_tool(
            "filesystem",
            "search_files",
            "Find files and folders by name, in a folder and all below it.",
            {
                "pattern": Argument("string", "as in `*.py`, or with folders as in `src/**/test_*.py`", needed=True),
                "path": folder,
            },
            lambda pattern, path: find_by_pattern(access.root, split_path(path, access.root), pattern),
        ),
    ]
    if not options["read_only"]:
        ask = options["require_confirmation"]
        content = Argument("string", "all of its text", needed=True)
        edit = {
            "path": path,
            "old": Argument("string", "the text to replace, which must be there exactly once", needed=True),
            "new": Argument("string", "the text to put there", needed=True),
        }
        words = f"Write a text file: a new one, or all of one that is there.{only}"
        write = {"path": path, "content": content}
        made.append(make_agent_tool("filesystem", "write_file", words, write, partial(_write, access), ask=ask))
        words = f"Replace a piece of a text file.{only}"
        made.append(make_agent_tool("filesystem", "edit_file", words, edit, partial(_edit, access), ask=ask))
    return tuple(made)


def _list(access: _FolderAccess, path: str) -> str:
    parts = split_path(path, access.root)
    lines = []
    with open_folder(access.root, parts) as fd:
        try:
            inner = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
        except OSError as error:
            raise ToolFailedError(
                f"{quoted(path, _MAX_SHOWN_CHARS)} cannot be listed: {describe_os_error(error)}"
            ) from None
        try:
            with os.scandir(inner) as entries:
                names = sorted(entry.name for entry in islice(entries, _MAX_COUNTED))
        finally:
            os.close(inner)
        for name in names[:_MAX_LISTED]:
            with suppress(OSError):
                lines.append(_listing_line(name, os.stat(name, dir_fd=fd, follow_symlinks=False)))
    if len(names) > _MAX_LISTED:
        more = f"{len(names) - _MAX_LISTED:,}{' or more' if len(names) == _MAX_COUNTED else ''}"
        lines.append(f"[and {more} more; find them with `search_files`]")
    return "\n".join(lines) or "the folder is empty"


def _listing_line(name: str, status: os.stat_result) -> str:
    if stat.S_ISDIR(status.st_mode):
        return f"{neutral(name)}/"
    size = f"{status.st_size:,} bytes" if stat.S_ISREG(status.st_mode) else describe_file_type(status)
    return f"{neutral(name)} ({size})"


def _split_file_path(access: _FolderAccess, path: str) -> tuple[list[str], str]:
    """Return the folder and the name of a file that may be opened.

    Raises:
        ToolFailedError: the path names no file.
        RefusedError: it leads out, or to a file of a kind that is not open.
    """
    parts = split_path(path, access.root)
    if not parts:
        raise ToolFailedError(f"{quoted(path)} is the folder itself; name a file in it")
    if access.extensions and not parts[-1].lower().endswith(access.extensions):
        raise RefusedError(
            f"{quoted(path, _MAX_SHOWN_CHARS)} is of a kind that is not open to this tool; "
            f"files that are end in {', '.join(access.extensions)}"
        )
    return parts[:-1], parts[-1]


def _read(access: _FolderAccess, path: str, offset: int, limit: int | None) -> str:
    folder, name = _split_file_path(access, path)
    if offset < 0 or (limit is not None and limit < 1):
        raise ToolFailedError("`offset` must be 0 or more and `limit` 1 or more; leave them out to read from the top")
    max_read_bytes = access.max_read_bytes if limit is None else min(limit, access.max_read_bytes)
    with open_folder(access.root, folder) as fd, open_regular_file(fd, name, path) as (inner, status):
        size = status.st_size
        os.lseek(inner, min(offset, size), os.SEEK_SET)
        data = _read_bytes(inner, max_read_bytes)
    if b"\0" in data:
        raise ToolFailedError(
            f"{quoted(path, _MAX_SHOWN_CHARS)} is no text file ({size:,} bytes); it cannot be read as one"
        )
    if not data:
        return f"[the end: the file has {size:,} bytes]" if size else "[the file is empty]"
    end = offset + len(data)
    if end < size:
        # The part ends where a character ends.
        cut = next((n for n in range(1, min(4, len(data))) if data[-n] & 0xC0 != 0x80), 0)
        if cut and len(data) > cut and data[-cut] >= 0xC0 and cut < _utf8_length(data[-cut]):
            data, end = data[:-cut], end - cut
    text = data.decode("utf-8", "replace")
    if end < size:
        text += f"\n[bytes {offset:,} to {end:,} of {size:,}; read on with offset={end}]"
    return text


def _utf8_length(first: int) -> int:
    """Return the bytes of a character, as its first one tells."""
    return 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _read_bytes(fd: int, max_read_bytes: int) -> bytes:
    parts: list[bytes] = []
    while max_read_bytes and (part := os.read(fd, min(max_read_bytes, 1 << 20))):
        parts.append(part)
        max_read_bytes -= len(part)
    return b"".join(parts)


def _write(access: _FolderAccess, path: str, content: str) -> str:
    folder, name = _split_file_path(access, path)
    data = content.encode()
    old = replace_file(access.root, folder, name, path, data, access.max_file_bytes)
    return f"{'wrote' if old else 'made'} {quoted(path, _MAX_SHOWN_CHARS)}: {len(data):,} bytes"


def _edit(access: _FolderAccess, path: str, old: str, new: str) -> str:
    folder, name = _split_file_path(access, path)
    if not old:
        raise ToolFailedError("`old` is empty; give the text that is to be replaced, or use `write_file`")
    with open_folder(access.root, folder) as fd, open_regular_file(fd, name, path) as (inner, status):
        if status.st_size > access.max_file_bytes:
            words = f"has {status.st_size:,} bytes, and at most {access.max_file_bytes:,} are edited"
            raise ToolFailedError(f"{quoted(path, _MAX_SHOWN_CHARS)} {words}; leave it as it is")
        data = _read_bytes(inner, access.max_file_bytes)
    if (count := data.count(old.encode())) != 1:
        words = f"{count} times; give more of what is around it" if count else "not at all; read the file again"
        raise ToolFailedError(f"`old` is in {quoted(path, _MAX_SHOWN_CHARS)} {words}")
    data = data.replace(old.encode(), new.encode())
    replace_file(access.root, folder, name, path, data, access.max_file_bytes, expected=status)
    return f"edited {quoted(path, _MAX_SHOWN_CHARS)}: {len(data):,} bytes"
