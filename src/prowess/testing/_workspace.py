"""Make a fresh copy of a skill for each case.

Cases cannot see each other's files, and the skill itself does not change. The case files and `.git` are not copied, and
neither is `__pycache__`: Python would run a compiled file there in place of its source. Links are copied as links; a
command in a sandbox cannot follow them out of the skill. All cases see the same bytes: a file that has changed since
the skill was listed, or that changes while it is copied, is an error.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress

from prowess._internal.file_status import describe_file_type, stat_fingerprint
from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, READ_FLAGS, open_fd, remove_tree, write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import SkillError
from prowess.sandbox import make_temp_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SkillContents", "scan_contents", "fixture_error", "workspace"]

MAX_ENTRIES = 20_000
"""The most files, folders and links a skill may have."""
MAX_BYTES = 512 * 1024 * 1024
"""The most bytes all files of a skill may have."""
_EXCLUDED = frozenset((".git", "tests/cases", "tests/test-config.json"))
_COMPILED = "__pycache__"
_CHUNK_BYTES = 1 << 20


class SkillContents(Frozen):
    """The files to copy: paths relative to the skill's folder, each folder before its contents."""

    folder: str
    folders: tuple[tuple[str, int], ...]
    """Paths and modes."""
    files: tuple[tuple[str, int, tuple[int, ...]], ...]
    """Paths, modes and fingerprints."""
    links: tuple[tuple[str, str], ...]
    """Paths and targets."""


def scan_contents(folder: str) -> SkillContents:
    """List the files of a skill.

    Raises:
        SkillError: the skill cannot be listed, is too large, or contains something that cannot be copied.
    """
    folders: list[tuple[str, int]] = []
    files: list[tuple[str, int, tuple[int, ...]]] = []
    links: list[tuple[str, str]] = []
    waiting, size = [""], 0
    while waiting:
        inner = waiting.pop()
        try:
            with os.scandir(os.path.join(folder, inner)) as entries:
                for entry in entries:
                    path = f"{inner}/{entry.name}" if inner else entry.name
                    if path in _EXCLUDED or entry.name == _COMPILED:
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        folders.append((path, status.st_mode & 0o777))
                        waiting.append(path)
                    elif stat.S_ISREG(status.st_mode):
                        files.append((path, status.st_mode & 0o777, stat_fingerprint(status)))
                        size += status.st_size
                    elif stat.S_ISLNK(status.st_mode):
                        links.append((path, os.readlink(entry.path)))
                    else:
                        message = f"cannot copy {quoted(path, PATH_LIMIT)}: it is {describe_file_type(status.st_mode)}"
                        raise SkillError(message, hint="remove it from the skill")
                    if len(folders) + len(files) + len(links) > MAX_ENTRIES or size > MAX_BYTES:
                        message = f"the skill has more than {MAX_ENTRIES:,} files or {MAX_BYTES // 1024 // 1024} MiB"
                        raise SkillError(message, hint="remove files that the tests do not need")
        except OSError as error:
            message = f"cannot read {quoted(inner or folder, PATH_LIMIT)}: {describe_os_error(error)}"
            raise SkillError(message, hint="fix its permissions") from None
    # Without the case files, `tests` may be empty; then it is not copied either.
    paths = [item[0] for items in (folders, files, links) for item in items]
    if not any(path.startswith("tests/") for path in paths):
        folders = [item for item in folders if item[0] != "tests"]
    return SkillContents(folder=folder, folders=tuple(folders), files=tuple(files), links=tuple(links))


def fixture_error(contents: SkillContents, path: str) -> str | None:
    """Return why a case cannot have an input file, or `None` if it can.

    Args:
        contents: the files of the skill.
        path: the file, relative to the skill's folder, with `/`.
    """
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\0" in path or not path.strip("/. "):
        return f"{quoted(path, PATH_LIMIT)} is outside the skill"
    plain = "/".join(part for part in parts if part not in ("", "."))
    real, top = real_path(os.path.join(contents.folder, plain)), real_path(contents.folder)
    if os.path.commonpath((real, top)) != top:
        return f"{quoted(path, PATH_LIMIT)} is a link to a file outside the skill"
    if not os.path.exists(real):
        return f"{quoted(path, PATH_LIMIT)} does not exist in the skill"
    inner = os.path.relpath(real, top).replace(os.sep, "/")
    if any(f"{inner}/".startswith(f"{excluded}/") for excluded in _EXCLUDED):
        return f"{quoted(path, PATH_LIMIT)} is not copied for a case; move it, for example to `tests/fixtures`"
    return None


@contextmanager
def workspace(contents: SkillContents) -> Iterator[tuple[str, str]]:
    """Yield a temporary folder for one case and the copy of the skill in it; remove both at the end.

    Raises:
        SkillError: a file has changed since it was listed, or cannot be copied.
        SandboxError: no temporary folder can be created.
    """
    top = make_temp_folder("case")
    copy = os.path.join(top, os.path.basename(contents.folder) or "skill")
    try:
        try:
            _copy(contents, copy)
        except OSError as error:
            message = f"cannot copy the skill: {describe_os_error(error)}"
            raise SkillError(message, hint="check whether the disk is full or the skill has changed") from None
        yield top, copy
    finally:
        _remove_copy(contents, copy, top)


def _copy(contents: SkillContents, copy: str) -> None:
    os.mkdir(copy, 0o700)
    for path, mode in contents.folders:
        os.mkdir(f"{copy}/{path}", mode | 0o700)
    for path, mode, fingerprint in contents.files:
        _copy_file(contents.folder, copy, path, mode, fingerprint)
    for path, target in contents.links:
        os.symlink(target, f"{copy}/{path}")


def _copy_file(folder: str, copy: str, path: str, mode: int, fingerprint: tuple[int, ...]) -> None:
    """Copy a file that is as it was when it was listed.

    Raises:
        SkillError: it is not.
        OSError: it cannot be copied.
    """
    with open_fd(f"{folder}/{path}", READ_FLAGS) as source:
        size, before = 0, os.fstat(source)
        if stat_fingerprint(before) == fingerprint:
            with open_fd(f"{copy}/{path}", CREATE_FLAGS, mode | 0o600) as target:
                # The block closes the copy before a command runs: a file that is open for writing cannot be executed.
                while size <= before.st_size and (data := os.read(source, _CHUNK_BYTES)):
                    size += len(data)
                    write_all(target, data)
        if size != before.st_size or stat_fingerprint(os.fstat(source)) != fingerprint:
            message = f"{quoted(path, PATH_LIMIT)} changed while the tests were running"
            raise SkillError(message, hint="run the tests again when nothing writes to the skill")


def _remove_copy(contents: SkillContents, copy: str, top: str) -> None:
    """Remove a copy: first only the files that were copied, which usually is all, then the rest.

    A command may have replaced folders by links, so no path inside the copy is followed.
    """
    with suppress(OSError):
        if not contents.folders:
            with open_fd(copy, FOLDER_FLAGS) as fd:
                for path in [item[0] for item in contents.files] + [item[0] for item in contents.links]:
                    os.unlink(path, dir_fd=fd)
            os.rmdir(copy)
        os.rmdir(top)
        return
    remove_tree(top)
