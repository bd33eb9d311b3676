"""Put each supervisor into a control group of its own, by which the system counts all memory of what it starts.

A group is made below the one that this process is in, or beside it if that one has no limits (version 2 allows groups
only below a group without processes). Moving a process takes the kernel some milliseconds, so it is done once for each
supervisor, while that one starts. Without permission, or without control groups, there is no group.

    version 1   one hierarchy for `memory`, another one for `pids`
    version 2   one hierarchy for both
"""

from __future__ import annotations

import os
from contextlib import suppress
from time import time

from ._processes import read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    class Group(TypedDict):
        """A control group, or where groups can be made."""

        version: int
        memory: str
        """Its folder."""
        pids: str
        """Its folder; empty if processes cannot be counted."""
        old: tuple[str, ...]
        """The folders of the groups that a process in it came from."""


_PREFIX = "prowess-"
_MAX_EMPTY_AGE = 60.0
"""Seconds after which an empty group counts as left behind."""
_NO_LIMIT = ("", "max")
_bases: dict[int, Group | None] = {}
"""Process number to where it makes groups: found once."""


def is_usable() -> bool:
    """Return whether this process can make groups."""
    return _base() is not None


def forget() -> None:
    """Use no group until this process is asked again; for one that could not be made."""
    _bases[os.getpid()] = None


def make_group(pid: int) -> Group | None:
    """Make a group, and move a process of this user into it; return `None` if this cannot be done."""
    base = _base()
    if base is None:
        return None
    name = f"{_PREFIX}{pid}-{os.urandom(6).hex()}"
    group: Group = {**base, "memory": f"{base['memory']}/{name}"}
    if base["pids"]:
        group["pids"] = f"{base['pids']}/{name}"
    try:
        for folder in _folders(group):
            os.mkdir(folder)
            write_file(f"{folder}/cgroup.procs", pid)
    except OSError:
        remove_group(group)
        forget()
        return None
    return group


def remove_group(group: Group) -> None:
    """Remove a group whose processes have ended."""
    for folder in _folders(group):
        with suppress(OSError):
            os.rmdir(folder)


def leave_group(group: Group) -> None:
    """Move this process back to where it came from, and remove its group."""
    with suppress(OSError):
        for folder in group["old"]:
            write_file(f"{folder}/cgroup.procs", os.getpid())
    remove_group(group)


def read_file(path: str) -> str:
    """Return a value of a group; empty if it does not exist."""
    try:
        return read_bytes(path).decode("ascii", "replace").strip()
    except OSError:
        return ""


def write_file(path: str, value: object) -> None:
    """Set a value of a group.

    Raises:
        OSError: the system refuses it.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, str(value).encode())
    finally:
        os.close(fd)


def _folders(group: Group) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (group["memory"], group["pids"]))))


def _base() -> Group | None:
    own_pid = os.getpid()
    if own_pid not in _bases:
        _bases[own_pid] = base = find_base()
        for folder in _folders(base) if base else ():
            _remove_stale(folder)
    return _bases[own_pid]


def find_base(proc: str = "/proc/self") -> Group | None:
    """Return where groups can be made for children of this process, or `None`.

    Args:
        proc: the folder with `cgroup` and `mountinfo` of this process.
    """
    own = {}
    for line in read_file(f"{proc}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    folders = dict(_mounted(proc, own))
    if "memory" in folders:
        return _find_version_1(folders)
    return _find_version_2(*folders[""]) if "" in folders else None


def _mounted(proc: str, own: dict[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each controller, empty for version 2, with where it is mounted and the folder of this process there."""
    for line in read_file(f"{proc}/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        root, mount = left.split()[3:5]
        kind, _, options = right.split(" ", 2)
        for name in ("",) if kind == "cgroup2" else options.split(",") if kind == "cgroup" else ():
            path, top = own.get(name), root.rstrip("/")
            if path is not None and "\\" not in mount and (path == top or path.startswith(f"{top}/")):
                yield name, (mount, (mount + path[len(top) :]).rstrip("/"))


def _find_version_1(folders: dict[str, tuple[str, str]]) -> Group | None:
    memory = folders["memory"][1]
    pids = folders.get("pids", ("", ""))[1]
    # Without a limit for both, memory that is swapped out would not count.
    has_swap_limit = bool(read_file(f"{memory}/memory.memsw.usage_in_bytes")) or not _has_swap()
    if not (_may_make(memory) and has_swap_limit and read_file(f"{memory}/memory.use_hierarchy") == "1"):
        return None
    pids = pids if pids and _may_make(pids) else ""
    return {"version": 1, "memory": memory, "pids": pids, "old": tuple(filter(None, (memory, pids)))}


def _find_version_2(mount: str, own: str) -> Group | None:
    folder = own
    while True:
        controllers = read_file(f"{folder}/cgroup.subtree_control").split()
        if "memory" in controllers:
            if not _may_make(folder) or not os.access(f"{folder}/cgroup.procs", os.W_OK):
                return None
            return {"version": 2, "memory": folder, "pids": folder if "pids" in controllers else "", "old": (own,)}
        names = ("memory.max", "memory.high", "memory.swap.max")
        # A limit of the group that would be left must not be lost.
        is_limited = any(read_file(f"{folder}/{name}") not in _NO_LIMIT for name in names)
        if is_limited or folder == mount.rstrip("/"):
            return None
        folder = os.path.dirname(folder)


def _may_make(folder: str) -> bool:
    """Return whether a group can be made, by making one."""
    path = f"{folder}/{_PREFIX}{os.getpid()}-{os.urandom(6).hex()}"
    try:
        os.mkdir(path)
    except OSError:
        return False
    try:
        return os.access(f"{path}/cgroup.procs", os.W_OK)
    finally:
        with suppress(OSError):
            os.rmdir(path)


def _has_swap() -> bool:
    return read_file("/proc/swaps").count("\n") > 0


def _remove_stale(folder: str) -> None:
    """Remove groups whose supervisors were killed; the system refuses this while there are processes in one."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with suppress(OSError):
                    if time() - entry.stat(follow_symlinks=False).st_mtime > _MAX_EMPTY_AGE:
                        os.rmdir(entry.path)
