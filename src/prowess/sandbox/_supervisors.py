"""Start supervisors, small processes that run one command at a time, and pass them requests.

There is one supervisor for each command that runs at the same time, kept for the next one. The caller's own threads,
children and signals stay as they are. A supervisor that loses its caller ends what it had started.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from time import monotonic, sleep

from prowess._internal.files import package_folder
from prowess._internal.fs import write_all
from prowess._internal.text import describe_os_error
from prowess.errors import SandboxError

from ._control_groups import is_usable, make_group, remove_group
from ._messages import LENGTH_BYTES, decode, send_message
from ._processes import kill, pids_with_environment
from ._programs import python_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from ._messages import Reply, Request

_MAX_IDLE = 8
"""Supervisors that wait for the next command at most."""
_HANG_TIMEOUT = 10.0
"""Seconds after a command's timeout when its supervisor counts as hung."""
_END_TIMEOUT = 3.0
"""Seconds in which a supervisor must end everything and itself."""
_SUPERVISOR_CODE = "import sys; sys.path.append(sys.argv[1]); from prowess.sandbox._supervisor_main import main; main()"
_IDLE: list[_Supervisor] = []
_ALL: set[_Supervisor] = set()


def run_supervised(request: Request, marker: bytes) -> Reply:
    """Run a command to its end, and return once nothing of it is left.

    Args:
        request: the command.
        marker: bytes in the environment of its processes and of no others, by which they are found as a last resort.

    Raises:
        SandboxError: a supervisor cannot be started or was killed, or `stop` was called.
    """
    scopes = _SCOPES.get()
    for scope in scopes:
        scope.require_running()
    supervisor = _send(request, marker)
    try:
        for scope in scopes:
            scope.add(supervisor.stop)
        reply = supervisor.receive(request["timeout"] + _HANG_TIMEOUT)
    except BaseException:
        for scope in scopes:
            scope.discard(supervisor.stop)
        supervisor.end(marker)
        raise
    stopped = [scope.discard(supervisor.stop) for scope in scopes]
    if reply is None:
        supervisor.end(marker)
        raise SandboxError("the command was stopped, with everything it had started", hint="run it again")
    if reply["has_survivors"] or len(_IDLE) >= _MAX_IDLE or any(stopped):
        supervisor.release()
    else:
        _IDLE.append(supervisor)
    return reply


class CommandScope:
    """The commands of a block of code, which may run in other threads with its context.

    They are stopped if an exception ends the block: `with CommandScope(): await asyncio.to_thread(call)` ends the
    command that a cancelled call runs. A block inside another one belongs to both scopes.
    """

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._commands: set[Callable[[], None]] = set()
        self._is_stopped = False

    def __enter__(self) -> Self:
        _SCOPES.set((*_SCOPES.get(), self))
        return self

    def __exit__(self, error: object, *_: object) -> None:
        _SCOPES.set(_SCOPES.get()[:-1])
        if error is not None:
            self.stop()

    def stop(self) -> None:
        """End the commands that are running, and start no other one: the calls get a `SandboxError`."""
        with self._lock:
            self._is_stopped = True
            for stop_command in self._commands:
                stop_command()

    def require_running(self) -> None:
        """Check that the commands were not stopped.

        Raises:
            SandboxError: they were.
        """
        if self._is_stopped:
            raise SandboxError("the command was not started, because what it was for has ended")

    def add(self, stop_command: Callable[[], None]) -> None:
        """Note what stops a command of the block that runs."""
        with self._lock:
            self._commands.add(stop_command)
            if self._is_stopped:
                stop_command()

    def discard(self, stop_command: Callable[[], None]) -> bool:
        """Note that a command has ended; return whether it may have been stopped."""
        with self._lock:
            self._commands.discard(stop_command)
            return self._is_stopped


_SCOPES: ContextVar[tuple[CommandScope, ...]] = ContextVar("command scopes", default=())
"""Those of the blocks that this code runs in, the innermost last."""


@contextmanager
def stopped_by_scopes(stop_command: Callable[[], None]) -> Iterator[None]:
    """Let the scopes around a block stop a command that is not one of `run`.

    Args:
        stop_command: does not wait for its end.
    """
    scopes = _SCOPES.get()
    try:
        for scope in scopes:
            scope.add(stop_command)
        yield
    finally:
        for scope in scopes:
            scope.discard(stop_command)


def _send(request: Request, marker: bytes) -> _Supervisor:
    """Send a request to an idle supervisor, or to a new one if those were killed while they were idle.

    Raises:
        SandboxError: no supervisor can be started.
    """
    while True:
        try:
            supervisor, is_new = _IDLE.pop(), False
        except IndexError:
            supervisor, is_new = _Supervisor(), True
        request["group"] = supervisor.group
        try:
            if request["needs_group"]:
                supervisor.require_group()
            supervisor.send(request)
        except BrokenPipeError:
            supervisor.end(marker)
            if is_new:
                raise SandboxError("the supervisor of commands ended at once", hint=_python_hint()) from None
        except BaseException:
            supervisor.end(marker)
            raise
        else:
            return supervisor


def stop() -> None:
    """End all commands that are running in any thread of this process; their callers get a `SandboxError`.

    For programs that start commands in threads: Ctrl-C reaches the main thread only.
    """
    with suppress(IndexError):
        while True:
            _IDLE.pop().release()
    for supervisor in tuple(_ALL):
        supervisor.stop()


class _Supervisor:
    """A process that runs commands, one at a time.

    Raises:
        SandboxError: it cannot be started.
    """

    def __init__(self) -> None:
        if not sys.executable:
            raise SandboxError("the path of this Python is unknown", hint="start Prowess with a `python3` command")
        (request_read, self._request_fd), (self._reply_fd, reply_write) = _pipe(), _pipe()
        env = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
        argv = [python_program(), "-I", "-S", "-c", _SUPERVISOR_CODE, os.path.dirname(package_folder())]
        actions = [
            (os.POSIX_SPAWN_DUP2, request_read, 0),
            (os.POSIX_SPAWN_DUP2, reply_write, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        try:
            self._pid = os.posix_spawn(argv[0], argv, {**env, "LANG": "C.UTF-8"}, file_actions=actions, setsigmask=())
        except OSError as error:
            self.close()
            message = f"the supervisor of commands cannot be started: {describe_os_error(error)}"
            raise SandboxError(message, hint=_python_hint()) from None
        finally:
            os.close(request_read)
            os.close(reply_write)
        # While it loads its modules.
        self.group = make_group(self._pid) if is_usable() else None
        _ALL.add(self)

    def require_group(self) -> None:
        """Check that a control group counts the memory of its commands.

        Raises:
            SandboxError: none could be made, although one could before.
        """
        if self.group is None:
            message = "the control group that limits the memory of a command cannot be made"
            raise SandboxError(message, hint="run it again: memory is then limited without one")

    def send(self, request: Request) -> None:
        """Send a request.

        Raises:
            BrokenPipeError: the supervisor is gone.
        """
        send_message(self._request_fd, request)

    def receive(self, timeout: float) -> Reply | None:
        """Wait for the reply; return `None` if there will not be one."""
        import select

        poll = select.poll()
        poll.register(self._reply_fd, select.POLLIN)
        deadline = monotonic() + timeout
        data, size = bytearray(), LENGTH_BYTES
        while len(data) < size:
            left = deadline - monotonic()
            # The system cannot wait for longer than some weeks at once.
            if not poll.poll(max(0.0, min(left, 3600)) * 1000):
                if left <= 0:
                    return None
                continue
            part = os.read(self._reply_fd, 1 << 20)
            if not part:
                return None
            data += part
            if size == LENGTH_BYTES and len(data) >= LENGTH_BYTES:
                size += int.from_bytes(data[:LENGTH_BYTES], "big")
        reply: Reply = decode(memoryview(data)[LENGTH_BYTES:])
        return reply

    def stop(self) -> None:
        """Make it end everything it started, and itself."""
        with suppress(OSError):
            if os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                os.kill(self._pid, 15)

    def end(self, marker: bytes) -> None:
        """End it and everything it started, and wait for that."""
        import select

        try:
            self.stop()
            os.close(self._request_fd)
            self._request_fd = -1
            poll = select.poll()
            poll.register(self._reply_fd, select.POLLIN)
            deadline = monotonic() + _END_TIMEOUT
            while (left := deadline - monotonic()) > 0:
                if poll.poll(left * 1000) and not os.read(self._reply_fd, 1 << 20):
                    break
            else:
                kill(self._pid)
        finally:
            self.release()
            _kill_marked(marker)
            if self.group is not None:
                remove_group(self.group)

    def release(self) -> None:
        """Close the pipes to a supervisor that has ended, or is about to, and wait for it."""
        _ALL.discard(self)
        with suppress(OSError):
            write_all(self._request_fd, bytes(LENGTH_BYTES))  # its group is removed here
        self.close()
        with suppress(OSError):
            os.waitpid(self._pid, 0)
        if self.group is not None:
            remove_group(self.group)

    def close(self) -> None:
        """Close the pipes to it."""
        for fd in (self._request_fd, self._reply_fd):
            if fd >= 0:
                os.close(fd)
        self._request_fd = self._reply_fd = -1


def _close_all_after_fork() -> None:
    for supervisor in tuple(_ALL):
        supervisor.close()
    _ALL.clear()
    _IDLE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all_after_fork)


def _python_hint() -> str:
    return f"check that `{sys.executable} -I -c pass` works"


def _pipe() -> tuple[int, int]:
    """Make a pipe whose ends are not standard streams, even if those are closed."""
    import fcntl

    ends = os.pipe()
    if min(ends) > 2:
        return ends
    moved = (fcntl.fcntl(ends[0], fcntl.F_DUPFD_CLOEXEC, 3), fcntl.fcntl(ends[1], fcntl.F_DUPFD_CLOEXEC, 3))
    for fd in ends:
        os.close(fd)
    return moved


def _kill_marked(marker: bytes) -> None:
    """Kill every process with a marker in its environment: the last resort when a supervisor was killed."""
    for _ in range(20):
        pids = pids_with_environment(marker)
        if not pids:
            return
        for pid in pids:
            kill(pid)
        sleep(0.01)
