"""Keep the beginning of what a command writes, and count the rest."""

from __future__ import annotations

import os

_CHUNK = 65536


class CapturedStream:
    """The beginning of what comes out of a pipe, and its size."""

    def __init__(self, fd: int, capacity: int) -> None:
        self.fd, self.size = fd, 0
        self._parts: list[bytes] = []
        self._capacity = capacity
        os.set_blocking(fd, False)

    def read_available(self) -> bool | None:
        """Read what is available; return False at the end, `None` if nothing is available now."""
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
        """Return the beginning."""
        return b"".join(self._parts)

    def drain(self) -> None:
        """Read the rest; a process that escaped may still have the other end of the pipe and write on."""
        for _ in range(64):
            if not self.read_available():
                break
