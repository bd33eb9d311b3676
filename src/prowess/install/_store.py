"""Keep fetched skills in one folder of the user, by their tree digest, for all projects.

    DATA/store/sha256/HH/HEX/         the files of a skill, read-only
    DATA/store/temporary/RANDOM/      what is being fetched
    DATA/store/projects/HEX           the path of a lock whose skills are kept
    DATA/store/sources/HEX.json       which skills a source had at a revision (`_entries`)
    DATA/store/in-use                 locked while the store is used; by one process alone while it sweeps

Nothing in the store is trusted: a copy is compared with the digest while it is made. So a damaged or changed tree
is noticed when it is used, and nothing needs to be written to the disk before it is renamed into place.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import ExitStack, contextmanager, suppress

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.fs import atomic_replace, remove_tree
from prowess._internal.locked import locked
from prowess._internal.text import PATH_LIMIT, quoted
from prowess._internal.user_dirs import data_folder
from prowess.errors import ConfigError, InstallError
from prowess.lock import EXECUTABLE, LINK, copy_tree, os_errors, read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from prowess.lock import Tree


_DIGEST = re.compile(r"sha256:([0-9a-f]{64})").fullmatch
SOURCES = "sources"
_TEMPORARY, _TREES, _PROJECTS, _IN_USE = "temporary", "sha256", "projects", "in-use"
_MAX_PATH_BYTES = 64 << 10


class StoredTree(Frozen):
    """A skill in the store."""

    tree: Tree
    folder: str
    """Absolute; its files are read-only."""


class StoreContent(Frozen):
    """What is in the store."""

    skills: int
    size: int
    """Bytes of their files."""
    projects: tuple[str, ...]
    """The locks whose skills are kept, sorted."""


class SweepReport(Frozen):
    """What sweeping the store removed, or would remove."""

    removed: tuple[str, ...]
    """Tree digests, sorted."""
    kept: int
    """Skills that a lock names."""
    size: int
    """Bytes of the files that were removed."""
    projects: tuple[str, ...]
    """The locks whose skills were kept, sorted."""


class Store:
    """The user's store of skills.

    Args:
        folder: its folder, absolute; created on first use.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @classmethod
    def for_user(cls, env: Mapping[str, str]) -> Store:
        """Return the store in the folder of the user's data (`PROWESS_DATA_DIR` moves it).

        Raises:
            ConfigError: the user has no such folder.
        """
        folder = data_folder(env)
        if folder is None:
            raise ConfigError("this user has no folder for data", hint="set `PROWESS_DATA_DIR` to a folder")
        return cls(os.path.join(folder, "store"))

    @contextmanager
    def open(self) -> Iterator[OpenStore]:
        """Use the store; any number of processes may at a time, but none while another one sweeps it.

        Raises:
            InstallError: it cannot be created or opened.
        """
        with self._locked(exclusive=False):
            opened = OpenStore(self.folder)
            try:
                yield opened
            finally:
                opened.close()

    def register(self, lock: str) -> None:
        """Remember a lock, absolute, so that the skills it names are kept.

        Raises:
            InstallError: the store cannot be written.
        """
        import hashlib

        name = hashlib.sha256(os.fsencode(lock)).hexdigest()
        with _using(self.folder):
            folder = os.path.join(self.folder, _PROJECTS)
            os.makedirs(folder, 0o700, exist_ok=True)
            if not os.path.lexists(path := os.path.join(folder, name)):
                atomic_replace(path, os.fsencode(lock))

    def content(self) -> StoreContent:
        """Return what is in the store.

        Raises:
            InstallError: it cannot be read.
        """
        with _using(self.folder):
            folders = [folder for _, folder in self._trees()]
            return StoreContent(skills=len(folders), size=sum(map(_size, folders)), projects=tuple(self._projects()[0]))

    def sweep(self, digests: Callable[[str], Iterable[str]], *, dry_run: bool = False) -> SweepReport:
        """Remove the skills that no lock names, and what killed processes left.

        Args:
            digests: returns the tree digests that a lock names; it gets the path of the lock, which exists.
            dry_run: only report what would be removed.

        Raises:
            ProwessError: a lock cannot be read, as `digests` raises it; nothing is removed.
            InstallError: the store cannot be used.
        """
        with self._locked(exclusive=True):
            with _using(self.folder):
                projects, forgotten = self._projects()
                wanted = {digest for lock in projects for digest in digests(lock)}
                trees = dict(self._trees())
            removed = {digest: folder for digest, folder in trees.items() if digest not in wanted}
            size = sum(map(_size, removed.values()))
            if not dry_run:
                for folder in (*removed.values(), *(os.path.join(self.folder, name) for name in (_TEMPORARY, SOURCES))):
                    remove_tree(folder)
                for path in forgotten:
                    with suppress(OSError):
                        os.unlink(path)
        return SweepReport(
            removed=tuple(sorted(removed)), kept=len(trees) - len(removed), size=size, projects=tuple(projects)
        )

    def _projects(self) -> tuple[list[str], list[str]]:
        """Return the locks that exist, sorted, and the files that name others."""
        folder = os.path.join(self.folder, _PROJECTS)
        locks, forgotten = [], []
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            try:
                lock = os.fsdecode(read_file(path, limit=_MAX_PATH_BYTES))
            except UnreadableError:
                lock = ""
            if os.path.isabs(lock) and "\0" not in lock and os.path.lexists(lock):
                locks.append(lock)
            else:
                forgotten.append(path)
        return sorted(locks), forgotten

    def _trees(self) -> Iterator[tuple[str, str]]:
        """Yield the digest and folder of each tree."""
        top = os.path.join(self.folder, _TREES)
        for start in os.listdir(top) if os.path.isdir(top) else ():
            for name in os.listdir(os.path.join(top, start)):
                yield f"sha256:{name}", os.path.join(top, start, name)

    @contextmanager
    def _locked(self, *, exclusive: bool) -> Iterator[None]:
        """Lock the store, and wait while other processes keep it from being locked."""
        with ExitStack() as stack:
            with _using(self.folder):
                os.makedirs(self.folder, 0o700, exist_ok=True)
                stack.enter_context(locked(self.folder, _IN_USE, shared=not exclusive))
            yield


class OpenStore:
    """The store while it is not swept."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        """Its folder, absolute."""
        self._temporary: list[str] = []

    def close(self) -> None:
        """Remove the temporary folders."""
        while self._temporary:
            remove_tree(self._temporary.pop())

    def new_folder(self) -> str:
        """Create an empty temporary folder, which is removed when the store is closed, and return its path.

        Raises:
            InstallError: it cannot be created.
        """
        top = os.path.join(self.folder, _TEMPORARY)
        with _using(self.folder):
            os.makedirs(top, 0o700, exist_ok=True)
            folder = os.path.join(top, os.urandom(8).hex())
            os.mkdir(folder, 0o700)
        self._temporary.append(folder)
        return folder

    def add(self, folder: str, tree: Tree | None = None) -> StoredTree:
        """Move a skill into the store; it may be there already.

        Args:
            folder: of the skill; in a folder of `new_folder`, as it is moved.
            tree: its files, if they are known; then they are not read now, only when they are copied.

        Raises:
            InstallError: its files break a rule (see `read_tree`), or cannot be stored.
        """
        if tree is None:
            tree = read_tree(folder)
        target = self._path(tree.digest)
        if os.path.isdir(target):
            if _tree_or_none(target) == tree:
                return StoredTree(tree=tree, folder=target)
            remove_tree(target)  # it was damaged or changed
        with _using(self.folder):
            for file in tree.files:
                if file.mode != LINK:
                    os.chmod(os.path.join(folder, file.path), 0o555 if file.mode == EXECUTABLE else 0o444)
            os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
            try:
                os.rename(folder, target)
            except OSError as error:
                # Another process stored the same skill meanwhile.
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY) or not os.path.isdir(target):
                    raise
        return StoredTree(tree=tree, folder=target)

    def get(self, digest: str) -> str | None:
        """Return the folder of a stored skill, or `None` if it is not in the store. Its content may be damaged.

        Raises:
            InstallError: the digest is invalid.
        """
        folder = self._path(digest)
        return folder if os.path.isdir(folder) else None

    def copy(self, digest: str, into_fd: int, name: str) -> Tree:
        """Copy a skill out of the store, and compare every byte with its digest.

        Args:
            digest: the tree digest.
            into_fd: a descriptor of the folder to copy into; no other user can write to it.
            name: of the copy, which must not exist.

        Raises:
            InstallError: the skill is missing or damaged, or cannot be copied; a part of the copy may exist.
        """
        folder = self.get(digest)
        if folder is None:
            raise InstallError(f"the store has no skill with the digest {digest}", hint="fetch it from its source")
        tree = copy_tree(folder, into_fd, name)
        if tree.digest != digest:
            remove_tree(folder)
            raise InstallError(
                f"the copy of {digest} in the store was changed, and is removed", hint="fetch the skill again"
            )
        return tree

    def _path(self, digest: str) -> str:
        found = _DIGEST(digest)
        if found is None:
            raise InstallError(f"invalid tree digest {quoted(digest, PATH_LIMIT)}", hint="it begins with `sha256:`")
        return os.path.join(self.folder, _TREES, found[1][:2], found[1])


def _tree_or_none(folder: str) -> Tree | None:
    try:
        return read_tree(folder)
    except InstallError:
        return None


def _size(folder: str) -> int:
    """Return the bytes of all files below a folder."""
    return sum(os.lstat(os.path.join(top, name)).st_size for top, _, names in os.walk(folder) for name in names)


def _using(folder: str) -> AbstractContextManager[None]:
    """Say that the store cannot be used."""
    return os_errors(
        f"the store of skills in {quoted(folder, PATH_LIMIT)} cannot be used",
        "make room on the disk, or set `PROWESS_DATA_DIR` to a folder that you can write to",
    )
