"""Read the files of a skill safely, and resolve and shorten paths.

A path may name a FIFO, a device or a link that an attacker put there. So opening never follows a link in the last part
of the path and never waits, and the type of the opened file is checked before it is read.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from prowess._internal.file_status import describe_file_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SKILL_FILE = "SKILL.md"
MAX_SKILL_FILE_BYTES = 1024 * 1024
"""The largest size of a SKILL.md: 1 MiB."""
MAX_SKILL_TOTAL_BYTES = 10 * 1024 * 1024
"""The largest size of a skill that is mounted: 10 MiB for all of its files."""

# Windows has neither flag: there a link is refused by name, and no file in a folder blocks.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_HEAD_CHUNK_BYTES = 4096
_FILE_TYPE_MASK, _REGULAR_FILE = 0o170000, stat.S_IFREG


class UnreadableError(Exception):
    """A file cannot be read. The error has the fields of the finding that reports it."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint

    def without_frames(self) -> UnreadableError:
        """Return a copy to keep: the frames in which an error was raised stay in memory with it."""
        return UnreadableError(self.code, self.message, self.hint)


def _open_regular(path: str, follow: bool) -> tuple[int, os.stat_result]:
    """Open a regular file.

    Raises:
        UnreadableError: it is missing, not a regular file, or not readable.
    """
    if not _NOFOLLOW and not follow and os.path.islink(path):
        raise UnreadableError("file-is-link", "SKILL.md is a link, which is not followed", "put the file itself there")
    try:
        fd = os.open(path, _OPEN_FLAGS | (0 if follow else _NOFOLLOW))
    except OSError as error:
        raise _unreadable_error(error, path, follow=follow) from None
    except ValueError:
        raise UnreadableError("file-missing", "no such file", "check the path") from None
    status = os.fstat(fd)
    if status.st_mode & _FILE_TYPE_MASK != _REGULAR_FILE:
        os.close(fd)
        kind = describe_file_type(status.st_mode)
        raise UnreadableError("file-not-regular", f"it is {kind}, not a regular file", "put a text file there")
    return fd, status


def _unreadable_error(error: OSError, path: str, *, follow: bool) -> UnreadableError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return UnreadableError("file-missing", "no such file", "check the path")
    if error.errno in (errno.ELOOP, errno.EMLINK):
        if follow or not os.path.islink(path):
            hint = "fix the links in its path"
            return UnreadableError("file-unreadable", "it cannot be read: its links form a loop", hint)
        return UnreadableError("file-is-link", "it is a link, which is not followed", "put the file itself there")
    if error.errno in (errno.ENXIO, errno.EISDIR, errno.EOPNOTSUPP):
        try:
            kind = describe_file_type(os.lstat(path).st_mode)
        except OSError:
            kind = "something else"
        return UnreadableError("file-not-regular", f"it is {kind}, not a regular file", "put a text file there")
    words = error.strerror or "it cannot be opened"
    return UnreadableError("file-unreadable", f"it cannot be read: {words.lower()}", "fix its permissions")


def package_folder() -> str:
    """Return the folder of the package `prowess`."""
    folder: str = sys.modules[__name__.partition(".")[0]].__path__[0]
    return folder


def folder_name(path: str) -> str:
    """Return the name of the folder that contains a file."""
    if os.altsep is not None:
        return os.path.basename(os.path.dirname(path))
    # The same in a quarter of the time, for the thousands of calls of one command.
    return path.rpartition("/")[0].rstrip("/").rpartition("/")[2]


def expand_home(path: str, home: str) -> str:
    """Replace `~` or `~/` at the beginning of a path with the home; another user's `~name/` is left alone."""
    return os.path.join(home, path[2:]) if path.startswith("~/") else home if path == "~" else path


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is the same as a folder or inside it; both are absolute, and without `..` and links."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


_KEEPS_UNREADABLE_LINKS = sys.version_info >= (3, 13)
"""Whether `os.path.realpath` returns a path with a link that cannot be read, instead of failing."""


def shorten_home(path: str, home: str) -> str:
    """Return a path with `~` for the home."""
    is_in_home = path == home or path.startswith(home + os.sep)
    return "~" + path[len(home) :] if is_in_home and home != os.sep else path


def display_path(path: str, cwd: str, home: str) -> str:
    """Return a path as people write it: relative to the working directory, or with `~`. All three are absolute."""
    return path[len(cwd) + 1 :] if path.startswith(cwd + os.sep) else shorten_home(path, home)


def real_path(path: str | os.PathLike[str]) -> str:
    """Return a path without links; the path itself if one of them cannot be read, as some in /proc cannot.

    To decide whether a path is inside a folder, use `real_path_or_none`.

    Raises:
        ValueError: the path contains a NUL character.
    """
    return real_path_or_none(path) or os.path.abspath(path)


def real_path_or_none(path: str | os.PathLike[str]) -> str | None:
    """Return a path without links, or `None` if one of them cannot be read, so that it is unknown where it leads.

    Raises:
        ValueError: the path contains a NUL character.
    """
    try:
        if not _KEEPS_UNREADABLE_LINKS:
            return os.path.realpath(path)
        try:
            return os.path.realpath(path, strict=True)  # which fails if the path does not exist, too
        except OSError:
            return _with_readable_links(os.path.realpath(path))
    except OSError:
        return None


def _with_readable_links(path: str) -> str:
    """Return a path after reading each link in it.

    Raises:
        OSError: one of them cannot be read.
    """
    end = 0
    while end < len(path):
        end = path.find(os.sep, end + 1)
        end = len(path) if end < 0 else end
        try:
            is_link = stat.S_ISLNK(os.lstat(path[:end]).st_mode)
        except OSError:
            break
        if is_link:
            os.readlink(path[:end])
    return path


def read_up_to(fd: int, limit: int) -> bytes:
    """Read an open file to its end, but at most `limit` + 1 bytes.

    The size of the file is not used: a file may grow, and those of /proc have size 0.

    Raises:
        OSError: it cannot be read.
    """
    data = bytearray()
    while len(data) <= limit and (part := os.read(fd, min(limit + 1 - len(data), 1 << 20))):
        data += part
    return bytes(data)


def read_file(path: str, limit: int = MAX_SKILL_FILE_BYTES, *, follow: bool = False) -> bytes:
    """Read a whole regular file of at most `limit` bytes.

    Raises:
        UnreadableError: it is missing, not a regular file, unreadable or larger than `limit`.
    """
    fd, status = _open_regular(path, follow)
    try:
        size = status.st_size
        if size <= limit:
            data = os.read(fd, size + 1)
            # A regular file returns fewer bytes only at its end. Files of /proc have size 0, and others may change now.
            if len(data) != size or not size:
                data += read_up_to(fd, limit - len(data))
            if len(data) <= limit:
                return data
    except OSError as error:
        raise _unreadable_error(error, path, follow=follow) from None
    finally:
        os.close(fd)
    words = f"{limit // 1024 // 1024} MiB" if limit >= 1 << 20 else f"{limit:,} bytes"
    raise UnreadableError("file-too-large", f"it is larger than {words}", "move the text into files beside it")


def read_start(path: str, limit: int) -> bytes:
    """Read the first `limit` bytes of a regular file, or all of a shorter one; a link is not followed.

    Raises:
        UnreadableError: it is missing, not a regular file, or unreadable.
    """
    fd, _ = _open_regular(path, False)
    try:
        return read_up_to(fd, limit - 1)
    except OSError as error:
        raise _unreadable_error(error, path, follow=False) from None
    finally:
        os.close(fd)


def read_head(path: str, end: Callable[[bytes], int], limit: int) -> tuple[bytes, bool, os.stat_result]:
    """Read the beginning of a regular file, until `end` finds the end of the part that is needed.

    Args:
        path: the file.
        end: gets the bytes read so far, and returns the length of the part, or -1 to read more.
        limit: the most bytes to read.

    Returns:
        The bytes read, whether they are the whole file, and the status of the file before it was read.

    Raises:
        UnreadableError: it is missing, not a regular file, unreadable or larger than 1 MiB.
    """
    fd, status = _open_regular(path, False)
    try:
        size = status.st_size
        if size > MAX_SKILL_FILE_BYTES:
            raise UnreadableError("file-too-large", "it is larger than 1 MiB", "move the text into files beside it")
        data = os.read(fd, _HEAD_CHUNK_BYTES)
        requested = _HEAD_CHUNK_BYTES
        while True:
            if len(data) < requested:
                # A regular file returns fewer bytes only at its end, which its size shows without another read. Files
                # of /proc have size 0 and return any number of bytes.
                if len(data) >= size > 0 or not (more := os.read(fd, requested - len(data))):
                    return data, True, status
                data += more
            elif end(data) >= 0 or requested >= limit:
                return data, len(data) == size, status
            else:
                requested = min(requested * 4, limit)
    except OSError as error:
        raise _unreadable_error(error, path, follow=False) from None
    finally:
        os.close(fd)


MAX_SKILL_FILES = 10_000
"""The most files of a skill that are listed."""
MAX_DIGEST_BYTES = 64 * 1024 * 1024
"""The most bytes of a skill that are read for its digest."""


def skill_files(folder: str, *, folders: list[str] | None = None) -> list[tuple[str, int]]:
    """List the regular files of a skill: path relative to `folder` with `/`, and size in bytes; sorted by path.

    Links are neither followed nor listed. Paths are sorted as bytes. At most `MAX_SKILL_FILES` are returned.

    Args:
        folder: the skill folder.
        folders: gets the folders that were listed, and an empty string for each one that could not be read.
    """
    files: list[tuple[str, int]] = []
    visited = [] if folders is None else folders
    pending = [""]
    count = 0
    while pending and len(files) < MAX_SKILL_FILES and count < MAX_SKILL_FILES:
        inner = pending.pop()
        count += 1
        listed = os.path.join(folder, inner) if inner else folder
        visited.append(listed)
        try:
            with os.scandir(listed) as entries:
                for entry in entries:
                    path = f"{inner}/{entry.name}" if inner else entry.name
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(path)
                        elif len(files) >= MAX_SKILL_FILES:
                            break
                        elif entry.is_file(follow_symlinks=False):
                            files.append((path, entry.stat(follow_symlinks=False).st_size))
                    except OSError:
                        visited.append("")
        except OSError:
            visited.append("")
    files.sort(key=lambda item: os.fsencode(item[0]))
    return files[:MAX_SKILL_FILES]


def skill_digest(folder: str, without: str = "") -> str | None:
    """Return the digest of a skill: `sha256:` over the sorted lines `PATH NUL SHA256HEX LF` of its regular files.

    `None` if a file cannot be read, or the skill is larger than `MAX_DIGEST_BYTES` or has too many files: a digest that
    does not cover everything must not be trusted.

    Args:
        folder: of the skill.
        without: the path of a file in it that the digest does not depend on.
    """
    from .hashes import sha256_for

    bytes_left = MAX_DIGEST_BYTES
    files = skill_files(folder)
    size_of_all = sum(size for _, size in files)
    if len(files) >= MAX_SKILL_FILES or size_of_all > bytes_left:
        return None
    sha256 = sha256_for(size_of_all)
    digest = sha256()
    for path, _ in files:
        if path == without:
            continue
        file_digest = sha256()
        try:
            fd, _ = _open_regular(os.path.join(folder, path), False)
        except UnreadableError:
            return None
        try:
            while chunk := os.read(fd, 1 << 20):
                file_digest.update(chunk)
                bytes_left -= len(chunk)
                if bytes_left < 0:
                    return None
        except OSError:
            return None
        finally:
            os.close(fd)
        digest.update(os.fsencode(path) + b"\0" + file_digest.hexdigest().encode() + b"\n")
    return f"sha256:{digest.hexdigest()}"
