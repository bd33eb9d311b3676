"""Let the copies that `prowess mount` made of installed skills follow them, in the transaction that changes these.

They are found by the mount records beside the folders of agents in the project or home: mounted from an installed skill
or from the folder of its source, or equal to it. A copy that was changed since is its user's own skill: it stays.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file, real_path_or_none
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError, SkillMountError, SkillNotFoundError
from prowess.lock import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from prowess.mount import MountRecord
    from prowess.transaction import Staging

    from ._places import Target
    from ._store import OpenStore


class MountedCopy(Frozen):
    """A mounted copy that is as it was mounted."""

    name: str
    source: str
    """The folder that it was mounted from, absolute and without links; empty if that is unknown."""
    root: str
    """The skills folder that contains it, relative to the project or home."""
    path: str
    """Of its own folder, absolute."""


class Mounts:
    """The mounted copies of a project or home, while no other process mounts there."""

    def __init__(self, target: Target, records: Mapping[str, MountRecord]) -> None:
        """Find them.

        Args:
            target: the project or home.
            records: the mount records, by skills folder.
        """
        self._target, self._records = target, records
        self._copies = [*_copies_in(target, records)]

    def of(self, folders: Collection[str], name: str, digest: str | None) -> list[MountedCopy]:
        """Return the copies of an installed skill.

        Args:
            folders: of the skill, and of its source on this machine, absolute and without links.
            name: of its folder.
            digest: the tree digest that the lock has.
        """
        return [
            copy
            for copy in self._copies
            if copy.source in folders or (copy.name == name and digest is not None and digest_of(copy.path) == digest)
        ]

    def stage(
        self,
        staging: Staging,
        opened: OpenStore,
        *,
        followed: Mapping[MountedCopy, str],
        removed: Iterable[MountedCopy],
        installed: Iterable[MountedCopy],
    ) -> list[tuple[str, str]]:
        """Put new copies and records into the staging folder of a transaction.

        Args:
            staging: the staging folder.
            opened: the store that has the new versions.
            followed: the copies to replace, each with the tree digest of its new version.
            removed: the copies to remove.
            installed: the copies that become installed skills: only the records change.

        Returns:
            The folder and name of what the transaction has to remove.

        Raises:
            InstallError: a copy cannot be made.
        """
        from prowess.mount import record_file_name, stage_record

        removed = [*removed]
        seals = {copy.path: _stage_copy(staging, opened, copy, digest) for copy, digest in followed.items()}
        forgotten = {copy.path for copy in (*removed, *installed)}
        gone = [(copy.root, copy.name) for copy in removed]
        for root in dict.fromkeys(copy.root for copy in (*followed, *removed, *installed)):
            record = self._records[root]
            paths = {copy.name: copy.path for copy in self._copies if copy.root == root}
            skills = tuple(
                skill.with_changes(integrity=seals.get(paths.get(skill.name, ""), skill.integrity))
                for skill in record.skills
                if paths.get(skill.name) not in forgotten
            )
            if skills:
                stage_record(staging, self._target.root, root, record.with_changes(skills=skills))
            else:
                gone.append((os.path.dirname(root), record_file_name(root)))
        return gone


@contextmanager
def hold_mounts(target: Target) -> Iterator[Mounts]:
    """Yield the mounted copies of a project or home; until the end of the block no other process mounts there.

    Raises:
        SkillMountError: another process keeps a skills folder locked.
    """
    with ExitStack() as stack:
        records = {}
        for root in _recorded_roots(target):
            from prowess.mount import lock_skills_folder, read_record

            try:
                if not read_record(target.root, root).skills:
                    continue
            except SkillMountError:
                continue  # anyone may have written it; `prowess mount` says that it is invalid
            try:
                locked = stack.enter_context(lock_skills_folder(target.root, root, make=False))
            except SkillNotFoundError:
                continue
            records[root] = locked.record
        yield Mounts(target, records)


def _recorded_roots(target: Target) -> list[str]:
    """Return the skills folders that have a mount record."""
    from prowess.hosts import host_names, skills_folder

    roots = sorted({root for host in host_names() if (root := skills_folder(host, target.scope)) is not None})
    # Without a record, nothing of `prowess.mount` is loaded.
    return [root for root in roots if os.path.lexists(os.path.join(target.root, *_record(root)))]


def _record(root: str) -> tuple[str, str]:
    """Return the folder and the name of the mount record of a skills folder."""
    parent, name = os.path.split(root)
    return parent, f".prowess-{name}.json"


def _copies_in(target: Target, records: Mapping[str, MountRecord]) -> Iterator[MountedCopy]:
    from prowess.skill import has_integrity

    for root, record in records.items():
        for recorded in record.skills:
            path = os.path.join(target.root, root, recorded.name)
            if not os.path.islink(path) and has_integrity(path, recorded.integrity):
                source = real_path_or_none(recorded.source) or ""
                yield MountedCopy(name=recorded.name, source=source, root=root, path=path)


def _stage_copy(staging: Staging, opened: OpenStore, copy: MountedCopy, digest: str) -> str:
    """Make a new copy under the name of the old one, and return its portable integrity digest.

    Raises:
        InstallError: the store has no such skill, or it cannot get that name.
    """
    from prowess.skill import change_name, from_document, parse_frontmatter, read_integrity

    opened.copy(digest, staging.place(copy.root, copy.name), copy.name)
    folder = staging.path_of(copy.root, copy.name)
    file = os.path.join(folder, SKILL_FILE)
    try:
        data = read_file(file)
        own_name = from_document(parse_frontmatter(data, file), file).name
        if own_name not in (None, copy.name):
            renamed = change_name(data, copy.name)
            if renamed is None:
                message = f"its mounted copy {quoted(copy.path, PATH_LIMIT)} cannot get the name {quoted(copy.name)}"
                raise InstallError(message, hint="remove that with `prowess mount --remove`, or move it away")
            with open(file, "wb") as stream:
                stream.write(renamed)
    except (UnreadableError, OSError) as error:
        raise InstallError(f"{quoted(copy.path, PATH_LIMIT)} cannot be copied: {error}", hint="try again") from None
    return read_integrity(folder).portable
