"""Measure a skill without opening files, then copy exactly what was measured.

Measure a skill: list its files and sizes, and report everything that cannot be mounted.

Measuring reads names, types and sizes, but no file. What an attacker may have put into a skill (links, devices, set-uid
files) is never opened.

Every file and folder is opened from the descriptor of the folder that contains it, never through a link, and only if it
is still what was measured. No more bytes are read than were measured, plus one.
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
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, READ_FLAGS, open_fd, write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import SkillError, SkillMountError, SkillValidationError
from prowess.skill import MAX_DEPTH, FolderIntegrity, integrity_record, portable_mode

from ._validate import REPOSITORY_HINT, is_repository_name, repository_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


_CHUNK_BYTES = 1 << 20


class CopyResult(Frozen):
    """What a copy contains."""

    files: int
    size: int
    """Bytes."""
    digest: str
    """As `files.skill_digest` computes it."""
    integrity: str
    """As `skill.portable_digest` computes it."""


def copy_tree(tree: MeasuredTree, into_fd: int, name: str, overrides: Mapping[str, bytes] = EMPTY) -> CopyResult:
    """Copy a skill as it was measured.

    Files keep their execute bits; only their owner may write to the copies.

    Args:
        tree: the skill, without problems.
        into_fd: a descriptor of the folder to copy into.
        name: the name of the copy, which must not exist yet.
        overrides: files with another content than in the source: path in the copy to content.

    Raises:
        SkillMountError: something changed since it was measured, or cannot be read or written; a part of the copy may
            exist.
    """
    copier = _Copier(tree.names, overrides)
    # Links on the way to a single file are the user's own, also if they lead to the folder that contains it.
    flags = FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0) if tree.names else FOLDER_FLAGS
    try:
        with open_fd(tree.source_folder, flags) as fd:
            if not tree.names and stat_fingerprint(os.fstat(fd)) != stat_fingerprint(tree.top.status):
                raise changed_error("")
            copier.copy_folder(tree.top, fd, into_fd, name, "")
    except SkillMountError:
        raise
    except OSError as error:
        raise SkillMountError(f"cannot copy the skill: {describe_os_error(error)}", hint=hint_for(error)) from None
    return copier.result()


class _Copier:
    """Copies one folder after the other, and computes the digests of what it copies."""

    def __init__(self, names: Mapping[str, str], overrides: Mapping[str, bytes]) -> None:
        import hashlib

        self.hash = hashlib.sha256
        self.names, self.overrides = names, overrides
        self.integrity_records: list[tuple[bytes, bytes]] = []
        self.file_digests: list[tuple[bytes, str]] = []
        self.size = 0

    def result(self) -> CopyResult:
        digest = self.hash()
        for path, file_digest in sorted(self.file_digests):
            digest.update(path + b"\0" + file_digest.encode() + b"\n")
        return CopyResult(
            files=len(self.file_digests),
            size=self.size,
            digest=f"sha256:{digest.hexdigest()}",
            integrity=FolderIntegrity(digest="", records=tuple(self.integrity_records)).portable,
        )

    def copy_folder(self, measured: MeasuredFolder, fd: int, parent_fd: int, name: str, path: str) -> None:
        """Copy an open folder into a new one."""
        mode = measured.status.st_mode & 0o755 | 0o700
        os.mkdir(name, 0o700, dir_fd=parent_fd)
        with open_fd(name, FOLDER_FLAGS, dir_fd=parent_fd) as into_fd:
            for file, status in measured.files:
                new_name = self.names.get(file, file) if not path else file
                self.copy_file(file, new_name, status, fd, into_fd, f"{path}/{new_name}" if path else new_name)
            for inner, inner_measured in measured.folders:
                with open_unchanged(inner, fd, inner_measured.status, FOLDER_FLAGS) as inner_fd:
                    self.copy_folder(inner_measured, inner_fd, into_fd, inner, f"{path}/{inner}" if path else inner)
            os.fchmod(into_fd, mode)
        self.integrity_records.append((os.fsencode(path), integrity_record("d", portable_mode(mode))))

    def copy_file(self, name: str, new_name: str, measured: os.stat_result, fd: int, into_fd: int, path: str) -> None:
        """Copy a file from one open folder into another."""
        mode = measured.st_mode & 0o755 | 0o400
        content = self.hash()
        with open_unchanged(name, fd, measured, READ_FLAGS) as source_fd:
            with open_fd(new_name, CREATE_FLAGS, dir_fd=into_fd) as copy_fd:
                size = 0
                for data in self._chunks(source_fd, measured.st_size, path):
                    size += len(data)
                    if self.size + size > MAX_SKILL_TOTAL_BYTES:
                        hint = "remove files that the skill does not need"
                        raise SkillMountError("the skill is larger than 10 MiB", hint=hint)
                    content.update(data)
                    write_all(copy_fd, data)
                os.fchmod(copy_fd, mode)
            if stat_fingerprint(os.fstat(source_fd)) != stat_fingerprint(measured):
                raise changed_error(path)
        self.size += size
        encoded_path, digest = os.fsencode(path), content.hexdigest()
        self.file_digests.append((encoded_path, digest))
        self.integrity_records.append((encoded_path, integrity_record("f", portable_mode(mode), size, digest)))

    def _chunks(self, fd: int, size: int, path: str) -> Iterator[bytes]:
        """Yield the content of a file, or its override."""
        if path in self.overrides:
            yield self.overrides[path]
            return
        # Reading one byte more than was measured shows a file that has grown, and ends with a short read otherwise.
        left = size + 1
        while left > 0 and (data := os.read(fd, min(left, _CHUNK_BYTES))):
            is_short = len(data) < min(left, _CHUNK_BYTES)
            left -= len(data)
            yield data
            if left == 1 and is_short:
                return
        if left != 1:
            raise changed_error(path)
