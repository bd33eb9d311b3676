"""JSON is written as the standard library writes it."""

from __future__ import annotations

import io
import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hypothesis import given, strategies as st

from prowess.cli._output import Result, json_text, print_result
from support import strategies  # noqa: F401 - its profile makes every run the same

if TYPE_CHECKING:
    import pytest


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


def test_data_is_printed_whole_where_each_write_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a buffer, as with `python -u`, a stream may take fewer bytes than it is given."""
    taken = bytearray()

    class Slow(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            taken.extend(bytes(data)[:7])
            return min(len(data), 7)

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Slow(), "utf-8", write_through=True))  # type: ignore[type-var]
    print_result(Result({"name": "pdf", "description": "Reads é."}), is_json=True)
    assert json.loads(taken) == {"name": "pdf", "description": "Reads é."}
