"""Prepare texts for a report: on one line, cut, with short paths, and split at back-ticks."""

from __future__ import annotations

import os
import re

from prowess._internal.files import is_inside, shorten_home
from prowess._internal.frozen import Frozen
from prowess.hosts import load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.visibility import Comparison

NAME_LIMIT, PATH_LIMIT, _SENTENCE_LIMIT = 80, 300, 1000
"""Characters that are shown of a text. A valid name has 64 at most."""

_MAX_MARKS = 6
"""Marks on one character; Hebrew with cantillation has up to five."""


class Phrase(Frozen):
    """A part of a sentence: plain text, or code between back-ticks."""

    text: str
    is_code: bool = False


def one_line(text: str, limit: int) -> str:
    """Return a text on one line, cut to a number of characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def escape_stacked_marks(text: str) -> str:
    """Write marks as escapes where more are stacked on one character than any language does.

    They would cover the lines above and below, or be wider than the page without a place to break.
    """
    if text.isascii():
        return text
    import unicodedata

    result, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        result.append(character if marks <= _MAX_MARKS else f"\\u{ord(character):04x}")
    return "".join(result)


def phrases(sentence: str) -> tuple[Phrase, ...]:
    """Split a sentence at its back-ticks."""
    return tuple(_split(sentence))


def _split(sentence: str) -> Iterator[Phrase]:
    for number, part in enumerate(re.split("`([^`]+)`", sentence)):
        if part:
            yield Phrase(text=part, is_code=number % 2 == 1)


def short_path(path: str, comparison: Comparison) -> str:
    """Return a path as people write it: relative to the working directory, or with `~`."""
    if is_inside(path, comparison.cwd) and comparison.cwd != comparison.home:
        return path[len(comparison.cwd) :].lstrip("/") or shorten_home(path, comparison.home)
    return shorten_home(path, comparison.home)


def short_command(command: str, comparison: Comparison) -> str:
    """Return a command with `~` for the home, where a shell expands it: not in quotes, and only for its own user."""
    home = comparison.home
    if home == "/" or home != os.path.expanduser("~"):
        return command
    return re.sub(rf"(?<= ){re.escape(home)}/(?=[\w@%+=:,./-]+(?: |$))", "~/", command)


def sentence(text: str, comparison: Comparison) -> tuple[Phrase, ...]:
    """Return the parts of a sentence, with short paths."""
    text = one_line(text, _SENTENCE_LIMIT)
    for folder, short in ((comparison.cwd, ""), (comparison.home, "~/")):
        if len(folder) > 1:
            text = re.sub(rf"(?<![^\s`(]){re.escape(folder)}/", short, text)
    return phrases(text)


def titles(hosts: Sequence[str], total: int = 0) -> str:
    """Return the names of agents for people; `all 7 agents` if there are no others."""
    if 1 < len(hosts) == total:
        return f"all {total} agents"
    return ", ".join(load_host(host).title for host in hosts) or "no agent"
