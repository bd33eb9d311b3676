"""Let a command write to a folder, except what runs or is obeyed later.

Protected files that are there become read-only in the sandbox. A sandbox cannot forbid a new name, so protected files
that the command makes are removed: about once a second while it runs, and when nothing of it runs any more. A copy is
kept.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from time import monotonic, time_ns
from typing import TYPE_CHECKING

from prowess._internal.files import real_path
from prowess._internal.fs import FOLDER_FLAGS
from prowess._internal.inside import is_inside
from prowess._internal.text import PATH_LIMIT, quoted

from ._protection import Protection, protected_error
from ._removed_files import KEPT_DAYS, RemovedFiles
from ._write_links import UncheckedError
from ._write_scan import find_protected, remove_new

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.agent.policy import ToolContext

    from ._write_scan import Snapshot

__all__ = ["WriteGuard", "guard_writes", "refuse_obeyed"]

_MAX_READ_ONLY = 150
"""Files and folders that are mounted read-only one by one; each delays the start of a command."""
_MAX_NAMED = 20
"""Removed files that are named."""
_INTERVAL = 1.0
"""Seconds between two checks while a command runs, at least."""
_CLOCK_STEP = 50_000_000
"""Nanoseconds by which the time of a file may be behind the clock."""
_locks: dict[str, threading.Lock] = {}
"""Folder to the lock of its commands: what one command makes must not be there before another one."""


class WriteGuard:
    """What one command may write, and what it tried to."""

    def __init__(self, folder: str) -> None:
        self.readable: tuple[str, ...] = ()
        self.writable: tuple[str, ...] = (folder,)
        self.read_only: tuple[str, ...] = ()
        self._folder = folder
        self._reason = ""
        self._removed: dict[str, str] = {}
        self.kept = RemovedFiles(os.environ)

    def protect_all(self, reason: str) -> None:
        """Make the whole folder read-only."""
        self.readable, self.writable, self.read_only, self._reason = (self._folder,), (), (), reason

    def protect(self, *snapshots: Snapshot) -> None:
        """Make read-only what is protected, or the whole folder if that is too much.

        Args:
            snapshots: of the folder, and of the root that contains it, whose files may lead into the folder.
        """
        items = {path for path, item in snapshots[0].items.items() if item.target is None}
        aliases = {path for snapshot in snapshots for path in snapshot.aliases}
        missing = {path: source for snapshot in snapshots for path, source in snapshot.missing.items()}
        sources = [source for path, source in missing.items() if is_inside(path, self._folder)]
        added = {
            path
            for path in aliases
            if is_inside(path, self._folder) and not any(is_inside(path, item) for item in items)
        }
        self.read_only = tuple(sorted(items | added))
        if any(is_inside(self._folder, path) for path in aliases):
            self.protect_all("a protected file leads to it")
        elif sources:
            self.protect_all(f"{quoted(sources[0], PATH_LIMIT)} leads to a file in it that does not exist")
        elif len(self.read_only) > _MAX_READ_ONLY:
            self.protect_all(f"it has more than {_MAX_READ_ONLY} protected files and folders")

    def add_removed(self, removed: list[tuple[str, str]]) -> None:
        """Remember what was removed, for `notes`."""
        self._removed.update(removed)

    def notes(self) -> str:
        """Return what the model should know, in lines after the result; empty if there is nothing."""
        lines = []
        if self._reason:
            lines.append(f"[the folder was read-only for this command: {self._reason}]")
        removed = {path: kind for path, kind in self._removed.items() if kind != "bytecode"}
        if removed:
            names = [
                f"{quoted(os.path.relpath(path, self._folder), PATH_LIMIT)} ({kind})" for path, kind in removed.items()
            ]
            more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
            lines.append(
                f"[removed, because other programs would run or obey it: {', '.join(names[:_MAX_NAMED])}{more}; "
                "only the role can allow a kind, with `security.allow_writes`]"
            )
            if self.kept.path is not None:
                copy = "a copy" if self.kept.complete else "a copy of a part of it"
                lines.append(f"[for {KEPT_DAYS} days {copy} is kept in {quoted(self.kept.path, PATH_LIMIT)}]")
            elif not self.kept.complete:
                lines.append("[no copy of it could be made]")
        return "".join(f"\n{line}" for line in lines)


def refuse_obeyed(protection: Protection, path: str, shown: str) -> None:
    """Refuse to write an ordinary file that a protected one leads to.

    Args:
        protection: what is protected.
        path: absolute, without links.
        shown: the path that the model gave.

    Raises:
        RefusedError: a protected file leads to it.
    """
    try:
        snapshot = find_protected(protection, protection.top(path) or os.path.dirname(path))
    except (UncheckedError, OSError):
        return  # the name is not protected; what leads to it cannot be found in so large a folder
    kinds = dict(snapshot.aliases) | {
        target: snapshot.items[source].kind if source in snapshot.items else "git"
        for target, source in snapshot.missing.items()
    }
    for obeyed, kind in kinds.items():
        if is_inside(path, obeyed):
            raise protected_error(shown, kind)


@contextmanager
def guard_writes(context: ToolContext, folder: str) -> Iterator[WriteGuard]:
    """Protect a folder while a command runs in the block.

    Args:
        context: what the tool was made with.
        folder: where the command may write; absolute, without links.
    """
    guard = WriteGuard(folder)
    protection = Protection.from_context(context)
    with _lock(protection.top(folder) or folder):
        if kind := protection.kind(f"{folder}/x"):
            guard.protect_all(f"it is protected (`{kind}`); only the role can allow it, with `security.allow_writes`")
            yield guard
            return
        if folder == protection.temporary:
            guard.protect_all("Prowess keeps temporary files there; set `TMPDIR` to another folder")
            yield guard
            return
        try:
            _make_own_folders(context, folder)
            snapshot = find_protected(protection, folder)
            top = protection.top(folder)
            others = (find_protected(protection, top),) if top and top != folder else ()
        except (UncheckedError, OSError) as error:
            guard.protect_all(str(error) if isinstance(error, UncheckedError) else "it cannot be read completely")
            yield guard
            return
        guard.protect(snapshot, *others)
        with _checking(guard, snapshot):
            yield guard


@contextmanager
def _lock(folder: str) -> Iterator[None]:
    """Wait until no other command may write to a folder, in this process or another one.

    A command could replace a folder by a link just before the sandbox of another command mounts it.
    """
    import fcntl  # which Windows lacks

    with _locks.setdefault(folder, threading.Lock()):
        fd = os.open(folder, FOLDER_FLAGS)
        try:
            with suppress(OSError):  # not all file systems have locks
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def _make_own_folders(context: ToolContext, folder: str) -> None:
    """Make the folders that Prowess itself will make there: what is there can be made read-only.

    Raises:
        OSError: one cannot be made.
    """
    for path in context.protected_paths:
        own = os.path.join(real_path(path.folder), path.name)
        if path.kind == "prowess" and "*" not in path.name and is_inside(own, folder):
            os.makedirs(own, mode=0o700, exist_ok=True)


@contextmanager
def _checking(guard: WriteGuard, snapshot: Snapshot) -> Iterator[None]:
    """Remove what a command makes, while it runs and at the end."""
    started = time_ns() - _CLOCK_STEP
    is_over = threading.Event()

    def check_until_over() -> None:
        pause = _INTERVAL
        while not is_over.wait(pause):
            begun = monotonic()
            with suppress(OSError):
                guard.add_removed(remove_new(snapshot, started, guard.kept, final=False))
            # A large folder is checked less often.
            pause = max(_INTERVAL, 10 * (monotonic() - begun))

    thread = threading.Thread(target=check_until_over, name="prowess-write-guard", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        try:
            guard.add_removed(remove_new(snapshot, started, guard.kept, final=True))
        except OSError:
            guard.add_removed([(guard.writable[0] if guard.writable else snapshot.folder, "could not be checked")])
        finally:
            guard.kept.close()
