"""Change a skills folder in one transaction: all skills of a mount are there, or none.

New copies are made in a staging folder beside the skills folder, where no client looks, and then renamed into place. A
skill that replaces another one is exchanged with it in one step. Meanwhile the parent folder of both is locked, and a
journal in the staging folder lists the changes. If the process is killed, the next one finishes the changes if all of
them are done, or else undoes them.

    HOME/.claude/                     the parent folder: locked
        skills/NAME                   what the client sees
        .prowess-skills.json          the mount record, with the integrity digest of each copy
        .prowess-staging-RANDOM/      new/NAME  old/NAME  journal.json

After a power failure each rename is done or not done; but the content of a copy may not have reached the disk.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress

from prowess._internal.fs import (
    FOLDER_FLAGS,
    exchange_names,
    open_or_make_folder,
    remove_tree_at,
    rename_no_replace,
    replacement_file,
    write_all,
)
from prowess._internal.signals import deferred_signals
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.errors import SkillMountError

from ._journal import JOURNAL_FILE, Change, Journal, inode, parse_journal
from ._lock import check_skills_path, open_and_lock, remove_empty_folders, unlock_and_close, unusable_error
from ._record import MountRecord, read_record_at, read_small_file, record_file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self

    from ._record import RecordedMount

__all__ = ["LockedSkillsFolder", "Staging", "check_skills_path", "lock_skills_folder"]

_STAGING_PREFIX = ".prowess-staging-"
SUPPORTED = {os.open, os.mkdir, os.rename, os.rmdir, os.stat, os.unlink} <= os.supports_dir_fd and (
    os.scandir in os.supports_fd
)
"""Whether this system has directory descriptors. Windows does not."""


@contextmanager
def lock_skills_folder(home: str, root: str, *, make: bool = True) -> Iterator[LockedSkillsFolder]:
    """Lock a skills folder, and recover what a killed process left there.

    Folders that were created on the way are removed again if nothing is mounted at the end.

    Args:
        home: an absolute path.
        root: the skills folder, relative to the home.
        make: whether to create missing folders.

    Raises:
        SkillMountError: a folder on the way cannot be created or is a link, or another process keeps the lock.
        SkillNotFoundError: a folder is missing and is not to be created.
    """
    if not SUPPORTED:
        message = "mounting is not supported on this system: it has no directory descriptors"
        raise SkillMountError(message, hint="use Linux or macOS")
    with deferred_signals() as deliver_signals:
        created: dict[str, None] = {}
        try:
            parent_fd = open_and_lock(home, root, make=make, created=created, deliver_signals=deliver_signals)
        except BaseException:
            remove_empty_folders(home, created)
            raise
        locked = LockedSkillsFolder(home, root, parent_fd, tuple(created), deliver_signals)
        try:
            locked.recover()
            yield locked
        finally:
            locked.release()


class LockedSkillsFolder:
    """A skills folder while no other process mounts into it."""

    def __init__(
        self, home: str, root: str, parent_fd: int, created: tuple[str, ...], deliver_signals: Callable[[], None]
    ) -> None:
        self.home, self.root, self.parent_fd = home, root, parent_fd
        self.created = created
        """Folders created on the way: relative to the home; the home itself and its parents absolute."""
        self.deliver_signals = deliver_signals
        """Handles the signals that arrived; to be called where the changes so far can be undone."""
        self.display_path = os.path.join(home, os.path.dirname(root))
        self.name = os.path.basename(root)

    @property
    def record(self) -> MountRecord:
        """The mount record.

        Raises:
            SkillMountError: it is invalid.
        """
        return read_record_at(self.parent_fd, record_file_name(self.root), self.display_path)

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """Create a staging folder, and remove it at the end of the block.

        Raises:
            SkillMountError: it cannot be created.
        """
        name = f"{_STAGING_PREFIX}{os.urandom(8).hex()}"
        try:
            os.mkdir(name, 0o700, dir_fd=self.parent_fd)
        except OSError as error:
            raise unusable_error(self.display_path, error) from None
        failed = done = False
        try:
            with Staging(self, name) as staging:
                staging.open_subfolders()
                yield staging
                done = True
        except SkillMountError:
            failed = True
            raise
        except OSError as error:
            failed = True
            raise unusable_error(self.display_path, error) from None
        except Exception:
            failed = True
            raise
        finally:
            # A finished change is not undone: what cannot be removed now is left to the next process.
            with suppress(*[SkillMountError] if done else []):
                self._settle_staging(name, roll_back=failed)

    def recover(self) -> None:
        """Finish or undo what killed processes left.

        Raises:
            SkillMountError: that is not possible.
        """
        try:
            with os.scandir(self.parent_fd) as entries:
                names = [entry.name for entry in entries if entry.name.startswith(_STAGING_PREFIX)]
            statuses = [os.stat(name, dir_fd=self.parent_fd, follow_symlinks=False) for name in names]
        except OSError as error:
            raise unusable_error(self.display_path, error) from None
        for name, status in zip(names, statuses, strict=True):
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                self._settle_staging(name)

    def _settle_staging(self, name: str, *, roll_back: bool = False) -> None:
        """Finish or undo the changes of a staging folder, and remove it.

        Raises:
            SkillMountError: neither is possible; the folder is left to the next process.
        """
        try:
            with Staging(self, name) as staging:
                staging.settle(roll_back=roll_back)
        except OSError as error:
            path = neutral(os.path.join(self.display_path, name))
            message = f"cannot recover from an interrupted mount in {path}: {describe_os_error(error)}"
            raise SkillMountError(message, hint="fix that, then mount again") from None
        remove_tree_at(name, self.parent_fd)

    def release(self) -> None:
        """Release the lock; if nothing is mounted, remove the folders that were created for it."""
        try:
            record = self.record
            if not record.skills:
                with suppress(OSError):
                    os.unlink(record_file_name(self.root), dir_fd=self.parent_fd)
                # Anyone may have written the record: of its folders, only those on the way here count.
                on_the_way = (path for path in record.created if f"{self.root}/".startswith(f"{path}/"))
                remove_empty_folders(self.home, {*self.created, *on_the_way})
        except SkillMountError:
            pass
        finally:
            unlock_and_close(self.parent_fd)


class Staging:
    """The staging folder of one transaction."""

    def __init__(self, locked: LockedSkillsFolder, name: str) -> None:
        self.locked, self.name = locked, name
        self.fd = self.new_fd = self.old_fd = self.skills_fd = -1

    def __enter__(self) -> Self:
        self.fd = os.open(self.name, FOLDER_FLAGS, dir_fd=self.locked.parent_fd)
        return self

    def __exit__(self, *_: object) -> None:
        for fd in (self.fd, self.new_fd, self.old_fd, self.skills_fd):
            if fd >= 0:
                os.close(fd)
        self.fd = self.new_fd = self.old_fd = self.skills_fd = -1

    def open_subfolders(self) -> None:
        """Open `new` and `old`, and create them if they are missing."""
        self.new_fd, _ = open_or_make_folder("new", self.fd, 0o700)
        self.old_fd, _ = open_or_make_folder("old", self.fd, 0o700)

    def commit(self, mounted: tuple[RecordedMount, ...], removed: tuple[str, ...] = ()) -> None:
        """Move the copies from `new` into the skills folder, and remove skills from it.

        Args:
            mounted: one skill for each folder in `new`.
            removed: the names of skills to remove.

        Raises:
            SkillMountError: that failed; the skills folder is unchanged.
        """
        self.locked.deliver_signals()
        record = self._record_after(mounted, removed)
        changes = (
            *(
                Change(name=skill.name, new=inode(self.new_fd, skill.name), old=inode(self.skills_fd, skill.name))
                for skill in mounted
            ),
            *(Change(name=name, new=None, old=inode(self.skills_fd, name)) for name in removed),
        )
        try:
            journal = Journal(changes=changes, record=record)
            self._replace_file(JOURNAL_FILE, journal.as_dict(), self.fd, JOURNAL_FILE)
            for change in changes:
                self._apply_change(change)
            self._write_record(record)
        except OSError as error:
            path = neutral(os.path.join(self.locked.home, self.locked.root))
            message = f"nothing was changed in {path}: {describe_os_error(error)}"
            raise SkillMountError(message, hint="fix that, then try again") from None
        with suppress(OSError):  # all changes are done; if the journal stays, recovery finds that out
            os.unlink(JOURNAL_FILE, dir_fd=self.fd)

    def _record_after(self, mounted: tuple[RecordedMount, ...], removed: tuple[str, ...]) -> MountRecord:
        """Open the skills folder, and return the mount record after the changes."""
        locked = self.locked
        record = locked.record
        created_now = (path for path in locked.created if not os.path.isabs(path) and path not in record.created)
        created = (*record.created, *created_now)
        if self._open_skills_folder() and locked.root not in created:
            created = (*created, locked.root)
            locked.created = (*locked.created, locked.root)
        changed = {*removed, *(skill.name for skill in mounted)}
        unchanged = (skill for skill in record.skills if skill.name not in changed)
        return MountRecord(skills=tuple(sorted((*unchanged, *mounted), key=lambda skill: skill.name)), created=created)

    def _open_skills_folder(self) -> bool:
        """Open the skills folder, and create it if it is missing; return whether it was created."""
        locked = self.locked
        path = os.path.join(locked.home, locked.root)
        try:
            self.skills_fd, is_new = open_or_make_folder(locked.name, locked.parent_fd, 0o755)
        except OSError as error:
            raise unusable_error(path, error) from None
        if os.fstat(self.skills_fd).st_dev != os.fstat(self.fd).st_dev:
            hint = "choose another home: folders on different file systems cannot be exchanged in one step"
            message = f"{quoted(path, PATH_LIMIT)} is on another file system than the folder that contains it"
            raise SkillMountError(message, hint=hint)
        return is_new

    def _apply_change(self, change: Change) -> None:
        name = change.name
        if change.new is None:
            if change.old is not None:
                rename_no_replace(self.skills_fd, name, self.old_fd, name)
        elif change.old is None:
            rename_no_replace(self.new_fd, name, self.skills_fd, name)
        elif not exchange_names(self.new_fd, name, self.skills_fd, name):
            # Between these two steps the skill is missing. If the process is killed here, the next one restores it.
            rename_no_replace(self.skills_fd, name, self.old_fd, name)
            rename_no_replace(self.new_fd, name, self.skills_fd, name)

    def _undo_change(self, change: Change, integrity: Mapping[str, str]) -> None:
        """Undo a change, whether it was done, half done or not begun.

        Args:
            change: a change from a journal.
            integrity: the integrity digest of each copy, by name. An attacker can write a journal and guess an inode,
                but not this: a folder with another digest is left alone.
        """
        from prowess.skill import integrity_digest

        name, old = change.name, change.old
        current = inode(self.skills_fd, name)
        if change.new is not None and current == change.new:
            path = os.path.join(self.locked.home, self.locked.root, name)
            if integrity_digest(path) != integrity.get(name):
                return
            if old is not None and inode(self.new_fd, name) == old:
                if exchange_names(self.new_fd, name, self.skills_fd, name):
                    return
                rename_no_replace(self.new_fd, name, self.old_fd, name)
            rename_no_replace(self.skills_fd, name, self.new_fd, name)
            current = None
        if current is None and old is not None and inode(self.old_fd, name) == old:
            rename_no_replace(self.old_fd, name, self.skills_fd, name)

    def settle(self, *, roll_back: bool) -> None:
        """Finish the changes of the journal if all of them are done, or else undo them.

        Args:
            roll_back: undo them in any case.

        Raises:
            OSError: that failed.
        """
        data = read_small_file(self.fd, JOURNAL_FILE, self.name)
        journal = None if data is None else parse_journal(data)
        if journal is None:
            return
        self.open_subfolders()
        if self.skills_fd < 0:
            self.skills_fd = os.open(self.locked.name, FOLDER_FLAGS, dir_fd=self.locked.parent_fd)
        if roll_back or not self._finish(journal):
            integrity = {skill.name: skill.integrity for skill in journal.record.skills}
            for change in reversed(journal.changes):
                self._undo_change(change, integrity)
        os.unlink(JOURNAL_FILE, dir_fd=self.fd)

    def _finish(self, journal: Journal) -> bool:
        """Write the mount record if all changes are done; return whether it is written."""
        if not all(change.is_done(inode(self.skills_fd, change.name)) for change in journal.changes):
            return False
        try:
            self._write_record(journal.record)
        except OSError:
            return False  # the disk is full: without a record the skills would not count as mounted
        return True

    def _write_record(self, record: MountRecord) -> None:
        self._replace_file(record_file_name(self.locked.root), record.as_dict(), self.locked.parent_fd, "record.json")

    def _replace_file(self, name: str, table: object, dir_fd: int, staged: str) -> None:
        """Write a JSON file in one step, staged in this folder."""
        import json

        with replacement_file(name, staged=f"{staged}.new", dir_fd=dir_fd, staged_dir_fd=self.fd) as fd:
            write_all(fd, json.dumps(table, indent=2).encode() + b"\n")
