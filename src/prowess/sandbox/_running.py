"""/proc -> what runs on this machine

Where there is no /proc, nothing is known to run.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

__all__ = ["terminate", "children", "processes", "count_tasks"]


def children() -> list[int]:
    """Return the children of this process; each is there until it was waited for."""
    me = os.getpid()
    try:
        return [int(pid) for pid in _read(f"/proc/self/task/{me}/children").split()]
    except OSError:
        return [pid for pid, parent, *_ in processes() if parent == me]


def count_tasks() -> int:
    """Return how many processes and threads there are; 0 where nothing tells."""
    try:
        return int(_read("/proc/loadavg").split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def processes() -> list[tuple[int, int, int, int]]:
    """Return what runs on this machine: process, parent, group and when it began."""
    found = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                fields = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()
                if fields[0] not in (b"Z", b"X"):
                    found.append((int(name), int(fields[1]), int(fields[2]), int(fields[19])))
    return found


def terminate(pid: int, start: int) -> None:
    """Ask a process to end, if it is still the one that began then."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        fd = os.pidfd_open(pid)
        try:
            if int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[19]) == start:
                signal.pidfd_send_signal(fd, signal.SIGTERM)
        finally:
            os.close(fd)


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(fd, 65536):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)
