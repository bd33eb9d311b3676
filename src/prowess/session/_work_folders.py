"""Keep the folders in which the scripts of conversations work, within limits.

A temporary folder has a limit for what is in it, and all of this process have one together. The folders of
conversations that ran no script for the longest time are removed to make room, and each one a while after its last
script.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from time import monotonic
from weakref import WeakSet

from prowess._internal.files import real_path, real_path_or_none
from prowess._internal.frozen import Frozen
from prowess._internal.fs import remove_tree
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess.errors import SkillError
from prowess.guard import open_layer
from prowess.sandbox import folder_usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess._internal.layers import Layer
    from prowess.sandbox import Limits

_PREFIX = "prowess-scripts-"
_MAX_CONVERSATIONS = 1000
"""Conversations whose working folders are kept; the one that ran no script for the longest time is forgotten first."""
MAX_WRITTEN = 1000
"""Files that scripts wrote in one conversation and that can be read back; the last ones."""


class ScriptSpace(Frozen):
    """What the temporary folders may have in which scripts work, and how long they are kept."""

    folder_size: int = 1024**3
    """Bytes in the folder of a conversation; a file counts 1 KiB at least."""
    folder_files: int = 10_000
    """Files and folders in it."""
    total_size: int = 4 * 1024**3
    """Bytes in the folders of all conversations of this process. The oldest folders are removed to make room."""
    total_files: int = 100_000
    """Files and folders in them."""
    keep: float = 86_400.0
    """Seconds that a folder is kept after the last script of its conversation."""


class WorkFolders:
    """The working folders of conversations: one for all, or a temporary one for each."""

    def __init__(self, path: str | None, space: ScriptSpace, *, contained: bool) -> None:
        self._path, self._space, self._contained = path, space, contained
        self._folders: dict[str, WorkFolder] = {}
        """By conversation, the one that ran a script last at the end."""
        self._lock = threading.Lock()

    def get(self, conversation: str) -> WorkFolder:
        """Return the folder of a conversation.

        Raises:
            OSError: it cannot be created, or does not exist any more.
        """
        with self._lock:
            removed = [self._folders.pop(name) for name in [*self._to_remove(conversation)]]
            folder = self._folders.pop(conversation, None) or WorkFolder(
                self._path, self._space, contained=self._contained
            )
            self._folders[conversation] = folder
            folder.used_at = monotonic()
        del removed  # outside the lock, since it may take a while
        folder.check()
        return folder

    def _to_remove(self, conversation: str) -> Iterator[str]:
        """Yield the conversations whose folders are not needed any more, or must make room."""
        others = [(name, folder) for name, folder in self._folders.items() if name != conversation and not folder.runs]
        size, files = _total_usage()
        too_many = len(self._folders) - _MAX_CONVERSATIONS + (conversation not in self._folders)
        for name, folder in others:
            is_old = monotonic() - folder.used_at > self._space.keep
            is_full = size + self._space.folder_size > self._space.total_size
            is_full = is_full or files + self._space.folder_files > self._space.total_files
            if is_old or too_many > 0 or (is_full and any(folder.usage)):
                size, files, too_many = size - folder.usage[0], files - folder.usage[1], too_many - 1
                yield name

    def find(self, conversation: str) -> WorkFolder | None:
        """Return the folder of a conversation if a script has run in it."""
        return self._folders.get(conversation)


class WorkFolder:
    """Where the scripts of one conversation work."""

    def __init__(self, path: str | None, space: ScriptSpace, *, contained: bool) -> None:
        self._space = space
        self._temporary = None
        if path is None:
            self._temporary = TemporaryDirectory(_PREFIX, real_path(temporary_directory_root(contained=contained)))
        self.path = path or os.path.join(self._temporary.path if self._temporary else "", "work")
        """Absolute and without links."""
        self.place = os.path.dirname(os.path.dirname(self.path))
        """The folder for temporary files, if it is one."""
        if path is None:
            os.mkdir(self.path, 0o700)
            _TEMPORARY.add(self)
        self.usage = (0, 0)
        """Bytes, and files and folders, after the last script; of a temporary folder only."""
        self.runs = 0
        """Scripts that are running."""
        self.used_at = 0.0
        self._written: dict[str, None] = {}
        self._lock = threading.Lock()
        self.answers: dict[tuple[str, str | None], bool] = {}
        """What the user answered in this conversation: of a script, or of all, of the skill with a digest."""
        self.question = threading.Lock()
        self._layer = threading.Lock()

    def check(self) -> None:
        """Check that the folder is still there, and not behind a link.

        Raises:
            OSError: it was moved or removed.
        """
        if real_path_or_none(self.path) != self.path or not os.path.isdir(self.path):
            raise FileNotFoundError(2, "the working folder was moved or removed", self.path)

    @contextmanager
    def layer_over(self, folder: str) -> Iterator[Layer]:
        """Yield a layer over a folder that keeps what is written in this one; one script at a time.

        Args:
            folder: absolute, without links.
        """
        beside = os.path.join(os.path.dirname(self.path), "layer")
        with self._layer:
            if os.path.lexists(beside):
                remove_tree(beside)
            os.mkdir(beside, 0o700)
            with open_layer(folder, self.path, beside) as (_, layer):
                yield layer

    @property
    def written(self) -> tuple[str, ...]:
        """The files that scripts wrote, relative to the folder, last ones last."""
        return tuple(self._written)

    def add_written(self, paths: tuple[str, ...]) -> None:
        """Remember files that a script wrote."""
        with self._lock:
            for path in paths:
                self._written.pop(path, None)
                self._written[path] = None
            for path in [*self._written][:-MAX_WRITTEN]:
                del self._written[path]

    # ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def script(self, limits: Limits) -> Iterator[tuple[Limits, list[str]]]:
        """Yield the limits of a script that runs in the folder; what it wrote beyond them is removed afterwards.

        Yields:
            The limits, and a list that then has a sentence about it.

        Raises:
            SkillError: no room is left.
            OSError: the folder was moved or removed.
        """
        if self._temporary is None:
            yield limits, []
            self.check()
            return
        size, files = self._room()
        if size <= 0 or files <= 0:
            hint = "go on without the script, or try again when other conversations have ended"
            raise SkillError("the temporary folders of scripts are full", hint=hint)
        largest = size if limits.file_size is None else min(size, limits.file_size)
        notes: list[str] = []
        before = frozenset(os.listdir(self.path))
        self.runs += 1
        try:
            yield limits.with_changes(folder_size=size, folder_files=files, file_size=largest), notes
        finally:
            self.runs -= 1
            self.check()
            notes += self._remove_excess(before)

    def _room(self) -> tuple[int, int]:
        """Return the bytes and the number of files that the folder may have, less what others have."""
        space, (size, files) = self._space, _total_usage()
        return (
            min(space.folder_size, space.total_size - size + self.usage[0]),
            min(space.folder_files, space.total_files - files + self.usage[1]),
        )

    def _remove_excess(self, before: frozenset[str]) -> Iterator[str]:
        """Measure the folder; if it has too much, remove what is new in it, or else all; yield a sentence about it."""
        size, files = self._room()
        for step in ("new", "all", "none"):
            used, count, is_all = folder_usage(self.path, size, files)
            self.usage = used, count
            if is_all and used <= size and count <= files:
                return
            if step == "new":
                yield f"what it wrote was removed: more than {size:,} bytes or {files:,} files, or a folder it closed"
            for name in os.listdir(self.path):
                if step == "all" or (step == "new" and name not in before):
                    _remove(os.path.join(self.path, name))


def _remove(path: str) -> None:
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
    else:
        remove_tree(path)


_TEMPORARY: WeakSet[WorkFolder] = WeakSet()


def _total_usage() -> tuple[int, int]:
    usage = [folder.usage for folder in tuple(_TEMPORARY)]
    return sum(size for size, _ in usage), sum(files for _, files in usage)
