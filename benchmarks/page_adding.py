"""Render what it costs to install the skills of a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adding import ADD, CLONE
from tables import format_range, measured_by, middle, paragraph, ratio, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SERVERS = {"file": "git itself, `file://`", "http": "`git http-backend`, HTTP on the loopback address"}


def adding_section(adding: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of installing skills."""
    yield "## Install the skills of a repository\n"
    yield paragraph(
        f"`{ADD}` and `{CLONE}` of the same repository with {adding['skills']} skills of {adding['files']} files of "
        f"{adding['size'] / 1000:.0f} KB, in turns, {adding['rounds']} of each, each time into new folders with an "
        "empty store, which are removed at the end, since ext4 creates files slowly after many were deleted; medians, "
        "lowest and highest in brackets. Besides fetching, `prowess add` checks every skill, "
        "hashes every byte, puts it into the store, copies it from there, compares the copy and writes the lock. The "
        "processor time contains that of the server with `file://` only."
    )
    yield ""
    rows = [
        [
            _SERVERS[transport],
            f"**`{name}`**" if name == ADD else f"`{name}`",
            *(
                text
                for kind in ("processor", "elapsed")
                for text in (format_range(cost[kind]), _two_decimals(slower(adding, transport, kind, name)))
            ),
        ]
        for transport, costs in adding["runs"].items()
        for name, cost in costs.items()
    ]
    yield from table(["server", "", "processor time", "ratio", "elapsed time", "ratio"], rows, right=range(2, 6))
    yield measured_by("add", adding)
    yield ""


def slower(adding: Mapping[str, Any], transport: str, kind: str, name: str = ADD) -> float | None:
    """Return how many times the figure of a clone that of another command is."""
    costs = adding.get("runs", {}).get(transport, {})
    return ratio(middle(costs.get(name), kind), middle(costs.get(CLONE), kind))


def _two_decimals(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} x"
