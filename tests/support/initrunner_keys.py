"""The keys of InitRunner's roles, what becomes of each, and values for them."""

from __future__ import annotations

import json
from pathlib import Path

USED, UNUSED, REFUSED = "used", "not used", "refused"


def _rows() -> list[tuple[str, str, str, object, object]]:
    rows: list[tuple[str, str, str, object, object]] = []
    page = Path(__file__).parents[1] / "agent/role/initrunner_keys.md"
    for line in page.read_text(encoding="utf-8").split("|---|\n", 1)[1].splitlines():
        part, key, outcome, value, wrong = line.strip("| ").split(" | ")
        rows.append((part, key, outcome, json.loads(value.strip("`")), json.loads(wrong.strip("`"))))
    return rows


ROWS = _rows()
"""Part, key, outcome, a value of its type and one of another type; from `tests/agent/role/initrunner_keys.md`."""
