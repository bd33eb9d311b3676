"""Render the sections about whole commands, conversations, mounts and tests."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from tables import (
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
    from collections.abc import Iterable, Mapping, Sequence

EMPTY_COMMAND, CACHED = "python -c pass", ", cached"


def commands_section(commands: Mapping[str, Any]) -> Iterable[str]:
    """Return the tables of commands: a row for each job, then those that only start."""
    runs = commands["runs"]
    empty = middle(runs[EMPTY_COMMAND], "process")
    agents = commands.get("agents", "the")
    yield f"## Whole commands, in a project of {commands['skills']:,} skills\n"
    yield paragraph(
        f"Processor time of the whole process, as a multiple of `{EMPTY_COMMAND}` ({format_seconds(empty)}), medians. "
        "NAME is the skill in the middle, WORDS are five words. No agent is installed, so `list`, `why` and `check` "
        f"without `--host` ask about {agents} agents whose rules were observed. Beside each command "
        "of Prowess are those of other packages that do the same job, the fastest first; the last column names the "
        "fastest of the row."
    )
    yield ""
    rows = []
    for names in commands["jobs"].values():
        own, cached, *others = names
        costs = {name: times for name in names if (times := _times(runs, name)) is not None}
        peers = sorted((name for name in others if name in costs), key=costs.__getitem__)
        failed = [f"`{name}`: {runs[name]['reason']}" for name in others if "reason" in runs[name]]
        fastest = min(costs, key=costs.__getitem__) if costs else ""
        rows.append(
            [
                f"**`{own}`**",
                _cell(runs, own, empty),
                _cell(runs, cached, empty),
                "; ".join([f"`{name}` {format_times(costs[name])}" for name in peers] + failed) or "none",
                _fastest(fastest, own, cached, peers),
            ]
        )
    yield from table(["command", "nothing cached", "cached", "others", "fastest"], rows, right=(1, 2))
    yield from table(
        ["starts only", "processor time", f"times `{EMPTY_COMMAND}`"],
        [
            [f"`{name}`", format_range(runs[name]["process"]), format_times(_times(runs, name))]
            for name in runs
            if not any(name in names for names in commands["jobs"].values()) and "process" in runs[name]
        ],
        right=(1, 2),
    )
    yield measured_by("commands", commands)
    yield ""


def _times(runs: Mapping[str, Any], name: str) -> float | None:
    return ratio(middle(runs.get(name), "process"), middle(runs.get(EMPTY_COMMAND), "process"))


def _cell(runs: Mapping[str, Any], name: str, empty: float | None) -> str:
    seconds = middle(runs.get(name), "process")
    if seconds is None:
        return str(runs.get(name, {}).get("reason", ""))
    return f"{format_times(ratio(seconds, empty))} ({format_seconds(seconds)})"


def _fastest(name: str, own: str, cached: str, peers: Sequence[str]) -> str:
    if name in (own, cached):
        return "Prowess" + (CACHED if name == cached and peers else "")
    return f"`{name}`" if name else ""


def less_start(commands: Mapping[str, Any], name: str) -> float | None:
    """Return the time of a command less the start of Python, as a multiple of the floor."""
    runs = commands["runs"]
    process, start = middle(runs.get(name), "process"), middle(runs.get(EMPTY_COMMAND), "process")
    if process is None or start is None:
        return None
    return ratio(process - start, middle(commands["floor"]))


def less_start_section(commands: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of commands in multiples of the floor."""
    names = ("prowess list --all --json", "prowess check", "prowess check --host prowess", "prowess search WORDS")
    rows = [
        [f"**`{name}`**", *(format_times(less_start(commands, name + suffix)) for suffix in ("", CACHED))]
        for name in names
        if name in commands["runs"]
    ]
    if not rows or not commands["floor"]:
        return
    yield (
        f"The same less the start of Python, as a multiple of the floor for {commands['skills']:,} skills "
        f"({format_seconds(middle(commands['floor']))}):\n"
    )
    yield from table(["command", "nothing cached", "cached"], rows, right=(1, 2))


def conversations_section(conversations: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of what happens in a conversation."""
    search = conversations["search"]
    yield "## In a conversation\n"
    yield paragraph(
        f"Mentions in a text of 1,000,000 characters and turns of a conversation with {conversations['skills']:,} "
        f"skills, searches of {search['skills']:,}; in the process, the catalog made before. A turn is one in which "
        "nothing changed. No other package does the same, so Prowess is the only reader of these rows; other search "
        "engines are in [search](search.md#how-well)."
    )
    yield ""
    rows = [
        [label, format_range(cost["work"]) if "work" in cost else cost.get("reason", "")]
        for label, cost in [
            *conversations["runs"].items(),
            *((f"search, {name}", cost) for name, cost in search["runs"].items()),
        ]
        if cost
    ]
    yield from table(["", "processor time"], rows, right=(1,))
    yield measured_by("conversations", conversations)
    yield ""


def mounting_section(mounting: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of mounting a skill."""
    runs = mounting["runs"]
    floor = runs["shutil.copytree"]
    fastest = min(runs, key=lambda name: median(runs[name]["processor"]))
    yield "## Mount a skill\n"
    yield paragraph(
        f"A skill of {mounting['files']} files of {mounting['size'] // 1024} KiB, put into a client's home, and the "
        f"same folder copied by `shutil.copytree`: in memory, in one process, in turns, {mounting['rounds']} of each; "
        "medians, lowest and highest in brackets. A mount also validates the skill, refuses files that must not be "
        "copied, hashes every byte, and moves everything into place in one step; one that replaces also reads the old "
        f"copy and removes it. The fastest is `{fastest}`."
    )
    yield ""
    rows = [
        [
            f"**`{name.partition(',')[0]}`**{name[len(name.partition(',')[0]) :]}"
            if name.startswith("prowess")
            else f"`{name}`",
            *(
                text
                for kind in ("processor", "elapsed")
                for text in (format_range(cost[kind]), _two_decimals(cost[kind], floor[kind]))
            ),
        ]
        for name, cost in runs.items()
    ]
    yield from table(["", "processor time", "ratio", "elapsed time", "ratio"], rows, right=range(1, 5))
    yield paragraph(
        "On ext4 both take several times as long after many files were deleted, because ext4 does not reuse their "
        "inodes at once: replacing in a loop, which deletes each time, took up to seven times as long as a first copy."
    )
    yield ""
    yield measured_by("mounting", mounting)
    yield ""


def testing_section(testing: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of running the tests of a skill."""
    yield "## Run the tests of a skill\n"
    yield paragraph(
        f"{testing['cases']:,} cases whose command is `echo N`, {testing['jobs']} at once, and a loop that starts the "
        "same command lines with `subprocess.run`, with the same `--sandbox`; in turns, each time in a new process, "
        f"{testing['rounds']} of each; medians, lowest and highest in brackets. Processor time includes all "
        "processes, also supervisors and those that bwrap leaves behind. Prowess also reads the cases, makes a fresh "
        "copy of the skill for each and removes it, sets limits, ends all processes that a case leaves running, and "
        "compares the results; the bare loop is the fastest."
    )
    yield ""
    rows = [
        [
            f"`{sandbox}`",
            format_range(runs["loop"]),
            format_range(runs["prowess"]),
            _two_decimals(runs["prowess"], runs["loop"]),
        ]
        for sandbox, runs in testing["runs"].items()
    ]
    yield from table(["`--sandbox`", "a bare loop", "Prowess", "ratio"], rows, right=range(1, 4))
    yield measured_by("testing", testing)
    yield ""


def _two_decimals(runs: Sequence[float], floor: Sequence[float]) -> str:
    return f"{median(runs) / median(floor):.2f} x"
