"""Find Markdown files whose front matter is configuration, such as the agents of a client."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._filesystem import Filesystem

__all__ = ["find_markdown_files"]

_MAX_FOLDERS = 200
_MAX_FILES = 500


def find_markdown_files(folder: str, filesystem: Filesystem) -> Iterator[tuple[str, str]]:
    """Yield the Markdown files in a folder at any depth, each with its path there without `.md`, in order of names.

    Args:
        folder: absolute.
        filesystem: what was read so far.
    """
    waiting, seen, found = [folder], 0, 0
    while waiting and seen < _MAX_FOLDERS:
        directory = waiting.pop()
        seen += 1
        try:
            entries = filesystem.listing(directory)
        except OSError:
            continue
        for name, letter in entries:
            path = os.path.join(directory, name)
            if letter == "d":
                waiting.append(path)
            elif name.endswith(".md") and found < _MAX_FILES:
                found += 1
                yield path, os.path.relpath(path, folder).removesuffix(".md")
