"""Define what a command may use, and check it."""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral
from prowess.errors import SandboxError

_MIB = 1024 * 1024
MAX_LIMIT = 2**62
"""Of any limit: what the system can count."""
_MAX_TIMEOUT = 10_000_000
"""Seconds, about four months."""


class Limits(Frozen):
    """What a command may use. `None` means that Prowess sets no limit; those of the system apply."""

    timeout: float = 30.0
    """Seconds for everything that comes from the command, above 0."""
    memory: int | None = 2048 * _MIB
    """Bytes of data of each process. Memory that is reserved and never used does not count."""
    file_size: int | None = 256 * _MIB
    """Bytes of each file that is written."""
    folder_size: int | None = None
    """Bytes of all files in each folder that the command can change; a file counts 1 KiB at least."""
    folder_files: int | None = None
    """Files and folders in each folder that the command can change."""
    descriptors: int | None = 1024
    """Open files of each process."""
    processes: int | None = 512
    """Processes and threads besides those that ran before. Not enforced for root, nor on macOS."""
    output: int = _MIB
    """Bytes of standard output, and of standard error, that are kept; the rest is counted."""


def system_limits(limits: Limits) -> dict[str, int]:
    """Return the limits that the system enforces.

    Raises:
        SandboxError: a limit is not a number, or is out of range.
    """
    timeout: object = limits.timeout
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < _MAX_TIMEOUT:
        message = f"`timeout` cannot be {neutral(repr(timeout)[:40])}"
        raise SandboxError(message, hint="give a number of seconds above 0, for example 30")
    numbers = {"core": 0}
    for name in ("memory", "file_size", "descriptors", "processes"):
        value = getattr(limits, name)
        if value is not None:
            _check_limit(name, value, 1, "give a whole number above 0, or None for no limit")
            numbers[name] = value
    for name in ("folder_size", "folder_files"):
        if getattr(limits, name) is not None:
            _check_limit(name, getattr(limits, name), 0, "give a whole number from 0, or None for no limit")
    _check_limit("output", limits.output, 0, "give a whole number from 0")
    return numbers


def _check_limit(name: str, value: object, lowest: int, hint: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value < MAX_LIMIT:
        raise SandboxError(f"`{name}` cannot be {neutral(repr(value)[:40])}", hint=hint)
