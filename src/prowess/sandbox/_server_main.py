"""Run one command between the standard streams of this process, until it ends or the caller is gone.

The command reads this process's standard input and writes its standard output itself. That the caller is gone shows as
the end of the input, which is noticed without reading it, or as another parent process.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from time import monotonic

from prowess._internal.fs import READ_FLAGS, open_fd, remove_tree
from prowess._internal.processes import set_subreaper

from ._control_groups import leave_group, make_group
from ._messages import LENGTH_BYTES, decode
from ._process_tree import CallerGoneError, ProcessTree
from ._supervisor_main import make_wakeup_pipe, move_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from ._messages import Request

MAX_LOG_BYTES = 128 * 1024
"""Bytes of the error stream that are kept at most: the last ones, and never less than half of it."""
_END_OF_INPUT_TIMEOUT = 1.0
"""Seconds in which a command should end after its input has ended."""
_PARENT_CHECK_SECONDS = 5.0


def main(file: str) -> NoReturn:
    """Run the command of a request.

    Args:
        file: the request, which is removed with its folder at the end.
    """
    parent = os.getppid()
    request = _read_request(file)
    # No helper of the sandbox must keep the caller's streams open.
    streams = move_streams()
    tree = ServerTree(streams, make_wakeup_pipe(), parent, is_subreaper=set_subreaper())
    os.chdir("/")
    group = request["group"] = make_group(os.getpid()) if request["needs_group"] else None
    code = tree.serve(request)
    if group is not None:
        leave_group(group)
    remove_tree(os.path.dirname(file))
    os._exit(code)


def _read_request(file: str) -> Request:
    with open_fd(file, READ_FLAGS) as fd:
        size = os.fstat(fd).st_size
        data = b""
        while len(data) < size and (part := os.read(fd, size - len(data))):
            data += part
    os.unlink(file)
    request: Request = decode(data[LENGTH_BYTES:])
    return request


class _LogStream:
    """The error stream of the command; the end of it is kept in this process's own."""

    def __init__(self, fd: int, log_fd: int) -> None:
        self._fd, self._log_fd, self._position, self._last = fd, log_fd, 0, b""
        os.set_blocking(fd, False)

    def read_available(self) -> bool | None:
        """Read what is available; return False at the end, `None` if nothing is available now."""
        try:
            part = os.read(self._fd, MAX_LOG_BYTES // 4)
        except BlockingIOError:
            return None
        with suppress(OSError):
            self.write(part)
        return bool(part)

    def write(self, data: bytes) -> None:
        """Write to the log, from its start again when it is full. The caller reads it too, so no offset is shared."""
        if self._position + len(data) > MAX_LOG_BYTES:
            os.ftruncate(self._log_fd, 0)
            data, self._position = self._last + data, 0
        os.pwrite(self._log_fd, data, self._position)
        self._position += len(data)
        self._last = (self._last + data)[-MAX_LOG_BYTES // 2 :]


class ServerTree(ProcessTree):
    """A long-lived command and all processes that come from it.

    Args:
        streams: the standard streams of the caller.
        wakeup_fd: can be read after a signal.
        parent: the caller's process number.
        is_subreaper: whether orphans become children of this process.
    """

    captured = (2,)

    def __init__(self, streams: Sequence[int], wakeup_fd: int, parent: int, *, is_subreaper: bool) -> None:
        self._caller_input_fd, output_fd, self._log_fd = streams
        super().__init__(self._caller_input_fd, wakeup_fd, is_subreaper=is_subreaper)
        self.passed_streams = {0: self._caller_input_fd, 1: output_fd}
        self._parent = parent

    def serve(self, request: Request) -> int:
        """Run a command to its end, and return its exit code; 128 plus its number for a signal."""
        if request["needs_group"] and request["group"] is None:
            return self._fail("the control group that limits its memory cannot be made")
        try:
            self._start(request)
        except (OSError, ValueError) as error:
            words = error.strerror if isinstance(error, OSError) else str(error)
            return self._fail(f"it cannot be started: {words}")
        if self._network_error:
            return self._fail(f"it cannot be given the network: {self._network_error}")
        # Only the end of the input counts; what is in it is for the command.
        self._poll.modify(self._caller_input_fd, 0)
        self._streams = {fd: _LogStream(fd, self._log_fd) for fd in self._streams}  # type: ignore[misc]
        try:
            while not self._serve_until(monotonic() + _PARENT_CHECK_SECONDS):
                if os.getppid() != self._parent:
                    break
        except CallerGoneError:
            with suppress(CallerGoneError, KeyError):
                self._poll.unregister(self._caller_input_fd)
                self._serve_until(monotonic() + _END_OF_INPUT_TIMEOUT)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self._exit_status is None:
            with suppress(CallerGoneError):
                self._end_after_timeout()
        while not self.end():
            pass
        for stream in self._streams.values():
            # A process that escaped may have its other end and write on.
            for _ in range(16):
                if not stream.read_available():
                    break
        status = self._exit_status or 0
        return 128 - status if status < 0 else status

    def _fail(self, message: str) -> int:
        """Say in the log why there is no command, and return an exit code."""
        with suppress(OSError):
            os.write(self._log_fd, f"{message}\n".encode())
        while not self.end():
            pass
        return 127
