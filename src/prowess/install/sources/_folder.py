"""Fetch skills from a folder of this machine.

A skill is copied file by file into the store's temporary folder, each file opened from the descriptor of its folder and
never through a link. What a copy may contain is decided afterwards, when it is read for its digest.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from prowess._internal.file_status import describe_file_type
from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES, SKILL_FILE
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, READ_FLAGS, open_fd, write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.checks import find_skill_files
from prowess.errors import InstallError, SkillNotFoundError
from prowess.skill import MAX_DEPTH, load

from ._fetched import Fetched, FetchedSkill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prowess.findings import Finding
    from prowess.install._store import OpenStore

    from ._source import Source

_CHUNK_BYTES = 1 << 20


def fetch(
    source: Source,
    opened: OpenStore,
    *,
    only: Sequence[str] = (),
    revision: str | None = None,  # noqa: ARG001 - a folder has no revisions; the caller compares the digests
    progress: Callable[[str], None] | None = None,
) -> Fetched:
    """Copy the skills of a folder.

    Args:
        source: the folder, absolute.
        opened: the store.
        only: the names of the skills that are wanted; all if empty.
        revision: is ignored.
        progress: is called with what is being done.

    Raises:
        InstallError: the folder cannot be read.
    """
    if not os.path.isdir(source.url):
        problem = "is not a folder" if os.path.lexists(source.url) else "does not exist"
        raise InstallError(f"the folder {quoted(source.url, PATH_LIMIT)} {problem}", hint="check the path")
    found, findings = find_skills(source.url)
    if only and not {name for name, _ in found}.isdisjoint(only):
        found = [(name, path) for name, path in found if name in only]
    target = opened.new_folder()
    skills: list[FetchedSkill] = []
    for number, (name, path) in enumerate(found):
        if progress is not None:
            progress(f"copying {len(skills) + 1:,} of {len(found):,}")
        folder = os.path.join(target, f"{number}")
        _copy(os.path.join(source.url, path) if path else source.url, folder)
        skills.append(FetchedSkill(name=name, path=path, folder=folder))
    return Fetched(skills=tuple(skills), revision=None, findings=tuple(findings))


def find_skills(top: str) -> tuple[list[tuple[str, str]], list[Finding]]:
    """Find the skills in and below a folder, but not inside of another skill.

    Returns:
        The name of each skill and the path of its folder relative to `top`, with `/`, empty for `top`; sorted by path.
        The name is that of the front matter, or that of the folder without one. And the problems of finding skills.
    """
    try:
        files, findings = find_skill_files(top)
    except SkillNotFoundError as error:
        raise InstallError(str(error), hint=error.hint) from None
    found: list[tuple[str, str]] = []
    skills: set[str] = set()
    for file in files:
        folder, name = os.path.split(file)
        path = "" if folder == top else os.path.relpath(folder, top).replace(os.sep, "/")
        parts = path.split("/")
        above = {"", *("/".join(parts[:count]) for count in range(1, len(parts)))} - {path}
        if name == SKILL_FILE and above.isdisjoint(skills):
            skills.add(path)
            found.append((load(file).name or os.path.basename(os.path.abspath(folder)), path))
    return found, [item for item in findings if item.code != "file-missing"]


def _copy(folder: str, target: str) -> None:
    """Copy a skill without its repository.

    Raises:
        InstallError: a file cannot be read or written, or the skill is too large.
    """
    try:
        with open_fd(folder, FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0)) as fd:
            _FolderCopy().copy_folder(fd, target, "", 0)
    except OSError as error:
        message = f"the skill {quoted(folder, PATH_LIMIT)} cannot be copied: {describe_os_error(error)}"
        raise InstallError(message, hint="fix its permissions, or make room on the disk") from None


class _FolderCopy:
    """Copies folders, and counts what it copies."""

    def __init__(self) -> None:
        self.entries = 0
        self.bytes_left = MAX_DIGEST_BYTES

    def copy_folder(self, fd: int, target: str, path: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise InstallError(f"the skill has more than {MAX_DEPTH} levels of folders", hint="use fewer levels")
        os.mkdir(target, 0o700)
        with os.scandir(fd) as entries:
            names = [entry.name for entry in entries if path or entry.name != ".git"]
        for name in names:
            self.entries += 1
            if self.entries > MAX_SKILL_FILES:
                message = f"the skill has more than {MAX_SKILL_FILES:,} files, folders and links"
                raise InstallError(message, hint="remove files that the skill does not need")
            inner = f"{path}/{name}" if path else name
            mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                with open_fd(name, FOLDER_FLAGS, dir_fd=fd) as inner_fd:
                    self.copy_folder(inner_fd, os.path.join(target, name), inner, depth + 1)
                with suppress(OSError):  # an empty folder is not part of a skill: neither git nor a digest knows it
                    os.rmdir(os.path.join(target, name))
            elif stat.S_ISLNK(mode):
                os.symlink(os.readlink(name, dir_fd=fd), os.path.join(target, name))
            elif stat.S_ISREG(mode):
                self.copy_file(name, fd, os.path.join(target, name))
            else:
                message = f"{quoted(inner, PATH_LIMIT)} is {describe_file_type(mode)}"
                raise InstallError(message, hint="remove it from the skill")

    def copy_file(self, name: str, fd: int, target: str) -> None:
        with open_fd(name, READ_FLAGS, dir_fd=fd) as source_fd:
            status = os.fstat(source_fd)
            if not stat.S_ISREG(status.st_mode):  # it was replaced since it was listed
                raise InstallError(f"{quoted(name)} changed while it was copied", hint="try again")
            with open_fd(target, CREATE_FLAGS, 0o600 | status.st_mode & 0o100) as target_fd:
                while data := os.read(source_fd, _CHUNK_BYTES):
                    self.bytes_left -= len(data)
                    if self.bytes_left < 0:
                        size = MAX_DIGEST_BYTES // 1024 // 1024
                        hint = "remove files that the skill does not need"
                        raise InstallError(f"the skill is larger than {size} MiB", hint=hint)
                    write_all(target_fd, data)
