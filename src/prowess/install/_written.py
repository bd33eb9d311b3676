"""Note the files of a skill while they are written, so that nothing needs to be read again for its digests.

The notes are what `read_tree` and `computed_hash` would return. Nothing is noted where that is not certain: for names
that a file system may change, and for skills that are too large, which `read_tree` refuses with a reason.
"""

from __future__ import annotations

import os
from hashlib import sha256

from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES
from prowess._internal.frozen import Frozen

from ._computed_hash import SKIPPED_FOLDERS, NotComparableError, sort_as_skills_does
from ._tree import EXECUTABLE, FILE, LINK, Tree, TreeFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NotedFiles", "WrittenFiles"]


class NotedFiles(Frozen):
    """The files of a skill, as they were written."""

    tree: Tree
    computed_hash: str
    """What `skills` writes into its lock."""


class WrittenFiles:
    """Notes the files of one skill.

    Args:
        files: the paths of all regular files.
        links: those of all links.
        folders: those of all folders, without the skill's own.
    """

    def __init__(self, files: Iterable[str], links: Iterable[str], folders: Iterable[str]) -> None:
        files, links = sorted(files), sorted(links)
        paths = [*files, *links]
        self._is_certain = all(map(str.isascii, paths)) and len(paths) + len([*folders]) < MAX_SKILL_FILES
        try:
            self.order = [*sort_as_skills_does(files), *links]
            """All paths, in the order in which they must be written: no file is written through a link."""
        except NotComparableError:
            self.order, self._is_certain = paths, False
        self._files: list[TreeFile] = []
        self._hash = sha256()

    def add_file(self, path: str, data: bytes, permissions: int) -> None:
        """Note a file that was written, with the permissions that the file system gave it."""
        mode = EXECUTABLE if permissions & 0o100 else FILE
        self._files.append(TreeFile(path=path, mode=mode, size=len(data), sha256=sha256(data).hexdigest()))
        if not any(f"{folder}/" in f"/{path}" for folder in _SKIPPED):
            self._hash.update(path.encode())
            self._hash.update(data)

    def add_link(self, path: str, target: bytes) -> None:
        """Note a link that was written."""
        self._files.append(TreeFile(path=path, mode=LINK, size=len(target), sha256=sha256(target).hexdigest()))

    def notes(self) -> NotedFiles | None:
        """Return what was written, or `None` if it must be read to know that."""
        tree = Tree(files=tuple(sorted(self._files, key=lambda file: os.fsencode(file.path))))
        is_whole = len(self._files) == len(self.order) and tree.size <= MAX_DIGEST_BYTES
        return NotedFiles(tree=tree, computed_hash=self._hash.hexdigest()) if self._is_certain and is_whole else None


_SKIPPED = tuple(f"/{name}" for name in SKIPPED_FOLDERS)
