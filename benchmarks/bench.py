"""What the measurements share: a temporary folder, environment variables, generated projects, installed peers."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import environments
from environments import NotInstalledError, Peer
from generate import SKILLS, generate
from measure import MeasuredCommand
from prowess.hosts import load_host

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).resolve().parent
SETTLE_SECONDS = 2.5
"""Seconds until the cache of Prowess trusts the timestamps of new files."""
PREPARED_SKILLS = 20
"""Skills of the project that Prowess reads before it is measured, so that its imports count as imports."""
PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
"""The PATH of all measured commands: agents that the user of this machine has installed must not count."""
FLOOR, COLD, WARM = "floor", "prowess", "prowess, cached"
COMMAND_SKILLS = 1_000
"""Skills of the projects in which agents, changes, commands and conversations are measured."""


class Bench:
    """A run of the benchmarks: its temporary folder, its environment variables, its peers."""

    def __init__(self, folder: Path, peers: tuple[Peer, ...], *, rounds: int, seed: int = 0, quiet: bool) -> None:
        self.folder, self.rounds, self.seed, self.quiet = folder, rounds, seed, quiet
        self.absent: dict[str, str] = {}
        """Readers that cannot be measured, and why."""
        (folder / "home").mkdir()
        self.environment = {
            "HOME": str(folder / "home"),
            "PATH": PROGRAMS,
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

    def say(self, text: str) -> None:
        """Print progress."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def project(self, skills: int, where: str = SKILLS, copy: str = "") -> Path:
        """Return a project with this number of skills in a folder, generated once per run.

        Args:
            skills: the number of skills.
            where: the folder in the project.
            copy: the name of a copy that its caller may change; without one the project is shared.
        """
        project = self.folder / (f"{skills}-{where.replace('/', '-')}" + (f"-{copy}" if copy else "")) / "project"
        if not project.exists():
            self.say(f"generating {skills:,} skills in {where} ...")
            generate(project, skills, self.seed, where)
            time.sleep(SETTLE_SECONDS)
        return project

    def remove(self, project: Path) -> None:
        """Remove a project that takes much room."""
        shutil.rmtree(project.parent)

    def cached_environment(self, project: Path, name: str = "cache") -> dict[str, str]:
        """Return the environment variables with which Prowess uses a cache for a project."""
        return self.environment | {"PROWESS_CACHE_DIR": str(project.parent / name)}

    def floor_reader(self, project: Path, where: str = SKILLS, *, expected: int) -> list[MeasuredCommand]:
        """Return the command that measures the floor, if it could be compiled."""
        if self.floor is None:
            return []
        command = [str(self.floor), str(project / where)]
        return [
            MeasuredCommand(name=FLOOR, command=command, environment=self.environment, cwd=project, expected=expected)
        ]

    def own_reader(
        self,
        name: str,
        project: Path,
        environment: Mapping[str, str],
        *,
        expected: int,
        host: str = "prowess",
        where: str = SKILLS,
    ) -> MeasuredCommand:
        """Return the command in which Prowess finds and parses all skills of a project as a host does."""
        arguments = [host, str(project), str(self.project(PREPARED_SKILLS, where))]
        if variable := load_host(host).switch_variable:
            environment = {**environment, variable: "true"}  # the client reads no skills without it
        return self.script(
            name, Path(sys.executable), "prowess.py", arguments, project, environment=environment, expected=expected
        )

    def peer_reader(self, peer: Peer, project: Path, *, expected: int) -> MeasuredCommand:
        """Return the command in which a peer finds and parses all skills of a project."""
        assert peer.script is not None  # noqa: S101 - the callers choose peers with one
        arguments = [str(project / SKILLS)]
        return self.script(
            peer.name,
            peer.programs / "python",
            peer.script,
            arguments,
            project,
            environment=self.environment,
            expected=expected,
        )

    def script(
        self,
        name: str,
        python: Path,
        file: str,
        arguments: list[str],
        project: Path,
        *,
        environment: Mapping[str, str],
        expected: int | None,
    ) -> MeasuredCommand:
        """Return the command that runs a script of peers/ in a Python environment and measures its work."""
        command = [str(python), "-I", str(HERE / "measure_reader.py"), str(HERE / "peers" / file), *arguments]
        return MeasuredCommand(name=name, command=command, environment=environment, cwd=project, expected=expected)
