"""Print a new folder for the files of a run of tests: in memory where that can be, where writing them takes no time.

The Makefile runs this file, and removes the folder after the run.
"""

from __future__ import annotations

import os
import tempfile

MEMORY = "/dev/shm"
ENOUGH = 1 << 30
"""Free bytes that it must have: a container often has 64 MiB."""


def place_for_tests() -> str | None:
    """Return the folder in memory, or that of the user's `TMPDIR`; the usual place is `None`."""
    return None if os.environ.get("TMPDIR") else memory()


def memory() -> str | None:
    """Return the folder in memory if it has room and programs in it can run."""
    try:
        system = os.statvfs(MEMORY)
    except OSError:
        return None
    if system.f_bavail * system.f_frsize < ENOUGH or system.f_flag & os.ST_NOEXEC or not os.access(MEMORY, os.W_OK):
        return None
    return MEMORY


if __name__ == "__main__":
    print(tempfile.mkdtemp(prefix="prowess-tests-", dir=place_for_tests()))
