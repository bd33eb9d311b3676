"""Find protected files in a folder before a command runs there, and remove those that it made.

Every folder is opened from the descriptor of the one above, never through a link, because the command that is being
checked may still be running.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from prowess._internal.file_names import plain_file_name
from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, open_inside, remove_tree_at

from ._write_links import Item, UncheckedError, find_obeyed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ._protection import Protection
    from ._removed_files import RemovedFiles

__all__ = ["Snapshot", "find_protected", "remove_new"]

MAX_ENTRIES = 100_000
"""Files and folders that are checked before a command; after it, as many more."""
_MAX_DEPTH = 60
_BARE_NAMES = ("head", "commondir", "objects", "refs")
"""Names in a repository without a working tree."""
Identity = tuple[int, int]


class Entry(Frozen):
    """A file or folder that a walk finds."""

    fd: int
    """Of the folder that contains it."""
    path: str
    """Absolute."""
    kind: str
    is_folder: bool

    @property
    def name(self) -> str:
        """The last part of the path."""
        return os.path.basename(self.path)


class Snapshot(Frozen):
    """A folder before a command."""

    protection: Protection
    folder: str
    items: dict[str, Item]
    """Path to what is protected; everything in a folder is."""
    folders: frozenset[Identity]
    """The folders that are not protected."""
    bare_parts: frozenset[Identity]
    """Files and folders that could be parts of a repository without a working tree."""
    aliases: Mapping[str, str]
    """Other names of protected files, hard links and what they lead to, to the kind of those."""
    missing: Mapping[str, str]
    """Paths that do not exist, to the protected file that leads to them."""


class _Walk:
    """One walk through a folder; finds what is protected.

    Args:
        protection: what is.
        known: the folder before; `None` for the walk that finds out.
        started: when the command began.
        final: whether nothing else is running, so that permissions may be changed.
    """

    def __init__(
        self, protection: Protection, known: Snapshot | None, *, started: int = 0, final: bool = False
    ) -> None:
        self.protection, self.known, self.started, self.final = protection, known, started, final
        self.left = MAX_ENTRIES if known is None else MAX_ENTRIES + len(known.folders) + MAX_ENTRIES
        self.folders: set[Identity] = set()
        self.bare_parts: set[Identity] = set()
        self.inodes: dict[int, list[str]] = {}
        """Inode to paths of the regular files that are not protected."""
        self._role_inodes = {_inode(file) for file in protection.files} if "role" not in protection.allowed else set()

    def walk(self, fd: int, path: str, parent: str, depth: int = 0) -> Iterator[Entry]:
        """Yield what is protected in an open folder.

        Raises:
            UncheckedError: there is too much, in the walk before the command.
        """
        with os.scandir(fd) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False), entry.inode()) for entry in entries]
        self.left -= len(found)
        if self.known is None and (self.left < 0 or depth > _MAX_DEPTH):
            raise UncheckedError(f"it has more than {MAX_ENTRIES:,} files or {_MAX_DEPTH} levels of folders")
        status = os.fstat(fd)
        self.folders.add((status.st_dev, status.st_ino))
        yield from self._bare_parts(fd, path, found)
        for name, is_folder, inode in found:
            full = f"{path}/{name}"
            if self.known is not None and (item := self.known.items.get(full)):
                yield Entry(fd=fd, path=full, kind=item.kind, is_folder=is_folder)
                continue
            kind = self._kind(full, parent, name, inode, is_folder=is_folder)
            if kind == "bytecode" and is_folder:
                kind = None  # what is in it is checked
            if kind is not None:
                yield Entry(fd=fd, path=full, kind=kind, is_folder=is_folder)
            elif is_folder:
                yield from self._enter(fd, full, name, depth)
            elif self.known is None:
                self.inodes.setdefault(inode, []).append(full)

    def _kind(self, path: str, parent: str, name: str, inode: int, *, is_folder: bool) -> str | None:
        if path == self.protection.temporary:  # what is new in it may be of another command
            return "prowess"
        if kind := self.protection.part_kind(name, parent) or self.protection.path_kind(path):
            return kind
        if is_folder or "role" in self.protection.allowed:
            return None
        if inode in self._role_inodes or path in self.protection.files:
            return "role"
        if not plain_file_name(name).endswith((".yaml", ".yml")):
            return None
        # Parsing is slow: of the files in other folders, only those that are new or could be roles are parsed.
        is_candidate = os.path.dirname(path) == self.protection.folder
        if self.known is not None and not is_candidate and not self._is_new(path):
            return None
        data = _read(path)
        is_candidate = is_candidate or self.known is not None or b"initrunner" in data
        return "role" if is_candidate and self.protection.is_role(path, data) else None

    def _is_new(self, path: str) -> bool:
        try:
            return os.lstat(path).st_ctime_ns >= self.started
        except OSError:
            return False

    def _bare_parts(self, fd: int, path: str, found: Iterable[tuple[str, bool, int]]) -> Iterator[Entry]:
        """Remember possible parts of a repository without a working tree; yield the new ones of a whole repository."""
        parts = [(name, is_folder) for name, is_folder, _ in found if plain_file_name(name) in _BARE_NAMES]
        is_bare = bool(parts) and self.protection.folder_kind(name for name, _ in parts) == "git"
        for name, is_folder in parts:
            with suppress(OSError):
                identity = _identity(os.stat(name, dir_fd=fd, follow_symlinks=False))
                self.bare_parts.add(identity)
                if is_bare and self.known is not None and identity not in self.known.bare_parts:
                    yield Entry(fd=fd, path=f"{path}/{name}", kind="git", is_folder=is_folder)

    def _enter(self, above: int, path: str, name: str, depth: int) -> Iterator[Entry]:
        fd = self._open(above, name)
        if fd is None:
            yield from self._unreadable(above, path, name)
            return
        try:
            if self.known is None and (kind := self.protection.folder_kind(_names(fd))):
                yield Entry(fd=above, path=path, kind=kind, is_folder=True)
                return
            is_new = self.known is not None and _identity(os.fstat(fd)) not in self.known.folders
            if is_new and (self.left < 0 or depth >= _MAX_DEPTH):
                yield Entry(fd=above, path=path, kind="unchecked", is_folder=True)
            else:
                yield from self.walk(fd, path, name, depth + 1)
        except OSError:
            yield from self._unreadable(above, path, name)
        finally:
            os.close(fd)

    def _unreadable(self, above: int, path: str, name: str) -> Iterator[Entry]:
        """Yield a folder that cannot be checked: it is not written, and if the command made it, it is removed."""
        with suppress(OSError):
            identity = _identity(os.stat(name, dir_fd=above, follow_symlinks=False))
            if self.known is None or (self.final and identity not in self.known.folders):
                yield Entry(fd=above, path=path, kind="unreadable", is_folder=True)

    def _open(self, above: int, name: str) -> int | None:
        for _ in range(2):
            try:
                return os.open(name, FOLDER_FLAGS, dir_fd=above)
            except FileNotFoundError:
                return None
            except OSError:
                if not self.final:
                    return None
                with suppress(OSError):
                    if stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
                        os.chmod(name, 0o700, dir_fd=above)
        return None


def find_protected(protection: Protection, folder: str) -> Snapshot:
    """Find everything in a folder that a command must not change.

    Args:
        protection: what is protected.
        folder: absolute, without links.

    Raises:
        UncheckedError: the folder has more files than are checked.
        OSError: it cannot be read.
    """
    walk = _Walk(protection, None)
    items: dict[str, Item] = {}
    linked_inodes: dict[int, str] = {}
    fd = os.open(folder, FOLDER_FLAGS)
    try:
        for entry in walk.walk(fd, folder, os.path.basename(folder)):
            if entry.kind != "bytecode":
                with suppress(FileNotFoundError):
                    status = os.stat(entry.name, dir_fd=entry.fd, follow_symlinks=False)
                    target = os.readlink(entry.name, dir_fd=entry.fd) if stat.S_ISLNK(status.st_mode) else None
                    items[entry.path] = Item(kind=entry.kind, identity=_identity(status), target=target)
                    if status.st_nlink > 1 and not entry.is_folder:
                        linked_inodes[status.st_ino] = entry.kind
    finally:
        os.close(fd)
    obeyed = find_obeyed(items, folder)
    items |= {path: item for path, item in obeyed.links.items() if path not in items}
    aliases = {path: kind for inode, kind in linked_inodes.items() for path in walk.inodes.get(inode, ())}
    return Snapshot(
        protection=protection,
        folder=folder,
        items=items,
        folders=frozenset(walk.folders),
        bare_parts=frozenset(walk.bare_parts),
        aliases=aliases | obeyed.paths,
        missing=obeyed.missing,
    )


def remove_new(known: Snapshot, started: int, kept: RemovedFiles, *, final: bool) -> list[tuple[str, str]]:
    """Remove what is protected and was not there before; return paths and kinds.

    Args:
        known: the folder before the command.
        started: when the command began, in nanoseconds of the clock.
        kept: gets a copy of what is removed.
        final: whether nothing of the command is running any more.

    Raises:
        OSError: the folder cannot be read.
    """
    removed = []
    walk = _Walk(known.protection, known, started=started, final=final)
    fd = os.open(known.folder, FOLDER_FLAGS)
    try:
        for entry in walk.walk(fd, known.folder, os.path.basename(known.folder)):
            with suppress(FileNotFoundError):
                status = os.stat(entry.name, dir_fd=entry.fd, follow_symlinks=False)
                if entry.kind == "bytecode":
                    is_new = status.st_ctime_ns >= started
                else:
                    is_new = not _is_same(known.items.get(entry.path), entry, status)
                if is_new:
                    is_gone = _remove(entry, None if entry.kind == "bytecode" else kept, known.folder, final=final)
                    removed.append((entry.path, entry.kind if is_gone else f"{entry.kind}, cannot be removed"))
    finally:
        os.close(fd)
    if final:
        _restore_links(known)
    return removed


def _is_same(item: Item | None, entry: Entry, status: os.stat_result) -> bool:
    if item is None:
        return False
    if item.target is None:
        # A command cannot replace what is read-only. If it was replaced anyway, the user did it.
        return True
    if item.identity != _identity(status):
        return False
    # A new file may have the inode of the link that it replaced.
    is_link = stat.S_ISLNK(status.st_mode)
    return item.target == (os.readlink(entry.name, dir_fd=entry.fd) if is_link else None)


def _remove(entry: Entry, kept: RemovedFiles | None, folder: str, *, final: bool) -> bool:
    """Remove a file or folder: first its name, so that nothing finds it from then on. Return whether it is gone.

    Args:
        entry: the file or folder.
        kept: gets a copy, under the path from `folder`.
        folder: the folder that is checked.
        final: whether permissions may be changed.
    """
    new_name = f".prowess-removed-{os.urandom(8).hex()}"
    for _ in range(2):
        try:
            os.rename(entry.name, new_name, src_dir_fd=entry.fd, dst_dir_fd=entry.fd)
            break
        except FileNotFoundError:
            return True
        except OSError:
            if not final:
                return False
            with suppress(OSError):
                # The command may have taken the permission to remove anything from its folder.
                os.fchmod(entry.fd, stat.S_IMODE(os.fstat(entry.fd).st_mode) | 0o700)
    else:
        return False
    if kept is not None:
        kept.add(entry.fd, new_name, os.path.relpath(entry.path, folder))
    try:
        os.unlink(new_name, dir_fd=entry.fd)
    except OSError:
        remove_tree_at(new_name, entry.fd)
    return True


def _restore_links(known: Snapshot) -> None:
    """Make protected links again that the command replaced or removed: a link cannot be mounted read-only."""
    for path, item in known.items.items():
        if item.target is not None and not os.path.lexists(path):
            parts = os.path.relpath(os.path.dirname(path), known.folder).split("/")
            with suppress(OSError):
                fd = open_inside(known.folder, [part for part in parts if part != "."], FOLDER_FLAGS)
                try:
                    os.symlink(item.target, os.path.basename(path), dir_fd=fd)
                finally:
                    os.close(fd)


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return -1


def _names(fd: int) -> list[str]:
    with os.scandir(fd) as entries:
        return [entry.name for entry in entries]


def _read(path: str) -> bytes:
    """Return a regular file that is not a link and not large; another one is empty."""
    try:
        return read_file(path)
    except UnreadableError:
        return b""
