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

    from prowess.catalog import Catalog, Index, Ranker

__all__ = ["TurnBlocks"]

_MAX_BLOCKS = 64
"""Blocks that are kept: many conversations may share a session of an adapter."""

_MAX_CATALOGS = 4
_recent: list[tuple[Catalog, Ranker | None, Index]] = []
"""The last catalogs that were searched, most recent last."""
_lock = Lock()


def index_of(catalog: Catalog, ranker: Ranker | None = None) -> Index:
    """Return the index of the skills that a model can use, by default with the ranker that is installed."""
    from prowess.catalog import Index, installed_ranker, mapped_readers

    with _lock:
        for known, known_ranker, index in _recent:
            if known is catalog and known_ranker is ranker:
                return index
        # A provider that fetches files is passed as it is: the index recognizes it, and does not read bodies.
        readers = mapped_readers(
            catalog.readers, lambda reader: reader if hasattr(reader, "read_file") else SafeReader(reader)
        )
        index = Index(catalog.skills, readers, ranker=ranker or installed_ranker(), states=MODEL_STATES)
        _recent.append((catalog, ranker, index))
        del _recent[:-_MAX_CATALOGS]
        return index


class TurnBlocks:
    """The catalog as it is shown for the messages of users.

    Args:
        catalog: the skills to choose from.
        options: as for `write_listing`.
        ranker: ranks by meaning; by default the one that is installed.
    """

    def __init__(self, catalog: Catalog, options: dict[str, Any], ranker: Ranker | None = None) -> None:
        self._catalog, self._options, self._ranker = catalog, options, ranker
        self._texts: dict[str, str] = {}
        self._lock = Lock()

    @property
    def index(self) -> Index:
        """The index of the catalog."""
        return index_of(self._catalog, self._ranker)

    def text(self, prompt: str) -> str:
        """Return the skills that a message needs, the same bytes for the same message."""
        known = self._texts.get(prompt)
        if known is None:
            known = write_listing(self._catalog, **self._options, query=prompt, index=self.index).text
            with self._lock:
                self._texts[prompt] = known
                if len(self._texts) > _MAX_BLOCKS:
                    del self._texts[next(iter(self._texts))]
        return known
