"""Hold very many skills in a catalog without an object for each of them.

A provider may list a `SkillTable`: skills in a file, each of which becomes an `Entry` when it is asked for.
`ManySkills` puts the skills of this machine and of other providers before those of tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prowess._internal.text import neutral, normalize_name

from ._entry import REACHABLE, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Set as AbstractSet
    from typing import Any, Protocol

    from ._entry import Entry

else:

    class Protocol:
        """Replace `typing.Protocol`, which takes long to import."""


_MAX_TEXT_WORDS = 2000


class TermCounts(Protocol):
    """How many skills of an index have a term."""

    count: int
    """How many skills there are."""

    def frequency(self, term: str) -> int:
        """Return how many skills have a term."""

    def starting_with(self, prefix: str) -> Sequence[str]:
        """Return the words with a prefix, of very many the most frequent; some of them may be in no skill."""

    def known_words(self, words: AbstractSet[str]) -> Iterable[str]:
        """Return those of some words that are known; some of them may be in no skill."""


class TablePostings(TermCounts, Protocol):
    """The search index of a table."""

    def best(self, weights: Mapping[str, float], limit: int) -> dict[int, float]:
        """Return the rows with the highest ranks, each as `rank_rows` does; at least `limit` if so many match."""


class SkillTable(Protocol):
    """Many skills of a provider, by their rows."""

    root: str
    """What the paths of all its skills begin with."""
    reader: Any
    """The provider that reads them."""

    @property
    def postings(self) -> TablePostings:
        """The search index."""

    def __len__(self) -> int:
        """Return how many skills it has."""

    def __getitem__(self, row: int) -> Entry:
        """Return the skill of a row."""

    def rows_named(self, name: str) -> Sequence[int]:
        """Return the skills whose name, or folder, is this normalized one."""

    def row_at(self, path: str) -> int | None:
        """Return the skill with a path."""

    def names(self) -> Iterable[str]:
        """Return the names of all skills."""

    def names_and_states(self) -> Iterable[tuple[str, bool]]:
        """Return the name of each skill, and whether the model may see it."""


class ManySkills(Sequence["Entry"]):
    """Skills of which most are in tables. Entries of tables are made anew whenever they are asked for.

    Args:
        entries: the skills that have an entry already; they come first and win over skills of tables.
        tables: the others; the first table with a name wins.
    """

    def __init__(self, entries: Iterable[Entry], tables: Iterable[SkillTable]) -> None:
        self.entries, self.tables = tuple(entries), tuple(tables)
        self._winners: dict[str, Entry] = {}
        for entry in self.entries:
            if entry.state in REACHABLE:
                self._winners.setdefault(normalize_name(entry.name), entry)

    def __len__(self) -> int:
        return len(self.entries) + sum(map(len, self.tables))

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return tuple(self[number] for number in range(*row.indices(len(self))))
        if row < 0:
            row += len(self)
        if 0 <= row < len(self.entries):
            return self.entries[row]
        at = row - len(self.entries)
        for number, table in enumerate(self.tables):
            if 0 <= at < len(table):
                return self._of_table(number, table[at])
            at -= len(table)
        raise IndexError(row)

    def __iter__(self) -> Iterator[Entry]:
        yield from self.entries
        for number, table in enumerate(self.tables):
            for row in range(len(table)):
                yield self._of_table(number, table[row])

    def rows_named(self, name: str) -> list[int]:
        """Return the rows of skills with a normalized name, or a folder of that name."""
        rows = [row for row, entry in enumerate(self.entries) if name in entry.names]
        for start, table in self._starts():
            rows += [start + row for row in table.rows_named(name)]
        return rows

    def named(self, name: str) -> list[Entry]:
        """Return the skills with a normalized name, or a folder of that name."""
        return [self[row] for row in self.rows_named(name)]

    def at(self, path: str) -> Entry | None:
        """Return the skill with a path."""
        for entry in self.entries:
            if entry.path == path:
                return entry
        for start, table in self._starts():
            row = table.row_at(path) if path.startswith(table.root) else None
            if row is not None:
                return self[start + row]  # type: ignore[no-any-return]
        return None

    def names(self) -> Iterator[str]:
        """Yield the names of all skills in their order."""
        for entry in self.entries:
            yield entry.name
        for table in self.tables:
            yield from table.names()

    def active_names(self) -> Iterator[str]:
        """Yield the names of all active skills in their order, without making entries."""
        taken = {*self._winners}
        yield from (entry.name for entry in self.entries if entry.state is State.ACTIVE)
        for number, table in enumerate(self.tables):
            names = [*table.names_and_states()]
            yield from (name for name, active in names if active and not (taken and normalize_name(name) in taken))
            if number < len(self.tables) - 1:
                taken.update(normalize_name(name) for name, _ in names)

    def in_text(self, text: str) -> tuple[Entry, ...]:
        """Return the skills that a text may name: those without a table, and those whose name is one of its words."""
        words = dict.fromkeys(normalize_name(word.strip(_AROUND_NAMES)) for word in text.split()[:_MAX_TEXT_WORDS])
        rows: set[int] = set()
        for start, table in self._starts():
            rows.update(start + row for word in words if word for row in table.rows_named(word))
        return (*self.entries, *(self[row] for row in sorted(rows)))

    def _starts(self) -> Iterator[tuple[int, SkillTable]]:
        start = len(self.entries)
        for table in self.tables:
            yield start, table
            start += len(table)

    def _of_table(self, number: int, entry: Entry) -> Entry:
        """Return an entry as it is beside the skills before it."""
        name = normalize_name(entry.name)
        winner = self._winners.get(name)
        for table in self.tables[:number] if winner is None else ():
            winner = next((other for row in table.rows_named(name) if _is_named(other := table[row], name)), None)
            if winner is not None:
                break
        if winner is None or entry.state not in REACHABLE:
            return entry
        reason = f"{neutral(winner.path)} wins: it comes first"
        return entry.with_changes(state=State.SHADOWED, reason=reason, rule="name-shadowed", shadowed_by=winner.path)


_AROUND_NAMES = "$@/＄＠／.,;:!?()[]{}<>\"'`”’»*_…"


class ManyReaders(Mapping[str, "Any"]):
    """The readers of skills by path, those of tables without a list of their paths.

    Args:
        readers: of skills without a table.
        tables: the others.
        change: what is returned in place of each reader.
    """

    def __init__(
        self,
        readers: Mapping[str, Any],
        tables: Sequence[SkillTable],
        change: Callable[[Any], Any] | None = None,
    ) -> None:
        self._readers, self._tables, self._change = readers, tables, change
        self._changed = {id(table): change(table.reader) for table in tables} if change else {}

    def __getitem__(self, path: str) -> Any:
        if path in self._readers:
            return self._change(self._readers[path]) if self._change else self._readers[path]
        for table in self._tables:
            if path.startswith(table.root):
                return self._changed.get(id(table), table.reader)
        raise KeyError(path)

    def __iter__(self) -> Iterator[str]:
        yield from self._readers
        for table in self._tables:
            for row in range(len(table)):
                yield table[row].path

    def __len__(self) -> int:
        return len(self._readers) + sum(map(len, self._tables))

    def mapped(self, change: Callable[[Any], Any]) -> ManyReaders:
        """Return the same with other readers."""
        return ManyReaders(self._readers, self._tables, change)


def _is_named(entry: Entry, name: str) -> bool:
    return entry.state in REACHABLE and normalize_name(entry.name) == name
