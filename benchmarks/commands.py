"""Measure whole commands in a project of 1,000 skills: those of Prowess, of its peers, and an empty one of Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import COMMAND_SKILLS, FLOOR, Bench
from generate import SKILLS
from measure import Cost, MeasuredCommand, measure, run_once
from readers import described

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

EMPTY_COMMAND, IMPORT, EMPTY_LIST = (
    "python -c pass",
    "python -c 'import prowess'",
    "prowess list --host prowess, no skills",
)
CACHED = ", cached"
JOBS: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt",),
    "host": ("list", "--host", "prowess"),
    "list": ("list",),
    "json": ("list", "--json"),
    "matrix": ("list", "--all", "--json"),
    "why": ("why", "NAME"),
    "why-host": ("why", "NAME", "--host", "prowess"),
    "activate": ("activate", "NAME"),
    "show": ("show", "NAME"),
    "check": ("check",),
    "check-host": ("check", "--host", "prowess"),
    "search": ("search", "WORDS"),
}
"""Jobs, and the command of Prowess that does each."""
WORDS = "extract tables from an invoice"


def measure_commands(
    bench: Bench, jobs: Sequence[str] = tuple(JOBS), skills: int = COMMAND_SKILLS
) -> Iterator[dict[str, Any]]:
    """Measure the commands that do each job, in turns, beside the floor and an empty command."""
    project = bench.project(skills)
    own = {job: _own_commands(bench, project, job) for job in jobs}
    peers = {job: _peer_commands(bench, project, job) for job in jobs}
    for measured in (command for commands in own.values() for command in commands):
        run_once(measured, Cost())  # fills the cache, and compiles what is imported
    commands = [
        *bench.floor_reader(project, expected=skills),
        *_start_commands(bench, project),
        *(command for job in jobs for command in (*own[job], *peers[job])),
    ]
    costs = measure(commands, rounds=bench.rounds, label="commands", quiet=bench.quiet)
    floor = costs.pop(FLOOR, None)
    yield {
        "skills": skills,
        "agents": _listed_agents(bench, project),
        "peers": described(bench.peers),
        "absent": bench.absent,
        "floor": floor.as_dict() if floor else {},
        "jobs": {job: [command.name for command in (*own[job], *peers[job])] for job in jobs},
        "runs": {name: cost.as_dict() for name, cost in costs.items()},
    }


def _start_commands(bench: Bench, project: Path) -> list[MeasuredCommand]:
    """Return the commands that do nothing but start."""
    empty = bench.folder / "empty"
    (empty / ".git").mkdir(parents=True, exist_ok=True)
    words = {EMPTY_COMMAND: [sys.executable, "-c", "pass"], IMPORT: [sys.executable, "-c", "import prowess"]}
    return [
        *(_command(name, argv, bench.environment, project) for name, argv in words.items()),
        _command(EMPTY_LIST, [_prowess(), "list", "--host", "prowess"], bench.cached_environment(project), empty),
    ]


def _own_commands(bench: Bench, project: Path, job: str) -> list[MeasuredCommand]:
    """Return the command of Prowess that does a job, with nothing cached and cached."""
    words = [_prowess()]
    for word in JOBS[job]:
        words += {"NAME": [_one_skill(project)], "WORDS": WORDS.split()}.get(word, [word])
    name = " ".join(("prowess", *JOBS[job]))
    return [
        _command(name, words, bench.uncached_environment, project),
        _command(name + CACHED, words, bench.cached_environment(project), project),
    ]


def _peer_commands(bench: Bench, project: Path, job: str) -> list[MeasuredCommand]:
    """Return the commands of the peers that do a job."""
    skill = f"{SKILLS}/{_one_skill(project)}"
    commands = []
    for peer in bench.peers:
        path = os.pathsep.join([str(peer.programs), bench.environment["PATH"]])
        for program, *arguments in (command for does, command in peer.commands if does == job):
            words = [str(peer.programs / program)]
            for word in arguments:
                if word == "*":
                    words += sorted(f"{SKILLS}/{folder.name}" for folder in (project / SKILLS).iterdir())
                else:
                    words.append({"NAME": _one_skill(project), "SKILL": skill}.get(word, word))
            label = " ".join([program, *("SKILL..." if word == "*" else word for word in arguments)])
            commands.append(_command(label, words, bench.environment | {"PATH": path}, project))
    return commands


def _listed_agents(bench: Bench, project: Path) -> int:
    """Return how many agents `prowess list` asks about."""
    command = [_prowess(), "list", "--json"]
    done = subprocess.run(command, cwd=project, env=bench.uncached_environment, capture_output=True, check=True)
    return len(json.loads(done.stdout)["hosts"])


def _one_skill(project: Path) -> str:
    """Return the name of the skill in the middle."""
    names = sorted(folder.name for folder in (project / SKILLS).iterdir())
    return names[len(names) // 2]


def _prowess() -> str:
    return str(Path(sys.executable).parent / "prowess")


def _command(name: str, words: list[str], environment: Mapping[str, str], project: Path) -> MeasuredCommand:
    return MeasuredCommand(name=name, command=words, environment=environment, cwd=project, reports_figures=False)
