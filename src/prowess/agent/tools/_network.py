"""a request -> an answer, within what may be reached, in the time and size it was given

One request, one connection, one answer. httpx2 is httpx as its users maintain it now: Pydantic AI, its MCP client and
OpenAI's client all bring it.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, Any

import httpx2

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.agent.policy import RefusedError, ToolFailedError

from ._reach import NetworkAccess, origin, parse_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["HttpResponse", "GuardedTransport", "fetch"]

USER_AGENT = "Prowess"
_MAX_REDIRECTS = 5
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_MAX_ADDRESSES = 4


class HttpResponse(Frozen):
    """What a server said."""

    status: int
    reason: str
    url: str
    """Where the answer is from, after redirects."""
    headers: httpx2.Headers
    body: bytes
    is_complete: bool
    """False where there was more than was to be read."""

    @property
    def media_type(self) -> str:
        """The type of the body without its parameters, as in `text/html`; empty where the server says none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def text(self) -> str:
        """Return the body as text: by the server's word, else as UTF-8; what cannot be read is replaced."""
        _, _, rest = self.headers.get("content-type", "").lower().partition("charset=")
        charset = rest.partition(";")[0].strip(" \"'")
        for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
            charset = name if self.body.startswith(mark) else charset
        try:
            if charset not in _IGNORED_CODECS:
                return self.body.decode(charset or "utf-8", "replace")
        except (LookupError, ValueError):
            pass
        return self.body.decode("utf-8", "replace")


_IGNORED_CODECS = ("idna", "punycode", "unicode_escape", "unicode-escape", "raw_unicode_escape", "raw-unicode-escape")
"""Codecs of Python that no page is written in, and that take long or fail."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Connects to the addresses that were checked, and to nothing else; the host's name stays in `Host` and TLS.

    Args:
        access: who may be spoken to.
        only: the one URL whose origin is open; None is each that `reach` opens.
    """

    def __init__(self, access: NetworkAccess, *, only: httpx2.URL | None = None) -> None:
        self._access, self._only = access, only
        # A connection that is kept would be known by its address alone, and serve another name at the same address.
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._inner = httpx2.AsyncHTTPTransport(limits=limits)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Raises:
            RefusedError: it must not be sent there.
            ToolFailedError: nobody knows the host.
        """
        url = request.url
        if self._only is not None and origin(url) != origin(self._only):
            raise RefusedError(f"the server sends on to {quoted(str(url), 200)}, which is another host")
        failed: httpx2.TransportError = httpx2.ConnectError("no address")
        for address in (await self._access.addresses(url))[:_MAX_ADDRESSES]:
            try:
                return await self._inner.handle_async_request(
                    httpx2.Request(
                        request.method,
                        url.copy_with(host=address),
                        headers=request.headers,
                        stream=request.stream,
                        extensions={**request.extensions, "sni_hostname": url.raw_host.decode("ascii").rstrip(".")},
                    )
                )
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failed = error
        raise failed

    async def aclose(self) -> None:
        """Close what is open."""
        await self._inner.aclose()


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
    """Send a request and read the answer; to be called where no event loop runs.

    Redirects of GET and HEAD are followed, each checked as the first URL was. Headers go to the first origin only.

    Args:
        method: in capitals.
        url: absolute.
        access: who may be spoken to.
        timeout: seconds for all of it, from the look-up to the last byte.
        limit: bytes of the answer that are read, after unpacking.
        headers: sent beside the client's own.
        content: the body.
        redirect_allowed: says whether a redirect may lead to a URL, beside what `reach` says.

    Raises:
        RefusedError: the URL, or one it leads to, must not be opened.
        ToolFailedError: there is no answer, or none that can be read.
    """
    request = _request_following_redirects(
        method, parse_url(url), access, limit, dict(headers or {}), content, redirect_allowed
    )
    try:
        return asyncio.run(_with_timeout(request, timeout))
    except (TimeoutError, httpx2.TimeoutException):
        raise ToolFailedError(f"there was no whole answer within {timeout:g} seconds") from None
    except zlib.error:
        raise ToolFailedError("the answer is packed in a way that cannot be unpacked") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
        words = neutral(str(error))[:300] or type(error).__name__
        raise ToolFailedError(f"the request failed: {words}") from error


async def _with_timeout(request: Any, timeout: float) -> HttpResponse:
    answer: HttpResponse = await asyncio.wait_for(request, timeout)
    return answer


async def _request_following_redirects(
    method: str,
    url: httpx2.URL,
    access: NetworkAccess,
    limit: int,
    headers: dict[str, str],
    content: bytes | None,
    redirect_allowed: Callable[[httpx2.URL], bool] | None,
) -> HttpResponse:
    """Ask, and go where the answer leads.

    Raises:
        RefusedError: it leads to where nothing may be asked.
        ToolFailedError: it leads nowhere.
    """
    # The whole has a limit of time, which one for each read could not keep.
    async with httpx2.AsyncClient(
        transport=GuardedTransport(access),
        timeout=None,
        trust_env=False,
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
    ) as client:
        for _ in range(_MAX_REDIRECTS + 1):
            async with client.stream(method, url, headers=headers, content=content) as response:
                to = response.headers.get("location")
                if to is None or response.status_code not in _REDIRECT_STATUSES or method not in ("GET", "HEAD"):
                    return await _read_response(response, limit)
            target = parse_url(str(url.join(_checked_location(to))))
            if redirect_allowed is not None and not redirect_allowed(target):
                raise RefusedError(f"the server sends on to {quoted(str(target), 200)}, which is not open")
            if origin(target) != origin(url):
                if headers and target.scheme == "http" and url.scheme == "https":
                    raise RefusedError(f"the server sends on to {quoted(str(target), 200)}, which is not encrypted")
                headers = {}
            client.cookies.clear()
            url = target
    raise ToolFailedError(f"the server sends on more than {_MAX_REDIRECTS} times")


def _checked_location(text: str) -> str:
    """Return where a redirect leads; an answer's headers may hold anything.

    Raises:
        RefusedError: nowhere.
    """
    try:
        httpx2.URL(text)
    except httpx2.InvalidURL:
        raise RefusedError(f"the server sends on to {quoted(text, 200)}, which is no URL") from None
    return text


async def _read_response(response: httpx2.Response, limit: int) -> HttpResponse:
    """Read at most so many bytes; what is packed grows no further either.

    Raises:
        ToolFailedError: it is packed in a way that was not asked for.
    """
    packed = response.headers.get("content-encoding", "").strip().lower()
    if packed not in ("", "identity", "gzip", "x-gzip"):
        raise ToolFailedError(f"the answer is packed as {quoted(packed)}, which was not asked for")
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if packed.endswith("gzip") else None
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk if unpack is None else unpack.decompress(chunk, limit + 1 - len(body))
        if len(body) > limit:
            break
    return HttpResponse(
        status=response.status_code,
        reason=response.reason_phrase,
        url=str(response.request.url),
        headers=response.headers,
        body=bytes(body[:limit]),
        is_complete=len(body) <= limit and not (unpack is not None and unpack.unused_data),
    )
