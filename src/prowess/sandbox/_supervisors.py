"""a request -> how the process tree of a command ended

Commands are started by supervisors: small processes of Prowess, one for each command that runs at the same time, kept
for the next one. The caller's process is nobody's parent but theirs: its threads, its children and its signals stay as
they are. A supervisor that loses its caller ends what it had started.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from time import monotonic, sleep

from prowess._internal.files import package_folder
from prowess._internal.text import describe_os_error
from prowess.errors import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._process_tree import Reply, Request

__all__ = ["run_supervised", "stop"]

_MAX_IDLE = 8
"""Supervisors that wait for the next command at most."""
_HANG_TIMEOUT = 10.0
"""Seconds after a command's limit when its supervisor is taken to hang."""
_END_TIMEOUT = 3.0
"""Seconds a supervisor has to end all and itself."""
_SUPERVISOR_CODE = "import sys; sys.path.append(sys.argv[1]); from prowess.sandbox._supervisor_main import main; main()"
_IDLE: list[_Supervisor] = []
_ALL: set[_Supervisor] = set()


def run_supervised(request: Request, mark: bytes) -> Reply:
    """Run a command to its end, and return once nothing of it is left.

    Args:
        request: as `_supervisor` describes it.
        mark: what the environment of its processes holds and no other, by which they are found should all else fail.

    Raises:
        SandboxError: whoever watches it cannot be started, or was killed; or `stop` was called.
    """
    for fresh in (False, True):
        try:
            supervisor = _IDLE.pop()
        except IndexError:
            supervisor = _Supervisor()
            fresh = True
        try:
            supervisor.send(request)
            break
        except BrokenPipeError:  # it was killed while it waited
            supervisor.end(mark)
            if fresh:
                raise SandboxError(
                    "the process that watches over commands ended at once",
                    hint=f"see whether `{sys.executable} -I -c pass` works",
                ) from None
        except BaseException:
            supervisor.end(mark)
            raise
    try:
        reply = supervisor.reply(request["timeout"] + _HANG_TIMEOUT)
    except BaseException:
        supervisor.end(mark)
        raise
    if reply is None:
        supervisor.end(mark)
        raise SandboxError("the command was stopped, and all it had started", hint="run it again")
    if reply["left"] or len(_IDLE) >= _MAX_IDLE:
        supervisor.release()
    else:
        _IDLE.append(supervisor)
    return reply


def stop() -> None:
    """End all commands that run now in any thread of this process; whoever waits for one gets a `SandboxError`.

    For who starts commands in threads and is interrupted: Ctrl-C reaches the main thread only.
    """
    with suppress(IndexError):
        while True:
            _IDLE.pop().release()
    for supervisor in tuple(_ALL):
        supervisor.stop()


class _Supervisor:
    """A process that starts commands, one at a time."""

    def __init__(self) -> None:
        if not sys.executable:
            raise SandboxError("nothing tells where this Python is", hint="start Prowess with a `python3` command")
        (taken, self._request_fd), (self._reply_fd, given) = _pipe(), _pipe()
        env = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
        argv = [sys.executable, "-I", "-S", "-c", _SUPERVISOR_CODE, os.path.dirname(package_folder())]
        actions = [
            (os.POSIX_SPAWN_DUP2, taken, 0),
            (os.POSIX_SPAWN_DUP2, given, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        try:
            self._pid = os.posix_spawn(
                sys.executable, argv, {**env, "LANG": "C.UTF-8"}, file_actions=actions, setsigmask=()
            )
        except OSError as error:
            self._close()
            words = f"the process that watches over commands cannot be started: {describe_os_error(error)}"
            raise SandboxError(words, hint=f"see whether `{sys.executable} -I -c pass` works") from None
        finally:
            os.close(taken)
            os.close(given)
        _ALL.add(self)

    def send(self, request: Request) -> None:
        """Have a command started.

        Raises:
            BrokenPipeError: the supervisor is gone.
        """
        import marshal

        data = marshal.dumps(dict(request))
        left = memoryview(len(data).to_bytes(8, "big") + data)
        while left:
            left = left[os.write(self._request_fd, left) :]

    def reply(self, timeout: float) -> Reply | None:
        """Wait for the answer; None if there will be none."""
        import marshal
        import select

        poll = select.poll()
        poll.register(self._reply_fd, select.POLLIN)
        until = monotonic() + timeout
        data, size = bytearray(), 8
        while len(data) < size:
            left = until - monotonic()
            # Long waits are cut, for what the system takes has an end.
            if not poll.poll(max(0.0, min(left, 3600)) * 1000):
                if left <= 0:
                    return None
                continue
            part = os.read(self._reply_fd, 1 << 20)
            if not part:
                return None
            data += part
            if size == 8 and len(data) >= 8:
                size += int.from_bytes(data[:8], "big")
        reply: Reply = marshal.loads(memoryview(data)[8:])  # noqa: S302 - from a process of our own
        return reply

    def stop(self) -> None:
        """Have it end all it started, and itself."""
        with suppress(OSError):
            if os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                os.kill(self._pid, 15)

    def end(self, mark: bytes) -> None:
        """End it and all it started; return when that is done."""
        import select

        try:
            self.stop()
            os.close(self._request_fd)
            self._request_fd = -1
            poll = select.poll()
            poll.register(self._reply_fd, select.POLLIN)
            until = monotonic() + _END_TIMEOUT
            while (left := until - monotonic()) > 0:
                if poll.poll(left * 1000) and not os.read(self._reply_fd, 1 << 20):
                    break
            else:
                with suppress(OSError):
                    os.kill(self._pid, 9)
        finally:
            self.release()
            _kill_marked(mark)

    def release(self) -> None:
        """Let go of one that has ended, or is about to."""
        _ALL.discard(self)
        self._close()
        with suppress(OSError):
            os.waitpid(self._pid, 0)

    def _close(self) -> None:
        for fd in (self._request_fd, self._reply_fd):
            if fd >= 0:
                os.close(fd)
        self._request_fd = self._reply_fd = -1

    def close_after_fork(self) -> None:
        """Let go of one that belongs to the process this one was forked from."""
        self._close()


def _close_all_after_fork() -> None:
    for supervisor in tuple(_ALL):
        supervisor.close_after_fork()
    _ALL.clear()
    _IDLE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all_after_fork)


def _pipe() -> tuple[int, int]:
    """Make a pipe whose ends are no standard streams, also where those are closed."""
    import fcntl

    ends = os.pipe()
    if min(ends) > 2:
        return ends
    moved = (fcntl.fcntl(ends[0], fcntl.F_DUPFD_CLOEXEC, 3), fcntl.fcntl(ends[1], fcntl.F_DUPFD_CLOEXEC, 3))
    for fd in ends:
        os.close(fd)
    return moved


def _kill_marked(mark: bytes) -> None:
    """Kill whatever has a mark in its environment: all that can be told when a supervisor was killed."""
    for _ in range(20):
        found = False
        try:
            names = os.listdir("/proc")
        except OSError:
            return
        for name in names:
            if name.isdecimal() and int(name) != os.getpid():
                with suppress(OSError):
                    fd = os.open(f"/proc/{name}/environ", os.O_RDONLY | os.O_CLOEXEC)
                    try:
                        marked = mark in os.read(fd, 1 << 17)
                    finally:
                        os.close(fd)
                    if marked:
                        found = True
                        os.kill(int(name), 9)
        if not found:
            return
        sleep(0.01)
