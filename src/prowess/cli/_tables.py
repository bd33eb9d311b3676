"""Format tables for stdout, in the width of the terminal."""

from __future__ import annotations

import os
import sys

from prowess._internal.text import character_width, display_width, neutral

from ._color import paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["format_table", "terminal_width", "truncate_or_pad"]

_MAX_COLUMN_WIDTH = 64
"""The widest a column of a fitted table gets, in cells: the longest name the specification allows."""


def format_table(
    rows: Iterable[Sequence[str]], *, fit_terminal: bool = True, styles: Mapping[int, Mapping[str, str]] | None = None
) -> list[str]:
    """Format rows as a table for stdout.

    Args:
        rows: of equal length; the first is the heading.
        fit_terminal: whether to cut the last column to the width of the terminal, and very wide others.
        styles: of columns, by their index: the style of a cell by its text.
    """
    rows = [[neutral(cell) for cell in row] for row in rows]
    if not rows:
        return []
    widths = [max(display_width(row[index]) for row in rows) for index in range(len(rows[0]))]
    if fit_terminal:
        widths = [min(width, _MAX_COLUMN_WIDTH) for width in widths[:-1]] + widths[-1:]
        remaining = terminal_width() - sum(widths[:-1]) - 2 * (len(widths) - 1)
        widths[-1] = min(widths[-1], max(remaining, 20))
    styles = styles or {}
    return [
        "  ".join(
            _paint_cell(truncate_or_pad(cell, width), cell, styles.get(index))
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _paint_cell(padded: str, cell: str, styles: Mapping[str, str] | None) -> str:
    return padded if styles is None or cell not in styles else paint(cell, styles[cell]) + padded[len(cell) :]


_MAX_TERMINAL_WIDTH = 65_535
"""The widest that a terminal can say that it is."""


def terminal_width() -> int:
    """Return the width for tables: the terminal's, or 100 if stdout is no terminal."""
    if not sys.stdout.isatty():
        return 100
    # Like `shutil.get_terminal_size`, without the time it takes to load that module.
    try:
        columns = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        columns = 0
    if not 0 < columns <= _MAX_TERMINAL_WIDTH and sys.__stdout__ is not None:
        columns = 0
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns
        except (OSError, ValueError):
            columns = 0
    return max(columns, 60) if columns > 0 else 100


def truncate_or_pad(text: str, width: int) -> str:
    """Cut or pad a text to a number of cells."""
    if display_width(text) > width:
        from itertools import accumulate, takewhile

        cells_so_far = accumulate(map(character_width, text))
        text = text[: sum(1 for _ in takewhile(lambda cells: cells < width, cells_so_far))] + "…"
    return text + " " * (width - display_width(text))
