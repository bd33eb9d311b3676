"""Find the files that the manifest of a plugin names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["named_files"]

_MAX_FILES = 1000
"""Files that count in one manifest."""


def named_files(value: Any, folder: str) -> Iterator[str]:
    """Yield the paths of files in a list of texts, and of tables with a list of texts in `paths`.

    Args:
        value: from a manifest; anything else names no files.
        folder: the folder that they are relative to.
    """
    names: list[Any] = []
    for item in value[:_MAX_FILES] if isinstance(value, list) else ():
        inner = item.get("paths") if isinstance(item, Mapping) else None
        names += inner if isinstance(inner, list) else [item]
    for name in names[:_MAX_FILES]:
        if isinstance(name, str) and name and "\0" not in name:
            yield os.path.normpath(os.path.join(folder, name))
