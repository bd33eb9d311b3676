"""Render docs/benchmarks.md from the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chart import can_draw
from goals import goals_section
from page_adding import adding_section
from page_commands import (
    commands_section,
    conversations_section,
    less_start_section,
    mounting_section,
    testing_section,
)
from page_readers import OWN_READERS, changes_section, hosts_section, readers_section
from page_serving import serving_section
from page_snapshot import snapshot_section
from tables import paragraph
from usage import usage_section
from verifying import verifying_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

INTRO = """\
# Benchmarks

`make bench` writes this page. It measures Prowess and the other readers of skills that can be installed from PyPI and
npm. All read the same generated files in the same run. The measure is processor time, user and system, of everything a
reader does to find the skills of one folder and to read their names and descriptions.
"""
CHART = "![Processor time to find and parse all skills, against their number](benchmarks.svg)\n"

METHOD = (
    "- The skills come from `benchmarks/generate.py`: `SKILL.md` of 1.5 to 61 KB, median 9, 90th percentile 25; "
    "descriptions of about 330 characters; 30 % with scripts, 35 % with references, 30 % with nested metadata.\n"
    "- Every run is a new process; all take turns (A B C, A B C, ...). Files are in the cache of the system: the disk "
    "is not measured. A command that takes over 4 seconds runs 3 times, over 20 seconds once, and is stopped after 3 "
    "minutes; the table says so.\n"
    "- With 100,000 skills only the two peers are measured that were the fastest with 10,000. Others would take "
    "minutes, and some gigabytes of memory.\n"
    "- Prowess imports most of its modules on first use. So it reads a project of 20 skills first, which counts as "
    "imports; whole commands include everything.\n"
    "- A run counts only if the reader found every skill. The scripts are in `benchmarks/peers/`.\n"
    "- The home folder is empty, so there are no other skills.\n"
    "- Ratios compare runs of one session on one machine. Another machine gives other seconds."
).splitlines()


def render_page(results: Mapping[str, Any]) -> str:
    """Return the page as Markdown; a part that was not measured has no section."""
    readers, commands = results.get("readers"), results.get("commands")
    lines = [INTRO, *([CHART] if can_draw(results) else []), *goals_section(results)]
    if readers:
        lines += readers_section(readers)
    if "hosts" in results:
        lines += hosts_section(results["hosts"], readers or {})
    if "changes" in results:
        lines += changes_section(results["changes"])
    if commands:
        lines += [*commands_section(commands), *less_start_section(commands)]
    for part, section in {
        "conversations": conversations_section,
        "mcp": serving_section,
        "verify": verifying_section,
        "usage": usage_section,
        "snapshot": snapshot_section,
        "mounting": mounting_section,
        "add": adding_section,
        "testing": testing_section,
    }.items():
        if part in results:
            lines += section(results[part])
    return "\n".join([*lines, *_peers_section(readers or {}, commands or {}), *_method_section(results)])


def _peers_section(readers: Mapping[str, Any], commands: Mapping[str, Any]) -> Iterable[str]:
    sizes, peers = readers.get("sizes", {}), commands.get("peers", {}) | readers.get("peers", {})
    if not peers:
        return
    yield "## What each reader does\n"
    for reader, (work, _) in OWN_READERS.items():
        if any(reader in costs for costs in sizes.values()):
            yield paragraph(f"- **{reader}**: {work}.")
    for name, peer in peers.items():
        packages = ", ".join(f"`{package}`" for package in peer["packages"])
        yield paragraph(f"- **{name}** ({packages}): {peer['does']}")
    yield ""
    absent = {
        name: "it has no public function that finds and parses the skills of a folder; its command is above"
        for name, peer in peers.items()
        if not peer["reads"]
    }
    absent |= commands.get("absent", {}) | readers.get("absent", {})
    yield "Readers that are not in the first table:\n"
    yield from (paragraph(f"- **{name}**: {reason}.") for name, reason in absent.items())
    yield ""


def _method_section(results: Mapping[str, Any]) -> Iterable[str]:
    machine = results["machine"]
    seed = results.get("readers", {}).get("seed", 0)
    yield "## How it was measured\n"
    yield paragraph(
        f"{machine['processor']}, {machine['system']}, Python {machine['python']}, "
        f"{machine['compiler'] or 'no C compiler'}; seed {seed}; dates and commits are below each table."
    )
    yield ""
    yield from map(paragraph, METHOD)
    yield "\nTo measure again:\n"
    yield "```sh\nmake bench                                        # installs the peers once; then 20 minutes"
    yield "python benchmarks/run.py --only hosts,commands    # some parts"
    yield "python benchmarks/run.py --short                  # the floor and Prowess alone, a few seconds\n```\n"
