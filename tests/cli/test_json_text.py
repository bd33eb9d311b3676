"""JSON is written as the standard library writes it."""

from __future__ import annotations

import json
from enum import StrEnum

from hypothesis import given, strategies as st

from prowess.cli._json_text import json_text
from support import strategies  # noqa: F401 - its profile makes every run the same


class Word(StrEnum):
    """A text that is a member of an enumeration, such as a state."""

    ACTIVE = "active"


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(Word)
KEYS = st.text() | st.integers() | st.booleans() | st.none() | st.sampled_from(Word)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS, inner), max_leaves=30
)


@given(VALUES)
def test_the_text_is_that_of_the_standard_library(value: object) -> None:
    """Texts of any characters, numbers, empty lists and dicts, and any nesting."""
    assert json_text(value) == json.dumps(value, indent=2, ensure_ascii=False)
