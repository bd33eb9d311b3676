"""Generated skills have realistic sizes, and every measurement runs; no test looks at the seconds."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import statistics
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from prowess import check, discover, parse

TOP = Path(__file__).parent.parent
BENCHMARKS = TOP / "benchmarks"
GENERATE: dict[str, Any] = runpy.run_path(str(BENCHMARKS / "generate.py"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate a project with a thousand skills."""
    folder = tmp_path_factory.mktemp("generated") / "project"
    GENERATE["generate"](folder, 1000, seed=7)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.slow
def test_generated_skills_have_the_sizes_of_real_ones(project: Path) -> None:
    """Median 9 KB, 90th percentile 25, at most 61."""
    sizes = sorted(file.stat().st_size for file in project.glob(".agents/skills/*/SKILL.md"))
    assert len(sizes) == 1000
    assert 8_800 <= statistics.median(sizes) <= 9_200
    assert 24_500 <= sizes[899] <= 25_500
    assert sizes[0] >= 1_500
    assert 55_000 <= sizes[-1] <= 61_000


@pytest.mark.slow
def test_generated_skills_have_the_files_and_fields_of_real_ones(project: Path) -> None:
    skills = project / ".agents/skills"
    assert len(list(skills.glob("*/scripts"))) == 300
    assert len(list(skills.glob("*/references"))) == 350
    read = [parse(file.read_bytes(), path=str(file)) for file in skills.glob("*/SKILL.md")]
    assert sum(bool(skill.metadata) for skill in read) == 300
    assert 320 <= statistics.mean(len(skill.description or "") for skill in read) <= 340
    assert len({skill.name for skill in read}) == 1000


@pytest.mark.slow
def test_generated_skills_are_valid(project: Path, tmp_path: Path) -> None:
    """They pass the specification, although they are much alike, and every peer finds them where it looks."""
    assert {finding.group for finding in check(project / ".agents/skills", policy="spec")} <= {"routes", "files"}
    assert discover(project, home=tmp_path, env={}).counts["active"] == 1000
    assert (project / ".agent/skills").resolve() == project / ".agents/skills"


def test_only_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("two", 3), ("three", 4)):
        GENERATE["generate"](tmp_path / name, 40, seed=seed)
    assert content(tmp_path / "one") == content(tmp_path / "two") != content(tmp_path / "three")


def test_generating_into_a_project_with_skills_is_an_error(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "generate.py"), str(tmp_path / "made"), "3"]
    subprocess.run(command, check=True)
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert again.stderr == f"`{tmp_path}/made` has skills already\n\nhint: remove it, or name another folder\n"


def test_names_are_unique_when_there_are_more_skills_than_combinations() -> None:
    names = GENERATE["SkillWriter"](0).names(50_000)
    assert len(set(names)) == 50_000
    assert max(map(len, names)) <= 64


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────────────────────


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run a file of benchmarks/, which imports its neighbours as a script does."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return runpy.run_path(str(BENCHMARKS / f"{name}.py"))


@pytest.mark.slow
def test_the_short_form_prints_ratios() -> None:
    """Prowess is compared with the floor if a C compiler is installed; the test sets no limit."""
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--short", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for size in ("200", "1,000"):
        assert re.search(rf"^{size} skills: prowess: [\d.]+ ms(, [\d.]+ x the floor)?$", done.stdout, re.MULTILINE)
    assert ("floor" in done.stdout) is (shutil.which("cc") is not None)


@pytest.mark.slow
def test_a_floor_that_cannot_be_compiled_is_left_out_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prowess is measured without it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    bench = module("bench", monkeypatch)["Bench"](tmp_path, (), rounds=1, quiet=True)
    assert bench.absent == {"floor": "`cc` is not installed"}
    assert capsys.readouterr().err == "left out: floor: `cc` is not installed\n"
    (figures,) = module("readers", monkeypatch)["measure_readers"](bench, [3])
    assert set(figures["sizes"]["3"]) == {"prowess", "prowess, cached"}
    assert all(len(cost["work"]) == 1 for cost in figures["sizes"]["3"].values())


def test_a_run_that_failed_or_found_fewer_skills_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results have the reason."""
    measure = module("measure", monkeypatch)
    reasons = {
        'print(\'{"skills": 50, "work": 1}\')': "found 50 of 1,000 skills",
        "raise SystemExit('no such skill')": "exit code 1: no such skill",
        'print(\'{"skills": 1000, "work": 1}\')': None,
    }
    commands = [
        measure["MeasuredCommand"](
            name=code, command=[sys.executable, "-c", code], environment={}, cwd=tmp_path, expected=1000
        )
        for code in reasons
    ]
    costs = measure["measure"](commands, rounds=2, label="", quiet=True)
    assert {code: cost.reason for code, cost in costs.items()} == reasons
    assert [len(cost.work) for cost in costs.values()] == [0, 0, 2]


def test_slow_commands_run_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times above 4 seconds, once above 20."""
    measure = module("measure", monkeypatch)
    turns = [measure["_max_rounds"](measure["Cost"](process=[seconds]), 5) for seconds in (1.0, 3.9, 4.1, 20.1)]
    assert turns == [5, 5, 3, 1]


def test_every_peer_is_pinned_and_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a script or a command."""
    peers = module("environments", monkeypatch)["load_peers"]()
    scripts = {peer.script for peer in peers if peer.script}
    assert scripts | {"__init__.py", "prowess.py"} == {file.name for file in (BENCHMARKS / "peers").glob("*.py")}
    for peer in peers:
        assert all(re.fullmatch(r"[\w-]+(==|@)[\d.]+", package) for package in peer.packages), peer.name
        assert peer.does.endswith(".")
        assert peer.script or peer.commands
        assert bool(peer.script) is bool(peer.differs)


def test_the_page_and_the_chart_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    results = json.loads((BENCHMARKS / "results.json").read_text(encoding="utf-8"))
    for name, function, kind in (("page", "render_page", "md"), ("chart", "render_chart", "svg")):
        rendered = module(name, monkeypatch)[function](results)
        assert (TOP / f"docs/benchmarks.{kind}").read_text(encoding="utf-8") == rendered, (
            "python benchmarks/run.py --write"
        )


def test_labels_of_the_chart_do_not_overlap_or_leave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    chart = module("chart", monkeypatch)
    for wanted in ([100.0] * 8, [62.0, 63.0, 64.0, 300.0], [100.0, 110.0, 121.0, 480.0, 505.0, 508.0], [70.0]):
        positions = chart["spread_labels"](wanted, low=62, high=508)
        assert all(below - above >= chart["LABEL_GAP"] - 0.11 for above, below in pairwise(positions))
        assert positions[0] >= 62
        assert positions[-1] <= 508
    assert chart["spread_labels"]([70.0, 200.0], low=62, high=508) == [70.0, 200.0]


@pytest.mark.slow
def test_mounting_is_measured_beside_copying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both copy the same four hundred files, equally often."""
    mounting = module("mounting", monkeypatch)
    figures = mounting["measure_all"](2)
    assert {name: {kind: len(runs) for kind, runs in cost.items()} for name, cost in figures["runs"].items()} == {
        name: {"processor": 2, "elapsed": 2}
        for name in ("shutil.copytree", "prowess.mount", "prowess.mount, replacing")
    }
    sizes = [file.stat().st_size for file in mounting["write_skill"](tmp_path / "large").rglob("*") if file.is_file()]
    assert sizes == [4096] * 400


@pytest.mark.slow
@pytest.mark.needs("git")
def test_installing_is_measured_beside_a_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both install the same skills, equally often, from both servers."""
    runs = module("adding", monkeypatch)["measure_all"](1, skills=3)["runs"]
    assert {server: {name: len(cost["elapsed"]) for name, cost in costs.items()} for server, costs in runs.items()} == {
        server: {"git clone --depth 1": 1, "prowess add": 1} for server in ("file", "http")
    }


@pytest.mark.slow
def test_the_tests_of_a_skill_are_measured_beside_a_bare_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both run equally often, without a sandbox and with bwrap if it works here."""
    figures = module("testing", monkeypatch)["measure_all"](1, 5)
    assert set(figures["runs"]) | set(figures["absent"]) == {"none", "bwrap"}
    assert [{runner: len(runs) for runner, runs in cost.items()} for cost in figures["runs"].values()] == [
        {"loop": 1, "prowess": 1} for _ in figures["runs"]
    ]
    assert "none" in figures["runs"]


@pytest.mark.slow
def test_servers_of_skills_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prowess always, the TypeScript SDK if it is installed; clients get every file."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    bench = module("bench", monkeypatch)["Bench"](tmp_path, (), rounds=1, quiet=True)
    *_, figures = module("serving", monkeypatch)["measure_serving"](bench, [20], clients=3, reads=4)
    costs = figures["sizes"]["20"]
    assert set(costs) | set(bench.absent) >= {"prowess mcp serve", "TypeScript SDK"}
    kinds = {"start", "start processor", "list", "list processor", "peak"}
    assert all({kind: len(runs) for kind, runs in cost.items()} == dict.fromkeys(kinds, 1) for cost in costs.values())
    assert (figures["clients"]["errors"], len(figures["clients"]["memory"])) == (0, 3)


@pytest.mark.slow
def test_verifying_is_measured_beside_sha256sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = module("bench", monkeypatch)["Bench"](tmp_path, (), rounds=2, quiet=True)
    *_, figures = module("verifying", monkeypatch)["measure_verifying"](bench, 5)
    assert set(figures["runs"]) | set(bench.absent) >= {"prowess verify", "sha256sum"}
    kinds = {"elapsed": 2, "processor": 2}
    assert all({kind: len(runs) for kind, runs in cost.items()} == kinds for cost in figures["runs"].values())
    assert (figures["skills"], figures["files"] >= 25, figures["bytes"] > 25_000) == (5, True, True)


def test_a_snapshot_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written three times; 200 skills take far less memory than 100,000 may."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    bench = module("bench", monkeypatch)["Bench"](tmp_path, (), rounds=1, quiet=True)
    *_, figures = module("snapshot", monkeypatch)["measure_snapshot"](bench, 200)
    assert list(figures["writes"]) == ["all skills", "no skill changed", "one skill changed"]
    (run,) = figures["runs"]
    assert (run["skills"], len(run["searches"])) == (200, 40)
    assert run["peak"] < 100e6
