"""Decide which hosts a tool may connect to, and connect to nothing else.

The role's policy and a tool's own lists say which hosts are allowed. A name is looked up once, and the connection goes
to the addresses that were checked: a name that resolves to another address a moment later (DNS rebinding) gains
nothing. `_fetch` sends requests this way.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2

from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess._internal.threads import start_call
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError
from prowess.net import MAX_ADDRESSES, NetworkRules, canonical_host, look_up_host

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from typing import Self

    from prowess.agent.policy import ToolContext
    from prowess.net import Refusal

_MAX_URL_CHARS = 8000
MAX_MESSAGE_BYTES = 16 << 20
"""Bytes of one response of an MCP server. Of a stream of events the client limits each event."""
_FORBIDDEN_CHARS = re.compile(r"[\x00-\x20\x7f\\]")
_HINT = "the user can allow it with `allow_private: true` for the tool"
_SKILL_HINT = f"{_HINT} and `security.allow_private: true` in the role"


def parse_url(text: str) -> httpx2.URL:
    """Parse an absolute `http` or `https` URL.

    Raises:
        RefusedError: it is invalid, has another scheme, or contains a user name.
    """
    try:
        url = httpx2.URL("" if len(text) > _MAX_URL_CHARS or _FORBIDDEN_CHARS.search(text) else text)
        is_web_url = url.scheme in ("http", "https") and bool(url.host) and 0 < url_origin(url)[2] < 65536
    except (httpx2.InvalidURL, ValueError):
        raise RefusedError(f"invalid URL: {quoted(text, PATH_LIMIT)}") from None
    if not is_web_url:
        raise RefusedError(f"invalid URL: {quoted(text, PATH_LIMIT)}; give one like `https://example.com/page`")
    if url.userinfo:
        raise RefusedError("URLs with a user name or password are not allowed; leave them out")
    return url


def url_origin(url: httpx2.URL) -> tuple[str, str, int]:
    """Return the scheme, host and port of a URL."""
    port = (443 if url.scheme == "https" else 80) if url.port is None else url.port
    return url.scheme, url.host, port


class NetworkAccess(Frozen):
    """The hosts that a tool may connect to."""

    rules: NetworkRules = NetworkRules()

    @classmethod
    def from_options(cls, options: Mapping[str, Any], context: ToolContext) -> Self:
        """Return what a tool's configuration and the role's policy both allow.

        Raises:
            ConfigError: a domain is invalid.
        """
        return cls(rules=network_rules(options, context))

    def check(self, url: httpx2.URL) -> None:
        """Check a URL without looking up its host.

        Raises:
            RefusedError: the URL is not allowed.
        """
        _raise(self.rules.refusal(_host_name(url), url_origin(url)[2]))

    async def addresses(self, url: httpx2.URL) -> tuple[str, ...]:
        """Look up the host of a URL, once, and return its IP addresses.

        Raises:
            RefusedError: the host, or one of its addresses, is not allowed.
            ToolFailedError: the host does not exist.
        """
        self.check(url)
        host = _host_name(url)
        addresses = (host,) if _is_ip_literal(host) else await _resolve_host(host, url_origin(url)[2])
        _raise(self.rules.address_refusal(host, addresses))
        return addresses


def network_rules(options: Mapping[str, Any], context: ToolContext) -> NetworkRules:
    """Return the rules that a tool's configuration and the role's policy make together.

    Raises:
        ConfigError: a domain is invalid.
    """
    policy = context.policy
    own_lists = (options.get("allowed_domains", ()), options.get("blocked_domains", ()))
    lists = (policy.allowed_hosts, own_lists[0])
    has_own_setting = "allow_private" in options
    allow_private = bool(options.get("allow_private", policy.allow_private))
    hint = NetworkRules().private_hint
    if has_own_setting:
        hint = _HINT if context.skill is None else _SKILL_HINT
    # What a skill's tool lists was not written by the user.
    named = (*policy.allowed_hosts, *(own_lists[0] if context.skill is None else ()))
    return NetworkRules(
        allowed=tuple(_normalized_domains(domains) for domains in lists if domains),
        blocked=_normalized_domains(own_lists[1]),
        named=_normalized_domains(domain for domain in named if not domain.strip().startswith(("*", "."))),
        allow_private=allow_private and (context.skill is None or policy.allow_private),
        private_hint=hint,
    )


def _raise(refusal: Refusal | None) -> None:
    """Raise a refusal.

    Raises:
        RefusedError: always, if there is one.
    """
    if refusal is not None:
        raise RefusedError(refusal.message, hint=refusal.hint)


def _host_name(url: httpx2.URL) -> str:
    """Return the host of a URL in the form that is looked up."""
    return canonical_host(url.raw_host.decode("ascii", "replace"))


def _is_ip_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _normalized_domains(domains: Iterable[str]) -> tuple[str, ...]:
    """Return domains of a configuration in the form that hosts have.

    Raises:
        ConfigError: a domain is invalid.
    """
    normalized = []
    for domain in domains:
        host = domain.strip().removeprefix("*.").strip(".")
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        try:
            url = parse_url(f"http://{host}/")
        except RefusedError:
            url = None
        if url is None or url.port is not None or url.path != "/" or url.query:
            raise ConfigError(f"invalid domain: {quoted(domain)}", hint="write only the name, as in `example.com`")
        normalized.append(_host_name(url))
    return tuple(normalized)


async def _resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Return the IP addresses of a name.

    Raises:
        ToolFailedError: the name does not exist.
    """
    # In a thread of its own: the loop waits for its own threads at its end, however long a look-up takes.
    addresses = await start_call(partial(look_up_host, host, port))[1]
    if not addresses:
        raise ToolFailedError(f"host not found: {quoted(host, PATH_LIMIT)}")
    return addresses


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Connects only to addresses that were checked; `Host` and TLS still use the host's name.

    Args:
        access: the allowed hosts.
        only: a URL whose origin is the only one allowed. Its responses are bounded, and not compressed.
    """

    def __init__(self, access: NetworkAccess, *, only: httpx2.URL | None = None) -> None:
        self._access, self._only = access, only
        # The pool knows a kept connection by its address alone, and would use it for another name at that address.
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._inner = httpx2.AsyncHTTPTransport(limits=limits)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Raises:
            RefusedError: the URL is not allowed.
            ToolFailedError: the host does not exist.
        """
        url = request.url
        if self._only is not None and url_origin(url) != url_origin(self._only):
            raise RefusedError(f"the server redirects to {quoted(str(url), PATH_LIMIT)}, which is another host")
        failure: httpx2.TransportError = httpx2.ConnectError("no address")
        for address in (await self._access.addresses(url))[:MAX_ADDRESSES]:
            try:
                response = await self._inner.handle_async_request(
                    httpx2.Request(
                        request.method,
                        url.copy_with(host=address),
                        headers=request.headers,
                        stream=request.stream,
                        extensions={**request.extensions, "sni_hostname": url.raw_host.decode("ascii").rstrip(".")},
                    )
                )
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
            else:
                return response if self._only is None else _bounded(response)
        raise failure

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def _bounded(response: httpx2.Response) -> httpx2.Response:
    """Return a response of which only so much is read as an MCP client can need."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    is_plain = encoding in ("", "identity")
    if not is_plain:
        del response.headers["content-encoding"]
    elif response.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream":
        return response
    stream: Any = response.stream
    response.stream = _BoundedStream(
        stream, "" if is_plain else f"the response is encoded as {quoted(encoding)}, which was not requested"
    )
    return response


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of a response; after a limit an error, of the kind that ends a call and not the connection."""

    def __init__(self, inner: httpx2.AsyncByteStream, refusal: str) -> None:
        self._inner, self._refusal = inner, refusal

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._refusal:
            raise httpx2.StreamError(self._refusal)
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > MAX_MESSAGE_BYTES:
                raise httpx2.StreamError(f"the response is larger than {MAX_MESSAGE_BYTES:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        """Close the connection."""
        await self._inner.aclose()


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
