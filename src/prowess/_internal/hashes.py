"""Choose the implementation of a hash."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MAX_SLOW_BYTES = 256 * 1024
_OWN_MODULE = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
"""As `random` of the standard library has it for the same reason."""


def sha256_for(size: int) -> Callable[[], Any]:
    """Return the constructor of a SHA-256 for some bytes.

    For a small skill it is that of the interpreter: `hashlib` loads OpenSSL, which is faster from half a megabyte on.
    """
    if size <= _MAX_SLOW_BYTES and "hashlib" not in sys.modules:
        try:
            constructor: Callable[[], Any] = __import__(_OWN_MODULE).sha256
        except ImportError:  # another interpreter
            pass
        else:
            return constructor
    from hashlib import sha256

    return sha256
