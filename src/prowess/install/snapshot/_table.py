"""List the skills of a snapshot, each as an entry that is made when it is asked for."""

from __future__ import annotations

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import normalize_name
from prowess.catalog import Entry, State
from prowess.skill import Requirements, Skill

from ._file import USER_ONLY, is_valid_name, key_of
from ._postings import SnapshotPostings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    from ._file import SnapshotFile

    class TableReader(Protocol):
        """Reads the skills of a table."""

        def table(self) -> SnapshotTable:
            """Return the table as it is now."""


__all__ = ["SnapshotTable"]


class SnapshotTable:
    """The skills of a snapshot. All methods raise `InstallError` if it is damaged.

    Args:
        file: the snapshot.
        root: what the paths of all its skills begin with.
        reader: reads the skills.
    """

    def __init__(self, file: SnapshotFile, root: str, reader: TableReader) -> None:
        self.file, self.root, self.reader = file, root, reader
        self.postings = SnapshotPostings(file)

    def __reduce__(self) -> tuple[Callable[[TableReader], SnapshotTable], tuple[TableReader]]:
        return _table_of, (self.reader,)

    def __len__(self) -> int:
        return int(self.file.skills)

    def __iter__(self) -> Iterator[Entry]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, row: int) -> Entry:
        if not 0 <= row < len(self):
            raise IndexError(row)
        state = State.USER_ONLY if self.file.flags[row] & USER_ONLY else State.ACTIVE
        return Entry.from_loader(self, row, name=self.name(row), state=state)

    def load_field(self, row: int, name: str) -> Any:
        """Return a field of an entry."""
        return _FIELDS[name](self, row)

    def rows_named(self, name: str) -> list[int]:
        """Return the skills whose name, or folder, is this normalized one."""
        return [
            row
            for row in self.file.rows_with_key(key_of("name", name))
            if name in (normalize_name(self.name(row)), normalize_name(self.folder(row)))
        ]

    def row_at(self, path: str) -> int | None:
        """Return the skill with a path."""
        folder = path.removeprefix(self.root).removesuffix(f"/{SKILL_FILE}")
        rows = self.file.rows_with_key(key_of("path", folder))
        return next((row for row in rows if self.path(row) == path), None)

    def names(self) -> list[str]:
        """Return the names of all skills."""
        return self.file.all_texts("names")

    def names_and_states(self) -> Iterator[tuple[str, bool]]:
        """Return the name of each skill, and whether the model may see it."""
        return zip(self.names(), [not flags & USER_ONLY for flags in self.file.flags], strict=True)

    def path(self, row: int) -> str:
        """Return the path of a skill's SKILL.md in catalogs."""
        path = self.file.text("paths", row)
        if not path or not path.isprintable() or {"", ".", ".."} & {*path.split("/")}:
            raise self.file.damaged("the path of a skill is invalid")
        return f"{self.root}{path}/{SKILL_FILE}"

    def name(self, row: int) -> str:
        """Return the name of a skill."""
        name = self.file.text("names", row)
        if not is_valid_name(name):
            raise self.file.damaged("the name of a skill is invalid")
        return name

    def folder(self, row: int) -> str:
        """Return the name of a skill's folder."""
        return self.file.text("paths", row).rpartition("/")[2]

    def skill(self, row: int) -> Skill:
        """Return a skill as far as the snapshot knows it."""
        return Skill(
            name=self.name(row),
            description=self.file.text("descriptions", row),
            disable_model_invocation=bool(self.file.flags[row] & USER_ONLY),
            path=self.path(row),
        )


def _table_of(reader: TableReader) -> SnapshotTable:
    return reader.table()


_FIELDS: dict[str, Callable[[SnapshotTable, int], Any]] = {
    "alias": lambda _table, _row: None,
    "frontmatter_name": lambda table, row: table.name(row),
    "folder": lambda table, row: table.folder(row),
    "description": lambda table, row: table.file.text("descriptions", row),
    "path": lambda table, row: table.path(row),
    "real": lambda table, row: table.path(row),
    "scope": lambda _table, _row: "remote",
    "root": lambda table, _row: table.root,
    "namespace": lambda _table, _row: None,
    "reason": lambda table, row: "its author hides it from the model" if table.file.flags[row] & USER_ONLY else None,
    "rule": lambda _table, _row: "provider",
    "shadowed_by": lambda _table, _row: None,
    "digest": lambda table, row: table.file.digest(row),
    "requirements": lambda _table, _row: Requirements(),
    "findings": lambda _table, _row: (),
    "skill": lambda table, row: table.skill(row),
}
