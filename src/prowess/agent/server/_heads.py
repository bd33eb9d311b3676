"""Refuse request heads whose end or length two programs could read differently.

Stricter than HTTP/1.1: no body in chunks, no header twice that decides something, no line that continues the last one,
no line that ends without a carriage return. So no request can hide in another one (request smuggling).
"""

from __future__ import annotations

import re

import h11

from ._requests import RequestError

__all__ = ["MAX_HEAD_BYTES", "StrictConnection"]

MAX_HEAD_BYTES = 16_384
"""The most bytes of the request line and all headers."""
_MAX_HEADERS = 100
_SINGLE_HEADERS = frozenset(
    (b"authorization", b"content-length", b"content-type", b"expect", b"host", b"origin", b"transfer-encoding")
) | {b"sec-fetch-site", b"x-conversation-id", b"api-key", b"x-api-key"}
_find_bad_byte = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]").search


class StrictConnection(h11.Connection):
    """A server's side of a connection."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self.error: RequestError | None = None
        """Why the last head was refused."""

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """Return the next event; check a head before it is parsed.

        Raises:
            h11.RemoteProtocolError: the head is refused, or what was received is not HTTP.
        """
        if self.their_state is h11.IDLE:
            head, end, _ = self.trailing_data[0].partition(b"\r\n\r\n")
            self.error = _head_error(head, complete=bool(end))
            if self.error is not None:
                raise h11.RemoteProtocolError(str(self.error), error_status_hint=self.error.status)
        return super().next_event()


def _head_error(head: bytes, *, complete: bool) -> RequestError | None:
    """Return what is wrong with a head, or with the part of it that was received."""
    if len(head) > MAX_HEAD_BYTES:
        return RequestError(f"the headers are larger than {MAX_HEAD_BYTES} bytes", status=431)
    if _find_bad_byte(head):
        return RequestError("the headers contain a control character, or a line that does not end with CR LF")
    request_line, *lines = head.split(b"\r\n")
    if len(lines) > _MAX_HEADERS:
        return RequestError(f"more than {_MAX_HEADERS} headers", status=431)
    if any(line[:1] in (b" ", b"\t") for line in lines):
        return RequestError("a header continues on the next line")
    if not complete:
        return None
    if not request_line.endswith((b" HTTP/1.1", b" HTTP/1.0")):
        return RequestError("invalid HTTP request")
    names = [line.partition(b":")[0].strip().lower() for line in lines]
    for name in _SINGLE_HEADERS:
        if names.count(name) > 1:
            return RequestError(f"the header `{name.decode()}` is given twice")
    if b"transfer-encoding" in names:
        if b"content-length" in names:
            return RequestError("`Content-Length` and `Transfer-Encoding` exclude each other")
        return RequestError("send the body with `Content-Length`, not in chunks", status=411)
    return None
