"""Find the files of a root that are skills by themselves, such as commands of the user."""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE
from prowess.hosts import collation_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prowess.hosts import Root

    from ._filesystem import Filesystem
    from ._roots import ScanRoot
    from ._skipped import SkipReports

__all__ = ["file_label", "find_files", "find_loose_files"]

_FOLDER_FILE = "skill.md"
"""The file, in any case, that makes its folder a skill."""


def file_label(root_path: str, path: str, root: Root) -> str:
    """Return what a file is called: its path below the root, with `:` for `/`.

    Args:
        root_path: of the root.
        path: of the file.
        root: its rules.
    """
    relative = os.path.relpath(path, root_path)
    folder, file = os.path.split(relative)
    if root.folder_files != "no" and file.lower() == _FOLDER_FILE:
        return folder.replace(os.sep, ":") or os.path.basename(root_path)
    return os.path.splitext(relative)[0].replace(os.sep, ":")


def find_files(
    scan_root: ScanRoot, real: str, filesystem: Filesystem, reports: SkipReports
) -> Iterator[tuple[str, str]]:
    """Yield the files of a root that are skills, each with its path without links, sorted by path.

    Args:
        scan_root: the root.
        real: its path without links.
        filesystem: what was read so far.
        reports: where skipped folders are reported.
    """
    root = scan_root.root
    is_skill = re.compile(root.files).fullmatch
    found: list[tuple[str, str]] = []
    waiting, visited = [(scan_root.path, real, 0)], {real}
    while waiting:
        path, real, depth = waiting.pop()
        try:
            entries = filesystem.listing(path)
        except OSError as error:
            message = f"the folder cannot be listed: {(error.strerror or 'unknown error').lower()}"
            reports.report("folder-unreadable", message, path, "fix its permissions")
            continue
        files, below = [], []
        for name, letter in entries:
            inner = os.path.join(path, name)
            kind = filesystem.kind(inner) if letter == "l" else letter
            if kind == "f" and is_skill(name):
                files.append((inner, os.path.join(real, name)))
            elif kind == "d" and depth != root.depth and name not in root.skip and (root.hidden or name[0] != "."):
                target = filesystem.real(inner) if letter == "l" else os.path.join(real, name)
                if (letter == "l" and root.linked_folders == "skip") or target in visited:
                    continue
                visited.add(target)
                if len(visited) <= root.max_folders:
                    below.append((inner, target, depth + 1))
        own = [item for item in files if os.path.basename(item[0]).lower() == _FOLDER_FILE]
        has_own = bool(own) and root.folder_files != "no"
        found += own[:1] if has_own else files
        waiting += [] if has_own and root.folder_files == "alone" else below
    if len(visited) > root.max_folders:
        reports.folder_limit(scan_root)
    yield from sorted(found, key=(lambda item: _order(scan_root.path, item[0])) if root.collated else None)


def _order(root_path: str, path: str) -> list[tuple[bool, object]]:
    """Return a key that sorts the files of a folder, as in a dictionary, before its folders."""
    *folders, file = os.path.relpath(path, root_path).split(os.sep)
    return [*((True, collation_key(name)) for name in folders), (False, collation_key(file))]


def find_loose_files(
    root: Root, path: str, real: str, entries: Iterable[tuple[str, str]], filesystem: Filesystem
) -> list[tuple[str, str, int]]:
    """Return the files of a folder that are skills, although they are not called SKILL.md.

    Args:
        root: whose rules to follow.
        path: of the folder.
        real: the same without links.
        entries: its listing.
        filesystem: what was read so far.

    Returns:
        The path and the real path of each, and -1.
    """
    return [
        (f"{path}/{name}", f"{real}/{name}", -1)
        for name, letter in entries
        if name.endswith(".md")
        and name != SKILL_FILE
        and (root.skip_inside or not name.startswith("."))
        and (letter == "f" or (letter == "l" and filesystem.kind(f"{path}/{name}") == "f"))
    ]
