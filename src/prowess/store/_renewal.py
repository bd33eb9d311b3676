"""Renew the leases of turns while they run, in a thread."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from prowess.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._turn import StoredTurn

__all__ = ["Renewal"]

_CLEANING_SECONDS = 3600.0
_STOP_SECONDS = 5.0


class Renewal:
    """The turns of this process that are running.

    Args:
        lease: the seconds of a lease.
        renew: renews the leases of a turn.
        clean: called once an hour.
    """

    def __init__(self, lease: float, renew: Callable[[StoredTurn], None], clean: Callable[[], object]) -> None:
        self._lease, self._renew, self._clean = lease, renew, clean
        self._running: dict[str, tuple[StoredTurn, float]] = {}
        """The turns by their holders, and when their leases were taken or renewed."""
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, turn: StoredTurn) -> None:
        """Renew the leases of a turn from now on."""
        with self._lock:
            self._running[turn.holder] = turn, time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="prowess-store", daemon=True)
                self._thread.start()

    def remove(self, turn: StoredTurn) -> bool:
        """Renew the leases of a turn no longer, and return whether it was running."""
        with self._lock:
            return self._running.pop(turn.holder, None) is not None

    def stop(self) -> None:
        """Renew no more leases, and wait until the thread uses no connection."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def _work(self) -> None:
        next_cleaning = 0.0
        while not self._stopped.wait(self._lease / 6):
            due = time.monotonic() - self._lease / 3
            with self._lock:
                turns = [turn for turn, renewed in self._running.values() if renewed <= due]
            for turn in turns:
                with suppress(StoreError):  # the next attempt may succeed, or else the lease expires
                    self._renew(turn)
                    self._note_renewed(turn)
            if time.monotonic() >= next_cleaning:
                next_cleaning = time.monotonic() + _CLEANING_SECONDS
                with suppress(StoreError):
                    self._clean()

    def _note_renewed(self, turn: StoredTurn) -> None:
        with self._lock:
            if turn.holder in self._running:
                self._running[turn.holder] = turn, time.monotonic()
