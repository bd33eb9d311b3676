"""Parse JSON as strictly as the clients do that are not lenient about it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

__all__ = ["parse_json"]


def parse_json(data: bytes, once: Collection[str] = ()) -> Any:
    """Return the value of a JSON text.

    Args:
        data: the text in UTF-8, without a byte order mark.
        once: keys that no object may have twice.

    Raises:
        ValueError: it is not JSON, or has `NaN` or `Infinity`.
        RecursionError: it is nested too deeply.
    """
    import json

    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs) and once:
            keys = [key for key, _ in pairs]
            for key in once:
                if keys.count(key) > 1:
                    raise ValueError(f"the key {key!r} comes twice")
        return result

    return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=to_object)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
