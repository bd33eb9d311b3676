"""Choose how long a slow proof is: `make test` runs its short form, and `make long` its long one."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
IS_LONG = os.environ.get("PROWESS_PROOFS") == "1"


def short_or_long(short: T, long: T) -> T:
    """Return what the form of this run needs; a test that asks has the marker `proof`."""
    return long if IS_LONG else short
