"""Read the values of settings: which skills they name, and two of them as one."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import expand_home

from ._permission_rules import permission_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from prowess.hosts import Setting

__all__ = ["is_trusted_project", "merge_deep", "merge_files", "skill_effects", "unread_folders"]


_MAX_TRUSTED_FOLDERS = 1000
"""Folders of a list that are compared with the project."""


def skill_effects(setting: Setting, value: Any) -> list[tuple[str, str]]:
    """Return the skills that a value names, each with its effect."""
    if setting.form == "names" and isinstance(value, list | tuple):
        return [(name, setting.effects.get("off", "off")) for name in value if isinstance(name, str)]
    if setting.form == "rules":
        return permission_rules(value, setting.tool, setting.effects)
    if setting.form == "effects" and isinstance(value, Mapping):
        return [
            (name, setting.effects[word])
            for name, word in value.items()
            if isinstance(word, str) and word in setting.effects
        ]
    if setting.form == "entries" and isinstance(value, list):
        enabled = {
            name: item.get("enabled")
            for item in value
            if isinstance(item, Mapping) and isinstance(name := item.get("name") or item.get("path"), str)
        }
        return [(name, "off") for name, on in enabled.items() if on is False]
    return []


def merge_deep(low: Any, high: Any) -> Any:
    """Return two values as one: tables key by key, each key where it first came; else the higher value."""
    if not isinstance(low, Mapping) or not isinstance(high, Mapping):
        return high
    return {**low, **{key: merge_deep(low.get(key), value) for key, value in high.items()}}


def merge_files(values: Sequence[tuple[str, Any]]) -> Any:
    """Return the values of several files as one; a file that is found twice counts at its lower place.

    Args:
        values: each with its file, highest precedence first.
    """
    merged = None
    for value in dict(reversed(values)).values():
        merged = merge_deep(merged, value)
    return merged


def unread_folders(value: object, home: str) -> list[str]:
    """Return the absolute paths of a list of folders in which no root is read."""
    found = []
    for item in value if isinstance(value, list | tuple) else ():
        folder = expand_home(item.strip(), home) if isinstance(item, str) else ""
        if os.path.isabs(folder) and "\0" not in folder:
            found.append(os.path.normpath(folder))
    return found


def is_trusted_project(value: object, project: str, real: Callable[[str], str]) -> bool:
    """Return whether a list of trusted folders has a project, or a folder above it.

    Args:
        value: the list.
        project: the project's folder, without links.
        real: returns a path without links.
    """
    folders = [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []
    whole = os.path.join(project, "")
    return any(
        whole.startswith(os.path.join(real(folder), ""))
        for folder in folders[:_MAX_TRUSTED_FOLDERS]
        if os.path.isabs(folder) and "\0" not in folder
    )
