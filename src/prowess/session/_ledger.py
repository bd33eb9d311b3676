"""Record what a conversation activated, and write that record as JSON.

The JSON is the record of a conversation and may come from anywhere: every value in it is checked before it is used.
"""

from __future__ import annotations

import os
import threading

from prowess._internal.frozen import Frozen
from prowess._internal.patterns import compile_on_use
from prowess._internal.text import neutral
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from prowess.catalog import Entry

    from ._mentions import Mention

MAX_RECORDS = 10_000
"""Skills in one ledger, and files that are remembered for one skill."""
_CONVERSATION = compile_on_use(r"[0-9a-f]{32}")
_JSON_VERSION = 1
_naming = threading.Lock()
_MAX_JSON_CHARS = 16 * 1024 * 1024
_MAX_TURN = 10**9


class ActivationRecord(Frozen):
    """One skill that a conversation activated."""

    name: str
    path: str
    """Of its SKILL.md."""
    digest: str | None
    """Over its files, at the time it was activated."""
    fingerprint: str
    """Of the text that the model was given; empty if it only ran a script."""
    arguments: str | None
    turn: int
    """The turn in which it was last activated; the first turn is 1."""
    by: str
    """`model` or `user`."""
    files: tuple[str, ...] = ()
    """The files of the skill that were read since."""


def text_fingerprint(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Ledger:
    """What a conversation activated, its current turn, and the names it could not resolve."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin a new conversation."""
        self.turn = 0
        self._conversation: str | None = None
        self.unknown_names = UnknownNames()
        self._records: dict[str, ActivationRecord] = {}

    @property
    def conversation(self) -> str:
        """A random name, made for the first turn; the folder of the scripts belongs to it."""
        with _naming:  # tools of a conversation may begin at the same time
            self._conversation = self._conversation or os.urandom(16).hex()
            return self._conversation

    def begin_turn(self) -> int:
        """Begin a turn, and return its number."""
        self.turn += 1
        self._conversation = self.conversation  # so that tools that run in parallel later have the same
        return self.turn

    @property
    def records(self) -> tuple[ActivationRecord, ...]:
        """The skills that were activated, most recent last."""
        return tuple(self._records.values())

    def get(self, path: str) -> ActivationRecord | None:
        """Return the record of a skill."""
        return self._records.get(path)

    def add(
        self, entry: Entry, digest: str | None, fingerprint: str, arguments: str | None, by: str
    ) -> ActivationRecord:
        """Record that a skill was activated in the current turn."""
        previous = self._records.pop(entry.path, None)
        record = ActivationRecord(
            name=entry.name,
            path=entry.path,
            digest=digest,
            fingerprint=fingerprint,
            arguments=arguments,
            turn=self.turn,
            by=by,
            files=() if previous is None else previous.files,
        )
        self._records[entry.path] = record
        return record

    def keep_active(self, path: str) -> None:
        """Record that a skill is active for the rest of the conversation, not for one turn."""
        self._records[path] = self._records[path].with_changes(by="model")

    def add_file(self, path: str, file: str) -> None:
        """Record that a file of a skill was read, if the skill was activated."""
        record = self._records.get(path)
        if record is not None and file not in record.files and len(record.files) < MAX_RECORDS:
            self._records[path] = record.with_changes(files=(*record.files, file))

    def to_json(self) -> str:
        """Return it as JSON."""
        import json

        rows = [{name: getattr(record, name) for name in ActivationRecord.__annotations__} for record in self.records]
        table: dict[str, Any] = {"version": _JSON_VERSION, "turn": self.turn, "conversation": self._conversation}
        return json.dumps({**table, "ledger": rows, "unknown_names": self.unknown_names.names})

    def restore(self, text: str) -> None:
        """Replace everything by what `to_json` wrote, also of versions that kept less.

        Raises:
            ConfigError: the text is something else; then nothing changes.
        """
        import json

        try:
            table = json.loads(text[: _MAX_JSON_CHARS + 1])
            turn, rows, names = table["turn"], table["ledger"], table.get("unknown_names", [])
            conversation = table.get("conversation")
            _require(table["version"] == _JSON_VERSION and isinstance(rows, list) and len(rows) <= MAX_RECORDS)
            _require(type(turn) is int and 0 <= turn <= _MAX_TURN)
            _require(isinstance(names, list) and len(names) <= MAX_RECORDS)
            _require(all(isinstance(name, str) for name in names))
            _require(conversation is None or _CONVERSATION.fullmatch(conversation) is not None)
            records = {record.path: record for record in map(_parse_record, rows)}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            message = f"this is not the record of a session: {neutral(str(error)[:100])}"
            raise ConfigError(message, hint="start a new session") from None
        self.turn, self._conversation, self._records = turn, conversation, records
        self.unknown_names = UnknownNames(names)


def _parse_record(row: Mapping[str, Any]) -> ActivationRecord:
    """Return one row of a ledger.

    Raises:
        ValueError: a value is invalid.
        TypeError: the row has other keys, or is not an object.
    """
    files = row["files"]
    if not isinstance(files, list):
        raise TypeError("`files` is not a list")
    record = ActivationRecord(**{**row, "files": tuple(files)})
    _require(type(record.turn) is int and 0 <= record.turn <= _MAX_TURN and record.by in ("model", "user"))
    texts = (record.name, record.path, record.fingerprint, *record.files)
    _require(all(isinstance(text, str) for text in texts) and len(record.files) <= MAX_RECORDS)
    _require(all(text is None or isinstance(text, str) for text in (record.digest, record.arguments)))
    return record


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("a value is invalid")


_MAX_NAMES = 100


class UnknownNames:
    """The unknown names that were reported to the model.

    Args:
        names: what `names` was when the conversation was saved.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = dict.fromkeys(names)

    @property
    def names(self) -> tuple[str, ...]:
        """The last names that were reported."""
        return tuple(self._names)

    def problems(self, mentions: Iterable[Mention]) -> list[str]:
        """Return why each name that is new here cannot be used, and remember the name."""
        unknown = {mention.name: mention.problem or "" for mention in mentions if mention.entry is None}
        new = {name: problem for name, problem in unknown.items() if name not in self._names}
        self._names.update(dict.fromkeys(new))
        for name in [*self._names][:-_MAX_NAMES]:
            del self._names[name]
        return list(new.values())[:_MAX_NAMES]
