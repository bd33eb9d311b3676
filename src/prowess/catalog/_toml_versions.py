"""Write TOML 1.1 as TOML 1.0, which is what the standard library reads.

Version 1.1 has inline tables over several lines with comments and a comma at the end, escapes for ESC and for two
hexadecimal digits, and times without seconds. All other text stays as it is, so what is invalid stays invalid.
"""

from __future__ import annotations

import re

__all__ = ["as_toml_1_0"]

# A text without an end is one token to the end of the line or file: a search from each start would take quadratic time.
_TOKEN = re.compile(
    r"""(?sx)
    (?P<basic> \"\"\"(?:\\.|[^\\"]|"(?!""))*(?:"{3,5}|\Z) | "(?:\\[^\n]|[^"\\\n])*"? )
    | (?P<literal> '''(?:[^']|'(?!''))*(?:'{3,5}|\Z) | '[^'\n]*' )
    | (?P<comment> \#[^\n]* )
    | (?P<mark> [][{},\n] )
    | [^]["'\#{},\n]+ | .
    """
)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(e)|.)", re.DOTALL)
_SHORT_TIME = re.compile(r"(?<![0-9:.])([0-9]{2}:[0-9]{2})(?![0-9:])")


def as_toml_1_0(text: str) -> str:
    """Return a text of TOML 1.1 that means the same in TOML 1.0."""
    parts: list[str] = []
    brackets: list[str] = []
    comma = -1
    """Where the comma after the last value of an inline table is."""
    after_value = False
    for token in _TOKEN.finditer(text):
        part, kind = token[0], token.lastgroup
        in_table = bool(brackets) and brackets[-1] == "{"
        if kind == "comment" or (kind == "mark" and part == "\n"):
            parts.append(" " if in_table else part)
            continue
        if kind == "mark":
            if part in "[{":
                brackets.append(part)
            elif part in "]}" and brackets:
                brackets.pop()
            if part == "}" and comma >= 0:
                parts[comma] = " "
            comma = len(parts) if part == "," and in_table and after_value else -1
            after_value = part in "]}"
        elif part.strip():
            comma, after_value = -1, True
        if kind == "basic":
            part = _ESCAPE.sub(_older_escape, part)
        elif kind is None:
            part = _SHORT_TIME.sub(r"\1:00", part)
            part = part.replace("\r", " ") if in_table else part
        parts.append(part)
    return "".join(parts)


def _older_escape(match: re.Match[str]) -> str:
    if match[2]:
        return "\\u001b"
    return f"\\u00{match[1]}" if match[1] else match[0]
