"""Stage the changes of one transaction, make them, and undo them after a crash: see `_transaction`."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from prowess._internal.fs import (
    CREATE_FLAGS,
    FOLDER_FLAGS,
    READ_FLAGS,
    exchange_names,
    open_fd,
    open_inside,
    open_or_make_folder,
    rename_no_replace,
    replacement_file,
    sync_file_system,
    write_all,
)
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError

from ._journal import JOURNAL_FILE, Change, Journal, inode, parse_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from ._project_lock import LockedFolder

__all__ = ["Staging"]

_LOCK = "lock.json"


class Staging:
    """The staging folder of one transaction."""

    def __init__(self, locked: LockedFolder, name: str) -> None:
        self.locked, self.name = locked, name
        self.fd = -1
        self._roots: list[str] = []
        self._root_fds: list[int] = []
        self._folders: dict[tuple[str, int], int] = {}
        """Descriptors of `new/INDEX` and `old/INDEX`."""
        self._new: list[tuple[int, str]] = []

    def __enter__(self) -> Self:
        self.fd = os.open(self.name, FOLDER_FLAGS, dir_fd=self.locked.fd)
        return self

    def __exit__(self, *_: object) -> None:
        for fd in (*self._folders.values(), *(fd for fd in self._root_fds if fd >= 0), self.fd):
            os.close(fd)
        self._folders, self._root_fds, self.fd = {}, [], -1

    def place(self, root: str, name: str) -> int:
        """Return a descriptor of the folder into which the new copy of a skill is made, under its name.

        Args:
            root: the skills folder, relative to the project.
            name: of the skill.
        """
        index = self._index(root)
        self._new.append((index, name))
        return self._folder("new", index)

    def commit(self, lock_text: str | None, removed: Iterable[tuple[str, str]] = ()) -> None:
        """Move the new copies into their skills folders, remove skills, and replace the lock.

        Args:
            lock_text: the new lock; `None` removes it.
            removed: the skills folder and name of each skill to remove.

        Raises:
            InstallError: that failed; the project is as it was.
        """
        self.locked.deliver_signals()
        gone = [(self._index(root), name) for root, name in removed]
        self._root_fds = [self.locked.open_root(root) for root in self._roots]
        created = self._missing_folders()
        try:
            self._check_file_systems()
            journal = self._journal(lock_text, gone, created)
            self._write_lock_and_journal(lock_text, journal)
            self._open_roots(make=True)
            for change in journal.changes:
                self._apply(change)
            self._replace_lock(lock_text)
        except OSError as error:
            raise self.locked.nothing_changed(error) from None
        with suppress(OSError):  # all changes are done; if the journal stays, recovery finds that out
            self._finish(journal)

    def _index(self, root: str) -> int:
        if root not in self._roots:
            self._roots.append(root)
        return self._roots.index(root)

    def _folder(self, which: str, index: int) -> int:
        """Return a descriptor of `new/INDEX` or `old/INDEX`, which is created if it is missing."""
        if (which, index) not in self._folders:
            top, _ = open_or_make_folder(which, self.fd, 0o700)
            try:
                self._folders[which, index], _ = open_or_make_folder(str(index), top, 0o700)
            finally:
                os.close(top)
        return self._folders[which, index]

    def _missing_folders(self) -> list[str]:
        """Return the folders that must be created, the outermost first."""
        missing: dict[str, None] = {}
        for root, fd in zip(self._roots, self._root_fds, strict=True):
            parts = root.split("/")
            paths = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)] if fd < 0 else []
            missing |= dict.fromkeys(
                path for path in paths if not os.path.lexists(os.path.join(self.locked.project, path))
            )
        return [*missing]

    def _check_file_systems(self) -> None:
        device = os.fstat(self.fd).st_dev
        for root, fd in zip(self._roots, self._root_fds, strict=True):
            if fd >= 0 and os.fstat(fd).st_dev != device:
                message = f"{quoted(root, PATH_LIMIT)} is on another file system than its project"
                raise InstallError(message, hint="folders on different file systems cannot be changed in one step")

    def _journal(self, lock_text: str | None, gone: list[tuple[int, str]], created: list[str]) -> Journal:
        def change(index: int, name: str, *, new: bool) -> Change:
            new_inode = inode(self._folder("new", index), name) if new else None
            return Change(root=index, name=name, new=new_inode, old=inode(self._root_fds[index], name))

        new_lock = None if lock_text is None else _sha256(lock_text.encode())
        return Journal(
            roots=tuple(self._roots),
            created=tuple(created),
            changes=(
                *(change(index, name, new=True) for index, name in self._new),
                *(change(index, name, new=False) for index, name in gone),
            ),
            lock=new_lock,
            lock_file=self.locked.lock_file.removeprefix(self.locked.project.rstrip(os.sep) + os.sep),
            replaces=new_lock != _digest_of(self.locked.lock_file),
        )

    def _write_lock_and_journal(self, lock_text: str | None, journal: Journal) -> None:
        import json

        if lock_text is not None:
            with open_fd(_LOCK, CREATE_FLAGS, 0o666, dir_fd=self.fd) as fd:
                write_all(fd, lock_text.encode())
        with replacement_file(JOURNAL_FILE, staged="journal.new", dir_fd=self.fd, staged_dir_fd=self.fd) as fd:
            write_all(fd, json.dumps(journal.as_dict()).encode())
            sync_file_system(fd)  # the copies too, once for all of them

    def _open_roots(self, *, make: bool) -> None:
        for index, fd in enumerate(self._root_fds):
            if fd < 0:
                self._root_fds[index] = self.locked.open_root(self._roots[index], make=make)

    def _apply(self, change: Change) -> None:
        name, skills, new = change.name, self._root_fds[change.root], self._folder("new", change.root)
        if change.new is None:
            if change.old is not None:
                rename_no_replace(skills, name, self._folder("old", change.root), name)
        elif change.old is None:
            rename_no_replace(new, name, skills, name)
        elif not exchange_names(new, name, skills, name):
            # Between these two steps the skill is missing. If the process is killed here, the next one restores it.
            rename_no_replace(skills, name, self._folder("old", change.root), name)
            rename_no_replace(new, name, skills, name)

    def _replace_lock(self, lock_text: str | None) -> None:
        folder = os.path.dirname(self.locked.lock_file)
        if lock_text is None:
            with suppress(FileNotFoundError):
                os.unlink(self.locked.lock_file)
            return
        os.makedirs(folder, 0o700, exist_ok=True)
        if os.stat(folder).st_dev == os.fstat(self.fd).st_dev:
            os.replace(_LOCK, self.locked.lock_file, src_dir_fd=self.fd)
        else:
            with replacement_file(self.locked.lock_file, mode=0o666) as fd:
                write_all(fd, lock_text.encode())

    # ── after an interruption ────────────────────────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Finish the changes of the journal if the lock was replaced, or else undo them.

        Raises:
            OSError: that failed.
        """
        try:
            with open_fd(JOURNAL_FILE, READ_FLAGS, dir_fd=self.fd) as fd:
                journal = parse_journal(_read(fd))
        except FileNotFoundError:
            return
        if journal is None:
            return
        self._roots = [*journal.roots]
        self._root_fds = [self.locked.open_root(root) for root in self._roots]
        if not self._is_done(journal):
            for change in reversed(journal.changes):
                self._undo(change)
            self._remove_empty(journal.created)
            os.unlink(JOURNAL_FILE, dir_fd=self.fd)
            return
        self._finish(journal)

    def _is_done(self, journal: Journal) -> bool:
        if journal.replaces:
            return _digest_of(os.path.join(self.locked.project, journal.lock_file)) == journal.lock
        return all(change.is_done(inode(self._root_fds[change.root], change.name)) for change in journal.changes)

    def _undo(self, change: Change) -> None:
        """Undo a change, whether it was done, half done or not begun."""
        name, skills = change.name, self._root_fds[change.root]
        new, old = self._folder("new", change.root), self._folder("old", change.root)
        current = inode(skills, name)
        if change.new is not None and current == change.new:
            if change.old is not None and inode(new, name) == change.old and exchange_names(new, name, skills, name):
                return
            if change.old is not None and inode(new, name) == change.old:
                rename_no_replace(new, name, old, name)
            rename_no_replace(skills, name, new, name)
            current = None
        if current is None and change.old is not None and inode(old, name) == change.old:
            rename_no_replace(old, name, skills, name)

    def _finish(self, journal: Journal) -> None:
        """Remove the folders that a removal left empty, then the journal."""
        emptied = {journal.roots[change.root] for change in journal.changes if change.new is None}
        parts = [root.split("/") for root in emptied]
        self._remove_empty("/".join(path[:count]) for path in parts for count in range(1, len(path) + 1))
        os.unlink(JOURNAL_FILE, dir_fd=self.fd)

    def _remove_empty(self, paths: Iterable[str]) -> None:
        for path in sorted(paths, key=len, reverse=True):
            *above, name = path.split("/")
            with suppress(OSError):
                fd = open_inside(self.locked.project, above, FOLDER_FLAGS) if above else os.dup(self.locked.fd)
                try:
                    os.rmdir(name, dir_fd=fd)
                finally:
                    os.close(fd)


def _digest_of(lock_file: str) -> str | None:
    """Return the SHA-256 of a lock; `None` if it is missing."""
    try:
        with open_fd(lock_file, READ_FLAGS) as fd:
            return _sha256(_read(fd)) if stat.S_ISREG(os.fstat(fd).st_mode) else ""
    except FileNotFoundError:
        return None
    except OSError:
        return ""  # a link: it is replaced


def _sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _read(fd: int) -> bytes:
    chunks = []
    while data := os.read(fd, 1 << 20):
        chunks.append(data)
    return b"".join(chunks)
