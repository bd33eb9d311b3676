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

    It depends on the code, the path relative to `base` (or to the home), and the message without its counts. If several
    findings are equal in that, they are counted.

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
        key = (item.code, _portable_path(item.path, base, home), _without_counts(_portable_text(item, base, home)))
        seen[key] = seen.get(key, 0) + 1
        text = "\0".join((*key, str(seen[key])))
        result.append(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return result


def _portable_path(path: str | None, base: str, home: str | None) -> str:
    if path is None:
        return ""
    inside = relative_path(path, base)
    if inside is not None:
        inside = inside.replace(os.sep, "/")
        # A folder of the repository may be called `~`, which is the home here.
        return f"./{inside}" if inside.startswith("~") else inside
    in_home = relative_path(path, home) if home else None
    return path if in_home is None else f"~/{in_home.replace(os.sep, '/')}"


def _portable_text(item: Finding, base: str, home: str | None) -> str:
    text = item.message.replace(neutral(base.rstrip(os.sep) + os.sep), "")
    return text.replace(neutral(home.rstrip(os.sep) + os.sep), "~/") if home else text


def _without_counts(message: str) -> str:
    """Replace the numbers of a message, but not those of a value: in a path, or between the first and last back-tick.

    A value may itself contain back-ticks.
    """
    before, first, rest = message.partition("`")
    values, last, after = rest.rpartition("`")
    return f"{_replace_counts(before)}{first}{values}{last}{_replace_counts(after)}"


def _replace_counts(text: str) -> str:
    return re.sub(r"(?<!\S)[0-9]+(?:[.,][0-9]+)*(?=[\s,.;:)]|$)", "0", text)
