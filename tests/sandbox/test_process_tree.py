"""The end of a command: nothing that comes from it is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import Limits, run
from support.commands import RUNS, run_shell
from support.growth import END, ends
from support.processes import processes_end
from support.rows import rows
from support.suites import require_backend

if TYPE_CHECKING:
    from pathlib import Path

LEAVERS = {
    "background": "sleep {n} & exit 3",
    "double-fork": "(sh -c 'sleep {n} & sleep {n}' &) ; exit 3",
    "new-session": "setsid sleep {n} & exit 3",
    "double-fork-new-session": "(setsid sh -c 'sleep {n} & exec setsid sleep {n}' &) ; sleep 0.01; exit 3",
    "no-environment": "env -i setsid sh -c 'sleep {n}; :' & exit 3",
    "ignores-term": "(trap '' TERM HUP INT; setsid sleep {n} &) ; exit 3",
    "holds-the-pipe": "setsid sh -c 'while :; do echo still here; sleep 0.01; done # {n}' & exit 3",
    "stopped": "setsid sh -c 'kill -STOP $$ # {n}' & sleep 0.01; exit 3",
}


@pytest.mark.slow
@pytest.mark.usefixtures("linux")
def test_processes_that_a_command_leaves_behind_are_killed(sandbox: str, tmp_path: Path) -> None:
    """However they got away. Some outlive the timeout as well."""
    for number in range(RUNS):
        name, line = list(LEAVERS.items())[number % len(LEAVERS)]
        mark = f"777{number:05}"
        slow = number % 10 == 9
        line = line.format(n=mark)
        line = line.replace("exit 3", f"sleep {mark}") if slow else line
        for seconds in (0.2, 2, 20) if slow else (END,):  # until a busy machine has started it
            with ends():
                done = run_shell(line, tmp_path, sandbox=sandbox, limits=Limits(timeout=seconds))
            assert processes_end(mark), name
            if done.killed:
                break
        assert done.exit_code == (None if slow else 3), name
        assert done.killed >= 1, name


def test_a_process_that_ends_right_after_the_command_is_not_counted(sandbox: str, tmp_path: Path) -> None:
    """For example the other half of a pipe, or a process substitution of a shell."""
    for _ in range(100):
        done = run_shell("(sleep 0.01; echo late) & exit 0", tmp_path, sandbox=sandbox)
        if not done.killed:  # on a busy machine it does not end right after it
            break
    assert (done.stdout, done.killed, done.exit_code) == (b"late\n", 0, 0)


@pytest.mark.slow
@pytest.mark.usefixtures("linux")
@pytest.mark.parametrize("line", rows(__file__, "the_timeout_ends_the_whole_process_tree"))
def test_the_timeout_ends_the_whole_process_tree(line: str, sandbox: str, tmp_path: Path) -> None:
    """Nothing is left."""
    with ends():
        done = run_shell(line, tmp_path, sandbox=sandbox, limits=Limits(timeout=0.3))
    assert (done.exit_code, done.timed_out) == (None, True)
    assert processes_end("66601")


def test_a_command_gets_sigterm_before_sigkill(sandbox: str, tmp_path: Path) -> None:
    """So that it can clean up."""
    line = "trap 'echo cleaned; exit 9' TERM; echo began; sleep 60 & wait"
    for seconds in (0.3, 3, 30):  # until a busy machine starts it, and lets it clean up in time
        done = run_shell(line, tmp_path, sandbox=sandbox, limits=Limits(timeout=seconds))
        if b"cleaned" in done.stdout:
            break
    assert (done.stdout, done.exit_code, done.timed_out) == (b"began\ncleaned\n", None, True)


BOMB = """
import os, sys, time
end = time.monotonic() + 20
for _ in range(int(sys.argv[2])):
    os.fork()
    if sys.argv[1] == "sessions":
        try: os.setsid()
        except OSError: pass
while time.monotonic() < end:  # each escapes as often as it can
    pid = os.fork()
    if pid:
        os._exit(0)
    if sys.argv[1] == "sessions":
        os.setsid()
    time.sleep(float(sys.argv[3]))
"""


BOMB_SIZE = ("7", "0.002") if RUNS >= 500 else ("4", "0.01")
"""Doublings, and seconds between two; the large one fills the machine, so that other tests beside it would fail."""


BOMBS = [("one-group", "none"), ("one-group", "bwrap"), ("sessions", "bwrap")]


if RUNS >= 500:
    BOMBS.append(("sessions", "none"))


@pytest.mark.usefixtures("linux")
@pytest.mark.parametrize(("kind", "name"), BOMBS)
def test_a_fork_bomb_is_ended(kind: str, name: str, tmp_path: Path) -> None:
    """Processes that change their numbers all the time, in one group or each in its own session.

    Without a sandbox the latter may be faster than any kill: then there is an error. Only `make endurance` tries this.
    """
    sandbox = require_backend(name)
    with ends():
        try:
            done = run(
                ["python3", "-c", BOMB, kind, *BOMB_SIZE], cwd=tmp_path, sandbox=sandbox, limits=Limits(timeout=1)
            )
        except SandboxError as error:
            if (kind, sandbox) != ("sessions", "none") or "cannot be killed" not in str(error):
                raise
            assert processes_end("each escapes as often")
            return
    assert processes_end("each escapes as often")
    assert done.timed_out or done.killed or sandbox == "bwrap"  # they may be too fast to be counted
