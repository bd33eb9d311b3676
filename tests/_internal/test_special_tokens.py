"""Find special tokens of language models, and escape them."""

from __future__ import annotations

import html
import unicodedata

import pytest
from hypothesis import given, strategies as st

from prowess._internal import special_tokens
from prowess._internal.special_tokens import (
    escape_special_tokens,
    find_special_tokens,
    has_special_token,
    may_have_special_token,
)
from prowess._internal.text import fold_lookalikes
from support import strategies  # noqa: F401 - its profile makes every run the same
from support.growth import assert_linear
from support.special_tokens import NO_TOKENS, TOKENS, TURNS


@pytest.mark.parametrize("token", [*TOKENS, *TURNS])
def test_a_token_is_found_and_escaped_wherever_it_is(token: str) -> None:
    """A reader still sees what it was, and a parser of HTML gets it back."""
    text = f"é {token} and {token}"
    assert [text[start:end] for start, end in find_special_tokens(text)] == [
        token.removesuffix(":") if token in TURNS else token
    ] * 2
    escaped = escape_special_tokens(text)
    assert not has_special_token(escaped)
    assert not has_special_token(unicodedata.normalize("NFKC", escaped))
    assert html.unescape(escaped) == text
    assert len(escaped) <= len(text) + 2 * len("&#65308;")


@pytest.mark.parametrize("text", NO_TOKENS)
def test_other_text_stays_as_it_is(text: str) -> None:
    """Operators, tags of HTML, links and dialogues in prose."""
    assert escape_special_tokens(text) == text


@given(st.lists(st.one_of(st.sampled_from([*TOKENS, *TURNS, *NO_TOKENS, "<", "|", ">", "[", "\n"]), st.text())))
def test_no_token_is_left_in_any_text(parts: list[str]) -> None:
    """Not even one that escaping another would make."""
    assert not has_special_token(escape_special_tokens("".join(parts)))


PIECES = [*TOKENS, *TURNS, *NO_TOKENS, *"<[|>/:s\n \u200b\u034f\ufb06é\uff1c", "sys", "Human", "inst"]


@given(st.lists(st.sampled_from(PIECES)))
def test_no_token_is_missed_before_the_pattern_is_compiled(parts: list[str]) -> None:
    """The words that are looked for first are in every token, unless it has hidden characters or ligatures."""
    text = "".join(parts)
    folded = fold_lookalikes(text)
    found = special_tokens._pattern().search(folded) is not None
    assert not found or special_tokens._may_have_token(folded)


@given(st.text(st.sampled_from("<[|>s/\uff1c\ufe64\uff3b\ufe47é")))
def test_the_quick_check_of_bytes_misses_no_token(text: str) -> None:
    """It may only be too careful."""
    assert not has_special_token(text) or may_have_special_token(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "<" * 300_000,
        "<|" * 150_000,
        "<|x" * 100_000,
        "<\u200b" * 150_000,
        "<" + "\u200b" * 300_000,
        "<s" + "\u200b" * 300_000,
        "[" * 300_000,
        "[i" * 150_000,
        "\n" * 300_000,
        "\n " * 150_000,
        "\n" + " " * 300_000,
        "<|im_end|>" * 30_000,
    ],
)
def test_tokens_are_found_in_linear_time(text: str) -> None:
    """However many there could be."""
    assert_linear(escape_special_tokens, text)
