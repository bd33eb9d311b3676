"""Find out whether a skill is a mounted copy of another one that has changed since, and how to bring it up to date."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file, real_path
from prowess.skill import integrity_digest

from ._mount_cures import is_typable, mount_argument, mount_command, mount_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["command_for_old_copy", "old_copy"]

_MAX_RECORD_BYTES = 4 * 1024 * 1024


def old_copy(path: str, other: str) -> tuple[str, str] | None:
    """Return the copy and its source, both as SKILL.md files, if one of two skills was mounted from the other.

    A copy that was changed by hand does not count, since `mount` would not replace it.

    Args:
        path: of a SKILL.md.
        other: of another one.
    """
    for copy, source in ((other, path), (path, other)):
        if _mounted_from(os.path.dirname(copy)) == real_path(os.path.dirname(source)):
            return copy, source
    return None


def _mounted_from(folder: str) -> str | None:
    """Return the folder that a skill was mounted from, by the record of `mount`; anyone may have written that."""
    root, name = os.path.split(folder)
    record = os.path.join(os.path.dirname(root), f".prowess-{os.path.basename(root)}.json")
    try:
        data = read_file(record, _MAX_RECORD_BYTES)
    except UnreadableError:
        return None
    import json

    try:
        value = json.loads(data)
        recorded = next(item for item in value["skills"] if item["name"] == name)
        source, integrity = recorded["source"], recorded["seal"]
    except (ValueError, RecursionError, LookupError, TypeError, StopIteration):
        return None
    if not isinstance(source, str) or "\0" in source or integrity_digest(folder) != integrity:
        return None
    return real_path(source)


def command_for_old_copy(copy: str, source: str, hosts: Iterable[str], *, cwd: str, home: str, validate: bool) -> str:
    """Return the command that mounts a copy again; empty if no agent's folder is the one that has it.

    Args:
        copy: the SKILL.md of the copy.
        source: the SKILL.md that it was mounted from.
        hosts: the agents in question.
        cwd: the working directory, absolute.
        home: the user's home, absolute.
        validate: whether `mount` accepts the source as it is.
    """
    folder = os.path.dirname(source)
    if not is_typable(folder) or os.path.islink(source):
        return ""
    name = os.path.basename(os.path.dirname(copy))
    for host in hosts:
        for user in (False, True):
            base, root = mount_folder(host, cwd=cwd, home=home, user=user)
            if root and real_path(os.path.join(base, root, name, SKILL_FILE)) == real_path(copy):
                argument = mount_argument(folder, cwd, name)
                return mount_command([argument], host, cwd=cwd, home=home, user=user, validate=validate)
    return ""
