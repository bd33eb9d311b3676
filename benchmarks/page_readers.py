"""Render the sections about readers of skills: by number of skills, as each agent does, and after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tables import (
    format_memory,
    format_range,
    format_seconds,
    format_times,
    measured_by,
    middle,
    paragraph,
    ratio,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FLOOR, COLD, WARM = "floor", "prowess", "prowess, cached"
OWN_READER_NAMES = (COLD, WARM)
OWN_READERS = {
    FLOOR: ("a C program: open, read 4 KB, close", "parses nothing"),
    COLD: ("`prowess.discover`, without its cache", "also checks skills, and decides which skill wins"),
    WARM: (
        "`prowess.discover` with its cache; every file is still checked for changes",
        "the same, with its cache filled",
    ),
}
LINEAR = 1.25
"""The highest growth of the time per skill, from 1,000 skills to the most, that the page calls linear."""


def readers_section(readers: Mapping[str, Any]) -> Iterable[str]:
    """Return the tables of all readers."""
    sizes = readers["sizes"]
    yield "## Find and parse all skills of a folder\n"
    yield paragraph(
        "Multiples of the floor, a C program that opens each `SKILL.md`, reads 4 KB and closes it. The figures leave "
        "out the start of the interpreter and the imports, which have their own column. Medians, lowest and highest "
        "of the largest number of skills in brackets. An empty cell was not measured."
    )
    yield ""
    differs = {name: difference for name, (_, difference) in OWN_READERS.items()}
    differs |= {name: peer["differs"] for name, peer in readers["peers"].items()}
    compared = "10000" if "10000" in sizes else list(sizes)[-1]
    head = ["reader", *(f"{int(size):,} skills" for size in sizes), f"{int(compared):,}: time", "memory", "imports"]
    rows = []
    names = list(dict.fromkeys(name for costs in sizes.values() for name in costs))
    for name in sorted(names, key=lambda name: middle(sizes[compared].get(name)) or 1e9):
        times = [ratio(middle(costs.get(name)), middle(costs.get(FLOOR))) for costs in sizes.values()]
        cost = sizes[compared].get(name, {})
        row = [_bold(name), *map(format_times, times), _time(cost, readers["rounds"]), format_memory(cost)]
        rows.append([*row, format_seconds(middle(cost, "imports")), differs.get(name, "")])
    yield from table([*head, "less or more work"], rows, right=range(1, len(head)))
    yield paragraph(
        f"Memory is the peak of the whole process with {int(compared):,} skills. Less or more work is compared with "
        "reading the front matter of each skill."
    )
    yield ""
    yield from _fastest(sizes)
    yield from _slope(sizes)
    yield measured_by("readers", readers)
    yield ""


def _time(cost: Mapping[str, Any], rounds: int) -> str:
    if "work" not in cost:
        return str(cost.get("reason", ""))
    runs = len(cost["work"])
    return format_range(cost["work"]) + (f", {runs} run{'s' * (runs > 1)}" if runs < rounds else "")


def fastest_peer(costs: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return the fastest reader that is neither the floor nor Prowess, and its time as a multiple of the floor."""
    floor = middle(costs.get(FLOOR))
    times = {
        name: times
        for name, cost in costs.items()
        if name not in OWN_READERS and (times := ratio(middle(cost), floor)) is not None
    }
    return min(times.items(), key=lambda item: item[1]) if times else None


def _fastest(sizes: Mapping[str, Any]) -> Iterable[str]:
    rows = []
    for size, costs in sizes.items():
        floor = middle(costs.get(FLOOR))
        own = {name: times for name in OWN_READER_NAMES if (times := ratio(middle(costs.get(name)), floor))}
        peer = fastest_peer(costs)
        if not own or peer is None:
            continue
        fastest = min([*own.items(), peer], key=lambda item: item[1])
        cold = min([(COLD, own.get(COLD, 1e9)), peer], key=lambda item: item[1])
        named = (f"{_bold(name)}, {format_times(times)}" for name, times in (fastest, cold, peer))
        rows.append([f"{int(size):,} skills", *named])
    if rows:
        yield "The fastest reader of each size:\n"
        yield from table(["", "of all", "with nothing cached", "other than Prowess"], rows, right=())


def slopes(sizes: Mapping[str, Any]) -> dict[str, float]:
    """Return by how much the time per skill grows from 1,000 skills to the most, for each of our readers."""
    if "1000" not in sizes or len(sizes) < 2:
        return {}
    last = list(sizes)[-1]
    growth = {}
    for name in (FLOOR, *OWN_READER_NAMES):
        first, most = (middle(sizes[size].get(name)) for size in ("1000", last))
        if first and most and last != "1000":
            growth[name] = (most / int(last)) / (first / 1000)
    return growth


def _slope(sizes: Mapping[str, Any]) -> Iterable[str]:
    growth = slopes(sizes)
    if not growth:
        return
    yield "Time per skill:\n"
    rows = []
    for name in growth:
        values = [middle(costs.get(name)) for costs in sizes.values()]
        per_skill = [None if value is None else value / int(size) for value, size in zip(values, sizes, strict=True)]
        rows.append([_bold(name), *("" if value is None else f"{value * 1e6:.1f} µs" for value in per_skill)])
    yield from table(["", *(f"{int(size):,} skills" for size in sizes)], rows, right=range(1, len(sizes) + 1))
    own = {name: times for name, times in growth.items() if name != FLOOR}
    linear = all(times <= LINEAR for times in own.values())
    factors = ", ".join(f"{times:.2f} times for {name}" for name, times in growth.items())
    last = int(list(sizes)[-1])
    yield paragraph(
        f"The slope is {'linear' if linear else 'not linear'}: from 1,000 to {last:,} skills the time per skill "
        f"changes to {factors}. Up to {LINEAR} times is called linear here. With few skills, what does not depend on "
        "their number weighs more."
    )
    yield ""


def hosts_section(hosts: Mapping[str, Any], readers: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of all agents."""
    yield f"## As each agent does, {hosts['skills']:,} skills\n"
    yield paragraph(
        "`prowess.discover(host=...)` in a project that the agent trusts, in multiples of the floor on the same "
        "files, with nothing cached and cached. Skills are in `.agents/skills` if the agent reads that, else in its "
        "own folder. The last column names the fastest reader of these files with nothing cached: Prowess, the "
        "package of the agent itself if it can be installed from PyPI, or else the fastest package of the table above, "
        "which has its own rules and not those of the agent."
    )
    yield ""
    common = fastest_peer(readers.get("sizes", {}).get(str(hosts["skills"]), {}))
    rows = []
    for host, agent in hosts["agents"].items():
        runs = agent["runs"]
        floor = middle(runs.get(FLOOR))
        cold, warm = (ratio(middle(runs.get(name)), floor) for name in OWN_READER_NAMES)
        rows.append(
            [
                f"[{host}](hosts/{host}.md)",
                f"`{agent['folder']}`",
                format_times(cold) or runs[COLD].get("reason", ""),
                format_times(warm) or runs[WARM].get("reason", ""),
                format_seconds(middle(runs[COLD])),
                format_seconds(middle(runs[WARM])),
                format_memory(runs[COLD]),
                ", ".join(f"{number:,} {state}" for state, number in agent["states"].items()),
                _fastest_of_agent(cold, fastest_peer(runs), common),
            ]
        )
    head = ["agent", "folder", "nothing cached", "cached", "time", "cached", "memory", "states", "fastest"]
    yield from table(head, rows, right=range(2, 7))
    for host, reason in hosts["absent"].items():
        yield paragraph(f"- **{host}** is left out: {reason}.")
    yield ""
    yield measured_by("hosts", hosts)
    yield ""


def _fastest_of_agent(cold: float | None, itself: tuple[str, float] | None, common: tuple[str, float] | None) -> str:
    known = [item for item in (itself, common) if item is not None]
    if cold is None or not known:
        return "" if cold is None else "Prowess"
    name, times = min([("Prowess", cold), *known], key=lambda item: item[1])
    if name != "Prowess":
        return f"{name}, {format_times(times)}"
    other, times = known[0]
    return f"Prowess; then {other}, {format_times(times)}"


def changes_section(changes: Mapping[str, Any]) -> Iterable[str]:
    """Return the tables about changed files."""
    yield f"## After a change, {changes['skills']:,} skills\n"
    yield paragraph(
        "The time of one call of `prowess.discover` in a new process, as a multiple of the same with a filled cache "
        "and no change (warm) or without a cache (cold). One skill edited: the first letter of a description, 2.5 "
        "seconds before, or just before. All just written: every `SKILL.md` has the present as its time."
    )
    yield ""
    head = ["agent", "warm", "one edited", "one edited just now", "first run, fills the cache", "all just written"]
    rows = []
    for host, runs in changes["hosts"].items():
        rows.append(
            [
                f"[{host}](hosts/{host}.md)",
                format_seconds(middle(runs.get(WARM))),
                *(
                    f"{format_times(times)} {of}" if (times := change(runs, name, base)) is not None else ""
                    for name, base, of in CHANGES
                ),
            ]
        )
    yield from table(head, rows, right=range(1, len(head)))
    empty = changes["empty folders"]
    cost = empty_folders_cost(changes)
    if cost is not None:
        yield paragraph(
            f"{empty['folders']:,} empty folders beside {empty['skills']} skills cost {format_seconds(cost)}, and all "
            "skills are found."
        )
        yield ""
    yield measured_by("changes", changes)
    yield ""


CHANGES = (
    ("one edited", WARM, "warm"),
    ("one edited just now", WARM, "warm"),
    ("fills the cache", COLD, "cold"),
    ("all just written, cached", "all just written", "cold"),
)
"""Kinds of runs, what each is compared with, and the word for that."""


def change(runs: Mapping[str, Any], name: str, base: str) -> float | None:
    """Return how many times as long a run of a host takes as another one."""
    return ratio(middle(runs.get(name)), middle(runs.get(base)))


def empty_folders_cost(changes: Mapping[str, Any]) -> float | None:
    """Return the seconds that empty folders add."""
    runs = changes["empty folders"]["runs"]
    alone, beside = middle(runs.get("alone")), middle(runs.get("beside empty folders"))
    return None if alone is None or beside is None else beside - alone


def _bold(name: str) -> str:
    return f"**{name}**" if name in OWN_READER_NAMES else name
