"""Make foreign text safe to show, and compare names.

A skill may contain any character. What a person or a terminal is shown passes `neutral`, `quoted` or `without_hidden`.
"""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "INVISIBLE_CHARACTERS",
    "hidden_characters",
    "nearest_names",
    "neutral",
    "quoted",
    "normalize_name",
    "without_hidden",
    "collapse_hidden_runs",
    "describe_os_error",
]

INVISIBLE_CHARACTERS = (
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters that do not show or turn others around, for a regular expression's brackets: C1 controls, soft hyphen,
zero-width and bidirectional marks (not the joiners that Persian, Indic scripts and emoji need), line and paragraph
separators, fillers, and the tag characters that hide ASCII in plain sight. The C0 controls come on top."""
_HIDDEN_CHARACTER = f"[\x00-\x1f\ud800-\udfff{INVISIBLE_CHARACTERS}]"


# Compiled on first use: it takes as long as reading twenty skills, and most texts need none of it.
@cache
def _hidden_pattern() -> re.Pattern[str]:
    return re.compile(_HIDDEN_CHARACTER)


@cache
def _hidden_run_pattern() -> re.Pattern[str]:
    return re.compile(f"(?<!{_HIDDEN_CHARACTER}){_HIDDEN_CHARACTER}+(?!{_HIDDEN_CHARACTER}|$)")


def _is_printable_ascii(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _escape_match(match: re.Match[str]) -> str:
    number = ord(match[0])
    if 0xDC80 <= number <= 0xDCFF:
        return f"\\x{number - 0xDC00:02x}"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def hidden_characters(text: str) -> list[str]:
    """Return the characters of a text that do not show or that turn others around, line ends and tabs aside."""
    return [] if _is_printable_ascii(text) else sorted({c for c in _hidden_pattern().findall(text) if c not in "\n\t"})


def without_hidden(text: str) -> str:
    """Return the text without the characters `hidden` names, white space collapsed to single blanks."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    return " ".join(
        _hidden_pattern().sub(lambda match: " " if match[0] in "\n\t\r\x85\u2028\u2029" else "", text).split()
    )


def collapse_hidden_runs(text: str) -> str:
    """Return the text with one blank for each run of characters that do not show, a last one aside."""
    return text if _is_printable_ascii(text) else _hidden_run_pattern().sub(" ", text)


def neutral(text: str) -> str:
    """Make foreign text safe to show on one line of a terminal: what does not show is written as an escape."""
    return text if text.isascii() and text.isprintable() else _hidden_pattern().sub(_escape_match, text)


def quoted(text: str, limit: int = 60) -> str:
    """Quote foreign text for a message: on one line, harmless, at most `limit` characters of it."""
    return f"`{neutral(text if len(text) <= limit else text[: limit - 1] + '…')}`"


_MAX_COMPARISONS = 5_000_000
"""Pairs of characters that are compared at most to find names that are almost what was asked for."""


def nearest_names(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """Return at most three of the names that are almost this one, the nearest first; of very many the first count.

    Args:
        name: what was asked for.
        names: what there is.
        cutoff: how alike they must be, from 0 to 1.
    """
    from difflib import get_close_matches

    # To compare two takes up to their lengths multiplied. Where one is far longer, they are not compared.
    longest, left, some = (2 / cutoff - 1) * len(name), _MAX_COMPARISONS, []
    for one in names:
        if len(one) <= longest and len(name) * cutoff <= (2 - cutoff) * len(one):
            left -= len(one) * len(name)
            if left < 0:
                break
            some.append(one)
    return get_close_matches(name, some, n=3, cutoff=cutoff)


def normalize_name(name: str) -> str:
    """Return the form in which names are compared: NFKC, case folded, without what does not show."""
    if name.isascii():
        return name.lower()
    import unicodedata

    name = without_hidden(name) or name
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def describe_os_error(error: Exception) -> str:
    """Return the system's own words for what it would not do, as they stand in the middle of a sentence."""
    return (getattr(error, "strerror", None) or str(error)).lower()
