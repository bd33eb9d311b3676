"""requests on standard input -> how their process trees ended

Runs as a process of its own, which `process` starts; the caller's process is left as it is. It serves one request at a
time, and ends all when its caller is gone.

    request = length marshal(`_tree.Request`)
    reply   = length marshal(`_tree.Reply`)
    length  = 8 bytes, big-endian
"""

from __future__ import annotations

import fcntl
import marshal
import os
import resource
import signal
import sys
from contextlib import suppress

from ._process_tree import CallerGoneError, ProcessTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from ._process_tree import Request

__all__ = ["main"]


def main() -> NoReturn:
    """Serve requests until there are no more."""
    with suppress(OSError):
        os.setsid()
    requests, replies, wake = _open_channels()
    is_subreaper = _become_subreaper()
    os.chdir("/")
    while True:
        request: Request = marshal.loads(_read_message(requests))  # noqa: S302 - from who started this process
        tree = ProcessTree(requests, wake, is_subreaper=is_subreaper)
        try:
            reply = tree.run(request)
            data = marshal.dumps(dict(reply))
            left = memoryview(len(data).to_bytes(8, "big") + data)
            while left:
                left = left[os.write(replies, left) :]
        except (CallerGoneError, OSError, MemoryError):
            reply = None
        if reply is None or reply["left"]:
            while not tree.end():
                pass
            os._exit(0)


def _open_channels() -> tuple[int, int, int]:
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
    signal.signal(signal.SIGTERM, _on_sigterm)
    return requests, replies, wake


def _on_sigterm(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise CallerGoneError


def _become_subreaper() -> bool:
    """Have orphans come to this process, and say whether the system can do so."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        done: int = ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    except (ImportError, OSError, AttributeError):
        return False
    return done == 0


def _read_message(fd: int) -> bytes:
    """Return the next request; the process ends where there is none."""
    return _read_exactly(fd, int.from_bytes(_read_exactly(fd, 8), "big"))


def _read_exactly(fd: int, size: int) -> bytes:
    parts = []
    while size:
        try:
            part = os.read(fd, min(size, 1 << 20))
        except (CallerGoneError, OSError):
            part = b""
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
