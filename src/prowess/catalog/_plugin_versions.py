"""Compare the versions of plugins."""

from __future__ import annotations

import re

__all__ = ["compare_versions"]


def compare_versions(left: str, right: str) -> int:
    """Compare two versions: by the rules of semantic versions if both are one, else as text."""
    keys = _version_key(left), _version_key(right)
    if keys[0] is None or keys[1] is None:
        return (left > right) - (left < right)
    return (keys[0] > keys[1]) - (keys[0] < keys[1])


_NUMBER = "(0|[1-9][0-9]{0,18})"
_IDENTIFIERS = "[0-9A-Za-z-]+(?:[.][0-9A-Za-z-]+)*"
_SEMANTIC_VERSION = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_IDENTIFIERS}))?(?:\+({_IDENTIFIERS}))?"


def _version_key(version: str) -> tuple[object, ...] | None:
    """Return what semantic versions are compared by, build metadata last; `None` for any other text."""
    match = re.fullmatch(_SEMANTIC_VERSION, version)
    if match is None:
        return None
    numbers = tuple(int(match[index]) for index in (1, 2, 3))
    return numbers, match[4] is None, _identifiers(match[4]), _identifiers(match[5])


def _identifiers(text: str | None) -> tuple[tuple[int, int, str], ...]:
    return tuple(
        (0, int(item), "") if item.isdigit() and len(item) < 100 else (1, 0, item)
        for item in (text.split(".") if text else ())
    )
