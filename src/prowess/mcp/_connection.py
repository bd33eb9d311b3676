"""Ask a server of MCP for its skills, in the era of the protocol that it speaks."""

from __future__ import annotations

import base64
import binascii
import math
import threading
import time
from importlib.metadata import version

from prowess._internal.text import quoted

from ._http_client import header_value
from ._messages import HttpStatusError, NoServerError, NotStartedError, RpcError, ServerFailedError, UnreachableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ._http_client import HttpClient
    from ._stdio_client import StdioClient

EXTENSION = "io.modelcontextprotocol/skills"
MODERN, OLDER = "2026-07-28", ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MAX_SKILLS = 20_000
"""Skills of one server."""
_MAX_PAGES = 1000
_MAX_PAGE_BYTES = 32 << 20
_MAX_CURSOR = 4096
_SMALL = 1 << 20
"""Bytes of an answer that describes a server or one skill at most."""
_UNSUPPORTED_VERSION = -32022
_META = "io.modelcontextprotocol/"
_PROBE_SECONDS = 15.0
"""Seconds for an answer to the first request: servers of the older era may ignore it."""


class Connection:
    """A connection to one server, for all threads of a process; it is made when it is needed, and again if it broke.

    Args:
        transport: how messages reach the server.
        timeout: seconds for each answer.
    """

    def __init__(self, transport: StdioClient | HttpClient, timeout: float) -> None:
        self._transport, self._timeout = transport, timeout
        self._lock = threading.RLock()
        self.until = math.inf
        """When all answers have to be there, on the clock `time.monotonic`."""
        self._number = 0
        self._version: str | None = None
        self._has_answered = False
        """Whether an answer said that this is a server of the protocol."""
        self._capabilities: Mapping[str, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Connection, (self._transport, self._timeout)

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._version = None
            self._transport.close()

    @property
    def version(self) -> str | None:
        """The version of the protocol that the connection has; `None` if there is no connection."""
        return self._version

    def open(self) -> Mapping[str, Any]:
        """Connect if that is needed, and return the capabilities that the server declares.

        Raises:
            NoServerError: nothing there speaks the protocol.
            ServerFailedError: the server failed, or does not serve skills.
        """
        with self._lock:
            try:
                self._connect()
            except HttpStatusError as error:
                self.close()
                kind = UnreachableError if error.status in _REFUSED else NoServerError
                raise kind(_describe_status(error.status)) from None
            except (RpcError, ServerFailedError) as error:
                self.close()
                # A URL that cannot be reached may have a server at another time; a command that runs is not one.
                is_there = type(error) is not UnreachableError or self._transport.is_process
                if is_there and not self._has_answered and not isinstance(error, NotStartedError):
                    raise NoServerError(str(error)) from None
                if isinstance(error, RpcError):
                    raise ServerFailedError(str(error)) from None
                raise
            except BaseException:
                self.close()
                raise
            return self._capabilities

    def ask(self, method: str, params: Mapping[str, Any], limit: int = _MAX_PAGE_BYTES) -> dict[str, Any]:
        """Return the result of a request, connecting if that is needed.

        Raises:
            RpcError: the server answered with an error.
            ServerFailedError: the server failed or broke a rule.
        """
        with self._lock:
            try:
                self._connect()
                return self._send(method, params, limit, self._timeout)
            except RpcError:
                raise
            except BaseException:
                self.close()  # what a late answer belongs to would be unknown
                raise

    def list_skills(self) -> Iterator[tuple[list[Any], float]]:
        """Yield the entries of each page as the server sent them, and for how many seconds they are current.

        Raises:
            ServerFailedError: the server failed, broke a rule, or has too many skills.
        """
        cursor: str | None = None
        seen: set[str] = set()
        count = 0
        for _ in range(_MAX_PAGES):
            result = self._request("skills/list", {} if cursor is None else {"cursor": cursor}, _MAX_PAGE_BYTES)
            skills = result.get("skills")
            if not isinstance(skills, list):
                raise ServerFailedError("its list of skills is invalid")
            count += len(skills)
            yield skills[: len(skills) - max(0, count - MAX_SKILLS)], _seconds(result.get("ttlMs"))
            if count > MAX_SKILLS:
                raise ServerFailedError(f"it has more than {MAX_SKILLS:,} skills; the others are left out")
            cursor = result.get("nextCursor")
            if cursor is None:
                return
            if not isinstance(cursor, str) or len(cursor) > _MAX_CURSOR:
                raise ServerFailedError("its list of skills has an invalid cursor")
            if cursor in seen:
                raise ServerFailedError("its list of skills has no end: a cursor repeats")
            seen.add(cursor)
        raise ServerFailedError(f"its list of skills has more than {_MAX_PAGES:,} pages; the others are left out")

    def get_skill(self, uri: str) -> Any:
        """Return the entry of one skill as the server sent it.

        Raises:
            ServerFailedError: the server failed or broke a rule.
        """
        return self._request("skills/get", {"uri": uri}, _SMALL).get("skill")

    def read_resource(self, uri: str, size: int) -> bytes:
        """Return the bytes of a resource.

        Args:
            uri: of the resource.
            size: the bytes that are expected; an answer may be longer, but not by much.

        Raises:
            ServerFailedError: the server failed, broke a rule, or sent another resource.
        """
        # A character of a text may take six in JSON.
        result = self._request("resources/read", {"uri": uri}, 6 * size + _SMALL)
        contents = result.get("contents")
        if not isinstance(contents, list) or len(contents) != 1 or not isinstance(contents[0], dict):
            raise ServerFailedError("it did not send one resource")
        (content,) = contents
        if content.get("uri") != uri:
            raise ServerFailedError("it sent another resource")
        text, blob = content.get("text"), content.get("blob")
        if isinstance(text, str) and blob is None:
            try:
                return text.encode()
            except UnicodeEncodeError:
                raise ServerFailedError("it sent a text that is not Unicode") from None
        if isinstance(blob, str) and text is None:
            try:
                return base64.b64decode(blob, validate=True)
            except (binascii.Error, ValueError):
                raise ServerFailedError("it sent invalid base64") from None
        raise ServerFailedError("it sent a resource without content")

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _request(self, method: str, params: Mapping[str, Any], limit: int) -> dict[str, Any]:
        try:
            return self.ask(method, params, limit)
        except HttpStatusError as error:
            raise UnreachableError(_describe_status(error.status)) from None
        except RpcError as error:
            raise ServerFailedError(str(error)) from None

    def _connect(self) -> None:
        if self._version is None or not self._transport.is_open:
            self._negotiate()

    def _negotiate(self) -> None:
        """Find out which era of the protocol the server speaks, and whether it serves skills."""
        self._transport.close()
        self._version = MODERN
        try:
            found = self._send("server/discover", {}, _SMALL, min(self._timeout, _PROBE_SECONDS))
            is_modern = MODERN in _texts(found.get("supportedVersions"))
        except RpcError as error:
            data = error.data if isinstance(error.data, dict) else {}
            supported = _texts(data.get("supported"))
            if error.code == _UNSUPPORTED_VERSION and supported and not {*OLDER} & {*supported}:
                raise ServerFailedError("it speaks no version of the protocol that Prowess knows") from None
            is_modern = False
        except ServerFailedError:
            if not self._transport.is_process:
                raise
            # A process of the older era may end, or be silent, after a request that it does not know.
            self._transport.close()
            is_modern = False
        if not is_modern:
            self._version = None
            found = self._initialize()
        self._has_answered = True
        capabilities = found.get("capabilities")
        extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
        if not isinstance(extensions, dict) or not isinstance(extensions.get(EXTENSION), dict):
            raise ServerFailedError(f"it does not serve skills: it lacks the extension {quoted(EXTENSION)}")
        self._capabilities = found["capabilities"]

    def _initialize(self) -> dict[str, Any]:
        params = {"protocolVersion": OLDER[0], "capabilities": _CAPABILITIES, "clientInfo": _client_info()}
        found = self._send("initialize", params, _SMALL, self._timeout)
        version = found.get("protocolVersion")
        if version not in (*OLDER, MODERN):
            raise ServerFailedError("it speaks no version of the protocol that Prowess knows")
        self._version = version if version in OLDER else OLDER[0]
        message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        deadline = self._deadline(self._timeout)
        self._transport.request(None, message, {"MCP-Protocol-Version": self._version}, _SMALL, deadline)
        return found

    def _deadline(self, seconds: float) -> float:
        return min(time.monotonic() + seconds, self.until)

    def _send(self, method: str, params: Mapping[str, Any], limit: int, timeout: float) -> dict[str, Any]:
        self._number += 1
        headers = {"Mcp-Method": method} if self._version == MODERN else {}
        if self._version is not None:
            headers["MCP-Protocol-Version"] = self._version
        if self._version == MODERN:
            meta = {
                f"{_META}protocolVersion": MODERN,
                f"{_META}clientInfo": _client_info(),
                f"{_META}clientCapabilities": _CAPABILITIES,
            }
            params = {**params, "_meta": meta}
            if method == "resources/read":
                headers["Mcp-Name"] = header_value(params["uri"])
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        return self._transport.request(self._number, message, headers, limit, self._deadline(timeout))


_REFUSED = (401, 403, 407, 429)
"""Statuses of HTTP with which a server may refuse to answer."""
_CAPABILITIES: Mapping[str, Any] = {"extensions": {EXTENSION: {}}}


def _describe_status(status: int) -> str:
    if status in (401, 403):
        return f"it does not accept the token, or needs one (HTTP status {status})"
    return f"it answered with the HTTP status {status}, and not with the protocol"


def _client_info() -> dict[str, str]:
    return {"name": "prowess", "version": version("prowess")}


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _seconds(milliseconds: object) -> float:
    """Return for how long an answer is current: at most an hour."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return 0.0
    return min(max(milliseconds, 0), 3_600_000) / 1000  # limited first: JSON has numbers that no float holds
