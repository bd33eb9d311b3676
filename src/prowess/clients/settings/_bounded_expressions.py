"""Tell how long a regular expression of a settings file may search, before it is tried: it may come from anyone."""

from __future__ import annotations

import re

_MAX_LENGTH = 2000
"""Characters of an expression; a longer one is not tried."""
TOKEN = re.compile(
    r"(?s)(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*(?:\]|\Z))|(?P<again>[*+]|\{[0-9]*,?[0-9]*\})|."
)
"""A part of an expression. A set without an end ends with the expression: a search for its end from each start would
take quadratic time."""
_UNKNOWN = re.compile(r"\(\?(?:[a-zA-Z-]*x|#|\()")
"""White space and comments, which may be anywhere, and conditions."""


def count_steps(expression: str, length: int) -> float:
    """Return how many ways there are at most to match an expression with a text; infinity if that is not known.

    Args:
        expression: valid or not.
        length: of the text.
    """
    if len(expression) > _MAX_LENGTH or _UNKNOWN.search(expression):
        return float("inf")
    steps, choices, before = length + 1.0, [1], ""
    for token in TOKEN.finditer(expression):
        part = token[0]
        if token["again"]:
            if before == ")":
                return float("inf")
            steps *= length + 1
        elif part == "?" and before != "(" and not before.endswith(("*", "+", "}", "?")):
            steps *= 2
        elif part == "(":
            choices.append(1)
        elif part == "|":
            choices[-1] += 1
        elif part == ")" and len(choices) > 1:
            steps *= choices.pop()
        if steps > 1e300:
            return float("inf")
        before = part
    for count in choices:
        steps *= count
    return steps
