"""Find the skills that `mount` copied, by its records, and work out the command that brings an old copy up to date."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, UnreadableError
from prowess.skill import has_integrity

from ._copies import are_copies
from ._mount_cures import is_typable, mount_argument, mount_command, mount_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from prowess.filesystem import Filesystem

_MAX_RECORD_BYTES = 4 * 1024 * 1024


def old_copy(
    path: str, other: str, filesystem: Filesystem, records: dict[str, dict[str, Any]]
) -> tuple[str, str] | None:
    """Return the copy and its source, both as SKILL.md files, if one of two skills was mounted from the other.

    A copy that was changed by hand does not count, since `mount` would not replace it; nor does one that is up to date.

    Args:
        path: of a SKILL.md.
        other: of another one.
        filesystem: what was read so far.
        records: the records of mounts that were read so far, by skills folder.
    """
    for copy, source in ((other, path), (path, other)):
        origin = mounted_from(copy, filesystem, records) if _is_skill_file(source, filesystem) else None
        if origin is None or origin != filesystem.real(os.path.dirname(source)):
            continue
        if not are_copies(filesystem, filesystem.real(copy), filesystem.real(source)):
            return copy, source
    return None


def _is_skill_file(path: str, filesystem: Filesystem) -> bool:
    """Return whether a file can be mounted: it is there, and called `SKILL.md`."""
    return os.path.basename(path) == SKILL_FILE and filesystem.kind(path) == "f"


def mounted_from(copy: str, filesystem: Filesystem, records: dict[str, dict[str, Any]]) -> str | None:
    """Return the folder that a skill was mounted from, by the record of `mount`; anyone may have written that."""
    folder = os.path.dirname(copy)
    root, name = os.path.split(folder)
    recorded = mounts_in(root, filesystem, records).get(name)
    if not isinstance(recorded, dict):
        return None
    source = recorded.get("source")
    filesystem.files(copy)  # what the digest is of is recorded
    if not isinstance(source, str) or "\0" in source or not has_integrity(folder, recorded.get("seal")):
        return None
    return filesystem.real(os.path.join(filesystem.real(os.path.dirname(root)), source))


def mounts_in(root: str, filesystem: Filesystem, records: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what was mounted into a skills folder, by name, and remember it in `records`."""
    if root not in records:
        records[root] = _mount_record(root, filesystem)
    return records[root]


def _mount_record(root: str, filesystem: Filesystem) -> dict[str, Any]:
    """Return what was mounted into a skills folder, by name; nothing without a valid record."""
    record = os.path.join(os.path.dirname(root), f".prowess-{os.path.basename(root)}.json")
    try:
        data = filesystem.data(record, _MAX_RECORD_BYTES, follow=False)
    except UnreadableError:
        return {}
    import json

    try:
        return {item["name"]: item for item in reversed(json.loads(data)["skills"])}
    except (ValueError, RecursionError, LookupError, TypeError):
        return {}


def command_for_old_copy(
    copy: str, source: str, hosts: Iterable[str], *, cwd: str, home: str, refusal: str, filesystem: Filesystem
) -> str:
    """Return the command that mounts a copy again; empty if no agent's folder is the one that has it.

    Args:
        copy: the SKILL.md of the copy.
        source: the SKILL.md that it was mounted from.
        hosts: the agents in question.
        cwd: the working directory, absolute.
        home: the user's home, absolute.
        refusal: why `mount` refuses the source as it is; empty if it does not.
        filesystem: what was read so far.
    """
    folder = os.path.dirname(source)
    if not is_typable(folder) or os.path.islink(source):
        return ""
    name = os.path.basename(os.path.dirname(copy))
    for host in hosts:
        for user in (False, True):
            base, root = mount_folder(host, cwd=cwd, home=home, user=user)
            if root and filesystem.real(os.path.join(base, root, name, SKILL_FILE)) == filesystem.real(copy):
                argument = mount_argument(folder, cwd, name)
                return mount_command([argument], host, cwd=cwd, home=home, user=user, refusal=refusal)
    return ""
