"""Run a command that may write in a user's folder, except what other programs run or obey later.

    in a layer   the command sees the folder through a layer, which gets what it writes; what may be written is merged
                 afterwards, and what another program changed meanwhile stays
    in place     without layers (macOS, no sandbox, some file systems) the command writes in the folder itself; what is
                 protected there is read-only, and what is new is removed

Both know what is protected from one table. The cost of a layer does not depend on the size of the folder, and nothing
protected exists in the folder for a moment.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager, suppress
from time import clock_gettime_ns, sleep, time_ns

from prowess._internal.files import is_inside, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, open_fd, remove_tree
from prowess._internal.locked import locked
from prowess._internal.ownership import own_folder
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.sandbox import LayerError, make_temp_folder

from ._in_place import find_protected, removing_new
from ._layers import can_have_layer, open_layer, remember_layer_failure
from ._merge import Merge
from ._obeyed import obeyed_kinds, protected_right_in
from ._removed_files import KEPT_DAYS, RemovedFiles
from ._walk import UncheckedError, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prowess.sandbox import Result

    from ._protection import Protection
    from ._walk import Snapshot

_MAX_READ_ONLY = 150
"""Files and folders that are mounted read-only one by one; each delays the start of a command."""
_MAX_NAMED = 20
"""Files that are named."""
_MAX_COMPARED = 100_000
"""Files of a folder whose times are looked at, to tell which of them a command wrote."""
_CLOCK_STEP = 50_000_000
"""Nanoseconds by which the time of a file may be behind the clock."""
_COARSE_CLOCK = 5
"""The clock of Linux by which files get their times, from linux/time.h."""
_locks: dict[str, threading.Lock] = {}
"""Folder to the lock of those that write in it."""


class GuardedRun(Frozen):
    """What a command did in a folder."""

    result: Result
    written: tuple[str, ...] | None
    """Paths of the regular files that it wrote, relative to the folder; `None` if there are too many files to tell."""
    notes: tuple[str, ...]
    """What the model should know, in lines: what the folder does not have, and why."""
    read_only: tuple[str, ...] = ()
    """Paths that the command could not change."""


class Guard(Frozen):
    """The guard of a folder in which commands may write."""

    folder: str
    """Absolute, without links."""
    protection: Protection
    env: Mapping[str, str]
    """The environment, which says where copies of removed files are kept."""
    allowed_by: str
    """Who can allow a protected file, and how, for messages."""
    layers: bool
    """Whether the sandbox of the commands can put a layer over a folder."""

    def run(self, command: Callable[..., Result]) -> GuardedRun:
        """Run a command.

        Args:
            command: called with `readable`, `writable`, `read_only` and `layers`, as for `prowess.sandbox.run`.

        Raises:
            SandboxError: the command cannot be started.
            OSError: the folder cannot be opened.
        """
        if reason := self._whole_reason():
            return self._run_read_only(command, reason)
        temporary = self.protection.temporary
        if self.layers and can_have_layer(self.folder, temporary) and os.access(self.folder, os.W_OK):
            try:
                return self._run_in_layer(command)
            except LayerError:
                remember_layer_failure(self.folder, self.protection.temporary)
        with _lock(self._top):
            return self._run_in_place(command)

    @property
    def _top(self) -> str:
        return self.protection.top(self.folder) or self.folder

    def _whole_reason(self) -> str | None:
        """Return why nothing in the folder may be written; `None` if that is allowed."""
        if (kind := self.protection.kind(f"{self.folder}/x")) and not self.protection.contains_allowed(self.folder):
            return f"it is protected (`{kind}`); {self.allowed_by}"
        if self.folder == self.protection.temporary:
            return "Prowess keeps temporary files there; set `TMPDIR` to another folder"
        return None

    def _run_read_only(self, command: Callable[..., Result], reason: str) -> GuardedRun:
        result = command(readable=(self.folder,), writable=(), read_only=(), layers=())
        return GuardedRun(result=result, written=(), notes=(f"[the folder was read-only for this command: {reason}]",))

    # ── in a layer ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _run_in_layer(self, command: Callable[..., Result]) -> GuardedRun:
        """Run a command with a layer over the folder, and merge the changes.

        Raises:
            LayerError: this system cannot make the layer, and the command was not started.
        """
        temporary = make_temp_folder("layer")
        changes, work = f"{temporary}/changes", f"{temporary}/work"
        try:
            os.mkdir(changes)
            os.mkdir(work)
            with open_layer(self.folder, changes, work) as (fd, layer), open_fd(changes, FOLDER_FLAGS) as changes_fd:
                obeyed = _Obeyed(self.protection, self._top)
                fixed = tuple(
                    path
                    for path, item in protected_right_in(self.protection, self.folder).items()
                    if item.target is None
                )[:_MAX_READ_ONLY]
                started = time_ns()
                result = command(readable=(), writable=(self.folder,), read_only=fixed, layers=(layer,))
                kept = RemovedFiles(self.env)
                self._check_place(fd)
                try:
                    with _lock(self._top):
                        self._check_place(fd)
                        merge = Merge(self.folder, self.protection, started, kept, obeyed.kinds())
                        merge.run(fd, changes_fd)
                finally:
                    kept.close()
        finally:
            # Not a daemon: the process ends after it. To remove a folder can take longer than the command.
            threading.Thread(target=remove_tree, args=(temporary,), name="prowess-layer").start()
        notes = self._notes(merge.left_out, kept, merge.conflicts, merge.failed)
        written = tuple(os.path.relpath(path, self.folder) for path in merge.written)
        return GuardedRun(result=result, written=written, notes=notes, read_only=fixed)

    def _check_place(self, fd: int) -> None:
        """Check that the folder is still where it was, and not behind a link.

        Raises:
            OSError: it was moved or removed.
        """
        if real_path(self.folder) != self.folder or identity(os.stat(self.folder)) != identity(os.fstat(fd)):
            raise FileNotFoundError(2, "the working folder was moved or removed", self.folder)

    # ── in place ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _run_in_place(self, command: Callable[..., Result]) -> GuardedRun:
        try:
            self._make_own_folders()
            snapshot = find_protected(self.protection, self.folder)
            others = (find_protected(self.protection, self._top),) if self._top != self.folder else ()
        except (UncheckedError, OSError) as error:
            reason = str(error) if isinstance(error, UncheckedError) else "it cannot be read completely"
            return self._run_read_only(command, reason)
        fixed, reason = self._read_only_paths(snapshot, *others)
        if reason:
            return self._run_read_only(command, reason)
        kept, removed = RemovedFiles(self.env), dict[str, str]()
        started = _time_of_files()
        try:
            with removing_new(snapshot, started - _CLOCK_STEP, kept, removed.update):
                result = command(readable=(), writable=(self.folder,), read_only=fixed, layers=())
        finally:
            kept.close()
        return GuardedRun(
            result=result,
            written=_changed_files(snapshot, started),
            notes=self._notes(removed, kept),
            read_only=fixed,
        )

    def _make_own_folders(self) -> None:
        """Make the folders that Prowess itself will make there: what is there can be made read-only.

        Raises:
            OSError: one cannot be made.
        """
        for path in self.protection.paths:
            own = os.path.join(real_path(path.folder), path.name)
            is_here = path.kind == "prowess" and "*" not in path.name and is_inside(own, self.folder)
            if is_here and not os.path.lexists(own):
                own_folder(own)

    def _read_only_paths(self, *snapshots: Snapshot) -> tuple[tuple[str, ...], str]:
        """Return what is made read-only one by one, or else why the whole folder is.

        Args:
            snapshots: of the folder, and of the root that contains it, whose files may lead into the folder.
        """
        items = {path for path, item in snapshots[0].items.items() if item.target is None}
        aliases = {path for snapshot in snapshots for path in snapshot.aliases}
        missing = {path: source for snapshot in snapshots for path, source in snapshot.missing.items()}
        # One that is protected by its name, too, is removed when it is made.
        sources = [
            source
            for path, source in missing.items()
            if is_inside(path, self.folder) and not self.protection.kind(path)
        ]
        added = {
            path
            for path in aliases
            if is_inside(path, self.folder) and not any(is_inside(path, item) for item in items)
        }
        if any(is_inside(self.folder, path) for path in aliases):
            return (), "a protected file leads to it"
        if sources:
            return (), f"{quoted(sources[0], PATH_LIMIT)} leads to a file in it that does not exist"
        if len(items | added) > _MAX_READ_ONLY:
            return (), f"it has more than {_MAX_READ_ONLY} protected files and folders"
        return tuple(sorted(items | added)), ""

    # ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _notes(
        self,
        left_out: Mapping[str, str],
        kept: RemovedFiles,
        conflicts: Iterable[str] = (),
        failed: Mapping[str, str] = {},
    ) -> tuple[str, ...]:
        """Return what the model should know, in lines."""
        removed = {path: kind for path, kind in sorted(left_out.items()) if kind != "bytecode"}
        lines = []
        if removed:
            names = self._names(f"{self._name(path)} ({kind})" for path, kind in removed.items())
            lines.append(f"[removed, because other programs would run or obey it: {names}; {self.allowed_by}]")
        if conflicts:
            names = self._names(map(self._name, conflicts))
            lines.append(f"[not written, because another program changed it meanwhile: {names}]")
        if failed:
            names = self._names(f"{self._name(path)} ({reason})" for path, reason in failed.items())
            lines.append(f"[not written, because the system refused it: {names}]")
        if lines and kept.path is not None:
            copy = "a copy" if kept.complete else "a copy of a part of it"
            lines.append(f"[for {KEPT_DAYS} days {copy} is kept in {quoted(kept.path, PATH_LIMIT)}]")
        elif lines and not kept.complete:
            lines.append("[no copy of it could be made]")
        return tuple(lines)

    def _name(self, path: str) -> str:
        return quoted(os.path.relpath(path, self.folder), PATH_LIMIT)

    @staticmethod
    def _names(names: Iterable[str]) -> str:
        names = list(names)
        return ", ".join(names[:_MAX_NAMED]) + (
            f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        )


def obeyed_kind(protection: Protection, path: str) -> str | None:
    """Return the kind of a protected file that leads to an ordinary one; `None` if none does.

    Args:
        protection: what is protected.
        path: of the ordinary file, absolute, without links.
    """
    kinds = obeyed_kinds(protection, protection.top(path) or os.path.dirname(path))
    return next((kind for obeyed, kind in kinds.items() if is_inside(path, obeyed)), None)


class _Obeyed:
    """What protected files lead to, found while a command runs."""

    def __init__(self, protection: Protection, folder: str) -> None:
        self._kinds: dict[str, str] = {}

        def find() -> None:
            self._kinds = obeyed_kinds(protection, folder)

        self._thread = threading.Thread(target=find, name="prowess-write-guard", daemon=True)
        self._thread.start()

    def kinds(self) -> dict[str, str]:
        """Return the files with the kinds of those that lead to them."""
        self._thread.join()
        return self._kinds


@contextmanager
def _lock(folder: str) -> Iterator[None]:
    """Wait until no other command may write to a folder, in this process or another one.

    A command could replace a folder by a link just before the sandbox of another command mounts it.
    """
    with _locks.setdefault(folder, threading.Lock()), locked(folder):
        yield


def _time_of_files() -> int:
    """Return a time, in nanoseconds, that files changed from now on have at least, and older ones do not."""
    started = time_ns()
    if sys.platform == "linux":
        while clock_gettime_ns(_COARSE_CLOCK) < started:  # some milliseconds
            sleep(0.001)
    return started


def _changed_files(known: Snapshot, started: int) -> tuple[str, ...] | None:
    """Return the regular files of a folder that are new or have changed; `None` if there are too many files.

    Args:
        known: the folder before.
        started: when the command began, in nanoseconds of the clock.
    """
    found, pending, left = [], [known.folder], _MAX_COMPARED
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    return None
                if entry.path in known.items:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and (
                    entry.path not in known.files or entry.stat().st_ctime_ns >= started
                ):
                    found.append(os.path.relpath(entry.path, known.folder))
    return tuple(found)
