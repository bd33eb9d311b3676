"""List the skills of several agents: a table that fits the terminal, with a column for each, or JSON.

Skills are listed below the folder that contains them. Skills of one folder that have the same cells share one row, and
their names follow it. If the agents need more room than there is, they are shown in several blocks, one below another.
"""

from __future__ import annotations

import os
import sys

from prowess._internal.frozen import Frozen
from prowess._internal.text import display_width, neutral
from prowess.cli._arguments import may_offer_skills
from prowess.cli._losses import KIND_STYLES, describe_outdated, summarize_kinds
from prowess.cli._output import (
    Message,
    as_dicts,
    evidence_json,
    evidence_notes,
    finding_messages,
    paint,
    pluralize,
    terminal_width,
    truncate_or_pad,
)
from prowess.findings import Severity
from prowess.hosts import DEFAULT_HOST, evidence_marks, raw_value
from prowess.visibility import (
    KIND_MEANINGS,
    Kind,
    compare_catalogs,
    first_entry,
    outdated_finding,
    rows_of_entries,
    skill_label,
)

from ._host_table import digest_lines, display_skill_path, empty_hint, shown_findings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.filesystem import Filesystem, Question
    from prowess.visibility import ComparedSkill, Comparison

_PIPE_WIDTH = 80
"""The width of the matrix if stdout is not a terminal."""


def _width() -> int:
    return terminal_width() if sys.stdout.isatty() else _PIPE_WIDTH


class Matrix:
    """What some agents make of each skill."""

    def __init__(
        self, catalogs: Mapping[str, Catalog], filesystem: Filesystem, question: Question, *, digests: bool
    ) -> None:
        self.catalogs, self.filesystem, self.digests = catalogs, filesystem, digests
        self.hosts = [*catalogs]
        self.base = catalogs[self.hosts[0]]
        self.comparison = compare_catalogs(catalogs, question, filesystem=filesystem)
        self.findings = self.comparison.findings
        self.kinds, self.skills = self.comparison.kinds, self.comparison.skills
        self.rows = rows_of_entries(catalogs, filesystem)

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `list --json`."""
        return {
            "cwd": self.base.cwd,
            "home": self.base.home,
            "hosts": self.hosts,
            "skills": [self._row_json(skill) for skill in self.skills],
            "findings": as_dicts(self.findings),
            "counts": {host: catalog.counts for host, catalog in self.catalogs.items()},
            "kinds": self.kinds,
            "evidence": evidence_json(self.hosts),
        }

    def _row_json(self, skill: ComparedSkill) -> dict[str, object]:
        """Return one skill; `kinds` has the agents that do not find it too."""
        row = self.rows.get(skill.real, {})
        return {
            **_row_json(skill, row, self.filesystem, digest=self.digests),
            "kinds": {host: view.kind for host, view in skill.views.items()},
        }

    def text(self, *, merge: bool, is_chosen: bool) -> Iterator[str]:
        """Yield the table, and messages about it.

        Args:
            merge: whether skills with the same cells share a row.
            is_chosen: whether the user named the agents.
        """
        if self.skills:
            yield from self._table(merge=merge)
        if self.digests:
            yield from digest_lines(map(first_entry, self.rows.values()), self.base, self.filesystem)
        shown = shown_findings(self.findings, "host-disabled" if is_chosen else "")
        yield from finding_messages(shown, base=self.base.cwd)
        yield from map(Message, describe_outdated(self.comparison))
        entries = map(first_entry, self.rows.values())
        errors = sum(item.severity is Severity.ERROR for entry in entries for item in entry.findings)
        with_errors = f"; {pluralize(errors, 'error')}, see `prowess check`" if errors else ""
        asked = self.comparison if is_chosen else self._without_prowess()
        # A repository may have more in other folders, which only `check` and the first screen count.
        skills = pluralize(len(self.comparison.distinct), "skill") + " in folders of agents" * bool(self.skills)
        explained = "; `prowess why NAME` explains a skill" if self.skills else ""
        yield Message(f"{skills}, {pluralize(len(asked.hosts), 'agent')}{with_errors}{explained}")
        if self.skills:
            yield from map(Message, summarize_kinds(asked))
            if may_offer_skills(self.base.cwd, self.filesystem.link_kind):
                from prowess.cli._references import offered_hint

                yield from offered_hint(self.base, self.filesystem)
        else:
            self.filesystem.mark_incomplete()  # the whole repository is searched
            yield from empty_hint(self.base)

    def _without_prowess(self) -> Comparison:
        """Return what the agents of this machine make of the skills, as `prowess check` counts them."""
        hosts = tuple(host for host in self.hosts if host != DEFAULT_HOST)
        skills = (skill.with_changes(views={host: skill.views[host] for host in hosts}) for skill in self.skills)
        return self.comparison.with_changes(hosts=hosts, skills=tuple(skills))

    def _table(self, *, merge: bool) -> Iterator[str]:
        """Yield the lines of the table, and messages that say what its symbols mean."""
        rows = sorted(
            (_matrix_row(skill, self.base) for skill in self.skills),
            # The project's folders first, then those of the user, then others.
            key=lambda row: (row.where.startswith("/"), row.where.startswith("~"), row.where),
        )
        width, names = _width(), evidence_marks(self.hosts)
        short = [
            str(raw_value(host, "short") or host) + name.removeprefix(host)
            for host, name in zip(self.hosts, names, strict=True)
        ]
        titles = agent_titles(names, short, rows, width)
        yield from format_matrix(rows, titles, width=width, merge=merge)
        if sys.stdout.isatty():
            yield Message()
        yield from map(Message, format_legend(rows, names, titles, width=width))
        yield from evidence_notes(self.hosts)


def _matrix_row(skill: ComparedSkill, base: Catalog) -> MatrixRow:
    return MatrixRow(
        name=skill.name,
        folder=skill.folder,
        where=display_skill_path(os.path.dirname(os.path.dirname(skill.path)), base),
        cells=tuple(KIND_SYMBOLS[view.kind] for view in skill.views.values()),
    )


def _row_json(
    compared: ComparedSkill, row: Mapping[str, Entry], filesystem: Filesystem, *, digest: bool
) -> dict[str, object]:
    from prowess.prompt import estimate_tokens
    from prowess.skill import check_skill

    is_readable = all(entry.readable for entry in row.values())
    # A SKILL.md that is a link is followed only where an agent did so.
    skill = filesystem.skill(compared.path, real=first_entry(row).real if row else None, whole=True)
    description = (skill.description or "").strip()
    old = () if compared.outdated is None else (outdated_finding(compared.path, compared.outdated),)
    return {
        "name": compared.name,
        "path": compared.path,
        "folder": compared.folder,
        "description": description,
        "hosts": {
            host: {"state": str(entry.state), "reason": entry.reason, "name": entry.name} for host, entry in row.items()
        },
        "digest": filesystem.digest(compared.path) if digest and is_readable else None,
        "tokens": {
            "catalog": estimate_tokens(f"{compared.name}: {description}"),
            "body": estimate_tokens(skill.body),
        },
        "findings": as_dicts((*old, *check_skill(skill))),
    }


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────

KIND_SYMBOLS = {
    Kind.SEEN: "yes",
    Kind.USER_ONLY: "user",
    Kind.DEFERRED: "later",
    Kind.NAME_ONLY: "name",
    Kind.LEFT_OUT: "over",
    Kind.UNTRUSTED: "trust",
    Kind.OFF: "off",
    Kind.NAME_TAKEN: "-",
    Kind.UNDEFINED: "?",
    Kind.REJECTED: "no",
    Kind.BEYOND_LIMIT: "limit",
    Kind.FILE_NAME: "file",
    Kind.ELSEWHERE: "",
}
"""The symbol of each kind in a cell."""

_KINDS = {symbol: kind for kind, symbol in KIND_SYMBOLS.items()}
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
            paint(cell, KIND_STYLES[_KINDS[cell]]) + " " * (column - len(cell))
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
    return skill_label(row.name, row.folder)


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
    for kind, symbol in KIND_SYMBOLS.items():
        if symbol in found:
            yield f"  {symbol or '(empty)':<8}{KIND_MEANINGS[kind]}"
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
