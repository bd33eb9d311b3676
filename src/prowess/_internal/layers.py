"""Put a layer over a folder: this process and its children see the folder, and what they write goes to another one.

The layer is an overlay file system of Linux, in a mount namespace of this process. Root needs nothing more; any other
user gets a user namespace, that contains only this user.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Layer = tuple[bytes, int, int, bytes, bytes]
    """The folder, its device and inode, the folder that gets the changes, and one that the system needs beside it."""

# From linux/sched.h and linux/mount.h.
_NEW_MOUNTS, _NEW_USERS = 0x0002_0000, 0x1000_0000
_NO_SET_ID, _NO_DEVICES, _RECURSIVE, _PRIVATE = 0x2, 0x4, 0x4000, 0x4_0000


def has_mounts_inside(folder: str) -> bool:
    """Return whether another file system is mounted in a folder, which a layer over the folder would hide."""
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return True
    inside = os.fsencode(folder).rstrip(b"/") + b"/"
    for old, new in ((b"\\", b"\\134"), (b" ", b"\\040"), (b"\t", b"\\011"), (b"\n", b"\\012")):
        inside = inside.replace(old, new)
    return any(line.split(b" ", 5)[4].startswith(inside) for line in lines)


def mount_layers(layers: Iterable[Layer]) -> None:
    """Put layers over folders, for this process and its children.

    Raises:
        OSError: a layer cannot be made here, or its folder is another one by now.
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)

    def call(function: Any, *arguments: object) -> None:
        if function(*arguments):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    is_root = os.geteuid() == 0
    # Without `volatile`, each end of a layer would write the whole disk of the changes to its medium.
    options = "volatile,redirect_dir=off,metacopy=off,index=off" if is_root else "volatile,userxattr"
    if is_root:
        call(library.unshare, _NEW_MOUNTS)
    else:
        user, group = os.geteuid(), os.getegid()
        call(library.unshare, _NEW_MOUNTS | _NEW_USERS)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    call(library.mount, b"none", b"/", None, _RECURSIVE | _PRIVATE, None)
    for folder, device, inode, upper, work in layers:
        # By descriptors: their paths may contain what separates options, and no folder can be replaced meanwhile.
        folders = [os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW) for path in (folder, upper, work)]
        status = os.fstat(folders[0])
        if (status.st_dev, status.st_ino) != (device, inode):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        lower, upper_dir, work_dir = (f"/proc/self/fd/{fd}" for fd in folders)
        text = f"lowerdir={lower},upperdir={upper_dir},workdir={work_dir},{options}"
        call(library.mount, b"prowess", lower.encode(), b"overlay", _NO_SET_ID | _NO_DEVICES, text.encode())
        for fd in folders:
            os.close(fd)
