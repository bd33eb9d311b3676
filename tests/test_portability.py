"""Prowess behaves the same on every Python it supports."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "prowess"
POSSESSIVE = re.compile(r"\(\?>|(?<!\\)(?:[*+?]|\{[0-9,]+\})\+")


def test_no_pattern_is_possessive_or_atomic() -> None:
    """Python 3.11.2 of Debian 12 loses groups in possessive quantifiers, so a pattern would match differently."""
    patterns = []
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re"):
                continue
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    # Inside brackets a plus has no special meaning.
                    without_sets = re.sub(r"\[(?:\\.|[^\]\\])+\]", "x", part.value)
                    patterns += [f"{file.name}: {part.value}"] if POSSESSIVE.search(without_sets) else []
    assert patterns == []
