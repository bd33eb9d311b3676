"""Find processes, and wait for them to end."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from support.growth import END

if TYPE_CHECKING:
    from collections.abc import Callable


def processes_with(mark: str) -> list[int]:
    """Return the other processes with a word on their command line or in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                data = (entry / "cmdline").read_bytes() + b"\0" + (entry / "environ").read_bytes()
                if mark.encode() in data and " Z " not in (entry / "stat").read_text():
                    found.append(int(entry.name))
    return found


def processes_end(mark: str) -> bool:
    """Wait until no process has a word on its command line or in its environment; fail if one never ends."""
    wait_until(lambda: not processes_with(mark))
    return True


def is_process_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def times_scheduled(pid: int) -> int:
    """Return how often the first thread of a process has waited for something and gone on."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def waits_for_lock(pid: int) -> bool:
    """Return whether a process waits for a lock that another one has."""
    return any(" -> " in line and str(pid) in line.split() for line in Path("/proc/locks").read_text().splitlines())


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until a condition is true, and fail if it never becomes true."""
    deadline = time.monotonic() + END
    while not condition():
        assert time.monotonic() < deadline, f"still false after {END} seconds"
        time.sleep(0.005)


def kill_processes_with(mark: str, within: float = 2.0) -> None:
    """Kill the other processes with a word on their command line or in their environment, and those they start."""
    deadline = time.monotonic() + within
    while (found := processes_with(mark)) and time.monotonic() < deadline:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
