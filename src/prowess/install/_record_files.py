"""Add the digests of installed files to entries of the lock that lack them, for `prowess lock`.

An entry that the tool `skills` wrote has one hash; one that was imported from another lock has the hashes of that lock.
The files are recorded only if these agree with what is installed: otherwise a change would be locked as if it were the
source's.
"""

from __future__ import annotations

import os

from prowess._internal.files import MAX_DIGEST_BYTES, UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.inside import has_link
from prowess._internal.text import quoted
from prowess.errors import InstallError

from ._lock import folder_name
from ._places import hosts_for
from ._tree import LINK, read_tree
from ._verify import verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._apm import ImportedSkill
    from ._lock import Lock, LockedSkill
    from ._places import Scope
    from ._tree import Tree
    from ._verify import VerifiedSkill

__all__ = ["Recorded", "record_files", "with_installed_files"]


class Recorded(Frozen):
    """What `record_files` found."""

    lock: Lock
    """With the files of the recorded skills."""
    recorded: tuple[str, ...]
    """Names of skills."""
    refused: tuple[tuple[str, str], ...]
    """Names of skills, each with the reason."""


def record_files(
    lock: Lock, root: str, *, scope: Scope = "project", names: Sequence[str] = (), store: str | None = None
) -> Recorded:
    """Return the lock with the digests of all files of skills that have only a hash, which must be right.

    Args:
        lock: of the project or user.
        root: the folder of the project, or the home of the user.
        scope: `project` or `user`.
        names: of the skills; all by default.
        store: the folder of the store.

    Raises:
        SkillNotFoundError: the lock has no skill of a name.
        ConfigError: the lock names an unknown agent.
    """
    found = verify(lock, root, scope=scope, names=names, store=store)
    recorded: list[LockedSkill] = []
    refused: list[tuple[str, str]] = []
    copies_of: dict[str, list[VerifiedSkill]] = {}
    for copy in found.skills:
        copies_of.setdefault(copy.name, []).append(copy)
    for name, copies in copies_of.items():
        skill = lock.skills[name]
        if skill.tree_digest:
            continue
        kinds = {difference.kind for copy in copies for difference in copy.differences}
        if kinds:
            words = {"missing": "is not installed", "hash": "is not as it was locked", "unknown": "cannot be compared"}
            found_words = [reason for kind, reason in words.items() if kind in kinds]
            refused.append((name, [*found_words, "has files that its hash does not cover"][0]))
        elif folder_name(name) != name:
            refused.append((name, f"is in a folder of another name, {quoted(folder_name(name))}"))
        else:
            folder = next((copy.path for copy in copies if copy.link is None), copies[0].path)
            folders = [os.path.relpath(os.path.dirname(copy.path), root).replace(os.sep, "/") for copy in copies]
            try:
                recorded.append(_with_tree(skill, read_tree(folder)).with_changes(hosts=hosts_for(folders, scope)))
            except InstallError as error:
                refused.append((name, str(error)))
    changed = lock.with_skills(recorded) if recorded else lock
    return Recorded(lock=changed, recorded=tuple(skill.name for skill in recorded), refused=tuple(refused))


def _with_tree(skill: LockedSkill, tree: Tree) -> LockedSkill:
    files = {file.path: f"{file.mode} sha256:{file.sha256}" for file in tree.files}
    return skill.with_changes(tree_digest=tree.digest, files=files)


def with_installed_files(skill: ImportedSkill, root: str) -> LockedSkill | None:
    """Return the entry of an imported skill with the digests of its installed files.

    `None` if it is not installed, or a file is not what the other lock says.

    Args:
        skill: of the other lock.
        root: the folder of the project.
    """
    for folder in skill.folders:
        path = os.path.join(root, *folder.split("/"))
        try:
            if has_link(root, folder):
                continue
            tree = read_tree(path)
            if all(
                file.mode != LINK
                and _portable_sha256(os.path.join(path, file.path)) == skill.hashes.get(f"{folder}/{file.path}")
                for file in tree.files
            ):
                return _with_tree(skill.entry, tree)
        except (InstallError, UnreadableError):
            continue
    return None


def _portable_sha256(path: str) -> str:
    """Return the SHA-256 of a file; of text with LF as line ends.

    Raises:
        UnreadableError: it cannot be read.
    """
    from hashlib import sha256

    data = read_file(path, MAX_DIGEST_BYTES)
    try:
        data.decode()
    except UnicodeDecodeError:
        pass
    else:
        data = data.replace(b"\r\n", b"\n")
    return sha256(data).hexdigest()
