"""Rank skills by their meaning, with the small embedding of `prowess[semantic]` or a ranker of the caller."""

from __future__ import annotations

from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol
else:
    Protocol = object

_MEANING_SHARE = 0.5
"""The weight of a ranker's score beside the share of the highest rank by words."""
_MAX_BY_MEANING = 50
"""Skills without a word of the message that a ranker may add."""
_MAX_MESSAGE_CHARS = 2000


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


class _WordLlamaRanker:
    """The static embedding in the wheel of `wordllama`; nothing is downloaded."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._texts: Sequence[str] = ()
        self._vectors: Any = None

    def scores(self, message: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the cosine of a message and each text."""
        if not texts:
            return []
        if texts is not self._texts:
            self._vectors = self._model.embed([_encodable(text) for text in texts], norm=True)
            self._texts = texts
        (vector,) = self._model.embed([_encodable(message[:_MAX_MESSAGE_CHARS])], norm=True)
        return [float(score) for score in self._vectors @ vector]


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


@lru_cache(maxsize=1)
def installed_ranker() -> Ranker | None:
    """Return the ranker of `prowess[semantic]`; `None` unless it is installed."""
    import importlib.util
    import os

    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.origin:
        return None
    try:
        import wordllama

        # The folder of its package has the files that it would look for in its own cache.
        model = wordllama.WordLlama.load(cache_dir=os.path.dirname(spec.origin), disable_download=True)
    except (ImportError, OSError, ValueError, AttributeError, TypeError):
        return None
    return _WordLlamaRanker(model)
