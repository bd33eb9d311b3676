"""Run commands in turns and measure their processor time and memory.

Turns spread the load of other processes evenly over all commands.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from resource import struct_rusage
    from typing import IO

SLOW_RUN_LIMITS = ((20.0, 1), (4.0, 3))
"""Processor seconds of a run, and the most runs of a command that takes longer."""
TIME_LIMIT_SECONDS = 180.0
"""Elapsed seconds after which a run is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCommand:
    """A command to measure."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    cwd: Path
    reports_figures: bool = True
    """Whether it prints its own figures as JSON, as measure_reader.py and the floor do."""
    expected: int | None = None
    """The number of skills it must report; a run with another number does not count."""


@dataclass(slots=True, kw_only=True)
class Cost:
    """The figures of all runs of a command."""

    process: list[float] = field(default_factory=list)
    """Processor seconds of the process and its children, user and system."""
    work: list[float] = field(default_factory=list)
    """Processor seconds without the start of the interpreter and the imports."""
    imports: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    """Peak memory in bytes."""
    reason: str | None = None
    """Why there are no figures."""

    def as_dict(self) -> dict[str, object]:
        """Return the figures as results.json has them."""
        if self.reason is not None:
            return {"reason": self.reason}
        seconds = {"work": self.work, "imports": self.imports, "process": self.process}
        figures: dict[str, object] = {name: [round(run, 6) for run in runs] for name, runs in seconds.items() if runs}
        return figures | ({"peak": self.peak} if self.peak else {})


def run_once(measured: MeasuredCommand, cost: Cost) -> str:
    """Run a command once, add its figures to the cost, and return them or the failure in words."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        try:
            status, usage = _wait(measured, stdout, stderr)
        except OSError as error:
            cost.reason = f"it could not be started: {error.strerror}"
            return cost.reason
        stdout.seek(0)
        stderr.seek(0)
        if status == -signal.SIGKILL:
            cost.reason = f"it was stopped after {TIME_LIMIT_SECONDS:.0f} seconds, or for lack of memory"
            return cost.reason
        if status:
            lines = stderr.read().decode(errors="replace").strip().splitlines()
            cost.reason = f"exit code {status}: {lines[-1] if lines else 'no error message'}"
            return cost.reason
        cost.process.append(usage.ru_utime + usage.ru_stime)
        summary = f"{cost.process[-1]:.3f} s"
        if not measured.reports_figures:
            return summary
        figures = json.loads(stdout.read().splitlines()[-1])
    if measured.expected is not None and measured.expected != figures["skills"]:
        cost.reason = f"found {figures['skills']:,} of {measured.expected:,} skills"
        return cost.reason
    cost.work.append(figures["work"])
    if "imports" in figures:
        cost.imports.append(figures["imports"])
    if "peak" in figures:
        cost.peak.append(figures["peak"])
    return summary


def _wait(measured: MeasuredCommand, stdout: IO[bytes], stderr: IO[bytes]) -> tuple[int, struct_rusage]:
    """Run a command to its end and return its exit code and what it used; stop it at the limit of time."""
    process = subprocess.Popen(
        measured.command,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        env=measured.environment,
        cwd=measured.cwd,
        start_new_session=True,
    )
    timer = Timer(TIME_LIMIT_SECONDS, _stop, [process.pid])
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        _stop(process.pid)
        process.wait()
        raise
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def _stop(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def measure(commands: Sequence[MeasuredCommand], *, rounds: int, label: str, quiet: bool = False) -> dict[str, Cost]:
    """Run each command once in every round, in the given order; slow commands skip later rounds.

    Args:
        commands: the commands to run.
        rounds: the most runs of each.
        label: the name of this measurement in progress messages.
        quiet: print no progress.
    """
    costs = {measured.name: Cost() for measured in commands}
    for turn in range(rounds):
        for measured in commands:
            cost = costs[measured.name]
            if cost.reason is not None or turn >= _max_rounds(cost, rounds):
                continue
            summary = run_once(measured, cost)
            if not quiet:
                print(f"{label}, {turn + 1} of {rounds}: {measured.name}: {summary}", file=sys.stderr, flush=True)
    return costs


def _max_rounds(cost: Cost, rounds: int) -> int:
    slowest = max(cost.process, default=0.0)
    return next((min(rounds, turns) for seconds, turns in SLOW_RUN_LIMITS if slowest > seconds), rounds)
