"""Read blocks of documents whose lines are texts, with escapes for characters that a line cannot show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ESCAPE = re.compile(r"\\(n|t|r|x[0-9a-f]{2}|u[0-9a-f]{4})")
ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def lines(document: Path, kind: str) -> list[str]:
    """Return the lines of all blocks of a kind, whose fences are five back-ticks."""
    blocks = re.findall(rf"^`````{kind}\n(.*?)^`````$", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.split("\n")[:-1]]


def unescaped(text: str) -> str:
    r"""Return a text in which `\n`, `\t`, `\r`, `\xHH` and `\uHHHH` have become characters."""
    return ESCAPE.sub(lambda escape: ESCAPED.get(escape[1]) or chr(int(escape[1][1:], 16)), text)
