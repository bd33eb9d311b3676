"""Read and write snapshots in buckets.

Read snapshots from buckets of clouds, and write them there.

Write snapshots to buckets: first to a folder in the cache, then what the bucket does not have yet.

    CACHE/snapshots/out-KEY/           the snapshot as the bucket has it
    CACHE/snapshots/out-KEY/uploaded   the names of its archives in the bucket, and last the pointer there

Archives and data come before the pointer, so a reader of the bucket sees the old snapshot or the new one.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import closing

from prowess._internal.fs import atomic_replace, write_all
from prowess._internal.text import PATH_LIMIT, quoted, without_secrets
from prowess.errors import ConfigError, InstallError
from prowess.install.sources.bucket import CloudBucket, open_bucket

from ._places import ARCHIVES, MAX_POINTER_BYTES, POINTER, StoredObject, data_name, parse_pointer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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


_UPLOADED = "uploaded"
_BATCH = 256


def staging_folder(url: str, cache: str | None) -> str:
    """Return the folder of the cache in which the snapshot for a URL is written first.

    Raises:
        ConfigError: the user has no cache.
    """
    if cache is None:
        raise ConfigError("a snapshot in a bucket or registry needs the cache", hint="unset `PROWESS_NO_CACHE`")
    return os.path.join(cache, "snapshots", f"out-{hashlib.sha256(url.encode()).hexdigest()[:32]}")


class BucketTarget:
    """A bucket to write a snapshot to.

    Args:
        url: of the bucket, with the path below which the objects are.
        cache: the folder of the cache.

    Raises:
        ConfigError: the URL is invalid, or the user has no cache.
    """

    def __init__(self, url: str, cache: str | None) -> None:
        self._url = check_bucket_url(url)
        self.folder = staging_folder(self._url, cache)
        """Where the snapshot is written first."""

    def upload(self, tell: Callable[[str], None]) -> None:
        """Write to the bucket what it does not have yet.

        Raises:
            ConfigError: `obstore` is not installed, or a variable of the cloud is missing or invalid.
            InstallError: an object cannot be written; the bucket has the old snapshot.
            OSError: the folder cannot be read or written.
        """
        bucket = open_bucket(self._url)
        assert isinstance(bucket, CloudBucket)  # noqa: S101 - its URL is not that of a folder
        with open(os.path.join(self.folder, POINTER), "rb") as file:
            pointer = file.read()
        with closing(bucket):
            uploaded = self._uploaded(bucket)
            archives = sorted(set(os.listdir(os.path.join(self.folder, ARCHIVES))) - uploaded)
            for at in range(0, len(archives), _BATCH):
                tell(f"{at:,} of {len(archives):,} archives")
                batch = [f"{ARCHIVES}/{name}" for name in archives[at : at + _BATCH]]
                bucket.put({name: os.path.join(self.folder, name) for name in batch})
            for name in (data_name(parse_pointer(pointer, self._url).sha256), POINTER):
                bucket.put({name: os.path.join(self.folder, name)})
        names = sorted({*uploaded, *archives})
        atomic_replace(os.path.join(self.folder, _UPLOADED), b"\n".join([*map(os.fsencode, names), pointer]))

    def _uploaded(self, bucket: CloudBucket) -> set[str]:
        """Return the archives that the bucket has, if its pointer is the one that was written last."""
        try:
            with open(os.path.join(self.folder, _UPLOADED), "rb") as file:
                known = file.read()
        except OSError:
            return set()
        there = bytearray()
        try:
            bucket.get(POINTER, MAX_POINTER_BYTES, there.extend)
        except InstallError:
            return set()
        if not there or not known.endswith(there):
            return set()
        return set(os.fsdecode(known.removesuffix(there)).split("\n"))
