"""Run one command, and end every process that comes from it.

On Linux all orphans of the command become children of this process, whatever session or group they make for
themselves. So the tree has ended when there is no child left, and until then only children that were not waited for
are signalled: their process numbers cannot have been reused.
"""

from __future__ import annotations

import errno
import os
import select
import signal
from contextlib import suppress
from time import monotonic

from ._captured_stream import CapturedStream
from ._launch import Launch
from ._memory import MemoryGuard, killed_first
from ._processes import child_pids, children_of_processes, kill, terminate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._messages import Reply, Request
    from ._proxy_process import ProxyProcess

TERM_TIMEOUT = 0.5
"""Seconds between SIGTERM and SIGKILL."""
SETTLE_TIMEOUT = 0.05
"""Seconds in which what a command left running may end, as the reader of its output does."""
KILL_TIMEOUT = 1.9
"""Seconds after the end or the timeout of a command in which all must be gone; what stays waits for a dead disk."""
_USUAL_PRIORITY = os.getpriority(os.PRIO_PROCESS, 0)
_HIGH_PRIORITY = -20


class CallerGoneError(Exception):
    """The process that waits for the reply is gone."""


class ProcessTree:
    """A command and all processes that come from it.

    Args:
        request_fd: can be read when the caller is gone.
        wakeup_fd: can be read after a signal.
        is_subreaper: whether orphans become children of this process.
    """

    captured: tuple[int, ...] = (1, 2)
    """The descriptors of the command that this process reads."""
    passed_streams: Mapping[int, int] = {}
    """Other descriptors of the command, to those of this process that it gets."""

    def __init__(self, request_fd: int, wakeup_fd: int, *, is_subreaper: bool) -> None:
        self._request_fd, self._wakeup_fd, self._is_subreaper = request_fd, wakeup_fd, is_subreaper
        self._command_pid = 0
        self._exit_status: int | None = None
        self._no_children = True
        self._uses_bwrap = False
        self._streams: dict[int, CapturedStream] = {}
        self._input_fd = -1
        self._unsent_input = memoryview(b"")
        self._poll = select.poll()
        self._proxy: ProxyProcess | None = None
        self._network_error = ""
        self._layer_error = 0
        self._refused_hosts: list[str] = []
        self._memory: MemoryGuard | None = None

    def run(self, request: Request) -> Reply:
        """Start a command and return how it ended.

        Raises:
            CallerGoneError: the caller is gone.
        """
        start = monotonic()
        try:
            try:
                self._start(request)
            except (OSError, ValueError) as error:
                return _reply(error=getattr(error, "errno", None) or errno.EINVAL, layer_error=self._layer_error)
            timed_out = not self._serve_until(start + request["timeout"])
            self._end_proxy()
            deadline = monotonic() + KILL_TIMEOUT
            killed = self._end_after_timeout() if timed_out else self._settle()
            all_ended = self.end(deadline)
            for stream in self._streams.values():
                stream.drain()
            stdout, stderr = self._streams.values()
            return _reply(
                network_error=self._network_error,
                status=self._exit_status or 0,
                timed_out=timed_out,
                stdout=stdout.head(),
                stderr=stderr.head(),
                sizes=(stdout.size, stderr.size),
                duration=monotonic() - start,
                killed=killed,
                refused_hosts=self._refused_hosts,
                out_of_memory=self._memory is not None and self._memory.end(),
                out_of_space=self._memory is not None and self._memory.out_of_space,
                has_survivors=not all_ended,
            )
        finally:
            _set_priority(_USUAL_PRIORITY)
            if self._memory is not None:
                self._memory.end()
            self._close()

    # ── starting ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, request: Request) -> None:
        """Start the command.

        Raises:
            OSError: it cannot be started.
            ValueError: the same.
        """
        self._uses_bwrap = bool(request["bwrap_files"])
        launch = Launch(request)
        self._memory = MemoryGuard(request)
        streams: dict[int, int] = {}
        try:
            if request["stdin"]:
                streams[0], self._input_fd = os.pipe()
                os.set_blocking(self._input_fd, False)
                self._unsent_input = memoryview(request["stdin"])
                self._write_input()
            elif self._uses_bwrap and 0 not in self.passed_streams:
                # Not the machine's /dev/null, whose permissions root could change by its descriptor.
                streams[0], writer = os.pipe()
                os.close(writer)
            for number in self.captured:
                ours, streams[number] = os.pipe()
                self._streams[ours] = CapturedStream(ours, request["output"])
            self._memory.begin()
            with killed_first():
                self._command_pid = launch.spawn({**self.passed_streams, **streams})
            self._no_children = False
        finally:
            for fd in streams.values():
                os.close(fd)
            launch.finish()
            self._proxy, self._network_error, self._layer_error = (
                launch.proxy,
                launch.network_error,
                launch.layer_error,
            )
        for fd in (*self._streams, self._wakeup_fd, self._request_fd):
            self._poll.register(fd, select.POLLIN)

    # ── running ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _serve_until(self, deadline: float, *, whole_tree: bool = False) -> bool:
        """Pass input and output until the command has ended; return whether it ended in time.

        Args:
            deadline: when to stop waiting.
            whole_tree: wait for everything that comes from the command, too.

        Raises:
            CallerGoneError: the caller is gone.
        """
        while not self._reap() if whole_tree else self._exit_status is None:
            left = deadline - monotonic()
            if left <= 0:
                return False
            look = 60.0 if self._memory is None else self._memory.check()
            for fd, _ in self._poll.poll(max(0.0, min(left, 60, look)) * 1000 + 0.9):
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
        """Write as much of the input as the command accepts."""
        try:
            while self._unsent_input:
                self._unsent_input = self._unsent_input[os.write(self._input_fd, self._unsent_input[: 1 << 20]) :]
        except BlockingIOError:
            self._poll.register(self._input_fd, select.POLLOUT)
            return
        except OSError:
            pass  # the command has closed its input
        with suppress(KeyError):
            self._poll.unregister(self._input_fd)
        os.close(self._input_fd)
        self._input_fd = -1

    def _reap(self) -> bool:
        """Collect the children that have ended; return whether there are no children left."""
        try:
            while not self._no_children:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return False
                if pid == self._command_pid:
                    self._exit_status = os.waitstatus_to_exitcode(status)
                elif self._proxy is not None and pid == self._proxy.pid:
                    self._proxy.has_ended = True
        except ChildProcessError:
            self._no_children = True
            # Only if another process took the status of the command.
            self._exit_status = 0 if self._exit_status is None else self._exit_status
        return True

    # ── ending ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _end_proxy(self) -> None:
        """Close the command's way to the network; what is left of the command is about to end."""
        if self._proxy is not None:
            self._refused_hosts = self._proxy.end()
            self._proxy = None

    def _end_after_timeout(self) -> int:
        """Ask all processes to end, and wait a moment; return how many there are besides the command."""
        _set_priority(_HIGH_PRIORITY)
        count = self._terminate_all()
        self._serve_until(monotonic() + TERM_TIMEOUT, whole_tree=True)
        return count

    def _settle(self) -> int:
        """Wait a moment for the rest of a command that has ended; return how many processes are still running."""
        if not self._serve_until(monotonic() + SETTLE_TIMEOUT, whole_tree=True):
            _set_priority(_HIGH_PRIORITY)
            # With bwrap its first process may only be slow to end; without it, something was still there.
            return max(len(self._descendants()), not self._uses_bwrap)
        return 0 if self._is_subreaper else self._kill_group()

    def _terminate_all(self) -> int:
        """Ask all processes to end; return how many there are besides the command."""
        descendants = self._descendants()
        if not self._uses_bwrap:
            with suppress(OSError):
                os.killpg(self._command_pid, signal.SIGTERM)
        for pid, group, start in descendants:
            if self._uses_bwrap or group != self._command_pid:
                terminate(pid, start)
        return max(0, len(descendants) - self._uses_bwrap)

    def end(self, deadline: float | None = None) -> bool:
        """Kill until nothing is left; return False if something is left at the deadline."""
        self._end_proxy()
        if self._command_pid and self._exit_status is None and not self._is_subreaper:
            self._kill_group()
        if self._reap():
            return True
        _set_priority(_HIGH_PRIORITY)
        return self._kill_all(monotonic() + KILL_TIMEOUT if deadline is None else deadline)

    def _kill_all(self, deadline: float) -> bool:
        wakeup = select.poll()
        wakeup.register(self._wakeup_fd, select.POLLIN)
        killed: set[int] = set()
        while not self._reap():
            if monotonic() > deadline:
                return False
            pids = set(child_pids() or (() if self._exit_status is not None else (self._command_pid,)))
            new_pids = pids - killed
            _kill_with_groups(new_pids)
            # Do not wait while there are new ones: they fork faster.
            if not new_pids and not self._reap() and wakeup.poll(5):
                self._drain_wakeup()
                pids = set()
            killed = pids
        return True

    def _kill_group(self) -> int:
        """Kill the rest of the command's group, if orphans go to another process; return 1 if there was a rest."""
        try:
            os.killpg(self._command_pid, signal.SIGKILL)
        except OSError:
            return 0
        return 1

    def _descendants(self) -> list[tuple[int, int, int]]:
        """Return the number, group and start time of each process besides the command, or of each inside bwrap."""
        own_pid, children = os.getpid(), children_of_processes()
        # The first two processes of bwrap are bwrap itself: the one outside, and the first one inside.
        descendants, parents = [], [own_pid]
        while parents:
            parent = parents.pop()
            for process in children.get(parent, ()):
                parents.append(process[0])
                is_own = parent in (own_pid, self._command_pid) if self._uses_bwrap else process[0] == self._command_pid
                if not is_own:
                    descendants.append(process)
        return descendants

    def _close(self) -> None:
        self._end_proxy()
        for fd in (*self._streams, *((self._input_fd,) if self._input_fd >= 0 else ())):
            os.close(fd)
        self._input_fd = -1


def _kill_with_groups(pids: set[int]) -> None:
    """Kill processes, and the groups they are in."""
    # At once, before anything else: some fork and exit every other millisecond.
    for pid in pids:
        kill(pid)
    # A whole group dies together: nothing in it can fork any more. Processes with groups of their own become children
    # of this process when their parent has died, so the next round finds them.
    groups = set()
    for pid in pids:
        with suppress(OSError):
            groups.add(os.getpgid(pid))
    # The proxy may not have left the group of this process yet.
    for group in groups - {os.getpgrp()}:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)


def _set_priority(value: int) -> None:
    """Run before other processes, if this process may."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, value)


def _reply(**values: object) -> Reply:
    """Return a reply with some values; the others say that nothing has happened."""
    reply: Reply = {
        "error": 0,
        "layer_error": 0,
        "network_error": "",
        "status": 0,
        "timed_out": False,
        "stdout": b"",
        "stderr": b"",
        "sizes": (0, 0),
        "duration": 0.0,
        "killed": 0,
        "refused_hosts": [],
        "out_of_memory": False,
        "out_of_space": False,
        "has_survivors": False,
    }
    reply.update(values)  # type: ignore[typeddict-item]
    return reply
