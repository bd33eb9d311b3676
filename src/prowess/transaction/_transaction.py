"""Change entries of several folders, and the file that says what they are: all of it, or nothing.

New entries are made in a staging folder inside the locked folder, where no client looks, and then renamed into place.
One that replaces another is exchanged with it in one step; the file is replaced last. Meanwhile the folder is locked,
and a journal in the staging folder lists the changes. If the process is killed, the next one undoes them, unless the
file was replaced already.

    FOLDER/                     locked
        ROOT/NAME               what clients see
        FILE                    what says what is there, such as the lock of skills
        PREFIX-RANDOM/          new/0/NAME  old/0/NAME  file  journal.json

What an entry or the file means is not known here.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress

from prowess._internal.files import read_up_to
from prowess._internal.fs import (
    CREATE_FLAGS,
    FOLDER_FLAGS,
    READ_FLAGS,
    exchange_names,
    open_fd,
    open_inside,
    open_or_make_folder,
    remove_tree_at,
    rename_no_replace,
    replacement_file,
    sync_file_system,
    write_all,
)
from prowess._internal.ownership import own_folder
from prowess.errors import SkillError

from ._journal import Change, Journal, inode, parse_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

_JOURNAL, _FILE = "journal.json", "file"
_MAX_BYTES = 64 << 20
"""Bytes of a journal, or of the file."""


class LockedFolder:
    """A folder while no other process changes it.

    Args:
        path: absolute.
        file: the file that says what is there, relative to the folder, or absolute.
        fd: a descriptor of the folder, which is locked.
        deliver_signals: handles the signals that arrived; it is called where the changes so far can be undone.
    """

    prefix: str
    """How the names of staging folders begin."""
    is_durable: bool
    """Whether what is new must have reached the disk before anything changes, for a power failure."""
    removes_emptied: bool
    """Whether folders that a removal leaves empty are removed."""
    folder_mode: int
    file_mode: int
    """The permissions of new folders and of the file, less the umask."""

    def __init__(self, path: str, file: str, fd: int, deliver_signals: Callable[[], None]) -> None:
        self.path, self.file, self.fd, self.deliver_signals = path, file, fd, deliver_signals

    # ── what a subclass decides ──────────────────────────────────────────────────────────────────────────────────────

    def nothing_changed(self, error: OSError) -> SkillError:
        """Return the error for a failure after which all is as it was."""
        raise NotImplementedError

    def cannot_stage(self, error: OSError) -> SkillError:
        """Return the error for a staging folder that cannot be made or found."""
        return self.nothing_changed(error)

    def cannot_recover(self, path: str, error: OSError) -> SkillError:
        """Return the error for a staging folder whose changes can neither be undone nor finished."""
        raise NotImplementedError

    def unusable(self, root: str, error: OSError) -> SkillError:
        """Return the error for a folder that is a link, or cannot be opened."""
        raise NotImplementedError

    def other_file_system(self, root: str) -> SkillError:
        """Return the error for a folder that is on another file system."""
        raise NotImplementedError

    def claim(self) -> str:
        """Return the name of a new staging folder, after it was noted that it will be ours.

        Raises:
            OSError: that cannot be noted.
        """
        return f"{self.prefix}{os.urandom(8).hex()}"

    def is_ours(self, name: str) -> bool:
        """Return whether a staging folder is one of ours: anyone could have made it."""
        raise NotImplementedError

    def disclaim(self, name: str) -> None:
        """Forget a staging folder that was removed."""

    def seal_of(self, root: str, name: str) -> str | None:
        """Return a digest of an entry that cannot be guessed, if the journal has one."""
        del root, name
        return None

    # ── changing ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """Create a staging folder, and remove it at the end of the block.

        Raises:
            SkillError: it cannot be created.
        """
        name = ""
        try:
            name = self.claim()
            os.mkdir(name, 0o700, dir_fd=self.fd)
        except OSError as error:
            self.disclaim(name)
            raise self.cannot_stage(error) from None
        done = False
        try:
            with Staging(self, name) as staging:
                yield staging
                done = True
        except SkillError:
            raise
        except OSError as error:
            raise self.cannot_stage(error) from None
        finally:
            # A finished change is not undone: what cannot be removed now is left to the next process.
            with suppress(*[SkillError] if done else []):
                self._settle(name)

    def open_root(self, root: str, *, make: bool = False) -> int:
        """Open a folder below this one, and return its descriptor, or -1 if it is missing.

        Raises:
            SkillError: it, or a folder on the way to it, is a link or not a folder.
        """
        fd = os.dup(self.fd)
        try:
            for part in root.split("/"):
                if make:
                    inner, _ = open_or_make_folder(part, fd, self.folder_mode)
                else:
                    inner = os.open(part, FOLDER_FLAGS, dir_fd=fd)
                os.close(fd)
                fd = inner
        except FileNotFoundError:
            os.close(fd)
            return -1
        except OSError as error:
            os.close(fd)
            raise self.unusable(root, error) from None
        return fd

    def recover(self) -> None:
        """Undo what killed processes left, or finish what they had done.

        Raises:
            SkillError: that is not possible.
        """
        try:
            with os.scandir(self.fd) as entries:
                names = [entry.name for entry in entries if entry.name.startswith(self.prefix)]
            ours = [name for name in names if self.is_ours(name)]
        except OSError as error:
            raise self.cannot_stage(error) from None
        for name in ours:
            self._settle(name)

    def _settle(self, name: str) -> None:
        """Undo what a staging folder says was begun but not finished, and remove it.

        Raises:
            SkillError: that is not possible; the folder is left to the next process.
        """
        try:
            if inode(self.fd, name) is not None:
                with Staging(self, name) as staging:
                    staging.settle()
        except OSError as error:
            raise self.cannot_recover(os.path.join(self.path, name), error) from None
        remove_tree_at(name, self.fd)
        if inode(self.fd, name) is None:
            self.disclaim(name)


class Staging:
    """The staging folder of one transaction."""

    def __init__(self, locked: LockedFolder, name: str) -> None:
        self.locked, self.name = locked, name
        self.fd = -1
        self.seals: dict[str, str] = {}
        """What `seal_of` will return for the new entries, by name."""
        self._roots: list[str] = []
        self._root_fds: list[int] = []
        self._folders: dict[tuple[str, int], int] = {}
        """Descriptors of `new/INDEX` and `old/INDEX`."""
        self._new: list[tuple[int, str]] = []

    def __enter__(self) -> Self:
        self.fd = os.open(self.name, FOLDER_FLAGS, dir_fd=self.locked.fd)
        return self

    def __exit__(self, *_: object) -> None:
        for fd in (*self._folders.values(), *self._root_fds, self.fd):
            if fd >= 0:
                os.close(fd)
        self._folders, self._root_fds, self.fd = {}, [], -1

    def place(self, root: str, name: str) -> int:
        """Return a descriptor of the folder into which a new entry is made, under its name.

        Args:
            root: the folder in which it will be, relative to the locked folder.
            name: of the entry.
        """
        index = self._index(root)
        self._new.append((index, name))
        return self._folder("new", index)

    def path_of(self, root: str, name: str) -> str:
        """Return the path of a new entry while it is being made; the arguments are those of `place`."""
        return os.path.join(self.locked.path, self.name, "new", str(self._index(root)), name)

    def commit(self, text: str | None, removed: Iterable[tuple[str, str]] = ()) -> None:
        """Move the new entries into their folders, remove others, and replace the file.

        Args:
            text: the new content of the file; `None` removes it.
            removed: the folder and name of each entry to remove.

        Raises:
            SkillError: that failed; all is as it was.
        """
        self.locked.deliver_signals()
        gone = [(self._index(root), name) for root, name in removed]
        self._root_fds = [self.locked.open_root(root) for root in self._roots]
        created = self._missing_folders()
        try:
            self._check_file_systems()
            journal = self._journal(text, gone, created)
            self._write_file_and_journal(text, journal)
            for index, fd in enumerate(self._root_fds):
                if fd < 0:
                    self._root_fds[index] = self.locked.open_root(self._roots[index], make=True)
            for change in journal.changes:
                self._apply(change)
            self._replace_file(text)
        except SkillError:
            raise
        except OSError as error:
            raise self.locked.nothing_changed(error) from None
        with suppress(OSError):  # all changes are done; if the journal stays, recovery finds that out
            self._finish(journal)

    def _index(self, root: str) -> int:
        if root not in self._roots:
            self._roots.append(root)
        return self._roots.index(root)

    def _folder(self, which: str, index: int, *, make: bool = True) -> int:
        """Return a descriptor of `new/INDEX` or `old/INDEX`; -1 if it is missing and not to be made."""
        key = which, index
        if self._folders.get(key, -1) < 0:
            self._folders[key] = self._open_folder(which, index, make=make)
        return self._folders[key]

    def _open_folder(self, which: str, index: int, *, make: bool) -> int:
        try:
            if make:
                top, _ = open_or_make_folder(which, self.fd, 0o700)
            else:
                top = os.open(which, FOLDER_FLAGS, dir_fd=self.fd)
            try:
                if make:
                    return open_or_make_folder(str(index), top, 0o700)[0]
                return os.open(str(index), FOLDER_FLAGS, dir_fd=top)
            finally:
                os.close(top)
        except FileNotFoundError:
            if make:
                raise
            return -1

    def _missing_folders(self) -> tuple[str, ...]:
        """Return the folders that must be created, the outermost first."""
        missing: dict[str, None] = {}
        for root, fd in zip(self._roots, self._root_fds, strict=True):
            parts = root.split("/")
            paths = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)] if fd < 0 else []
            missing |= dict.fromkeys(
                path for path in paths if not os.path.lexists(os.path.join(self.locked.path, path))
            )
        return (*missing,)

    def _check_file_systems(self) -> None:
        device = os.fstat(self.fd).st_dev
        for root, fd in zip(self._roots, self._root_fds, strict=True):
            if fd >= 0 and os.fstat(fd).st_dev != device:
                raise self.locked.other_file_system(root)

    def _journal(self, text: str | None, gone: list[tuple[int, str]], created: tuple[str, ...]) -> Journal:
        changes = [
            Change(
                root=index,
                name=name,
                new=inode(self._folder("new", index), name),
                old=inode(self._root_fds[index], name),
                seal=self.seals.get(name),
            )
            for index, name in self._new
        ]
        for index, name in gone:
            old = inode(self._root_fds[index], name)
            changes.append(Change(root=index, name=name, new=None, old=old, seal=None))
        digest = None if text is None else _sha256(text.encode())
        return Journal(
            roots=tuple(self._roots),
            created=created,
            changes=tuple(changes),
            file=self.locked.file,
            digest=digest,
            replaces=digest != _digest_of(self.locked.file, self.locked.fd),
        )

    def _write_file_and_journal(self, text: str | None, journal: Journal) -> None:
        if text is not None:
            with open_fd(_FILE, CREATE_FLAGS, self.locked.file_mode, dir_fd=self.fd) as fd:
                write_all(fd, text.encode())
        with replacement_file(_JOURNAL, staged="journal.new", dir_fd=self.fd, staged_dir_fd=self.fd) as fd:
            write_all(fd, journal.to_json())
            if self.locked.is_durable:
                sync_file_system(fd)  # the copies too, once for all of them

    def _apply(self, change: Change) -> None:
        name, there = change.name, self._root_fds[change.root]
        if change.new is None:
            if change.old is not None:
                rename_no_replace(there, name, self._folder("old", change.root), name)
            return
        new = self._folder("new", change.root)
        if change.old is None:
            rename_no_replace(new, name, there, name)
        elif not exchange_names(new, name, there, name):
            # Between these two steps the entry is missing. If the process is killed here, the next one restores it.
            rename_no_replace(there, name, self._folder("old", change.root), name)
            rename_no_replace(new, name, there, name)

    def _replace_file(self, text: str | None) -> None:
        file, folder_fd = self.locked.file, self.locked.fd
        if text is None:
            with suppress(FileNotFoundError):
                os.unlink(file, dir_fd=folder_fd)
            return
        if os.path.isabs(file):
            folder = os.path.dirname(file)
            own_folder(folder, follow=True)
            if os.stat(folder).st_dev != os.fstat(self.fd).st_dev:
                with replacement_file(file, mode=self.locked.file_mode) as fd:
                    write_all(fd, text.encode())
                return
        os.replace(_FILE, file, src_dir_fd=self.fd, dst_dir_fd=folder_fd)

    # ── after an interruption ────────────────────────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Finish the changes of the journal if the file was replaced, or else undo them.

        Raises:
            OSError: that failed.
        """
        try:
            with open_fd(_JOURNAL, READ_FLAGS, dir_fd=self.fd) as fd:
                journal = parse_journal(_read(fd))
        except FileNotFoundError:
            return
        if journal is None:
            return
        self._roots = [*journal.roots]
        self._root_fds = [self.locked.open_root(root) for root in self._roots]
        for index in range(len(self._roots)):
            for which in ("new", "old"):
                self._folder(which, index, make=False)
        if self._is_done(journal):
            self._finish(journal)
            return
        for change in reversed(journal.changes):
            self._undo(change)
        self._remove_empty(journal.created)
        os.unlink(_JOURNAL, dir_fd=self.fd)

    def _is_done(self, journal: Journal) -> bool:
        if journal.replaces:
            return _digest_of(journal.file, self.locked.fd) == journal.digest
        return all(change.is_done(inode(self._root_fds[change.root], change.name)) for change in journal.changes)

    def _undo(self, change: Change) -> None:
        """Undo a change, whether it was done, half done or not begun."""
        name, there = change.name, self._root_fds[change.root]
        new, old = (self._folder(which, change.root, make=False) for which in ("new", "old"))
        current = inode(there, name)
        if change.new is not None and current == change.new:
            if change.seal != self.locked.seal_of(self._roots[change.root], name):
                return
            if change.old is not None and inode(new, name) == change.old:
                if exchange_names(new, name, there, name):
                    return
                old = self._folder("old", change.root)
                rename_no_replace(new, name, old, name)
            rename_no_replace(there, name, self._folder("new", change.root), name)
            current = None
        if current is None and change.old is not None and inode(old, name) == change.old:
            rename_no_replace(old, name, there, name)

    def _finish(self, journal: Journal) -> None:
        """Remove the folders that a removal left empty, then the journal."""
        if self.locked.removes_emptied:
            parts = [journal.roots[change.root].split("/") for change in journal.changes if change.new is None]
            self._remove_empty({"/".join(path[:count]) for path in parts for count in range(1, len(path) + 1)})
        os.unlink(_JOURNAL, dir_fd=self.fd)

    def _remove_empty(self, paths: Iterable[str]) -> None:
        for path in sorted(paths, key=len, reverse=True):
            *above, name = path.split("/")
            with suppress(OSError):
                fd = open_inside(self.locked.path, above, FOLDER_FLAGS) if above else os.dup(self.locked.fd)
                try:
                    os.rmdir(name, dir_fd=fd)
                finally:
                    os.close(fd)


def _digest_of(file: str, dir_fd: int) -> str | None:
    """Return the SHA-256 of a file; `None` if it is missing, and no digest if it cannot be read: it is replaced."""
    try:
        with open_fd(file, READ_FLAGS, dir_fd=dir_fd) as fd:
            return _sha256(_read(fd))
    except FileNotFoundError:
        return None
    except OSError:
        return ""


def _sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _read(fd: int) -> bytes:
    """Return the content of an open file.

    Raises:
        OSError: it is not a regular file, or larger than any that is written here.
    """
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
        raise OSError(errno.EINVAL, f"it is not a regular file of at most {_MAX_BYTES >> 20} MiB")
    return read_up_to(fd, _MAX_BYTES)
