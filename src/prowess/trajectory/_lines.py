"""Read the records of a file that an agent may be writing, in one pass and with bounded memory."""

from __future__ import annotations

import json
import os
from functools import partial

from prowess._internal.fs import READ_FLAGS
from prowess._internal.text import describe_os_error

from ._places import UnreadableSessionError, check_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

MAX_LINE_BYTES = 8 * 1024 * 1024
"""Bytes of a line that is read; a longer one, which can only be the content of a file, is counted and skipped."""
_MAX_CALLS = 100
"""Calls of one session without a result that are kept; the results of calls made at once follow each other."""
BASE = "Base directory for this skill: "
"""What Claude Code and Qwen Code write before the folder of a skill that is used."""
_HEAD_BYTES = 512
"""Bytes at the beginning of a line in which its type is."""


class Lines:
    """The lines of a file, and what could not be read of them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.too_long = 0
        """Lines that are longer than the limit."""
        self.invalid = 0
        """Lines that are no JSON object; the last one may still be written, and does not count."""
        self._is_last_invalid = False

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines that have at most `MAX_LINE_BYTES`.

        Raises:
            UnreadableSessionError: the file cannot be read.
        """
        try:
            with open(os.open(self.path, READ_FLAGS), "rb", buffering=1 << 18) as file:
                check_status(self.path, os.fstat(file.fileno()))
                for line in iter(partial(file.readline, MAX_LINE_BYTES), b""):
                    if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
                        yield line
                        continue
                    self.too_long += 1
                    while line and not line.endswith(b"\n"):
                        line = file.readline(MAX_LINE_BYTES)
        except (OSError, ValueError) as error:
            raise UnreadableSessionError(describe_os_error(error)) from None

    def record(self, line: bytes) -> dict[str, Any]:
        """Return the JSON object of a line; an empty one if it is invalid."""
        self.invalid += self._is_last_invalid
        record = parse_object(line)
        self._is_last_invalid = record is None
        return {} if record is None else record

    def problem(self) -> str | None:
        """Return what could not be read."""
        counts = ((self.invalid, "invalid"), (self.too_long, f"longer than {MAX_LINE_BYTES >> 20} MiB"))
        parts = [f"{count:,} {'line is' if count == 1 else 'lines are'} {what}" for count, what in counts if count]
        return " and ".join(parts) or None


def records(
    lines: Lines, find_noise: Callable[[bytes, int, int], object], is_wanted: Callable[[bytes], bool]
) -> Iterator[dict[str, Any]]:
    """Yield the records that are wanted, and the last one, which has the time of the end.

    To look for a few bytes in a line is a hundred times faster than to read it as JSON.

    Args:
        lines: of the file.
        find_noise: finds types of records that are never wanted, in the first bytes of a line.
        is_wanted: whether a line may be a record that is.
    """
    last = b""
    for line in lines:
        if find_noise(line, 0, _HEAD_BYTES):
            continue
        if is_wanted(line):
            last = b""
            yield lines.record(line)
        elif line.endswith(b"\n"):  # otherwise it may be written just now
            last = line
    if last:
        yield lines.record(last)


def keep_call(calls: dict[str, Any], key: str, call: Any) -> None:
    """Keep a call until its result comes; of too many the oldest is dropped: the agent was stopped."""
    calls[key] = call
    if len(calls) > _MAX_CALLS:
        del calls[next(iter(calls))]


def has_call(line: bytes, calls: Iterable[str]) -> bool:
    """Return whether a line has the id of one of some calls."""
    return any(key.encode() in line for key in calls)


def description_level(text: str) -> str:
    """Return how much of its description a catalog has of a skill."""
    return "none" if not text else "short" if text.endswith(("…", "...")) else "full"


def parse_object(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a text, with replacements for bytes that are not UTF-8; `None` if it is invalid."""
    try:
        value = json.loads(data.decode("utf-8", "replace"))
        if b"\\ud" in data or b"\\uD" in data:  # half of a pair is no text that a path or a terminal can have
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def at(value: Any, *keys: str) -> Any:
    """Return what is below some keys of objects in objects; `None` if there is nothing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: Any, *keys: str) -> str:
    """Return the text below some keys; empty without one."""
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


def objects_at(value: Any, *keys: str) -> list[dict[str, Any]]:
    """Return the objects in the list below some keys."""
    found = at(value, *keys)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
