"""Bring the changes that a command made in a layer into the folder below, except what must not be written.

Only the changes are looked at, whatever the size of the folder. What another program changed in the folder since the
command began stays as it is, and is a conflict. Protected files never exist in the folder, not for a moment.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from prowess._internal.file_status import describe_file_type
from prowess._internal.files import is_inside, real_path_or_none
from prowess._internal.frozen import EMPTY
from prowess._internal.fs import (
    FOLDER_FLAGS,
    READ_FLAGS,
    open_fd,
    remove_tree_at,
    rename_no_replace,
    replacement_file,
    write_all,
)
from prowess._internal.text import describe_os_error

from ._in_place import OUTWARD_LINK, find_protected, open_parent, remove
from ._walk import Entry, Snapshot, UncheckedError, Walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._protection import Protection
    from ._removed_files import RemovedFiles

_PRIVATE_NAMES = ("user.overlay.origin", "trusted.overlay.origin")
"""Attributes with which the system marks the files of a layer."""
_OPAQUE = {True: "trusted.overlay.opaque", False: "user.overlay.opaque"}
"""Whether this user is root to what marks folders in its layers: commands of root can set the other one themselves."""
_COPIED_BYTES = 1 << 20


class Merge:
    """One merge of a layer.

    Args:
        folder: below the layer; absolute, without links.
        protection: what must not be written.
        started: when the command began, in nanoseconds of the clock.
        kept: gets a copy of what is left out.
        obeyed: ordinary files and folders that protected files lead to, with the kinds of those.
    """

    def __init__(
        self, folder: str, protection: Protection, started: int, kept: RemovedFiles, obeyed: Mapping[str, str]
    ) -> None:
        self._folder, self._protection, self._started, self._kept = folder, protection, started, kept
        self._obeyed = obeyed
        self._whole = next((kind for path, kind in obeyed.items() if is_inside(folder, path)), None)
        """The kind of a protected file that leads to the folder itself."""
        self._links: list[tuple[str, str]] = []
        self.written: list[str] = []
        """Paths of the regular files that were written."""
        self.left_out: dict[str, str] = {}
        """Path to the kind of what is protected, or what cannot be there at all."""
        self.conflicts: list[str] = []
        """Paths that another program changed meanwhile."""
        self.failed: dict[str, str] = {}
        """Path to the reason why it could not be written."""

    def run(self, folder_fd: int, changes_fd: int) -> None:
        """Bring the changes into the folder.

        Args:
            folder_fd: the folder.
            changes_fd: the folder that got the changes.

        Raises:
            OSError: the changes cannot be read.
        """
        nothing = Snapshot(
            protection=self._protection,
            folder=self._folder,
            items={},
            folders=frozenset(),
            bare_parts=frozenset(),
            files=frozenset(),
            others=frozenset(),
            aliases=EMPTY,
            missing=EMPTY,
        )
        for entry in Walk(self._protection, nothing, final=True, below=self._folder).walk(changes_fd, self._folder):
            self._leave_out(entry)
        self._merge_folder(changes_fd, folder_fd, self._folder)
        self._make_links()

    def _leave_out(self, entry: Entry) -> None:
        """Remove a protected file or folder from the changes."""
        with suppress(FileNotFoundError):
            is_removal = _is_removal(os.stat(entry.name, dir_fd=entry.fd, follow_symlinks=False))
            remove(entry, None if is_removal or entry.kind == "bytecode" else self._kept, self._folder, final=True)
            self.left_out[entry.path] = entry.kind

    def _merge_folder(self, changes_fd: int, folder_fd: int, path: str) -> None:
        with os.scandir(changes_fd) as entries:
            names = sorted(entry.name for entry in entries)
        if _is_opaque(changes_fd):
            for name in set(os.listdir(folder_fd)) - set(names):
                self._clear(folder_fd, name, f"{path}/{name}")
        for name in names:
            inner = f"{path}/{name}"
            try:
                status = os.stat(name, dir_fd=changes_fd, follow_symlinks=False)
                if _is_removal(status):
                    self._clear(folder_fd, name, inner)
                elif kind := self._whole or self._obeyed.get(inner) or _special(status):
                    self._drop(changes_fd, name, inner, kind)
                elif stat.S_ISLNK(status.st_mode):
                    self._links.append((inner, os.readlink(name, dir_fd=changes_fd)))
                elif stat.S_ISDIR(status.st_mode):
                    self._merge_inner(changes_fd, folder_fd, name, inner, status)
                else:
                    self._merge_file(changes_fd, folder_fd, name, inner, status)
            except OSError as error:
                self.failed[inner] = describe_os_error(error)
                self._kept.add(changes_fd, name, os.path.relpath(inner, self._folder))

    def _drop(self, changes_fd: int, name: str, path: str, kind: str) -> None:
        self._kept.add(changes_fd, name, os.path.relpath(path, self._folder))
        self.left_out[path] = kind

    def _merge_inner(self, changes_fd: int, folder_fd: int, name: str, path: str, changed: os.stat_result) -> None:
        """Merge a folder into the one of this name.

        Raises:
            OSError: it cannot be written.
        """
        old = _status(name, folder_fd)
        is_new = old is None or not stat.S_ISDIR(old.st_mode)
        if is_new:
            if old is not None and not self._clear(folder_fd, name, path):
                self._kept.add(changes_fd, name, os.path.relpath(path, self._folder))
                return
            os.mkdir(name, 0o700, dir_fd=folder_fd)
        with (
            open_fd(name, FOLDER_FLAGS, dir_fd=changes_fd) as inner,
            open_fd(name, FOLDER_FLAGS, dir_fd=folder_fd) as fd,
        ):
            self._merge_folder(inner, fd, path)
            if is_new:
                os.fchmod(fd, stat.S_IMODE(changed.st_mode) & 0o777)

    def _merge_file(self, changes_fd: int, folder_fd: int, name: str, path: str, changed: os.stat_result) -> None:
        """Replace the file of this name.

        Raises:
            OSError: it cannot be written.
        """
        old = _status(name, folder_fd)
        if old is not None and stat.S_ISDIR(old.st_mode):
            if not self._clear(folder_fd, name, path):
                self._kept.add(changes_fd, name, os.path.relpath(path, self._folder))
                return
            old = None
        elif old is not None:
            if _is_same_file(old, changed):
                return  # it was only opened
            if self._is_changed(old):
                self._report_conflict(changes_fd, name, path)
                return
        mode = stat.S_IMODE(changed.st_mode) & 0o777
        if changed.st_dev == os.fstat(folder_fd).st_dev:
            os.chmod(name, mode, dir_fd=changes_fd)
            for attribute in _PRIVATE_NAMES:
                with suppress(OSError):
                    os.removexattr(f"/proc/self/fd/{changes_fd}/{name}", attribute, follow_symlinks=False)
            if old is None:
                try:
                    rename_no_replace(changes_fd, name, folder_fd, name)
                except FileExistsError:
                    self._report_conflict(changes_fd, name, path)
                    return
            else:
                os.rename(name, name, src_dir_fd=changes_fd, dst_dir_fd=folder_fd)
        else:
            with open_fd(name, READ_FLAGS, dir_fd=changes_fd) as source, replacement_file(name, dir_fd=folder_fd) as fd:
                while part := os.read(source, _COPIED_BYTES):
                    write_all(fd, part)
                os.fchmod(fd, mode)
                os.utime(fd, ns=(changed.st_atime_ns, changed.st_mtime_ns))
        self.written.append(path)

    def _report_conflict(self, changes_fd: int, name: str, path: str) -> None:
        self.conflicts.append(path)
        self._kept.add(changes_fd, name, os.path.relpath(path, self._folder))

    def _is_changed(self, status: os.stat_result) -> bool:
        """Return whether another program changed a file since the command began."""
        return status.st_ctime_ns > self._started

    def _clear(self, folder_fd: int, name: str, path: str) -> bool:
        """Remove what has a name in the folder, as the command did; return whether nothing has it any more."""
        status = _status(name, folder_fd)
        if status is None:
            return True
        kind, is_changed = (
            self._whole or self._obeyed.get(path) or self._protection.kind(path),
            self._is_changed(status),
        )
        if stat.S_ISDIR(status.st_mode):
            kind = kind or next((kind for inner, kind in self._obeyed.items() if is_inside(inner, path)), None)
            try:
                items = find_protected(self._protection, path).items
                kind = kind or next((item.kind for item in items.values()), None)
                is_changed = is_changed or self._contains_changes(path)
            except (UncheckedError, OSError):
                kind = kind or "unchecked"
        if kind is not None:
            self.left_out[path] = kind
        elif is_changed:
            self.conflicts.append(path)
        elif stat.S_ISDIR(status.st_mode):
            remove_tree_at(name, folder_fd)
            return _status(name, folder_fd) is None
        else:
            os.unlink(name, dir_fd=folder_fd)
            return True
        return False

    def _contains_changes(self, path: str) -> bool:
        pending = [path]
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if self._is_changed(entry.stat(follow_symlinks=False)):
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        return False

    def _make_links(self) -> None:
        """Make the links that lead to something in the folder; one may lead through another."""
        made = []
        for path, target in self._links:
            name = os.path.basename(path)
            try:
                with open_parent(self._folder, path) as fd:
                    old = _status(name, fd)
                    if old is not None and stat.S_ISLNK(old.st_mode) and os.readlink(name, dir_fd=fd) == target:
                        continue
                    if not self._stays_inside(os.path.join(os.path.dirname(path), target)):
                        self.left_out[path] = OUTWARD_LINK
                    elif self._clear(fd, name, path):
                        os.symlink(target, name, dir_fd=fd)
                        made.append(path)
            except OSError as error:
                self.failed[path] = describe_os_error(error)
        for path in made:
            if not self._stays_inside(path):
                with suppress(OSError), open_parent(self._folder, path) as fd:
                    os.unlink(os.path.basename(path), dir_fd=fd)
                self.left_out[path] = OUTWARD_LINK

    def _stays_inside(self, path: str) -> bool:
        real = real_path_or_none(path)
        return real is not None and is_inside(real, self._protection.top(self._folder) or self._folder)


def _is_removal(status: os.stat_result) -> bool:
    """Return whether a file of a layer says that the one below is removed."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _is_opaque(fd: int) -> bool:
    """Return whether nothing of the folder below is visible through a folder of a layer."""
    with suppress(OSError):
        return os.getxattr(fd, _OPAQUE[os.geteuid() == 0]) == b"y"
    return False


def _special(status: os.stat_result) -> str | None:
    """Return what a file is if it cannot be in a user's folder."""
    kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    return None if any(is_kind(status.st_mode) for is_kind in kinds) else describe_file_type(status.st_mode)


def _is_same_file(old: os.stat_result, new: os.stat_result) -> bool:
    return all(getattr(old, name) == getattr(new, name) for name in ("st_mode", "st_size", "st_mtime_ns"))


def _status(name: str, folder_fd: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
