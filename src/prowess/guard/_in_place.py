"""Guard a folder in which a command writes at once, where there are no layers.

Protected files that are there become read-only in the sandbox. A sandbox cannot forbid a new name, so protected files
that the command makes are removed: about once a second while it runs, and when nothing of it runs any more.
"""

from __future__ import annotations

import os
import stat
import threading
from contextlib import contextmanager, suppress
from time import monotonic

from prowess._internal.file_status import describe_file_type
from prowess._internal.files import is_inside, real_path_or_none
from prowess._internal.fs import FOLDER_FLAGS, open_fd, open_inside, remove_tree_at

from ._obeyed import find_obeyed
from ._walk import Item, Snapshot, Walk, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._protection import Protection
    from ._removed_files import RemovedFiles
    from ._walk import Entry

    Removed = dict[str, str]
    """Path to the kind of what was removed."""

INTERVAL = 1.0
"""Seconds between two checks while a command runs, at least."""


def find_protected(protection: Protection, folder: str) -> Snapshot:
    """Find everything in a folder that a command must not change.

    Args:
        protection: what is protected.
        folder: absolute, without links.

    Raises:
        UncheckedError: the folder has more files than are checked.
        OSError: it cannot be read.
    """
    walk = Walk(protection, None)
    items: dict[str, Item] = {}
    linked: dict[int, str] = {}
    with open_fd(folder, FOLDER_FLAGS) as fd:
        for entry in walk.walk(fd, folder):
            if entry.kind != "bytecode":
                with suppress(FileNotFoundError):
                    status = os.stat(entry.name, dir_fd=entry.fd, follow_symlinks=False)
                    target = os.readlink(entry.name, dir_fd=entry.fd) if stat.S_ISLNK(status.st_mode) else None
                    items[entry.path] = Item(kind=entry.kind, identity=identity(status), target=target)
                    if status.st_nlink > 1 and not entry.is_folder:
                        linked[status.st_ino] = entry.kind
    obeyed = find_obeyed(items, folder, protection)
    items |= {path: item for path, item in obeyed.links.items() if path not in items}
    return Snapshot(
        protection=protection,
        folder=folder,
        items=items,
        folders=frozenset(walk.folders),
        bare_parts=frozenset(walk.bare_parts),
        files=frozenset(walk.files),
        others=frozenset(walk.others),
        aliases=(_hard_links(folder, linked, items) if linked else {}) | obeyed.paths,
        missing=obeyed.missing,
    )


def _hard_links(folder: str, kinds: dict[int, str], items: dict[str, Item]) -> dict[str, str]:
    """Return the other names of files, by their inodes, with the kinds of those."""
    found, pending = {}, [folder]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.path in items:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif entry.inode() in kinds:
                    found[entry.path] = kinds[entry.inode()]
    return found


@contextmanager
def removing_new(
    snapshot: Snapshot, started: int, kept: RemovedFiles, report: Callable[[Removed], object]
) -> Iterator[None]:
    """Remove what a command makes in the block, while it runs and at the end.

    Args:
        snapshot: the folder before.
        started: when the command begins, in nanoseconds of the clock.
        kept: gets a copy of what is removed.
        report: gets what was removed.
    """
    is_over = threading.Event()

    def check_until_over() -> None:
        pause = INTERVAL
        while not is_over.wait(pause):
            begun = monotonic()
            with suppress(OSError):
                report(remove_new(snapshot, started, kept, final=False))
            # A large folder is checked less often.
            pause = max(INTERVAL, 10 * (monotonic() - begun))

    thread = threading.Thread(target=check_until_over, name="prowess-write-guard", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        try:
            report(remove_new(snapshot, started, kept, final=True))
        except OSError:
            report({snapshot.folder: "could not be checked"})


def remove_new(known: Snapshot, started: int, kept: RemovedFiles, *, final: bool) -> Removed:
    """Remove what is protected and was not there before; return paths and kinds.

    Args:
        known: the folder before the command.
        started: when the command began, in nanoseconds of the clock.
        kept: gets a copy of what is removed.
        final: whether nothing of the command is running any more.

    Raises:
        OSError: the folder cannot be read.
    """
    removed = {}
    walk = Walk(known.protection, known, started=started, final=final)
    with open_fd(known.folder, FOLDER_FLAGS) as fd:
        for entry in walk.walk(fd, known.folder):
            with suppress(FileNotFoundError):
                status = os.stat(entry.name, dir_fd=entry.fd, follow_symlinks=False)
                if entry.kind == "bytecode":
                    is_new = status.st_ctime_ns >= started
                else:
                    is_new = not _is_same(known.items.get(entry.path), entry, status)
                if is_new:
                    is_gone = remove(entry, None if entry.kind == "bytecode" else kept, known.folder, final=final)
                    removed[entry.path] = entry.kind if is_gone else f"{entry.kind}, cannot be removed"
    if final:
        _restore_links(known)
        for path in sorted(walk.others - known.others):
            if kind := _remove_special(path, known):
                removed[path] = kind
    return removed


def _is_same(item: Item | None, entry: Entry, status: os.stat_result) -> bool:
    if item is None:
        return False
    if item.target is None:
        # A command cannot replace what is read-only. If it was replaced anyway, the user did it.
        return True
    if item.identity != identity(status):
        return False
    # A new file may have the inode of the link that it replaced.
    is_link = stat.S_ISLNK(status.st_mode)
    return item.target == (os.readlink(entry.name, dir_fd=entry.fd) if is_link else None)


def _remove_special(path: str, known: Snapshot) -> str | None:
    """Remove a new link that leads out, or a FIFO or the like; return what it is, and `None` for a link inside."""
    with suppress(OSError):
        top = known.protection.top(known.folder) or known.folder
        with open_parent(known.folder, path) as fd:
            status = os.stat(os.path.basename(path), dir_fd=fd, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                real = real_path_or_none(path)
                if real is not None and is_inside(real, top):
                    return None
            os.unlink(os.path.basename(path), dir_fd=fd)
        return OUTWARD_LINK if stat.S_ISLNK(status.st_mode) else describe_file_type(status.st_mode)
    return None


OUTWARD_LINK = "a link that leads out"


@contextmanager
def open_parent(folder: str, path: str) -> Iterator[int]:
    """Open the folder that contains a path in another folder, without following a link, and close it at the end.

    Raises:
        OSError: it cannot be opened.
    """
    parts = os.path.relpath(os.path.dirname(path), folder).split("/")
    fd = open_inside(folder, [part for part in parts if part != "."], FOLDER_FLAGS)
    try:
        yield fd
    finally:
        os.close(fd)


def remove(entry: Entry, kept: RemovedFiles | None, folder: str, *, final: bool) -> bool:
    """Remove a file or folder: first its name, so that nothing finds it from then on. Return whether it is gone.

    Args:
        entry: the file or folder.
        kept: gets a copy, under the path from `folder`.
        folder: the folder that is checked.
        final: whether permissions may be changed.
    """
    new_name = f".prowess-removed-{os.urandom(8).hex()}"
    for _ in range(2):
        try:
            os.rename(entry.name, new_name, src_dir_fd=entry.fd, dst_dir_fd=entry.fd)
            break
        except FileNotFoundError:
            return True
        except OSError:
            if not final:
                return False
            with suppress(OSError):
                # The command may have taken the permission to remove anything from its folder.
                os.fchmod(entry.fd, stat.S_IMODE(os.fstat(entry.fd).st_mode) | 0o700)
    else:
        return False
    if kept is not None:
        kept.add(entry.fd, new_name, os.path.relpath(entry.path, folder))
    try:
        os.unlink(new_name, dir_fd=entry.fd)
    except OSError:
        remove_tree_at(new_name, entry.fd)
    return True


def _restore_links(known: Snapshot) -> None:
    """Make protected links again that the command replaced or removed: a link cannot be mounted read-only."""
    for path, item in known.items.items():
        if item.target is not None and not os.path.lexists(path):
            with suppress(OSError), open_parent(known.folder, path) as fd:
                os.symlink(item.target, os.path.basename(path), dir_fd=fd)
