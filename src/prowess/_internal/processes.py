"""Adopt orphaned processes.

On Linux a process can be a sub-reaper: what its descendants leave running becomes its child, so that it can be ended.
"""

from __future__ import annotations

import sys

# From linux/prctl.h.
_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37


def set_subreaper(*, enabled: bool = True) -> bool:
    """Have orphaned descendants become children of this process; return whether this system can do that."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        result: int = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(enabled), 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return False
    return result == 0


def is_subreaper() -> bool:
    """Return whether orphaned descendants become children of this process."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        value = ctypes.c_int(0)
        ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(value), 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return False
    return bool(value.value)
