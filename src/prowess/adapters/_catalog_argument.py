"""Check what an adapter is given in place of a catalog."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prowess._internal.text import quoted
from prowess.catalog import Catalog, LiveCatalog, live_catalog
from prowess.errors import ConfigError

if TYPE_CHECKING:
    from typing import Any

__all__ = ["HINT", "catalog_argument"]

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
