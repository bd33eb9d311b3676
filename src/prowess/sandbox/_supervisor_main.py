"""Serve requests on standard input: run each command, and reply how it ended.

Runs as a process of its own, which `_supervisors` starts; the caller's process stays as it is. It serves one request at
a time, and ends everything when its caller is gone.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
from contextlib import suppress

from prowess._internal.processes import set_subreaper

from ._control_groups import leave_group
from ._memory import prepare_to_read
from ._messages import LENGTH_BYTES, decode, send_message
from ._process_tree import CallerGoneError, ProcessTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from ._control_groups import Group
    from ._messages import Request


def main() -> NoReturn:
    """Serve requests until there are no more."""
    with suppress(OSError):
        os.setsid()
    request_fd, reply_fd, _ = move_streams()
    wakeup_fd = make_wakeup_pipe()
    is_subreaper = set_subreaper()
    os.chdir("/")
    group: Group | None = None
    while data := _read_message(request_fd, group):
        request: Request = decode(data)
        group = request["group"]
        tree = ProcessTree(request_fd, wakeup_fd, is_subreaper=is_subreaper)
        try:
            reply = tree.run(request)
            send_message(reply_fd, reply)
        except (CallerGoneError, OSError, MemoryError):
            reply = None
        if reply is None or reply["has_survivors"]:
            while not tree.end():
                pass
            if reply is None and group is not None:
                leave_group(group)
            os._exit(0)
    if data is None and group is not None:
        leave_group(group)  # the caller, which would remove it, is gone
    os._exit(0)


def move_streams() -> list[int]:
    """Move the standard streams to descriptors that no command is given, and close everything else.

    A command must not inherit what the caller left inheritable.
    """
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (0, 1, 2)]
    highest, first = resource.getrlimit(resource.RLIMIT_NOFILE)[0], 3
    for fd in sorted(moved):
        if fd > first:  # an empty range would close everything
            os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, 1 << 20 if highest < 0 else min(highest, 1 << 20))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    return moved


def make_wakeup_pipe() -> int:
    """Return a descriptor that can be read after a child ended; SIGTERM raises `CallerGoneError` from now on."""
    wakeup_fd, signal_fd = os.pipe()
    for fd in (wakeup_fd, signal_fd):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(signal_fd, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, _on_sigterm)
    return wakeup_fd


def _on_sigterm(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise CallerGoneError


def _read_message(fd: int, group: Group | None) -> bytes | None:
    """Return the next request, which is empty if there are no more; `None` if the caller is gone."""
    length = _read_exactly(fd, LENGTH_BYTES)
    if length is None:
        return None
    size = int.from_bytes(length, "big")
    prepare_to_read(group, size)
    return _read_exactly(fd, size)


def _read_exactly(fd: int, size: int) -> bytes | None:
    parts = []
    while size:
        try:
            part = os.read(fd, min(size, 1 << 20))
        except (CallerGoneError, OSError):
            part = b""
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
