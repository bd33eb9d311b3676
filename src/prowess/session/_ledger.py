"""Record what a conversation activated, and write that record as JSON.

The JSON is the record of a conversation and may come from anywhere: every value in it is checked before it is used.
"""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

__all__ = ["MAX_RECORDS", "ActivationRecord", "ledger_from_json", "ledger_to_json", "text_fingerprint"]

MAX_RECORDS = 10_000
"""Skills in one ledger, and files that are remembered for one skill."""
_JSON_VERSION = 1
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
    """Of the text that the model was given."""
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


def ledger_to_json(turn: int, records: Iterable[ActivationRecord]) -> str:
    """Write a ledger as JSON."""
    import json

    rows = [{name: getattr(record, name) for name in ActivationRecord.__annotations__} for record in records]
    return json.dumps({"version": _JSON_VERSION, "turn": turn, "ledger": rows})


def ledger_from_json(text: str) -> tuple[int, tuple[ActivationRecord, ...]]:
    """Return the turn and the records of a ledger.

    Raises:
        ConfigError: the text is not what `ledger_to_json` returns.
    """
    import json

    try:
        table = json.loads(text[: _MAX_JSON_CHARS + 1])
        turn, rows = table["turn"], table["ledger"]
        _require(table["version"] == _JSON_VERSION and isinstance(rows, list) and len(rows) <= MAX_RECORDS)
        _require(type(turn) is int and 0 <= turn <= _MAX_TURN)
        return turn, tuple(map(_parse_record, rows))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = f"this is not the record of a session: {neutral(str(error)[:100])}"
        raise ConfigError(message, hint="start a new session") from None


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
