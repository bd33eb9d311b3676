"""Find files below a folder by a glob pattern.

Each folder is opened from the one above it, never through a link. A pattern is matched part by part, so no pattern
takes long.
"""

from __future__ import annotations

import os
import re
from fnmatch import translate
from itertools import islice
from typing import TYPE_CHECKING

from prowess._internal.fs import FOLDER_FLAGS
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.agent.policy import ToolFailedError

from ._paths import open_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["find_by_pattern"]

_MAX_MATCHES = 500
_MAX_VISITED = 50_000
"""Files and folders that one search visits."""
_MAX_DEPTH = 64
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
    try:
        # `None` is any number of folders.
        patterns = [None if part == "**" else re.compile(translate(part)) for part in globs]
    except re.error:
        raise ToolFailedError(f"invalid pattern {quoted(pattern)}; give one like `*.py`") from None
    matches: list[str] = []
    walker = _FolderWalker()
    with open_folder(root, parts) as fd:
        for path, is_folder in walker.walk(fd, ()):
            if _matches(path, patterns):
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
                if self.remaining > 0 and len(path) < _MAX_DEPTH:
                    yield from self.walk(fd, (*path, name))
        except OSError:
            return
        finally:
            os.close(fd)


def _matches(path: Sequence[str], patterns: Sequence[re.Pattern[str] | None]) -> bool:
    """Return whether the parts of a path match those of a pattern, one by one."""
    positions = {0}  # indexes of the patterns that the next part may match
    for part in path:
        for position in tuple(positions):
            while position < len(patterns) and patterns[position] is None:
                position += 1
                positions.add(position)
        next_positions: set[int] = set()
        for position in positions:
            if position < len(patterns):
                pattern = patterns[position]
                if pattern is None:
                    next_positions.add(position)
                elif pattern.match(part):
                    next_positions.add(position + 1)
        positions = next_positions
        if not positions:
            return False
    return any(all(pattern is None for pattern in patterns[position:]) for position in positions)
