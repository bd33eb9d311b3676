"""Talk to a server of MCP over streamable HTTP, and to nothing but the host that the user named.

The name of the host is looked up once for a connection, and the connection goes to an address that was checked.
Redirects are followed only to the same origin. Proxies of the environment are not used.
"""

from __future__ import annotations

import base64
import http.client
import re
from contextlib import suppress
from urllib.parse import urljoin

from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import ConfigError
from prowess.net import HasCredentialsError, HostRefusedError, HttpUrl, NetworkRules, connect_http, parse_http_url

from ._messages import (
    HttpStatusError,
    RpcError,
    ServerFailedError,
    UnreachableError,
    answer_to,
    encode,
    parse,
    remaining,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from prowess.net import DeadlineConnection

_VISIBLE = re.compile(r"[\x21-\x7e]{1,512}").fullmatch
_HEADER_SAFE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?").fullmatch
_MAX_URL = 2000
_MAX_REDIRECTS = 3
_NOT_IMPLEMENTED = 501
"""What a server of files answers to a request that posts something."""
_REDIRECTS = (301, 302, 303, 307, 308)
_NOISE = 1 << 20
"""Bytes of other messages that a server may send before its answer."""
_PRIVATE_HINT = "if the server is in your own network, set `allow_private`, or write its address itself in the URL"


class HttpClient:
    """A server at a URL.

    Args:
        url: of the server; `http` only for addresses of this machine or its network.
        token: sent as bearer token; `None` if there is no token.
        allow_private: whether the name of its host may lead to an address of this machine or its network.

    Raises:
        ConfigError: the URL or the token is invalid.
    """

    is_process = False

    def __init__(self, url: str, token: str | None = None, *, allow_private: bool = False) -> None:
        self._url, self._allow_private = _parse_url(url), allow_private
        if token is not None and not _VISIBLE(token):
            hint = "a token has no spaces and at most 512 characters"
            raise ConfigError("the token of the server is invalid", hint=hint)
        self._token = token
        self._session: str | None = None
        """Of the older era: what the server sent with the answer to `initialize`."""
        self._connection: DeadlineConnection | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connection": None, "_session": None}

    @property
    def is_open(self) -> bool:
        """Whether the server may still know this client: without processes that is always so."""
        return True

    def close(self) -> None:
        """Close the connection, and forget the session."""
        self._session = None
        self._disconnect()

    def request(
        self, number: int | None, message: Mapping[str, Any], headers: Mapping[str, str], limit: int, deadline: float
    ) -> dict[str, Any]:
        """Send a message, and return the result if it is a request; a notification has no number.

        Args:
            number: the id in the message.
            message: the request or notification.
            headers: further headers.
            limit: bytes of the answer at most.
            deadline: on the clock `time.monotonic`.

        Raises:
            RpcError: the server answered with an error.
            ServerFailedError: it did not answer in time, or broke a rule.
        """
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            **headers,
        }
        if self._session is not None:
            sent["Mcp-Session-Id"] = self._session
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        url, body = self._url, encode(message)
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                response = self._post(url, body, sent, deadline)
                if response.status not in _REDIRECTS:
                    return self._read_answer(number, response, limit)
                url = self._redirected(url, response)
                self._disconnect()
        except ServerFailedError:
            self._disconnect()
            remaining(deadline)  # the reason, if the connection was interrupted
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._disconnect()
            remaining(deadline)
            reason = describe_os_error(error) if isinstance(error, OSError) else "it does not speak HTTP"
            raise UnreachableError(reason) from None
        raise ServerFailedError("it redirects again and again")

    def _post(self, url: HttpUrl, body: bytes, headers: Mapping[str, str], deadline: float) -> http.client.HTTPResponse:
        while True:
            kept = self._connection is not None
            connection = self._connection = self._connection or self._connect(deadline)
            connection.set_deadline(deadline)
            try:
                connection.request("POST", url.target, body, dict(headers))
                return connection.getresponse()
            except (ConnectionError, http.client.RemoteDisconnected):
                self._disconnect()
                if not kept:  # a connection that was kept may have been closed meanwhile
                    raise

    def _connect(self, deadline: float) -> DeadlineConnection:
        rules = NetworkRules(named=(self._url.host,), allow_private=self._allow_private, private_hint=_PRIVATE_HINT)
        try:
            return connect_http(self._url, rules, deadline)
        except HostRefusedError as error:
            raise UnreachableError(str(error) + (f"; {error.hint}" if error.hint else "")) from None

    def _redirected(self, url: HttpUrl, response: http.client.HTTPResponse) -> HttpUrl:
        location = response.getheader("Location") or ""
        try:
            target = _parse_url(urljoin(url.text, location))
        except (ConfigError, ValueError):
            raise ServerFailedError("it redirects to an invalid URL") from None
        if target.origin != self._url.origin:
            raise UnreachableError(f"it redirects to another host, {quoted(target.host)}, which is refused")
        if response.status not in (307, 308):
            raise ServerFailedError(f"it redirects with the status {response.status}, which drops the request")
        return target

    def _read_answer(self, number: int | None, response: http.client.HTTPResponse, limit: int) -> dict[str, Any]:
        kind = (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        if (response.getheader("Content-Encoding") or "identity").strip().lower() != "identity":
            raise ServerFailedError("it sent a compressed answer")
        session = response.getheader("Mcp-Session-Id")
        if session is not None and self._session is None and _VISIBLE(session):
            self._session = session
        if number is None and response.status < 300:
            self._read_all(response, _NOISE)
            return {}
        if response.status == 200 and kind == "text/event-stream" and number is not None:
            try:
                return self._read_events(number, response, limit)
            finally:
                self._disconnect()  # more may follow in the stream
        data = self._read_all(response, limit)
        if response.status != 200:
            raise _status_error(number, response.status, data if kind == "application/json" else b"")
        if kind != "application/json":
            raise ServerFailedError(f"it answered with {quoted(kind or 'no content type')}, which is not JSON")
        result = answer_to(number or 0, parse(data))
        if result is None:
            raise ServerFailedError("it answered another request")
        return result

    def _read_all(self, response: http.client.HTTPResponse, limit: int) -> bytes:
        data = response.read(limit + 1)
        if len(data) > limit:
            raise ServerFailedError(f"it sent a message of more than {limit:,} bytes")
        if response.will_close or not response.isclosed():
            self._disconnect()
        return data

    def _read_events(self, number: int, response: http.client.HTTPResponse, limit: int) -> dict[str, Any]:
        lines: list[bytes] = []
        budget = limit + _NOISE
        while line := response.readline(budget + 1):
            budget -= len(line)
            if budget < 0:
                raise ServerFailedError(f"it sent a message of more than {limit:,} bytes")
            line = line.rstrip(b"\r\n")
            if line.startswith(b"data:"):
                lines.append(line[5:].removeprefix(b" "))
            elif not line and lines:
                data, lines = b"\n".join(lines), []
                if data.strip() and (result := answer_to(number, parse(data))) is not None:
                    return result
        raise ServerFailedError("it closed the connection without an answer")

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError):
                connection.close()


def header_value(text: str) -> str:
    """Return a text as the value of a header: as it is, or encoded if a header cannot contain it."""
    if _HEADER_SAFE(text) and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def _status_error(number: int | None, status: int, data: bytes) -> Exception:
    """Return the error for an answer that is not 200; its body may be an error of JSON-RPC."""
    try:
        message = parse(data) if data else {}
        error = message.get("error")
        if isinstance(error, dict) and message.get("id") in (number, None):
            answer_to(0, {"id": 0, "error": error})
    except RpcError as error:
        return error
    except ServerFailedError:
        pass
    if 400 <= status < 500 or status == _NOT_IMPLEMENTED:
        return HttpStatusError(status)
    kind = UnreachableError if status >= 500 else ServerFailedError
    return kind(f"it answered with the HTTP status {status}")


def _parse_url(url: str) -> HttpUrl:
    """Return a URL in its parts.

    Raises:
        ConfigError: it is invalid.
    """
    hint = "give one like `https://example.com/mcp`"
    try:
        parsed = parse_http_url("" if len(url) > _MAX_URL else url)
    except HasCredentialsError:
        raise ConfigError("a URL of a server has no user name or password", hint="use `token_env`") from None
    except ValueError:
        raise ConfigError(f"invalid URL of a server: {quoted(url, PATH_LIMIT)}", hint=hint) from None
    if parsed.scheme == "http" and NetworkRules().refusal(parsed.host, parsed.port) is None:
        raise ConfigError(
            f"{quoted(parsed.host)} is not an address of this machine or its network, so its URL begins with `https`",
            hint="write `https` in place of `http`, which would send the token and all skills in the clear",
        )
    return parsed
