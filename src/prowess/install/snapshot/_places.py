"""Read the objects of a snapshot from where it is: a folder, a web server, a bucket or a registry.

snapshot.json         names the current data; the only object that changes
snapshot-HEX.bin      the data, by its SHA-256
skills/HEX.tar.gz     the archive of a skill, by its tree digest
"""

from __future__ import annotations

import os
from urllib.parse import unquote

from prowess._internal.fs import READ_FLAGS, open_fd, write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted, without_secrets
from prowess.errors import ConfigError

from ._object import StoredObject, too_large, unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

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


__all__ = ["FolderPlace", "Place", "find_place", "is_bucket", "is_registry"]

_CHUNK = 1 << 20


def is_bucket(url: str) -> bool:
    """Return whether a URL is that of a bucket of a cloud."""
    return url.startswith(("s3://", "gs://", "az://"))


def is_registry(url: str) -> bool:
    """Return whether a URL is that of a repository of a registry."""
    return url.startswith("oci://")


def find_place(url: str) -> Place:
    """Return where a snapshot is.

    Args:
        url: `https://`, `s3://`, `gs://`, `az://`, `oci://` or `file://`, or the path of a folder.

    Raises:
        ConfigError: the URL is invalid, or of another kind.
    """
    scheme, colon, _ = url.partition("://")
    if not colon or scheme == "file":
        return FolderPlace(_folder(url) if colon else url)
    if scheme in ("https", "http"):
        from ._http import HttpPlace  # it needs modules that take long to load

        return HttpPlace(url)
    if is_bucket(url):
        from ._bucket import BucketPlace

        return BucketPlace(url)
    if is_registry(url):
        from ._oci import RegistryPlace

        return RegistryPlace(url)
    hint = "use `https://`, `s3://`, `gs://`, `az://`, `oci://`, `file://`, or the path of a folder"
    raise ConfigError(f"{quoted(without_secrets(url), PATH_LIMIT)} is not the URL of a snapshot", hint=hint)


def _folder(url: str) -> str:
    """Return the path of a `file://` URL.

    Raises:
        ConfigError: it has another host.
    """
    host, slash, path = url.partition("://")[2].partition("/")
    if host not in ("", "localhost") or not slash:
        raise ConfigError(
            f"{quoted(without_secrets(url), PATH_LIMIT)} is not a file of this machine", hint="write `file:///PATH`"
        )
    return unquote(f"/{path}")


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
        try:
            with open_fd(os.path.join(self._folder, name), READ_FLAGS) as fd:
                status = os.fstat(fd)
                current = f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"
                if etag == current:
                    return None
                data = b""
                while len(data) <= limit and (chunk := os.read(fd, _CHUNK)):
                    data += chunk
        except (OSError, ValueError) as error:
            raise unreadable(self.origin, name, describe_os_error(error)) from None
        if len(data) > limit:
            raise too_large(self.origin, name, limit)
        return StoredObject(data=data, etag=current)

    def download(self, name: str, fd: int, limit: int) -> None:
        """Write an object to a file.

        Raises:
            InstallError: it cannot be read, or is larger than the limit.
        """
        size = 0
        try:
            with open_fd(os.path.join(self._folder, *name.split("/")), READ_FLAGS) as source:
                while chunk := os.read(source, _CHUNK):
                    size += len(chunk)
                    if size > limit:
                        raise too_large(self.origin, name, limit)
                    write_all(fd, chunk)
        except (OSError, ValueError) as error:
            raise unreadable(self.origin, name, describe_os_error(error)) from None
