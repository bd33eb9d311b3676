"""Each part of the benchmarks runs alone, writes what it measured, and outlives failures; no test looks at seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prowess.hosts import host_names
from support.benchmark_modules import BENCHMARKS, import_benchmarks
from support.growth import ends
from support.recorded import recording_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Import modules of benchmarks/."""
    yield from import_benchmarks(monkeypatch)


@pytest.fixture
def bench(module: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return a run of the benchmarks that does not wait for files to settle."""
    for name in ("bench", "changes", "conversations"):
        monkeypatch.setattr(module(name), "SETTLE_SECONDS", 0)
    return module("bench").Bench(tmp_path, (), rounds=1, quiet=True)


def is_measured(cost: dict[str, Any], kind: str = "work") -> bool:
    return len(cost.get(kind, ())) == 1


@pytest.mark.slow
def test_agents_are_measured_in_a_folder_that_they_read(module: Callable[[str], Any], bench: Any) -> None:
    """Also one that reads no skills without a variable, and one whose folder must be trusted."""
    *_, figures = module("by_agent").measure_agents(bench, ["codex", "claude-code", "infer", "pi", "wink"], skills=8)
    agents = figures["agents"]
    assert {host: agent["folder"] for host, agent in agents.items()} == {
        "codex": ".agents/skills",
        "claude-code": ".claude/skills",
        "infer": ".infer/skills",
        "pi": ".agents/skills",
    }
    assert all(agent["states"] == {"active": 8} for agent in agents.values())
    assert all(is_measured(cost) for agent in agents.values() for cost in agent["runs"].values())
    assert list(figures["absent"]) == ["wink"]


def test_every_agent_with_a_folder_in_projects_is_measured(module: Callable[[str], Any]) -> None:
    assert [host for host in host_names() if module("by_agent").folder_of(host) is None] == ["wink"]


@pytest.mark.slow
def test_changes_are_measured_beside_runs_without_one(module: Callable[[str], Any], bench: Any) -> None:
    changes = module("changes")
    *_, figures = changes.measure_changes(bench, ["prowess"], skills=8, empty_folders=3)
    kinds = ["prowess", "fills the cache", "prowess, cached", "one edited", "one edited just now"]
    assert list(figures["hosts"]["prowess"]) == [*kinds, "all just written, cached", "all just written"]
    runs = [*figures["hosts"]["prowess"].values(), *figures["empty folders"]["runs"].values()]
    assert all(is_measured(cost) for cost in runs)


def test_an_edit_changes_one_letter_of_one_description(module: Callable[[str], Any], tmp_path: Path) -> None:
    changes, generate = module("changes"), module("generate")
    generate.generate(tmp_path / "project", 20)
    folder = tmp_path / "project/.agents/skills"
    before = {file: file.read_bytes() for file in folder.glob("*/SKILL.md")}
    for _ in range(2):
        changes.edit_description(folder)
        changed = [file for file, data in before.items() if file.read_bytes() != data]
        assert len(changed) == 1
        old, new = before[changed[0]], changed[0].read_bytes()
        assert sum(map(int.__ne__, old, new)) == 1
        assert len(old) == len(new)


@pytest.mark.slow
def test_commands_are_measured_with_nothing_cached_and_cached(module: Callable[[str], Any], bench: Any) -> None:
    (figures,) = module("commands").measure_commands(bench, ["prompt", "activate"], skills=8)
    assert figures["agents"] > 0
    assert figures["jobs"] == {
        "prompt": ["prowess prompt", "prowess prompt, cached"],
        "activate": ["prowess activate NAME", "prowess activate NAME, cached"],
    }
    assert all(is_measured(cost, "process") for cost in figures["runs"].values())
    assert list(figures["runs"])[:3] == [
        "python -c pass",
        "python -c 'import prowess'",
        "prowess list --host prowess, no skills",
    ]


@pytest.mark.slow
def test_every_job_is_a_command_that_succeeds(module: Callable[[str], Any], bench: Any) -> None:
    commands = module("commands")
    project = bench.project(8)
    for job in commands.JOBS:
        for measured in commands._own_commands(bench, project, job)[:1]:
            cost = module("measure").Cost()
            module("measure").run_once(measured, cost)
            assert cost.reason is None, job


@pytest.mark.slow
def test_conversations_are_measured(module: Callable[[str], Any], bench: Any) -> None:
    """A catalog that is kept up to date may be missing in a version of Prowess."""
    *_, figures = module("conversations").measure_conversations(bench, skills=8, search_skills=9)
    runs = figures["runs"] | figures["search"]["runs"]
    assert all(is_measured(cost) for name, cost in runs.items() if name != "turn")
    assert is_measured(runs["turn"]) or "kept up to date" in runs["turn"]["reason"]


@pytest.mark.slow
def test_the_quality_of_search_is_measured(module: Callable[[str], Any], bench: Any) -> None:
    """Hit@1 and NDCG@10 are those of docs/search.md; a message helps to show the right skill."""
    *_, figures = module("search_quality").measure_search(bench)
    assert {"prowess", "SQLite FTS5"} <= set(figures["engines"])
    assert all(0 < hit < ndcg < 100 for hit, ndcg in figures["engines"].values())
    block = figures["block"]
    assert 0 < block["plain"] < block["by message"] <= 100


@pytest.mark.slow
def test_a_part_that_fails_or_is_interrupted_keeps_what_was_measured(
    module: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are measured after a failure."""
    run = module("run")

    def good(_: Any) -> Iterator[dict[str, Any]]:
        yield {"engines": {"prowess": [1.0, 2.0]}}

    def failing(_: Any) -> Iterator[dict[str, Any]]:
        yield {"engines": {"half": [1.0, 2.0]}}
        raise ValueError("no more room")

    def interrupted(_: Any) -> Iterator[dict[str, Any]]:
        raise KeyboardInterrupt

    parts = {"search": failing, "search again": good, "later": interrupted}
    with pytest.raises(KeyboardInterrupt):
        run.measure_parts(list(parts), 2, 0, tmp_path, parts)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["search"]["engines"] == {"half": [1.0, 2.0]}
    assert results["search again"]["engines"] == {"prowess": [1.0, 2.0]}
    assert "search failed: ValueError: no more room" in capsys.readouterr().err
    assert (tmp_path / "benchmarks.md").is_file()
    assert run.measure_parts(["search"], 1, 0, tmp_path, {"search": good})
    assert not run.measure_parts(["search"], 1, 0, tmp_path, {"search": failing})


def test_an_unknown_part_is_an_error_that_lists_all() -> None:
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--only", "hosts,speed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unknown part `speed`; the parts are readers, hosts, changes, commands, conversations" in done.stderr


def test_a_run_without_end_is_stopped_with_its_children(
    module: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measure = module("measure")
    monkeypatch.setattr(measure, "TIME_LIMIT_SECONDS", 0.2)
    code = "import os, time; open('pid', 'w').write(str(os.getpid())) if os.fork() else 0; time.sleep(600)"
    measured = measure.MeasuredCommand(
        name="endless", command=[sys.executable, "-c", code], environment=os.environ, cwd=tmp_path
    )
    cost = measure.Cost()
    with ends():
        assert "stopped after" in measure.run_once(measured, cost)
        assert cost.process == []


def test_a_command_that_cannot_be_started_has_a_reason(module: Callable[[str], Any], tmp_path: Path) -> None:
    measure = module("measure")
    missing = measure.MeasuredCommand(name="x", command=[str(tmp_path / "no")], environment={}, cwd=tmp_path)
    cost = measure.measure([missing], rounds=2, label="", quiet=True)["x"]
    assert cost.as_dict() == {"reason": "it could not be started: No such file or directory"}


def test_commands_and_clients_of_peers_are_known(module: Callable[[str], Any]) -> None:
    for peer in module("environments").load_peers():
        assert not peer.host or peer.host in host_names()
        assert {job for job, _ in peer.commands} <= set(module("commands").JOBS), peer.name


@pytest.mark.slow
def test_usage_is_measured_on_sessions_of_six_agents(module: Callable[[str], Any], bench: Any, tmp_path: Path) -> None:
    """Each has the uses that the client recorded, and about the size that it should."""
    usage = module("usage")
    size = usage.write_sessions(tmp_path / "home", 12, 500_000, 0)
    assert 12 * 500_000 <= size < 15 * 500_000
    recording = recording_of(tmp_path / "home")
    assert {session.agent for session in recording.sessions} == {*usage.FILLERS}
    assert len(recording.sessions) == 12
    assert all(session.activations for session in recording.sessions)
    (figures,) = usage.measure_usage(bench, 6, 50_000)
    assert all(len(values) == 1 for cost in figures["runs"].values() for values in cost.values())
    page = "".join(usage.usage_section({**figures, "date": "", "prowess": ""}))
    assert page.startswith("## Count which skills were used")
