"""The cost of one more skill for each agent, counted: files opened, folders listed, paths looked at, functions called.

Nothing here is timed. A new agent gets the cost of most agents, `USUAL`; what costs more is in `MORE`, with its reason.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.filesystem._filesystem import Filesystem
from prowess.hosts import host_names, load_host
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

FEW, MANY = 10, 30
"""Skills in two projects: costs that do not depend on the number of skills cancel out."""

HOSTS = [name for name in host_names() if name != "wink"]
"""All agents with a folder in the project that is scanned."""

INSIDE = ("camel-ai", "codex", "goose", "letta", "opencode")
"""Agents that search inside skills: each skill here has a folder."""
IGNORING = ("pi", "pi@0.7")
"""Agents that read ignore files, which the listing of a folder shows."""

USUAL = {"open": 1, "read": 1, "fstat": 1, "close": 1}
"""System calls."""
MORE = {
    **{name: {"scandir": 2} for name in INSIDE},
    **{name: {"scandir": 1} for name in IGNORING},
    "claude-code": {"stat": 1},  # whether it is a plugin: `.claude-plugin/plugin.json`
}

USUAL_RECORD = {"files": 1}
"""What a cached result records of each skill, to see whether it has changed."""
MORE_RECORDED = {
    **{name: {"folders": 2} for name in INSIDE},
    **{name: {"folders": 1} for name in IGNORING},
    "claude-code": {"kinds": 1},
}

USUAL_CALLS = 121
"""Calls of functions, of Python and of C, on Python 3.11; later versions call fewer."""
MORE_CALLS = {
    **dict.fromkeys((*INSIDE, *IGNORING), 165),
    **dict.fromkeys(("copilot", "infer-cli", "qwen-code"), 171),  # what does not fit in a budget is cut
    "claude-code": 213,  # a budget, and plugins
    "codex": 408,  # a budget with short paths, and plugins
    "mistral-vibe": 144,  # thirteen flags
}

SYSTEM_CALLS = ("open", "read", "close", "fstat", "stat", "lstat", "readlink", "scandir", "listdir", "access")


class Projects:
    """Two projects of one agent, which differ in their number of skills."""

    def __init__(self, host: str, top: Path) -> None:
        self.host, self.top = host, top
        paths = [root.path for root in load_host(host).roots if root.scope == "project"]
        self.root = next(path for path in paths if path and path[0] not in "$~@/")
        (top / "home").mkdir()
        for number in (FEW, MANY):
            project = top / f"repo-{number}"
            (project / ".git").mkdir(parents=True)
            for at in range(number):
                folder = skill(project / f".shared/s{at:03}", more="license: MIT\nmetadata:\n  author: me\n")
                (folder.parent / "docs").mkdir()
                (folder.parent / "docs/more.md").write_text("More.\n")
            # Most people have one folder, to which those of their agents are links.
            (project / self.root).parent.mkdir(parents=True, exist_ok=True)
            (project / self.root).symlink_to(project / ".shared")

    def discover(self, number: int, filesystem: Filesystem | None = None) -> None:
        catalog = discover(
            self.top / f"repo-{number}",
            host=self.host,
            home=self.top / "home",
            env={"INFER_AGENT_SKILLS_ENABLED": "true"},
            filesystem=filesystem or Filesystem(),
            cache=False,
        )
        assert len(catalog.skills) == number
        assert all(entry.description for entry in catalog.skills) or self.host == "cline"

    def cost_per_skill(self, measure: Any) -> dict[str, float]:
        self.discover(FEW)  # loads modules, and fills what is kept for all skills
        few, many = measure(FEW), measure(MANY)
        return {name: (many[name] - few[name]) / (MANY - FEW) for name in many if many[name] != few[name]}


@pytest.fixture(params=HOSTS)
def projects(request: pytest.FixtureRequest, tmp_path: Path) -> Projects:
    return Projects(request.param, tmp_path)


def test_a_skill_costs_each_agent_few_system_calls(projects: Projects, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the listing of a folder says is not asked again, and what no rule of the agent needs is not asked."""

    def count(number: int) -> Counter[str]:
        counts: Counter[str] = Counter()

        def counting(name: str, real: Any) -> Any:
            def call(*given: Any, **named: Any) -> Any:
                counts[name] += 1
                return real(*given, **named)

            return call

        with monkeypatch.context() as patch:
            for name in SYSTEM_CALLS:
                patch.setattr(os, name, counting(name, getattr(os, name)))
            projects.discover(number)
        return counts

    assert projects.cost_per_skill(count) == USUAL | MORE.get(projects.host, {})


def test_a_skill_is_recorded_in_few_places(projects: Projects) -> None:
    """Each of them is looked at again before a cached result is used."""

    def count(number: int) -> Counter[str]:
        filesystem = Filesystem()
        record = filesystem.record_fingerprints()
        projects.discover(number, filesystem)
        return Counter({name: len(value) for name, value in vars(record).items() if isinstance(value, dict)})

    assert projects.cost_per_skill(count) == USUAL_RECORD | MORE_RECORDED.get(projects.host, {})


@pytest.mark.slow
def test_a_skill_costs_each_agent_few_function_calls(projects: Projects) -> None:
    """One more regular expression or attribute of each skill shows here."""

    def count(number: int) -> Counter[str]:
        counts: Counter[str] = Counter()

        def note(_frame: object, event: str, _argument: object) -> None:
            counts["calls"] += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            projects.discover(number)
        finally:
            sys.setprofile(None)
        return counts

    assert projects.cost_per_skill(count)["calls"] <= MORE_CALLS.get(projects.host, USUAL_CALLS)
