"""Write the catalog for one turn of a conversation: the skills that the user's message needs.

The index of a catalog is shared by all its sessions.
"""

from __future__ import annotations

from threading import Lock

from ._listing import write_listing
from ._lookup import MODEL_STATES
from ._safe_reader import SafeReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from prowess.catalog import Catalog, Index

__all__ = ["TurnBlocks", "index_of"]

_MAX_BLOCKS = 64
"""Blocks that are kept: many conversations may share a session of an adapter."""

_MAX_CATALOGS = 4
_recent: list[tuple[Catalog, Index]] = []
"""The last catalogs that were searched, most recent last."""
_lock = Lock()


def index_of(catalog: Catalog) -> Index:
    """Return the index of the skills that a model can use."""
    from prowess.catalog import Index

    with _lock:
        for known, index in _recent:
            if known is catalog:
                return index
        readers = {path: SafeReader(reader) for path, reader in catalog.readers.items()}
        index = Index((entry for entry in catalog.skills if entry.state in MODEL_STATES), readers)
        _recent.append((catalog, index))
        del _recent[:-_MAX_CATALOGS]
        return index


class TurnBlocks:
    """The catalog as it is shown for the messages of users.

    Args:
        catalog: the skills to choose from.
        options: as for `write_listing`.
    """

    def __init__(self, catalog: Catalog, options: dict[str, Any]) -> None:
        self._catalog, self._options = catalog, options
        self._texts: dict[str, str] = {}
        self._lock = Lock()

    def text(self, prompt: str) -> str:
        """Return the skills that a message needs, the same bytes for the same message."""
        known = self._texts.get(prompt)
        if known is None:
            known = write_listing(self._catalog, **self._options, query=prompt, index=index_of(self._catalog)).text
            with self._lock:
                self._texts[prompt] = known
                if len(self._texts) > _MAX_BLOCKS:
                    del self._texts[next(iter(self._texts))]
        return known
