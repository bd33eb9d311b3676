"""Adopt orphaned processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from prowess._internal.processes import is_subreaper, set_subreaper

ORPHAN = """
import os
from prowess._internal.processes import is_subreaper, set_subreaper
assert not is_subreaper()
assert set_subreaper()
assert is_subreaper()
read, write = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.read(read, 1)
        os._exit(7)
    os._exit(0)
os.wait()
os.write(write, b"x")
print(os.waitstatus_to_exitcode(os.wait()[1]))
assert set_subreaper(enabled=False)
assert not is_subreaper()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sub-reapers")
def test_an_orphan_becomes_a_child_of_a_subreaper() -> None:
    """Without that, the second `wait` fails: the orphan belongs to another process."""
    done = subprocess.run([sys.executable, "-c", ORPHAN], capture_output=True, text=True, check=True)
    assert done.stdout == "7\n"


def test_a_system_without_subreapers_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert (set_subreaper(), is_subreaper()) == (False, False)
