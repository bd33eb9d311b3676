"""Count the skills that each agent loses, without the work of saying why."""

from __future__ import annotations

import os

from ._copies import CopyFinder, first_entry, rows_of_entries
from ._discover import new_filesystem
from ._entry import AWAITS_TRUST, REACHABLE
from ._losses import rejecting_codes
from ._resolve import evaluate_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._catalog import Catalog
    from ._entry import Entry
    from ._filesystem import Filesystem

__all__ = ["count_losses", "is_bundled"]

_BUNDLED_FOLDER = f"{os.sep}.system{os.sep}"
"""Codex unpacks the skills that it ships with into `skills/.system` of its own folder (observed, 0.169.0)."""


def count_losses(catalogs: Mapping[str, Catalog], filesystem: Filesystem | None = None) -> tuple[dict[str, int], int]:
    """Return how many skills each agent loses of those that any of them finds, and how many skills these are.

    The counts are those of `compare`, without the work of saying why.
    """
    filesystem = filesystem or new_filesystem()
    skills: dict[str, list[tuple[str, dict[str, Entry]]]] = {}
    copies = CopyFinder(filesystem)
    for real, row in rows_of_entries(catalogs, filesystem).items():
        name = first_entry(row).frontmatter_name
        original = copies.original(real, name)
        if original is None:
            copies.add(real, name)
        skills.setdefault(original or real, []).append((real, row))
    counted = [rows for rows in skills.values() if not all(is_bundled(real, row) for real, row in rows)]
    counts = dict.fromkeys(catalogs, 0)
    for rows in counted:
        for host, catalog in catalogs.items():
            if catalog.host.roots:
                entries = [row[host] for _, row in rows if host in row]
                counts[host] += not any(each.state in REACHABLE or each.rule == AWAITS_TRUST for each in entries)
            else:
                # Skills are mounted for it, and it loses those whose text it rejects.
                counts[host] += bool(rejecting_codes(evaluate_file(rows[0][0], host, filesystem=filesystem)))
    return counts, len(counted)


def is_bundled(real: str, row: Mapping[str, Entry]) -> bool:
    """Return whether a skill ships with an agent, or with plugins only."""
    return _BUNDLED_FOLDER in real or (bool(row) and all(entry.scope == "plugin" for entry in row.values()))
