"""Find the lines of front matter, and what a client takes for white space."""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.skill import Document

JAVASCRIPT_SPACE = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000\ufeff"
)
"""What programs in JavaScript remove at both ends of a text; Python also removes U+001C to U+001F."""
UNICODE_SPACE = JAVASCRIPT_SPACE.replace("\ufeff", "\x85")
"""What programs in Rust remove."""


def white_space() -> str:
    """Return the characters that a client removes around texts, and that it takes for blank."""
    return JAVASCRIPT_SPACE


@cache
def host_pattern(pattern: str, blanks: str) -> str:
    r"""Return a regular expression in which `\s` means the white space of a client's language, not Python's.

    Args:
        pattern: in brackets, `\S` has Python's meaning, except in `[^\S\n]`.
        blanks: what the client takes for blank.
    """
    pattern = pattern.replace(r"[^\S\n]", f"[{blanks}]".replace("\n", "")).replace(r"[\s\S]", "(?s:.)")
    parts, in_brackets = [], False
    for part in re.findall(r"\\.|[^\\]", pattern, re.DOTALL):
        if part == r"\s":
            part = blanks if in_brackets else f"[{blanks}]"
        elif part == r"\S" and not in_brackets:
            part = f"[^{blanks}]"
        elif part in "[]":
            in_brackets = part == "["
        parts.append(part)
    return "".join(parts)


def fenced_lines(document: Document) -> list[str]:
    """Return the lines below the first fence, up to the second one, as they are in the file."""
    lines = document.text.split("\n")
    ends_with_fence = len(lines) == document.body_line and lines[-1].startswith("---")  # or is read no further
    return lines[1 : document.body_line if ends_with_fence else document.body_line - 1]


def lines_to_parse(document: Document) -> list[str]:
    """Return the lines between the fences for a client that reads them one by one after its YAML parser failed."""
    lines = fenced_lines(document)
    while lines and not re.fullmatch(r"-{3,}[ \t]*", lines[-1]):
        lines.pop()
    return lines[:-1]
