"""Identify findings: the same text for the same finding on another day, on another line or on another machine."""

from __future__ import annotations

import os
import re

from prowess._internal.text import neutral
from prowess.findings import relative_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.findings import Finding

__all__ = ["fingerprints"]


def fingerprints(findings: Iterable[Finding], base: str, home: str | None = None) -> list[str]:
    """Return a text for each finding that stays the same if its line moves or the folder is on another machine.

    It depends on the code, the path relative to `base` (or to the home), and the message without its numbers, except
    those in back-ticks. If several findings are equal in that, they are counted.

    Args:
        findings: all findings of a check, in their order.
        base: the repository, without links.
        home: the user's home, without links.
    """
    if not (findings := tuple(findings)):
        return []
    from hashlib import sha256

    seen: dict[tuple[str, str, str], int] = {}
    result = []
    for item in findings:
        key = (item.code, _portable_path(item.path, base, home), _without_numbers(_portable_text(item, base, home)))
        seen[key] = seen.get(key, 0) + 1
        text = "\0".join((*key, str(seen[key])))
        result.append(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return result


def _portable_path(path: str | None, base: str, home: str | None) -> str:
    if path is None:
        return ""
    inside = relative_path(path, base)
    if inside is not None:
        return inside.replace(os.sep, "/")
    in_home = relative_path(path, home) if home else None
    return path if in_home is None else f"~/{in_home.replace(os.sep, '/')}"


def _portable_text(item: Finding, base: str, home: str | None) -> str:
    text = item.message.replace(neutral(base.rstrip(os.sep) + os.sep), "")
    return text.replace(neutral(home.rstrip(os.sep) + os.sep), "~/") if home else text


def _without_numbers(message: str) -> str:
    parts = message.split("`")
    parts[::2] = (re.sub(r"[0-9]+(?:[.,][0-9]+)*", "0", part) for part in parts[::2])
    return "`".join(parts)
