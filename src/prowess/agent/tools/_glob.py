"""a folder + a pattern -> the names below it that fit

Each folder is opened from the one above it, never through a link. A pattern is matched part by part, so none takes
long, however it is written.
"""

from __future__ import annotations

import os
import re
from fnmatch import translate
from itertools import islice
from typing import TYPE_CHECKING

from prowess._internal.text import neutral, quoted
from prowess.agent.policy import ToolFailedError

from ._paths import open_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["find_by_pattern"]

_MAX_MATCHES = 500
_MAX_VISITED = 50_000
"""Files and folders that are looked at."""
_MAX_DEPTH = 64
_MAX_PATTERN_CHARS = 500
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def find_by_pattern(root: str, parts: list[str], pattern: str) -> str:
    """List what fits a pattern, `.git` left out; links are named and not followed.

    Args:
        root: the folder that is open, absolute and without links.
        parts: the way to the one that is searched.
        pattern: for a name, or with `/` for the path from there; `**` is any number of folders.

    Raises:
        ToolFailedError: the pattern is none, or the folder cannot be searched.
    """
    if not pattern or len(pattern) > _MAX_PATTERN_CHARS:
        raise ToolFailedError(f"{quoted(pattern)} cannot be a pattern; give one like `*.py`")
    wanted = [part for part in pattern.split("/") if part not in ("", ".")]
    if "/" not in pattern:
        wanted.insert(0, "**")
    try:
        # `None` is any number of folders.
        patterns = [None if part == "**" else re.compile(translate(part)) for part in wanted]
    except re.error:
        raise ToolFailedError(f"{quoted(pattern)} cannot be a pattern; give one like `*.py`") from None
    found: list[str] = []
    work = _FolderWalker()
    with open_folder(root, parts) as fd:
        for path, is_folder in work.walk(fd, ()):
            if _matches(path, patterns):
                found.append(neutral("/".join((*parts, *path))) + "/" * is_folder)
                if len(found) > _MAX_MATCHES:
                    break
    lines = sorted(found[:_MAX_MATCHES])
    if len(found) > _MAX_MATCHES:
        lines.append(f"[these are the first {_MAX_MATCHES}; search for less, or in one of the folders]")
    elif work.remaining <= 0:
        lines.append(
            f"[only the first {_MAX_VISITED:,} files and folders were looked at; search in one of the folders]"
        )
    return "\n".join(lines) or f"nothing is named like {quoted(pattern, 200)}"


class _FolderWalker:
    """Goes through a folder and all below it."""

    def __init__(self) -> None:
        self.remaining = _MAX_VISITED

    def walk(self, above: int, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], bool]]:
        """Yield the way to each thing, and whether it is a folder."""
        try:
            fd = os.open(path[-1] if path else ".", _FOLDER_FLAGS, dir_fd=above)
        except OSError:
            return
        try:
            with os.scandir(fd) as entries:
                seen = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, self.remaining)]
            self.remaining -= len(seen)
            folders = []
            for name, is_folder in sorted(seen):
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
    """Say whether the parts of a path fit those of a pattern, one by one."""
    reached = {0}
    for part in path:
        for at in tuple(reached):
            while at < len(patterns) and patterns[at] is None:
                at += 1
                reached.add(at)
        after: set[int] = set()
        for at in reached:
            if at < len(patterns):
                fit = patterns[at]
                if fit is None:
                    after.add(at)
                elif fit.match(part):
                    after.add(at + 1)
        reached = after
        if not reached:
            return False
    return any(all(fit is None for fit in patterns[at:]) for at in reached)
