"""a folder -> tools that list, read, search and write in it, and nowhere else"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from prowess._frozen import Frozen
from prowess.agent.arguments import Argument, agent_tool
from prowess.agent.beneath import at_folder, kind_of, opened, parts_of, place
from prowess.agent.name_search import named
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.agent.replacing import replace
from prowess.text import neutral, quoted, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import AgentTool, Around

__all__ = ["tools"]

_LISTED = 500
_COUNTED = 100_000
"""Entries of a folder that are counted at most."""
_SHOWN = 200
_WORDS = 1000
"""Bytes of a result that are for what is not the file's."""
_PATH = "of the file, relative to the folder that is open to this tool"


class _Open(Frozen):
    """What is open to the tools."""

    root: str
    """Absolute, without links."""
    extensions: tuple[str, ...]
    """In lower case, with their dots; none is all."""
    most: int
    """Bytes of a file that are read at once, or written."""
    whole: int
    """Bytes of a file that is edited."""


def tools(options: Mapping[str, Any], around: Around) -> tuple[AgentTool, ...]:
    """Make the tools of a folder; links in it are not followed, wherever they lead.

    Raises:
        ConfigError: there is no such folder, or the policy does not open it.
    """
    endings = tuple(f".{text.lower().removeprefix('.')}" for text in options["allowed_extensions"])
    whole = options["max_bytes"]
    most = max(1, min(whole, around.policy.max_result_bytes - _WORDS))
    there = _Open(root=place(around, options["root_path"], "root_path"), extensions=endings, most=most, whole=whole)
    only = f" Only files ending in {', '.join(endings)} can be opened." if endings else ""
    folder = Argument("string", "of the folder, relative to the one that is open to this tool", ".")
    path = Argument("string", _PATH, needed=True)
    made = [
        agent_tool("filesystem", "list_directory", "List a folder.", {"path": folder}, partial(_list, there)),
        agent_tool(
            "filesystem",
            "read_file",
            f"Read a text file.{only}",
            {
                "path": path,
                "offset": Argument("integer", "the first byte to read", 0),
                "limit": Argument("integer", f"bytes at most; {most:,} if left out"),
            },
            partial(_read, there),
        ),
        agent_tool(
            "filesystem",
            "search_files",
            "Find files and folders by name, in a folder and all below it.",
            {
                "pattern": Argument("string", "as in `*.py`, or with folders as in `src/**/test_*.py`", needed=True),
                "path": folder,
            },
            lambda pattern, path: named(there.root, parts_of(path, there.root), pattern),
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
        made.append(agent_tool("filesystem", "write_file", words, write, partial(_write, there), ask=ask))
        words = f"Replace a piece of a text file.{only}"
        made.append(agent_tool("filesystem", "edit_file", words, edit, partial(_edit, there), ask=ask))
    return tuple(made)


def _list(there: _Open, path: str) -> str:
    parts = parts_of(path, there.root)
    lines = []
    with at_folder(there.root, parts) as fd:
        try:
            inner = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
        except OSError as error:
            raise ToolFailedError(f"{quoted(path, _SHOWN)} cannot be listed: {words_of(error)}") from None
        try:
            with os.scandir(inner) as entries:
                names = sorted(entry.name for entry in islice(entries, _COUNTED))
        finally:
            os.close(inner)
        for name in names[:_LISTED]:
            with suppress(OSError):
                lines.append(_line(name, os.stat(name, dir_fd=fd, follow_symlinks=False)))
    if len(names) > _LISTED:
        more = f"{len(names) - _LISTED:,}{' or more' if len(names) == _COUNTED else ''}"
        lines.append(f"[and {more} more; find them with `search_files`]")
    return "\n".join(lines) or "the folder is empty"


def _line(name: str, status: os.stat_result) -> str:
    if stat.S_ISDIR(status.st_mode):
        return f"{neutral(name)}/"
    size = f"{status.st_size:,} bytes" if stat.S_ISREG(status.st_mode) else kind_of(status)
    return f"{neutral(name)} ({size})"


def _file(there: _Open, path: str) -> tuple[list[str], str]:
    """Return the folder and the name of a file that may be opened.

    Raises:
        ToolFailedError: the path names no file.
        RefusedError: it leads out, or to a file of a kind that is not open.
    """
    parts = parts_of(path, there.root)
    if not parts:
        raise ToolFailedError(f"{quoted(path)} is the folder itself; name a file in it")
    if there.extensions and not parts[-1].lower().endswith(there.extensions):
        raise RefusedError(
            f"{quoted(path, _SHOWN)} is of a kind that is not open to this tool; "
            f"files that are end in {', '.join(there.extensions)}"
        )
    return parts[:-1], parts[-1]


def _read(there: _Open, path: str, offset: int, limit: int | None) -> str:
    folder, name = _file(there, path)
    if offset < 0 or (limit is not None and limit < 1):
        raise ToolFailedError("`offset` must be 0 or more and `limit` 1 or more; leave them out to read from the top")
    most = there.most if limit is None else min(limit, there.most)
    with at_folder(there.root, folder) as fd, opened(fd, name, path) as (inner, status):
        size = status.st_size
        os.lseek(inner, min(offset, size), os.SEEK_SET)
        data = _bytes(inner, most)
    if b"\0" in data:
        raise ToolFailedError(f"{quoted(path, _SHOWN)} is no text file ({size:,} bytes); it cannot be read as one")
    if not data:
        return f"[the end: the file has {size:,} bytes]" if size else "[the file is empty]"
    end = offset + len(data)
    if end < size:
        # The part ends where a character ends.
        cut = next((n for n in range(1, min(4, len(data))) if data[-n] & 0xC0 != 0x80), 0)
        if cut and len(data) > cut and data[-cut] >= 0xC0 and cut < _length(data[-cut]):
            data, end = data[:-cut], end - cut
    text = data.decode("utf-8", "replace")
    if end < size:
        text += f"\n[bytes {offset:,} to {end:,} of {size:,}; read on with offset={end}]"
    return text


def _length(first: int) -> int:
    """Return the bytes of a character, as its first one tells."""
    return 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _bytes(fd: int, most: int) -> bytes:
    parts: list[bytes] = []
    while most and (part := os.read(fd, min(most, 1 << 20))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _write(there: _Open, path: str, content: str) -> str:
    folder, name = _file(there, path)
    data = content.encode()
    old = replace(there.root, folder, name, path, data, there.whole)
    return f"{'wrote' if old else 'made'} {quoted(path, _SHOWN)}: {len(data):,} bytes"


def _edit(there: _Open, path: str, old: str, new: str) -> str:
    folder, name = _file(there, path)
    if not old:
        raise ToolFailedError("`old` is empty; give the text that is to be replaced, or use `write_file`")
    with at_folder(there.root, folder) as fd, opened(fd, name, path) as (inner, status):
        if status.st_size > there.whole:
            words = f"has {status.st_size:,} bytes, and at most {there.whole:,} are edited"
            raise ToolFailedError(f"{quoted(path, _SHOWN)} {words}; leave it as it is")
        data = _bytes(inner, there.whole)
    if (count := data.count(old.encode())) != 1:
        words = f"{count} times; give more of what is around it" if count else "not at all; read the file again"
        raise ToolFailedError(f"`old` is in {quoted(path, _SHOWN)} {words}")
    data = data.replace(old.encode(), new.encode())
    replace(there.root, folder, name, path, data, there.whole, was=status)
    return f"edited {quoted(path, _SHOWN)}: {len(data):,} bytes"
