"""a request -> a process tree that has ended, and how

On Linux all orphans of the tree come to this process, whatever session or group they made for themselves. So the tree
has ended when there is no child any more, and until then only children that were not waited for are signalled: their
numbers cannot have gone to somebody else.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import select
import signal
import sys
from contextlib import suppress
from time import monotonic, sleep

from ._running import children, count_tasks, processes, terminate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Request(TypedDict):
        """A command to start; what passes between processes is a plain dict of these."""

        path: bytes
        """Of the program."""
        argv: list[bytes]
        env: dict[bytes, bytes]
        """All of its environment."""
        cwd: bytes
        stdin: bytes
        args: bytes
        """What bwrap reads from descriptor 3; empty without bwrap."""
        limits: dict[str, int]
        """By the names in `_LIMITS`."""
        timeout: float
        """Seconds."""
        output: int
        """Bytes of each stream that are kept."""
        contained: bool

    class Reply(TypedDict):
        """How a command ended."""

        error: int
        """The system's number for why it could not be started; 0 if it was."""
        status: int
        """Its exit code; below 0 the signal that ended it."""
        timed_out: bool
        stdout: bytes
        stderr: bytes
        sizes: tuple[int, int]
        """Bytes written to each stream, kept or not."""
        duration: float
        """Seconds."""
        killed: int
        """Processes that were still running when the command had ended."""
        left: bool
        """Whether a process could not be ended in time."""


__all__ = ["CallerGoneError", "ProcessTree"]

TERM_TIMEOUT = 0.5
"""Seconds that a tree has to end in after it was asked to."""
SETTLE_TIMEOUT = 0.05
"""Seconds that what a command left running has to end in by itself, as one does that reads what it wrote."""
KILL_TIMEOUT = 1.9
"""Seconds after a command's end or its time in which all must be gone; what is not waits for a dead disk, say."""
_CHUNK = 65536
_GATE_ARGUMENTS = [b"--info-fd", b"4", b"--block-fd", b"5"]
"""What bwrap is told of the gate, behind its `--args 3`."""
_INFO_TIMEOUT = 5.0
"""Seconds in which bwrap tells of its first process, or has failed."""
_MAX_SPAWN_TRIES = 20
"""Times that a program is tried which another process still seems to write."""
_LIMITS = {
    "memory": resource.RLIMIT_DATA,
    "file_size": resource.RLIMIT_FSIZE,
    "descriptors": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "core": resource.RLIMIT_CORE,
}
_USUAL_PRIORITY = os.getpriority(os.PRIO_PROCESS, 0)
_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


class CallerGoneError(Exception):
    """Nobody waits for the answer any more."""


class _CapturedStream:
    """What comes out of a pipe: its beginning, and how much it was."""

    def __init__(self, fd: int, most: int) -> None:
        self.fd, self.size = fd, 0
        self._parts: list[bytes] = []
        self._capacity = most
        os.set_blocking(fd, False)

    def read_available(self) -> bool | None:
        """Take in what there is; False at the end, None where there is nothing now."""
        try:
            part = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return None
        self.size += len(part)
        if self._capacity > 0 and part:
            self._parts.append(part[: self._capacity])
            self._capacity -= len(part)
        return bool(part)

    def head(self) -> bytes:
        return b"".join(self._parts)


class ProcessTree:
    """A command and all that comes from it."""

    def __init__(self, requests: int, wake: int, *, is_subreaper: bool) -> None:
        self._request_fd, self._wakeup_fd, self._is_subreaper = requests, wake, is_subreaper
        self._command_pid = 0
        self._exit_status: int | None = None
        self._no_children = True
        self._sandboxed = False
        self._streams: dict[int, _CapturedStream] = {}
        self._input_fd = -1
        self._unsent_input = memoryview(b"")
        self._poll = select.poll()

    def run(self, request: Request) -> Reply:
        """Start a command and return how it ended."""
        timeout, self._sandboxed = request["timeout"], request["contained"]
        killed = 0
        begun = monotonic()
        try:
            try:
                self._start(request)
            except (OSError, ValueError) as error:
                number = getattr(error, "errno", None) or errno.EINVAL
                return _reply(error=number)
            timed_out = not self._serve_until(begun + timeout, whole=False)
            due = monotonic() + KILL_TIMEOUT
            if timed_out:
                _set_priority(-20)
                killed = self._terminate_all()
                self._serve_until(monotonic() + TERM_TIMEOUT, whole=True)
            elif not self._serve_until(monotonic() + SETTLE_TIMEOUT, whole=True):
                _set_priority(-20)
                # Behind a wall its first process may only be slow to end; without one, something was there.
                killed = max(len(self._descendants()), not self._sandboxed)
            elif not self._is_subreaper:
                killed = self._kill_group()
            ended = self.end(due)
            self._drain()
            (out, err) = self._streams.values()
            return _reply(
                status=self._exit_status or 0,
                timed_out=timed_out,
                stdout=out.head(),
                stderr=err.head(),
                sizes=(out.size, err.size),
                duration=monotonic() - begun,
                killed=killed,
                left=not ended,
            )
        finally:
            _set_priority(_USUAL_PRIORITY)
            self._close()

    # ── starting ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, request: Request) -> None:
        argv, args, limits = request["argv"], request["args"], request["limits"]
        given: dict[int, int] = {}
        after: dict[int, int] = {}
        told = go = -1
        try:
            if request["stdin"]:
                given[0], self._input_fd = os.pipe()
                os.set_blocking(self._input_fd, False)
                self._unsent_input = memoryview(request["stdin"])
                self._write_input()
            for fd in (1, 2):
                ours, given[fd] = os.pipe()
                self._streams[ours] = _CapturedStream(ours, request["output"])
            if args:
                given[3] = _move_fd_high(os.memfd_create("args"))
                os.write(given[3], args)
                os.lseek(given[3], 0, os.SEEK_SET)
                told, go, given[4], given[5] = _make_gate()
                argv = [*argv[:3], *_GATE_ARGUMENTS, *argv[3:]]
            os.chdir(request["cwd"])
            before = {_LIMITS[name]: resource.getrlimit(_LIMITS[name]) for name in limits}
            after = {
                _LIMITS[name]: _effective_limit(name, value, before[_LIMITS[name]][1]) for name, value in limits.items()
            }
            try:
                for limit, value in after.items():
                    resource.setrlimit(limit, (value, before[limit][1]))
                self._command_pid = _spawn(request["path"], argv, request["env"], given)
                self._no_children = False
            finally:
                for limit, pair in before.items():
                    resource.setrlimit(limit, pair)
                os.chdir("/")
            if sys.platform == "linux":
                _set_limits(self._command_pid, after)
        finally:
            for fd in given.values():
                os.close(fd)
            if told >= 0:
                _open_gate(told, go, after)
        for ours in self._streams:
            self._poll.register(ours, select.POLLIN)
        for fd in (self._wakeup_fd, self._request_fd):
            self._poll.register(fd, select.POLLIN)

    # ── while it runs ────────────────────────────────────────────────────────────────────────────────────────────────

    def _serve_until(self, until: float, *, whole: bool) -> bool:
        """Feed the command and take in what it writes, until it has ended; say whether it did so in time.

        Args:
            until: when to stop waiting.
            whole: wait for all that comes from it, too.

        Raises:
            CallerGoneError: nobody waits for the answer any more.
        """
        while not self._reap() if whole else self._exit_status is None:
            left = until - monotonic()
            if left <= 0:
                return False
            for fd, _ in self._poll.poll(min(left, 60) * 1000 + 0.9):
                if fd == self._wakeup_fd:
                    self._drain_wakeup()
                    self._reap()
                elif fd == self._request_fd:
                    raise CallerGoneError
                elif fd == self._input_fd:
                    self._write_input()
                elif self._streams[fd].read_available() is False:
                    self._poll.unregister(fd)
        return True

    def _drain_wakeup(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wakeup_fd, 4096)

    def _write_input(self) -> None:
        """Give the command as much of its input as it takes."""
        try:
            while self._unsent_input:
                self._unsent_input = self._unsent_input[os.write(self._input_fd, self._unsent_input[: 1 << 20]) :]
        except BlockingIOError:
            self._poll.register(self._input_fd, select.POLLOUT)
            return
        except OSError:
            pass  # it does not want it
        with suppress(KeyError):
            self._poll.unregister(self._input_fd)
        os.close(self._input_fd)
        self._input_fd = -1

    def _reap(self) -> bool:
        """Take note of children that have ended; say whether there are none left."""
        try:
            while not self._no_children:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return False
                if pid == self._command_pid:
                    self._exit_status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            self._no_children = True
            # The last resort, should somebody have taken the command's status.
            self._exit_status = 0 if self._exit_status is None else self._exit_status
        return True

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _terminate_all(self) -> int:
        """Ask all to end; return how many they are besides the command."""
        inner = self._descendants()
        if not self._sandboxed:
            with suppress(OSError):
                os.killpg(self._command_pid, signal.SIGTERM)
        for pid, group, start in inner:
            if self._sandboxed or group != self._command_pid:
                terminate(pid, start)
        return max(0, len(inner) - self._sandboxed)

    def end(self, due: float | None = None) -> bool:
        """Kill until nothing is left; False if something is left when that is due."""
        if self._command_pid and self._exit_status is None and not self._is_subreaper:
            self._kill_group()
        if self._reap():
            return True
        _set_priority(-20)
        return self._kill_all(monotonic() + KILL_TIMEOUT if due is None else due)

    def _kill_all(self, until: float) -> bool:
        waiting = select.poll()
        waiting.register(self._wakeup_fd, select.POLLIN)
        killed: set[int] = set()
        while not self._reap():
            if monotonic() > until:
                return False
            found = set(children() or (() if self._exit_status is not None else (self._command_pid,)))
            new = found - killed
            # At once, before anything else is asked: some fork and go every other millisecond.
            for pid in new:
                _kill(pid)
            # A whole group dies together: nothing in it can fork any more. Those who made groups of their own become
            # children of this process when what they come from has died, so the next round finds them.
            groups = set()
            for pid in new:
                with suppress(OSError):
                    groups.add(os.getpgid(pid))
            for group in groups:
                with suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
            # Whoever waits while there are new ones is outrun.
            if not new and not self._reap() and waiting.poll(5):
                self._drain_wakeup()
                found = set()
            killed = found
        return True

    def _kill_group(self) -> int:
        """Kill what is left of the command's group, where orphans go elsewhere; return 1 if there was something."""
        try:
            os.killpg(self._command_pid, signal.SIGKILL)
        except OSError:
            return 0
        return 1

    def _descendants(self) -> list[tuple[int, int, int]]:
        """Return what runs besides the command, or behind a wall: process, its group and when it began."""
        me, below = os.getpid(), dict[int, list[tuple[int, int, int]]]()
        for pid, parent, group, start in processes():
            below.setdefault(parent, []).append((pid, group, start))
        # Behind a wall the first two are the wall itself: what built it, and the first process of the inside.
        found, todo = [], [me]
        while todo:
            parent = todo.pop()
            for process in below.get(parent, ()):
                todo.append(process[0])
                if parent not in (me, self._command_pid) if self._sandboxed else process[0] != self._command_pid:
                    found.append(process)
        return found

    def _drain(self) -> None:
        """Take in what is left in the pipes, of which only a stranger can still hold the other end."""
        for stream in self._streams.values():
            for _ in range(64):
                if not stream.read_available():
                    break

    def _close(self) -> None:
        for fd in (*self._streams, *((self._input_fd,) if self._input_fd >= 0 else ())):
            os.close(fd)
        self._input_fd = -1


def _reply(
    *,
    error: int = 0,
    status: int = 0,
    timed_out: bool = False,
    stdout: bytes = b"",
    stderr: bytes = b"",
    sizes: tuple[int, int] = (0, 0),
    duration: float = 0.0,
    killed: int = 0,
    left: bool = False,
) -> Reply:
    return {
        "error": error,
        "status": status,
        "timed_out": timed_out,
        "stdout": stdout,
        "stderr": stderr,
        "sizes": sizes,
        "duration": duration,
        "killed": killed,
        "left": left,
    }


def _spawn(path: bytes, argv: list[bytes], env: dict[bytes, bytes], given: dict[int, int]) -> int:
    """Start a program in a session of its own.

    Args:
        path: of the program.
        argv: what it is told.
        env: all of its environment.
        given: the numbers its descriptors have there, to ours.

    Raises:
        OSError: it cannot be started.
    """
    actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in given.items()]
    for _ in range(_MAX_SPAWN_TRIES):
        try:
            return os.posix_spawn(path, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_SIGNALS)
        except OSError as error:
            # A process that was forked while the program was written may hold it open until it starts its own.
            if error.errno != errno.ETXTBSY:
                raise
            sleep(0.01)
    raise OSError(errno.ETXTBSY, os.strerror(errno.ETXTBSY))


def _kill(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _set_priority(by: int) -> None:
    """Go before others, where this process may."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, by)


def _move_fd_high(fd: int) -> int:
    """Move a descriptor out of the way of those that a command is given."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


def _make_gate() -> tuple[int, int, int, int]:
    """Return what bwrap tells its first process by and waits at before it starts the command: our ends, then its."""
    (told, tells), (waits, go) = os.pipe(), os.pipe()
    return _move_fd_high(told), _move_fd_high(go), _move_fd_high(tells), _move_fd_high(waits)


def _open_gate(told: int, go: int, limits: dict[int, int]) -> None:
    """Lower the limits of bwrap's first process, so that all that comes from it has them; then let it begin."""
    try:
        data = b""
        while (b"}" not in data) and select.select([told], [], [], _INFO_TIMEOUT)[0] and (part := os.read(told, 4096)):
            data += part
        digits = data.partition(b'"child-pid":')[2].lstrip()
        pid = int(digits[: len(digits) - len(digits.lstrip(b"0123456789"))] or b"0")
        if pid:
            _set_limits(pid, limits)
        with suppress(OSError):
            os.write(go, b"go")
    finally:
        os.close(told)
        os.close(go)


def _set_limits(pid: int, limits: dict[int, int]) -> None:
    for limit, value in limits.items():
        with suppress(OSError, ValueError):
            resource.prlimit(pid, limit, (value, value))


def _effective_limit(name: str, value: int, hard: int) -> int:
    """Return the limit to set: no higher than is allowed."""
    if name == "processes":
        # The system counts all that its user runs, here and elsewhere: as many as there are may be his.
        running = count_tasks()
        if not running:
            return hard
        value += running
    return value if hard < 0 else min(value, hard)
