"""Define what is kept of a recorded session: names, paths, counts and times."""

from __future__ import annotations

import marshal
from functools import lru_cache

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self


class _Row(Frozen):
    """A value that is a tuple in the cache."""

    def as_row(self) -> tuple[object, ...]:
        """Return the values of the fields."""
        return tuple(getattr(self, name) for name in self._fields())

    def as_dict(self) -> dict[str, object]:
        """Return the values of the fields by their names."""
        return dict(zip(self._fields(), self.as_row(), strict=True))

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Self:
        """Return the value of a row."""
        return cls(**dict(zip(cls._fields(), row, strict=True)))


class Offer(_Row):
    """A skill in the catalog that the model got."""

    name: str
    path: str | None = None
    """Of its SKILL.md, if the catalog has it."""
    description: str = "full"
    """`full`, `short` or `none`: how much of its description the model got."""


class Activation(_Row):
    """A skill whose text reached the model."""

    id: str
    """Of the tool call or the record. A copy of the record in another file has the same."""
    name: str
    path: str | None
    """Of its SKILL.md; `None` if the record does not say which copy it was."""
    by: str
    """`model` or `user`."""
    time: str
    """ISO 8601, UTC; empty if it is unknown."""


class FileRead(_Row):
    """A file of a skill that the model read, other than its SKILL.md."""

    id: str
    path: str
    time: str


class ScriptRun(_Row):
    """A file of a skill that the model ran."""

    id: str
    path: str
    exit: int
    """The exit code of the command that it was run with."""
    time: str


class RecordedSession(_Row):
    """What an agent recorded of one session, or of one of its sub-agents."""

    agent: str
    """The name of its host."""
    version: str = ""
    id: str
    parent: str | None = None
    """The id of the session that a sub-agent belongs to."""
    origin: str = ""
    """What a session and a fork of it have in common: the id of the first record, or `session ID` of the first one."""
    cwd: str = ""
    """The folder in which the agent was started; empty if it is unknown."""
    first: str = ""
    last: str = ""
    """The times of the first and the last record."""
    catalog: tuple[Offer, ...] | None = None
    """`None` if it is not recorded."""
    activations: tuple[Activation, ...] = ()
    files: tuple[FileRead, ...] = ()
    scripts: tuple[ScriptRun, ...] = ()
    answers: tuple[tuple[str, str, int, int, int], ...] = ()
    """Of the model: the id and the time of each one whose tokens are recorded, how many tokens it got, how many of them
    were in the cache of its provider, and how many it wrote."""
    skipped: int = 0
    """Records of an unknown type."""

    @property
    def tokens(self) -> dict[str, int] | None:
        """The sums of the answers: `input` (all that the model got), `cached` (of them) and `output`."""
        if not self.answers:
            return None
        _, _, got, cached, wrote = zip(*self.answers, strict=True)
        return {"input": sum(got), "cached": sum(cached), "output": sum(wrote)}

    def as_row(self) -> tuple[object, ...]:
        """Return the values of the fields, those of the values in them as tuples."""
        values = {name: getattr(self, name) for name in self._fields()}
        for name in _ROWS:
            values[name] = tuple(item.as_row() for item in values[name])
        if self.catalog is not None:
            values["catalog"] = marshal.dumps([item.as_row() for item in self.catalog])
        return tuple(values.values())

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Self:
        """Return the session of a row."""
        session = dict(zip(cls._fields(), row, strict=True))
        for name, kind in _ROWS.items():
            session[name] = tuple(map(kind.from_row, session[name]))
        if session["catalog"] is not None:
            session["catalog"] = _catalog(session["catalog"])
        return cls(**session)


@lru_cache(maxsize=1024)
def _catalog(data: bytes) -> tuple[Offer, ...]:
    """Return a catalog of the cache; most sessions have the same one."""
    return tuple(map(Offer.from_row, marshal.loads(data)))  # noqa: S302 - the user's own file


_ROWS: dict[str, type[_Row]] = {"activations": Activation, "files": FileRead, "scripts": ScriptRun}


def utc_time(value: object) -> str:
    """Return a time of a record, as text or in milliseconds, as ISO 8601 in UTC; empty if it is invalid."""
    from datetime import UTC, datetime

    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            time = datetime.fromtimestamp(value / 1000, UTC)
        else:
            return ""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ") if time.year >= 1970 else ""
    except (ValueError, OverflowError, OSError):
        return ""
