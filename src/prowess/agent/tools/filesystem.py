"""`filesystem`: tools that list, read, search and write files in one folder, and nowhere else."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from prowess._internal.file_status import describe_file_type
from prowess._internal.files import read_up_to
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, open_fd, replacement_file, write_all
from prowess._internal.globs import PYTHON, compile_parts, matches_parts
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.agent.policy import RefusedError, ToolFailedError

from ._making import Argument, make_agent_tool
from ._paths import open_error, open_folder, open_regular_file, resolve_folder, split_path
from ._protection import protection_for, refuse_protected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prowess.agent.policy import AgentTool, ToolContext
    from prowess.guard import Protection

__all__ = ["find_by_pattern", "replace_file", "tools"]

_MAX_LISTED = 500
_MAX_COUNTED = 100_000
"""Entries of a folder that are counted."""
_RESERVED_BYTES = 1000
"""Bytes of a result that are not for the file's content."""
_FILE_ARGUMENT = Argument("string", "the file's path, relative to the folder that this tool may use", needed=True)


class _FolderAccess(Frozen):
    """What the tools of one configuration may use."""

    root: str
    """The folder, absolute and without links."""
    extensions: tuple[str, ...]
    """The allowed extensions, in lower case with the dot; empty allows all."""
    max_read_bytes: int
    """Bytes of a file that one call reads."""
    max_file_bytes: int
    """Bytes of a file that can be written or edited."""
    protection: Protection


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make the tools for a folder; they do not follow links.

    Raises:
        ConfigError: the folder does not exist, or the policy does not allow it.
    """
    max_file_bytes = options["max_bytes"]
    access = _FolderAccess(
        root=resolve_folder(context, options["root_path"], "root_path"),
        extensions=tuple(f".{text.lower().removeprefix('.')}" for text in options["allowed_extensions"]),
        max_read_bytes=max(1, min(max_file_bytes, context.policy.max_result_bytes - _RESERVED_BYTES)),
        max_file_bytes=max_file_bytes,
        protection=protection_for(context),
    )
    reading = _reading_tools(access)
    return reading if options["read_only"] else (*reading, *_writing_tools(access, ask=options["require_confirmation"]))


def _reading_tools(access: _FolderAccess) -> tuple[AgentTool, ...]:
    folder = Argument("string", "the folder's path, relative to the folder that this tool may use", ".")
    read = {
        "path": _FILE_ARGUMENT,
        "offset": Argument("integer", "the first byte to read", 0),
        "limit": Argument("integer", f"the most bytes to read; {access.max_read_bytes:,} by default"),
    }
    pattern = Argument("string", "a pattern such as `*.py`, or with folders `src/**/test_*.py`", needed=True)
    search = "Find files and folders by name, in a folder and everything below it."

    def search_files(pattern: str, path: str) -> str:
        return find_by_pattern(access.root, split_path(path, access.root), pattern)

    return (
        make_agent_tool("filesystem", "list_directory", "List a folder.", {"path": folder}, partial(_list, access)),
        make_agent_tool(
            "filesystem", "read_file", f"Read a text file.{_extensions_note(access)}", read, partial(_read, access)
        ),
        make_agent_tool("filesystem", "search_files", search, {"pattern": pattern, "path": folder}, search_files),
    )


def _writing_tools(access: _FolderAccess, *, ask: bool) -> tuple[AgentTool, ...]:
    note = _extensions_note(access)
    write = {"path": _FILE_ARGUMENT, "content": Argument("string", "the whole text", needed=True)}
    edit = {
        "path": _FILE_ARGUMENT,
        "old": Argument("string", "the text to replace, which must occur exactly once", needed=True),
        "new": Argument("string", "the new text", needed=True),
    }
    return tuple(
        make_agent_tool("filesystem", name, description, arguments, partial(function, access), ask=ask)
        for name, description, arguments, function in (
            ("write_file", f"Write a text file: create it, or replace it as a whole.{note}", write, _write),
            ("edit_file", f"Replace one piece of a text file.{note}", edit, _edit),
        )
    )


def _extensions_note(access: _FolderAccess) -> str:
    if not access.extensions:
        return ""
    return f" Only files with these extensions can be opened: {', '.join(access.extensions)}."


def _list(access: _FolderAccess, path: str) -> str:
    parts = split_path(path, access.root)
    lines = []
    with open_folder(access.root, parts) as fd:
        try:
            with open_fd(".", FOLDER_FLAGS, dir_fd=fd) as listable, os.scandir(listable) as entries:
                names = sorted(entry.name for entry in islice(entries, _MAX_COUNTED))
        except OSError as error:
            raise ToolFailedError(f"cannot list {quoted(path, PATH_LIMIT)}: {describe_os_error(error)}") from None
        for name in names[:_MAX_LISTED]:
            with suppress(OSError):
                lines.append(_listing_line(name, os.stat(name, dir_fd=fd, follow_symlinks=False)))
    if len(names) > _MAX_LISTED:
        more = f"{len(names) - _MAX_LISTED:,}{' or more' if len(names) == _MAX_COUNTED else ''}"
        lines.append(f"[and {more} more; use `search_files` to find them]")
    return "\n".join(lines) or "the folder is empty"


def _listing_line(name: str, status: os.stat_result) -> str:
    if stat.S_ISDIR(status.st_mode):
        return f"{neutral(name)}/"
    size = f"{status.st_size:,} bytes" if stat.S_ISREG(status.st_mode) else describe_file_type(status.st_mode)
    return f"{neutral(name)} ({size})"


def _split_file_path(access: _FolderAccess, path: str) -> tuple[list[str], str]:
    """Return the parts of a file's folder, and the file's name.

    Raises:
        ToolFailedError: the path is the folder itself.
        RefusedError: the path leads out of the folder, or its extension is not allowed.
    """
    parts = split_path(path, access.root)
    if not parts:
        raise ToolFailedError(f"{quoted(path)} is the folder itself; give the path of a file in it")
    if access.extensions and not parts[-1].lower().endswith(access.extensions):
        raise RefusedError(
            f"{quoted(path, PATH_LIMIT)} does not have an allowed extension; allowed are {', '.join(access.extensions)}"
        )
    return parts[:-1], parts[-1]


def _read(access: _FolderAccess, path: str, offset: int, limit: int | None) -> str:
    folder, name = _split_file_path(access, path)
    if offset < 0 or (limit is not None and limit < 1):
        raise ToolFailedError("`offset` must be 0 or more and `limit` 1 or more; leave them out to read from the start")
    max_read_bytes = access.max_read_bytes if limit is None else min(limit, access.max_read_bytes)
    with open_folder(access.root, folder) as fd, open_regular_file(fd, name, path) as (file_fd, status):
        size = status.st_size
        os.lseek(file_fd, min(offset, size), os.SEEK_SET)
        data = read_up_to(file_fd, max_read_bytes)[:max_read_bytes]
    if b"\0" in data:
        raise ToolFailedError(f"{quoted(path, PATH_LIMIT)} is a binary file ({size:,} bytes), which cannot be read")
    if not data:
        return f"[end of file: it has {size:,} bytes]" if size else "[the file is empty]"
    end = offset + len(data)
    if end < size:
        # Do not cut a character in two.
        cut = next((n for n in range(1, min(4, len(data))) if data[-n] & 0xC0 != 0x80), 0)
        if cut and len(data) > cut and data[-cut] >= 0xC0 and cut < _utf8_length(data[-cut]):
            data, end = data[:-cut], end - cut
    text = data.decode("utf-8", "replace")
    if end < size:
        text += f"\n[bytes {offset:,} to {end:,} of {size:,}; read on with offset={end}]"
    return text


def _utf8_length(first: int) -> int:
    """Return the length of a UTF-8 character, by its first byte."""
    return 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _write(access: _FolderAccess, path: str, content: str) -> str:
    folder, name = _split_file_path(access, path)
    data = content.encode()
    old = replace_file(access.root, folder, name, path, data, access.max_file_bytes, protection=access.protection)
    return f"{'wrote' if old else 'created'} {quoted(path, PATH_LIMIT)}: {len(data):,} bytes"


def _edit(access: _FolderAccess, path: str, old: str, new: str) -> str:
    folder, name = _split_file_path(access, path)
    if not old:
        raise ToolFailedError("`old` is empty; give the text to replace, or use `write_file`")
    with open_folder(access.root, folder) as fd, open_regular_file(fd, name, path) as (file_fd, status):
        if status.st_size > access.max_file_bytes:
            message = f"{quoted(path, PATH_LIMIT)} has {status.st_size:,} bytes; the limit is {access.max_file_bytes:,}"
            raise ToolFailedError(f"{message}; do not edit it")
        data = read_up_to(file_fd, access.max_file_bytes)[: access.max_file_bytes]
    if (count := data.count(old.encode())) != 1:
        problem = f"occurs {count} times in" if count else "does not occur in"
        advice = "give more of the text around it" if count else "read the file again"
        raise ToolFailedError(f"`old` {problem} {quoted(path, PATH_LIMIT)}; {advice}")
    data = data.replace(old.encode(), new.encode())
    replace_file(
        access.root,
        folder,
        name,
        path,
        data,
        access.max_file_bytes,
        protection=access.protection,
        expected=status,
    )
    return f"edited {quoted(path, PATH_LIMIT)}: {len(data):,} bytes"


_MAX_MATCHES = 500
_MAX_VISITED = 50_000
"""Files and folders that one search visits."""
_MAX_SEARCH_DEPTH = 64
_MAX_PATTERN_CHARS = 500


def find_by_pattern(root: str, parts: list[str], pattern: str) -> str:
    """List the files and folders that match a pattern, except in `.git`; links are listed and not followed.

    Args:
        root: the folder that the tool may use, absolute and without links.
        parts: the path of the folder to search, below `root`.
        pattern: matches a name or, with `/`, the path from there; `**` is any number of folders.

    Raises:
        ToolFailedError: the pattern is invalid, or the folder cannot be searched.
    """
    if not pattern or len(pattern) > _MAX_PATTERN_CHARS:
        raise ToolFailedError(f"invalid pattern {quoted(pattern)}; give one like `*.py`")
    globs = [part for part in pattern.split("/") if part not in ("", ".")]
    if "/" not in pattern:
        globs.insert(0, "**")
    patterns = compile_parts(globs, PYTHON, inside=False)
    matches: list[str] = []
    walker = _FolderWalker()
    with open_folder(root, parts) as fd:
        for path, is_folder in walker.walk(fd, ()):
            if matches_parts(patterns, path):
                matches.append(neutral("/".join((*parts, *path))) + "/" * is_folder)
                if len(matches) > _MAX_MATCHES:
                    break
    lines = sorted(matches[:_MAX_MATCHES])
    if len(matches) > _MAX_MATCHES:
        lines.append(
            f"[only the first {_MAX_MATCHES} matches; use a narrower pattern, or search in one of the folders]"
        )
    elif walker.remaining <= 0:
        lines.append(f"[stopped after {_MAX_VISITED:,} files and folders; search in one of the folders]")
    return "\n".join(lines) or f"no match for {quoted(pattern, PATH_LIMIT)}"


class _FolderWalker:
    """Walks a folder and everything below it, up to a limit."""

    def __init__(self) -> None:
        self.remaining = _MAX_VISITED

    def walk(self, above: int, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], bool]]:
        """Yield the path of each file and folder, and whether it is a folder."""
        try:
            fd = os.open(path[-1] if path else ".", FOLDER_FLAGS, dir_fd=above)
        except OSError:
            return
        try:
            with os.scandir(fd) as entries:
                entries_here = [
                    (entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, self.remaining)
                ]
            self.remaining -= len(entries_here)
            folders = []
            for name, is_folder in sorted(entries_here):
                if name != ".git":
                    yield (*path, name), is_folder
                    folders += [name] if is_folder else []
            for name in folders:
                if self.remaining > 0 and len(path) < _MAX_SEARCH_DEPTH:
                    yield from self.walk(fd, (*path, name))
        except OSError:
            return
        finally:
            os.close(fd)


def replace_file(
    root: str,
    folder: Sequence[str],
    name: str,
    path: str,
    data: bytes,
    max_bytes: int,
    *,
    protection: Protection,
    expected: os.stat_result | None = None,
) -> os.stat_result | None:
    """Write a file, create missing folders, and return the status of the file it replaced.

    Args:
        root: the folder that the tool may use, absolute and without links.
        folder: the path of the file's folder below `root`.
        name: the file's name.
        path: the path that the model gave, for messages.
        data: the content.
        max_bytes: the limit.
        protection: what must not be written.
        expected: the status that an unchanged file still has.

    Raises:
        ToolFailedError: the file cannot be written, or has changed.
        RefusedError: the file must not be written.
    """
    if len(data) > max_bytes:
        raise ToolFailedError(f"{len(data):,} bytes are too many: the limit is {max_bytes:,}; write less")
    full = "/".join((root.rstrip("/"), *folder, name))
    refuse_protected(protection, full, path, data)
    with open_folder(root, folder, create=True) as fd:
        old = _existing_file(fd, name, path)
        if expected is not None and (
            old is None or not os.path.samestat(old, expected) or old.st_mtime_ns != expected.st_mtime_ns
        ):
            raise ToolFailedError(f"{quoted(path, PATH_LIMIT)} has changed since it was read; read it again")
        try:
            with replacement_file(name, mode=0o666, dir_fd=fd) as replacement:
                if old is not None:
                    os.fchmod(replacement, stat.S_IMODE(old.st_mode) & 0o777)
                write_all(replacement, data)
        except OSError as error:
            raise ToolFailedError(f"cannot write {quoted(path, PATH_LIMIT)}: {describe_os_error(error)}") from None
    return old


def _existing_file(fd: int, name: str, path: str) -> os.stat_result | None:
    """Return the status of a file that will be replaced, or `None` if the file is new.

    Raises:
        RefusedError: it is not a regular file, or is write-protected.
    """
    try:
        old = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise open_error(fd, name, path, error) from None
    if not stat.S_ISREG(old.st_mode):
        raise RefusedError(f"{quoted(path, PATH_LIMIT)} is {describe_file_type(old.st_mode)}; choose another name")
    if not old.st_mode & 0o222:
        raise RefusedError(f"{quoted(path, PATH_LIMIT)} is write-protected; choose another name")
    return old
