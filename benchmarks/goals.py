"""Compare the results with the goals of the project, and render the table of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from page_adding import slower
from page_commands import CACHED, EMPTY_COMMAND, less_start
from page_readers import (
    COLD,
    FLOOR,
    LINEAR,
    WARM,
    change,
    empty_folders_cost,
    slopes,
)
from page_serving import LARGE, compared
from page_snapshot import middle_of, peak_of, slowest_search
from serving import PROWESS
from tables import format_seconds, format_times, middle, paragraph, ratio, table
from usage import AGAIN, FIRST
from verifying import compared_with_sha256sum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

WHOLE_COMMANDS = {
    "prompt": 2.0,
    "why NAME --host prowess": 2.5,
    "why NAME": 2.5,
    "list --host prowess": 2.5,
    "list": 2.5,
}
"""Commands, and how many times an empty command of Python they may take."""
NOISE = 1.05
"""How much slower than another run may be and still count as not slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A goal, what was measured, and whether that reaches it."""

    goal: str
    measured: str
    how: str
    is_reached: bool | None
    """`None` if it was not measured."""


def goals_section(results: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of all goals."""
    goals = list(all_goals(results))
    known = [goal for goal in goals if goal.is_reached is not None]
    yield "## Goals\n"
    yield paragraph(
        f"What the project wants to reach, and what this page measured: {sum(bool(g.is_reached) for g in known)} of "
        f"{len(known)} measured goals are reached, {len(goals) - len(known)} were not measured."
    )
    yield ""
    words = {True: "yes", False: "**no**", None: "not measured"}
    rows = [[goal.goal, goal.measured, goal.how, words[goal.is_reached]] for goal in goals]
    yield from table(["goal", "measured", "how", "reached"], rows, right=())


def all_goals(results: Mapping[str, Any]) -> Iterator[Goal]:
    """Return every goal with what the results say of it."""
    for part, make in {
        "readers": _reader_goals,
        "hosts": _host_goals,
        "changes": _change_goals,
        "commands": _command_goals,
        "conversations": _conversation_goals,
        "search": _search_goals,
        "mcp": _serving_goals,
        "verify": _verifying_goals,
        "usage": _usage_goals,
        "add": _adding_goals,
        "snapshot": _snapshot_goals,
    }.items():
        yield from make(results.get(part, {}))


def _at_most(goal: str, value: float | None, limit: float, how: str, form: Callable[[float], str]) -> Goal:
    """Compare one value with its limit, as precisely as it is shown."""
    if value is None:
        return Goal(goal=goal, measured="", how=how, is_reached=None)
    is_reached = value <= limit or form(value) == form(limit)
    return Goal(goal=goal, measured=form(value), how=how, is_reached=is_reached)


def _all_at_most(goal: str, values: Mapping[str, float | None], limit: float, how: str) -> Goal:
    """Compare a value of each agent with the same limit."""
    known = {name: value for name, value in values.items() if value is not None}
    if not known:
        return Goal(goal=goal, measured="", how=how, is_reached=None)
    within = [name for name, value in known.items() if value <= limit or format_times(value) == format_times(limit)]
    above = sorted((name for name in known if name not in within), key=lambda name: -known[name])
    measured = f"{len(within)} of {len(known)}"
    if above:
        measured += "; not " + ", ".join(f"{name} ({format_times(known[name])})" for name in above)
    else:
        measured += f"; highest {format_times(max(known.values()))}"
    return Goal(goal=goal, measured=measured, how=how, is_reached=not above)


def _reader_goals(readers: Mapping[str, Any]) -> Iterator[Goal]:
    sizes = readers.get("sizes", {})
    large = sizes.get("10000", {})
    floor = middle(large.get(FLOOR))
    cold, warm = (ratio(middle(large.get(name)), floor) for name in (COLD, WARM))
    how = "`prowess.discover`, 10,000 skills, in floors"
    yield _at_most("find and parse 10,000 skills with nothing cached: 4 x the floor", cold, 4, how, format_times)
    yield _at_most(
        "the same with a filled cache, every file checked for changes: 1.1 x the floor", warm, 1.1, how, format_times
    )
    peaks = [peak for name in (COLD, WARM) if (peak := middle(large.get(name), "peak"))]
    yield _at_most(
        "peak memory with 10,000 skills: 40 MB",
        max(peaks, default=None),
        40e6,
        "the whole process, cached or not",
        lambda value: f"{value / 1e6:.0f} MB",
    )
    growth = slopes({size: costs for size, costs in sizes.items() if "100000" in sizes})
    yield _all_at_most(
        "100 to 100,000 skills: the slope is linear",
        {name: value for name, value in growth.items() if name != FLOOR},
        LINEAR,
        f"time per skill, most skills against 1,000; up to {LINEAR} x",
    )


def _host_goals(hosts: Mapping[str, Any]) -> Iterator[Goal]:
    agents = {name: agent["runs"] for name, agent in hosts.get("agents", {}).items() if name != "prowess"}
    how = "`prowess.discover(host=...)`, 1,000 skills, in floors"
    for name, limit, goal in (
        (COLD, 10, "find and parse 1,000 skills as every other agent does, nothing cached: 10 x the floor"),
        (WARM, 2, "the same with a filled cache: 2 x the floor"),
    ):
        times = {host: ratio(middle(runs.get(name)), middle(runs.get(FLOOR))) for host, runs in agents.items()}
        yield _all_at_most(goal, times, limit, how)


def _change_goals(changes: Mapping[str, Any]) -> Iterator[Goal]:
    hosts = changes.get("hosts", {})

    def times(name: str, base: str) -> dict[str, float | None]:
        return {host: change(runs, name, base) for host, runs in hosts.items()}

    how = "1,000 skills, a new process"
    yield _all_at_most(
        "one skill changed since: 1.5 x warm", times("one edited", WARM), 1.5, f"{how}, edited 2.5 seconds before"
    )
    yield _all_at_most(
        "never slower than no cache: one skill edited just now",
        times("one edited just now", COLD),
        NOISE,
        f"{how}, against no cache",
    )
    yield _all_at_most(
        "never slower than no cache: all files just written",
        times("all just written, cached", "all just written"),
        NOISE,
        f"{how}, against no cache",
    )
    yield _all_at_most("a first run that fills the cache: 1.2 x one without", times("fills the cache", COLD), 1.2, how)
    cost = empty_folders_cost(changes) if changes else None
    yield _at_most(
        "5,000 empty folders beside 100 skills hide none and cost 8 ms",
        cost,
        0.008,
        "`prowess.discover`, nothing cached, with and without",
        format_seconds,
    )


def _command_goals(commands: Mapping[str, Any]) -> Iterator[Goal]:
    runs = commands.get("runs", {})
    empty = middle(runs.get(EMPTY_COMMAND), "process")
    how = "the whole command less `python -c pass`, 1,000 skills, in floors"
    for goal, name, times in (
        ("all agents as JSON, nothing cached: 60 x the floor", "prowess list --all --json", 60),
        ("all agents as JSON, cached: 15 x the floor", "prowess list --all --json" + CACHED, 15),
        ("`check --host prowess`, cached: 15 x the floor", "prowess check --host prowess" + CACHED, 15),
        ("`check`, cached: 15 x the floor", "prowess check" + CACHED, 15),
        ("`search`, cached: 15 x the floor", "prowess search WORDS" + CACHED, 15),
    ):
        yield _at_most(goal, less_start(commands, name) if commands else None, times, how, format_times)
    for command, limit in WHOLE_COMMANDS.items():
        yield _at_most(
            f"`{command}`, cached: {limit:g} x `{EMPTY_COMMAND}`",
            ratio(middle(runs.get(f"prowess {command}{CACHED}"), "process"), empty),
            limit,
            "the whole command, 1,000 skills",
            format_times,
        )
    for goal, name, seconds in (
        (f"`import prowess`: 3 ms over `{EMPTY_COMMAND}`", "python -c 'import prowess'", 0.003),
        (f"what `list` starts: 30 ms over `{EMPTY_COMMAND}`", "prowess list --host prowess, no skills", 0.030),
    ):
        process = middle(runs.get(name), "process")
        over = None if process is None or empty is None else process - empty
        yield _at_most(goal, over, seconds, "the whole command, no skills", format_seconds)


def _conversation_goals(conversations: Mapping[str, Any]) -> Iterator[Goal]:
    runs, search = conversations.get("runs", {}), conversations.get("search", {}).get("runs", {})
    for goal, cost, limit, how in (
        ("mentions in 1 MB: 20 ms", runs.get("mentions in Markdown"), 0.020, "1,000 skills, Markdown"),
        ("10,000 skills: first query after a change 50 ms", search.get("first query after a change"), 0.050, "median"),
        ("10,000 skills: later queries 10 ms", search.get("later queries"), 0.010, "median of ten queries"),
    ):
        yield _at_most(goal, middle(cost), limit, how, format_seconds)
    texts = {name: value for name, cost in runs.items() if "nothing but" in name and (value := middle(cost))}
    markdown = middle(runs.get("mentions in Markdown"))
    yield _all_at_most(
        "mentions are bounded for any text",
        {name: ratio(value, markdown) for name, value in texts.items()},
        10,
        "texts of one kind, against Markdown; up to 10 x",
    )
    live, scan = (middle(runs.get(name)) for name in ("turn", "turn, with a scan"))
    yield Goal(
        goal="serving: a turn without a change needs no scan",
        measured=f"{format_seconds(live)}; with a scan {format_seconds(scan)}" if live and scan else "",
        how="1,000 skills, filled cache; at most half of a turn that scans",
        is_reached=live < scan / 2 if live and scan else None,
    )


def _search_goals(search: Mapping[str, Any]) -> Iterator[Goal]:
    engines = search.get("engines", {})
    how = "`make search`, the [held-out part](search.md#how-well) of its own messages: those of the goal are not public"
    for kind, engine, goals in (
        ("words", "prowess", (78, 81)),
        ("words and an embedding", "prowess[semantic]", (80, 84)),
    ):
        measured = engines.get(engine)
        reached = None if measured is None else all(value >= goal for value, goal in zip(measured, goals, strict=True))
        yield Goal(
            goal=f"search by {kind}: Hit@1 {goals[0]} %, NDCG@10 {goals[1]} %",
            measured="" if measured is None else f"{measured[0]:.1f} %, {measured[1]:.1f} %",
            how=how,
            is_reached=reached,
        )
    block = search.get("block")
    for goal, limit, kind, count in (
        ("for 94 % of messages", 94, "", "messages"),
        ("for 80 % of harder messages: long and messy, or oblique", 80, "harder, ", "harder messages"),
    ):
        shown = block[f"{kind}by message"] if block else None
        yield Goal(
            goal=f"the right skill in a block of 4,000 characters {goal}",
            measured=f"{shown:.1f} %; in plain order {block[f'{kind}plain']:.1f} %" if block else "",
            how=f"{block[count]} held-out messages, {block['skills']} skills" if block else "",
            is_reached=None if shown is None else shown >= limit,
        )


def _serving_goals(serving: Mapping[str, Any]) -> Iterator[Goal]:
    for size in ("1000", LARGE):
        yield Goal(
            goal=f"`{PROWESS}`, a list of {int(size):,} skills: at most the time of the TypeScript server",
            measured=format_times(times := compared(serving, size, "list")),
            how="elapsed time, the same folder, in turns",
            is_reached=None if times is None else times <= NOISE,
        )
    start = compared(serving, LARGE, "start processor")
    yield Goal(
        goal="start with a filled cache until 10,000 skills are listed: 0.1 x the TypeScript server",
        measured="" if start is None else f"{start:.2f} x",
        how="processor time, the same folder, in turns",
        is_reached=None if start is None else round(start, 2) <= 0.1,
    )
    peak = middle(serving.get("sizes", {}).get(LARGE, {}).get(PROWESS), "peak")
    how = "the most with 10,000 skills, after a start with a filled cache"
    yield _at_most("serving 10,000 skills: 120 MiB", peak, 120 * 2**20, how, lambda value: f"{value / 2**20:,.0f} MiB")
    clients = serving.get("clients")
    growth = clients["memory"][-1] - clients["memory"][0] if clients else 0
    yield Goal(
        goal="100 clients reading 100 files each: no error, memory flat",
        measured=f"{clients['errors']} errors, {growth / 1e6:+,.1f} MB" if clients else "",
        how="over HTTP; memory after the third time less that after the first, up to 8 MB",
        is_reached=clients["errors"] == 0 and growth <= 8e6 if clients else None,
    )


def _verifying_goals(verifying: Mapping[str, Any]) -> Iterator[Goal]:
    times = [compared_with_sha256sum(verifying, kind) for kind in ("elapsed", "processor")]
    known = [value for value in times if value is not None]
    yield Goal(
        goal="`prowess verify` of 1,000 skills: 1.5 x `sha256sum` over the same files",
        measured=", ".join(f"{value:.2f} x" for value in known),
        how="whole commands in turns; elapsed and processor time",
        is_reached=max(known) <= 1.5 if known else None,
    )


def _usage_goals(usage: Mapping[str, Any]) -> Iterator[Goal]:
    runs = usage.get("runs", {})
    how = "the whole command, 1,000 sessions of 1 MB of six agents"
    for name, goal, limit in (
        (FIRST, "`prowess usage` of 1,000 sessions of 1 MB the first time: 10 s of processor time", 10),
        (AGAIN, "the same when nothing has changed: 0.5 s", 0.5),
    ):
        yield _at_most(goal, middle(runs.get(name), "processor"), limit, how, format_seconds)
    peak = max(runs.get(FIRST, {}).get("peak", ()), default=None)
    yield _at_most("the same in 150 MB the first time", peak, 150e6, how, lambda value: f"{value / 1e6:.0f} MB")


def _adding_goals(adding: Mapping[str, Any]) -> Iterator[Goal]:
    for transport, kind, how in (
        ("file", "processor", "processor time of client and server, `file://`"),
        ("http", "elapsed", "elapsed time, HTTP on the loopback address"),
    ):
        goal = f"`prowess add` of 100 skills of a repository over `{transport}`: 1.5 x `git clone --depth 1`"
        yield _at_most(goal, slower(adding, transport, kind), 1.5, how, lambda value: f"{value:.2f} x")


def _snapshot_goals(snapshot: Mapping[str, Any]) -> Iterator[Goal]:
    how = f"{snapshot['skills']:,} skills, in the cache" if snapshot else ""
    start, search, slowest = middle_of(snapshot, "start"), middle_of(snapshot, "searches"), slowest_search(snapshot)
    yield _at_most("start with a snapshot of 100,000 skills: 0.3 s", start, 0.3, how, format_seconds)
    yield _at_most("search it: 50 ms", search, 0.05, how, format_seconds)
    yield _at_most("search it, the slowest of 40 queries: 50 ms", slowest, 0.05, how, format_seconds)
    peak = peak_of(snapshot)
    yield _at_most("use it: 200 MB", peak, 200e6, how, lambda value: f"{value / 1e6:,.0f} MB")
