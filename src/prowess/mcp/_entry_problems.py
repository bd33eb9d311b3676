"""Find what is wrong with the entry of a skill that hosts can load all the same."""

from __future__ import annotations

from ._field_rules import field_problems
from ._remote_skill import MAX_BYTES, MAX_FILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ._remote_skill import RemoteSkill

__all__ = ["directories", "entry_problems", "is_large", "sorted_files"]

_MAX_SHOWN_BYTES = 1 << 60
"""A sum of sizes can have more digits than Python prints."""


def directories(skill: RemoteSkill) -> dict[str, set[str]]:
    """Return the directories of a skill, each with the URIs that it must contain."""
    top = skill.uri.removesuffix("/SKILL.md")
    found: dict[str, set[str]] = {top: set()}
    for file in skill.files or ():
        child = file.uri
        while child != top:
            parent = child.rpartition("/")[0]
            found.setdefault(parent, set()).add(child)
            child = parent
    return found


def entry_problems(entry: object) -> Iterator[tuple[str, str]]:
    """Yield the rules that an entry breaks besides those that make it invalid for every host."""
    if not isinstance(entry, dict):
        return
    if entry.get("resources") == "dynamic":
        yield "dynamic", "it has no list of files"
    if is_large(entry):
        count, size = _measure(entry)
        files = "file" if count == 1 else "files"
        yield "limit", f"it has {count:,} {files} of {size:,} bytes; the limits are {MAX_FILES} and {MAX_BYTES:,}"
    frontmatter = entry.get("frontmatter")
    if not isinstance(frontmatter, dict):
        return
    for field, problem in field_problems(frontmatter):
        # Without a name or a description the entry is invalid, and `entry` says so.
        if field != "name" and (field != "description" or "characters" in problem):
            yield field, problem


def _measure(entry: Mapping[str, Any]) -> tuple[int, int]:
    rows = entry.get("resources")
    rows = rows if isinstance(rows, list) else []
    sizes = [row.get("size") for row in rows if isinstance(row, dict)]
    return len(rows), min(sum(size for size in sizes if type(size) is int and size > 0), _MAX_SHOWN_BYTES)


def is_large(entry: object) -> bool:
    count, size = _measure(entry) if isinstance(entry, dict) else (0, 0)
    return count > MAX_FILES or size > MAX_BYTES


def sorted_files(entry: object) -> object:
    """Return an entry with its files in the order of their URIs."""
    if not isinstance(entry, dict) or not isinstance(entry.get("resources"), list):
        return entry
    return {**entry, "resources": sorted(entry["resources"], key=repr)}
