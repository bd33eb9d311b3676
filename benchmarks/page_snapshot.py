"""Render what a snapshot of many skills costs."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from tables import format_seconds, measured_by, paragraph, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def snapshot_section(snapshot: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of writing and of using a snapshot."""
    yield "## A snapshot of many skills\n"
    yield paragraph(
        f"{snapshot['skills']:,} generated skills in one [snapshot](shared.md#snapshots) of "
        f"{snapshot['size'] / 1e6:,.0f} MB, in a folder of this machine and in the cache. A start is everything from "
        "the first import until the catalog is there; a conversation adds the text for its model. Elapsed time; the "
        "median of several processes, for searches that of all queries of 1 to 16 words, and the slowest one."
    )
    yield ""
    rows = [[f"write: {name}", format_seconds(write["elapsed"])] for name, write in snapshot["writes"].items()]
    rows += [
        [name, format_seconds(value)]
        for name, value in (
            ("start", middle_of(snapshot, "start")),
            ("begin a conversation", middle_of(snapshot, "conversation")),
            ("search", middle_of(snapshot, "searches")),
            ("search, the slowest query", slowest_search(snapshot)),
            ("refresh, unchanged", middle_of(snapshot, "refresh")),
        )
        if value is not None
    ]
    if peak := peak_of(snapshot):
        rows.append(["memory of the process, the most", f"{peak / 1e6:,.0f} MB"])
    yield from table(["", ""], rows, right=(1,))
    yield measured_by("snapshot", snapshot)
    yield ""


def middle_of(snapshot: Mapping[str, Any], kind: str) -> float | None:
    """Return the median of a figure over all processes, for searches over all of them."""
    values = [run[kind] for run in snapshot.get("runs", ())]
    if kind == "searches":
        values = [value for searches in values for value in searches]
    return median(values) if values else None


def slowest_search(snapshot: Mapping[str, Any]) -> float | None:
    """Return the time of the slowest search; of each query the median over all processes counts."""
    runs = [run["searches"] for run in snapshot.get("runs", ())]
    return max(map(median, zip(*runs, strict=True))) if runs else None


def peak_of(snapshot: Mapping[str, Any]) -> float | None:
    """Return the most memory of any process, in bytes."""
    return max((run["peak"] for run in snapshot.get("runs", ())), default=None)
