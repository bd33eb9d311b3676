"""Processes -> what each cost, run in turns so that whatever else the machine does falls on all of them"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SLOW_RUN_LIMITS = ((60.0, 1), (20.0, 3))
"""Processor seconds of a run, and the most runs of what takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCommand:
    """A process to measure."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    cwd: Path
    reports_figures: bool = True
    """It prints figures of its own, as inside.py and the floor do."""
    expected: int | None = None
    """The number of skills it must tell, to be taken as having done the work."""


@dataclass(slots=True, kw_only=True)
class Cost:
    """What the runs of a contestant cost."""

    process: list[float] = field(default_factory=list)
    """Processor seconds of the whole process and those it started, user and system."""
    work: list[float] = field(default_factory=list)
    """Those of the work alone, without the start of the interpreter and the imports."""
    imports: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    """Bytes of memory."""
    reason: str | None = None
    """Why there are no figures."""

    def as_dict(self) -> dict[str, object]:
        """Return what is known, as results.json holds it."""
        if self.reason is not None:
            return {"reason": self.reason}
        seconds = {"work": self.work, "imports": self.imports, "process": self.process}
        figures: dict[str, object] = {name: [round(run, 6) for run in runs] for name, runs in seconds.items() if runs}
        return figures | ({"peak": self.peak} if self.peak else {})


def run(contestant: MeasuredCommand, cost: Cost) -> str:
    """Run a contestant once, add what that cost, and say it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            contestant.command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            env=contestant.environment,
            cwd=contestant.cwd,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if process.returncode:
            lines = errors.read().decode(errors="replace").strip().splitlines()
            cost.reason = f"ends with {process.returncode}: {lines[-1] if lines else 'no words'}"
            return cost.reason
        cost.process.append(usage.ru_utime + usage.ru_stime)
        said = f"{cost.process[-1]:.3f} s"
        if not contestant.reports_figures:
            return said
        told = json.loads(out.read().splitlines()[-1])
    if contestant.expected is not None and contestant.expected != told["skills"]:
        cost.reason = f"found {told['skills']:,} of {contestant.expected:,} skills"
        return cost.reason
    cost.work.append(told["work"])
    if "imports" in told:
        cost.imports.append(told["imports"])
    if "peak" in told:
        cost.peak.append(told["peak"])
    return said


def measure(contestants: Sequence[MeasuredCommand], *, rounds: int, label: str, quiet: bool = False) -> dict[str, Cost]:
    """Run each once in every round, in the order given; what is slow sits later rounds out.

    Args:
        contestants: whom to run.
        rounds: the most runs of each.
        label: what progress calls this.
        quiet: say nothing of progress.
    """
    costs = {contestant.name: Cost() for contestant in contestants}
    for turn in range(rounds):
        for contestant in contestants:
            cost = costs[contestant.name]
            if cost.reason is not None or turn >= _max_rounds(cost, rounds):
                continue
            said = run(contestant, cost)
            if not quiet:
                print(f"{label}, {turn + 1} of {rounds}: {contestant.name}: {said}", file=sys.stderr, flush=True)
    return costs


def _max_rounds(cost: Cost, rounds: int) -> int:
    slowest = max(cost.process, default=0.0)
    return next((min(rounds, turns) for seconds, turns in SLOW_RUN_LIMITS if slowest > seconds), rounds)


def median(runs: Sequence[float]) -> float:
    """Return the middle one."""
    return statistics.median(runs)
