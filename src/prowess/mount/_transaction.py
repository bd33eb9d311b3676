"""copies beside a skills folder -> all of them in it, or none

What is to come is made in a staging folder beside the skills folder, where no client looks, and put in its place by
renaming: a skill that takes another's place changes places with it in one step. While that goes on the folder above
both is locked, and a journal in the staging folder says what is going on, so that whoever comes after a process that
was killed finishes what it had finished, or takes back what it had begun.

    HOME/.claude/                     the folder above: locked
        skills/NAME                   what the client sees
        .prowess-skills.json          the record: what was mounted here, with the seal of each copy
        .prowess-staging-RANDOM/      new/NAME  old/NAME  journal.json

    journal = {"version": 1, "changes": [{"name", "new": INODE | null, "old": INODE | null} ...], "record": record}

Renaming is done before a power failure or after it, but what was copied may then not have reached the disk.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress

from prowess._internal.fs import FOLDER_FLAGS, open_or_make_folder, remove_tree_at, replacement_file, write_all
from prowess._internal.signals import deferred_signals
from prowess._internal.text import describe_os_error, neutral, quoted
from prowess.errors import SkillMountError, SkillNotFoundError

from ._record import (
    MountRecord,
    is_file_name,
    parse_json,
    parse_record,
    read_record_at,
    read_small_file,
    record_file_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Self

    from ._record import RecordedMount

__all__ = ["LockedSkillsFolder", "Staging", "lock_skills_folder", "check_skills_path"]

LOCK_TIMEOUT = 60.0
"""Seconds to wait for another process that mounts into the same folder."""
_MAKE_TIMEOUT = 5.0
"""Seconds to try to make a folder on the way that another process takes away again and again."""
_STAGING_PREFIX = ".prowess-staging-"
_JOURNAL = "journal.json"
SUPPORTED = {os.open, os.mkdir, os.rename, os.rmdir, os.stat, os.unlink} <= os.supports_dir_fd and (
    os.scandir in os.supports_fd
)
"""Whether this system can do all that by descriptor; Windows cannot."""


def check_skills_path(home: str, root: str) -> None:
    """See that a skills folder, and what is on the way to it, can be used or made.

    Args:
        home: absolute; it may be a link.
        root: the skills folder, relative to it.

    Raises:
        SkillMountError: something is a link, or no folder.
    """
    path = home
    for part in ("", *filter(None, root.split("/"))):
        path = f"{path}/{part}" if part else home
        if not os.path.lexists(path):
            return
        if not os.path.isdir(path) or (part and os.path.islink(path)):
            raise _unusable_error(path, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))


# ── the lock ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def lock_skills_folder(home: str, root: str, *, make: bool = True) -> Iterator[LockedSkillsFolder]:
    """Keep other processes out of a skills folder, and clear up what one that was killed left there.

    What was made of the way to it is taken away again where nothing is mounted in the end.

    Args:
        home: absolute.
        root: the skills folder, relative to it.
        make: whether folders that are missing are made.

    Raises:
        SkillMountError: a folder on the way cannot be made, is a link, or another process does not let go of it.
        SkillNotFoundError: there is none, and it is not to be made.
    """
    if not SUPPORTED:
        raise SkillMountError(
            "this system cannot mount: it has no file descriptors of folders", hint="use Linux or macOS"
        )
    with deferred_signals() as deliver_signals:
        made: dict[str, None] = {}
        try:
            place = _open_and_lock(home, root, make, made, deliver_signals)
        except BaseException:
            _remove_empty_folders(home, made)
            raise
        try:
            place.recover()
            yield place
        finally:
            place.release()


def _open_and_lock(
    home: str, root: str, make: bool, made: dict[str, None], deliver_signals: Callable[[], None]
) -> LockedSkillsFolder:
    """Make and lock the folder above the skills folder."""
    from time import monotonic, sleep

    until = monotonic() + LOCK_TIMEOUT
    while True:
        try:
            parent_fd = _open_parent(home, os.path.dirname(root), make, made)
        except FileNotFoundError as error:
            path = os.path.join(home, root)
            if not make:
                raise SkillNotFoundError(f"nothing is mounted in {neutral(path)}") from None
            if monotonic() < until - LOCK_TIMEOUT + _MAKE_TIMEOUT:
                deliver_signals()
                sleep(0.002)
                continue  # another process took away again what it had made
            words = f"{quoted(path, 200)} cannot be made: {describe_os_error(error)}"
            raise SkillMountError(words, hint="name a home in a folder that you can write to") from None
        try:
            while not _lock(parent_fd):
                deliver_signals()
                _check_deadline(until, home, root)
                sleep(0.002)
        except BaseException:
            os.close(parent_fd)
            raise
        path = os.path.join(home, os.path.dirname(root))
        with suppress(OSError):
            if os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(parent_fd)):
                return LockedSkillsFolder(home, root, parent_fd, tuple(made), deliver_signals)
        os.close(parent_fd)


def _check_deadline(until: float, home: str, root: str) -> None:
    from time import monotonic

    if monotonic() > until:
        words = f"another process is mounting into {neutral(os.path.join(home, os.path.dirname(root)))}"
        raise SkillMountError(words, hint="wait for it, or end it")


def _open_parent(home: str, inner: str, make: bool, made: dict[str, None]) -> int:
    """Open a folder below the home, part by part, and make what is missing.

    Raises:
        FileNotFoundError: it is not there, or not there any more.
        SkillMountError: it cannot be opened or made.
    """
    if make and not os.path.isdir(home):
        missing: list[str] = []
        path = home
        while not os.path.lexists(path):
            missing.append(path)
            path = os.path.dirname(path)
        made.update(dict.fromkeys(missing))
        try:
            for path in reversed(missing):
                with suppress(FileExistsError):
                    os.mkdir(path, 0o755)
            if os.path.lexists(home) and not os.path.isdir(home):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        except OSError as error:
            words = f"{quoted(home, 200)} cannot be made: {describe_os_error(error)}"
            raise SkillMountError(words, hint="name a home in a folder that you can write to") from None
    fd, path = -1, home
    try:
        fd = os.open(home, FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
        for part in filter(None, inner.split("/")):
            path = f"{path}/{part}"
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=fd)
                    made[os.path.relpath(path, home)] = None
            below = os.open(part, FOLDER_FLAGS, dir_fd=fd)
            os.close(fd)
            fd = below
    except OSError as error:
        if fd >= 0:
            os.close(fd)
        if isinstance(error, FileNotFoundError):
            raise
        raise _unusable_error(path, error) from None
    return fd


def _remove_empty_folders(home: str, made: Iterable[str]) -> None:
    """Remove folders, those in which nothing is."""
    for path in sorted((os.path.join(home, path) for path in made), key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(path)


def _unusable_error(path: str, error: OSError) -> SkillMountError:
    if os.path.islink(path):
        hint = f"put a folder there, or mount where it leads: {neutral(os.path.realpath(path))}"
        return SkillMountError(f"{quoted(path, 200)} is a link, behind which nothing is mounted", hint=hint)
    hint = "make room on the disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "make it a folder of yours"
    return SkillMountError(f"{quoted(path, 200)} cannot be used: {describe_os_error(error)}", hint=hint)


def _lock(fd: int) -> bool:
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: there one process at a time is up to its user
    return True


def _unlock(fd: int) -> None:
    """Let go at once, even if a process that was forked meanwhile still holds the descriptor."""
    import fcntl

    with suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)


# ── the work ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class LockedSkillsFolder:
    """A skills folder, while no other process mounts into it."""

    def __init__(
        self, home: str, root: str, parent_fd: int, made: tuple[str, ...], deliver_signals: Callable[[], None]
    ) -> None:
        self.home, self.root, self.parent_fd = home, root, parent_fd
        self.made = made
        """Folders that were made on the way: relative to the home; the home itself and what is above it absolute."""
        self.deliver_signals = deliver_signals
        """Answers signals: to be called where what was begun can be taken back."""
        self.display_path = os.path.join(home, os.path.dirname(root))
        self.name = os.path.basename(root)

    @property
    def record(self) -> MountRecord:
        """What was mounted here.

        Raises:
            SkillMountError: the record cannot be believed.
        """
        return read_record_at(self.parent_fd, record_file_name(self.root), self.display_path)

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """Make a staging folder, and take it away in the end, whatever becomes of it.

        Raises:
            SkillMountError: it cannot be made.
        """
        name = f"{_STAGING_PREFIX}{os.urandom(8).hex()}"
        try:
            os.mkdir(name, 0o700, dir_fd=self.parent_fd)
        except OSError as error:
            raise _unusable_error(self.display_path, error) from None
        failed = done = False
        try:
            with Staging(self, name) as staging:
                staging.open()
                yield staging
                done = True
        except SkillMountError:
            failed = True
            raise
        except OSError as error:
            failed = True
            raise _unusable_error(self.display_path, error) from None
        except Exception:
            failed = True
            raise
        finally:
            # What is done stays done: a rest that cannot be swept is left to whoever comes next.
            with suppress(*[SkillMountError] if done else []):
                self._settle_staging(name, roll_back=failed)

    def recover(self) -> None:
        """Clear up after processes that were killed."""
        try:
            with os.scandir(self.parent_fd) as entries:
                names = [entry.name for entry in entries if entry.name.startswith(_STAGING_PREFIX)]
            status = [os.stat(name, dir_fd=self.parent_fd, follow_symlinks=False) for name in names]
        except OSError as error:
            raise _unusable_error(self.display_path, error) from None
        for name, seen in zip(names, status, strict=True):
            if stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.geteuid():
                self._settle_staging(name)

    def _settle_staging(self, name: str, *, roll_back: bool = False) -> None:
        """Finish or take back what a staging folder's journal says, and remove the folder.

        Raises:
            SkillMountError: neither can be done; the folder stays for whoever comes next.
        """
        try:
            with Staging(self, name) as staging:
                staging.settle(roll_back=roll_back)
        except OSError as error:
            path = neutral(os.path.join(self.display_path, name))
            words = f"what an interrupted mount left in {path} cannot be settled: {describe_os_error(error)}"
            raise SkillMountError(words, hint="mend that and mount again") from None
        remove_tree_at(name, self.parent_fd)

    def release(self) -> None:
        """Let go; where nothing is mounted, take away the folders that were made for it."""
        try:
            record = self.record
            if not record.skills:
                with suppress(OSError):
                    os.unlink(record_file_name(self.root), dir_fd=self.parent_fd)
                # A record is a file that anyone may have written: of what it says, only the way here counts.
                way = (path for path in record.made if f"{self.root}/".startswith(f"{path}/"))
                _remove_empty_folders(self.home, {*self.made, *way})
        except SkillMountError:
            pass
        finally:
            _unlock(self.parent_fd)
            os.close(self.parent_fd)


class Staging:
    """The staging folder of one change."""

    def __init__(self, place: LockedSkillsFolder, name: str) -> None:
        self.place, self.name = place, name
        self.fd = self.new = self.old = self.skills = -1

    def __enter__(self) -> Self:
        self.fd = os.open(self.name, FOLDER_FLAGS, dir_fd=self.place.parent_fd)
        return self

    def open(self) -> None:
        """Open the folders in it, and make those that are missing."""
        self.new, _ = open_or_make_folder("new", self.fd, 0o700)
        self.old, _ = open_or_make_folder("old", self.fd, 0o700)

    def __exit__(self, *_: object) -> None:
        for fd in (self.fd, self.new, self.old, self.skills):
            if fd >= 0:
                os.close(fd)
        self.fd = self.new = self.old = self.skills = -1

    def commit(self, rows: tuple[RecordedMount, ...], removed: tuple[str, ...] = ()) -> None:
        """Put what lies in `new` in its place, and take away what is `gone`.

        Args:
            rows: what is mounted, one for each folder in `new`.
            removed: names that are unmounted.

        Raises:
            SkillMountError: it could not be done, and the skills folder is as it was.
        """
        place = self.place
        place.deliver_signals()
        record = place.record
        changed = {*removed, *(row.name for row in rows)}
        own = (path for path in place.made if not os.path.isabs(path) and path not in record.made)
        made = (*record.made, *own)
        if self._open_skills() and place.root not in made:
            made = (*made, place.root)
            place.made = (*place.made, place.root)
        kept = tuple(row for row in record.skills if row.name not in changed)
        after = MountRecord(skills=tuple(sorted((*kept, *rows), key=lambda row: row.name)), made=made)
        changes = [
            *(
                {"name": row.name, "new": _inode(self.new, row.name), "old": _inode(self.skills, row.name)}
                for row in rows
            ),
            *({"name": name, "new": None, "old": _inode(self.skills, name)} for name in removed),
        ]
        try:
            self._replace_file(
                _JOURNAL, {"version": 1, "changes": changes, "record": after.as_dict()}, self.fd, _JOURNAL
            )
            for change in changes:
                self._apply_change(change)
            self._replace_file(record_file_name(place.root), after.as_dict(), place.parent_fd, "record.json")
        except OSError as error:
            where = neutral(os.path.join(place.home, place.root))
            raise SkillMountError(
                f"nothing was changed in {where}: {describe_os_error(error)}", hint="mend that"
            ) from None
        with suppress(OSError):  # all is done: what follows finds that, too
            os.unlink(_JOURNAL, dir_fd=self.fd)

    def _open_skills(self) -> bool:
        """Open the skills folder, and say whether it was made."""
        place = self.place
        path = os.path.join(place.home, place.root)
        try:
            self.skills, made = open_or_make_folder(place.name, place.parent_fd, 0o755)
        except OSError as error:
            raise _unusable_error(path, error) from None
        if os.fstat(self.skills).st_dev != os.fstat(self.fd).st_dev:
            words = f"{quoted(path, 200)} is on another file system than the folder it is in"
            raise SkillMountError(words, hint="mount elsewhere: it could not be changed in one step")
        return made

    def _apply_change(self, change: Mapping[str, Any]) -> None:
        """Do one change."""
        from prowess._internal.fs import exchange_names, rename_no_replace

        name = change["name"]
        if change["new"] is None:
            if change["old"] is not None:
                rename_no_replace(self.skills, name, self.old, name)
        elif change["old"] is None:
            rename_no_replace(self.new, name, self.skills, name)
        elif not exchange_names(self.new, name, self.skills, name):
            # Between the two there is neither: a system that can do no better. Who comes next puts the old one back.
            rename_no_replace(self.skills, name, self.old, name)
            rename_no_replace(self.new, name, self.skills, name)

    def _undo_change(self, change: Mapping[str, Any], seals: Mapping[str, str]) -> None:
        """Take back one change, however much of it was done.

        Args:
            change: as the journal says it.
            seals: name to the seal of the copy. A journal may be another's, who can guess a number but not that: what
                does not have it is somebody's work, and stays.
        """
        from prowess._internal.fs import exchange_names, rename_no_replace
        from prowess.skill import integrity_digest

        name, new, old = change["name"], change["new"], change["old"]
        now = _inode(self.skills, name)
        if new is not None and now == new:
            if integrity_digest(os.path.join(self.place.home, self.place.root, name)) != seals.get(name):
                return
            if old is not None and _inode(self.new, name) == old:
                if exchange_names(self.new, name, self.skills, name):
                    return
                rename_no_replace(self.new, name, self.old, name)
            rename_no_replace(self.skills, name, self.new, name)
            now = None
        if now is None and old is not None and _inode(self.old, name) == old:
            rename_no_replace(self.old, name, self.skills, name)

    def settle(self, *, roll_back: bool) -> None:
        """Finish what the journal says where all of it was done, else take it back.

        Args:
            roll_back: whether it is taken back in any case.

        Raises:
            OSError: it cannot be done.
        """
        place = self.place
        data = read_small_file(self.fd, _JOURNAL, self.name)
        if data is None:
            return
        try:
            table = parse_json(data)
            changes = table["changes"]
            record = parse_record(table["record"])
            if not all(_is_change(change) for change in changes):
                return
        except (ValueError, RecursionError, KeyError, TypeError):
            return  # it was never written to its end, so nothing was begun
        self.open()
        if self.skills < 0:
            self.skills = os.open(place.name, FOLDER_FLAGS, dir_fd=place.parent_fd)
        if not roll_back and all(self._is_done(change) for change in changes):
            try:
                self._replace_file(record_file_name(place.root), record.as_dict(), place.parent_fd, "record.json")
            except OSError:
                roll_back = True  # there is no room for a record: what has none would count as made by hand
        else:
            roll_back = True
        if roll_back:
            seals = {row.name: row.seal for row in record.skills}
            for change in reversed(changes):
                self._undo_change(change, seals)
        os.unlink(_JOURNAL, dir_fd=self.fd)

    def _is_done(self, change: Mapping[str, Any]) -> bool:
        now = _inode(self.skills, change["name"])
        return now == change["new"] if change["new"] is not None else now is None or now != change["old"]

    def _replace_file(self, name: str, table: object, into: int, staged: str) -> None:
        """Put a file in its place in one step."""
        import json

        with replacement_file(name, staged=f"{staged}.new", dir_fd=into, staged_dir_fd=self.fd) as fd:
            write_all(fd, json.dumps(table, indent=2).encode() + b"\n")


def _is_change(change: Any) -> bool:
    return (
        isinstance(change, dict)
        and change.keys() == {"name", "new", "old"}
        and is_file_name(change["name"])
        and all(change[key] is None or type(change[key]) is int for key in ("new", "old"))
    )


def _inode(folder: int, name: str) -> int | None:
    """Return what tells a thing in a folder from any other, None where there is nothing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return None
