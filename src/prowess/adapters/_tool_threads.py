"""Call the tools of sessions in threads of their own: a script may run for minutes."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["call_in_thread"]

Result = TypeVar("Result")

_THREADS = ThreadPoolExecutor(64, thread_name_prefix="prowess-tool")
"""Not those of `asyncio.to_thread`, which are few: other conversations need them for short work."""


async def call_in_thread(call: Callable[..., Result], *args: Any, **named: Any) -> Result:
    """Return the result of a call, made in a thread with the context of the caller."""
    run = partial(copy_context().run, call, *args, **named)
    return await asyncio.get_running_loop().run_in_executor(_THREADS, run)
