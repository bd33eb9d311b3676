"""Open, write, replace and remove files and folders safely where other people may write too.

Links that another user may have created are not followed: files are opened with the flags below, and folders from the
descriptor of their parent. A file is replaced in one step, so that no reader sees half of it.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import contextmanager, suppress
from functools import cache

from prowess._internal.file_status import caller_of_sudo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NO_LINK_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Do not follow a link. On Windows this flag is missing, so links are refused by name."""
READ_FLAGS = os.O_RDONLY | NO_LINK_FLAGS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Open a file for reading: not through a link, and without waiting for a FIFO or a device."""
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK_FLAGS
"""Create a new file for writing."""
FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NO_LINK_FLAGS
"""Open a folder, not through a link."""
SUPPORTS_DIR_FD = (
    hasattr(os, "O_NOFOLLOW") and {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
)
"""Whether files can be opened and listed from the descriptor of their folder. Windows cannot do that."""


# ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def open_fd(path: str, flags: int, mode: int = 0o600, *, dir_fd: int | None = None) -> Iterator[int]:
    """Open a file or folder, and close it at the end of the block.

    Raises:
        OSError: it cannot be opened.
    """
    fd = os.open(path, flags, mode, dir_fd=dir_fd)
    try:
        yield fd
    finally:
        os.close(fd)


def open_inside(folder: str, parts: Sequence[str], flags: int = READ_FLAGS) -> int:
    """Open a path inside a folder, each part from the descriptor of the one above, and return its descriptor.

    No part may be a link, and neither may the folder.

    Args:
        folder: where the path begins.
        parts: the names on the way; none is `..`.
        flags: how the last part is opened.

    Raises:
        OSError: a part is missing, is a link, or cannot be opened.
        ValueError: a part contains a NUL character.
    """
    if not SUPPORTS_DIR_FD:
        path = folder
        for part in parts:
            path = os.path.join(path, part)
            if os.path.islink(path):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        return os.open(path, flags)
    fd = os.open(folder, FOLDER_FLAGS if parts else flags)
    try:
        for number, part in enumerate(parts, 1):
            inner = os.open(part, flags if number == len(parts) else FOLDER_FLAGS, dir_fd=fd)
            os.close(fd)
            fd = inner
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_or_make_folder(name: str, dir_fd: int, mode: int = 0o777) -> tuple[int, bool]:
    """Open a folder inside an open one, and make it if it is missing.

    Returns:
        Its descriptor, and whether this call made it.

    Raises:
        OSError: it is not a folder, is a link, or cannot be opened or made.
    """
    is_new = False
    try:
        return os.open(name, FOLDER_FLAGS, dir_fd=dir_fd), is_new
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=dir_fd)
            is_new = True
    return os.open(name, FOLDER_FLAGS, dir_fd=dir_fd), is_new


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write all of the data to an open file or pipe.

    Raises:
        OSError: it cannot be written.
    """
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


def atomic_replace(path: str, data: bytes, *, mode: int = 0o600, dir_fd: int | None = None) -> None:
    """Write a file in one step: readers see the old content or all of the new one.

    Args:
        path: the file, which need not exist; relative to `dir_fd` if that is given.
        data: the new content.
        mode: the permissions of the new file, less the umask.
        dir_fd: a descriptor of the folder that contains the file.

    Raises:
        OSError: it cannot be written; the old file is unchanged.
    """
    with replacement_file(path, mode=mode, dir_fd=dir_fd) as fd:
        write_all(fd, data)


@contextmanager
def replacement_file(
    path: str,
    *,
    staged: str | None = None,
    mode: int = 0o600,
    dir_fd: int | None = None,
    staged_dir_fd: int | None = None,
) -> Iterator[int]:
    """Yield a new open file that takes the place of another at the end of the block; if the block fails, it is removed.

    For callers that set permissions or sync, too; others use `atomic_replace`.

    Args:
        path: the file to replace, which need not exist.
        staged: the path of the new file until then; by default random. A file that is already there is removed first.
        mode: the permissions of the new file, less the umask.
        dir_fd: a descriptor of the folder that `path` is relative to.
        staged_dir_fd: the same for `staged`; by default `dir_fd`.

    Raises:
        OSError: the file cannot be created or renamed; the old file is unchanged.
    """
    staged_dir_fd = dir_fd if staged_dir_fd is None else staged_dir_fd
    if staged is None:
        folder, name = os.path.split(path)
        staged = os.path.join(folder, f".{name[:32]}.{os.urandom(8).hex()}.tmp")
    else:
        with suppress(FileNotFoundError):
            os.unlink(staged, dir_fd=staged_dir_fd)
    fd = os.open(staged, CREATE_FLAGS, mode, dir_fd=staged_dir_fd)
    try:
        try:
            give_to_caller_of_sudo(fd, os.path.dirname(path), dir_fd=dir_fd)
            yield fd
        finally:
            os.close(fd)
        os.replace(staged, path, src_dir_fd=staged_dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        with suppress(OSError):
            os.unlink(staged, dir_fd=staged_dir_fd)
        raise


def give_to_caller_of_sudo(fd: int, folder: str, *, dir_fd: int | None = None) -> None:
    """Give a new file or folder to the user who called `sudo`, if it is in a folder of that user.

    Otherwise what root has made in the home of a user is in that user's way later. For others nothing happens.

    Args:
        fd: a descriptor of it.
        folder: the folder that contains it, empty for that of `dir_fd`.
        dir_fd: a descriptor of the folder that `folder` is relative to.

    Raises:
        OSError: the folder is missing, or this is not allowed.
    """
    caller = caller_of_sudo()
    if caller is not None and (status := os.stat(folder or ".", dir_fd=dir_fd)).st_uid == caller:
        os.fchown(fd, caller, status.st_gid)


def sync_file_system(fd: int) -> None:
    """Have everything that was written to the file system of an open file reach the disk.

    Where the system cannot do that (it is a call of Linux), only this file. Errors are ignored: after a power failure
    a digest shows what is missing.
    """
    import ctypes

    with suppress(OSError):
        try:
            done = ctypes.CDLL(None).syncfs(fd) == 0
        except (OSError, AttributeError):
            done = False
        if not done:
            os.fsync(fd)


# ── renaming ─────────────────────────────────────────────────────────────────────────────────────────────────────────

# renameat2(2), Linux 3.15; renameatx_np(2), macOS 10.12. `os.rename` has neither flag.
_NO_REPLACE_FLAG, _EXCHANGE_FLAG = (4, 2) if sys.platform == "darwin" else (1, 2)
_UNSUPPORTED_ERRNOS = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@cache
def _renameat2() -> Callable[..., int] | None:
    import ctypes

    try:
        library = ctypes.CDLL(None, use_errno=True)
        function = library.renameatx_np if sys.platform == "darwin" else library.renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function


def _rename_with_flags(source_fd: int, old: str, target_fd: int, new: str, flags: int) -> bool:
    """Rename with flags; return whether this system and file system support them.

    Raises:
        OSError: they do, but the call failed.
    """
    function = _renameat2()
    if function is None:
        return False
    import ctypes

    if function(source_fd, os.fsencode(old), target_fd, os.fsencode(new), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED_ERRNOS:
        return False
    raise OSError(number, os.strerror(number), old)


def exchange_names(source_fd: int, old: str, target_fd: int, new: str) -> bool:
    """Exchange two files or folders in one step, each a name in an open folder; return whether that is supported.

    Raises:
        OSError: it is supported, but failed.
    """
    return _rename_with_flags(source_fd, old, target_fd, new, _EXCHANGE_FLAG)


def rename_no_replace(source_fd: int, old: str, target_fd: int, new: str) -> None:
    """Rename from one open folder into another, and never replace anything.

    Raises:
        FileExistsError: something has the new name.
        OSError: it failed.
    """
    if _rename_with_flags(source_fd, old, target_fd, new, _NO_REPLACE_FLAG):
        return
    try:
        os.stat(new, dir_fd=target_fd, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(old, new, src_dir_fd=source_fd, dst_dir_fd=target_fd)
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)


# ── removing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

# A folder may have been prepared so that it cannot be removed: no permissions, deeper than a process has descriptors,
# links to other people's files, or another file system mounted inside. So folders are opened by descriptor, no link is
# followed, a deep folder is moved up before its parent is removed, and a folder that cannot be moved is not opened.


def remove_tree(path: str) -> None:
    """Remove a folder and everything in it. What cannot be removed stays; the path to the folder may contain links."""
    parent, name = os.path.split(path)
    with suppress(OSError), open_fd(parent, FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0)) as parent_fd:
        remove_tree_at(name, parent_fd)


def remove_tree_at(name: str, parent_fd: int) -> None:
    """Remove a folder and everything in it, given a descriptor of its parent. What cannot be removed stays."""
    with suppress(OSError):
        _empty_folder(name, parent_fd)
        os.rmdir(name, dir_fd=parent_fd)


def _empty_folder(name: str, parent_fd: int) -> None:
    """Remove everything in a folder, with at most two descriptors open at a time."""
    top = _open_for_removal(name, parent_fd)
    try:
        moved = True
        renamed: set[str] = set()
        while moved and (folders := _unlink_files(top)):
            moved = False
            for folder in folders:
                with suppress(OSError):
                    moved |= _remove_one_level(folder, top, renamed)
    finally:
        os.close(top)


def _remove_one_level(name: str, top: int, renamed: set[str]) -> bool:
    """Remove a folder in `top` after moving the folders inside it up into `top`; return whether any was moved.

    Args:
        name: the folder.
        top: a descriptor of the folder that contains it.
        renamed: names in `top` given by this function.
    """
    if name not in renamed:  # a mount point cannot be renamed: its content belongs to another file system
        name = _rename_randomly(name, top, top)
        renamed.add(name)
    moved = False
    with suppress(OSError):
        fd = _open_for_removal(name, top)
        try:
            for inner in _unlink_files(fd):
                with suppress(OSError):
                    os.chmod(inner, 0o700, dir_fd=fd)  # a folder without write permission cannot be moved
                    renamed.add(_rename_randomly(inner, fd, top))
                    moved = True
        finally:
            os.close(fd)
        os.rmdir(name, dir_fd=top)
    return moved


def _rename_randomly(name: str, parent_fd: int, new_parent_fd: int) -> str:
    """Move a folder to a new random name, and return that name."""
    new = os.urandom(8).hex()
    os.rename(name, new, src_dir_fd=parent_fd, dst_dir_fd=new_parent_fd)
    return new


def _open_for_removal(name: str, parent_fd: int) -> int:
    """Open a folder, and give its owner all permissions."""
    try:
        fd = os.open(name, FOLDER_FLAGS, dir_fd=parent_fd)
    except PermissionError:
        if not stat.S_ISDIR(os.lstat(name, dir_fd=parent_fd).st_mode):
            raise
        os.chmod(name, 0o700, dir_fd=parent_fd)
        fd = os.open(name, FOLDER_FLAGS, dir_fd=parent_fd)
    with suppress(OSError):  # an empty folder of another user can be removed all the same
        os.fchmod(fd, 0o700)
    return fd


def _unlink_files(fd: int) -> list[str]:
    """Remove everything from an open folder except folders; return the names of the folders."""
    with os.scandir(fd) as entries:
        is_folder = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    for name in (name for name, folder in is_folder.items() if not folder):
        with suppress(OSError):
            os.unlink(name, dir_fd=fd)
    return [name for name, folder in is_folder.items() if folder]
