"""Print colour where it helps. It never carries meaning: the text says the same without it.

`paint` is the only source of escape sequences in the output of a command, and text is painted after it was made safe.
The rules are those of no-color.org and force-color.org, where an empty variable counts as not set.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["COLOR_CHOICES", "STATE_STYLES", "STATUS_STYLES", "choose_color", "has_color", "paint"]

COLOR_CHOICES = ("auto", "always", "never")
"""The values of `--color`."""

_STYLES = {
    "error": "1;31",
    "warning": "33",
    "info": "36",
    "hint": "32",
    "command": "1",
    "good": "32",
    "dim": "2",
}
"""What can be painted, and the parameters of its escape sequence."""

STATE_STYLES = {
    "active": "good",
    "user-only": "info",
    "deferred": "info",
    "shadowed": "warning",
    "disabled": "dim",
    "untrusted": "warning",
    "rejected": "error",
    "absent": "dim",
}
"""The style of each state, and of a skill in a folder that the agent does not search."""
STATUS_STYLES = {"passed": "good", "failed": "error", "error": "error", "timeout": "error"}
"""The style of each status of a test."""

_color_choice = "auto"


def choose_color(choice: str) -> None:
    """Set when to print colour: `auto`, `always` or `never`."""
    global _color_choice  # noqa: PLW0603 - one command line a process
    _color_choice = choice


def paint(text: str, style: str | None, stream: TextIO | None = None) -> str:
    """Return a safe text in a style, or as it is if the stream gets no colour.

    Args:
        text: without control characters: what is not ours has passed `neutral`.
        style: a key of the table of styles, or `None`.
        stream: where it will be printed; stdout by default.
    """
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text and has_color(stream or sys.stdout) else text


def has_color(stream: TextIO | None) -> bool:
    """Return whether a stream gets colour: the option decides, then NO_COLOR, then FORCE_COLOR, then the terminal."""
    if _color_choice != "auto":
        return _color_choice == "always"
    environ = os.environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    if environ.get("TERM") == "dumb" or (os.name == "nt" and not environ.get("WT_SESSION")):
        return False
    return stream is not None and stream.isatty()
