"""Fetch skills from buckets of S3, Google and Azure and from shared folders, and publish them there.

Front door: `fetch` and `publish`; `snapshot/` uses `open_bucket` too.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._fetch import fetch as fetch
    from ._objects import CloudBucket as CloudBucket, open_bucket as open_bucket
    from ._publish import publish as publish
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports(
        __name__, {"_fetch": ("fetch",), "_objects": ("CloudBucket", "open_bucket"), "_publish": ("publish",)}
    )
