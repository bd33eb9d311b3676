"""Write the files of skills as they were committed, and fetch those first that are still missing."""

from __future__ import annotations

import os
import re

from prowess._internal.files import MAX_SKILL_FILE_BYTES
from prowess._internal.fs import CREATE_FLAGS, SUPPORTS_DIR_FD, write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError, SkillError
from prowess.install._tree import EXECUTABLE, FILE, LINK, check_paths
from prowess.install._written import WrittenFiles
from prowess.skill import check_link, from_document, parse_frontmatter

from ._objects import ObjectReader
from ._process import GitError
from ._repository import REMOTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prowess.install._written import NotedFiles

    from ._repository import GitRepository

__all__ = ["FileReader", "RefusedPartError"]

_MAX_FILE = 1 << 26
"""Bytes of one file."""
_MODES = {"100644": FILE, "100664": FILE, "100755": EXECUTABLE, "120000": LINK}
_LFS_POINTER = re.compile(rb"version https://(?:git-lfs|hawser)\.github\.com/spec/")
_MAX_LFS_POINTER = 1024
_MAX_LINK = 4096


class RefusedPartError(Exception):
    """A part of the commit cannot be fetched: the server sends no single files, or git is stricter then."""


class FileReader:
    """Reads files of one commit.

    Args:
        repository: in which the commit is.
        objects: reads its objects.
        is_part: whether some files may not have been fetched.
    """

    def __init__(self, repository: GitRepository, objects: ObjectReader, *, is_part: bool) -> None:
        self._repository, self._objects, self._is_part = repository, objects, is_part
        self._bytes_left = repository.limits.size

    def load(self, names: Iterable[str]) -> None:
        """Fetch the objects with these names that are missing.

        Raises:
            RefusedPartError: the server does not send single objects.
        """
        if not self._is_part:
            return
        with self._repository.start("cat-file", "--batch-check") as process:
            missing = ObjectReader(process).find_missing(list(dict.fromkeys(names)))
        if not missing:
            return
        options = ("--filter=blob:none", "--no-write-fetch-head", "--stdin")
        try:
            self._repository.fetch(*options, REMOTE, stdin="".join(f"{name}\n" for name in missing).encode("ascii"))
        except GitError as error:
            if re.search("unadvertised object|not our ref|filter", error.stderr):
                raise RefusedPartError from None
            raise

    def read_names(self, folders: Mapping[str, str], default: str) -> dict[str, str]:
        """Return the name of the skill in each folder.

        Args:
            folders: of each the object of its SKILL.md.
            default: the name of a skill without one at the top; others have that of their folder.
        """
        self.load(folders.values())
        names = {}
        contents = self._objects.read(list(folders.values()), "blob", _MAX_FILE)
        for folder, (_, _, data) in zip(folders, contents, strict=True):
            document = parse_frontmatter(data[:MAX_SKILL_FILE_BYTES])
            names[folder] = from_document(document).name or folder.rpartition("/")[2] or default
        return names

    def write_skill(self, target: str, files: Mapping[str, tuple[str, str]], shown: str) -> NotedFiles | None:
        """Write a skill into a new folder, and return its files, if they need not be read to know them.

        Args:
            target: the folder, absolute.
            files: by their paths in it the mode and object of each.
            shown: the skill's folder in the source, for messages.

        Raises:
            InstallError: something in it is not allowed.
        """
        try:
            check_paths(files)
            os.makedirs(target)
            return self._write_files(target, files)
        except SkillError as error:
            raise InstallError(f"the skill in {quoted(shown, PATH_LIMIT)}: {error}", hint=error.hint) from None
        except OSError as error:
            message = f"cannot write the skill in {quoted(shown, PATH_LIMIT)}: {describe_os_error(error)}"
            raise InstallError(message, hint="make room on the disk") from None

    def _write_files(self, target: str, files: Mapping[str, tuple[str, str]]) -> NotedFiles | None:
        """Write files and then links, so that no file is written through a link."""
        modes = {path: _mode(path, mode) for path, (mode, _) in files.items()}
        folders = _folders(files)
        links = [path for path, mode in modes.items() if mode == LINK]
        written = WrittenFiles(files.keys() - links, links, folders)
        for folder in folders:
            os.mkdir(f"{target}/{folder}")
        contents = self._objects.read([files[path][1] for path in written.order], "blob", _MAX_FILE)
        for path, (_, _, data) in zip(written.order, contents, strict=True):
            self._bytes_left -= len(data)
            if self._bytes_left < 0:
                limit = self._repository.limits.size >> 20
                raise InstallError(f"the source has more than {limit:,} MiB", hint="name the skills that you want")
            if modes[path] == LINK:
                _write_link(f"{target}/{path}", path, data)
                written.add_link(path, data)
            else:
                written.add_file(path, data, _write_file(f"{target}/{path}", path, modes[path], data))
        return written.notes() if SUPPORTS_DIR_FD else None


def _folders(paths: Iterable[str]) -> list[str]:
    """Return the folders of files, each after the one that it is in."""
    found: set[str] = set()
    for path in paths:
        while (path := path.rpartition("/")[0]) and path not in found:
            found.add(path)
    return sorted(found)


def _mode(path: str, mode: str) -> str:
    if mode not in _MODES:
        raise InstallError(f"{quoted(path, PATH_LIMIT)} is not a file or a link", hint="ask the author to remove it")
    return _MODES[mode]


def _write_link(target: str, path: str, data: bytes) -> None:
    link = os.fsdecode(data)
    if not 0 < len(data) <= _MAX_LINK or "\0" in link:
        message = f"the link {quoted(path, PATH_LIMIT)} has no valid target"
        raise InstallError(message, hint="ask the author to fix it")
    check_link(path, link)
    os.symlink(link, target)


def _write_file(target: str, path: str, mode: str, data: bytes) -> int:
    """Write a new file, and return the permissions that the file system gave it."""
    if len(data) <= _MAX_LFS_POINTER and _LFS_POINTER.match(data):
        message = f"the content of {quoted(path, PATH_LIMIT)} is not in the repository, but in Git LFS"
        raise InstallError(message, hint="ask the author to commit the file itself")
    fd = os.open(target, CREATE_FLAGS, 0o777 if mode == EXECUTABLE else 0o666)
    try:
        write_all(fd, data)
        return os.fstat(fd).st_mode
    finally:
        os.close(fd)
