"""Bound the memory of one command and of everything that comes from it.

With a control group the system counts: data, shared memory and files in memory, together. Without one this process
adds up the data of all processes and what is in the sandbox's own file systems, several times a second, and kills the
command beyond the limit. A scratch folder of the caller, which is on a disk, is added up in both cases, and so are
folders whose files have limits of their own.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from time import monotonic, process_time

from ._control_groups import read_file, write_file
from ._processes import children_of_processes, kill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ._control_groups import Group
    from ._messages import Request

_INTERVAL, _MAX_INTERVAL = 0.1, 1.0
"""Seconds between two measurements: more than the first if one takes more than a twentieth of it."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ENTRY_BYTES = 1024
"""What each file counts at least, also an empty one."""
_MAX_PATH = 3800
"""Bytes of the path of a folder. With 4,096 the system refuses it, and files in it are hidden."""
_EXTRA_PROCESSES = 3
"""In a group, besides those of a command: the supervisor and two of bwrap."""
_PROXY_THREADS = 150
"""In a group with a command that has the network: its proxy with a thread for each connection."""
_LITTLE = 1 << 20
_LARGE_REQUEST = 8 << 20
# Of the group of this process, by its folder: a value is not read or written again without need.
_used_last: dict[str, int] = {}
"""Bytes that were used when they were last measured in full."""
_kills_before: dict[str, int] = {}
_values: dict[tuple[str, str], object] = {}
"""By folder and name."""
_FIRST_TO_KILL = 1000
"""Of `oom_score_adj`: a command is killed rather than its supervisor, which is in the same group."""


class MemoryGuard:
    """The limits of one command: `begin` before it starts, `check` while it runs, `end` afterwards."""

    def __init__(self, request: Request) -> None:
        self._limits, self._group = request["limits"], request["group"]
        self._tmpfs = request["tmpfs"]
        self._extra = _EXTRA_PROCESSES + (_PROXY_THREADS if request["network"] is not None else 0)
        self._exceeded = self.out_of_space = False
        memory = self._limits.get("memory")
        self._scratch = _DiskFolder(request["scratch"], memory) if memory and request["scratch"] else None
        self._folders = [_DiskFolder(path, *limits) for path, limits in request["folders"].items()]
        has_work = self._folders or self._scratch or (memory and self._group is None)
        self._due = monotonic() + _INTERVAL if has_work else float("inf")

    # ── the group ────────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Set the limits of the group.

        Raises:
            OSError: the system refuses them.
        """
        group, memory = self._group, self._limits.get("memory")
        if group is not None:
            _set_limit(group, None if memory is None else memory + _used_already(group))
            count = self._limits.get("processes")
            _set_value(group["pids"], "pids.max", "max" if count is None else count + self._extra)

    def end(self) -> bool:
        """Return whether something was killed because of the limits."""
        if self._group is not None:
            kills = _count_kills(self._group)
            self._exceeded = self._exceeded or kills > _kills_before.get(self._group["memory"], 0)
            _kills_before[self._group["memory"]] = kills
        return self._exceeded

    # ── measuring ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def check(self) -> float:
        """If it is time to measure, kill the command if it uses more than its limit; return the seconds until then."""
        if monotonic() >= self._due:
            start = process_time()
            self._measure()
            self._due = monotonic() + min(_MAX_INTERVAL, max(_INTERVAL, 20 * (process_time() - start)))
        return self._due - monotonic()

    def _measure(self) -> None:
        pids = list(_descendants())
        self._exceeded = self._exceeded or self._exceeds_memory(pids)
        # What was too much stays a reason after the end of the process that had it.
        self.out_of_space = self.out_of_space or any(folder.exceeds(pids) for folder in self._folders)
        if self._exceeded or self.out_of_space:
            for pid in reversed(pids):  # of bwrap the first ones, which end by themselves, come last
                kill(pid)

    def _exceeds_memory(self, pids: list[int]) -> bool:
        limit = self._limits.get("memory")
        if limit is None:
            return False
        # Pages that several processes share since a fork are counted several times; counting them well takes longer.
        over = self._group is None and (
            sum(map(_data_bytes, pids)) + self._tmpfs_bytes(pids) > limit
            and sum(map(_own_share_bytes, pids)) + self._tmpfs_bytes(pids) > limit
        )
        return over or (self._scratch is not None and self._scratch.exceeds(pids))

    def _tmpfs_bytes(self, pids: Iterable[int]) -> int:
        """Return what is in the sandbox's own file systems, as one of its processes sees them."""
        for pid in pids:
            used = 0
            with suppress(OSError):
                for path in self._tmpfs:
                    inside = f"/proc/{pid}/root".encode() + path
                    if _device(inside) == _device(path):
                        break  # bwrap itself, which is outside
                    status = os.statvfs(inside)
                    used += (status.f_blocks - status.f_bfree) * status.f_frsize
                    used += (status.f_files - status.f_ffree) * _ENTRY_BYTES
                else:
                    return used
        return 0


class _DiskFolder:
    """A folder on a disk, and the limits of what is in it."""

    def __init__(self, path: bytes, size: int, files: int | None = None) -> None:
        self._path, self._size, self._files = os.fsdecode(path), size, files
        self._free = _free_bytes(self._path)

    def exceeds(self, pids: Iterable[int]) -> bool:
        """Return whether it has too much; if a part of it is hidden, what the disk lost since then counts."""
        used, files, is_all = folder_usage(self._path, self._size, self._files)
        removed, are_all = _removed_bytes(pids)
        used += removed
        if not (is_all and are_all):
            used = max(used, self._free - _free_bytes(self._path))
        return used > self._size or (self._files is not None and files > self._files)


@contextmanager
def killed_first() -> Iterator[None]:
    """Make the system kill what is started in the block before its supervisor, if memory runs out."""
    old = read_file("/proc/self/oom_score_adj")
    if old:
        with suppress(OSError):
            write_file("/proc/self/oom_score_adj", _FIRST_TO_KILL)
    try:
        yield
    finally:
        if old:
            with suppress(OSError):
                write_file("/proc/self/oom_score_adj", old)


def prepare_to_read(group: Group | None, size: int) -> None:
    """Remove the limit of the last command before a large request is read: it is for the next one."""
    if group is not None and size > _LARGE_REQUEST:
        with suppress(OSError):
            _set_limit(group, None)


def _set_limit(group: Group, limit: int | None) -> None:
    """Set the limit of memory, with what is swapped out; `None` removes it.

    Raises:
        OSError: the system refuses it.
    """
    folder = group["memory"]
    if group["version"] == 2:
        _set_value(folder, "memory.max", "max" if limit is None else limit)
        _set_value(folder, "memory.swap.max", "max" if limit is None else 0)
        return
    names = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]
    old = _values.get((folder, names[0]), -1)
    value = -1 if limit is None else limit
    # The second one may never be below the first one.
    if value == -1 or (isinstance(old, int) and -1 < old < value):
        names.reverse()
    for name in names:
        _set_value(folder, name, value)


def _set_value(folder: str, name: str, value: object) -> None:
    """Set a value of a group that has it, if it is another one than before.

    Raises:
        OSError: the system refuses it.
    """
    if folder and _values.get((folder, name)) != value:
        with suppress(FileNotFoundError):
            write_file(f"{folder}/{name}", value)
        _values[folder, name] = value


def _count_kills(group: Group) -> int:
    name = "memory.oom_control" if group["version"] == 1 else "memory.events"
    return _number(read_file(f"{group['memory']}/{name}"), "oom_kill")


def _used_already(group: Group) -> int:
    """Return the bytes in use before a command starts, which cannot be given back as the cache of files can.

    These are the supervisor's own, with the input of the command, and what the last command had: the system frees some
    of it a little later, as memory of System V.
    """
    folder, is_first = group["memory"], group["version"] == 1
    used = int(read_file(f"{folder}/{'memory.usage_in_bytes' if is_first else 'memory.current'}") or 0)
    if abs(used - _used_last.get(folder, -_LITTLE)) >= _LITTLE:
        text = read_file(f"{folder}/memory.stat")
        cache, shared = ("total_cache", "total_shmem") if is_first else ("file", "shmem")
        _used_last[folder] = max(0, used - _number(text, cache) + _number(text, shared))
    return _used_last[folder]


def _descendants() -> Iterator[int]:
    children, parents = children_of_processes(), [os.getpid()]
    for parent in parents:
        pids = [pid for pid, *_ in children.get(parent, ())]
        yield from pids
        parents += pids


def _data_bytes(pid: int) -> int:
    """Return the bytes of data that a process has in memory."""
    fields = read_file(f"/proc/{pid}/statm").split()
    return (int(fields[1]) - int(fields[2])) * _PAGE if fields else 0


def _own_share_bytes(pid: int) -> int:
    """Return the same, with pages of several processes divided by their number."""
    text = read_file(f"/proc/{pid}/smaps_rollup")
    return _number(text, "Pss_Anon:") * 1024 if "Pss_Anon:" in text else _data_bytes(pid)


def _device(path: bytes) -> int:
    try:
        return os.stat(path).st_dev
    except FileNotFoundError:
        return -1


def _free_bytes(folder: str) -> int:
    """Return the bytes that are free on the disk of a folder; 0 if the folder does not exist any more."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return 0
    return status.f_bfree * status.f_frsize


def folder_usage(folder: str, size: int, files: int | None = None) -> tuple[int, int, bool]:
    """Return the bytes on the disk and the number of files and folders below a folder, and whether these are all.

    Folders so deep that the system soon refuses a path to them count as more than the limit.

    Args:
        folder: its path.
        size: bytes after which counting stops.
        files: their number after which counting stops.
    """
    total, count, is_all, folders = 0, 0, True, [folder]
    most = float("inf") if files is None else files
    while folders and total <= size and count <= most:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    total += max(status.st_blocks * 512, _ENTRY_BYTES)
                    count += 1
                    if stat.S_ISDIR(status.st_mode):
                        folders.append(entry.path)
                        if len(os.fsencode(entry.path)) > _MAX_PATH:
                            return size + 1, count, False
        except OSError as error:
            is_all = is_all and error.errno == errno.ENOENT
    return total, count, is_all


def _removed_bytes(pids: Iterable[int]) -> tuple[int, bool]:
    """Return the bytes of removed files that processes have open, and whether there can be no others.

    Others are those in mappings, or on the way between two sockets, or of a process that hides what it has.
    """
    removed: dict[tuple[int, int], int] = {}
    are_all = True
    for pid in pids:
        are_all = are_all and " (deleted)" not in read_file(f"/proc/{pid}/maps")
        try:
            with os.scandir(f"/proc/{pid}/fd") as entries:
                for entry in entries:
                    status = entry.stat()
                    if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                        removed[status.st_dev, status.st_ino] = status.st_blocks * 512
                    elif stat.S_ISSOCK(status.st_mode):
                        in_transit = _number(read_file(f"/proc/{pid}/fdinfo/{entry.name}"), "scm_fds:")
                        are_all = are_all and not in_transit
        except OSError as error:
            are_all = are_all and error.errno in (errno.ENOENT, errno.ESRCH)
    return sum(removed.values()), are_all


def _number(text: str, name: str) -> int:
    """Return the number after a name at the beginning of a line; 0 if it does not occur."""
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name:
            return int(words[1])
    return 0
