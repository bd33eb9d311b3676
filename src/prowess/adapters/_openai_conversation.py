"""Find the session of an agent's catalog in the context of a run.

A context belongs to one conversation. Its agents may have different catalogs, for example after a handoff, so a
conversation has a session for each of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from prowess.catalog import Catalog
from prowess.session import Session, escape_tags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prowess.catalog import LiveCatalog

__all__ = ["Conversation", "RootSession"]

_ATTRIBUTE = "_openai_conversation"
"""The attribute of a session that holds its `Conversation`."""
_OTHERS = "other_catalogs"
"""The key in JSON for the records of the other sessions."""


class RootSession(Session):
    """The session that is the context of a run; `to_json` and `restart` include the sessions of other catalogs."""

    def to_json(self) -> str:
        """Return the ledgers of the conversation as JSON."""
        return Conversation.of(self).add_others(super().to_json())

    def restart(self) -> None:
        """Clear the ledgers, for a new conversation with the same catalogs."""
        super().restart()
        Conversation.of(self).restart([])

    def restore(self, text: str) -> None:
        """Replace the ledgers by those that `to_json` returned; those of other catalogs wait for their agents.

        Raises:
            ConfigError: the text is not what `to_json` returned.
        """
        super().restore(text)  # it checks the text
        table, unclaimed = json.loads(text), list[dict[str, Any]]()
        if _OTHERS in table:
            others = table.pop(_OTHERS)
            rows = [*table["ledger"], *(others if isinstance(others, list) else [None])]
            super().restore(_with_rows(table, rows))  # it checks the other records
            own, unclaimed = _split(_latest(rows), self.catalog)
            super().restore(_with_rows(table, own))
        Conversation.of(self).restart(unclaimed)


class _Member:
    """The session of one catalog, and the turn that it began last."""

    def __init__(self, source: Catalog | LiveCatalog | None, session: Session, turn: int) -> None:
        self.source, self.session, self.turn = source, session, turn


class Conversation:
    """The sessions of one conversation.

    Args:
        session: the session in the context.
    """

    def __init__(self, session: Session) -> None:
        self.turn = session.turn
        """The turn of the conversation; a session begins it when its agent is asked first."""
        self.message: str | None = None
        """The user's message of the turn; `None` if the turn began in another process."""
        self.runs: WeakSet[Any] = WeakSet()
        """The runs that began with the configuration of the adapter, each as its `RunContextWrapper`."""
        self._root = session
        self._members = [_Member(None, session, session.turn)]
        self._unclaimed: list[dict[str, Any]] = []
        """Records, restored from JSON, of catalogs that no agent has used since."""
        self._lock = Lock()

    @classmethod
    def of(cls, session: Session) -> Conversation:
        """Return the conversation of a session, the same one each time."""
        conversation: Conversation = vars(session).setdefault(_ATTRIBUTE, cls(session))
        return conversation

    @classmethod
    def in_context(cls, context: object) -> Conversation | None:
        """Return the conversation of a run's context, or `None` if it has no session."""
        session = context if isinstance(context, Session) else getattr(context, "skills", None)
        if session is None and isinstance(context, Mapping):
            session = context.get("skills")
        return cls.of(session) if isinstance(session, Session) else None

    def set_source(self, source: Catalog | LiveCatalog) -> None:
        """Set the catalog that the session in the context was made from."""
        self._members[0].source = source

    def restart(self, unclaimed: list[dict[str, Any]]) -> None:
        """Forget the sessions of other catalogs, and continue from the session in the context.

        Args:
            unclaimed: records of other catalogs.
        """
        with self._lock:
            self.turn, self.message, self._unclaimed = self._root.turn, None, unclaimed
            del self._members[1:]
            self._members[0].turn = self.turn

    def begin_turn(self, message: str) -> None:
        """Begin a turn with a user's message."""
        with self._lock:
            self.turn, self.message = max(self.turn, self._root.turn) + 1, message

    def session_of(self, source: Catalog | LiveCatalog, restore: Callable[[str], Session]) -> Session:
        """Return the session of a catalog.

        Args:
            source: the catalog.
            restore: makes its session from JSON, at its first use.
        """
        with self._lock:
            return self._member(source, restore).session

    def begin_session_turn(
        self, source: Catalog | LiveCatalog, restore: Callable[[str], Session], visible: Iterable[str]
    ) -> tuple[Session, list[str]]:
        """Return the session of a catalog, and the texts that its model gets once, when the turn begins.

        Args:
            source: the catalog.
            restore: makes its session from JSON, at its first use.
            visible: texts that the model still sees.
        """
        with self._lock:
            member = self._member(source, restore)
            is_first = all(other.turn != self.turn for other in self._members)
            begins, member.turn = member.turn != self.turn and self.message is not None, self.turn
            session, message = member.session, self.message or ""
        if not begins:
            return session, []
        session.turn = self.turn - 1  # all sessions count the turns of the conversation
        contents = [found["content"] for found in session.inject(message, visible=visible)]
        if is_first:
            return session, contents
        # The name may be of a skill that another agent of this turn has.
        problems = [mention.problem for mention in session.mentions(message) if mention.entry is None]
        unknown = {escape_tags(f"warning: {problem}") for problem in problems}
        return session, [content for content in contents if content not in unknown]

    def _member(self, source: Catalog | LiveCatalog, restore: Callable[[str], Session]) -> _Member:
        for member in self._members:
            if member.source is source:
                return member
        root, catalog = self._members[0], source if isinstance(source, Catalog) else source.current()
        # A program may make the session itself, with a catalog of its own for the same directory.
        if root.source is None and _place(root.session.catalog) == _place(catalog):
            root.source = source
            return root
        known = [row for member in self._members for row in _rows(member.session)]
        own, _ = _split(_latest([*self._unclaimed, *known]), catalog)
        _, self._unclaimed = _split(self._unclaimed, catalog)
        session = restore(_with_rows(json.loads(_to_json(self._root)), own))
        session.turn = self.turn
        member = _Member(source, session, self.turn if self.message is None else self.turn - 1)
        self._members.append(member)
        return member

    def add_others(self, text: str) -> str:
        """Return the JSON of the first session with the records of the others."""
        with self._lock:
            others = [*self._unclaimed, *(row for member in self._members[1:] for row in _rows(member.session))]
            if not others and len(self._members) == 1:
                return text
            table = json.loads(text)
            return json.dumps({**table, "turn": max(table["turn"], self.turn), _OTHERS: _latest(others)})


def _to_json(session: Session) -> str:
    return Session.to_json(session)


def _rows(session: Session) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(_to_json(session))["ledger"]
    return rows


def _with_rows(table: dict[str, Any], rows: list[Any]) -> str:
    return json.dumps({**table, "ledger": rows})


def _latest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one record of each skill: of several catalogs may have the same skill."""
    latest: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["turn"], row["by"] == "model")):
        latest.pop(row["path"], None)
        latest[row["path"]] = row
    return list(latest.values())


def _split(rows: list[dict[str, Any]], catalog: Catalog) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the records of a catalog's skills, and the others."""
    paths = {entry.path for entry in catalog.skills}
    return [row for row in rows if row["path"] in paths], [row for row in rows if row["path"] not in paths]


def _place(catalog: Catalog) -> tuple[str, str]:
    return catalog.cwd, catalog.host.name
