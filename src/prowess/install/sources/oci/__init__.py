"""Fetch skills from registries of containers, and publish them there.

Front door: `fetch` and `publish`; `snapshot/` uses `open_registry` and `Registry` too.
"""

from ._registry import (
    INDEX_TYPES,
    MANIFEST_TYPES,
    Descriptor,
    Registry,
    StoredManifest,
    open_registry,
)
from ._skills import TITLE, fetch, parse_descriptor, publish

__all__ = [
    "INDEX_TYPES",
    "MANIFEST_TYPES",
    "TITLE",
    "Descriptor",
    "Registry",
    "StoredManifest",
    "fetch",
    "open_registry",
    "parse_descriptor",
    "publish",
]
