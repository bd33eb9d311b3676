"""Let the copies that `prowess mount` made of installed skills follow them.

They are found by the mount records beside the folders of agents in the project or home. A copy that was changed since
is its user's own skill: it stays as it is.
"""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen
from prowess.errors import SkillMountError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from ._places import Target


class MountedCopy(Frozen):
    """A mounted copy of an installed skill."""

    name: str
    source: str
    """The folder of the installed skill, absolute."""
    path: str
    """Of its own folder, absolute."""
    host: str
    """An agent whose skills folder contains it."""


def mounted_copies(target: Target, sources: Collection[str]) -> list[MountedCopy]:
    """Return the copies of installed skills that are as they were mounted.

    Args:
        target: where the skills are installed.
        sources: the folders of the skills, absolute.
    """
    return [*_mounted_copies(target, sources)] if sources else []


def _mounted_copies(target: Target, sources: Collection[str]) -> Iterator[MountedCopy]:
    from prowess.hosts import host_names, skills_folder

    host_of = {skills_folder(host, target.scope): host for host in host_names()}
    for folder, host in host_of.items():
        if folder is None or not os.path.lexists(os.path.join(target.root, *_record(folder))):
            continue
        from prowess.mount import read_record
        from prowess.skill import integrity_digest

        try:
            records = read_record(target.root, folder).skills
        except SkillMountError:
            continue  # anyone may have written it; `prowess mount` says that it is invalid
        for recorded in records:
            path = os.path.join(target.root, folder, recorded.name)
            if recorded.source in sources and integrity_digest(path) == recorded.integrity:
                yield MountedCopy(name=recorded.name, source=recorded.source, path=path, host=host)


def _record(folder: str) -> tuple[str, str]:
    """Return the folder and the name of the mount record of a skills folder."""
    parent, name = os.path.split(folder)
    return parent, f".prowess-{name}.json"


def remove_mounted(target: Target, copies: Iterable[MountedCopy]) -> list[str]:
    """Remove mounted copies, and return their folders.

    Raises:
        SkillMountError: one cannot be removed.
    """
    from prowess.mount import unmount

    return [
        path
        for host, chosen in _by_host(copies).items()
        for path in unmount([copy.name for copy in chosen], target.root, host=host, scope=target.scope)
    ]


def mount_again(target: Target, copies: Iterable[MountedCopy]) -> list[str]:
    """Replace mounted copies of skills that have changed, and return their folders.

    Raises:
        SkillError: one cannot be replaced.
    """
    from prowess.mount import SkillConfig, SkillMount, mount

    changed: list[str] = []
    for host, chosen in _by_host(copies).items():
        skills = tuple(SkillMount(copy.source, copy.name) for copy in chosen)
        report = mount(SkillConfig(skills, validate_on_mount=False), target.root, host=host, scope=target.scope)
        changed += [skill.destination for skill in report.skills]
    return changed


def _by_host(copies: Iterable[MountedCopy]) -> dict[str, list[MountedCopy]]:
    found: dict[str, list[MountedCopy]] = {}
    for copy in copies:
        found.setdefault(copy.host, []).append(copy)
    return found
