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

from ._running import ask, children, processes, tasks

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


__all__ = ["GoneError", "Tree"]

GRACE = 0.5
"""Seconds that a tree has to end in after it was asked to."""
SETTLE = 0.05
"""Seconds that what a command left running has to end in by itself, as one does that reads what it wrote."""
LOST = 1.9
"""Seconds after a command's end or its time in which all must be gone; what is not waits for a dead disk, say."""
_CHUNK = 65536
_GATE = [b"--info-fd", b"4", b"--block-fd", b"5"]
"""What bwrap is told of the gate, behind its `--args 3`."""
_TOLD = 5.0
"""Seconds in which bwrap tells of its first process, or has failed."""
_TRIES = 20
"""Times that a program is tried which another process still seems to write."""
_LIMITS = {
    "memory": resource.RLIMIT_DATA,
    "file_size": resource.RLIMIT_FSIZE,
    "descriptors": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "core": resource.RLIMIT_CORE,
}
_USUAL = os.getpriority(os.PRIO_PROCESS, 0)
_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


class GoneError(Exception):
    """Nobody waits for the answer any more."""


class _Stream:
    """What comes out of a pipe: its beginning, and how much it was."""

    def __init__(self, fd: int, most: int) -> None:
        self.fd, self.size = fd, 0
        self._parts: list[bytes] = []
        self._left = most
        os.set_blocking(fd, False)

    def take(self) -> bool | None:
        """Take in what there is; False at the end, None where there is nothing now."""
        try:
            part = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return None
        self.size += len(part)
        if self._left > 0 and part:
            self._parts.append(part[: self._left])
            self._left -= len(part)
        return bool(part)

    def head(self) -> bytes:
        return b"".join(self._parts)


class Tree:
    """A command and all that comes from it."""

    def __init__(self, requests: int, wake: int, *, adopts: bool) -> None:
        self._requests, self._wake, self._adopts = requests, wake, adopts
        self._command = 0
        self._status: int | None = None
        self._empty = True
        self._walled = False
        self._streams: dict[int, _Stream] = {}
        self._input = -1
        self._unread = memoryview(b"")
        self._poll = select.poll()

    def run(self, request: Request) -> Reply:
        """Start a command and return how it ended."""
        timeout, self._walled = request["timeout"], request["contained"]
        killed = 0
        begun = monotonic()
        try:
            try:
                self._start(request)
            except (OSError, ValueError) as error:
                number = getattr(error, "errno", None) or errno.EINVAL
                return _reply(error=number)
            timed_out = not self._serve(begun + timeout, whole=False)
            due = monotonic() + LOST
            if timed_out:
                _hurry(-20)
                killed = self._ask()
                self._serve(monotonic() + GRACE, whole=True)
            elif not self._serve(monotonic() + SETTLE, whole=True):
                _hurry(-20)
                # Behind a wall its first process may only be slow to end; without one, something was there.
                killed = max(len(self._inner()), not self._walled)
            elif not self._adopts:
                killed = self._end_group()
            ended = self.end(due)
            self._drain()
            (out, err) = self._streams.values()
            return _reply(
                status=self._status or 0,
                timed_out=timed_out,
                stdout=out.head(),
                stderr=err.head(),
                sizes=(out.size, err.size),
                duration=monotonic() - begun,
                killed=killed,
                left=not ended,
            )
        finally:
            _hurry(_USUAL)
            self._close()

    # ── starting ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, request: Request) -> None:
        argv, args, limits = request["argv"], request["args"], request["limits"]
        given: dict[int, int] = {}
        after: dict[int, int] = {}
        told = go = -1
        try:
            if request["stdin"]:
                given[0], self._input = os.pipe()
                os.set_blocking(self._input, False)
                self._unread = memoryview(request["stdin"])
                self._feed()
            for fd in (1, 2):
                ours, given[fd] = os.pipe()
                self._streams[ours] = _Stream(ours, request["output"])
            if args:
                given[3] = _high(os.memfd_create("args"))
                os.write(given[3], args)
                os.lseek(given[3], 0, os.SEEK_SET)
                told, go, given[4], given[5] = _gate()
                argv = [*argv[:3], *_GATE, *argv[3:]]
            os.chdir(request["cwd"])
            before = {_LIMITS[name]: resource.getrlimit(_LIMITS[name]) for name in limits}
            after = {_LIMITS[name]: _lowered(name, value, before[_LIMITS[name]][1]) for name, value in limits.items()}
            try:
                for limit, value in after.items():
                    resource.setrlimit(limit, (value, before[limit][1]))
                self._command = _spawned(request["path"], argv, request["env"], given)
                self._empty = False
            finally:
                for limit, pair in before.items():
                    resource.setrlimit(limit, pair)
                os.chdir("/")
            if sys.platform == "linux":
                _lower(self._command, after)
        finally:
            for fd in given.values():
                os.close(fd)
            if told >= 0:
                _let_in(told, go, after)
        for ours in self._streams:
            self._poll.register(ours, select.POLLIN)
        for fd in (self._wake, self._requests):
            self._poll.register(fd, select.POLLIN)

    # ── while it runs ────────────────────────────────────────────────────────────────────────────────────────────────

    def _serve(self, until: float, *, whole: bool) -> bool:
        """Feed the command and take in what it writes, until it has ended; say whether it did so in time.

        Args:
            until: when to stop waiting.
            whole: wait for all that comes from it, too.

        Raises:
            GoneError: nobody waits for the answer any more.
        """
        while not self._reap() if whole else self._status is None:
            left = until - monotonic()
            if left <= 0:
                return False
            for fd, _ in self._poll.poll(min(left, 60) * 1000 + 0.9):
                if fd == self._wake:
                    self._hear()
                    self._reap()
                elif fd == self._requests:
                    raise GoneError
                elif fd == self._input:
                    self._feed()
                elif self._streams[fd].take() is False:
                    self._poll.unregister(fd)
        return True

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake, 4096)

    def _feed(self) -> None:
        """Give the command as much of its input as it takes."""
        try:
            while self._unread:
                self._unread = self._unread[os.write(self._input, self._unread[: 1 << 20]) :]
        except BlockingIOError:
            self._poll.register(self._input, select.POLLOUT)
            return
        except OSError:
            pass  # it does not want it
        with suppress(KeyError):
            self._poll.unregister(self._input)
        os.close(self._input)
        self._input = -1

    def _reap(self) -> bool:
        """Take note of children that have ended; say whether there are none left."""
        try:
            while not self._empty:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return False
                if pid == self._command:
                    self._status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            self._empty = True
            # The last resort, should somebody have taken the command's status.
            self._status = 0 if self._status is None else self._status
        return True

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _ask(self) -> int:
        """Ask all to end; return how many they are besides the command."""
        inner = self._inner()
        if not self._walled:
            with suppress(OSError):
                os.killpg(self._command, signal.SIGTERM)
        for pid, group, start in inner:
            if self._walled or group != self._command:
                ask(pid, start)
        return max(0, len(inner) - self._walled)

    def end(self, due: float | None = None) -> bool:
        """Kill until nothing is left; False if something is left when that is due."""
        if self._command and self._status is None and not self._adopts:
            self._end_group()
        if self._reap():
            return True
        _hurry(-20)
        return self._kill_all(monotonic() + LOST if due is None else due)

    def _kill_all(self, until: float) -> bool:
        waiting = select.poll()
        waiting.register(self._wake, select.POLLIN)
        killed: set[int] = set()
        while not self._reap():
            if monotonic() > until:
                return False
            found = set(children() or (() if self._status is not None else (self._command,)))
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
                self._hear()
                found = set()
            killed = found
        return True

    def _end_group(self) -> int:
        """Kill what is left of the command's group, where orphans go elsewhere; return 1 if there was something."""
        try:
            os.killpg(self._command, signal.SIGKILL)
        except OSError:
            return 0
        return 1

    def _inner(self) -> list[tuple[int, int, int]]:
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
                if parent not in (me, self._command) if self._walled else process[0] != self._command:
                    found.append(process)
        return found

    def _drain(self) -> None:
        """Take in what is left in the pipes, of which only a stranger can still hold the other end."""
        for stream in self._streams.values():
            for _ in range(64):
                if not stream.take():
                    break

    def _close(self) -> None:
        for fd in (*self._streams, *((self._input,) if self._input >= 0 else ())):
            os.close(fd)
        self._input = -1


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


def _spawned(path: bytes, argv: list[bytes], env: dict[bytes, bytes], given: dict[int, int]) -> int:
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
    for _ in range(_TRIES):
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


def _hurry(by: int) -> None:
    """Go before others, where this process may."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, by)


def _high(fd: int) -> int:
    """Move a descriptor out of the way of those that a command is given."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


def _gate() -> tuple[int, int, int, int]:
    """Return what bwrap tells its first process by and waits at before it starts the command: our ends, then its."""
    (told, tells), (waits, go) = os.pipe(), os.pipe()
    return _high(told), _high(go), _high(tells), _high(waits)


def _let_in(told: int, go: int, limits: dict[int, int]) -> None:
    """Lower the limits of bwrap's first process, so that all that comes from it has them; then let it begin."""
    try:
        data = b""
        while (b"}" not in data) and select.select([told], [], [], _TOLD)[0] and (part := os.read(told, 4096)):
            data += part
        digits = data.partition(b'"child-pid":')[2].lstrip()
        pid = int(digits[: len(digits) - len(digits.lstrip(b"0123456789"))] or b"0")
        if pid:
            _lower(pid, limits)
        with suppress(OSError):
            os.write(go, b"go")
    finally:
        os.close(told)
        os.close(go)


def _lower(pid: int, limits: dict[int, int]) -> None:
    for limit, value in limits.items():
        with suppress(OSError, ValueError):
            resource.prlimit(pid, limit, (value, value))


def _lowered(name: str, value: int, hard: int) -> int:
    """Return the limit to set: no higher than is allowed."""
    if name == "processes":
        # The system counts all that its user runs, here and elsewhere: as many as there are may be his.
        running = tasks()
        if not running:
            return hard
        value += running
    return value if hard < 0 else min(value, hard)
