"""Format figures, tables and paragraphs of the page."""

from __future__ import annotations

import math
import textwrap
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def middle(cost: Mapping[str, Any] | None, kind: str = "work") -> float | None:
    """Return the median of the runs of a command, or `None` if it was not measured."""
    return median(cost[kind]) if cost and cost.get(kind) else None


def ratio(value: float | None, floor: float | None) -> float | None:
    """Return how many times the floor a value is, if both were measured."""
    return value / floor if value is not None and floor else None


def format_times(times: float | None) -> str:
    """Format a ratio: one decimal below ten."""
    if times is None:
        return ""
    return f"{times:,.1f} x" if times < 9.95 else f"{times:,.0f} x"


def format_seconds(value: float | None) -> str:
    """Format seconds with three significant digits."""
    if value is None:
        return ""
    if abs(value) < 0.001:
        return f"{value * 1e6:.0f} µs"
    return f"{format_number(value * 1e3)} ms" if abs(value) < 1 else f"{format_number(value)} s"


def format_number(value: float) -> str:
    """Format a number with three significant digits."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}" if value else "0"


def format_range(runs: Sequence[float]) -> str:
    """Format the median of some seconds, with the lowest and the highest."""
    value = median(runs)
    unit, factor = ("µs", 1e6) if value < 0.001 else ("ms", 1e3) if value < 1 else ("s", 1.0)
    center, low, high = (format_number(seconds * factor) for seconds in (value, min(runs), max(runs)))
    return f"{center} {unit} ({low} to {high})"


def format_memory(cost: Mapping[str, Any] | None) -> str:
    """Format the peak memory of a command."""
    peak = middle(cost, "peak")
    return f"{peak / 1e6:,.0f} MB" if peak else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int]) -> Iterable[str]:
    """Return the lines of a table."""
    aligned = set(right)
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---:" if column in aligned else "---" for column in range(len(head))) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def paragraph(text: str) -> str:
    """Return a paragraph or an item of a list, wrapped."""
    return textwrap.fill(text, 120, subsequent_indent="  " if text.startswith("- ") else "", break_on_hyphens=False)


def measured_by(part: str, section: Mapping[str, Any]) -> str:
    """Return the paragraph that says when a section was measured, and how to do it again."""
    rounds = section.get("rounds", 0)
    runs = f", {rounds} round{'s' * (rounds != 1)}" if rounds else ""
    return paragraph(
        f"Measured on {section['date']} at commit {section['prowess']}{runs}: `python benchmarks/run.py --only {part}`."
    )
