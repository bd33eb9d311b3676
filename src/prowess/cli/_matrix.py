"""Format the matrix of skills and agents: lines that fit the terminal, with equal rows merged, and their legend.

Skills are listed below the folder that contains them. Skills of one folder that have the same cells share one row, and
their names follow it. If the agents need more room than there is, they are shown in several blocks, one below another.
"""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess._internal.text import display_width, neutral, quoted

from ._color import paint
from ._output import pluralize
from ._tables import truncate_or_pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["MatrixRow", "agent_titles", "format_legend", "format_matrix", "state_symbol", "wrap_words"]

_SYMBOLS = {
    "yes": ("good", "the model sees it"),
    "user": ("info", "only the user can call it"),
    "later": ("info", "it appears later"),
    "-": ("warning", "another skill hides it"),
    "off": ("dim", "it is disabled or not trusted"),
    "no": ("error", "the agent does not load it"),
    "?": ("warning", "skills share that name; the winner is undefined"),
    "": (None, "the agent does not search that folder"),
}
"""Each symbol of a cell: its style and its meaning."""

_STATE_SYMBOLS = {
    "active": "yes",
    "user-only": "user",
    "deferred": "later",
    "shadowed": "-",
    "disabled": "off",
    "untrusted": "off",
    "rejected": "no",
    "absent": "",
}

_HEADING = "SKILL"
_GAP = 2
"""Cells between two columns."""
_NAME_INDENT = 2
_NAMES_INDENT = 4
"""The indents of a row, and of the names that share one."""
_MIN_NAME_WIDTH, _MAX_NAME_WIDTH = 10, 40
"""A longer name has a line of its own, above its cells."""
_MIN_MERGED = 3
"""Two rows that are merged need as many lines as before."""


class MatrixRow(Frozen):
    """One skill of the matrix."""

    name: str
    """As its front matter has it."""
    folder: str
    """The name of its folder."""
    where: str
    """The folder that contains the skill's folder, as people write it."""
    cells: tuple[str, ...]
    """The symbol of its state for each agent."""


def state_symbol(state: str, rule: str | None) -> str:
    """Return the symbol of a state: the word of a `State`, or `absent`."""
    return "?" if rule == "undefined" else _STATE_SYMBOLS[state]


def agent_titles(names: Sequence[str], short_names: Sequence[str], rows: Sequence[MatrixRow], width: int) -> list[str]:
    """Return the headings of agents: their names, or the short ones if the names do not fit beside those of skills."""
    return [*names] if len(_split_agents(names, rows, width, _label_width(rows))) <= 1 else [*short_names]


def format_matrix(rows: Sequence[MatrixRow], titles: Sequence[str], *, width: int, merge: bool = True) -> list[str]:
    """Format the matrix.

    Args:
        rows: the skills; those of one folder need not be together.
        titles: the headings of the agents.
        width: the cells of a line, 60 or more.
        merge: whether skills of one folder with the same cells share a row.
    """
    groups = _merge_rows(rows, merge=merge)
    labels = [_HEADING, *(" " * _NAME_INDENT + _label(names) for _, names, _ in groups)]
    label_width = max(map(display_width, labels))
    lines: list[str] = []
    for first, last in _split_agents(titles, rows, width, label_width):
        if lines:
            lines.append("")
        lines += _format_block(groups, titles, first, last, width, label_width)
    return lines


def _format_block(
    groups: Sequence[_Group], titles: Sequence[str], first: int, last: int, width: int, label_width: int
) -> Iterator[str]:
    """Yield the lines of the agents from `first` up to, but not including, `last`."""
    columns = _column_widths(titles, [cells for _, _, cells in groups])[first:last]
    label_width = min(label_width, width - sum(columns) - _GAP * len(columns))
    heading = (truncate_or_pad(title, column) for title, column in zip(titles[first:last], columns, strict=True))
    yield _join(_HEADING, label_width, heading)
    folder = None
    for where, names, cells in groups:
        if where != folder:
            folder = where
            yield truncate_or_pad(neutral(where) or ".", width).rstrip()
        painted = [
            paint(cell, _SYMBOLS[cell][0]) + " " * (column - len(cell))
            for cell, column in zip(cells[first:last], columns, strict=True)
        ]
        label = " " * _NAME_INDENT + _label(names)
        if display_width(label) > label_width:
            yield truncate_or_pad(label, width - 1).rstrip()
            label = ""
        if label or any(cells[first:last]):
            yield _join(label, label_width, painted)
        if len(names) > 1:
            yield from wrap_words(names, width, indent=_NAMES_INDENT)


def _join(label: str, label_width: int, cells: Iterable[str]) -> str:
    return (" " * _GAP).join([truncate_or_pad(label, label_width), *cells]).rstrip()


_Group = tuple[str, list[str], tuple[str, ...]]
"""A row of the matrix: the folder, the names of its skills, and the cells of them all."""


def _merge_rows(rows: Iterable[MatrixRow], *, merge: bool) -> list[_Group]:
    """Return the rows of each folder together, and those with the same cells as one."""
    folders: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for row in rows:
        folders.setdefault(row.where, {}).setdefault(row.cells, []).append(_display_name(row))
    return [
        (where, names, cells)
        for where, by_cells in folders.items()
        for cells, all_names in by_cells.items()
        for names in ([all_names] if merge and len(all_names) >= _MIN_MERGED else [[name] for name in all_names])
    ]


def _display_name(row: MatrixRow) -> str:
    """Return the name of a skill, and its folder if that has another one. A comma in it separates nothing."""
    name = neutral(row.name)
    plain = name and name == name.strip() and "," not in name
    return (name if plain else quoted(row.name)) + (f" ({neutral(row.folder)})" if row.folder != row.name else "")


def _label(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else pluralize(len(names), "skill")


def _label_width(rows: Sequence[MatrixRow]) -> int:
    return max((display_width(_display_name(row)) + _NAME_INDENT for row in rows), default=0)


def _column_widths(titles: Sequence[str], cells: Sequence[tuple[str, ...]]) -> list[int]:
    return [max(map(len, (title, *{row[index] for row in cells}))) for index, title in enumerate(titles)]


def _split_agents(
    titles: Sequence[str], rows: Sequence[MatrixRow], width: int, label_width: int
) -> list[tuple[int, int]]:
    """Return the blocks of agents, as positions: as few as fit, of about the same size."""
    columns = [column + _GAP for column in _column_widths(titles, [row.cells for row in rows])]
    if not columns:
        return [(0, 0)]
    room = width - max(min(label_width, _MAX_NAME_WIDTH), _MIN_NAME_WIDTH)
    if sum(columns) > room:  # a narrow column of names is better than a second block
        room = width - _MIN_NAME_WIDTH
    count = max(-(-sum(columns) // room), 1)
    while True:
        size = -(-len(columns) // count)
        blocks = [(first, min(first + size, len(columns))) for first in range(0, len(columns), size)]
        if size == 1 or all(sum(columns[first:last]) <= room for first, last in blocks):
            return blocks
        count += 1


def format_legend(
    rows: Iterable[MatrixRow], names: Sequence[str], titles: Sequence[str], *, width: int
) -> Iterator[str]:
    """Yield the lines that explain the symbols in these rows, and the headings that are not names of agents."""
    found = {cell for row in rows for cell in row.cells}
    for symbol, (_, meaning) in _SYMBOLS.items():
        if symbol in found:
            yield f"  {symbol or '(empty)':<8}{meaning}"
    short = [f"{title} = {name}" for name, title in zip(names, titles, strict=True) if title != name]
    if short:
        yield from wrap_words(short, width, indent=2)


def wrap_words(words: Iterable[str], width: int, *, indent: int) -> Iterator[str]:
    """Yield lines of words with commas between them; a word that is longer than a line is cut."""
    line = ""
    for word in words:
        if line and indent + display_width(line) + 2 + display_width(word) + 1 > width:
            yield f"{' ' * indent}{line},"
            line = ""
        line += (", " if line else "") + truncate_or_pad(word, min(display_width(word), width - indent - 2))
    if line:
        yield " " * indent + line
