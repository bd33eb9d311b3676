"""Fetch skills from registries of containers, and publish them there.

Front door: `fetch`, `newest` and `publish`; `snapshot/` uses `open_registry` and `Registry` too.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._fetch import fetch as fetch, newest as newest, open_registry as open_registry
    from ._manifest import TITLE as TITLE, parse_descriptor as parse_descriptor
    from ._push import publish as publish
    from ._registry import (
        INDEX_TYPES as INDEX_TYPES,
        MANIFEST_TYPES as MANIFEST_TYPES,
        Descriptor as Descriptor,
        Registry as Registry,
        StoredManifest as StoredManifest,
        digest_of as digest_of,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "_fetch": ("fetch", "newest", "open_registry"),
            "_manifest": ("TITLE", "parse_descriptor"),
            "_push": ("publish",),
            "_registry": ("Descriptor", "INDEX_TYPES", "MANIFEST_TYPES", "Registry", "StoredManifest", "digest_of"),
        },
    )
