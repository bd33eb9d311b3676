"""Say what most clients do with the name of a skill."""

from __future__ import annotations

import re

from ._line_parsers import JAVASCRIPT_SPACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.filesystem import Filesystem
    from prowess.hosts import NameRules, Root
    from prowess.skill import Field


def trim_name(name: str, rules: NameRules, *, is_folder: bool) -> str:
    """Return a name without white space around it, if the client removes that.

    Args:
        name: as written.
        rules: of the client.
        is_folder: whether it is the name of the folder, since there is no other.
    """
    return name.strip(JAVASCRIPT_SPACE) if rules.trim else name


def final_name(name: str, rules: NameRules) -> str:
    """Return a name that the client accepts as it writes it."""
    for old, new in rules.replace.items():
        name = re.sub(old, new, name)
    return name


def name_problem(name: str, namespace: str | None) -> tuple[str, str] | None:
    """Return the code and the words of what a client rejects in a name, besides the rules of its file.

    Args:
        name: what it calls the skill.
        namespace: the name of its package or plugin.
    """
    return None


def is_alias(name: str) -> bool:
    """Return whether a client that uses the names of folders accepts one in the front matter as another name."""
    return re.fullmatch(".+", name) is not None


def name_of_file(fields: Mapping[str, Field] | None, path: str) -> str | None:
    """Return what a client calls a loose Markdown file; `None` if it has no rules of its own for that.

    Args:
        fields: the front matter; `None` if the client sees none.
        path: of the file.
    """
    return None


def name_in_root(name: str, written: Field | None, root: Root, namespace: str | None) -> str:
    """Return what a skill is called by rules of its root.

    Args:
        name: what it is called elsewhere.
        written: its field `name`, if it is in the root itself.
        root: its root.
        namespace: the name of its package or plugin.
    """
    return name


def plugin_above(folder: str, filesystem: Filesystem, known: dict[str, str | None]) -> str | None:
    """Return the name of the plugin whose folder a skill is in, whatever root found it; `None` without any.

    Args:
        folder: of the skill, a path without links.
        filesystem: what was read so far.
        known: the names of plugins at or above folders, which the function keeps there.
    """
    return None
