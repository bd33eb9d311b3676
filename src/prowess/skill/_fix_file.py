"""Repair a SKILL.md on disk in one step: `prowess check --fix`.

Everything happens inside the opened folder of the file, so that a folder that is replaced by a link meanwhile leads
nowhere else. The file is replaced only if it is still the one that was read.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from contextlib import contextmanager, suppress

from prowess._internal.files import MAX_SKILL_FILE_BYTES, SKILL_FILE, read_up_to, real_path, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.fs import (
    CREATE_FLAGS,
    FOLDER_FLAGS,
    NO_LINK_FLAGS,
    READ_FLAGS,
    SUPPORTS_DIR_FD,
    exchange_names,
    open_fd,
    open_inside,
    rename_no_replace,
    write_all,
)
from prowess._internal.text import neutral
from prowess.errors import SkillFileError

from ._fix import fix, fix_paths
from ._skill import Skill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def fix_file(path: str, *, top: str | None = None, dry_run: bool = False) -> tuple[str, tuple[str, ...]]:
    """Repair a file on disk in one step, unless it is a link or cannot be read. Mode, owner and attributes stay.

    Args:
        path: the file.
        top: a folder that contains it; no link below it is followed. By default the folder of the file.
        dry_run: only return what would be done.

    Returns:
        Its path, which is new if it was called `skill.md`, and descriptions of what was changed.

    Raises:
        SkillFileError: it needs a repair, but is read-only or a hard link, or changed meanwhile.
        OSError: the file cannot be written; it is unchanged.
    """
    folder, name = os.path.split(os.path.abspath(path))
    with _open_folder(folder, folder if top is None else os.path.abspath(top)) as place:
        original = place.read(name)
        if original is None:
            return path, ()
        fixed = fix(original.data, folder=Skill(path=path).folder)
        if b"\\" in fixed.data:
            files = {name for name, _ in skill_files(folder)}
            with_slashes = fix_paths(fixed.data, files)
            fixed = with_slashes.with_changes(changes=(*fixed.changes, *with_slashes.changes))
        needs_rename = (
            name != SKILL_FILE and name.lower() == SKILL_FILE.lower() and SKILL_FILE not in os.listdir(place.listed)
        )
        if fixed.data == original.data and not needs_rename:
            return path, ()
        renaming = (f"renamed it from `{name}`",) if needs_rename else ()
        if dry_run:
            return path, (*fixed.changes, *renaming)
        _check_writable(original.status, path)
        if fixed.data != original.data:
            place.replace(name, original, fixed.data)
        if not needs_rename:
            return path, fixed.changes
        place.rename(name, SKILL_FILE)
        return os.path.join(os.path.dirname(path), SKILL_FILE), (*fixed.changes, *renaming)


def reason_not_to_fix(path: str) -> str:
    """Return what has to be done before `fix_file` changes a file, as a sentence; empty if nothing has to be."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return f"replace {neutral(path)}, a link, with the file"
        _check_writable(status, path)
    except SkillFileError as error:
        return f"{neutral(path)}: {error}; {(error.hint or '').removesuffix(', then fix it')}"
    except OSError:
        return ""  # gone since it was read: the next check says so
    return ""


def _check_writable(status: os.stat_result, path: str) -> None:
    """Check that a file may be replaced; for an administrator too.

    Args:
        status: of the file.
        path: where it is, for the command in the hint.

    Raises:
        SkillFileError: it may not.
    """
    if status.st_nlink > 1:
        message = f"it is a hard link: it has {status.st_nlink:,} names, and the others would keep the old text"
        raise SkillFileError(message, hint="replace it with a copy, then fix it")
    if not status.st_mode & stat.S_IWUSR:
        command = f"chmod u+w {shlex.quote(neutral(path))}"
        raise SkillFileError("it is read-only", hint=f"make it writable with `{command}`, then fix it")


class _Original(Frozen):
    """A file as it was read."""

    data: bytes
    status: os.stat_result
    attributes: tuple[tuple[str, bytes], ...]

    def is_same(self, other: _Original | None) -> bool:
        """Return whether another file is this one, and has not changed."""
        names = ("st_dev", "st_ino", "st_mode", "st_nlink", "st_uid", "st_gid")
        return (
            other is not None
            and self.data == other.data
            and all(getattr(self.status, name) == getattr(other.status, name) for name in names)
        )


@contextmanager
def _open_folder(folder: str, top: str) -> Iterator[_Place]:
    """Open a folder, without following a link below `top`."""
    inner = os.path.relpath(folder, top)
    parts = [] if inner == os.curdir else inner.split(os.sep)
    real_top = real_path(top)
    if not SUPPORTS_DIR_FD:
        yield _Place(os.path.join(real_top, *parts), None)
        return
    try:
        fd = open_inside(real_top, parts, FOLDER_FLAGS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise SkillFileError("a folder in its path is a link", hint="name the file at its own path") from None
        raise
    try:
        yield _Place("", fd)
    finally:
        os.close(fd)


class _Place:
    """An open folder; on Windows only its path."""

    def __init__(self, path: str, fd: int | None) -> None:
        self.path, self.fd = path, fd
        self.listed: str | int = path if fd is None else fd

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name)

    def read(self, name: str) -> _Original | None:
        """Read a regular file; `None` if it is something else, cannot be read, or is too large."""
        with suppress(OSError), open_fd(self._at(name), READ_FLAGS, dir_fd=self.fd) as fd:
            status = os.fstat(fd)
            if (
                stat.S_ISREG(status.st_mode)
                and len(data := read_up_to(fd, MAX_SKILL_FILE_BYTES)) <= MAX_SKILL_FILE_BYTES
            ):
                return _Original(data=data, status=status, attributes=tuple(_attributes(fd)))
        return None

    def replace(self, name: str, original: _Original, data: bytes) -> None:
        """Replace a file if it is still the original, and keep its mode, owner and attributes.

        Raises:
            SkillFileError: it has changed.
            OSError: it cannot be written; it is unchanged.
        """
        with open_fd(self._at(name), os.O_WRONLY | NO_LINK_FLAGS | getattr(os, "O_NONBLOCK", 0), dir_fd=self.fd):
            pass  # may this user write to it?
        staged = f".{name[:32]}.{os.urandom(8).hex()}.tmp"
        with open_fd(self._at(staged), CREATE_FLAGS, dir_fd=self.fd) as fd:
            try:
                write_all(fd, data)
                _keep_attributes(fd, original)
            except BaseException:
                self._remove(staged)
                raise
        self._exchange(staged, name, original)
        self._remove(staged)

    def _exchange(self, staged: str, name: str, original: _Original) -> None:
        """Give a new file the name of the original; if that is another file by now, restore it."""
        try:
            self._require_same(name, original)
            if self.fd is None or not exchange_names(self.fd, staged, self.fd, name):
                os.replace(self._at(staged), self._at(name), src_dir_fd=self.fd, dst_dir_fd=self.fd)
                return
        except BaseException:
            self._remove(staged)
            raise
        try:
            self._require_same(staged, original)
        except SkillFileError:
            exchange_names(self.fd, staged, self.fd, name)
            self._remove(staged)
            raise

    def _require_same(self, name: str, original: _Original) -> None:
        if not original.is_same(self.read(name)):
            raise SkillFileError("it changed while it was fixed", hint="run the command again")

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(self._at(name), dir_fd=self.fd)

    def rename(self, old: str, new: str) -> None:
        """Rename a file, and replace nothing."""
        if self.fd is None:
            os.rename(self._at(old), self._at(new))
            return
        try:
            rename_no_replace(self.fd, old, self.fd, new)
        except FileExistsError:
            statuses = (os.stat(name, dir_fd=self.fd, follow_symlinks=False) for name in (old, new))
            if not os.path.samestat(*statuses):
                raise
            os.rename(old, new, src_dir_fd=self.fd, dst_dir_fd=self.fd)  # one file, where case does not matter


def _attributes(fd: int) -> Iterator[tuple[str, bytes]]:
    """Yield the extended attributes of a file that its owner may set, such as access control lists."""
    if hasattr(os, "listxattr"):
        with suppress(OSError):  # this file system does not support them
            for name in os.listxattr(fd):
                if name.startswith(("user.", "system.")):
                    yield name, os.getxattr(fd, name)


def _keep_attributes(fd: int, original: _Original) -> None:
    """Give a new file the owner, mode and attributes of the original.

    Raises:
        OSError: it cannot have them.
    """
    status, own = original.status, os.fstat(fd)
    if hasattr(os, "fchown"):  # not on Windows
        if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(fd, status.st_uid, status.st_gid)
        os.fchmod(fd, stat.S_IMODE(status.st_mode))
    for name, value in original.attributes:
        os.setxattr(fd, name, value)
