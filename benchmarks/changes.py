"""Measure what a change costs: a first run, one edited skill, files that were written a moment ago, empty folders."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING, Any

from bench import COLD, COMMAND_SKILLS, SETTLE_SECONDS, WARM, Bench
from by_agent import folder_of
from generate import SKILLS
from measure import Cost, run_once

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

HOSTS = ("prowess", "claude-code", "codex", "copilot", "gemini-cli", "opencode")
FILL, EDITED, EDITED_NOW = "fills the cache", "one edited", "one edited just now"
ALL_NEW, ALL_NEW_COLD = "all just written, cached", "all just written"
EMPTY_FOLDERS, SKILLS_BESIDE = 5_000, 100
ALONE, BESIDE = "alone", "beside empty folders"


class _Agent:
    """A host, a project that it reads, and what each kind of run has cost."""

    def __init__(self, bench: Bench, host: str, skills: int) -> None:
        self.bench, self.host, self.skills = bench, host, skills
        self.where = folder_of(host) or SKILLS
        self.project = bench.project(skills, self.where, copy="changed")
        self.costs: dict[str, Cost] = {}

    @property
    def folder(self) -> Path:
        """The folder of the skills."""
        return self.project / self.where

    def run(self, name: str, *, cached: bool = True) -> None:
        """Find and parse all skills in a new process."""
        bench, cache = self.bench, f"cache-{self.host}"
        environment = bench.cached_environment(self.project, cache) if cached else bench.uncached_environment
        measured = bench.own_reader(
            name, self.project, environment, expected=self.skills, host=self.host, where=self.where
        )
        cost = self.costs.setdefault(name, Cost())
        if cost.reason is None:
            run_once(measured, cost)

    def clear_cache(self) -> None:
        """Remove its cache."""
        shutil.rmtree(self.project.parent / f"cache-{self.host}", ignore_errors=True)


def measure_changes(
    bench: Bench, hosts: Sequence[str] = HOSTS, skills: int = COMMAND_SKILLS, empty_folders: int = EMPTY_FOLDERS
) -> Iterator[dict[str, Any]]:
    """Measure each host after each kind of change, in turns; return what is measured after each round."""
    agents = [_Agent(bench, host, skills) for host in hosts]
    empty = _empty_folders(bench, empty_folders)
    beside = {name: Cost() for name in empty}
    for turn in range(bench.rounds):
        bench.say(f"changes, {turn + 1} of {bench.rounds} ...")
        _measure_round(agents)
        for name, measured in empty.items():
            run_once(measured, beside[name])
        yield {
            "skills": skills,
            "hosts": {agent.host: {name: cost.as_dict() for name, cost in agent.costs.items()} for agent in agents},
            "empty folders": {
                "folders": empty_folders,
                "skills": SKILLS_BESIDE,
                "runs": {name: cost.as_dict() for name, cost in beside.items()},
            },
        }


def _measure_round(agents: Sequence[_Agent]) -> None:
    folders = {agent.folder for agent in agents}
    for agent in agents:
        agent.run(COLD, cached=False)
        agent.clear_cache()
        agent.run(FILL)
        agent.run(WARM)
    for folder in folders:
        edit_description(folder)
    time.sleep(SETTLE_SECONDS)
    for agent in agents:
        agent.run(EDITED)
    for agent in agents:
        edit_description(agent.folder)
        agent.run(EDITED_NOW)
    for agent in agents:
        touch(agent.folder)
        agent.run(ALL_NEW)
        touch(agent.folder)
        agent.run(ALL_NEW_COLD, cached=False)
    time.sleep(SETTLE_SECONDS)


def edit_description(folder: Path) -> None:
    """Replace the first letter of the first plain description in a folder of skills."""
    for file in sorted(folder.glob("*/SKILL.md")):
        before, mark, text = file.read_text(encoding="utf-8").partition("\ndescription: ")
        if mark and text[0].isalpha():
            letter = "A" if text[0] != "A" else "B"
            file.write_text(f"{before}{mark}{letter}{text[1:]}", encoding="utf-8")
            return
    raise ValueError(f"no plain description in {folder}")


def touch(folder: Path) -> None:
    """Give each SKILL.md of a folder the present as the time of its last change."""
    for file in folder.glob("*/SKILL.md"):
        os.utime(file)


def _empty_folders(bench: Bench, folders: int) -> dict[str, Any]:
    """Return the commands that read a hundred skills, alone and beside many empty folders."""
    projects = {ALONE: bench.project(SKILLS_BESIDE), BESIDE: bench.project(SKILLS_BESIDE, copy="empty-folders")}
    for number in range(folders):
        (projects[BESIDE] / SKILLS / f"empty-{number}").mkdir(exist_ok=True)
    return {
        name: bench.own_reader(name, project, bench.uncached_environment, expected=SKILLS_BESIDE)
        for name, project in projects.items()
    }
