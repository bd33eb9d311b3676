"""List and signal the processes of this machine, from /proc. Without /proc nothing is listed."""

from __future__ import annotations

import os
from contextlib import suppress

_MAX_ENVIRONMENT_BYTES = 1 << 17
_SIGKILL = 9
"""Written out, since the caller loads this module: `signal` would load `enum`."""


def child_pids() -> list[int]:
    """Return the children of this process, ended or not; each stays until it was waited for."""
    own_pid = os.getpid()
    try:
        return [int(pid) for pid in read_bytes(f"/proc/self/task/{own_pid}/children").split()]
    except OSError:
        return [pid for pid, parent, *_ in list_processes() if parent == own_pid]


def count_tasks() -> int:
    """Return the number of processes and threads; 0 if the system does not report it."""
    try:
        return int(read_bytes("/proc/loadavg").split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def list_processes() -> list[tuple[int, int, int, int]]:
    """Return the running processes: number, parent, group and start time of each."""
    processes = []
    for pid in _pids():
        with suppress(OSError, ValueError, IndexError):
            fields = _status_fields(pid)
            if fields[0] not in (b"Z", b"X"):
                processes.append((pid, int(fields[1]), int(fields[2]), int(fields[19])))
    return processes


def children_of_processes() -> dict[int, list[tuple[int, int, int]]]:
    """Return the children of each running process: number, group and start time."""
    children: dict[int, list[tuple[int, int, int]]] = {}
    for pid, parent, group, start in list_processes():
        children.setdefault(parent, []).append((pid, group, start))
    return children


def pids_with_environment(variable: bytes) -> list[int]:
    """Return the other processes whose environment contains some bytes."""
    pids = []
    for pid in _pids():
        if pid != os.getpid():
            with suppress(OSError):
                if variable in read_bytes(f"/proc/{pid}/environ", _MAX_ENVIRONMENT_BYTES):
                    pids.append(pid)
    return pids


def kill(pid: int) -> None:
    """Kill a process; one that is gone is ignored."""
    with suppress(OSError):
        os.kill(pid, _SIGKILL)


def terminate(pid: int, start: int) -> None:
    """Send SIGTERM to a process, if its number still belongs to the one with this start time."""
    import signal

    with suppress(OSError, ValueError, IndexError, AttributeError):
        fd = os.pidfd_open(pid)
        try:
            if int(_status_fields(pid)[19]) == start:
                signal.pidfd_send_signal(fd, signal.SIGTERM)
        finally:
            os.close(fd)


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _status_fields(pid: int) -> list[bytes]:
    """Return the fields of `/proc/PID/stat` from the state on; the name before them may contain anything."""
    return read_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def read_bytes(path: str, limit: int = 1 << 30) -> bytes:
    """Return what a file of the system contains.

    Raises:
        OSError: it cannot be read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while len(data) < limit and (part := os.read(fd, min(65536, limit - len(data)))):
            data += part
        return data
    finally:
        os.close(fd)
