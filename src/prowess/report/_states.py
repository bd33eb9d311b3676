"""Show the kinds of skills in a report."""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess.visibility import KIND_MEANINGS, KIND_WORDS, Kind


class Look(Frozen):
    """How a kind is shown; its shape is the class of that name in `page.css`."""

    shape: Kind
    label: str
    """In a few words, for screen readers and lists."""
    meaning: str
    """A sentence for the legend."""


LOOKS = {kind: Look(shape=kind, label=KIND_WORDS[kind], meaning=KIND_MEANINGS[kind]) for kind in Kind}
"""Each kind, the best first."""
