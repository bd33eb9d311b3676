"""What it costs to see the skills of a folder: the floor, Prowess, and its peers, side by side

    python benchmarks/run.py            all; writes results.json, docs/benchmarks.md and docs/benchmarks.svg
    python benchmarks/run.py --short    the floor and Prowess on small trees; prints ratios, writes nothing

All read the same files in the same run, in turns. Nothing here fails because something is slow.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import environments
import mounting
import page
import picture
import testing
from environments import HERE, NotInstalledError, Peer
from generate import SKILLS, generate
from measure import Cost, MeasuredCommand, measure, median, run

TOP = HERE.parent
SIZES, SHORT_SIZES = (100, 1_000, 10_000), (200, 1_000)
ROUNDS = 5
COMMAND_SKILLS = 1_000
SETTLE_SECONDS = 2.5
"""Seconds after which a cache keeps what was seen of a new tree."""
FLOOR, COLD, WARM = "floor", "prowess", "prowess, cached"
EMPTY_COMMAND = "python -c pass"


class Bench:
    """One run: its temporary folder, its environment, its peers."""

    def __init__(self, where: Path, peers: tuple[Peer, ...], *, rounds: int, quiet: bool) -> None:
        self.where, self.rounds, self.quiet = where, rounds, quiet
        self.absent: dict[str, str] = {}
        """Who is left out, and why."""
        (where / "home").mkdir()
        self.environment = {
            "HOME": str(where / "home"),
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "DO_NOT_TRACK": "1",
            "DISABLE_TELEMETRY": "1",
        }
        self.floor: Path | None = None
        try:
            self.floor = environments.compile_floor(where)
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
        """Go on without somebody."""
        self.absent[name] = reason
        print(f"left out: {name}: {reason}", file=sys.stderr)

    def project(self, skills: int, seed: int) -> Path:
        """Generate a tree, unless this run has it already."""
        project = self.where / f"{skills}" / "project"
        if not project.exists():
            print(f"generating {skills:,} skills ...", file=sys.stderr)
            generate(project, skills, seed)
            time.sleep(SETTLE_SECONDS)
        return project

    def cached_environment(self, project: Path) -> dict[str, str]:
        """Return the environment in which Prowess may use a cache for a project."""
        return self.environment | {"PROWESS_CACHE_DIR": str(project.parent / "cache")}

    @property
    def uncached_environment(self) -> dict[str, str]:
        """The environment in which Prowess may use none."""
        return self.environment | {"PROWESS_NO_CACHE": "1"}

    def readers(self, project: Path, skills: int) -> list[MeasuredCommand]:
        """Return everyone who finds and parses all skills of a project."""
        folder = str(project / SKILLS)

        def script(name: str, python: Path, file: str, environment: dict[str, str]) -> MeasuredCommand:
            command = [str(python), "-I", str(HERE / "inside.py"), str(HERE / "peers" / file), folder]
            return MeasuredCommand(name=name, command=command, environment=environment, cwd=project, expected=skills)

        found: list[MeasuredCommand] = []
        if self.floor is not None:
            floor = [str(self.floor), folder]
            found.append(
                MeasuredCommand(name=FLOOR, command=floor, environment=self.environment, cwd=project, expected=skills)
            )
        python = Path(sys.executable)
        found.append(script(COLD, python, "prowess.py", self.uncached_environment))
        warm = script(WARM, python, "prowess.py", self.cached_environment(project))
        run(warm, Cost())  # fills the cache
        if any(file.is_file() for file in (project.parent / "cache").rglob("*")):
            found.append(warm)
        elif WARM not in self.absent:
            self.skip_reader(WARM, "this version has no cache")
        found += [
            script(peer.name, peer.programs / "python", peer.script, self.environment)
            for peer in self.peers
            if peer.script is not None
        ]
        return found

    def discover(self, skills: int, seed: int) -> dict[str, Cost]:
        """Measure them on a number of skills."""
        readers = self.readers(self.project(skills, seed), skills)
        return measure(readers, rounds=self.rounds, label=f"{skills:,} skills", quiet=self.quiet)

    def commands(self, skills: int, seed: int) -> dict[str, Cost]:
        """Measure whole commands on a number of skills."""
        project = self.project(skills, seed)
        folders = sorted(f"{SKILLS}/{entry.name}" for entry in (project / SKILLS).iterdir())
        programs = Path(sys.executable).parent

        def command(name: str, words: list[str], environment: dict[str, str]) -> MeasuredCommand:
            return MeasuredCommand(
                name=name, command=words, environment=environment, cwd=project, reports_figures=False
            )

        found = [
            command(
                f"python -c '{code}'" if " " in code else EMPTY_COMMAND, [sys.executable, "-c", code], self.environment
            )
            for code in ("pass", "import prowess")
        ]
        name = folders[len(folders) // 2].rpartition("/")[2]
        ways = [("", self.uncached_environment)] + (
            [(", cached", self.cached_environment(project))] if WARM not in self.absent else []
        )
        for words in (["list", "--json"], ["prompt"], ["check"], ["why", name]):
            for suffix, environment in ways:
                label = " ".join(["prowess", *words]).replace(name, "NAME") + suffix
                found.append(command(label, [str(programs / "prowess"), *words], environment))
        for peer in self.peers:
            path = os.pathsep.join([str(peer.programs), self.environment["PATH"]])
            for given in peer.commands:
                words = [str(peer.programs / given[0])]
                for word in given[1:]:
                    words += folders if word == "*" else [word]
                label = " ".join("SKILL..." if word == "*" else word for word in given)
                found.append(command(label, words, self.environment | {"PATH": path}))
        for contestant in found:
            if contestant.name.endswith("cached"):
                run(contestant, Cost())
        return measure(found, rounds=self.rounds, label="commands", quiet=self.quiet)


def machine() -> dict[str, str]:
    """Return what the figures depend on."""

    def first_line(*command: str) -> str:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOP)
        except FileNotFoundError:
            return ""
        return done.stdout.partition("\n")[0].strip()

    processor = platform.processor()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), processor)
    return {
        "processor": f"{processor or platform.machine()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "compiler": first_line("cc", "--version"),
        "prowess": first_line("git", "describe", "--always", "--dirty"),
    }


def full(arguments: argparse.Namespace) -> None:
    """Measure everyone and write the results, the page and the picture."""
    peers = environments.load_peers()
    with tempfile.TemporaryDirectory() as where:
        bench = Bench(Path(where).resolve(), peers, rounds=arguments.rounds, quiet=False)
        sizes = {size: bench.discover(size, arguments.seed) for size in SIZES}
        commands = bench.commands(COMMAND_SKILLS, arguments.seed)
    today, on = dt.datetime.now(dt.UTC).date().isoformat(), machine()
    results: dict[str, Any] = {
        "date": today,
        "machine": on,
        "seed": arguments.seed,
        "rounds": arguments.rounds,
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
        "discover": {str(size): {who: cost.as_dict() for who, cost in costs.items()} for size, costs in sizes.items()},
        "mounting": mounting.measure_all() | {"date": today, "prowess": on["prowess"]},
        "testing": testing.measure_all() | {"date": today, "prowess": on["prowess"]},
        "commands": {"skills": COMMAND_SKILLS, "runs": {who: cost.as_dict() for who, cost in commands.items()}},
    }
    text = json.dumps(results, indent=1)
    (HERE / "results.json").write_text(page.compact_json(text) + "\n", encoding="utf-8")
    write()


def write() -> None:
    """Write the page and the picture from results.json."""
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    (TOP / "docs/benchmarks.md").write_text(page.render_page(results), encoding="utf-8")
    (TOP / "docs/benchmarks.svg").write_text(picture.render_chart(results), encoding="utf-8")


def short(arguments: argparse.Namespace) -> None:
    """Measure the floor and Prowess and print the ratios."""
    with tempfile.TemporaryDirectory() as where:
        bench = Bench(Path(where).resolve(), (), rounds=arguments.rounds, quiet=True)
        for size in SHORT_SIZES:
            costs = bench.discover(size, arguments.seed)
            floor = median(costs[FLOOR].work) if FLOOR in costs and not costs[FLOOR].reason else None
            for who, cost in costs.items():
                if cost.reason:
                    print(f"{size:,} skills: {who}: {cost.reason}")
                    continue
                work = median(cost.work)
                ratio = f", {work / floor:.1f} x the floor" if floor and who != FLOOR else ""
                print(f"{size:,} skills: {who}: {work * 1e3:.2f} ms{ratio}")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Measure Prowess and its peers.", allow_abbrev=False)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--short", action="store_true", help="the floor and Prowess alone; writes nothing")
    what.add_argument("--write", action="store_true", help="measure nothing; write the page from results.json again")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"runs of each (default: {ROUNDS})")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the generated skills (default: 0)")
    arguments = parser.parse_args()
    if arguments.write:
        write()
    elif arguments.short:
        short(arguments)
    else:
        full(arguments)


if __name__ == "__main__":
    main()
