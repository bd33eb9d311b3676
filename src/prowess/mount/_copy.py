"""a skill's folder -> all that is in it, measured -> a copy

Measuring reads nothing but names and sizes and finds every reason against a copy. Copying opens each thing from the
descriptor of the folder it was measured in, never through a link, counts what it reads, and takes nothing that has
changed since. What a stranger may have put there (links, devices, set-uid files) is never opened.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from contextlib import contextmanager

from prowess._internal.files import (
    MAX_SKILL_FILE_BYTES,
    MAX_SKILL_TOTAL_BYTES,
    describe_file_type,
    stat_fingerprint,
)
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, READ_FLAGS, open_fd, write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import SkillError, SkillMountError, SkillValidationError
from prowess.skill import MAX_DEPTH, digest_of_records, integrity_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "MAX_MOUNTED_FILES",
    "CopyResult",
    "MeasuredFolder",
    "MeasuredTree",
    "copy_tree",
    "measure_folder",
    "measure_file",
]

MAX_MOUNTED_FILES = 2_000
"""Files of one skill, and folders of one skill."""
_MAX_PROBLEMS = 20
"""Problems that are told of one skill."""
_CHUNK = 1 << 20
_CHANGED = "it changed while it was copied"


class MeasuredFolder(Frozen):
    """A folder and what is in it."""

    status: os.stat_result
    files: tuple[tuple[str, os.stat_result], ...] = ()
    folders: tuple[tuple[str, MeasuredFolder], ...] = ()


class MeasuredTree(Frozen):
    """A skill as it was measured."""

    source_folder: str
    """The folder to copy, absolute; of a single file the one it lies in."""
    top: MeasuredFolder
    names: Mapping[str, str] = EMPTY
    """Path to the one its copy gets, where that differs."""
    files: int = 0
    size: int = 0
    """Bytes of all files."""
    problems: tuple[SkillError, ...] = ()
    """Every reason against a copy; while there is one, the rest need not be complete."""


class CopyResult(Frozen):
    """What a copy holds."""

    files: int
    size: int
    """Bytes."""
    digest: str
    """As `files.skill_digest` makes it."""
    seal: str
    """As `seal.seal` makes it."""


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────────────────────


def measure_folder(folder: str) -> MeasuredTree:
    """Look at all that is in a folder.

    Raises:
        SkillMountError: it cannot be opened, or is a link.
    """
    work = _Measurer()
    try:
        fd = os.open(folder, FOLDER_FLAGS)
    except OSError as error:
        words = f"{quoted(folder, PATH_LIMIT)} cannot be opened: {describe_os_error(error)}"
        raise SkillMountError(words, hint="name a skill's folder that you can read") from None
    top = MeasuredFolder(status=os.fstat(fd))
    try:
        top = work.folder(fd, "", 0)
        if work.size > MAX_SKILL_TOTAL_BYTES:
            words = f"its files are {work.size:,} bytes; at most 10 MiB are mounted"
            work.refuse(words, "leave out what it does not need")
    except _StopMeasuringError:
        pass
    except OSError as error:
        words = f"{quoted(folder, PATH_LIMIT)} cannot be listed: {describe_os_error(error)}"
        raise SkillMountError(words, hint="mend its permissions") from None
    finally:
        os.close(fd)
    return MeasuredTree(source_folder=folder, top=top, files=work.files, size=work.size, problems=tuple(work.problems))


def measure_file(path: str, name: str) -> MeasuredTree:
    """Look at a single file, which becomes `name` in a folder of its own.

    Raises:
        SkillMountError: there is no such file.
    """
    work, (source_folder, file) = _Measurer(), os.path.split(path)
    try:
        status = os.lstat(path)
        folder = MeasuredFolder(status=os.stat(source_folder), files=((file, status),))
    except OSError as error:
        words = f"{quoted(path, PATH_LIMIT)} cannot be read: {describe_os_error(error)}"
        raise SkillMountError(words, hint="name a file that you can read") from None
    if work.is_copyable(file, status):
        work.file(file, status)
    return MeasuredTree(
        source_folder=source_folder,
        top=folder,
        names={file: name},
        files=1,
        size=status.st_size,
        problems=tuple(work.problems),
    )


class _StopMeasuringError(Exception):
    """So many things are wrong, or there are so many of them, that no further one is looked at."""


class _Measurer:
    """Takes down what a skill's folder holds."""

    def __init__(self) -> None:
        self.problems: list[SkillError] = []
        self.files = self.folders = self.size = 0

    def refuse(self, words: str, hint: str, kind: type[SkillError] = SkillMountError) -> None:
        self.problems.append(kind(words, hint=hint))
        if len(self.problems) >= _MAX_PROBLEMS:
            raise _StopMeasuringError

    def folder(self, fd: int, path: str, depth: int) -> MeasuredFolder:
        """Take in a folder that was opened.

        Raises:
            OSError: it cannot be listed.
        """
        self.folders += 1
        if self.folders > MAX_MOUNTED_FILES:
            self.refuse(f"it has more than {MAX_MOUNTED_FILES:,} folders", "leave out what it does not need")
            raise _StopMeasuringError
        files: list[tuple[str, os.stat_result]] = []
        folders: list[tuple[str, MeasuredFolder]] = []
        names: dict[str, str] = {}
        with os.scandir(fd) as entries:
            for entry in entries:
                inner = f"{path}/{entry.name}" if path else entry.name
                # On the disks of macOS and Windows one of the two would swallow the other.
                other = names.setdefault(_case_folded(entry.name), entry.name)
                if other != entry.name:
                    words = f"{quoted(inner, PATH_LIMIT)} and {quoted(other)} differ only in case or Unicode form"
                    self.refuse(words, "rename one of them")
                status = entry.stat(follow_symlinks=False)
                if not self.is_copyable(inner, status):
                    continue
                if not stat.S_ISDIR(status.st_mode):
                    self.file(inner, status)
                    files.append((entry.name, status))
                elif depth >= MAX_DEPTH:
                    self.refuse(f"it has folders more than {MAX_DEPTH} levels deep", "make it flatter")
                    raise _StopMeasuringError
                else:
                    try:
                        with _open_unchanged(entry.name, fd, status, FOLDER_FLAGS) as below:
                            folders.append((entry.name, self.folder(below, inner, depth + 1)))
                    except SkillMountError as error:
                        self.refuse(str(error), error.hint or "mend its permissions")
        return MeasuredFolder(status=os.fstat(fd), files=tuple(files), folders=tuple(folders))

    def is_copyable(self, path: str, status: os.stat_result) -> bool:
        """Say whether something is of a kind that is copied; take down why not."""
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            return True
        if not stat.S_ISREG(mode):
            hint = "put the file itself into the skill" if stat.S_ISLNK(mode) else "remove it from the skill"
            self.refuse(f"{quoted(path, PATH_LIMIT)} is {describe_file_type(mode)}", hint)
        elif mode & (stat.S_ISUID | stat.S_ISGID):
            hint = f"`chmod ug-s` takes that away from {quoted(path, PATH_LIMIT)}"
            self.refuse(f"{quoted(path, PATH_LIMIT)} is set-uid or set-gid", hint)
        elif status.st_nlink > 1:
            hint = "`cp -R` makes a copy of the skill without such links"
            self.refuse(f"{quoted(path, PATH_LIMIT)} is a hard link: it has {status.st_nlink:,} names", hint)
        else:
            return True
        return False

    def file(self, path: str, status: os.stat_result) -> None:
        """Take in a regular file."""
        self.files += 1
        self.size += status.st_size
        if self.files > MAX_MOUNTED_FILES:
            words = f"it has more than {MAX_MOUNTED_FILES:,} files"
            self.refuse(words, "leave out what it does not need")
            raise _StopMeasuringError
        if status.st_size > MAX_SKILL_FILE_BYTES and path.lower().endswith(".md"):
            words = f"{quoted(path, PATH_LIMIT)} is {status.st_size:,} bytes; at most 1 MiB is taken of a Markdown file"
            self.refuse(words, "move the text into several files", SkillValidationError)


def _case_folded(name: str) -> str:
    """Return the form in which a file system that is not exact compares names."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@contextmanager
def _open_unchanged(name: str, above: int, measured: os.stat_result, flags: int) -> Iterator[int]:
    """Open what was seen under a name, and nothing that has taken its place since.

    Raises:
        SkillMountError: something else is there now, or it cannot be opened.
    """
    try:
        fd = os.open(name, flags, dir_fd=above)
    except OSError as error:
        words = f"{quoted(name, PATH_LIMIT)} cannot be read: {describe_os_error(error)}"
        raise SkillMountError(words, hint=_hint_for(error) or "try again") from None
    try:
        if stat_fingerprint(os.fstat(fd)) != stat_fingerprint(measured):
            raise SkillMountError(f"{quoted(name, PATH_LIMIT)}: {_CHANGED}", hint="try again")
        yield fd
    finally:
        os.close(fd)


# ── copying ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def copy_tree(tree: MeasuredTree, into: int, name: str, overrides: Mapping[str, bytes] = EMPTY) -> CopyResult:
    """Copy what was measured.

    Files keep their execute bits, and nobody but their owner may write to the copy.

    Args:
        tree: without problems.
        into: a descriptor of the folder in which the copy is made.
        name: of the copy, which is not there yet.
        overrides: path in the copy to the bytes that are written instead of what was measured there.

    Raises:
        SkillMountError: something changed since it was measured, or cannot be read or written; a part of the copy is
            left behind.
    """
    work = _Copier(tree.names, overrides)
    try:
        # Links on the way to a skill are its user's own; that to a single file ends with the folder it lies in.
        fd = os.open(tree.source_folder, FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0) if tree.names else FOLDER_FLAGS)
        try:
            if not tree.names and stat_fingerprint(os.fstat(fd)) != stat_fingerprint(tree.top.status):
                raise SkillMountError(_CHANGED, hint="try again")
            work.folder(tree.top, fd, into, name, "")
        finally:
            os.close(fd)
    except SkillMountError:
        raise
    except OSError as error:
        raise SkillMountError(f"it cannot be copied: {describe_os_error(error)}", hint=_hint_for(error)) from None
    return work.result()


def _hint_for(error: OSError) -> str | None:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "make room on the disk"
    return "mend its permissions" if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else None


class _Copier:
    """Copies from folder to folder and takes down what was copied."""

    def __init__(self, names: Mapping[str, str], overrides: Mapping[str, bytes]) -> None:
        import hashlib

        self.hash = hashlib.sha256
        self.names, self.overrides = names, overrides
        self.records: list[tuple[bytes, bytes]] = []
        self.digests: list[tuple[bytes, str]] = []
        self.size = 0

    def result(self) -> CopyResult:
        whole = self.hash()
        for path, digest in sorted(self.digests):
            whole.update(path + b"\0" + digest.encode() + b"\n")
        return CopyResult(
            files=len(self.digests),
            size=self.size,
            digest=f"sha256:{whole.hexdigest()}",
            seal=digest_of_records(self.records),
        )

    def folder(self, measured: MeasuredFolder, fd: int, above: int, name: str, path: str) -> None:
        """Copy an open folder to a new one."""
        mode = measured.status.st_mode & 0o755 | 0o700
        os.mkdir(name, 0o700, dir_fd=above)
        with open_fd(name, FOLDER_FLAGS, dir_fd=above) as into:
            for file, status in measured.files:
                new = self.names.get(file, file) if not path else file
                self.file(file, new, status, fd, into, f"{path}/{new}" if path else new)
            for inner, below in measured.folders:
                with _open_unchanged(inner, fd, below.status, FOLDER_FLAGS) as opened:
                    self.folder(below, opened, into, inner, f"{path}/{inner}" if path else inner)
            os.fchmod(into, mode)
        self.records.append((os.fsencode(path), integrity_record("d", mode)))

    def file(self, name: str, new: str, measured: os.stat_result, fd: int, into: int, path: str) -> None:
        """Copy a file, by descriptor."""
        mode = measured.st_mode & 0o755 | 0o400
        content = self.hash()
        with _open_unchanged(name, fd, measured, READ_FLAGS) as source:
            with open_fd(new, CREATE_FLAGS, dir_fd=into) as copy:
                size = 0
                for data in self.chunks(source, measured.st_size, path):
                    size += len(data)
                    if self.size + size > MAX_SKILL_TOTAL_BYTES:
                        raise SkillMountError("it is larger than 10 MiB", hint="leave out what it does not need")
                    content.update(data)
                    write_all(copy, data)
                os.fchmod(copy, mode)
            if stat_fingerprint(os.fstat(source)) != stat_fingerprint(measured):
                raise SkillMountError(f"{quoted(path, PATH_LIMIT)}: {_CHANGED}", hint="try again")
        self.size += size
        encoded, digest = os.fsencode(path), content.hexdigest()
        self.digests.append((encoded, digest))
        self.records.append((encoded, integrity_record("f", mode, size, digest)))

    def chunks(self, source: int, size: int, path: str) -> Iterator[bytes]:
        """Yield what is to be written: what is read, or what stands in its place."""
        if path in self.overrides:
            yield self.overrides[path]
            return
        # One byte more is asked for than was measured: a file that has not grown then ends with a short read.
        left = size + 1
        while left > 0 and (data := os.read(source, min(left, _CHUNK))):
            asked = min(left, _CHUNK)
            left -= len(data)
            yield data
            if left == 1 and len(data) < asked:
                return
        if left != 1:
            raise SkillMountError(f"{quoted(path, PATH_LIMIT)}: {_CHANGED}", hint="try again")
