"""Walk through all folders below one, whatever is in them.

Unlike `_scan`, which follows the rules of a host, this walk looks everywhere. It follows no links, opens no files, and
ends after a number of folders.
"""

from __future__ import annotations

import os
from collections import deque

from prowess._internal.text import describe_os_error, neutral
from prowess.findings import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from prowess.findings import Finding

    from ._filesystem import Filesystem

MAX_FOLDERS = 100_000
"""Folders below one path that are searched."""
_MAX_UNREADABLE = 100
"""Folders that cannot be listed: each of the first ones is a finding, the rest are counted in one."""


def walk_folders(
    top: str,
    problems: list[Finding],
    *,
    files: Collection[str],
    max_folders: int,
    filesystem: Filesystem | None = None,
) -> Iterator[tuple[str, list[str], dict[str, bool]]]:
    """Yield each folder, those nearer to the top first, with its folders and some of its files.

    The list of folders is sorted; as with `os.walk`, the caller removes those that are not to be entered.

    Args:
        top: the folder to begin with; it may be a link.
        problems: gets a finding for each folder that cannot be listed, and for the limit.
        files: the names of the files to yield, in lower case. Anything that is not a folder counts, and a folder too
            if its name is in this collection.
        max_folders: the most folders to list.
        filesystem: records which folders were listed.

    Yields:
        The folder, the names in it of folders, and the names of files with whether each is a link.
    """
    waiting = deque([top])
    count = unreadable = 0
    while waiting:
        folder = waiting.popleft()
        count += 1
        if count > max_folders:
            message = f"only the first {max_folders:,} folders were searched"
            problems.append(finding("folder-limit", message, path=top, hint="name a folder further down"))
            break
        try:
            if filesystem is not None:
                filesystem.record_folder(folder)
            folders, found = _list_folder(folder, files)
        except OSError as error:
            if filesystem is not None:
                filesystem.mark_incomplete()
            unreadable += 1
            if unreadable <= _MAX_UNREADABLE:
                message = f"the folder cannot be listed: {neutral(describe_os_error(error))}"
                problems.append(finding("folder-unreadable", message, path=folder, hint="fix its permissions"))
            continue
        yield folder, folders, found
        room = max_folders + 1 - count - len(waiting)
        waiting.extend(os.path.join(folder, name) for name in folders[: max(room, 0)])
    if unreadable > _MAX_UNREADABLE:
        message = f"{unreadable - _MAX_UNREADABLE:,} more folders cannot be listed"
        problems.append(finding("folder-unreadable", message, path=top, hint="fix their permissions"))


def _list_folder(folder: str, files: Collection[str]) -> tuple[list[str], dict[str, bool]]:
    """Return the names of folders, sorted, and the wanted files.

    Raises:
        OSError: the folder cannot be listed.
    """
    folders: list[str] = []
    found: dict[str, bool] = {}
    with os.scandir(folder) as listing:
        for entry in listing:
            if is_folder := _is_folder(entry):
                folders.append(entry.name)
            if entry.name.lower() in files:
                found[entry.name] = not is_folder and entry.is_symlink()
    folders.sort()
    return folders, found


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
