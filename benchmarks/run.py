"""Measure what it costs to find the skills of a folder: Prowess, other readers, and a floor in C.

    python benchmarks/run.py            measures all; writes results.json, docs/benchmarks.md and docs/benchmarks.svg
    python benchmarks/run.py --short    measures the floor and Prowess on small projects; prints ratios, writes nothing
    python benchmarks/run.py --write    measures nothing; renders the page and the chart from results.json

All read the same files in the same run, in turns. No benchmark fails because something is slow.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import environments
import mounting
import results
import testing
from environments import NotInstalledError, Peer
from generate import SKILLS, generate
from measure import Cost, MeasuredCommand, measure, run_once

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).resolve().parent
SIZES, SHORT_SIZES = (100, 1_000, 10_000), (200, 1_000)
ROUNDS = 5
COMMAND_SKILLS = 1_000
SETTLE_SECONDS = 2.5
"""Seconds until the cache of Prowess trusts the timestamps of new files."""
FLOOR, COLD, WARM = "floor", "prowess", "prowess, cached"
EMPTY_COMMAND = "python -c pass"


class Bench:
    """A run of the benchmarks: its temporary folder, its environment variables, its peers."""

    def __init__(self, folder: Path, peers: tuple[Peer, ...], *, rounds: int, quiet: bool) -> None:
        self.folder, self.rounds, self.quiet = folder, rounds, quiet
        self.absent: dict[str, str] = {}
        """Readers that cannot be measured, and why."""
        (folder / "home").mkdir()
        self.environment = {
            "HOME": str(folder / "home"),
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "DO_NOT_TRACK": "1",
            "DISABLE_TELEMETRY": "1",
        }
        self.uncached_environment = self.environment | {"PROWESS_NO_CACHE": "1"}
        self.floor: Path | None = None
        try:
            self.floor = environments.compile_floor(folder)
        except NotInstalledError as error:
            self.skip_reader(FLOOR, str(error))
        self.peers: list[Peer] = []
        for peer in peers:
            try:
                environments.install(peer)
                self.peers.append(peer)
            except NotInstalledError as error:
                self.skip_reader(peer.name, str(error))

    def skip_reader(self, name: str, reason: str) -> None:
        """Leave out a reader and print why."""
        self.absent[name] = reason
        print(f"left out: {name}: {reason}", file=sys.stderr)

    def project(self, skills: int, seed: int) -> Path:
        """Return a project with this number of skills, generated once per run."""
        project = self.folder / f"{skills}" / "project"
        if not project.exists():
            print(f"generating {skills:,} skills ...", file=sys.stderr)
            generate(project, skills, seed)
            time.sleep(SETTLE_SECONDS)
        return project

    def cached_environment(self, project: Path) -> dict[str, str]:
        """Return the environment variables with which Prowess uses a cache for a project."""
        return self.environment | {"PROWESS_CACHE_DIR": str(project.parent / "cache")}

    def readers(self, project: Path, skills: int) -> list[MeasuredCommand]:
        """Return the commands that find and parse all skills of a project, one for each reader."""
        folder = str(project / SKILLS)

        def reader(name: str, command: list[str], environment: Mapping[str, str]) -> MeasuredCommand:
            return MeasuredCommand(name=name, command=command, environment=environment, cwd=project, expected=skills)

        def script(name: str, python: Path, file: str, environment: Mapping[str, str]) -> MeasuredCommand:
            command = [str(python), "-I", str(HERE / "measure_reader.py"), str(HERE / "peers" / file), folder]
            return reader(name, command, environment)

        readers = [] if self.floor is None else [reader(FLOOR, [str(self.floor), folder], self.environment)]
        python = Path(sys.executable)
        readers.append(script(COLD, python, "prowess.py", self.uncached_environment))
        warm = script(WARM, python, "prowess.py", self.cached_environment(project))
        run_once(warm, Cost())  # fills the cache
        if any(file.is_file() for file in (project.parent / "cache").rglob("*")):
            readers.append(warm)
        elif WARM not in self.absent:
            self.skip_reader(WARM, "this version has no cache")
        readers += [
            script(peer.name, peer.programs / "python", peer.script, self.environment)
            for peer in self.peers
            if peer.script is not None
        ]
        return readers

    def measure_readers(self, skills: int, seed: int) -> dict[str, Cost]:
        """Measure all readers on a project with this number of skills."""
        readers = self.readers(self.project(skills, seed), skills)
        return measure(readers, rounds=self.rounds, label=f"{skills:,} skills", quiet=self.quiet)

    def measure_commands(self, skills: int, seed: int) -> dict[str, Cost]:
        """Measure whole commands in a project with this number of skills."""
        project = self.project(skills, seed)
        folders = sorted(f"{SKILLS}/{entry.name}" for entry in (project / SKILLS).iterdir())
        commands = [*self._own_commands(project, folders), *self._peer_commands(project, folders)]
        for measured in commands:
            if measured.name.endswith("cached"):
                run_once(measured, Cost())  # fills the cache
        return measure(commands, rounds=self.rounds, label="commands", quiet=self.quiet)

    def _own_commands(self, project: Path, folders: list[str]) -> list[MeasuredCommand]:
        """Return the commands of Prowess, with and without its cache, and an empty one to compare."""
        commands = [
            _whole_command(name, [sys.executable, "-c", code], self.environment, project)
            for name, code in ((EMPTY_COMMAND, "pass"), ("python -c 'import prowess'", "import prowess"))
        ]
        environments_by_suffix = {"": self.uncached_environment}
        if WARM not in self.absent:
            environments_by_suffix[", cached"] = self.cached_environment(project)
        prowess = str(Path(sys.executable).parent / "prowess")
        skill = folders[len(folders) // 2].rpartition("/")[2]
        for label, words in {
            "list --json": ["list", "--json"],
            "prompt": ["prompt"],
            "check": ["check"],
            "why NAME": ["why", skill],
        }.items():
            for suffix, environment in environments_by_suffix.items():
                commands.append(_whole_command(f"prowess {label}{suffix}", [prowess, *words], environment, project))
        return commands

    def _peer_commands(self, project: Path, folders: list[str]) -> list[MeasuredCommand]:
        """Return the commands of the peers that have any; `*` in them becomes the folders of all skills."""
        commands = []
        for peer in self.peers:
            path = os.pathsep.join([str(peer.programs), self.environment["PATH"]])
            for program, *arguments in peer.commands:
                words = [str(peer.programs / program)]
                for argument in arguments:
                    words += folders if argument == "*" else [argument]
                label = " ".join([program, *("SKILL..." if argument == "*" else argument for argument in arguments)])
                commands.append(_whole_command(label, words, self.environment | {"PATH": path}, project))
        return commands


def _whole_command(name: str, words: list[str], environment: Mapping[str, str], project: Path) -> MeasuredCommand:
    return MeasuredCommand(name=name, command=words, environment=environment, cwd=project, reports_figures=False)


def measure_all(rounds: int, seed: int) -> None:
    """Measure everything and write the results, the page and the chart."""
    peers = environments.load_peers()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder).resolve(), peers, rounds=rounds, quiet=False)
        readers = {size: bench.measure_readers(size, seed) for size in SIZES}
        commands = bench.measure_commands(COMMAND_SKILLS, seed)
    figures: dict[str, Any] = {
        "date": results.today(),
        "machine": results.machine(),
        "seed": seed,
        "rounds": rounds,
        "peers": {
            peer.name: {
                "packages": peer.packages,
                "differs": peer.differs,
                "less": peer.less,
                "does": peer.does,
                "reads": bool(peer.script),
            }
            for peer in peers
        },
        "absent": bench.absent,
        "discover": {
            str(size): {name: cost.as_dict() for name, cost in costs.items()} for size, costs in readers.items()
        },
        "mounting": mounting.measure_all() | results.stamp(),
        "testing": testing.measure_all() | results.stamp(),
        "commands": {
            "skills": COMMAND_SKILLS,
            "runs": {name: cost.as_dict() for name, cost in commands.items()},
        },
    }
    results.write_results(figures)


def print_ratios(rounds: int, seed: int) -> None:
    """Measure the floor and Prowess and print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder).resolve(), (), rounds=rounds, quiet=True)
        for size in SHORT_SIZES:
            costs = bench.measure_readers(size, seed)
            floor = median(costs[FLOOR].work) if FLOOR in costs and not costs[FLOOR].reason else None
            for name, cost in costs.items():
                if cost.reason:
                    print(f"{size:,} skills: {name}: {cost.reason}")
                    continue
                work = median(cost.work)
                ratio = f", {work / floor:.1f} x the floor" if floor and name != FLOOR else ""
                print(f"{size:,} skills: {name}: {work * 1e3:.2f} ms{ratio}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Measure Prowess and its peers.", allow_abbrev=False)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--short", action="store_true", help="measure the floor and Prowess only; write nothing")
    mode.add_argument("--write", action="store_true", help="measure nothing; render the page from results.json")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"runs of each (default: {ROUNDS})")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the generated skills (default: 0)")
    arguments = parser.parse_args()
    if arguments.write:
        results.render()
    elif arguments.short:
        print_ratios(arguments.rounds, arguments.seed)
    else:
        measure_all(arguments.rounds, arguments.seed)


if __name__ == "__main__":
    main()
