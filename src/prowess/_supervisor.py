"""requests on standard input -> process trees that have ended

Runs as a process of its own, which `process` starts; the caller's process is left as it is. On Linux it is the one to
which every orphan below it goes (`PR_SET_CHILD_SUBREAPER`), whatever session or group it made for itself. So a tree has
ended when there is no child any more, and until then only children that were not waited for are signalled: their
numbers cannot have gone to somebody else. It serves one request at a time, and ends all when its caller is gone.

    request = length marshal((path, argv, env, cwd, stdin, args, limits, timeout, output, walled))
    reply   = length marshal((error, status, timed_out, stdout, stderr, sizes, duration, killed, lost))
    length  = 8 bytes, the highest first
"""

from __future__ import annotations

import errno
import fcntl
import marshal
import os
import resource
import select
import signal
import sys
from contextlib import suppress
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    Request = tuple[bytes, list[bytes], dict[bytes, bytes], bytes, bytes, bytes, dict[str, int], float, int, bool]
    Reply = tuple[int, int, bool, bytes, bytes, tuple[int, int], float, int, bool]

__all__ = ["main"]

GRACE = 0.5
"""Seconds that a tree has to end in after it was asked to."""
SETTLE = 0.05
"""Seconds that what a command left running has to end in by itself, as one does that reads what it wrote."""
LOST = 1.2
"""Seconds after which a process that was killed is told to be beyond killing, as one is that waits for a dead disk."""
_CHUNK = 65536
_TRIES = 20
"""Times that a program is tried which another process still seems to write."""
_LIMITS = {
    "memory": resource.RLIMIT_DATA,
    "file_size": resource.RLIMIT_FSIZE,
    "descriptors": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "core": resource.RLIMIT_CORE,
}
_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


class _GoneError(Exception):
    """Nobody waits for the answer any more."""


def main() -> NoReturn:
    """Serve requests until there are no more."""
    with suppress(OSError):
        os.setsid()
    requests, replies, wake = _channels()
    adopts = _adopt()
    os.chdir("/")
    while True:
        request: Request = marshal.loads(_message(requests))  # noqa: S302 - from who started this process
        tree = _Tree(requests, wake, adopts=adopts)
        try:
            reply = tree.run(request)
            data = marshal.dumps(reply)
            left = memoryview(len(data).to_bytes(8, "big") + data)
            while left:
                left = left[os.write(replies, left) :]
        except (_GoneError, OSError, MemoryError):
            reply = None
        if reply is None or reply[-1]:
            while not tree.end():
                pass
            os._exit(0)


def _channels() -> tuple[int, int, int]:
    """Keep what was given for speaking with the caller, let go of all else, and hear of signals.

    Returns:
        Descriptors: of requests, of replies, and one that can be read after a signal.
    """
    requests, replies = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (0, 1))
    # What the caller had left inheritable is none of a command's business.
    highest = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.closerange(3, min(requests, replies))
    os.closerange(max(requests, replies) + 1, 1 << 20 if highest < 0 else min(highest, 1 << 20))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    wake, heard = os.pipe()
    for fd in (wake, heard):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(heard, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, _stop)
    return requests, replies, wake


def _stop(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _GoneError


def _adopt() -> bool:
    """Have orphans come to this process, and say whether the system can do so."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        done: int = ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    except (ImportError, OSError, AttributeError):
        return False
    return done == 0


def _message(fd: int) -> bytes:
    """Return the next request; the process ends where there is none."""
    return _exactly(fd, int.from_bytes(_exactly(fd, 8), "big"))


def _exactly(fd: int, size: int) -> bytes:
    parts = []
    while size:
        try:
            part = os.read(fd, min(size, 1 << 20))
        except (_GoneError, OSError):
            part = b""
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


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


class _Tree:
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
        timeout, self._walled = request[7], request[9]
        killed = 0
        begun = monotonic()
        try:
            try:
                self._start(request)
            except (OSError, ValueError) as error:
                number = getattr(error, "errno", None) or errno.EINVAL
                return number, 0, False, b"", b"", (0, 0), 0.0, 0, False
            timed_out = not self._serve(begun + timeout, whole=False)
            if timed_out:
                killed = self._ask()
                self._serve(monotonic() + GRACE, whole=True)
            elif not self._serve(monotonic() + SETTLE, whole=True):
                # Behind a wall its first process may only be slow to end; without one, something was there.
                killed = max(len(self._inner()), not self._walled)
            elif not self._adopts:
                killed = self._end_group()
            ended = self.end()
            self._drain()
            (out, err) = self._streams.values()
            took = monotonic() - begun
            status = self._status or 0
            return 0, status, timed_out, out.head(), err.head(), (out.size, err.size), took, killed, not ended
        finally:
            self._close()

    # ── starting ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, request: Request) -> None:
        path, argv, env, cwd, stdin, args, limits, _, output, _ = request
        given: dict[int, int] = {}
        try:
            if stdin:
                given[0], self._input = os.pipe()
                os.set_blocking(self._input, False)
                self._unread = memoryview(stdin)
                self._feed()
            for fd in (1, 2):
                ours, given[fd] = os.pipe()
                self._streams[ours] = _Stream(ours, output)
            if args:
                given[3] = os.memfd_create("args")
                os.write(given[3], args)
                os.lseek(given[3], 0, os.SEEK_SET)
            os.chdir(cwd)
            before = {_LIMITS[name]: resource.getrlimit(_LIMITS[name]) for name in limits}
            after = {_LIMITS[name]: _lowered(name, value, before[_LIMITS[name]][1]) for name, value in limits.items()}
            try:
                for limit, value in after.items():
                    resource.setrlimit(limit, (value, before[limit][1]))
                self._command = _spawned(path, argv, env, given)
                self._empty = False
            finally:
                for limit, pair in before.items():
                    resource.setrlimit(limit, pair)
                os.chdir("/")
            if sys.platform == "linux":
                for limit, value in after.items():
                    with suppress(OSError, ValueError):
                        resource.prlimit(self._command, limit, (value, value))
        finally:
            for fd in given.values():
                os.close(fd)
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
            _GoneError: nobody waits for the answer any more.
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
                    raise _GoneError
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
                _ask(pid, start)
        return max(0, len(inner) - self._walled)

    def end(self) -> bool:
        """Kill until nothing is left; False if something would not die for a while."""
        until = monotonic() + LOST
        if self._command and self._status is None and not self._adopts:
            self._end_group()
        while not self._reap():
            if monotonic() > until:
                return False
            # A whole group dies at once: nothing in it can fork any more. Those who made groups of their own become
            # children of this process when what they come from has died, so the next round finds them.
            groups = set()
            for pid in self._children():
                with suppress(OSError):
                    groups.add(os.getpgid(pid))
            for group in groups:
                with suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
            waiting = select.poll()
            waiting.register(self._wake, select.POLLIN)
            if not self._reap() and waiting.poll(5):
                self._hear()
        return True

    def _end_group(self) -> int:
        """Kill what is left of the command's group, where orphans go elsewhere; return 1 if there was something."""
        try:
            os.killpg(self._command, signal.SIGKILL)
        except OSError:
            return 0
        return 1

    def _children(self) -> list[int]:
        """Return the children of this process; each is there until it was waited for."""
        me = os.getpid()
        try:
            return [int(pid) for pid in _read(f"/proc/self/task/{me}/children").split()]
        except OSError:
            found = [pid for pid, parent, *_ in _processes() if parent == me]
            return found or ([self._command] if self._status is None else [])

    def _inner(self) -> list[tuple[int, int, int]]:
        """Return what runs besides the command, or behind a wall: process, its group and when it began."""
        me, below = os.getpid(), dict[int, list[tuple[int, int, int]]]()
        for pid, parent, group, start in _processes():
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


def _lowered(name: str, value: int, hard: int) -> int:
    """Return the limit to set: no higher than is allowed."""
    if name == "processes":
        # The system counts all that its user runs, here and elsewhere: as many as there are may be his.
        try:
            value += int(_read("/proc/loadavg").split()[3].partition(b"/")[2])
        except (OSError, ValueError, IndexError):
            return hard
    return value if hard < 0 else min(value, hard)


def _processes() -> list[tuple[int, int, int, int]]:
    """Return what runs on this machine: process, parent, group and when it began."""
    found = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                fields = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()
                if fields[0] not in (b"Z", b"X"):
                    found.append((int(name), int(fields[1]), int(fields[2]), int(fields[19])))
    return found


def _ask(pid: int, start: int) -> None:
    """Ask a process to end, if it is still the one that began then."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        fd = os.pidfd_open(pid)
        try:
            if int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[19]) == start:
                signal.pidfd_send_signal(fd, signal.SIGTERM)
        finally:
            os.close(fd)


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(fd, _CHUNK):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)
