"""Let a command write to a folder, except what runs or is obeyed later.

Protected files that are there become read-only in the sandbox. A sandbox cannot forbid a new name, so protected files
that the command makes are removed: about once a second while it runs, and when nothing of it runs any more. A copy is
kept.
"""

from __future__ import annotations

import os
import stat
import threading
from contextlib import contextmanager, suppress
from time import monotonic, time_ns

from prowess._internal.file_names import plain_file_name
from prowess._internal.files import UnreadableError, is_inside, read_file, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, open_inside, remove_tree_at
from prowess._internal.git_settings import parse_settings
from prowess._internal.locked import locked
from prowess._internal.text import PATH_LIMIT, quoted

from ._removed_files import KEPT_DAYS, RemovedFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ._protection import Protection

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

    def __init__(self, folder: str, allowed_by: str) -> None:
        self.readable: tuple[str, ...] = ()
        self.writable: tuple[str, ...] = (folder,)
        self.read_only: tuple[str, ...] = ()
        self.allowed_by = allowed_by
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
                f"{self.allowed_by}]"
            )
            if self.kept.path is not None:
                copy = "a copy" if self.kept.complete else "a copy of a part of it"
                lines.append(f"[for {KEPT_DAYS} days {copy} is kept in {quoted(self.kept.path, PATH_LIMIT)}]")
            elif not self.kept.complete:
                lines.append("[no copy of it could be made]")
        return "".join(f"\n{line}" for line in lines)


def obeyed_kind(protection: Protection, path: str) -> str | None:
    """Return the kind of a protected file that leads to an ordinary one; `None` if none does.

    Args:
        protection: what is protected.
        path: of the ordinary file, absolute, without links.
    """
    try:
        snapshot = find_protected(protection, protection.top(path) or os.path.dirname(path))
    except (UncheckedError, OSError):
        return None  # the name is not protected; what leads to it cannot be found in so large a folder
    kinds = dict(snapshot.aliases) | {
        target: snapshot.items[source].kind if source in snapshot.items else "git"
        for target, source in snapshot.missing.items()
    }
    return next((kind for obeyed, kind in kinds.items() if is_inside(path, obeyed)), None)


@contextmanager
def guard_writes(protection: Protection, folder: str, allowed_by: str) -> Iterator[WriteGuard]:
    """Protect a folder while a command runs in the block.

    Args:
        protection: what is protected.
        folder: where the command may write; absolute, without links.
        allowed_by: who can allow a kind, and how, for messages.
    """
    guard = WriteGuard(folder, allowed_by)
    with _lock(protection.top(folder) or folder):
        if kind := protection.kind(f"{folder}/x"):
            guard.protect_all(f"it is protected (`{kind}`); {allowed_by}")
            yield guard
            return
        if folder == protection.temporary:
            guard.protect_all("Prowess keeps temporary files there; set `TMPDIR` to another folder")
            yield guard
            return
        try:
            _make_own_folders(protection, folder)
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
    with _locks.setdefault(folder, threading.Lock()), locked(folder):
        yield


def _make_own_folders(protection: Protection, folder: str) -> None:
    """Make the folders that Prowess itself will make there: what is there can be made read-only.

    Raises:
        OSError: one cannot be made.
    """
    for path in protection.paths:
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


MAX_ENTRIES = 100_000
"""Files and folders that are checked before a command; after it, as many more."""
_MAX_DEPTH = 60
_BARE_NAMES = ("head", "commondir", "objects", "refs")
"""Names in a repository without a working tree."""
Identity = tuple[int, int]


class Entry(Frozen):
    """A file or folder that a walk finds."""

    fd: int
    """Of the folder that contains it."""
    path: str
    """Absolute."""
    kind: str
    is_folder: bool

    @property
    def name(self) -> str:
        """The last part of the path."""
        return os.path.basename(self.path)


class Snapshot(Frozen):
    """A folder before a command."""

    protection: Protection
    folder: str
    items: dict[str, Item]
    """Path to what is protected; everything in a folder is."""
    folders: frozenset[Identity]
    """The folders that are not protected."""
    bare_parts: frozenset[Identity]
    """Files and folders that could be parts of a repository without a working tree."""
    aliases: Mapping[str, str]
    """Other names of protected files, hard links and what they lead to, to the kind of those."""
    missing: Mapping[str, str]
    """Paths that do not exist, to the protected file that leads to them."""


class _Walk:
    """One walk through a folder; finds what is protected.

    Args:
        protection: what is.
        known: the folder before; `None` for the walk that finds out.
        started: when the command began.
        final: whether nothing else is running, so that permissions may be changed.
    """

    def __init__(
        self, protection: Protection, known: Snapshot | None, *, started: int = 0, final: bool = False
    ) -> None:
        self.protection, self.known, self.started, self.final = protection, known, started, final
        self.left = MAX_ENTRIES if known is None else MAX_ENTRIES + len(known.folders) + MAX_ENTRIES
        self.folders: set[Identity] = set()
        self.bare_parts: set[Identity] = set()
        self.inodes: dict[int, list[str]] = {}
        """Inode to paths of the regular files that are not protected."""
        self._role_inodes = {_inode(file) for file in protection.files} if "role" not in protection.allowed else set()

    def walk(self, fd: int, path: str, parent: str, depth: int = 0) -> Iterator[Entry]:
        """Yield what is protected in an open folder.

        Raises:
            UncheckedError: there is too much, in the walk before the command.
        """
        with os.scandir(fd) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False), entry.inode()) for entry in entries]
        self.left -= len(found)
        if self.known is None and (self.left < 0 or depth > _MAX_DEPTH):
            raise UncheckedError(f"it has more than {MAX_ENTRIES:,} files or {_MAX_DEPTH} levels of folders")
        status = os.fstat(fd)
        self.folders.add((status.st_dev, status.st_ino))
        yield from self._bare_parts(fd, path, found)
        for name, is_folder, inode in found:
            full = f"{path}/{name}"
            if self.known is not None and (item := self.known.items.get(full)):
                yield Entry(fd=fd, path=full, kind=item.kind, is_folder=is_folder)
                continue
            kind = self._kind(full, parent, name, inode, is_folder=is_folder)
            if kind == "bytecode" and is_folder:
                kind = None  # what is in it is checked
            if kind is not None:
                yield Entry(fd=fd, path=full, kind=kind, is_folder=is_folder)
            elif is_folder:
                yield from self._enter(fd, full, name, depth)
            elif self.known is None:
                self.inodes.setdefault(inode, []).append(full)

    def _kind(self, path: str, parent: str, name: str, inode: int, *, is_folder: bool) -> str | None:
        if path == self.protection.temporary:  # what is new in it may be of another command
            return "prowess"
        if kind := self.protection.part_kind(name, parent) or self.protection.path_kind(path):
            return kind
        if is_folder or "role" in self.protection.allowed:
            return None
        if inode in self._role_inodes or path in self.protection.files:
            return "role"
        if not plain_file_name(name).endswith((".yaml", ".yml")):
            return None
        # Parsing is slow: of the files in other folders, only those that are new or could be roles are parsed.
        is_candidate = os.path.dirname(path) == self.protection.folder
        if self.known is not None and not is_candidate and not self._is_new(path):
            return None
        data = _read(path)
        is_candidate = is_candidate or self.known is not None or b"initrunner" in data
        return "role" if is_candidate and self.protection.is_role(path, data) else None

    def _is_new(self, path: str) -> bool:
        try:
            return os.lstat(path).st_ctime_ns >= self.started
        except OSError:
            return False

    def _bare_parts(self, fd: int, path: str, found: Iterable[tuple[str, bool, int]]) -> Iterator[Entry]:
        """Remember possible parts of a repository without a working tree; yield the new ones of a whole repository."""
        parts = [(name, is_folder) for name, is_folder, _ in found if plain_file_name(name) in _BARE_NAMES]
        is_bare = bool(parts) and self.protection.folder_kind(name for name, _ in parts) == "git"
        for name, is_folder in parts:
            with suppress(OSError):
                identity = _identity(os.stat(name, dir_fd=fd, follow_symlinks=False))
                self.bare_parts.add(identity)
                if is_bare and self.known is not None and identity not in self.known.bare_parts:
                    yield Entry(fd=fd, path=f"{path}/{name}", kind="git", is_folder=is_folder)

    def _enter(self, above: int, path: str, name: str, depth: int) -> Iterator[Entry]:
        fd = self._open(above, name)
        if fd is None:
            yield from self._unreadable(above, path, name)
            return
        try:
            if self.known is None and (kind := self.protection.folder_kind(_names(fd))):
                yield Entry(fd=above, path=path, kind=kind, is_folder=True)
                return
            is_new = self.known is not None and _identity(os.fstat(fd)) not in self.known.folders
            if is_new and (self.left < 0 or depth >= _MAX_DEPTH):
                yield Entry(fd=above, path=path, kind="unchecked", is_folder=True)
            else:
                yield from self.walk(fd, path, name, depth + 1)
        except OSError:
            yield from self._unreadable(above, path, name)
        finally:
            os.close(fd)

    def _unreadable(self, above: int, path: str, name: str) -> Iterator[Entry]:
        """Yield a folder that cannot be checked: it is not written, and if the command made it, it is removed."""
        with suppress(OSError):
            identity = _identity(os.stat(name, dir_fd=above, follow_symlinks=False))
            if self.known is None or (self.final and identity not in self.known.folders):
                yield Entry(fd=above, path=path, kind="unreadable", is_folder=True)

    def _open(self, above: int, name: str) -> int | None:
        for _ in range(2):
            try:
                return os.open(name, FOLDER_FLAGS, dir_fd=above)
            except FileNotFoundError:
                return None
            except OSError:
                if not self.final:
                    return None
                with suppress(OSError):
                    if stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
                        os.chmod(name, 0o700, dir_fd=above)
        return None


def find_protected(protection: Protection, folder: str) -> Snapshot:
    """Find everything in a folder that a command must not change.

    Args:
        protection: what is protected.
        folder: absolute, without links.

    Raises:
        UncheckedError: the folder has more files than are checked.
        OSError: it cannot be read.
    """
    walk = _Walk(protection, None)
    items: dict[str, Item] = {}
    linked_inodes: dict[int, str] = {}
    fd = os.open(folder, FOLDER_FLAGS)
    try:
        for entry in walk.walk(fd, folder, os.path.basename(folder)):
            if entry.kind != "bytecode":
                with suppress(FileNotFoundError):
                    status = os.stat(entry.name, dir_fd=entry.fd, follow_symlinks=False)
                    target = os.readlink(entry.name, dir_fd=entry.fd) if stat.S_ISLNK(status.st_mode) else None
                    items[entry.path] = Item(kind=entry.kind, identity=_identity(status), target=target)
                    if status.st_nlink > 1 and not entry.is_folder:
                        linked_inodes[status.st_ino] = entry.kind
    finally:
        os.close(fd)
    obeyed = find_obeyed(items, folder)
    items |= {path: item for path, item in obeyed.links.items() if path not in items}
    aliases = {path: kind for inode, kind in linked_inodes.items() for path in walk.inodes.get(inode, ())}
    return Snapshot(
        protection=protection,
        folder=folder,
        items=items,
        folders=frozenset(walk.folders),
        bare_parts=frozenset(walk.bare_parts),
        aliases=aliases | obeyed.paths,
        missing=obeyed.missing,
    )


def remove_new(known: Snapshot, started: int, kept: RemovedFiles, *, final: bool) -> list[tuple[str, str]]:
    """Remove what is protected and was not there before; return paths and kinds.

    Args:
        known: the folder before the command.
        started: when the command began, in nanoseconds of the clock.
        kept: gets a copy of what is removed.
        final: whether nothing of the command is running any more.

    Raises:
        OSError: the folder cannot be read.
    """
    removed = []
    walk = _Walk(known.protection, known, started=started, final=final)
    fd = os.open(known.folder, FOLDER_FLAGS)
    try:
        for entry in walk.walk(fd, known.folder, os.path.basename(known.folder)):
            with suppress(FileNotFoundError):
                status = os.stat(entry.name, dir_fd=entry.fd, follow_symlinks=False)
                if entry.kind == "bytecode":
                    is_new = status.st_ctime_ns >= started
                else:
                    is_new = not _is_same(known.items.get(entry.path), entry, status)
                if is_new:
                    is_gone = _remove(entry, None if entry.kind == "bytecode" else kept, known.folder, final=final)
                    removed.append((entry.path, entry.kind if is_gone else f"{entry.kind}, cannot be removed"))
    finally:
        os.close(fd)
    if final:
        _restore_links(known)
    return removed


def _is_same(item: Item | None, entry: Entry, status: os.stat_result) -> bool:
    if item is None:
        return False
    if item.target is None:
        # A command cannot replace what is read-only. If it was replaced anyway, the user did it.
        return True
    if item.identity != _identity(status):
        return False
    # A new file may have the inode of the link that it replaced.
    is_link = stat.S_ISLNK(status.st_mode)
    return item.target == (os.readlink(entry.name, dir_fd=entry.fd) if is_link else None)


def _remove(entry: Entry, kept: RemovedFiles | None, folder: str, *, final: bool) -> bool:
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
            parts = os.path.relpath(os.path.dirname(path), known.folder).split("/")
            with suppress(OSError):
                fd = open_inside(known.folder, [part for part in parts if part != "."], FOLDER_FLAGS)
                try:
                    os.symlink(item.target, os.path.basename(path), dir_fd=fd)
                finally:
                    os.close(fd)


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return -1


def _names(fd: int) -> list[str]:
    with os.scandir(fd) as entries:
        return [entry.name for entry in entries]


def _read(path: str) -> bytes:
    """Return a regular file that is not a link and not large; another one is empty."""
    try:
        return read_file(path)
    except UnreadableError:
        return b""


_MAX_INNER = 20_000
"""Files and folders in protected folders that are looked at."""
_MAX_LINKS = 40
_NOT_SEARCHED = ("packages", "python", "bytecode", "unreadable")
"""Kinds of large folders whose links are not followed."""
_DATA_OF_GIT = ("objects", "refs", "logs")


class UncheckedError(Exception):
    """A folder cannot be checked; the message says why."""


class Item(Frozen):
    """A protected file or folder that was there before."""

    kind: str
    identity: tuple[int, int]
    """Device and inode."""
    target: str | None = None
    """What it leads to, if it is a link."""


class Obeyed:
    """What protected files lead to in a folder."""

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}
        """Path of a file or folder to the kind that leads to it."""
        self.missing: dict[str, str] = {}
        """Path that does not exist to the path that leads to it."""
        self.links: dict[str, Item] = {}
        """Links on the way."""


def find_obeyed(items: dict[str, Item], folder: str) -> Obeyed:
    """Find what protected files in a folder lead to, if that is in the folder too.

    Args:
        items: path to what is protected.
        folder: absolute, without links.

    Raises:
        UncheckedError: there is too much to look at.
    """
    obeyed = Obeyed()
    left = _MAX_INNER
    for path, item in items.items():
        if item.target is not None:
            _follow(path, folder, item.kind, obeyed)
        elif item.kind not in _NOT_SEARCHED and os.path.isdir(path):
            for link in _links_in(path):
                left -= 1
                if left < 0:
                    raise UncheckedError(f"its protected folders have more than {_MAX_INNER:,} files")
                if link:
                    _follow(link, folder, item.kind, obeyed)
            if hooks := _hooks_folder(path):
                _add(hooks, path, folder, item.kind, obeyed)
    return obeyed


def _links_in(folder: str) -> Iterator[str]:
    """Yield each link below a folder, and an empty text for everything else there."""
    folders = [folder]
    while folders:
        current = folders.pop()
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False) and entry.name not in _DATA_OF_GIT:
                        folders.append(entry.path)
                    yield entry.path if entry.is_symlink() else ""
        except OSError:
            continue


def _hooks_folder(git_folder: str) -> str | None:
    """Return the folder of hooks that a repository's configuration names."""
    try:
        settings = parse_settings(read_file(f"{git_folder}/config"))
    except UnreadableError:
        return None
    hooks = settings.get("core.hookspath")
    return os.path.join(os.path.dirname(git_folder), os.path.expanduser(hooks)) if hooks else None


def _follow(link: str, folder: str, kind: str, obeyed: Obeyed) -> None:
    """Add what a link leads to, and the links on the way."""
    path = link
    for _ in range(_MAX_LINKS):
        target = os.path.join(real_path(os.path.dirname(path)), os.readlink(path))
        path = os.path.join(real_path(os.path.dirname(target)), os.path.basename(target))
        if path in obeyed.links or not is_inside(path, folder):
            break
        status = os.lstat(path) if os.path.lexists(path) else None
        if status is None or not stat.S_ISLNK(status.st_mode):
            break
        obeyed.links[path] = Item(kind=kind, identity=(status.st_dev, status.st_ino), target=os.readlink(path))
    _add(path, link, folder, kind, obeyed)


def _add(path: str, source: str, folder: str, kind: str, obeyed: Obeyed) -> None:
    real = real_path(path)
    if is_inside(folder, real):
        raise UncheckedError(f"{quoted(source, PATH_LIMIT)} leads to the folder itself")
    if is_inside(real, folder):
        if os.path.lexists(real):
            obeyed.paths.setdefault(real, kind)
        else:
            obeyed.missing.setdefault(real, source)
