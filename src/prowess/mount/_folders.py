"""List a skill's folder and every folder below it."""

from __future__ import annotations

import os

from prowess.skill import MAX_DEPTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["list_folders"]

_MAX_FOLDERS = 10_000
"""More than a mounted skill can have."""


def list_folders(top: str) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Yield each folder with its entries, the folder itself first; no link is followed.

    A folder that cannot be listed is left out: it cannot be mounted either.

    Args:
        top: the folder; the paths are relative to it, and its own is empty.
    """
    pending = [("", 0)]
    for count, (path, depth) in enumerate(pending):  # grows during the loop
        if count >= _MAX_FOLDERS:
            return
        try:
            with os.scandir(os.path.join(top, path)) as entries:
                found = list(entries)
            inner = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        if depth <= MAX_DEPTH:
            pending += [(os.path.join(path, name), depth + 1) for name in inner]
        yield path, found
