"""Show a catalog in a conversation: the list of its skills, the search, and their files and texts."""

from __future__ import annotations

import os
import threading

from prowess.catalog import Catalog, mapped_readers
from prowess.skill import load

from ._listing import shared_listing
from ._resources import resource_folder
from ._safe_reader import SafeReader
from ._turn_blocks import TurnBlocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from prowess.catalog import Entry, FilesProvider, Hit, LiveCatalog, Prompt, Ranker
    from prowess.skill import Skill

__all__ = ["ShownCatalog"]


class ShownCatalog:
    """The catalog of a session.

    Args:
        catalog: the skills the model chooses from.
        ranker: as for a `Session`.
        options: what limits the list: `budget`, `unit`, `format` and `window` of a `Session`.
    """

    def __init__(self, catalog: Catalog | LiveCatalog, ranker: Ranker | None, **options: Any) -> None:
        self._listing_options, self._ranker, self._prompt = options, ranker, ""
        self._lock = threading.RLock()
        self.update(catalog)

    def update(self, catalog: Catalog | LiveCatalog) -> None:
        """Replace the catalog, for example after the files changed; the ledger stays."""
        live, catalog = (None, catalog) if isinstance(catalog, Catalog) else (catalog, catalog.current())
        listing = shared_listing(catalog, **self._listing_options)
        with self._lock:
            self.catalog = catalog
            """The skills the model chooses from."""
            self._listing, self._live = listing, live
            self._readers = mapped_readers(catalog.readers, SafeReader)
            self._blocks = TurnBlocks(catalog, self._listing_options, self._ranker)

    @property
    def listing(self) -> Prompt:
        """The catalog in `static_block`: which skills are shown, shortened and left out."""
        return self._listing.prompt

    @property
    def shortened(self) -> bool:
        """Whether `static_block` leaves out a part of the catalog."""
        return bool(self.listing.shortened or self.listing.omitted)

    def static_block(self) -> str:
        """Return the catalog as the model is shown it: the same bytes until the catalog changes.

        It belongs at the front of a conversation, where a prompt cache keeps it. Without skills it is empty.
        """
        return self._listing.text

    def block(self, prompt: str | None = None) -> str:
        """Return the skills that a turn's message needs (by default that of `inject`), or all of them if all fit."""
        message = self._prompt if prompt is None else prompt
        return self._blocks.text(message) if message and self.shortened else self._listing.text

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Find skills by name, description and body, best first, also those that `static_block` leaves out."""
        return self._blocks.index.search(query, limit)

    def _update_live(self) -> None:
        """Bring a live catalog up to date."""
        if self._live is not None and self._live.current() is not self.catalog:
            self.update(self._live)

    def _load_skill(self, entry: Entry) -> Skill:
        reader = self._readers.get(entry.path)
        return load(entry.path, real=entry.real) if reader is None else reader.read(entry)

    def _files_provider(self, entry: Entry) -> FilesProvider | None:
        """Return the provider that has the files of a skill; `None` if they are on this machine."""
        if entry.path not in self.catalog.readers:
            return None
        from ._remote_files import files_provider

        return files_provider(self.catalog, entry)

    def _folder(self, entry: Entry) -> str | None:
        """Return the folder of a skill's files; `None` if a skill of a provider has no files."""
        folder = resource_folder(entry)
        return folder if entry.path not in self.catalog.readers or os.path.isdir(folder or "") else None
