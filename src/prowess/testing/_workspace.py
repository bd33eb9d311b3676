"""a skill's folder -> fresh copies of it, one for each case

A case sees nothing of another's, and the skill stays as it is. What the cases are written in is not copied, nor is
`.git`. Links are copied as links; what they lead to outside the skill is not there for a contained command.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress

from prowess._internal.files import describe_file_type
from prowess._internal.frozen import Frozen
from prowess._internal.fs import remove_tree
from prowess._internal.text import describe_os_error, quoted
from prowess.errors import SkillError
from prowess.sandbox import make_temp_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SkillContents", "scan_contents", "fixture_error", "workspace"]

MAX_ENTRIES = 20_000
"""Files, folders and links of one skill."""
MAX_BYTES = 512 * 1024 * 1024
"""Of all files of one skill."""
_EXCLUDED = frozenset((".git", "tests/cases", "tests/test-config.json"))
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_READ_FLAGS |= getattr(os, "O_BINARY", 0)
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_DIRECTORY_FLAGS = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)
_CHUNK = 1 << 20


class SkillContents(Frozen):
    """What is copied of a skill: paths relative to its folder, each folder before what is in it."""

    folder: str
    folders: tuple[tuple[str, int], ...]
    """With their modes."""
    files: tuple[tuple[str, int, int], ...]
    """With their modes and sizes."""
    links: tuple[tuple[str, str], ...]
    """With what they lead to."""


def scan_contents(folder: str) -> SkillContents:
    """Look at what is in a skill.

    Raises:
        SkillError: it cannot be listed, is too large, or holds what cannot be copied.
    """
    folders: list[tuple[str, int]] = []
    files: list[tuple[str, int, int]] = []
    links: list[tuple[str, str]] = []
    waiting, size = [""], 0
    while waiting:
        inner = waiting.pop()
        try:
            with os.scandir(os.path.join(folder, inner)) as entries:
                for entry in entries:
                    path = f"{inner}/{entry.name}" if inner else entry.name
                    if path in _EXCLUDED:
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        folders.append((path, status.st_mode & 0o777))
                        waiting.append(path)
                    elif stat.S_ISREG(status.st_mode):
                        files.append((path, status.st_mode & 0o777, status.st_size))
                        size += status.st_size
                    elif stat.S_ISLNK(status.st_mode):
                        links.append((path, os.readlink(entry.path)))
                    else:
                        words = f"{quoted(path, 200)} is {describe_file_type(status.st_mode)}, which cannot be copied"
                        raise SkillError(words, hint="remove it from the skill")
                    if len(folders) + len(files) + len(links) > MAX_ENTRIES or size > MAX_BYTES:
                        words = f"it holds more than {MAX_ENTRIES:,} files or {MAX_BYTES // 1024 // 1024} MiB"
                        raise SkillError(words, hint="leave out what the tests do not need")
        except OSError as error:
            words = f"{quoted(inner or folder, 200)} cannot be read: {describe_os_error(error)}"
            raise SkillError(words, hint="mend its permissions") from None
    # Of `tests` there may be nothing left to copy.
    paths = [row[0] for row in folders] + [row[0] for row in files] + [row[0] for row in links]
    needed = {path.rpartition("/")[0] for path in paths}
    kept = tuple(row for row in folders if row[0] != "tests" or "tests" in needed)
    return SkillContents(folder=folder, folders=kept, files=tuple(files), links=tuple(links))


def fixture_error(found: SkillContents, path: str) -> str | None:
    """Say why a file that a case needs is none of the skill's; None where it is one.

    Args:
        found: in the skill.
        path: relative to its folder, with `/`.
    """
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\0" in path or not path.strip("/. "):
        return f"{quoted(path, 200)} leads out of the skill"
    plain = "/".join(part for part in parts if part not in ("", "."))
    real, top = os.path.realpath(os.path.join(found.folder, plain)), os.path.realpath(found.folder)
    if os.path.commonpath((real, top)) != top:
        return f"{quoted(path, 200)} is a link that leads out of the skill"
    if not os.path.exists(real):
        return f"there is no {quoted(path, 200)} in the skill"
    inner = os.path.relpath(real, top).replace(os.sep, "/")
    if any(f"{inner}/".startswith(f"{one}/") for one in _EXCLUDED):
        return f"{quoted(path, 200)} is not copied: put it beside, as in `tests/fixtures`"
    return None


@contextmanager
def workspace(found: SkillContents) -> Iterator[tuple[str, str]]:
    """Make a folder for one case with a copy of its skill, and remove it in the end; yield both.

    Raises:
        SkillError: something changed since it was looked at, or cannot be copied.
        SandboxError: no folder can be made for it.
    """
    top = make_temp_folder("case")
    copy = os.path.join(top, os.path.basename(found.folder) or "skill")
    try:
        try:
            _copy(found, copy)
        except OSError as error:
            words = f"the skill cannot be copied: {describe_os_error(error)}"
            raise SkillError(words, hint="see whether the disk is full, or the skill has changed") from None
        yield top, copy
    finally:
        _remove_copy(found, copy, top)


def _copy(found: SkillContents, copy: str) -> None:
    os.mkdir(copy, 0o700)
    for path, mode in found.folders:
        os.mkdir(f"{copy}/{path}", mode | 0o700)
    for path, mode, size in found.files:
        source = os.open(f"{found.folder}/{path}", _READ_FLAGS)
        try:
            if not stat.S_ISREG(os.fstat(source).st_mode):
                raise SkillError(f"{quoted(path, 200)} has changed meanwhile", hint="try again")
            # The file may be run, so nobody may still be writing it when it is.
            into = os.open(f"{copy}/{path}", _CREATE_FLAGS, mode | 0o600)
            try:
                left = size + 1
                while left > 0 and (data := os.read(source, min(left, _CHUNK))):
                    left -= len(data)
                    view = memoryview(data)
                    while view:
                        view = view[os.write(into, view) :]
                    if left == 1:
                        break
            finally:
                os.close(into)
        finally:
            os.close(source)
    for path, target in found.links:
        os.symlink(target, f"{copy}/{path}")


def _remove_copy(found: SkillContents, copy: str, top: str) -> None:
    """Remove a copy: first what was put there, which mostly is all, then whatever else there is.

    A command may have put links where folders were. So no path is followed, for what it led to would be removed.
    """
    with suppress(OSError):
        if not found.folders:
            fd = os.open(copy, _DIRECTORY_FLAGS)
            try:
                for path in (*(row[0] for row in found.files), *(row[0] for row in found.links)):
                    os.unlink(path, dir_fd=fd)
            finally:
                os.close(fd)
            os.rmdir(copy)
        os.rmdir(top)
        return
    remove_tree(top)
