"""Start a server of MCP as a process, and talk to it over its standard input and output.

The server is the user's own command. It gets few variables of the user's environment, works in the user's home rather
than in a project, whose files it might load, and ends with everything that it started.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress

from prowess._internal.text import describe_os_error, neutral
from prowess.errors import SandboxError
from prowess.sandbox import user_server_command, user_variables

from ._messages import (
    NotStartedError,
    ServerFailedError,
    UnreachableError,
    answer_to,
    encode,
    is_answer,
    parse,
    remaining,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO, Any

_MAX_ERROR_BYTES = 4096
"""Bytes that are kept of what a server writes to its error stream."""
_MAX_SHOWN = 200
_MAX_REQUESTS = 100
"""Requests of a server that are answered, between a request of ours and its answer."""
_NOISE = 1 << 20
"""Bytes of other messages that a server may send before its answer."""
_CHUNK = 1 << 16
_NOT_FOUND = {"code": -32601, "message": "Method not found"}


class StdioClient:
    """The process of a server; it starts with the first request, and again if it has ended.

    Args:
        argv: the command.
        env: further variables.
        cwd: its working directory.
    """

    is_process = True

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self._argv, self._env, self._cwd = tuple(argv), dict(env), cwd
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._received = bytearray()
        self._errors: IO[bytes] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stack": ExitStack(), "_process": None, "_received": bytearray(), "_errors": None}

    @property
    def is_open(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End the process and everything that it started."""
        process, self._process = self._process, None
        if self._errors is not None:
            self._errors.close()
        if process is not None:
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            try:
                process.wait(3)  # the supervisor gives the command a second after the end of its input
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._received.clear()
        self._stack.close()

    def request(
        self, number: int | None, message: Mapping[str, Any], headers: Mapping[str, str], limit: int, deadline: float
    ) -> dict[str, Any]:
        """Send a message, and return the result if it is a request; a notification has no number.

        Args:
            number: the id in the message.
            message: the request or notification.
            headers: of no use here.
            limit: bytes of the answer at most.
            deadline: on the clock `time.monotonic`.

        Raises:
            RpcError: the server answered with an error.
            ServerFailedError: it cannot be started, did not answer in time, or broke a rule.
        """
        del headers
        if not self.is_open:
            self._start()
        self._refuse_early_answers()
        self._send(message, limit, deadline)
        received, answered = 0, 0
        while number is not None:
            line = self._next_line(limit, deadline)
            received += len(line)
            if not line.lstrip().startswith(b"{"):
                other: dict[str, Any] = {}  # what a program prints when it starts
            else:
                other = parse(line)
                if (result := answer_to(number, other)) is not None:
                    return result
            if received > limit + _NOISE:
                raise ServerFailedError("it sent too much that is no answer")
            if "method" in other and "id" in other:
                answered += 1
                if answered > _MAX_REQUESTS:
                    raise ServerFailedError("it sent too many requests of its own")
                answer: dict[str, Any] = {"result": {}} if other["method"] == "ping" else {"error": _NOT_FOUND}
                self._send({"jsonrpc": "2.0", "id": other["id"], **answer}, limit, deadline)
        return {}

    def _start(self) -> None:
        if sys.platform == "win32":
            raise NotStartedError("servers that are commands are not supported on Windows")
        self.close()
        # Of a file, the supervisor keeps the last part.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        env = user_variables(os.environ) | self._env
        try:
            words = self._stack.enter_context(user_server_command(self._argv, cwd=self._cwd, env=env))
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                cwd="/",
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            reason = describe_os_error(error) if isinstance(error, OSError) else "invalid command"
            raise NotStartedError(f"it cannot be started: {reason}") from None
        except SandboxError as error:
            raise NotStartedError(f"it cannot be started: {error}") from None
        for stream in (self._process.stdin, self._process.stdout):
            os.set_blocking(stream.fileno(), False)  # type: ignore[union-attr]

    def _refuse_early_answers(self) -> None:
        """Check that the server has sent no answer since the last one.

        Raises:
            ServerFailedError: it has.
        """
        if self._process is None or self._process.stdout is None:
            return
        with suppress(OSError):
            self._received += os.read(self._process.stdout.fileno(), _CHUNK)
        *lines, _ = self._received.split(b"\n")
        if any(line.lstrip().startswith(b"{") and is_answer(parse(bytes(line))) for line in lines):
            raise ServerFailedError("it answered before it was asked")

    def _send(self, message: Mapping[str, Any], limit: int, deadline: float) -> None:
        """Write a message; meanwhile read what the server writes, so that neither waits for the other."""
        data = memoryview(encode(message) + b"\n")
        while data:
            data = data[self._wait(data, limit, deadline) :]

    def _next_line(self, limit: int, deadline: float) -> bytes:
        start = 0
        while (end := self._received.find(b"\n", start)) < 0:
            start = len(self._received)
            if start > limit:
                raise ServerFailedError(f"it sent a message of more than {limit:,} bytes")
            self._wait(None, limit, deadline)
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        if len(line) > limit:
            raise ServerFailedError(f"it sent a message of more than {limit:,} bytes")
        return line

    def _wait(self, data: memoryview | None, limit: int, deadline: float) -> int:
        """Wait until something can be read or written, and do it; return how many bytes were written."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise UnreachableError("it has ended")
        written, has_ended = 0, False
        with selectors.DefaultSelector() as selector:
            # A server that floods while a request is written is not read any further.
            if len(self._received) <= limit + _NOISE:
                selector.register(process.stdout, selectors.EVENT_READ)
            if data is not None:
                selector.register(process.stdin, selectors.EVENT_WRITE)
            ready = selector.select(remaining(deadline))
        try:
            for key, _ in ready:
                if key.fileobj is process.stdin and data is not None:
                    written = os.write(key.fd, data[:_CHUNK])
                    continue
                chunk = os.read(key.fd, _CHUNK)
                self._received += chunk
                has_ended = not chunk
        except BlockingIOError:
            pass
        except OSError:
            has_ended = True
        if has_ended:
            raise UnreachableError(f"it has ended{self._last_error()}")
        return written

    def _last_error(self) -> str:
        """Return the last line of the server's error stream, for an error."""
        if self._process is None or self._errors is None:
            return ""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2)  # the supervisor writes it at the end
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _MAX_ERROR_BYTES))
        text = self._errors.read(_MAX_ERROR_BYTES).decode("utf-8", "replace")
        lines = text.strip().splitlines()
        return f": {neutral(lines[-1][:_MAX_SHOWN])}" if lines else ""
