"""Read the objects of a snapshot from a bucket of a cloud."""

from __future__ import annotations

import re
from contextlib import closing

from prowess._internal.fs import write_all
from prowess._internal.text import PATH_LIMIT, quoted, without_secrets
from prowess.errors import ConfigError
from prowess.install.bucket import CloudBucket, open_bucket

from ._object import StoredObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BucketPlace", "check_bucket_url"]

_URL = re.compile(r"(?:s3|gs|az)://[A-Za-z0-9][A-Za-z0-9._-]{1,254}(?:/[^\s?#]*)?").fullmatch


def check_bucket_url(url: str) -> str:
    """Return the URL of a bucket in its normal form.

    Raises:
        ConfigError: it is invalid.
    """
    if not _URL(url) or not url.isprintable():
        hint = "write one such as `s3://BUCKET/PATH`"
        raise ConfigError(f"invalid URL of a bucket: {quoted(without_secrets(url), PATH_LIMIT)}", hint=hint)
    return url.rstrip("/")


class BucketPlace:
    """A snapshot in a bucket.

    Args:
        url: of the bucket, with the path below which the objects are; it is percent-encoded.

    Raises:
        ConfigError: the URL is invalid.
    """

    def __init__(self, url: str) -> None:
        self.origin = check_bucket_url(url)

    def read(self, name: str, limit: int, etag: str | None = None) -> StoredObject | None:
        """Return a small object; `None` if it still has the ETag.

        Raises:
            ConfigError: `obstore` is not installed, or a variable of the cloud is missing or invalid.
            InstallError: it cannot be read, or is larger than the limit.
        """
        blocks: list[bytes] = []
        found = self._get(name, limit, blocks.append, etag if etag and etag.isascii() and etag.isprintable() else None)
        return None if found is None else StoredObject(data=b"".join(blocks), etag=found)

    def download(self, name: str, fd: int, limit: int) -> None:
        """Write an object to a file.

        Raises:
            ConfigError: `obstore` is not installed, or a variable of the cloud is missing or invalid.
            InstallError: it cannot be read, or is larger than the limit.
        """
        self._get(name, limit, lambda block: write_all(fd, block), None)

    def _get(self, name: str, limit: int, write: Callable[[bytes], None], etag: str | None) -> str | None:
        bucket = open_bucket(self.origin)
        assert isinstance(bucket, CloudBucket)  # noqa: S101 - its URL is not that of a folder
        with closing(bucket):
            return bucket.get(name, limit, write, etag)
