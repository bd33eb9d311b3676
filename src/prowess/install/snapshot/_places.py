"""Read the objects of a snapshot from a folder or a web server, and say what its pointer names.

snapshot.json         names the current data; the only object that changes
snapshot-HEX.bin      the data, by its SHA-256
skills/HEX.tar.gz     the archive of a skill, by its tree digest
"""

from __future__ import annotations

import json
import os
import re
import time

from prowess._internal.frozen import Frozen
from prowess._internal.fs import READ_FLAGS, open_fd, write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import ConfigError, InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from prowess.net import Response

    class Place(Protocol):
        """Where a snapshot is."""

        origin: str
        """Its URL without credentials."""

        def read(self, name: str, limit: int, etag: str | None = None) -> StoredObject | None:
            """Return a small object; `None` if it still has the ETag.

            Raises:
                InstallError: it cannot be read, or is larger than the limit.
            """

        def download(self, name: str, fd: int, limit: int) -> None:
            """Write an object to a file.

            Raises:
                InstallError: it cannot be read, or is larger than the limit.
            """


POINTER = "snapshot.json"
ARCHIVES = "skills"
"""The folder of the archives."""
MAX_POINTER_BYTES = 64 << 10
"""Bytes of `snapshot.json` that are read."""
MAX_DATA_BYTES = 1 << 30
"""Bytes of a snapshot that are fetched."""
_HEX = re.compile("[0-9a-f]{64}").fullmatch


class StoredObject(Frozen):
    """An object of a snapshot."""

    data: bytes
    etag: str | None
    """What changes when the object does; `None` if that is not known."""


class Pointer(Frozen):
    """What names the current data of a snapshot."""

    sha256: str
    """In hexadecimal."""
    size: int
    """Bytes of the data."""
    etag: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the pointer as its file has it."""
        return {"version": 1, "sha256": self.sha256, "size": self.size}


def data_name(sha256: str) -> str:
    """Return the name of the data with a digest."""
    return f"snapshot-{sha256}.bin"


def parse_pointer(data: bytes, origin: str, etag: str | None = None) -> Pointer:
    """Return what a pointer says.

    Raises:
        InstallError: it is invalid.
    """
    try:
        table = json.loads(data)
        sha256, size, version = table["sha256"], table["size"], table["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        table, sha256, size, version = {}, "", 0, 0
    valid = isinstance(sha256, str) and _HEX(sha256) and type(size) is int and size > 0
    if version != 1 or not valid:
        hint = "check the URL; `prowess index DIR --snapshot OUT` writes a snapshot"
        raise InstallError(f"{POINTER} of the snapshot {quoted(origin, PATH_LIMIT)} is invalid", hint=hint)
    if size > MAX_DATA_BYTES:
        hint = f"Prowess reads snapshots of at most {MAX_DATA_BYTES >> 20:,} MiB"
        raise InstallError(f"the snapshot {quoted(origin, PATH_LIMIT)} is too large: {size:,} bytes", hint=hint)
    kept = table.get("etag") if etag is None else etag
    return Pointer(sha256=sha256, size=size, etag=kept if isinstance(kept, str) else None)


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    import hashlib

    with open_fd(path, READ_FLAGS) as fd, open(fd, "rb", closefd=False) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def archive_name(digest: str) -> str:
    """Return the name of the archive of a skill with a tree digest."""
    return f"{ARCHIVES}/{digest.removeprefix('sha256:')}.tar.gz"


def unreadable(origin: str, name: str, reason: str) -> InstallError:
    """Return the error for an object that cannot be read."""
    message = f"cannot read {name} of the snapshot {quoted(origin, PATH_LIMIT)}: {reason}"
    return InstallError(message, hint="check the URL, and that a snapshot was written there")


def too_large(origin: str, name: str, limit: int) -> InstallError:
    """Return the error for an object that is larger than it may be."""
    message = f"{name} of the snapshot {quoted(origin, PATH_LIMIT)} has more than {limit:,} bytes"
    return InstallError(message, hint="ask who makes it to make it again")


_CHUNK = 1 << 20


def is_bucket(url: str) -> bool:
    """Return whether a URL is that of a bucket of a cloud."""
    return url.startswith(("s3://", "gs://", "az://"))


def is_registry(url: str) -> bool:
    """Return whether a URL is that of a repository of a registry."""
    return url.startswith("oci://")


class FolderPlace:
    """A snapshot in a folder of this machine.

    Args:
        folder: its path.
    """

    def __init__(self, folder: str) -> None:
        self._folder = os.path.abspath(os.path.expanduser(folder))
        self.origin = f"file://{self._folder}"

    def read(self, name: str, limit: int, etag: str | None = None) -> StoredObject | None:
        """Return a small object; `None` if it still has the ETag.

        Raises:
            InstallError: it cannot be read, or is larger than the limit.
        """
        blocks: list[bytes] = []
        current = self._read(name, limit, blocks.append, etag)
        return None if current == etag else StoredObject(data=b"".join(blocks), etag=current)

    def download(self, name: str, fd: int, limit: int) -> None:
        """Write an object to a file.

        Raises:
            InstallError: it cannot be read, or is larger than the limit.
        """
        self._read(name, limit, lambda block: write_all(fd, block))

    def _read(self, name: str, limit: int, write: Callable[[bytes], object], etag: str | None = None) -> str:
        """Write the blocks of an object unless it still has the ETag, and return the one that it has."""
        size = 0
        try:
            with open_fd(os.path.join(self._folder, *name.split("/")), READ_FLAGS) as source:
                status = os.fstat(source)
                current = f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"
                while current != etag and (chunk := os.read(source, _CHUNK)):
                    size += len(chunk)
                    if size > limit:
                        raise too_large(self.origin, name, limit)
                    write(chunk)
        except (OSError, ValueError) as error:
            raise unreadable(self.origin, name, describe_os_error(error)) from None
        return current


_SECONDS, _DOWNLOAD_SECONDS = 15.0, 900.0
"""For `snapshot.json`, and for data or an archive."""
_MAX_ETAG = 1024


class HttpPlace:
    """A snapshot on a web server.

    Args:
        url: of the folder that has its objects.

    Raises:
        ConfigError: the URL is invalid, not encrypted, or has a user name, a password or a query.
    """

    def __init__(self, url: str) -> None:
        from prowess.net import server_url

        try:
            parsed = server_url(url)
        except InstallError as error:
            raise ConfigError(str(error), hint=error.hint) from None
        if "?" in parsed.target or "#" in url:
            hint = "leave out what begins with `?` or `#`"
            raise ConfigError(f"the URL of a snapshot is a folder: {quoted(parsed.shown, PATH_LIMIT)}", hint=hint)
        self._path = parsed.target.rstrip("/")
        self.origin = parsed.text.rstrip("/")

    def read(self, name: str, limit: int, etag: str | None = None) -> StoredObject | None:
        """Return a small object; `None` if it still has the ETag.

        Raises:
            InstallError: it cannot be read, or is larger than the limit.
        """
        headers = {"If-None-Match": etag} if etag and _is_header_value(etag) else {}
        answer = self._get(name, _SECONDS, limit=limit, headers=headers)
        return None if answer.status == 304 else StoredObject(data=answer.body, etag=answer.headers.get("etag"))

    def download(self, name: str, fd: int, limit: int) -> None:
        """Write an object to a file.

        Raises:
            InstallError: it cannot be read, or is larger than the limit.
        """
        self._get(name, _DOWNLOAD_SECONDS, limit=limit, into=fd, immutable=True)

    def _get(self, name: str, seconds: float, **options: Any) -> Response:
        """Ask for an object; the options are those of `HttpSource.request`.

        Raises:
            InstallError: the server does not answer with it, or with "not changed" where that was asked.
        """
        from prowess.net import HttpSource

        with HttpSource(self.origin) as server:
            deadline = time.monotonic() + seconds
            answer = server.request("GET", f"{self._path}/{name}", deadline=deadline, to_other_hosts=True, **options)
        if answer.status != 200 and not (answer.status == 304 and options.get("headers")):
            raise unreadable(self.origin, name, f"the server answered with status {answer.status}")
        return answer


def _is_header_value(text: str) -> bool:
    """Return whether a text can be sent as the value of a header."""
    return text.isascii() and text.isprintable() and len(text) <= _MAX_ETAG
