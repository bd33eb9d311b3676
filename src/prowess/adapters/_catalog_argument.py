"""Check what an adapter is given in place of a catalog, and join several."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prowess._internal.text import quoted
from prowess.catalog import Catalog, LiveCatalog, join_catalogs, live_catalog
from prowess.errors import ConfigError

if TYPE_CHECKING:
    from typing import Any

__all__ = ["HINT", "JoinedCatalogs", "catalog_argument"]

HINT = "pass a directory, a `Catalog` from `discover`, or a `LiveCatalog`"


def catalog_argument(value: Any, *, hint: str = HINT) -> Catalog | LiveCatalog:
    """Return a catalog as it is, and the live catalog of a directory.

    Raises:
        ConfigError: the value is neither a catalog nor an existing directory.
    """
    if isinstance(value, Catalog | LiveCatalog):
        return value
    if not isinstance(value, str | os.PathLike) or isinstance(path := os.fspath(value), bytes):
        raise ConfigError(f"not a catalog: an object of type {quoted(type(value).__name__)}", hint=hint)
    if not os.path.isdir(path):
        raise ConfigError(f"no such directory: {quoted(path, limit=200)}", hint=hint)
    return live_catalog(path)


class JoinedCatalogs:
    """Several catalogs as one: the same object until one of them changes."""

    def __init__(self, sources: tuple[Catalog | LiveCatalog, ...]) -> None:
        self._sources = sources
        self._joined: tuple[tuple[Catalog, ...], Catalog] | None = None

    def current(self) -> Catalog:
        """Return all skills as they are now."""
        catalogs = tuple(source if isinstance(source, Catalog) else source.current() for source in self._sources)
        joined = self._joined
        if joined is None or any(old is not new for old, new in zip(joined[0], catalogs, strict=True)):
            joined = self._joined = catalogs, join_catalogs(catalogs[0], catalogs[1:])
        return joined[1]
