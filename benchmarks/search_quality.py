"""Read from docs/search.md what `make search` has measured, so that the page can compare it with the goals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parent.parent / "docs/search.md"
COLUMN = "held-out part"


def read_quality(page: Path = PAGE) -> Iterator[dict[str, Any]]:
    """Return Hit@1 and NDCG@10 of each engine on the held-out part of the labelled messages, in percent."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    columns = {index: cell for row in rows for index, cell in enumerate(row) if cell.startswith(COLUMN)}
    engines = {}
    for row in rows:
        for column in columns:
            pair = re.fullmatch(r"([\d.]+) / ([\d.]+)", row[column]) if len(row) > column else None
            if pair:
                engines[row[0]] = [float(pair[1]), float(pair[2])]
    yield {"engines": engines}
