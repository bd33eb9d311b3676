"""Measure the snapshot of many skills: to write it, to start with it, to search it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from bench import HERE, SETTLE_SECONDS, Bench
from changes import edit_description
from generate import FILLER_WORDS, NOUNS, SKILLS, VERBS, StableRandom
from prowess.install.snapshot import write_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZE = 100_000
QUERIES = 40
LONGEST = 16
"""Words of a query."""


def queries(number: int = QUERIES) -> list[str]:
    """Return messages of 1 to 16 words: of names, and of those that nearly every skill has."""
    dice = StableRandom(0)
    words = [*NOUNS, *VERBS, *FILLER_WORDS]
    return [" ".join(dice.pick(words) for _ in range(1 + index % LONGEST)) for index in range(number)]


def measure_snapshot(bench: Bench, size: int = SIZE) -> Iterator[dict[str, Any]]:
    """Measure writing a snapshot three times, and then processes that use it."""
    project = bench.project(size, copy="snapshot")
    out, environment = project.parent / "out", bench.cached_environment(project)
    figures: dict[str, Any] = {"skills": size, "writes": {}, "runs": []}
    for name in ("all skills", "no skill changed", "one skill changed"):
        if name == "one skill changed":
            edit_description(project / SKILLS)
            time.sleep(SETTLE_SECONDS)
        bench.say(f"writing the snapshot of {size:,} skills, {name} ...")
        began = time.perf_counter()
        report = write_snapshot(project / SKILLS, out, env=environment)
        figures["writes"][name] = {"elapsed": round(time.perf_counter() - began, 3), "read": report.read}
        figures["size"] = report.size
        yield figures
    run_once(out, project, environment)  # fetches it into the cache
    for turn in range(bench.rounds):
        bench.say(f"snapshot, {turn + 1} of {bench.rounds} ...")
        figures["runs"].append(run_once(out, project, environment))
        yield figures
    bench.remove(project)


def run_once(out: Path, project: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Use a snapshot in a new process, and return the figures."""
    command = [sys.executable, "-I", str(HERE / "measure_snapshot.py"), str(out), *queries()]
    empty = project.parent / "empty"
    empty.mkdir(exist_ok=True)
    done = subprocess.run(command, env=environment, cwd=empty, check=True, stdout=subprocess.PIPE)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures
