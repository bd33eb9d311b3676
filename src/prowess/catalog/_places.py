"""Say what kind of place a skill of a repository is in: an agent's folder, a plugin, or any other."""

from __future__ import annotations

import os
from functools import cache

from prowess._internal.frozen import Frozen
from prowess.hosts import host_names, raw_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ._plugins import Plugin

__all__ = ["KINDS", "Place", "agent_folder_end", "classify"]

KINDS = ("agent-folder", "skills-folder", "plugin", "marketplace", "other")
"""The kinds of places."""
_SKILLS_NAMES = frozenset(("skills", "skill"))


class Place(Frozen):
    """A folder of skills."""

    kind: str
    folder: str
    plugin: str | None = None


@cache
def _agent_folders() -> tuple[tuple[str, ...], ...]:
    """Return the skills folders of all agents in projects and homes, such as `.claude/skills`, as parts."""
    found = set()
    for name in host_names():
        for root in raw_value(name, "roots") or ():
            path = str(root.get("path", "")).rpartition("|")[2].removeprefix("~/")
            if path.startswith("."):
                found.add(tuple(path.split("/")))
    return tuple(sorted(found))


def agent_folder_end(parts: Sequence[str], *, partly: bool = False) -> int:
    """Return after how many parts of a path the innermost skills folder of an agent ends; 0 if it has no such folder.

    Args:
        parts: of the path.
        partly: whether a path on the way to such a folder counts too: `.claude` for `.claude/skills`.
    """
    for start in range(len(parts) - 1, -1, -1):
        if not parts[start].startswith("."):
            continue
        for folder in _agent_folders():
            pairs = list(zip(folder, parts[start:], strict=False))
            if all(wanted in ("*", part) for wanted, part in pairs) and (partly or len(pairs) == len(folder)):
                return start + len(pairs)
        # A folder of an agent that Prowess does not know.
        if parts[start + 1 : start + 2] == ("skills",) and not parts[start].endswith("-plugin"):
            return start + 2
    return 0


def classify(paths: Iterable[str], top: str, declared: Mapping[str, Plugin]) -> Mapping[str, Place]:
    """Return the place of each SKILL.md.

    Of an agent's folder and a plugin, the innermost one counts; without them, the outermost folder called `skills`.

    Args:
        paths: of the SKILL.md files.
        top: the folder that was searched.
        declared: the plugin of each folder of skills that a manifest declares.
    """
    return {path: _place(path, top, declared) for path in paths}


def _place(path: str, top: str, declared: Mapping[str, Plugin]) -> Place:
    skill_folder = os.path.dirname(path)
    parts = tuple(os.path.relpath(skill_folder, top).split(os.sep)) if skill_folder != top else ()
    agent_end = agent_folder_end(parts)
    for end in range(len(parts), agent_end, -1):
        folder = os.path.join(top, *parts[:end])
        plugin = declared.get(folder)
        if plugin is not None:
            # A manifest may list each skill, which would make each a place of its own.
            place = os.path.dirname(folder) if end == len(parts) else folder
            return Place(kind="marketplace" if plugin.marketplace else "plugin", folder=place, plugin=plugin.name)
    if agent_end:
        return Place(kind="agent-folder", folder=os.path.join(top, *parts[:agent_end]))
    for end, part in enumerate(parts, 1):
        if part in _SKILLS_NAMES:
            return Place(kind="skills-folder", folder=os.path.join(top, *parts[:end]))
    return Place(kind="other", folder=os.path.join(top, *parts[:-1]))
