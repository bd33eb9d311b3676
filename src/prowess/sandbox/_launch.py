"""Start the program of a command: in its own session, with its limits, and with bwrap behind a gate.

bwrap reports its first process and waits before it starts the command, so that the limits are set on that process
first, and everything that comes from it has them.
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
from time import sleep

from prowess._internal.fs import write_all
from prowess._internal.layers import mount_layers

from ._processes import count_tasks, kill
from ._proxy_settings import PORT_PLACEHOLDER, PROXY_VARIABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._messages import Request
    from ._proxy_process import ProxyProcess

LIMITS = {
    "memory": resource.RLIMIT_DATA,
    "file_size": resource.RLIMIT_FSIZE,
    "descriptors": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "core": resource.RLIMIT_CORE,
}
_INFO_FD, _BLOCK_FD = 4, 5
"""Descriptors of bwrap: what it reports, and what it waits for; those it reads are in `bwrap_files`."""
_GATE_ARGUMENTS = [b"--info-fd", b"4", b"--block-fd", b"5"]
"""Arguments of bwrap for its gate, after `--args 3`."""
_INFO_TIMEOUT = 5.0
"""Seconds in which bwrap reports its first process, or has failed."""
_MAX_SPAWN_TRIES = 20
"""Attempts to start a program that another process still seems to write."""
_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


class Launch:
    """One start of a command: `spawn`, then `finish`.

    Raises:
        OSError: the system has no descriptors left.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._limits: dict[int, int] = {}
        self._descriptors: dict[int, int] = {}
        """Numbers that descriptors of bwrap have there, to ours."""
        self._info_fd = self._block_fd = -1
        self.proxy: ProxyProcess | None = None
        self.network_error = ""
        """Why there is no proxy although the command needs one: it is not started then."""
        self.layer_error = 0
        """The error number if a layer over a folder cannot be made: the command is not started then."""

    def spawn(self, streams: Mapping[int, int]) -> int:
        """Start the program, and return its process number.

        Args:
            streams: the numbers that descriptors have in the command, to ours.

        Raises:
            OSError: it cannot be started.
            ValueError: a limit is invalid.
        """
        request, argv = self._request, self._request["argv"]
        if request["bwrap_files"]:
            self._prepare_gate(request["bwrap_files"])
            argv = [*argv[:3], *_GATE_ARGUMENTS, *argv[3:]]
        elif request["network"] is not None:
            argv = self._with_port(argv, self._start_proxy(request["network"]))
        os.chdir(request["cwd"])
        old_limits = {LIMITS[name]: resource.getrlimit(LIMITS[name]) for name in request["limits"]}
        for name, value in request["limits"].items():
            self._limits[LIMITS[name]] = _effective_limit(name, value, old_limits[LIMITS[name]][1])
        try:
            for limit, value in self._limits.items():
                resource.setrlimit(limit, (value, old_limits[limit][1]))
            descriptors = {**streams, **self._descriptors}
            if request["layers"]:
                pid = self._spawn_in_layers(argv, descriptors)
            else:
                pid = _spawn(request["path"], argv, request["env"], descriptors)
        finally:
            for limit, values in old_limits.items():
                resource.setrlimit(limit, values)
            os.chdir("/")
        if sys.platform == "linux":
            _set_limits(pid, self._limits)
        return pid

    def _spawn_in_layers(self, argv: list[bytes], descriptors: Mapping[int, int]) -> int:
        """Start the program in a process that first puts layers over folders.

        Raises:
            OSError: it cannot be started.
        """
        request, (problem_fd, child_fd) = self._request, os.pipe()
        pid = os.fork()
        if not pid:
            step = b"L"
            try:
                mount_layers(request["layers"])
                step = b"S"
                os.setsid()
                for signal_number in _SIGNALS:
                    signal.signal(signal_number, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_SETMASK, ())
                child_fd = _move_fd_high(child_fd)
                for theirs, ours in descriptors.items():
                    os.dup2(ours, theirs)
                os.execve(request["path"], argv, request["env"])  # noqa: S606 - as `posix_spawn` below
            except Exception as error:  # noqa: BLE001 - this process ends
                number = getattr(error, "errno", None) or errno.EINVAL
                os.write(child_fd, step + str(number).encode())
            finally:
                os._exit(127)
        os.close(child_fd)
        try:
            problem = os.read(problem_fd, 16)
        finally:
            os.close(problem_fd)
        if not problem:
            return pid
        os.waitpid(pid, 0)
        number = int(problem[1:])
        if problem[:1] == b"L":
            self.layer_error = number
        raise OSError(number, os.strerror(number))

    def finish(self) -> None:
        """Let bwrap start the command, and close the descriptors that were made for it."""
        for fd in self._descriptors.values():
            os.close(fd)
        self._descriptors.clear()
        if self._info_fd >= 0:
            self._open_gate()

    def _prepare_gate(self, files: Mapping[int, bytes]) -> None:
        for number, data in files.items():
            self._descriptors[number] = fd = _move_fd_high(os.memfd_create("bwrap"))
            write_all(fd, data)
            os.lseek(fd, 0, os.SEEK_SET)
        (info_read, info_write), (block_read, block_write) = os.pipe(), os.pipe()
        self._info_fd, self._block_fd = _move_fd_high(info_read), _move_fd_high(block_write)
        self._descriptors[_INFO_FD], self._descriptors[_BLOCK_FD] = _move_fd_high(info_write), _move_fd_high(block_read)

    def _open_gate(self) -> None:
        """Set the limits of bwrap's first process, then let bwrap start the command."""
        try:
            report = b""
            while b"}" not in report and select.select([self._info_fd], [], [], _INFO_TIMEOUT)[0]:
                part = os.read(self._info_fd, 4096)
                if not part:
                    break
                report += part
            digits = report.partition(b'"child-pid":')[2].lstrip()
            pid = int(digits[: len(digits) - len(digits.lstrip(b"0123456789"))] or b"0")
            if pid:
                _set_limits(pid, self._limits)
                self._start_proxy_inside(pid)
            with suppress(OSError):
                os.write(self._block_fd, b"go")
        finally:
            os.close(self._info_fd)
            os.close(self._block_fd)

    def _start_proxy_inside(self, pid: int) -> None:
        """Start the proxy that the command needs; without it, end the command before it starts."""
        if self._request["network"] is not None:
            try:
                self._start_proxy(self._request["network"], pid)
            except OSError as error:
                self.network_error = str(error)
                kill(pid)

    def _start_proxy(self, rules: Mapping[str, Any], pid: int = 0) -> int:
        """Start a proxy and return its port.

        Raises:
            OSError: it cannot be started.
        """
        # Only commands with the network pay for loading it.
        from ._proxy_process import ProxyProcess

        self.proxy = ProxyProcess(rules, pid)
        return self.proxy.port

    def _with_port(self, argv: list[bytes], port: int) -> list[bytes]:
        """Put the port of the proxy into the profile of sandbox-exec and into the environment; return the arguments."""
        env, old, new = self._request["env"], PORT_PLACEHOLDER.encode(), str(port).encode()
        env.update({name: value.replace(old, new) for name, value in env.items() if name.decode() in PROXY_VARIABLES})
        return [*argv[:2], argv[2].replace(old, new), *argv[3:]]


def _spawn(path: bytes, argv: list[bytes], env: dict[bytes, bytes], descriptors: Mapping[int, int]) -> int:
    """Start a program in its own session.

    Args:
        path: of the program.
        argv: its arguments, with its own name.
        env: all of its environment.
        descriptors: the numbers that descriptors have there, to ours.

    Raises:
        OSError: it cannot be started.
    """
    actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in descriptors.items()]
    for _ in range(_MAX_SPAWN_TRIES):
        try:
            return os.posix_spawn(path, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_SIGNALS)
        except OSError as error:
            # A process that was forked while the program was written may have it open until it starts its own program.
            if error.errno != errno.ETXTBSY:
                raise
            sleep(0.01)
    raise OSError(errno.ETXTBSY, os.strerror(errno.ETXTBSY))


def _move_fd_high(fd: int) -> int:
    """Move a descriptor to a number that no command is given."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


def _set_limits(pid: int, limits: Mapping[int, int]) -> None:
    for limit, value in limits.items():
        with suppress(OSError, ValueError):
            resource.prlimit(pid, limit, (value, value))


def _effective_limit(name: str, value: int, hard_limit: int) -> int:
    """Return the limit to set: not above the hard limit."""
    if name == "processes":
        # The system counts all tasks of the user, here and elsewhere: at most as many as are running now.
        running = count_tasks()
        if not running:
            return hard_limit
        value += running
    return value if hard_limit < 0 else min(value, hard_limit)
