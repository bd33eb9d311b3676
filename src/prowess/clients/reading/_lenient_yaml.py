"""Tell what the YAML parser of a client accepts and the one of Prowess refuses."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)"
)


def replace_half_pairs(front: str, action: str) -> str:
    """Return YAML whose escapes name whole characters.

    Args:
        front: the front matter.
        action: `replace` (half of a surrogate pair becomes U+FFFD) or `remove`.
    """

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            number = 0x10000 + ((int(match[1], 16) & 0x3FF) << 10 | int(match[2], 16) & 0x3FF)
            return f"\\U{number:08x}"
        if len(match[0]) == 2:
            return match[0]
        return "\\ufffd" if action == "replace" else ""

    return _ESCAPE.sub(replace, front)


_TABLE_AS_KEY = re.compile(r"(?m)^([^\s:#][^:\n]*:[ \t]+)\{(\{[^{}\"\n]*\})\}[ \t]*$")


def write_flow_keys(front: str) -> str:
    """Return YAML in which no table in brackets is a key, but is written as text."""
    return _TABLE_AS_KEY.sub(r'\1{"\2": null}', front)


_QUOTED = re.compile(
    r"""(?m)(?<=[:,\[{-])[ \t]*(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')|(?:^|[ \t])\#[^\n]*""", re.DOTALL
)
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_CONTROLS_IN_QUOTES = re.compile("[\0-\x08\x0b-\x1f]")


def has_unquoted_controls(front: str) -> bool:
    """Return whether control characters are outside of quotes and comments, or ones below U+0020 in quotes."""
    if "\0" in front or _CONTROLS.search(_QUOTED.sub("", front)):
        return True
    texts = (match[1] or match[2] or "" for match in _QUOTED.finditer(front))
    return any(_CONTROLS_IN_QUOTES.search(text) for text in texts)
