"""Listing and signalling processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from prowess.sandbox._processes import child_pids, count_tasks, kill, list_processes, pids_with_environment, terminate

pytestmark = pytest.mark.usefixtures("linux")


def test_a_child_is_found_and_terminated_by_number_and_start_time() -> None:
    """Another start time is another process, whose number was reused."""
    marker = {"PROWESS_MARKER": "66610"}
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env=marker) as child:
        assert child.pid in child_pids()
        assert pids_with_environment(b"PROWESS_MARKER=66610\0") == [child.pid]
        (start,) = [start for pid, parent, _, start in list_processes() if (pid, parent) == (child.pid, os.getpid())]
        terminate(child.pid, start + 1)
        assert child.poll() is None
        terminate(child.pid, start)
        assert child.wait() == -15
    terminate(child.pid, start)
    kill(child.pid)


def test_tasks_are_counted() -> None:
    assert count_tasks() > 1
