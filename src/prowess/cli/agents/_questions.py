"""Read standard input: a prompt, lines, and answers to questions."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from prowess._internal.text import neutral, quoted
from prowess.cli._output import discard_typed_input, print_stderr
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ALLOW_QUESTION = "allow it? [y/N]"

_unread_bytes = bytearray()
"""Bytes that were read from standard input after the line that was returned."""


def read_prompt() -> str:
    """Return the whole of standard input.

    Raises:
        ConfigError: standard input is a terminal, or empty.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise ConfigError("no prompt given", hint="use `prowess run ROLE -p TEXT`, or `-i` for a conversation")
    text = sys.stdin.read()
    if not text.strip():
        raise ConfigError("standard input is empty", hint="use `prowess run ROLE -p TEXT`")
    return text


async def read_stdin_line() -> str:
    """Return the next line of standard input, empty at its end. No thread waits for it, so Ctrl-C works at once."""
    fd, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    while b"\n" not in _unread_bytes:
        ready = asyncio.Event()
        try:
            loop.add_reader(fd, ready.set)
        except PermissionError:  # a file, which is always ready
            pass
        else:
            try:
                await ready.wait()
            finally:
                loop.remove_reader(fd)
        if not (data := os.read(fd, 65536)):
            break
        _unread_bytes.extend(data)
    line, newline, rest = _unread_bytes.partition(b"\n")
    _unread_bytes[:] = rest
    return bytes(line + newline).decode("utf-8", "replace")


async def ask_to_allow_call(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Ask on the terminal whether a tool call is allowed. Lines that were typed ahead are discarded."""
    discard_typed_input()
    _unread_bytes.clear()
    print_stderr(describe_call(tool, arguments))
    print_stderr(ALLOW_QUESTION)
    return is_yes(await read_stdin_line())


def describe_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the line that announces a tool call before its user allows it."""
    return f"the model wants to call {quoted(tool)} with {neutral(json.dumps(dict(arguments), ensure_ascii=False))}"


def is_yes(answer: str) -> bool:
    """Return whether an answer is `y` or `yes`."""
    return answer.strip().lower() in ("y", "yes")
