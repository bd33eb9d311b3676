"""Keep fetched skills in one folder of the user, by their tree digest, for all projects.

    DATA/store/sha256/HH/HEX/         the files of a skill, read-only
    DATA/store/temporary/RANDOM/      what is being fetched
    DATA/store/projects/HEX           the path of a lock whose skills are kept
    DATA/store/in-use                 locked while the store is used; by one process alone while it sweeps

Nothing in the store is trusted: a copy is compared with the digest while it is made. So a damaged or changed tree
is noticed when it is used, and nothing needs to be written to the disk before it is renamed into place. No link in it
is followed, and only what has a name of the forms above is ever removed.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import ExitStack, contextmanager, suppress

from prowess._internal.files import read_up_to
from prowess._internal.frozen import Frozen
from prowess._internal.fs import (
    FOLDER_FLAGS,
    READ_FLAGS,
    atomic_replace,
    open_fd,
    open_inside,
    remove_tree,
    remove_tree_at,
)
from prowess._internal.locked import locked
from prowess._internal.ownership import own_folder
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError
from prowess.lock import EXECUTABLE, LINK, copy_tree, os_errors, own_data_folder, read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from prowess.lock import Tree


_DIGEST = re.compile(r"sha256:([0-9a-f]{64})").fullmatch
_TEMPORARY, _TREES, _PROJECTS, _IN_USE = "temporary", "sha256", "projects", "in-use"
_MAX_PATH_BYTES = 64 << 10
_IS_START = re.compile("[0-9a-f]{2}").fullmatch
_IS_HEX = re.compile("[0-9a-f]{64}").fullmatch
_IS_RANDOM = re.compile("[0-9a-f]{16}").fullmatch


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
            ConfigError: the user has no such folder, or it is another user's.
        """
        return cls(os.path.join(own_data_folder(env), "store"))

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
            own_folder(folder, os.path.dirname(self.folder), follow=True)
            if not os.path.lexists(path := os.path.join(folder, name)):
                atomic_replace(path, os.fsencode(lock))

    def content(self) -> StoreContent:
        """Return what is in the store.

        Raises:
            InstallError: it cannot be read.
        """
        with _using(self.folder):
            sizes = [self._size(digest) for digest in self._trees()]
            return StoreContent(skills=len(sizes), size=sum(sizes), projects=tuple(self._projects()[0]))

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
                trees = [*self._trees()]
                removed = [digest for digest in trees if digest not in wanted]
                size = sum(map(self._size, removed))
            if not dry_run:
                with _using(self.folder):
                    self._remove(removed, forgotten)
        return SweepReport(
            removed=tuple(sorted(removed)), kept=len(trees) - len(removed), size=size, projects=tuple(projects)
        )

    def _remove(self, digests: Iterable[str], forgotten: Iterable[str]) -> None:
        """Remove trees, files about projects, and all that is temporary."""
        for digest in digests:
            _remove_tree(self.folder, digest)
        with _opened(self.folder, _TEMPORARY) as fd:
            for name in _names(fd, _IS_RANDOM):
                remove_tree_at(name, fd)  # type: ignore[arg-type]  # without the folder there are no names
        with _opened(self.folder, _PROJECTS) as fd:
            for name in forgotten:
                with suppress(OSError):
                    os.unlink(name, dir_fd=fd)

    def _projects(self) -> tuple[list[str], list[str]]:
        """Return the locks that exist, sorted, and the names of the files about others."""
        locks, forgotten = [], []
        with _opened(self.folder, _PROJECTS) as folder_fd:
            for name in sorted(_names(folder_fd, _IS_HEX)):
                lock = ""
                with suppress(OSError), open_fd(name, READ_FLAGS, dir_fd=folder_fd) as fd:
                    data = read_up_to(fd, _MAX_PATH_BYTES)
                    lock = os.fsdecode(data) if len(data) <= _MAX_PATH_BYTES else ""
                if os.path.isabs(lock) and "\0" not in lock and os.path.lexists(lock):
                    locks.append(lock)
                else:
                    forgotten.append(name)
        return sorted(locks), forgotten

    def _trees(self) -> Iterator[str]:
        """Yield the digest of each tree."""
        with _opened(self.folder, _TREES) as top_fd:
            starts = _names(top_fd, _IS_START)
        for start in starts:
            with _opened(self.folder, _TREES, start) as fd:
                yield from (f"sha256:{name}" for name in _names(fd, _IS_HEX) if name.startswith(start))

    def _size(self, digest: str) -> int:
        """Return the bytes of all files of a tree."""
        name, size = digest.removeprefix("sha256:"), 0
        with _opened(self.folder, _TREES, name[:2], name) as fd:
            for _, _, files, inner_fd in os.fwalk(dir_fd=fd) if fd is not None else ():
                size += sum(os.stat(file, dir_fd=inner_fd, follow_symlinks=False).st_size for file in files)
        return size

    @contextmanager
    def _locked(self, *, exclusive: bool) -> Iterator[None]:
        """Lock the store, and wait while other processes keep it from being locked."""
        with ExitStack() as stack:
            with _using(self.folder):
                own_folder(self.folder, os.path.dirname(self.folder), follow=True)
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
            own_folder(top, self.folder)
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
        above, name = os.path.split(target)
        with _using(self.folder):
            own_folder(above, self.folder)
            with _opened(self.folder, _TREES, name[:2]) as fd:
                if self.get(tree.digest) is not None and _tree_or_none(target) == tree:
                    return StoredTree(tree=tree, folder=target)
                with suppress(OSError):
                    os.unlink(name, dir_fd=fd)  # a link or a file, which no tree is
                _remove_tree(self.folder, tree.digest)  # it was damaged or changed
                for file in tree.files:
                    if file.mode != LINK:
                        os.chmod(os.path.join(folder, file.path), 0o555 if file.mode == EXECUTABLE else 0o444)
                try:
                    os.rename(folder, name, dst_dir_fd=fd)
                except OSError as error:
                    # Another process stored the same skill meanwhile.
                    if error.errno not in (errno.EEXIST, errno.ENOTEMPTY) or self.get(tree.digest) is None:
                        raise
        return StoredTree(tree=tree, folder=target)

    def get(self, digest: str) -> str | None:
        """Return the folder of a stored skill, or `None` if it is not in the store. Its content may be damaged.

        Raises:
            InstallError: the digest is invalid.
        """
        folder = self._path(digest)
        name = os.path.basename(folder)
        with _opened(self.folder, _TREES, name[:2], name) as fd:
            return None if fd is None else folder

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
            _remove_tree(self.folder, digest)
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


@contextmanager
def _opened(folder: str, *parts: str) -> Iterator[int | None]:
    """Open a folder in the store; `None` if it is missing, or if it or one above it is a link or a file."""
    try:
        fd = open_inside(folder, parts, FOLDER_FLAGS)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
            raise
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _names(fd: int | None, has_form: Callable[[str], object]) -> list[str]:
    """Return the names of a form in an open folder; none without a folder."""
    return [] if fd is None else [name for name in os.listdir(fd) if has_form(name)]


def _remove_tree(store: str, digest: str) -> None:
    """Remove a tree, if it is there."""
    name = digest.removeprefix("sha256:")
    with _opened(store, _TREES, name[:2]) as fd:
        if fd is not None:
            remove_tree_at(name, fd)


def _using(folder: str) -> AbstractContextManager[None]:
    """Say that the store cannot be used."""
    return os_errors(
        f"the store of skills in {quoted(folder, PATH_LIMIT)} cannot be used",
        "make room on the disk, or set `PROWESS_DATA_DIR` to a folder that you can write to",
    )
