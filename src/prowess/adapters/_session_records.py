"""Read the records of sessions as frameworks save them, and merge those of tools that run in parallel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__ = ["conversation_of", "merge_sessions"]


def merge_sessions(old: str, new: str) -> str:
    """Merge two session records of one conversation, which tools that run in parallel return."""
    try:
        first, second = json.loads(old), json.loads(new)
        if first["version"] != second["version"]:
            return new
        rows = {row["path"]: row for row in first["ledger"]}
        for row in second["ledger"]:
            known = rows.pop(row["path"], row)
            files = list(dict.fromkeys([*known["files"], *row["files"]]))
            rows[row["path"]] = {**(known if _strength(known) > _strength(row) else row), "files": files}
        turn = max(first["turn"], second["turn"])
        return json.dumps({**first, **second, "turn": turn, "ledger": list(rows.values())})
    except (ValueError, TypeError, KeyError, RecursionError):  # the old record is missing or of another version
        return new or old


def _strength(row: dict[str, Any]) -> tuple[int, bool]:
    """Order two rows of one skill: what a model activated stays active, what a user named only for that turn."""
    return row["turn"], row["by"] == "model"


def conversation_of(record: object) -> str | None:
    """Return the name of the conversation that a record belongs to; `None` if the record is invalid."""
    try:
        name = json.loads(str(record))["conversation"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return name if isinstance(name, str) else None
