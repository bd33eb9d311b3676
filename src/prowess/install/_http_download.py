"""Write what a server sends to a file, hash it on the way, and continue where a connection broke."""

from __future__ import annotations

import os

from prowess._internal.fs import write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from http.client import HTTPResponse

    from prowess.sandbox import HttpUrl

__all__ = ["BLOCK", "Download", "DroppedError", "failed", "too_large"]

BLOCK = 1 << 18
"""Bytes that are read at a time."""


class DroppedError(Exception):
    """The server could not be reached, or the connection broke; the message is the reason."""


class Download:
    """A file that is being downloaded, perhaps in several answers."""

    def __init__(self, fd: int, limit: int, *, immutable: bool) -> None:
        self._fd, self._limit, self._immutable = fd, limit, immutable
        self._etag: str | None = None
        self._restart()

    def _restart(self) -> None:
        import hashlib

        self._hash, self.size = hashlib.sha256(), 0
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)

    def sha256(self) -> str:
        return self._hash.hexdigest()

    def headers(self) -> dict[str, str]:
        """Return the headers that ask for the rest of the file."""
        if self.size == 0 or (self._etag is None and not self._immutable):
            return {}
        check = {} if self._etag is None else {"If-Range": self._etag}
        return {"Range": f"bytes={self.size}-", **check}

    def read(self, url: HttpUrl, answer: HTTPResponse, headers: Mapping[str, str]) -> None:
        """Write the body of an answer to the file.

        Raises:
            InstallError: it is larger than the limit, or the server continues with another part of the file.
            DroppedError: it is not complete.
        """
        begin = f"bytes {self.size}-"
        if answer.status == 206 and (self.size == 0 or not headers.get("content-range", "").startswith(begin)):
            raise failed(url, "it sent a part of the file that was not asked for")
        if answer.status == 200:
            self._restart()
            etag = headers.get("etag", "")
            self._etag = etag if etag.startswith('"') else None  # a weak one does not tell bytes apart
        left = answer.length
        if left is not None and self.size + left > self._limit:
            raise too_large(url, self._limit)
        while block := answer.read(BLOCK):
            self.size += len(block)
            left = None if left is None else left - len(block)
            if self.size > self._limit:
                raise too_large(url, self._limit)
            self._hash.update(block)
            self._write(block)
        if left:
            raise DroppedError("the connection was closed in the middle of its answer")

    def _write(self, block: bytes) -> None:
        try:
            write_all(self._fd, block)
        except OSError as error:
            reason = describe_os_error(error)
            raise InstallError(f"cannot write a download: {reason}", hint="make room on the disk") from None


def too_large(url: HttpUrl, limit: int) -> InstallError:
    """Return the error for an answer of more than so many bytes."""
    return failed(url, f"it sent more than {limit:,} bytes")


def failed(url: HttpUrl, reason: str) -> InstallError:
    """Return the error for a server that did not give what was asked for."""
    hint = "check the address, or try again later"
    return InstallError(f"cannot fetch {quoted(url.shown, PATH_LIMIT)}: {reason}", hint=hint)
