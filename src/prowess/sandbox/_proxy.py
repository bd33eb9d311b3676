"""Serve a command's way to the network: a proxy that connects only to what the rules allow.

It runs outside the sandbox, in a process of its own; only the socket it listens at is inside. A name is looked up once,
and the connection goes to the addresses that were checked. Each connection has a thread, one request, and limits.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from contextlib import suppress
from time import monotonic

from prowess._internal.text import neutral, quoted
from prowess.net import MAX_ADDRESSES, look_up_host

from ._proxy_requests import ProxyError, parse_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from prowess.net import NetworkRules

    from ._proxy_requests import ProxyRequest

_MAX_CONNECTIONS = 128
"""Connections at the same time; more of them wait."""
_MAX_HEAD_BYTES = 64 * 1024
_HEAD_TIMEOUT = 10.0
"""Seconds for the whole head of a request."""
_CONNECT_TIMEOUT = 10.0
"""Seconds for the connection to one address."""
_IDLE_TIMEOUT = 600.0
"""Seconds in which nothing is sent either way; the command's own timeout is usually shorter."""
_MAX_REPORTS = 20
_MAX_REPORT_BYTES = 1000
_CHUNK = 65536
"""Bytes that are kept in each direction at most."""
_FORBIDDEN = 403
_REASONS = {
    400: "Bad Request",
    _FORBIDDEN: "Refused",
    411: "Length Required",
    502: "Bad Gateway",
    504: "Gateway Timeout",
}


def serve(listener: socket.socket, rules: NetworkRules, control_fd: int, report_fd: int) -> NoReturn:
    """Serve connections until the other end of a pipe is closed, then end this process.

    Args:
        listener: accepts the connections of one command.
        rules: the hosts that it may reach.
        control_fd: the end of the pipe to read from.
        report_fd: a pipe that gets a line for each host that is refused, while it has room.
    """
    reported: set[str] = set()

    def report(error: ProxyError) -> None:
        line = neutral(f"{error}; {error.hint}" if error.hint else str(error))
        if line not in reported and len(reported) < _MAX_REPORTS:
            reported.add(line)
            with suppress(OSError):
                os.write(report_fd, line.encode()[:_MAX_REPORT_BYTES] + b"\n")

    threading.stack_size(512 * 1024)
    listener.setblocking(False)
    slots = threading.Semaphore(_MAX_CONNECTIONS)
    while True:
        has_slot = slots.acquire(blocking=False)
        poll = select.poll()
        poll.register(control_fd, select.POLLIN)
        if has_slot:
            poll.register(listener, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(None if has_slot else 20)}
        if control_fd in ready:
            os._exit(0)
        if has_slot and not _start(listener, slots, lambda client: _serve_client(client, rules, report)):
            slots.release()


def _start(listener: socket.socket, slots: threading.Semaphore, serve_client: Callable[[socket.socket], None]) -> bool:
    """Accept a connection and start its thread; return whether that worked."""
    try:
        client, _ = listener.accept()
    except OSError:
        return False

    def work() -> None:
        try:
            with client:
                serve_client(client)
        except OSError:
            pass  # one of the two ends is gone
        finally:
            slots.release()

    try:
        threading.Thread(target=work, daemon=True).start()
    except RuntimeError:  # the system has no threads left
        client.close()
        return False
    return True


def _serve_client(client: socket.socket, rules: NetworkRules, report: Callable[[ProxyError], None]) -> None:
    """Serve the one request of a connection.

    Raises:
        OSError: the client or the server is gone.
    """
    try:
        request, rest = _read_request(client)
        server = _connect(rules, request.host, request.port)
    except ProxyError as error:
        if error.status == _FORBIDDEN:
            report(error)
        _send_error(client, error)
        return
    with server:
        if request.body_size is None:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            _relay(client, server, rest, None)
        else:
            _relay(client, server, request.head + rest, request.body_size - len(rest))


def _read_request(client: socket.socket) -> tuple[ProxyRequest, bytes]:
    """Return a request, and what was read after its head.

    Raises:
        ProxyError: it is invalid or too long, or does not arrive in time.
        OSError: the client is gone.
    """
    data, deadline = b"", monotonic() + _HEAD_TIMEOUT
    while b"\r\n\r\n" not in data:
        if len(data) > _MAX_HEAD_BYTES:
            raise ProxyError(400, f"the head of the request is longer than {_MAX_HEAD_BYTES:,} bytes")
        client.settimeout(max(0.001, deadline - monotonic()))
        try:
            part = client.recv(_CHUNK)
        except TimeoutError:
            raise ProxyError(400, "the head of the request did not arrive in time") from None
        if not part:
            raise OSError
        data += part
    client.settimeout(_CONNECT_TIMEOUT)
    head, _, rest = data.partition(b"\r\n\r\n")
    request = parse_head(head)
    if request.body_size is not None and len(rest) > request.body_size:
        raise ProxyError(400, "more than one request on a connection")
    return request, rest


def _connect(rules: NetworkRules, host: str, port: int) -> socket.socket:
    """Connect to a host that the rules allow.

    Raises:
        ProxyError: they do not allow it, or it cannot be reached.
    """
    refusal = rules.refusal(host, port)
    addresses = () if refusal else look_up_host(host, port)
    refusal = refusal or rules.address_refusal(host, addresses)
    if refusal:
        raise ProxyError(_FORBIDDEN, refusal.message, refusal.hint)
    problem = ProxyError(502, f"host not found: {quoted(host)}")
    for address in addresses[:MAX_ADDRESSES]:
        try:
            return socket.create_connection((address, port), _CONNECT_TIMEOUT)
        except TimeoutError:
            problem = ProxyError(504, f"{quoted(host)} did not answer within {_CONNECT_TIMEOUT:g} seconds")
        except OSError as error:
            problem = ProxyError(502, f"no connection to {quoted(host)}, port {port}: {os.strerror(error.errno or 5)}")
    raise problem


def _send_error(client: socket.socket, error: ProxyError) -> None:
    """Send a response that says why a request is not served.

    Raises:
        OSError: the client is gone.
    """
    lines = [f"prowess: {error}", *([f"hint: {error.hint}"] if error.hint else ())]
    body = ("\n".join(map(neutral, lines)) + "\n").encode()
    # Many programs show the first line only.
    reason = f"{_REASONS[error.status]} by Prowess: {error}".encode("ascii", "replace")[:400]
    head = (
        b"HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    )
    client.settimeout(1)
    client.sendall(head % (error.status, reason, len(body)) + body)
    client.shutdown(socket.SHUT_WR)
    # If unread bytes are left, closing would destroy the response.
    for _ in range(16):
        if not client.recv(_CHUNK):
            break


class _Direction:
    """One direction of a connection.

    Args:
        source: where bytes come from.
        target: where they go.
        pending: bytes to send first.
        left: bytes that may still come from the source; `None` for all.
    """

    def __init__(self, source: socket.socket, target: socket.socket, pending: bytes, left: int | None) -> None:
        self._source, self._target, self._left = source, target, left
        self.pending, self.is_open = memoryview(pending), True

    def awaited(self) -> tuple[socket.socket, int] | None:
        """Return what this direction waits for; `None` if it is over."""
        if self.pending:
            return self._target, select.POLLOUT
        return (self._source, select.POLLIN) if self.is_open else None

    def step(self) -> None:
        """Send or read what is possible now.

        Raises:
            OSError: an end is gone, or sent more than its request.
        """
        with suppress(BlockingIOError):
            if self.pending:
                self.pending = self.pending[self._target.send(self.pending) :]
            elif self.is_open:
                part = self._source.recv(_CHUNK)
                if self._left is not None:
                    if len(part) > self._left:
                        raise OSError
                    self._left -= len(part)
                self.pending, self.is_open = memoryview(part), bool(part)
                if not part and self._left is None:
                    self._target.shutdown(socket.SHUT_WR)


def _relay(client: socket.socket, server: socket.socket, first: bytes, upload: int | None) -> None:
    """Pass bytes both ways until it is over.

    Args:
        client: the command's end.
        server: the other end.
        first: bytes for the server.
        upload: bytes of the client that follow; `None` for a tunnel.

    Raises:
        OSError: an end is gone.
    """
    for end in (client, server):
        end.setblocking(False)
    up, down = _Direction(client, server, first, upload), _Direction(server, client, b"", None)
    while upload is None or down.pending or down.is_open:
        awaited = [event for event in (up.awaited(), down.awaited()) if event is not None]
        poll = select.poll()
        for end in {end for end, _ in awaited}:
            poll.register(end, sum(mask for other, mask in awaited if other is end))
        if not awaited or not poll.poll(_IDLE_TIMEOUT * 1000):
            return
        up.step()
        down.step()
