"""Compare installed skills with their lock, byte by byte, and add missing digests.

    Lock + project -> folders of agents -> skill folder -> files -> differences

Nothing is followed out of the project, the home or the store: a link in a skill is compared by its target, and a skill
that is itself a link is read only if it leads to one of these. If it leads neither to a copy of the skill nor to where
the lock says, that is a difference.

Add the digests of installed files to entries of the lock that lack them, for `prowess lock`.

An entry that the tool `skills` wrote has one hash; one that was imported from another lock has the hashes of that lock.
The files are recorded only if these agree with what is installed: otherwise a change would be locked as if it were the
source's.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import islice

from prowess._internal.files import MAX_DIGEST_BYTES, SKILL_FILE, UnreadableError, read_file, real_path_or_none
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS, open_fd, open_inside
from prowess._internal.inside import has_link
from prowess._internal.text import quoted
from prowess.errors import InstallError, SkillError
from prowess.lock import (
    LINK,
    NotComparableError,
    Permissions,
    agent_folders,
    folder_name,
    folders_of,
    hash_open_folder,
    hosts_for,
    read_files,
    read_tree,
    tree_digest,
)
from prowess.skill import find_code, is_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from prowess.lock import Lock, LockedSkill, Tree

    from ._apm import ImportedSkill
    from ._places import Scope

    _Compared = tuple[str | None, tuple["Difference", ...]]
    """The method and the differences."""

PERMISSION_KINDS = frozenset(("owner", "writable", "special"))
"""Kinds of differences that are about owners and modes, not about what was locked."""
_MAX_FOLDERS, _MAX_DEPTH = 10_000, 32
"""Folders of one that is no skill in which skills that are not locked are searched."""


class Difference(Frozen):
    """One thing that is not as it was locked."""

    kind: str
    """`changed`, `missing`, `extra`, `mode` (whether it can be executed), `link` (another target), `type` (a file that
    is a link now, or the reverse), `unreadable`, `outside` (a link that leads out), `hash` (the computed hash is
    another), `unknown` (the lock says nothing that can be compared), `lock` (the lock contradicts itself), `owner`
    (another user's), `writable` (others can change it), `special` (a set-user-ID, set-group-ID or sticky bit) or
    `signature` (missing, invalid, or of someone else: only where a signature is asked for)."""
    path: str = ""
    """Of a file or folder in the skill; empty for the whole skill."""
    expected: str | None = None
    """From the lock: the mode and digest, or the computed hash."""
    found: str | None = None
    """The same of what is there, or words; of a file, `owner`, `writable` and `special` end with what to type."""
    may_run: bool = False
    """Whether it is a file or link that is there and may run."""
    above: str = ""
    """The folder above the skill that it is about, absolute."""


class VerifiedSkill(Frozen):
    """One installed copy of a skill."""

    name: str
    path: str
    """Of its folder, absolute."""
    method: str | None = None
    """`files` (every byte, mode and link), `computedHash` (contents alone), or `None` if nothing was compared."""
    link: str | None = None
    """Where its folder leads, if it is a link."""
    differences: tuple[Difference, ...] = ()
    is_expected: bool = True
    """Whether the lock installs it there."""


class Verification(Frozen):
    """What `verify` found."""

    skills: tuple[VerifiedSkill, ...]
    """In the order of the lock."""
    not_locked: tuple[str, ...]
    """The folders of installed skills that the lock does not name, sorted; empty if only some skills were verified."""

    @property
    def different(self) -> tuple[VerifiedSkill, ...]:
        """The skills with differences."""
        return tuple(skill for skill in self.skills if skill.differences)


def verify(
    lock: Lock, root: str, *, scope: Scope = "project", names: Sequence[str] = (), store: str | None = None
) -> Verification:
    """Compare installed skills with their lock.

    Args:
        lock: of the project or user.
        root: the folder of the project, or the home of the user.
        scope: `project` or `user`.
        names: of the skills; all by default.
        store: the folder of the store, to which skills may be links.

    Raises:
        SkillNotFoundError: the lock has no skill of a name.
        ConfigError: the lock names an unknown agent.
    """
    chosen = lock.select(names)
    allowed = [real for folder in (root, store) if folder and (real := real_path_or_none(folder))]
    required = {folder for skill in lock.skills.values() for folder in folders_of(skill, scope)}
    folders = [_SkillsFolder(root, path, allowed) for path in dict.fromkeys((*agent_folders(scope), *sorted(required)))]
    folders = _without_repetition(folders)
    verifier = _Verifier(root if scope == "project" or store is None else os.path.dirname(store), root, store, folders)
    try:
        skills = tuple(
            verified for skill in chosen for verified in verifier.verify_copies(skill, folders_of(skill, scope))
        )
        locked = {skill.folder for skill in lock.skills.values()}
        others = [path for folder in folders for path in folder.skills_other_than(locked)] if not names else []
    finally:
        for folder in folders:
            folder.close()
    return Verification(skills=skills, not_locked=tuple(sorted(others)))


class _SkillsFolder:
    """A folder in which an agent looks for skills, opened if it is there."""

    def __init__(self, root: str, path: str, allowed: Sequence[str]) -> None:
        """Open the folder.

        Args:
            root: the project or home.
            path: relative to it.
            allowed: the folders that no link may leave.
        """
        self.paths = {path}
        self.path = os.path.join(root, *path.split("/"))
        self.allowed = allowed
        self.fd = -1
        self.names: dict[str, bool] = {}
        """What is in it, and whether that is a link."""
        self.identity: object = self.path
        self.problem = "missing"
        """Why it is not open."""
        try:
            self.fd = _open_within(self.path, allowed)
        except _LeadsOutError:
            self.problem = "outside"
        except OSError as error:
            self.problem = "missing" if isinstance(error, FileNotFoundError) else "unreadable"
        else:
            self.identity = _identity(self.fd)
            with os.scandir(self.fd) as entries:
                self.names = {entry.name: entry.is_symlink() for entry in entries}

    def close(self) -> None:
        """Close the folder."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def skills_other_than(self, locked: set[str]) -> list[str]:
        """Return the paths of the skills in it whose names are not locked, wherever an agent finds some.

        They may be in folders that are no skills, or be files: a SKILL.md of the whole folder, or others.
        """
        found: list[str] = []
        for name, is_link in self.names.items():
            if name not in locked:
                found += [name] if is_link or self._is_skill_file(name) else self._skills_below(name)
        return [os.path.join(self.path, name) for name in found]

    def _is_skill_file(self, name: str) -> bool:
        """Return whether it is a Markdown file with front matter."""
        if not name.lower().endswith(".md"):
            return False
        with suppress(OSError), open_fd(name, READ_FLAGS, dir_fd=self.fd) as fd:
            return os.read(fd, 6).removeprefix(b"\xef\xbb\xbf")[:3] == b"---"
        return False

    def _skills_below(self, name: str) -> list[str]:
        """Return the paths of a skill, or else of the skills and links below a folder; some agents find these."""
        found: list[str] = []
        with suppress(OSError):  # a file, or a folder that cannot be opened
            for folder, folders, files, fd in islice(os.fwalk(name, dir_fd=self.fd), _MAX_FOLDERS):
                inner: list[str] = []
                if any(file.lower() == "skill.md" for file in files):
                    found.append(folder)
                elif folder.count(os.sep) < _MAX_DEPTH:
                    for path in folders:
                        is_link = stat.S_ISLNK(os.stat(path, dir_fd=fd, follow_symlinks=False).st_mode)
                        (found if is_link else inner).append(os.path.join(folder, path) if is_link else path)
                folders[:] = inner
        return found


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


class _LeadsOutError(Exception):
    """A path leads out of the folders that may be read."""


def _open_within(path: str, allowed: Sequence[str]) -> int:
    """Open a folder, and return its descriptor; its path may contain links.

    Raises:
        _LeadsOutError: it leads out of the allowed folders.
        OSError: it is missing, or is not a folder.
    """
    real = real_path_or_none(path)
    if real is None:
        raise _LeadsOutError
    for top in allowed:
        if real == top or real.startswith(top.rstrip(os.sep) + os.sep):
            # Without links from here on: the path cannot be changed to lead elsewhere in between.
            return open_inside(top, [part for part in real[len(top) :].split(os.sep) if part], FOLDER_FLAGS)
    raise _LeadsOutError


def _without_repetition(folders: list[_SkillsFolder]) -> list[_SkillsFolder]:
    """Return each folder once: one may be a link to another."""
    found: dict[object, _SkillsFolder] = {}
    for folder in folders:
        if (first := found.setdefault(folder.identity, folder)) is not folder:
            first.paths |= folder.paths
            folder.close()
    return list(found.values())


class _Verifier:
    """Compares skills with their entries in the lock.

    Args:
        lock_folder: to which paths in the lock are relative.
        root: the project or home.
        store: the folder of the store.
        folders: in which agents look for skills.
    """

    def __init__(self, lock_folder: str, root: str, store: str | None, folders: list[_SkillsFolder]) -> None:
        self._lock_folder, self._folders = lock_folder, folders
        self._store = real_path_or_none(store) if store else None
        self._permissions = Permissions(root)

    def verify_copies(self, skill: LockedSkill, expected: tuple[str, ...]) -> list[VerifiedSkill]:
        """Verify each copy of a skill, and report those that are missing."""
        name = skill.folder
        present = [folder for folder in self._folders if name in folder.names]
        known: dict[object, _Compared] = {}
        copies = {folder: self._verify_copy(skill, folder, known) for folder in present if not folder.names[name]}
        links = {folder: self._verify_link(skill, folder, known) for folder in present if folder.names[name]}
        result = [
            (copies | links)[folder].with_changes(is_expected=not folder.paths.isdisjoint(expected))
            for folder in present
        ]
        if present and not skill.tree_digest:
            return result  # `skills` does not say for which agents it installed a skill
        for folder in self._folders:
            if folder not in present and not folder.paths.isdisjoint(expected):
                path = os.path.join(folder.path, name)
                difference = Difference(kind="missing" if folder.fd >= 0 else folder.problem)
                result.append(VerifiedSkill(name=skill.name, path=path, differences=(difference,)))
        return result

    def _verify_copy(self, skill: LockedSkill, folder: _SkillsFolder, known: dict[object, _Compared]) -> VerifiedSkill:
        """Verify a copy of a skill, and add what was found to `known`, since a link may lead to it."""
        copy = VerifiedSkill(name=skill.name, path=os.path.join(folder.path, skill.folder))
        try:
            fd = os.open(skill.folder, FOLDER_FLAGS, dir_fd=folder.fd)
        except OSError as error:
            return copy.with_changes(differences=(_not_opened(error),))
        try:
            method, differences = known[_identity(fd)] = self._compare(skill, copy.path, fd)
        finally:
            os.close(fd)
        return copy.with_changes(method=method, differences=differences)

    def _verify_link(
        self, skill: LockedSkill, folder: _SkillsFolder, copies: Mapping[object, _Compared]
    ) -> VerifiedSkill:
        """Verify what a link in place of a skill leads to."""
        path = os.path.join(folder.path, skill.folder)
        link = os.readlink(skill.folder, dir_fd=folder.fd)
        copy = VerifiedSkill(name=skill.name, path=path, link=link)
        try:
            fd = _open_within(path, folder.allowed)
        except _LeadsOutError:
            return copy.with_changes(differences=(Difference(kind="outside", found=link),))
        except OSError as error:
            return copy.with_changes(differences=(_not_opened(error),))
        try:
            known = copies.get(_identity(fd))
            method, differences = known or self._compare(skill, path, fd)
        finally:
            os.close(fd)
        if known is None and not self._is_recorded(skill, path):
            differences = (Difference(kind="link", found=link), *differences)
        return copy.with_changes(method=method, differences=differences)

    def _is_recorded(self, skill: LockedSkill, path: str) -> bool:
        """Return whether a link leads to the store, or to the folder from which the skill is linked."""
        real = real_path_or_none(path) or ""
        if skill.is_link and skill.source_type == "local":
            inner = (skill.skill_path or SKILL_FILE).rpartition("/")[0]
            return real == real_path_or_none(os.path.join(skill.source_text(self._lock_folder), inner))
        return self._is_stored(real)

    def _is_stored(self, real: str) -> bool:
        return self._store is not None and real.startswith(self._store + os.sep)

    def _compare(self, skill: LockedSkill, path: str, fd: int) -> _Compared:
        """Compare the files in an open folder with the lock, and their permissions with those of the user's own."""
        unusual: dict[str, os.stat_result] = {}
        compare = _compare_files if skill.tree_digest else _compare_hash
        method, differences = compare(skill, fd, unusual)
        if unusual:
            extra = {item.path for item in differences if item.kind == "extra"}
            is_stored = self._is_stored(real_path_or_none(path) or "")
            differences += tuple(
                Difference(kind=kind, path=inner, found=words)
                for inner, (kind, words) in self._permissions.problems(path, unusual)
                if inner not in extra and not (is_stored and kind == "writable")  # its folder is closed to others
            )
        above = (
            Difference(kind=kind, found=words, above=folder)
            for folder, (kind, words) in self._permissions.problems_above(path)
        )
        return method, (*_with_code(path, differences), *above)


def _not_opened(error: OSError) -> Difference:
    """Return why the folder of a skill cannot be opened."""
    if isinstance(error, NotADirectoryError):
        return Difference(kind="type", expected="a folder", found="a file")
    kind = "missing" if isinstance(error, FileNotFoundError) else "unreadable"
    return Difference(kind=kind, found=(error.strerror or "").lower() or None)


def _compare_files(skill: LockedSkill, fd: int, unusual: dict[str, os.stat_result]) -> _Compared:
    """Compare every file in an open folder with the lock."""
    expected = skill.files
    differences: list[Difference] = []
    # `MODE sha256:HEX`, as `read_lock` checked.
    digest = tree_digest((path, value[:6], value[14:]) for path, value in expected.items())
    if digest != skill.tree_digest:
        differences.append(Difference(kind="lock", expected=skill.tree_digest, found=digest))
    found = read_files(fd, expected, unusual)
    if found != expected:
        links = [path for path in found if path not in expected and found[path].startswith(LINK)]
        replaced = {path for path in links if any(each.startswith(f"{path}/") for each in expected)}
        for path in sorted({*expected, *found}):
            before, now = expected.get(path), found.get(path)
            if path in replaced:
                differences.append(Difference(kind="type", path=path, expected="a folder", found="a link"))
            elif before != now and not any(path.startswith(f"{link}/") for link in replaced):
                differences.append(Difference(kind=_kind(before, now), path=path, expected=before, found=now))
    return "files", tuple(differences)


def _with_code(folder: str, differences: tuple[Difference, ...]) -> tuple[Difference, ...]:
    """Return differences with what may run of them."""
    code: Collection[str] = ()
    if any(difference.path for difference in differences):
        try:
            code = find_code(folder)
        except SkillError:  # it has a device, for example: then by their names
            code = {item.path for item in differences if item.path and item.found and is_code(item.path, 0, b"")}
    return tuple(item.with_changes(may_run=True) if item.path in code else item for item in differences)


def _kind(expected: str | None, found: str | None) -> str:
    """Return what is different in a file."""
    if found is None:
        return "missing"
    if found.startswith("unreadable"):
        return "unreadable"
    if expected is None:
        return "extra"
    if " sha256:" not in found:
        return "changed"
    (mode, _, digest), (mode_now, _, digest_now) = expected.partition(" "), found.partition(" ")
    if (mode == "120000") != (mode_now == "120000"):
        return "type"
    if digest != digest_now:
        return "link" if mode == "120000" else "changed"
    return "mode"


def _compare_hash(skill: LockedSkill, fd: int, unusual: dict[str, os.stat_result]) -> _Compared:
    """Compare an open folder with the hash of `skills`, which covers neither modes, links nor some folders."""
    if skill.computed_hash is None:
        return None, (Difference(kind="unknown", found="the lock has no digest of its files"),)
    try:
        hashed = hash_open_folder(fd)
    except NotComparableError as error:
        return None, (Difference(kind="unknown", expected=skill.computed_hash, found=str(error)),)
    except OSError as error:
        return None, (Difference(kind="unreadable", found=(error.strerror or "").lower()),)
    found = read_files(fd, {}, unusual)
    differences = [
        Difference(kind="extra", path=path, found=found[path]) for path in sorted(found) if path not in hashed.paths
    ]
    if hashed.digest != skill.computed_hash:
        differences.insert(0, Difference(kind="hash", expected=skill.computed_hash, found=hashed.digest))
    return "computedHash", tuple(differences)


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
        kinds = {difference.kind for copy in copies for difference in copy.differences} - PERMISSION_KINDS
        if kinds:
            words = {
                "missing": "is not installed",
                "link": "is a link to another folder",
                "hash": "is not as it was locked",
                "unknown": "cannot be compared",
            }
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
