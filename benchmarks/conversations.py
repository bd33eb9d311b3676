"""Measure what Prowess does in a conversation: find mentions in a text, search, and keep the catalog up to date."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from bench import COMMAND_SKILLS, HERE, SETTLE_SECONDS, Bench
from changes import edit_description
from generate import SKILLS
from measure import Cost, MeasuredCommand, measure, run_once

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEARCH_SKILLS = 10_000
NEW_INDEX, FIRST, LATER = "no index yet", "first query after a change", "later queries"
TASKS = {
    "mentions in Markdown": ("mentions", "markdown"),
    "a text of nothing but mentions": ("mentions", "mentions"),
    "a text of nothing but back-ticks": ("mentions", "back-ticks"),
    "turn": ("turn", "live"),
    "turn, with a scan": ("turn", "scan"),
}


def measure_conversations(
    bench: Bench, skills: int = COMMAND_SKILLS, search_skills: int = SEARCH_SKILLS
) -> Iterator[dict[str, Any]]:
    """Measure the tasks on one project, and searches on a larger one; return what is measured after each."""
    project = bench.project(skills)
    commands = [_task(bench, name, words, project) for name, words in TASKS.items()]
    run_once(commands[0], Cost())  # fills the cache
    costs = measure(commands, rounds=bench.rounds, label="conversations", quiet=bench.quiet)
    figures: dict[str, Any] = {
        "skills": skills,
        "runs": {name: cost.as_dict() for name, cost in costs.items()},
        "search": {"skills": search_skills, "runs": {}},
    }
    yield figures
    searches = _measure_searches(bench, search_skills)
    figures["search"]["runs"] = {name: cost.as_dict() for name, cost in searches.items()}
    yield figures


def _measure_searches(bench: Bench, skills: int) -> dict[str, Cost]:
    project = bench.project(skills, copy="searched")
    costs = {name: Cost() for name in (NEW_INDEX, FIRST, LATER)}

    def run(name: str, when: str) -> None:
        bench.say(f"search, {name} ...")
        run_once(_task(bench, name, ("search", when), project), costs[name])

    run(NEW_INDEX, "first")
    for _ in range(bench.rounds):
        edit_description(project / SKILLS)
        time.sleep(SETTLE_SECONDS)
        run(FIRST, "first")
        run(LATER, "later")
    return costs


def _task(bench: Bench, name: str, words: tuple[str, str], project: Path) -> MeasuredCommand:
    command = [sys.executable, str(HERE / "measure_task.py"), *words, str(project)]
    return MeasuredCommand(name=name, command=command, environment=bench.cached_environment(project), cwd=project)
