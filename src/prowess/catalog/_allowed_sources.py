"""Tell whether settings allow a plugin by where it was installed from.

Settings give regular expressions, which may come from anyone: only those are tried that take bounded time.
"""

from __future__ import annotations

import re

from prowess._internal.frozen import Frozen

__all__ = ["AllowedSources"]

_MAX_STEPS = 20_000_000
"""How many steps a search may take at most: the length of the text to the power of the repetitions."""
_TOKEN = re.compile(r"(?s)(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<again>[*+]|\{[0-9]+,?[0-9]*\})|.")


class AllowedSources(Frozen):
    """The regular expressions of a setting."""

    patterns: tuple[object, ...]
    """As written; anything but text stops the client."""
    path: str
    """The file that has them."""

    def allows(self, source: str) -> bool:
        """Return whether one of the expressions is found in a path.

        Raises:
            ValueError: one is invalid, so that the client ends with an error.
            TimeoutError: one could take too long, and is not tried.
        """
        for pattern in self.patterns:
            if not isinstance(pattern, str):
                raise ValueError(f"{pattern!r} is no text")  # noqa: TRY004 - any fault of a pattern is one
            if _find(pattern, source):
                return True
        return False


def _find(pattern: str, text: str) -> bool:
    parts, repetitions, after_group = [], 0, False
    for token in _TOKEN.finditer(pattern):
        part = token[0]
        if token["again"]:
            if after_group:
                raise TimeoutError(pattern)
            repetitions += 1
        after_group = part == ")"
        # In JavaScript, `$` is the end of the text only.
        parts.append(r"\Z" if part == "$" else part)
    if "(?=" in pattern or "(?!" in pattern or "(?<" in pattern or re.search(r"\\[1-9k]", pattern):
        raise TimeoutError(pattern)
    if (len(text) + 1) ** (repetitions + 1) > _MAX_STEPS:
        raise TimeoutError(pattern)
    try:
        return re.search("".join(parts), text, re.ASCII) is not None
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None
