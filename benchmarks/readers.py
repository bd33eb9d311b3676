"""Measure all readers of skills by the number of skills: the floor, Prowess and its peers."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from bench import COLD, WARM, Bench
from measure import Cost, measure, run_once

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from environments import Peer
    from measure import MeasuredCommand

SIZES = (100, 1_000, 10_000, 100_000)
LARGE, LARGE_PEERS = 100_000, 2
"""From this number of skills on, only so many of the fastest peers are measured: others would take minutes a run."""


def measure_readers(bench: Bench, sizes: Sequence[int] = SIZES) -> Iterator[dict[str, Any]]:
    """Measure all readers on projects of each size; return what is measured after each."""
    figures: dict[str, Any] = {"peers": described(bench.peers), "absent": bench.absent, "sizes": {}}
    costs: Mapping[str, Cost] = {}
    for skills in sizes:
        peers = [peer for peer in bench.peers if peer.script is not None]
        if skills >= LARGE:
            known = [peer for peer in peers if _work(costs.get(peer.name))]
            peers = sorted(known, key=lambda peer: _work(costs.get(peer.name)))[:LARGE_PEERS]
        project = bench.project(skills)
        costs = measure(
            readers(bench, project, skills, peers), rounds=bench.rounds, label=f"{skills:,} skills", quiet=bench.quiet
        )
        figures["sizes"][str(skills)] = {name: cost.as_dict() for name, cost in costs.items()}
        if skills >= LARGE:
            bench.remove(project)
        yield figures


def described(peers: Sequence[Peer]) -> dict[str, dict[str, Any]]:
    """Return what the page says of each peer."""
    return {
        peer.name: {
            "packages": peer.packages,
            "differs": peer.differs,
            "less": peer.less,
            "does": peer.does,
            "reads": bool(peer.script),
            "host": peer.host,
        }
        for peer in peers
    }


def _work(cost: Cost | None) -> float:
    return median(cost.work) if cost is not None and cost.work else 0.0


def readers(bench: Bench, project: Path, skills: int, peers: Sequence[Peer]) -> list[MeasuredCommand]:
    """Return the commands that find and parse all skills of a project, one for each reader."""
    commands = [
        *bench.floor_reader(project, expected=skills),
        bench.own_reader(COLD, project, bench.uncached_environment, expected=skills),
    ]
    warm = bench.own_reader(WARM, project, bench.cached_environment(project), expected=skills)
    run_once(warm, Cost())  # fills the cache
    if any(file.is_file() for file in (project.parent / "cache").rglob("*")):
        commands.append(warm)
    elif WARM not in bench.absent:
        bench.skip_reader(WARM, "this version has no cache")
    return commands + [bench.peer_reader(peer, project, expected=skills) for peer in peers]
