"""Start processes, find them, and wait for them to end."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from unittest.mock import patch

from support.growth import END

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
_CALL = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from support.processes import without_sync
function, arguments, named = pickle.load(sys.stdin.buffer)
with without_sync():
    sys.stdout.buffer.write(pickle.dumps(function(*arguments, **named)))
"""


@contextmanager
def without_sync() -> Iterator[None]:
    """Let no change of skills wait for the disk: only a power failure would make a difference."""
    with patch("prowess.transaction._transaction.sync_file_system", lambda _: None):
        yield


def in_new_process(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Call a function in a new process: if it forks often, each fork copies little, where a test run is large."""
    given = pickle.dumps(sys.path) + pickle.dumps((function, arguments, named))
    done = subprocess.run([sys.executable, "-c", _CALL], input=given, stdout=subprocess.PIPE, check=True)
    return cast("T", pickle.loads(done.stdout))  # noqa: S301 - our own


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
