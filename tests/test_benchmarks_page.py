"""The page of the benchmarks is made from the results alone, and says what is not reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.benchmark_modules import import_benchmarks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Import modules of benchmarks/."""
    yield from import_benchmarks(monkeypatch)


MACHINE = {"processor": "one", "system": "two", "python": "3", "compiler": "cc"}
STAMP = {"date": "2026-11-23", "prowess": "abc", "rounds": 1}


def costs(**seconds: float) -> dict[str, Any]:
    return {name.replace("_", " "): {"work": [value], "peak": [30_000_000]} for name, value in seconds.items()}


def reader_results(*, cold: float, warm: float, peer: float, growth: float = 1.0) -> dict[str, Any]:
    """Return results in which the floor takes a millisecond for a thousand skills."""
    sizes = {}
    for size in (1_000, 10_000, 100_000):
        unit = size / 1_000_000 * (growth if size == 100_000 else 1.0)
        sizes[str(size)] = {
            "floor": {"work": [size / 1_000_000]},
            "prowess": {"work": [cold * unit], "peak": [30_000_000]},
            "prowess, cached": {"work": [warm * unit], "peak": [41_000_000]},
            "other": {"work": [peer * unit]},
        }
    described = {
        "packages": ["other==1"],
        "differs": "no YAML",
        "less": "",
        "does": "Reads.",
        "reads": True,
        "host": "",
    }
    return {"machine": MACHINE, "readers": {**STAMP, "peers": {"other": described}, "absent": {}, "sizes": sizes}}


def goals(module: Callable[[str], Any], results: dict[str, Any]) -> dict[str, tuple[str, bool | None]]:
    return {goal.goal: (goal.measured, goal.is_reached) for goal in module("goals").all_goals(results)}


def test_without_results_no_goal_is_reached(module: Callable[[str], Any]) -> None:
    known = goals(module, {})
    assert len(known) > 25
    assert set(known.values()) == {("", None)}
    page = module("page").render_page({"machine": MACHINE})
    assert "0 of 0 measured goals are reached" in page
    assert "| **no** |" not in page
    assert page.count("| not measured |") == len(known)


def test_a_goal_is_reached_up_to_its_limit_as_it_is_shown(module: Callable[[str], Any]) -> None:
    """4.04 is shown as 4.0 and reaches 4; 4.06 is shown as 4.1 and does not."""
    cold = "find and parse 10,000 skills with nothing cached: 4 x the floor"
    assert goals(module, reader_results(cold=4.04, warm=1.1, peer=9))[cold] == ("4.0 x", True)
    known = goals(module, reader_results(cold=4.06, warm=1.2, peer=9))
    assert known[cold] == ("4.1 x", False)
    assert known["the same with a filled cache, every file checked for changes: 1.1 x the floor"] == ("1.2 x", False)
    assert known["peak memory with 10,000 skills: 40 MB"] == ("41 MB", False)


def test_a_goal_for_every_agent_names_those_that_miss_it(module: Callable[[str], Any]) -> None:
    def agent(cold: float) -> dict[str, Any]:
        return {"runs": {"floor": {"work": [1.0]}, "prowess": {"work": [cold]}, "prowess, cached": {"work": [1.5]}}}

    hosts = {"agents": {"prowess": agent(99), "codex": agent(31.4), "pi": agent(12), "amp": agent(5)}}
    known = goals(module, {"hosts": hosts})
    (cold,) = [goal for goal in known if "every other agent" in goal]
    assert known[cold] == ("1 of 3; not codex (31 x), pi (12 x)", False)
    assert known["the same with a filled cache: 2 x the floor"] == ("3 of 3; highest 1.5 x", True)


@pytest.mark.parametrize(
    ("peer", "named"),
    [
        pytest.param(9.0, "**prowess, cached**, 1.1 x | **prowess**, 4.0 x | other, 9.0 x", id="ours"),
        pytest.param(2.0, "**prowess, cached**, 1.1 x | other, 2.0 x | other, 2.0 x", id="theirs"),
        pytest.param(0.5, "other, 0.5 x | other, 0.5 x | other, 0.5 x", id="theirs, cached or not"),
    ],
)
def test_the_fastest_reader_of_each_size_is_named(module: Callable[[str], Any], peer: float, named: str) -> None:
    assert f"| 1,000 skills | {named} |" in module("page").render_page(reader_results(cold=4, warm=1.1, peer=peer))


@pytest.mark.parametrize(("growth", "word"), [(1.2, "linear"), (1.3, "not linear")])
def test_the_slope_is_stated(module: Callable[[str], Any], growth: float, word: str) -> None:
    results = reader_results(cold=4, warm=1.1, peer=9, growth=growth)
    page = module("page").render_page(results)
    assert f"The slope is {word}: from 1,000 to 100,000 skills" in page
    (goal,) = [reached for name, (_, reached) in goals(module, results).items() if "slope" in name]
    assert goal is (word == "linear")


def test_the_fastest_reader_of_each_agent_is_named(module: Callable[[str], Any]) -> None:
    """That is its own package if it is the fastest, else the fastest package of the first table."""
    runs = {"floor": {"work": [1.0]}, "prowess": {"work": [12.0]}, "prowess, cached": {"work": [2.0]}}
    agents = {
        name: {"folder": ".agents/skills", "states": {"active": 9}, "runs": runs | peers}
        for name, peers in {"pi": {}, "camel-ai": {"camel-ai": {"work": [8.0]}}}.items()
    }
    results = reader_results(cold=4, warm=1.1, peer=13.0)
    results["hosts"] = {**STAMP, "skills": 1_000, "agents": agents, "absent": {"wink": "it has no folder"}}
    page = module("page").render_page(results)
    assert "| 9 active | Prowess; then other, 13 x |" in page
    assert "| 9 active | camel-ai, 8.0 x |" in page
    assert "- **wink** is left out: it has no folder." in page


def command_results(peer: float) -> dict[str, Any]:
    seconds = {
        "python -c pass": 0.01,
        "prowess list": 0.05,
        "prowess list, cached": 0.02,
        "skills list": peer,
        "slow list": 0.9,
    }
    return {
        "machine": MACHINE,
        "commands": {
            **STAMP,
            "skills": 1_000,
            "peers": {},
            "absent": {},
            "floor": {"work": [0.001]},
            "jobs": {"list": ["prowess list", "prowess list, cached", "slow list", "skills list", "broken list"]},
            "runs": {name: {"process": [value]} for name, value in seconds.items()}
            | {"broken list": {"reason": "exit code 1: oh"}},
        },
    }


@pytest.mark.parametrize(
    ("peer", "fastest"),
    [pytest.param(0.03, "Prowess, cached", id="ours"), pytest.param(0.01, "`skills list`", id="theirs")],
)
def test_the_fastest_command_of_each_job_is_named(module: Callable[[str], Any], peer: float, fastest: str) -> None:
    """Others are listed from fast to slow; a command that failed has its reason."""
    page = module("page").render_page(command_results(peer))
    others = f"`skills list` {peer * 100:.1f} x; `slow list` 90 x; `broken list`: exit code 1: oh"
    assert f"| **`prowess list`** | 5.0 x (50.0 ms) | 2.0 x (20.0 ms) | {others} | {fastest} |" in page


def test_the_start_of_python_is_subtracted_from_whole_commands(module: Callable[[str], Any]) -> None:
    commands = command_results(0.03)["commands"]
    assert module("page_commands").less_start(commands, "prowess list, cached") == pytest.approx(10)


def test_times_after_a_change_are_compared_with_the_right_run(module: Callable[[str], Any]) -> None:
    runs = costs(prowess=4.0, fills_the_cache=5.2, one_edited=1.6, one_edited_just_now=4.8, all_just_written=4.0)
    runs |= {"prowess, cached": {"work": [1.0]}, "all just written, cached": {"work": [4.1]}}
    empty = {
        "folders": 5_000,
        "skills": 100,
        "runs": {"alone": {"work": [0.001]}, "beside empty folders": {"work": [0.01]}},
    }
    known = goals(module, {"changes": {"hosts": {"codex": runs}, "empty folders": empty}})
    measured = {goal: result for goal, result in known.items() if result[0]}
    assert measured == {
        "one skill changed since: 1.5 x warm": ("0 of 1; not codex (1.6 x)", False),
        "never slower than no cache: one skill edited just now": ("0 of 1; not codex (1.2 x)", False),
        "never slower than no cache: all files just written": ("1 of 1; highest 1.0 x", True),
        "a first run that fills the cache: 1.2 x one without": ("0 of 1; not codex (1.3 x)", False),
        "5,000 empty folders beside 100 skills hide none and cost 8 ms": ("9.00 ms", False),
    }


def test_without_a_floor_there_are_times_and_no_multiples(module: Callable[[str], Any]) -> None:
    """No C compiler is installed; no goal in floors is known."""
    results = reader_results(cold=4, warm=1.1, peer=9)
    for readers in results["readers"]["sizes"].values():
        del readers["floor"]
    results |= command_results(0.03)
    results["commands"]["floor"] = {}
    agent = {
        "folder": "skills",
        "states": {"active": 9},
        "runs": costs(prowess=0.02) | {"prowess, cached": {"work": [1]}},
    }
    results["hosts"] = {**STAMP, "skills": 1_000, "agents": {"pi": agent}, "absent": {}}
    page = module("page").render_page(results)
    assert "| **prowess** |  |  |  | 40.0 ms (40.0 to 40.0) |" in page
    assert "| [pi](hosts/pi.md) | `skills` |  |  | 20.0 ms | 1.00 s |" in page
    in_floors = [result for goal, result in goals(module, results).items() if "x the floor" in goal]
    assert set(in_floors) == {("", None)}
    assert "</svg>" in module("chart").render_chart(results)


def test_a_chart_needs_two_sizes(module: Callable[[str], Any]) -> None:
    results = reader_results(cold=4, warm=1.1, peer=9)
    assert "benchmarks.svg" in module("page").render_page(results)
    results["readers"]["sizes"] = {"1000": results["readers"]["sizes"]["1000"]}
    assert "benchmarks.svg" not in module("page").render_page(results)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0000123, "12 µs"), (0.00123, "1.23 ms"), (0.0999, "99.9 ms"), (0.5, "500 ms"), (12.34, "12.3 s"), (None, "")],
)
def test_seconds_have_three_digits(module: Callable[[str], Any], seconds: float | None, text: str) -> None:
    assert module("tables").format_seconds(seconds) == text
