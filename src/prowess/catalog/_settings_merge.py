"""Join the lists that several settings files have for one key."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["merge_union"]


def merge_union(tables: Iterable[tuple[str, Any]], key: str, *, single: bool = False) -> list[tuple[str, list[Any]]]:
    """Return the lists of a key that are left if files are merged, each with its file, lowest first.

    A value that is no list is one more item if a lower file has a list; otherwise it is replaced by the next list.
    Anything but a table on the way to the key, or instead of the list, replaces what lower files have there.

    Args:
        tables: the file and content of each, lowest first.
        key: a dotted key.
        single: whether there is an empty list below the lowest file.
    """
    *way, last = key.split(".")
    found: list[tuple[str, list[Any]]] = []
    has_list = single
    for path, table in tables:
        node = table
        for part in way:
            node = node.get(part, _MISSING) if isinstance(node, Mapping) else node
            if not isinstance(node, Mapping):
                break
        value = node.get(last, _MISSING) if isinstance(node, Mapping) else node
        if value is _MISSING:
            continue
        if isinstance(value, list) and isinstance(node, Mapping):
            found = [*found, (path, value)] if has_list else [(path, value)]
            has_list = True
        elif has_list and isinstance(node, Mapping) and not isinstance(value, Mapping):
            found.append((path, [value]))
        else:
            found, has_list = [], False
    return found


_MISSING = object()
