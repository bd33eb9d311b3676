"""Read JSON as clients do: strict about numbers and, where they are, about keys that come twice; or with comments."""

from __future__ import annotations

import re

from prowess._internal.files import UnreadableError
from prowess._internal.text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from ._filesystem import Filesystem

MAX_JSON_BYTES = 4 * 1024 * 1024
"""A larger file counts as one that cannot be read."""

_MAX_DEPTH = 200
"""Lists and tables in each other."""

# An unclosed string or comment ends with the file: a search for its end from each start would take quadratic time.
_COMMENT = r'(?s)("(?:[^"\\]+|\\.)*(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)'
_TRAILING_COMMA = r'(?s)("(?:[^"\\]+|\\.)*(?:"|\Z))|,(?=\s*[}\]])'


def read_json_or_report(filesystem: Filesystem, path: str, report: Callable[[str, str], None], **options: Any) -> Any:
    """Return the content of a JSON file; `None` if it is missing, or after a report if it is invalid.

    Args:
        filesystem: what was read so far.
        path: of the file.
        report: gets the path and what is wrong with it.
        options: those of `read_json`.
    """
    try:
        return read_json(filesystem, path, **options)
    except UnreadableError as error:
        if error.code != "file-missing":
            report(path, f"the file cannot be read: {error.message}")
    except ValueError as error:
        report(path, f"the file cannot be read: {quoted(str(error), 120)}")
    return None


def read_json(
    filesystem: Filesystem,
    path: str,
    *,
    once: Collection[str] = (),
    replace: bool = True,
    mark: bool = False,
    comments: bool = False,
) -> Any:
    """Return the content of a JSON file.

    Args:
        filesystem: what was read so far.
        path: of the file.
        once: keys that no object may have twice.
        replace: whether bytes that are not UTF-8 are replaced, as in JavaScript.
        mark: whether it may begin with a byte order mark.
        comments: whether it may contain comments and trailing commas.

    Raises:
        UnreadableError: the file cannot be read.
        ValueError: it is not JSON.
    """
    data = filesystem.data(path, min(MAX_JSON_BYTES, max(filesystem.json_bytes_left, 0)))
    filesystem.json_bytes_left -= len(data)
    text = data.decode("utf-8-sig" if mark else "utf-8", "replace" if replace else "strict")
    try:
        return parse_json(text, once=once, comments=comments)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_json(text: str, *, once: Collection[str] = (), comments: bool = False, commas: bool = True) -> Any:
    """Return the value of a JSON text.

    Args:
        text: without a byte order mark.
        once: keys that no object may have twice.
        comments: whether it may contain comments.
        commas: whether it may also contain trailing commas then.

    Raises:
        ValueError: it is not JSON, or has `NaN` or `Infinity`.
        RecursionError: it is nested too deeply.
    """
    import json

    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            for key in once:
                if keys.count(key) > 1:
                    raise ValueError(f"the key {key!r} comes twice")
        return result

    hook = to_object if once else None
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=hook)
    except ValueError:
        if not comments:
            raise
        value = json.loads(_without_comments(text, commas), parse_constant=_refuse_constant, object_pairs_hook=hook)
    check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """Check that lists and tables are not nested so deeply that a function which calls itself could fail.

    Args:
        value: the content of a file.

    Raises:
        RecursionError: they are.
    """
    level = [value]
    for _ in range(_MAX_DEPTH):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
        if not level:
            return
    raise RecursionError("it is nested too deeply")


def _without_comments(text: str, commas: bool) -> str:
    """Return JSON without its comments, and without its trailing commas if they are allowed."""
    text = re.sub(_COMMENT, lambda match: match[1] or " ", text)
    return re.sub(_TRAILING_COMMA, lambda match: match[1] or "", text) if commas else text


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number in JSON")
