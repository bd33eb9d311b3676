"""Measure a skill: list its files and sizes, and report everything that cannot be mounted.

Measuring reads names, types and sizes, but no file. What an attacker may have put into a skill (links, devices, set-uid
files) is never opened.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from contextlib import contextmanager

from prowess._internal.file_names import is_bare_repository
from prowess._internal.file_status import describe_file_type, stat_fingerprint
from prowess._internal.files import MAX_SKILL_FILE_BYTES, MAX_SKILL_TOTAL_BYTES
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.fs import FOLDER_FLAGS
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import SkillError, SkillMountError, SkillValidationError
from prowess.skill import MAX_DEPTH

from ._repositories import REPOSITORY_HINT, is_repository_name, repository_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "MAX_MOUNTED_FILES",
    "MeasuredFolder",
    "MeasuredTree",
    "changed_error",
    "hint_for",
    "measure_file",
    "measure_folder",
    "open_unchanged",
]

MAX_MOUNTED_FILES = 2_000
"""The most files that a skill may have, and the most folders."""
_MAX_PROBLEMS = 20
"""The most problems that are reported for a skill."""
_SMALLER_HINT = "remove files that the skill does not need"


class MeasuredFolder(Frozen):
    """A folder and what it contains."""

    status: os.stat_result
    files: tuple[tuple[str, os.stat_result], ...] = ()
    folders: tuple[tuple[str, MeasuredFolder], ...] = ()


class MeasuredTree(Frozen):
    """A skill and everything it contains."""

    source_folder: str
    """The folder to copy, absolute; for a single file the folder that contains it."""
    top: MeasuredFolder
    names: Mapping[str, str] = EMPTY
    """Files that get another name: path to the name of the copy."""
    files: int = 0
    size: int = 0
    """Bytes of all files."""
    problems: tuple[SkillError, ...] = ()
    """Every reason not to copy it. If there is one, the other fields need not be complete."""


def measure_folder(folder: str) -> MeasuredTree:
    """Measure a skill folder.

    Raises:
        SkillMountError: it cannot be opened, or is a link.
    """
    measurer = _Measurer()
    try:
        fd = os.open(folder, FOLDER_FLAGS)
    except OSError as error:
        message = f"{quoted(folder, PATH_LIMIT)} cannot be opened: {describe_os_error(error)}"
        raise SkillMountError(message, hint="choose a skill folder that you can read") from None
    top = MeasuredFolder(status=os.fstat(fd))
    try:
        top = measurer.measure(fd, "", 0)
        if measurer.size > MAX_SKILL_TOTAL_BYTES:
            measurer.refuse(f"the skill has {measurer.size:,} bytes; the limit is 10 MiB", _SMALLER_HINT)
    except _StopMeasuringError:
        pass
    except OSError as error:
        message = f"{quoted(folder, PATH_LIMIT)} cannot be listed: {describe_os_error(error)}"
        raise SkillMountError(message, hint="fix its permissions") from None
    finally:
        os.close(fd)
    return MeasuredTree(
        source_folder=folder,
        top=top,
        files=measurer.files,
        size=measurer.size,
        problems=tuple(measurer.problems),
    )


def measure_file(path: str, name: str) -> MeasuredTree:
    """Measure a single file, which is copied as `name` into a folder of its own.

    Raises:
        SkillMountError: there is no such file.
    """
    measurer, (source_folder, file) = _Measurer(), os.path.split(path)
    try:
        status = os.lstat(path)
        folder = MeasuredFolder(status=os.stat(source_folder), files=((file, status),))
    except OSError as error:
        message = f"{quoted(path, PATH_LIMIT)} cannot be read: {describe_os_error(error)}"
        raise SkillMountError(message, hint="choose a file that you can read") from None
    if measurer.is_copyable(file, status):
        measurer.count_file(file, status)
    return MeasuredTree(
        source_folder=source_folder,
        top=folder,
        names={file: name},
        files=1,
        size=status.st_size,
        problems=tuple(measurer.problems),
    )


class _StopMeasuringError(Exception):
    """There are so many problems, files or folders that measuring stops."""


class _Measurer:
    """Counts what a skill contains, and collects the problems."""

    def __init__(self) -> None:
        self.problems: list[SkillError] = []
        self.files = self.folders = self.size = 0

    def refuse(self, message: str, hint: str, error_type: type[SkillError] = SkillMountError) -> None:
        self.problems.append(error_type(message, hint=hint))
        if len(self.problems) >= _MAX_PROBLEMS:
            raise _StopMeasuringError

    def measure(self, fd: int, path: str, depth: int) -> MeasuredFolder:
        """Measure an open folder and everything in it.

        Raises:
            OSError: it cannot be listed.
        """
        self.folders += 1
        if self.folders > MAX_MOUNTED_FILES:
            self.refuse(f"the skill has more than {MAX_MOUNTED_FILES:,} folders", _SMALLER_HINT)
            raise _StopMeasuringError
        files: list[tuple[str, os.stat_result]] = []
        folders: list[tuple[str, MeasuredFolder]] = []
        names: dict[str, str] = {}
        with os.scandir(fd) as entries:
            for entry in entries:
                inner_path = f"{path}/{entry.name}" if path else entry.name
                self._check_unique(entry.name, inner_path, names)
                if is_repository_name(entry.name):
                    self.refuse(repository_problem(inner_path), REPOSITORY_HINT)
                    continue
                status = entry.stat(follow_symlinks=False)
                if not self.is_copyable(inner_path, status):
                    continue
                if not stat.S_ISDIR(status.st_mode):
                    self.count_file(inner_path, status)
                    files.append((entry.name, status))
                elif depth >= MAX_DEPTH:
                    self.refuse(f"the skill has folders more than {MAX_DEPTH} levels deep", "use fewer levels")
                    raise _StopMeasuringError
                else:
                    try:
                        with open_unchanged(entry.name, fd, status, FOLDER_FLAGS) as inner_fd:
                            folders.append((entry.name, self.measure(inner_fd, inner_path, depth + 1)))
                    except SkillMountError as error:
                        self.refuse(str(error), error.hint or "fix its permissions")
        if is_bare_repository(names.values()):
            self.refuse(repository_problem(path), REPOSITORY_HINT)
        return MeasuredFolder(status=os.fstat(fd), files=tuple(files), folders=tuple(folders))

    def _check_unique(self, name: str, path: str, names: dict[str, str]) -> None:
        """Refuse a name that the file systems of macOS and Windows take for another one in the same folder."""
        other = names.setdefault(_case_folded(name), name)
        if other != name:
            message = f"{quoted(path, PATH_LIMIT)} and {quoted(other)} differ only in case or Unicode form"
            self.refuse(message, "rename one of them")

    def is_copyable(self, path: str, status: os.stat_result) -> bool:
        """Return whether a file is of a type that is copied, and refuse it otherwise."""
        mode, shown = status.st_mode, quoted(path, PATH_LIMIT)
        if stat.S_ISDIR(mode):
            return True
        if not stat.S_ISREG(mode):
            hint = "replace it with the file itself" if stat.S_ISLNK(mode) else "remove it from the skill"
            self.refuse(f"{shown} is {describe_file_type(mode)}", hint)
        elif mode & (stat.S_ISUID | stat.S_ISGID):
            self.refuse(f"{shown} is set-uid or set-gid", f"run `chmod ug-s` on {shown}")
        elif status.st_nlink > 1:
            hint = "copy the skill with `cp -R`: the copy has no hard links"
            self.refuse(f"{shown} is a hard link: it has {status.st_nlink:,} names", hint)
        else:
            return True
        return False

    def count_file(self, path: str, status: os.stat_result) -> None:
        """Count a regular file, and refuse it if it is too large."""
        self.files += 1
        self.size += status.st_size
        if self.files > MAX_MOUNTED_FILES:
            self.refuse(f"the skill has more than {MAX_MOUNTED_FILES:,} files", _SMALLER_HINT)
            raise _StopMeasuringError
        if status.st_size > MAX_SKILL_FILE_BYTES and path.lower().endswith(".md"):
            size = f"{status.st_size:,} bytes"
            message = f"{quoted(path, PATH_LIMIT)} has {size}; the limit for a Markdown file is 1 MiB"
            self.refuse(message, "split it into several files", SkillValidationError)


def _case_folded(name: str) -> str:
    """Return the form in which a case-insensitive file system compares names."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@contextmanager
def open_unchanged(name: str, dir_fd: int, measured: os.stat_result, flags: int) -> Iterator[int]:
    """Open a file or folder only if it is still what was measured.

    Raises:
        SkillMountError: it has changed or was replaced, or it cannot be opened.
    """
    try:
        fd = os.open(name, flags, dir_fd=dir_fd)
    except OSError as error:
        message = f"{quoted(name, PATH_LIMIT)} cannot be read: {describe_os_error(error)}"
        raise SkillMountError(message, hint=hint_for(error) or "try again") from None
    try:
        if stat_fingerprint(os.fstat(fd)) != stat_fingerprint(measured):
            raise changed_error(name)
        yield fd
    finally:
        os.close(fd)


def changed_error(path: str) -> SkillMountError:
    """Return the error for a file, a folder, or (with an empty path) a skill that changed after it was measured."""
    return SkillMountError(
        f"{quoted(path, PATH_LIMIT) if path else 'the skill'} changed while it was copied", hint="try again"
    )


def hint_for(error: OSError) -> str | None:
    """Return what to do about an error of the file system, if that is known."""
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "make room on the disk"
    return "fix its permissions" if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else None
