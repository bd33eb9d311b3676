"""List, read and write the objects of a bucket: of S3, Google Cloud Storage, Azure Blob Storage, or a shared folder.

Only the blocking functions of the library are used: after the others, its threads now and then abort a process that
ends (`obstore` 0.12.1 with Python 3.11). What the library says in its errors may contain parts of requests, with
credentials, and is never repeated.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from functools import partial

from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError

from ._blocking_calls import run_calls
from ._clouds import open_store
from ._folder import MAX_OBJECTS, FolderBucket, StoredObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from obstore import GetResult

    _T = TypeVar("_T")
    Version = Mapping[str, str]

__all__ = ["CloudBucket", "open_bucket"]

_SECONDS = 600.0
"""For one listing, or for all objects that are read together."""
_AT_ONCE = 8
"""Objects that are read at the same time."""


def open_bucket(url: str) -> CloudBucket | FolderBucket:
    """Return the bucket of a URL, such as `s3://bucket/skills`; its path is percent-encoded.

    Raises:
        ConfigError: `obstore` is not installed, or a variable of the cloud is missing or invalid.
    """
    from urllib.parse import unquote

    scheme, _, rest = url.partition("://")
    if scheme == "file":
        return FolderBucket(unquote(rest) or "/")
    name, _, path = rest.partition("/")
    return CloudBucket(url, open_store(scheme, name, os.environ), unquote(path).strip("/"))


class CloudBucket:
    """A bucket of a cloud, or a part of it.

    Args:
        url: for messages.
        store: of `obstore`, and a socket that is closed with it.
        prefix: of the keys, without `/` at its end.
    """

    def __init__(self, url: str, store: tuple[Any, socket.socket], prefix: str) -> None:
        self.url = url
        self._store, self._nothing = store
        self._prefix = f"{prefix}/" if prefix else ""

    def close(self) -> None:
        """Close what was opened."""
        self._nothing.close()

    def objects(self) -> list[StoredObject]:
        """Return all objects, in the order of their keys.

        Raises:
            InstallError: they cannot be listed, or there are too many.
        """
        return self._run(self._list)

    def read(self, objects: Sequence[StoredObject], done: Callable[[StoredObject, bytes], None]) -> None:
        """Read objects, and call `done` with each and its content, in any order.

        Raises:
            InstallError: one cannot be read, or is not what was listed.
        """
        calls = [partial(self._read, item) for item in objects]
        with self._errors():
            for item, data in run_calls(calls, _SECONDS, _AT_ONCE):
                done(item, data)

    def get(self, key: str, limit: int, write: Callable[[bytes], None], unless: str | None = None) -> str | None:
        """Read one object in blocks; return its ETag, or `None` if it still has the ETag `unless`.

        Raises:
            InstallError: it cannot be read, or has more bytes than the limit; a part may have been written.
        """
        return self._run(partial(self._get, key, limit, write, unless))

    def compare(self, key: str, data: bytes) -> tuple[Version | None, bool]:
        """Return the version of an object, `None` if it is missing, and whether it has exactly this content.

        Raises:
            InstallError: it cannot be read.
        """
        return self._run(partial(self._compare, key, data))

    def write(self, key: str, data: bytes, present: Version | None) -> None:
        """Write an object in place of a version, or a new one, if the store still has that version, or none.

        Stores that know no conditional writes replace any version.

        Raises:
            InstallError: it cannot be written, or another version was written meanwhile.
        """
        self._run(partial(self._write, key, data, present))

    def put(self, objects: Mapping[str, str]) -> None:
        """Write files as objects, several at the same time, whatever the bucket has there.

        Args:
            objects: the path of the file of each key.

        Raises:
            InstallError: one cannot be read or written; others may have been written.
        """
        calls = [partial(self._put, key, path) for key, path in objects.items()]
        with self._errors():
            for _ in run_calls(calls, _SECONDS, _AT_ONCE):
                pass

    def _list(self) -> list[StoredObject]:
        import obstore

        found: list[StoredObject] = []
        for page in obstore.list(self._store, prefix=self._prefix or None, chunk_size=1000):
            for item in page:
                key = item["path"]
                if key == self._prefix[:-1]:
                    continue  # the marker that some programs write for a folder
                if not key.startswith(self._prefix):
                    raise InstallError(f"{self.url} lists {quoted(key, PATH_LIMIT)}, which is outside")
                key = key[len(self._prefix) :]
                found.append(StoredObject(key=key, size=item["size"], tag=_plain_tag(item["e_tag"])))
            if len(found) > MAX_OBJECTS:
                raise InstallError(f"{self.url} has more than {MAX_OBJECTS:,} objects", hint="name a folder with fewer")
        return sorted(found, key=lambda item: item.key)

    def _read(self, item: StoredObject) -> tuple[StoredObject, bytes]:
        import obstore

        result = obstore.get(self._store, self._prefix + item.key)
        if (result.meta["size"], _plain_tag(result.meta["e_tag"])) == (item.size, item.tag):
            data = _read_up_to(result, item.size)
            if len(data) == item.size:
                return item, data
        raise InstallError(
            f"{quoted(item.key, PATH_LIMIT)} in {self.url} changed while it was read", hint="run the command again"
        )

    def _put(self, key: str, path: str) -> None:
        import obstore

        with open(path, "rb") as file:
            obstore.put(self._store, self._prefix + key, file.read(), use_multipart=False)

    def _get(self, key: str, limit: int, write: Callable[[bytes], None], unless: str | None) -> str | None:
        import obstore
        from obstore.exceptions import NotModifiedError

        try:
            options: Any = {"if_none_match": unless} if unless else None
            result = obstore.get(self._store, self._prefix + key, options=options)
        except NotModifiedError:
            return None
        size = 0
        for chunk in result.stream(min_chunk_size=1 << 20):
            size += len(chunk)
            if size > limit:
                raise InstallError(f"{quoted(key, PATH_LIMIT)} in {self.url} has more than {limit:,} bytes")
            write(bytes(chunk))
        return result.meta["e_tag"] or ""

    def _compare(self, key: str, data: bytes) -> tuple[Version | None, bool]:
        import obstore

        try:
            result = obstore.get(self._store, self._prefix + key)
        except FileNotFoundError:
            return None, False
        meta = result.meta
        version = {name: text for name, text in (("e_tag", meta["e_tag"]), ("version", meta["version"])) if text}
        return version, meta["size"] == len(data) and _read_up_to(result, len(data)) == data

    def _write(self, key: str, data: bytes, present: Version | None) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        mode: Any = "create" if present is None else {**present} or "overwrite"
        try:
            obstore.put(self._store, self._prefix + key, data, mode=mode, use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            # The answer to an attempt that succeeded may have been lost.
            if not self._compare(key, data)[1]:
                raise

    def _run(self, call: Callable[[], _T]) -> _T:
        with self._errors():
            [result] = run_calls([call], _SECONDS)
        return result

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise errors of the store without their text."""
        from obstore.exceptions import BaseError

        try:
            yield
        except TimeoutError:
            raise InstallError(f"{self.url} did not answer in {_SECONDS:,.0f} seconds") from None
        except (BaseError, OSError, ValueError) as error:
            problem, hint = _describe(error)
            raise InstallError(f"{self.url} {problem}", hint=hint) from None


def _read_up_to(result: GetResult, size: int) -> bytes:
    """Return the content of an object, a little more than `size` bytes if there is more."""
    data = bytearray()
    for chunk in result.stream(min_chunk_size=1 << 20):
        data += chunk
        if len(data) > size:
            break
    return bytes(data)


_ACCESS = "check the name of the bucket, and the variables with the credentials"
_STATUSES = {
    301: ("is in another region", "set `AWS_REGION` to the region of the bucket"),
    400: ("refuses the request", "check the region and the endpoint"),
    401: ("denies access", _ACCESS),
    403: ("denies access", _ACCESS),
    404: ("does not exist", "check the name of the bucket"),
    412: ("was changed meanwhile", "run the command again"),
}


def _describe(error: Exception) -> tuple[str, str | None]:
    """Return what an error of `obstore` means, and what to do, without its text."""
    from obstore import exceptions

    text = str(error)
    if isinstance(error, FileNotFoundError):
        return _STATUSES[404]
    if isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError):
        return _STATUSES[403]
    if isinstance(error, exceptions.AlreadyExistsError | exceptions.PreconditionError):
        return _STATUSES[412]
    if isinstance(error, exceptions.InvalidPathError):
        return "has an object whose key is not a path", "name a folder without it, or rename it"
    if "Received redirect without LOCATION" in text:
        return _STATUSES[301]
    if found := re.search(r"status code: (\d{3})", text):
        status = int(found[1])
        return _STATUSES.get(status, (f"answers with the HTTP status {status}", None))
    if "InvalidCertificate" in text:
        return "has a certificate that is not trusted", "`AWS_CA_BUNDLE` names the file of further authorities"
    if "HttpError" in text:
        return "cannot be reached, or redirects to another host", "check the endpoint and the connection"
    return "cannot be used: its answer is invalid, or its credentials are", _ACCESS


def _plain_tag(tag: str | None) -> str:
    """Return an ETag without quotation marks: some servers leave them out of listings."""
    return (tag or "").removeprefix("W/").strip('"')
