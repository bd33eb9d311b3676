"""Render docs/benchmarks.md from the results."""

from __future__ import annotations

import math
import textwrap
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FLOOR, OWN_READER_NAMES = "floor", ("prowess", "prowess, cached")
EMPTY_COMMAND = "python -c pass"
OWN_READERS = {
    FLOOR: ("a C program: open, read 4 KB, close", "parses nothing"),
    "prowess": ("`prowess.discover`, without its cache", "also checks skills, and decides which skill wins"),
    "prowess, cached": (
        "`prowess.discover` with its cache; every file is still checked for changes",
        "the same, with its cache filled",
    ),
}
INTRO = """\
# Benchmarks

`make bench` writes this page. It measures Prowess and the other readers of skills that can be installed from PyPI and
npm. All read the same generated files in the same run. The measure is processor time, user and system, of everything a
reader does to find the skills of one folder and to read their names and descriptions.

![Processor time to find and parse all skills, against their number](benchmarks.svg)
"""


def render_page(results: Mapping[str, Any]) -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            INTRO,
            *_discovery_section(results),
            *_commands_section(results),
            *_mounting_section(results),
            *_testing_section(results),
            *_peers_section(results),
            *_absent_section(results),
            *_method_section(results),
        ]
    )


def _discovery_section(results: Mapping[str, Any]) -> Iterable[str]:
    sizes = list(results["discover"])
    last = sizes[-1]
    floors = {size: _median_work(costs.get(FLOOR, {})) for size, costs in results["discover"].items()}
    costs = results["discover"][last]
    ranked = sorted(costs, key=lambda name: _median_work(costs[name]) or 0.0)
    yield "## Find and parse all skills of a folder\n"
    yield _wrap(
        "Multiples of the floor, a C program that opens each `SKILL.md`, reads 4 KB and closes it. "
        "The figures leave out the start of the interpreter and the imports, which have their own column. "
        f"Medians of {results['rounds']} runs, lowest and highest in brackets. "
        "Readers that are left out are listed below."
    )
    yield ""
    head = [
        "reader",
        *(f"{int(size):,} skills" for size in sizes),
        f"{int(last):,}: time",
        "memory",
        "imports",
        "less or more work",
    ]
    differs = {name: difference for name, (_, difference) in OWN_READERS.items()}
    differs |= {name: peer["differs"] for name, peer in results["peers"].items()}
    rows = []
    for name in ranked:
        cost = costs[name]
        if "reason" in cost:
            rows.append([_format_reader(name), *[""] * len(sizes), cost["reason"], "", "", differs.get(name, "")])
            continue
        ratios = [_format_ratio(_median_work(results["discover"][size].get(name, {})), floors[size]) for size in sizes]
        runs = len(cost["work"])
        few = f", {runs} run{'s' * (runs > 1)}" if runs < results["rounds"] else ""
        memory = f"{median(cost['peak']) / 1e6:,.0f} MB" if "peak" in cost else ""
        imports = _format_seconds(median(cost["imports"])) if "imports" in cost else ""
        rows.append(
            [_format_reader(name), *ratios, _format_range(cost["work"]) + few, memory, imports, differs.get(name, "")]
        )
    yield from _format_table(head, rows, right=range(1, len(head) - 1))
    yield _wrap(
        f"Memory is the peak of the whole process with {int(last):,} skills. Less or more work is compared with "
        "reading the front matter of each skill."
    )
    yield ""


def _commands_section(results: Mapping[str, Any]) -> Iterable[str]:
    runs = results["commands"]["runs"]
    empty = median(runs[EMPTY_COMMAND]["process"])
    yield f"## Whole commands, in a project of {results['commands']['skills']:,} skills\n"
    yield f"Processor time of the whole process, also as a multiple of `{EMPTY_COMMAND}`.\n"
    rows = []
    for name, cost in runs.items():
        if "reason" in cost:
            rows.append([f"`{name}`", cost["reason"], ""])
        else:
            rows.append(
                [_format_command(name), _format_range(cost["process"]), f"{median(cost['process']) / empty:,.1f} x"]
            )
    yield from _format_table(["command", "processor time", f"times `{EMPTY_COMMAND}`"], rows, right=(1, 2))


def _mounting_section(results: Mapping[str, Any]) -> Iterable[str]:
    mounting = results.get("mounting")
    if mounting is None:
        return
    runs = mounting["runs"]
    floor = runs["shutil.copytree"]
    yield "## Mount a skill\n"
    yield _wrap(
        f"A skill of {mounting['files']} files of {mounting['size'] // 1024} KiB, put into a client's home, and the "
        f"same folder copied by `shutil.copytree`: in memory, in one process, in turns, {mounting['rounds']} of each; "
        "medians, lowest and highest in brackets. A mount also validates the skill, refuses files that must not be "
        "copied, hashes every byte, and moves everything into place in one step; one that replaces also reads the old "
        "copy and removes it."
    )
    yield ""
    rows = [
        [
            _format_command(name),
            *(
                text
                for kind in ("processor", "elapsed")
                for text in (_format_range(cost[kind]), _format_times(cost[kind], floor[kind]))
            ),
        ]
        for name, cost in runs.items()
    ]
    yield from _format_table(["", "processor time", "ratio", "elapsed time", "ratio"], rows, right=range(1, 5))
    yield _wrap(
        "On ext4 both take several times as long after many files were deleted, because ext4 does not reuse their "
        "inodes at once: replacing in a loop, which deletes each time, took up to seven times as long as a first copy. "
        f"Measured on {mounting['date']} at commit {mounting['prowess']}: `python benchmarks/mounting.py`."
    )
    yield ""


def _testing_section(results: Mapping[str, Any]) -> Iterable[str]:
    testing = results.get("testing")
    if testing is None:
        return
    yield "## Run the tests of a skill\n"
    yield _wrap(
        f"{testing['cases']:,} cases whose command is `echo N`, {testing['jobs']} at once, and a loop that starts the "
        "same command lines with `subprocess.run`, with the same `--sandbox`; in turns, each time in a new process, "
        f"{testing['rounds']} of each; medians, lowest and highest in brackets. Processor time includes all "
        "processes, also supervisors and those that bwrap leaves behind. Prowess also reads the cases, makes a fresh "
        "copy of the skill for each and removes it, sets limits, ends all processes that a case leaves running, and "
        "compares the results."
    )
    yield ""
    rows = [
        [
            _format_command(sandbox),
            _format_range(runs["loop"]),
            _format_range(runs["prowess"]),
            _format_times(runs["prowess"], runs["loop"]),
        ]
        for sandbox, runs in testing["runs"].items()
    ]
    yield from _format_table(["`--sandbox`", "a bare loop", "Prowess", "ratio"], rows, right=range(1, 4))
    yield _wrap(f"Measured on {testing['date']} at commit {testing['prowess']}: `python benchmarks/testing.py`.")
    yield ""


def _format_times(runs: Sequence[float], floor: Sequence[float]) -> str:
    return f"{median(runs) / median(floor):.2f} x"


def _peers_section(results: Mapping[str, Any]) -> Iterable[str]:
    yield "## What each reader does\n"
    for reader, (work, _) in OWN_READERS.items():
        if any(reader in costs for costs in results["discover"].values()):
            yield _wrap(f"- **{reader}**: {work}.")
    for name, peer in results["peers"].items():
        packages = ", ".join(f"`{package}`" for package in peer["packages"])
        yield _wrap(f"- **{name}** ({packages}): {peer['does']}")
    yield ""


def _absent_section(results: Mapping[str, Any]) -> Iterable[str]:
    absent = dict(results["absent"])
    absent |= {
        name: "it has no public function that finds and parses the skills of a folder; its command is above"
        for name, peer in results["peers"].items()
        if not peer["reads"] and name not in absent
    }
    if absent:
        yield "Readers that are not in the first table:\n"
        yield from (_wrap(f"- **{name}**: {reason}") for name, reason in absent.items())
        yield ""


def _method_section(results: Mapping[str, Any]) -> Iterable[str]:
    machine = results["machine"]
    yield "## How it was measured\n"
    yield _wrap(
        f"On {results['date']}, {machine['processor']}, {machine['system']}, Python {machine['python']}, "
        f"{machine['compiler'] or 'no C compiler'}; Prowess at commit {machine['prowess'] or 'unknown'}."
    )
    yield ""
    yield (
        "- The skills come from `benchmarks/generate.py`, seed "
        f"{results['seed']}: `SKILL.md` of 1.5 to 61 KB, median 9, 90th percentile 25;\n"
        "  descriptions of about 330 characters; 30 % with scripts, 35 % with references, 30 % with nested metadata.\n"
        "- Every run is a new process; all take turns (A B C, A B C, ...). Files are in the cache of the system: the\n"
        "  disk is not measured. A reader that takes over 20 seconds runs 3 times, over 60 seconds once; the table\n"
        "  says so.\n"
        "- A run counts only if the reader found every skill. The scripts are in `benchmarks/peers/`.\n"
        "- The home folder is empty, so there are no other skills.\n"
        "- Ratios compare runs of one session on one machine. Another machine gives other seconds.\n"
    )
    yield "To measure again:\n"
    yield "```sh\nmake bench                            # installs the peers once, then takes about ten minutes"
    yield "python benchmarks/run.py --short      # the floor and Prowess alone, a few seconds\n```\n"


def _median_work(cost: Mapping[str, Any]) -> float | None:
    return median(cost["work"]) if cost.get("work") else None


def _format_ratio(work: float | None, floor: float | None) -> str:
    if work is None or floor is None:
        return ""
    ratio = work / floor
    return f"{ratio:,.1f} x" if ratio < 10 else f"{ratio:,.0f} x"


def _format_seconds(value: float) -> str:
    return f"{_format_number(value * 1e3)} ms" if value < 1 else f"{_format_number(value)} s"


def _format_number(value: float) -> str:
    """Format a number with three significant digits."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def _format_range(runs: Sequence[float]) -> str:
    unit, factor = ("ms", 1e3) if median(runs) < 1 else ("s", 1.0)
    middle, low, high = (_format_number(value * factor) for value in (median(runs), min(runs), max(runs)))
    return f"{middle} {unit} ({low} to {high})"


def _format_reader(name: str) -> str:
    return f"**{name}**" if name in OWN_READER_NAMES else name


def _format_command(label: str) -> str:
    command, comma, rest = label.partition(",")
    return f"**`{command}`**{comma}{rest}" if label.startswith("prowess") else f"`{label}`"


def _format_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int]) -> Iterable[str]:
    aligned = set(right)
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---:" if column in aligned else "---" for column in range(len(head))) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def _wrap(text: str) -> str:
    return textwrap.fill(text, 120, subsequent_indent="  " if text.startswith("- ") else "", break_on_hyphens=False)
