"""Read the objects of a snapshot from a web server."""

from __future__ import annotations

import time

from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError, InstallError
from prowess.install._http import HttpSource, server_url

from ._object import StoredObject, unreadable

__all__ = ["HttpPlace"]

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
        headers = {"If-None-Match": etag} if etag and is_header_value(etag) else {}
        with HttpSource(self.origin) as server:
            deadline = time.monotonic() + _SECONDS
            answer = server.request(
                "GET", f"{self._path}/{name}", headers=headers, limit=limit, deadline=deadline, to_other_hosts=True
            )
        if answer.status == 304 and headers:
            return None
        self._check(name, answer.status)
        return StoredObject(data=answer.body, etag=answer.headers.get("etag"))

    def download(self, name: str, fd: int, limit: int) -> None:
        """Write an object to a file.

        Raises:
            InstallError: it cannot be read, or is larger than the limit.
        """
        with HttpSource(self.origin) as server:
            answer = server.request(
                "GET",
                f"{self._path}/{name}",
                limit=limit,
                deadline=time.monotonic() + _DOWNLOAD_SECONDS,
                into=fd,
                immutable=True,
                to_other_hosts=True,
            )
        self._check(name, answer.status)

    def _check(self, name: str, status: int) -> None:
        """Check what the server answered.

        Raises:
            InstallError: not the object.
        """
        if status != 200:
            raise unreadable(self.origin, name, f"the server answered with status {status}")


def is_header_value(text: str) -> bool:
    """Return whether a text can be sent as the value of a header."""
    return text.isascii() and text.isprintable() and len(text) <= _MAX_ETAG
