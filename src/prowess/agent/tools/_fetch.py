"""Send one HTTP request to an allowed host and read the response, within limits of time and size.

httpx2 is httpx as its users maintain it now: Pydantic AI, its MCP client and OpenAI's client all depend on it.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, Any

import httpx2

from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.agent.policy import RefusedError, ToolFailedError

from ._network import GuardedTransport, NetworkAccess, parse_url, url_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["HttpResponse", "fetch"]

USER_AGENT = "Prowess"
_MAX_REDIRECTS = 5
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_IGNORED_CODECS = ("idna", "punycode", "unicode_escape", "unicode-escape", "raw_unicode_escape", "raw-unicode-escape")
"""Codecs of Python that no page uses, and that are slow or fail."""


class HttpResponse(Frozen):
    """A server's response."""

    status: int
    reason: str
    url: str
    """The URL that responded, after redirects."""
    headers: httpx2.Headers
    body: bytes
    is_complete: bool
    """`False` if the response is longer than the limit."""

    @property
    def media_type(self) -> str:
        """The type of the body without parameters, such as `text/html`; empty if the server sends none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def text(self) -> str:
        """Return the body as text, in the character set that the server names, or UTF-8; invalid bytes are replaced."""
        _, _, parameter = self.headers.get("content-type", "").lower().partition("charset=")
        charset = parameter.partition(";")[0].strip(" \"'")
        for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
            charset = name if self.body.startswith(mark) else charset
        try:
            if charset not in _IGNORED_CODECS:
                return self.body.decode(charset or "utf-8", "replace")
        except (LookupError, ValueError):
            pass
        return self.body.decode("utf-8", "replace")


def fetch(
    method: str,
    url: str,
    *,
    access: NetworkAccess,
    timeout: float,
    limit: int,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    redirect_allowed: Callable[[httpx2.URL], bool] | None = None,
) -> HttpResponse:
    """Send a request and read the response; call it from a thread without an event loop.

    Redirects of GET and HEAD are followed, and each is checked like the first URL. Only the first origin gets the
    headers.

    Args:
        method: the method, in capitals.
        url: an absolute URL.
        access: the allowed hosts.
        timeout: seconds for everything, from the look-up to the last byte.
        limit: bytes of the response that are read, after decompression.
        headers: headers to send besides the client's own.
        content: the body.
        redirect_allowed: whether a redirect may lead to a URL that `access` allows.

    Raises:
        RefusedError: the URL, or one it redirects to, is not allowed.
        ToolFailedError: there is no response, or it is invalid.
    """
    request = _request_following_redirects(
        method, parse_url(url), access, limit, dict(headers or {}), content, redirect_allowed
    )
    try:
        return asyncio.run(_with_timeout(request, timeout))
    except (TimeoutError, httpx2.TimeoutException):
        raise ToolFailedError(f"no complete response within {timeout:g} seconds") from None
    except zlib.error:
        raise ToolFailedError("the response is not valid gzip data") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
        raise ToolFailedError(f"the request failed: {neutral(str(error))[:300] or type(error).__name__}") from error


async def _with_timeout(request: Any, timeout: float) -> HttpResponse:
    response: HttpResponse = await asyncio.wait_for(request, timeout)
    return response


async def _request_following_redirects(
    method: str,
    url: httpx2.URL,
    access: NetworkAccess,
    limit: int,
    headers: dict[str, str],
    content: bytes | None,
    redirect_allowed: Callable[[httpx2.URL], bool] | None,
) -> HttpResponse:
    """Send a request, and follow where the response redirects.

    Raises:
        RefusedError: a redirect leads to a URL that is not allowed.
        ToolFailedError: there are too many redirects.
    """
    # `fetch` limits the total time; the client's own limits are for each read.
    async with httpx2.AsyncClient(
        transport=GuardedTransport(access),
        timeout=None,
        trust_env=False,
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
    ) as client:
        for _ in range(_MAX_REDIRECTS + 1):
            async with client.stream(method, url, headers=headers, content=content) as response:
                location = response.headers.get("location")
                if location is None or response.status_code not in _REDIRECT_STATUSES or method not in ("GET", "HEAD"):
                    return await _read_response(response, limit)
            target = parse_url(str(url.join(_checked_location(location))))
            if redirect_allowed is not None and not redirect_allowed(target):
                raise RefusedError(f"the server redirects to {quoted(str(target), PATH_LIMIT)}, which is not allowed")
            if url_origin(target) != url_origin(url):
                if headers and target.scheme == "http" and url.scheme == "https":
                    raise RefusedError(
                        f"the server redirects to {quoted(str(target), PATH_LIMIT)}, which is not encrypted"
                    )
                headers = {}
            client.cookies.clear()
            url = target
    raise ToolFailedError(f"the server redirects more than {_MAX_REDIRECTS} times")


def _checked_location(location: str) -> str:
    """Return the target of a redirect if it is a URL; a header may contain anything.

    Raises:
        RefusedError: it is not a URL.
    """
    try:
        httpx2.URL(location)
    except httpx2.InvalidURL:
        raise RefusedError(f"the server redirects to {quoted(location, PATH_LIMIT)}, an invalid URL") from None
    return location


async def _read_response(response: httpx2.Response, limit: int) -> HttpResponse:
    """Read at most `limit` bytes of a response, after decompression.

    Raises:
        ToolFailedError: the response has an encoding that was not requested.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise ToolFailedError(f"the response is encoded as {quoted(encoding)}, which was not requested")
    gunzip = zlib.decompressobj(16 + zlib.MAX_WBITS) if encoding.endswith("gzip") else None
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk if gunzip is None else gunzip.decompress(chunk, limit + 1 - len(body))
        if len(body) > limit:
            break
    return HttpResponse(
        status=response.status_code,
        reason=response.reason_phrase,
        url=str(response.request.url),
        headers=response.headers,
        body=bytes(body[:limit]),
        is_complete=len(body) <= limit and not (gunzip is not None and gunzip.unused_data),
    )
