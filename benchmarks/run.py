"""Measure what it costs to find the skills of a folder: Prowess, other readers, and a floor in C.

    python benchmarks/run.py                  measures all; writes results.json, docs/benchmarks.md and its chart
    python benchmarks/run.py --only hosts     measures one part, or several: hosts,commands
    python benchmarks/run.py --short          measures the floor and Prowess on small projects; prints ratios only
    python benchmarks/run.py --install        installs the peers and measures nothing
    python benchmarks/run.py --write          renders the page and the chart from results.json

All read the same files in the same run, in turns. No benchmark fails because something is slow. What is measured is
written after each part and each size, so an interrupted run loses only what it was measuring.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import adding
import by_agent
import changes
import commands
import conversations
import environments
import mounting
import readers
import results
import search_quality
import serving
import snapshot
import testing
import usage
import verifying
from bench import FLOOR, Bench
from measure import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from measure import Cost

    Measure = Callable[[Bench], Iterator[dict[str, Any]]]

SHORT_SIZES = (200, 1_000)
ROUNDS, TESTING_ROUNDS = 5, 3
PARTS: Mapping[str, Measure] = {
    "readers": readers.measure_readers,
    "hosts": by_agent.measure_agents,
    "changes": changes.measure_changes,
    "commands": commands.measure_commands,
    "conversations": conversations.measure_conversations,
    "search": search_quality.measure_search,
    "mcp": serving.measure_serving,
    "verify": verifying.measure_verifying,
    "usage": usage.measure_usage,
    "snapshot": snapshot.measure_snapshot,
    "mounting": lambda _: iter([mounting.measure_all()]),
    "add": lambda _: iter([adding.measure_all()]),
    "testing": lambda bench: iter([testing.measure_all(min(bench.rounds, TESTING_ROUNDS))]),
}
WITH_PEERS = {"readers", "hosts", "commands"}


def measure_parts(
    parts: Sequence[str], rounds: int, seed: int, output: Path | None = None, measured: Mapping[str, Measure] = PARTS
) -> bool:
    """Measure parts, write what each gives at once, and return whether all could be measured.

    Args:
        parts: names of parts.
        rounds: the most runs of each command.
        seed: the seed of the generated skills.
        output: the folder to write to instead of the repository.
        measured: the function that measures each part.
    """
    failed = []
    results.commit()
    peers = environments.load_peers() if WITH_PEERS & set(parts) else ()
    with tempfile.TemporaryDirectory(prefix="prowess-bench-") as folder:
        bench = Bench(Path(folder).resolve(), peers, rounds=rounds, seed=seed, quiet=False)
        for part in parts:
            start = time.monotonic()
            bench.say(f"== {part} ==")
            try:
                for figures in measured[part](bench):
                    results.update_section(part, {"rounds": rounds, "seed": seed} | figures, output)
            except Exception as error:  # noqa: BLE001 - the other parts are measured all the same
                failed.append(part)
                bench.say(f"{part} failed: {type(error).__name__}: {error}")
            bench.say(f"== {part}: {time.monotonic() - start:.0f} s ==")
    return not failed


def print_ratios(rounds: int, seed: int) -> None:
    """Measure the floor and Prowess and print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder).resolve(), (), rounds=rounds, seed=seed, quiet=True)
        for size in SHORT_SIZES:
            commands = readers.readers(bench, bench.project(size), size, ())
            _print_costs(size, measure(commands, rounds=rounds, label="", quiet=True))


def _print_costs(size: int, costs: Mapping[str, Cost]) -> None:
    floor = median(costs[FLOOR].work) if FLOOR in costs and not costs[FLOOR].reason else None
    for name, cost in costs.items():
        if cost.reason:
            print(f"{size:,} skills: {name}: {cost.reason}")
            continue
        work = median(cost.work)
        ratio = f", {work / floor:.1f} x the floor" if floor and name != FLOOR else ""
        print(f"{size:,} skills: {name}: {work * 1e3:.2f} ms{ratio}")


def install_peers() -> bool:
    """Install all peers and return whether that succeeded."""
    failed = False
    for peer in environments.load_peers():
        try:
            environments.install(peer)
        except environments.NotInstalledError as error:
            failed = True
            print(f"{peer.name}: {error}", file=sys.stderr)
    return not failed


def _parse_parts(text: str) -> list[str]:
    parts = text.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        raise argparse.ArgumentTypeError(f"unknown part `{unknown[0]}`; the parts are {', '.join(PARTS)}")
    return parts


def main() -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(description="Measure Prowess and its peers.", allow_abbrev=False)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--short", action="store_true", help="measure the floor and Prowess only; write nothing")
    mode.add_argument("--install", action="store_true", help="install the peers and measure nothing")
    mode.add_argument("--write", action="store_true", help="measure nothing; render the page from results.json")
    parser.add_argument(
        "--only", metavar="PARTS", type=_parse_parts, default=list(PARTS), help=f"measure only: {','.join(PARTS)}"
    )
    parser.add_argument(
        "--output", metavar="DIR", type=Path, help="write results, page and chart into DIR, not into the repository"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"runs of each (default: {ROUNDS})")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the generated skills (default: 0)")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary files are removed
    if arguments.write:
        results.render(arguments.output)
    elif arguments.install:
        return int(not install_peers())
    elif arguments.short:
        print_ratios(arguments.rounds, arguments.seed)
    else:
        return int(not measure_parts(arguments.only, arguments.rounds, arguments.seed, arguments.output))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\ninterrupted; the results have what was measured before")
