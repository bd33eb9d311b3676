"""Measure how long it takes to find and parse skills as each agent does that Prowess knows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from bench import COLD, COMMAND_SKILLS, WARM, Bench
from generate import SKILLS
from measure import Cost, measure, run_once
from prowess import discover
from prowess.hosts import host_names, load_host

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from environments import Peer
    from measure import MeasuredCommand


ROUNDS_FACTOR = 2
"""How many times as many rounds as others each agent has: its runs are short."""


def folder_of(host: str) -> str | None:
    """Return the folder of a project in which the skills of a host are measured: `.agents/skills` if it reads that."""
    folders = [root.path for root in load_host(host).roots if root.scope == "project" and root.path]
    plain = [folder for folder in folders if not set(folder) & set("*$~@|")]
    return SKILLS if SKILLS in plain else next(iter(plain), None)


def measure_agents(
    bench: Bench, hosts: Sequence[str] | None = None, skills: int = COMMAND_SKILLS
) -> Iterator[dict[str, Any]]:
    """Measure each host beside the floor and the peers that implement it; return what is measured after each."""
    figures: dict[str, Any] = {"skills": skills, "absent": {}, "agents": {}}
    for host in hosts if hosts is not None else host_names():
        folder = folder_of(host)
        if folder is None:
            figures["absent"][host] = "it has no folder of its own in a project: its caller names the folders"
            continue
        peers = [peer for peer in bench.peers if peer.host == host]
        figures["agents"][host] = _measure_agent(bench, host, folder, skills, peers)
        yield figures
    yield figures


def _measure_agent(bench: Bench, host: str, folder: str, skills: int, peers: Sequence[Peer]) -> dict[str, Any]:
    project = bench.project(skills, folder)

    def own(name: str, environment: Mapping[str, str]) -> MeasuredCommand:
        return bench.own_reader(name, project, environment, expected=skills, host=host, where=folder)

    warm = own(WARM, bench.cached_environment(project, f"cache-{host}"))
    run_once(warm, Cost())  # fills the cache
    commands = [
        *bench.floor_reader(project, folder, expected=skills),
        own(COLD, bench.uncached_environment),
        warm,
        *(bench.peer_reader(peer, project, expected=skills) for peer in peers if peer.script),
    ]
    rounds = bench.rounds * ROUNDS_FACTOR if bench.rounds > 1 else 1
    costs = measure(commands, rounds=rounds, label=host, quiet=bench.quiet)
    return {
        "folder": folder,
        "states": _states(bench, host, project),
        "peers": [peer.name for peer in peers],
        "runs": {name: cost.as_dict() for name, cost in costs.items()},
    }


def _states(bench: Bench, host: str, project: Path) -> dict[str, int]:
    """Count the skills by state, with the same trust as the measured command."""
    trust = [argument.name for argument in load_host(host).arguments if argument.effect == "trusted"]
    variable = load_host(host).switch_variable
    env = {variable: "true"} if variable else {}
    catalog = discover(project, host, bench.folder / "home", env=env, client_args=trust[:1], cache=False)
    return dict(Counter(str(skill.state) for skill in catalog.skills))
