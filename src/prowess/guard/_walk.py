"""Walk through a folder, and find what is protected in it.

A folder is walked before a command, to make what is protected read-only; and while it runs and after it, to find what
is new. The changes that a command made in a layer are walked as if they were all new.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from prowess._internal.file_names import plain_file_name
from prowess._internal.files import read_up_to
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS, open_fd
from prowess.skill import MAX_BYTES

from ._kinds import BARE_NAMES, is_compiled_module, suspect_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ._protection import Protection

    Identity = tuple[int, int]
    """Device and inode."""

MAX_ENTRIES = 100_000
"""Files and folders that are checked before a command; after it, as many more."""
_MAX_DEPTH = 60


class UncheckedError(Exception):
    """A folder cannot be checked; the message says why."""


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


class Item(Frozen):
    """A protected file or folder that was there before."""

    kind: str
    identity: Identity
    target: str | None = None
    """What it leads to, if it is a link."""


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
    files: frozenset[str]
    """Paths of the regular files that are not protected."""
    others: frozenset[str]
    """Paths of links, FIFOs, sockets and devices that are not protected."""
    aliases: Mapping[str, str]
    """Other names of protected files, hard links and what they lead to, to the kind of those."""
    missing: Mapping[str, str]
    """Paths that do not exist, to the protected file that leads to them."""


class Walk:
    """One walk through a folder; finds what is protected.

    Args:
        protection: what is.
        known: the folder before; `None` for the walk that finds out.
        started: when the command began.
        final: whether nothing else is running, so that permissions may be changed.
        below: the path of the folder that a layer is over, if the walk is through the changes in the layer.
    """

    def __init__(
        self,
        protection: Protection,
        known: Snapshot | None,
        *,
        started: int = 0,
        final: bool = False,
        below: str | None = None,
    ) -> None:
        self.protection, self.known, self.started, self.final = protection, known, started, final
        self._below = below
        self.left = MAX_ENTRIES if known is None else MAX_ENTRIES + len(known.folders) + MAX_ENTRIES
        self.folders: set[Identity] = set()
        self.bare_parts: set[Identity] = set()
        self.files: set[str] = set()
        """Paths of the regular files that are not protected, in the walk before the command."""
        self.others: set[str] = set()
        """Paths of links, FIFOs, sockets and devices that are not protected."""
        # Links that protected files lead through have ordinary names; a command may have replaced one by a file.
        self._links = [path for path, item in known.items.items() if item.target is not None] if known else []
        self._finds_roles = "role" not in protection.allowed
        self._role_inodes = {_inode(file) for file in protection.files} if self._finds_roles else set()

    def walk(self, fd: int, path: str) -> Iterator[Entry]:
        """Yield what is protected in an open folder.

        Raises:
            UncheckedError: there is too much, in the walk before the command.
            OSError: the folder cannot be read.
        """
        with os.scandir(fd) as entries:
            found = list(entries)
        yield from self._visit(fd, path, found, self._suspects(path, found), 0, None)

    def _visit(
        self,
        fd: int,
        path: str,
        found: list[os.DirEntry[str]],
        suspects: set[str],
        depth: int,
        inherited: str | None,
    ) -> Iterator[Entry]:
        """Yield what is protected in an open folder.

        Args:
            fd: the folder.
            path: of the folder, absolute.
            found: what is in it.
            suspects: the names in it that may be protected.
            depth: levels of folders above it.
            inherited: the kind of a folder that contains it, if the user named a path in that as not protected.
        """
        self.left -= len(found)
        if self.known is None and (self.left < 0 or depth > _MAX_DEPTH):
            raise UncheckedError(f"it has more than {MAX_ENTRIES:,} files or {_MAX_DEPTH} levels of folders")
        self.folders.add(identity(os.fstat(fd)))
        parent = os.path.basename(path)
        all_names = [*(entry.name for entry in found), *self._names_below(path)] if suspects else []
        yield from self._bare_parts(fd, path, suspects, all_names)
        for entry in found:
            name = entry.name
            if name not in suspects and not inherited and entry.is_file(follow_symlinks=False):
                if self.known is None:
                    self.files.add(f"{path}/{name}")
                continue
            full, is_folder = f"{path}/{name}", entry.is_dir(follow_symlinks=False)
            if self.known is not None and (item := self.known.items.get(full)):
                yield Entry(fd=fd, path=full, kind=item.kind, is_folder=is_folder)
                continue
            kind = inherited or (self._kind(fd, full, parent, entry, all_names) if name in suspects else None)
            if kind is not None and self.protection.allows(full, kind):
                kind = None
            if is_folder and (kind is None or kind == "bytecode" or self.protection.contains_allowed(full)):
                yield from self._enter(fd, full, depth, None if kind == "bytecode" else kind)
            elif kind is not None:
                yield Entry(fd=fd, path=full, kind=kind, is_folder=is_folder)
            else:
                (self.files if entry.is_file(follow_symlinks=False) else self.others).add(full)

    def _suspects(self, path: str, found: list[os.DirEntry[str]]) -> set[str]:
        """Return the names in a folder that may be protected; that is decided for these only."""
        protection = self.protection
        names = [entry.name for entry in found]
        if protection.may_contain_patterns(path):
            return set(names)
        suspects = suspect_names(names)
        if self._role_inodes:
            suspects |= {entry.name for entry in found if entry.inode() in self._role_inodes}
        fixed = (*protection.files, protection.temporary, *self._links)
        return suspects | {os.path.basename(file) for file in fixed if os.path.dirname(file) == path}

    def _kind(self, fd: int, path: str, parent: str, entry: os.DirEntry[str], all_names: Iterable[str]) -> str | None:
        if path == self.protection.temporary:  # what is new in it may be of another command
            return "prowess"
        if kind := self.protection.part_kind(entry.name, parent) or self.protection.path_kind(path):
            return kind
        if entry.is_dir(follow_symlinks=False):
            return None
        if "python" not in self.protection.allowed and is_compiled_module(entry.name, all_names):
            return "python"
        if not self._finds_roles:
            return None
        if entry.inode() in self._role_inodes or path in self.protection.files:
            return "role"
        if not plain_file_name(entry.name).endswith((".yaml", ".yml")):
            return None
        # Parsing is slow: of the files in other folders, only those that are new or could be roles are parsed.
        is_candidate = os.path.dirname(path) == self.protection.folder
        if self.known is not None and self._below is None and not is_candidate and not self._is_new(path):
            return None
        for data in (_read(entry.name, fd), *([] if self._below is None else [_read(path)])):
            may_be = is_candidate or self.known is not None or b"initrunner" in data
            if may_be and self.protection.is_role(path, data):
                return "role"
        return None

    def _is_new(self, path: str) -> bool:
        try:
            return os.lstat(path).st_ctime_ns >= self.started
        except OSError:
            return False

    def _names_below(self, path: str) -> list[str]:
        """Return the names in the folder below a layer."""
        if self._below is not None:
            with suppress(OSError), open_fd(path, FOLDER_FLAGS) as fd:
                return os.listdir(fd)
        return []

    def _bare_parts(self, fd: int, path: str, names: Iterable[str], all_names: list[str]) -> Iterator[Entry]:
        """Remember possible parts of a repository without a working tree; yield the new ones of a whole repository."""
        parts = [name for name in names if len(name) < 16 and plain_file_name(name) in BARE_NAMES]
        is_bare = bool(parts) and self.protection.folder_kind(all_names) == "git"
        for name in parts:
            with suppress(OSError):
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                self.bare_parts.add(identity(status))
                full = f"{path}/{name}"
                if (
                    is_bare
                    and self.known is not None
                    and identity(status) not in self.known.bare_parts
                    and not self.protection.allows(full, "git")
                ):
                    yield Entry(fd=fd, path=full, kind="git", is_folder=stat.S_ISDIR(status.st_mode))

    def _enter(self, above: int, path: str, depth: int, inherited: str | None) -> Iterator[Entry]:
        name = os.path.basename(path)
        fd = self._open(above, name)
        if fd is None:
            yield from self._unreadable(above, path, name)
            return
        try:
            with os.scandir(fd) as entries:
                found = list(entries)
            suspects = self._suspects(path, found)
            # In a layer, what the folder below contains decides; what is new there is decided file by file.
            kind = inherited or self.protection.folder_kind(suspects if self.known is None else self._names_below(path))
            if kind and not inherited:
                if self.protection.allows(path, kind):
                    kind = None
                elif not self.protection.contains_allowed(path):
                    yield Entry(fd=above, path=path, kind=kind, is_folder=True)
                    return
            is_new = self.known is not None and identity(os.fstat(fd)) not in self.known.folders
            if is_new and (self.left < 0 or depth >= _MAX_DEPTH):
                yield Entry(fd=above, path=path, kind="unchecked", is_folder=True)
            else:
                yield from self._visit(fd, path, found, suspects, depth + 1, kind)
        except OSError:
            yield from self._unreadable(above, path, name)
        finally:
            os.close(fd)

    def _unreadable(self, above: int, path: str, name: str) -> Iterator[Entry]:
        """Yield a folder that cannot be checked: it is not written, and if the command made it, it is removed."""
        with suppress(OSError):
            status = os.stat(name, dir_fd=above, follow_symlinks=False)
            if self.known is None or (self.final and identity(status) not in self.known.folders):
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


def identity(status: os.stat_result) -> Identity:
    """Return the device and the inode of a file."""
    return status.st_dev, status.st_ino


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return -1


def _read(name: str, folder_fd: int | None = None) -> bytes:
    """Return a regular file that is not a link and not large; another one is empty."""
    with suppress(OSError), open_fd(name, READ_FLAGS, dir_fd=folder_fd) as fd:
        if stat.S_ISREG(os.fstat(fd).st_mode) and len(data := read_up_to(fd, MAX_BYTES)) <= MAX_BYTES:
            return data
    return b""
