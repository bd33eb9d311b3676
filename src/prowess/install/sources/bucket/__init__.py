"""Fetch skills from buckets of S3, Google and Azure and from shared folders, and publish them there.

Front door: `fetch` and `publish`; `snapshot/` uses `open_bucket` too.
"""

from ._buckets import CloudBucket, open_bucket
from ._skills import fetch, publish

__all__ = ["CloudBucket", "fetch", "open_bucket", "publish"]
