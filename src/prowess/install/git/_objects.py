"""Read commits, folders and files from a repository, as they were committed.

One process of `git cat-file --batch` answers, and nothing is checked out. A tree of git may contain any name, and a
few of them may name billions of files, so names are checked and entries counted.
"""

from __future__ import annotations

import os
import re

from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO

    from ._process import GitProcess

    Object = tuple[str, str, bytes]
    """The name of an object, its kind, and its content."""

__all__ = ["SUBMODULE", "GitFiles", "ObjectReader"]

SUBMODULE = "160000"
_FOLDER = "40000"
_MAX_ENTRIES = 500_000
"""Files and folders of a source that are listed."""
_MAX_DEPTH = 100
_MAX_TREE = 1 << 26
"""Bytes of the list of one folder."""
_MAX_COMMIT = 1 << 20
_ASKED_AT_ONCE = 500
"""Objects: their names fit into a pipe, so that git and this process never wait for each other."""
_MAX_LINE = 1 << 16
_HEADER = re.compile(rb"([0-9a-f]{40,64}) (blob|tree|commit|tag) ([0-9]+)\n").fullmatch


class GitFiles(Frozen):
    """All files below a folder of a commit."""

    files: Mapping[str, tuple[str, str]]
    """By path relative to the folder: the mode in octal digits, and the name of the object. Links and submodules are
    files too."""
    folders: Mapping[str, str]
    """The object of each folder by its path; the path of the folder itself is empty."""
    unread: tuple[str, ...] = ()
    """Folders that are too deep."""


class ObjectReader:
    """Reads objects of a repository.

    Args:
        process: `git cat-file --batch`.
    """

    def __init__(self, process: GitProcess) -> None:
        self._input: IO[bytes] = process.process.stdin  # type: ignore[assignment]  # both are pipes
        self._output: IO[bytes] = process.process.stdout  # type: ignore[assignment]

    def commit(self, name: str) -> str:
        """Return the commit that an object is, or that a tag points to.

        Raises:
            InstallError: it is missing, or something else.
        """
        found = self._ask([f"{name}^{{commit}}"], _MAX_COMMIT)[0]
        if found is None or found[1] != "commit":
            hint = "check it; if its author replaced the history, `prowess update` installs what is there now"
            raise InstallError(f"the source has no commit {quoted(name)}", hint=hint)
        return found[0]

    def list_files(self, commit: str, folder: str) -> GitFiles | None:
        """List all files of a commit below a folder; return `None` if it has no such folder.

        Raises:
            InstallError: there are too many, or a name is invalid.
        """
        top = self._ask([f"{commit}:{folder}"], _MAX_TREE)[0]
        if top is None or top[1] != "tree":
            return None
        files: dict[str, tuple[str, str]] = {}
        folders = {"": top[0]}
        below = {"": top[0]}
        unread: list[str] = []
        while below:
            paths, below = below, {}
            for path, (_, _, data) in zip(paths, self.read(list(paths.values()), "tree", _MAX_TREE), strict=True):
                for mode, name, oid in _entries(data, len(commit) // 2):
                    inner = f"{path}/{name}" if path else name
                    if mode != _FOLDER:
                        files[inner] = mode, oid
                    elif inner.count("/") >= _MAX_DEPTH:
                        unread.append(inner)
                    else:
                        below[inner] = oid
                if len(files) + len(folders) + len(below) > _MAX_ENTRIES:
                    message = f"the source has more than {_MAX_ENTRIES:,} files"
                    raise InstallError(message, hint="name the folder of the skills: `SOURCE:FOLDER`")
            folders |= below
        return GitFiles(files=files, folders=folders, unread=tuple(unread))

    def read(self, names: Sequence[str], kind: str, limit: int) -> Iterator[Object]:
        """Yield the objects with these names.

        Args:
            names: of the objects, each in hexadecimal.
            kind: `tree` or `blob`.
            limit: the most bytes of one.

        Raises:
            InstallError: one is missing, too large, or of another kind.
        """
        for start in range(0, len(names), _ASKED_AT_ONCE):
            part = names[start : start + _ASKED_AT_ONCE]
            self._send(part)
            for name in part:
                found = self._answer(limit)
                if found is None or found[0] != name or found[1] != kind:
                    raise InstallError(
                        f"the repository has no {kind} {quoted(name)}", hint="ask its author to check it"
                    )
                yield found

    def find_missing(self, names: Sequence[str]) -> list[str]:
        """Return those of some objects that the repository lacks; the process is `git cat-file --batch-check`.

        Raises:
            InstallError: git ended.
        """
        missing = []
        for start in range(0, len(names), _ASKED_AT_ONCE):
            part = names[start : start + _ASKED_AT_ONCE]
            self._send(part)
            for name in part:
                line = self._output.readline(_MAX_LINE)
                if line.endswith(b" missing\n"):
                    missing.append(name)
                elif _HEADER(line) is None:
                    raise _ended()
        return missing

    def _ask(self, names: Sequence[str], limit: int) -> list[Object | None]:
        self._send(names)
        return [self._answer(limit) for _ in names]

    def _send(self, names: Sequence[str]) -> None:
        try:
            self._input.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
            self._input.flush()
        except OSError:
            raise _ended() from None

    def _answer(self, limit: int) -> Object | None:
        """Return the next object, or `None` if it is missing.

        Raises:
            InstallError: it is too large, or git ended.
        """
        line = self._output.readline(_MAX_LINE)
        found = _HEADER(line)
        if found is None:
            if not line.endswith((b" missing\n", b" ambiguous\n")):
                raise _ended()
            return None
        name, kind, size = found[1].decode("ascii"), found[2].decode("ascii"), int(found[3])
        if size > limit:
            hint = "ask the author of the skill to make it smaller"
            raise InstallError(f"the {kind} {quoted(name)} has more than {limit >> 20:,} MiB", hint=hint)
        data = self._output.read(size + 1)
        if len(data) != size + 1:
            raise _ended()
        return name, kind, data[:-1]


def _ended() -> InstallError:
    return InstallError("git ended while it read the repository", hint="try again; ask its author to check it")


def _entries(data: bytes, hash_bytes: int) -> Iterator[tuple[str, str, str]]:
    """Yield the mode, name and object of each entry of a tree.

    Raises:
        InstallError: it is invalid.
    """
    position, end = 0, len(data)
    while position < end:
        blank = data.find(b" ", position)
        stop = data.find(b"\0", blank)
        name, after = data[blank + 1 : stop], stop + 1 + hash_bytes
        if blank < 0 or stop < 0 or after > end:
            raise InstallError("a folder of the repository is damaged", hint="ask its author to run `git fsck`")
        if b"/" in name or name in (b"", b".", b".."):
            shown = quoted(os.fsdecode(name), PATH_LIMIT)
            raise InstallError(f"the repository has a file with the name {shown}", hint="do not install from it")
        mode = data[position:blank].decode("ascii", "replace").lstrip("0")
        yield mode, os.fsdecode(name), data[stop + 1 : after].hex()
        position = after
