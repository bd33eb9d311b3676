"""Mentions of skills in a user's text; what each text names is in `mentions.md`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given

from prowess._internal.text import neutral
from prowess.session import find_mentions
from prowess.session._mentions import MAX_MENTIONS
from support.growth import assert_linear
from support.lines import lines, unescaped
from support.mentions import SKILLS, mention_texts, mentioned_names, new_entry

DOCUMENT = Path(__file__).with_name("mentions.md")


def expectations(kind: str) -> list[tuple[str, str]]:
    """Return the messages in a kind of block, and what is expected of each."""
    rows = [line.partition("  # ")[0].rpartition(" → ") for line in lines(DOCUMENT, kind)]
    return [(unescaped(text), expected) for text, _, expected in rows]


@pytest.mark.parametrize(("text", "expected"), expectations("mentions"), ids=repr)
def test_a_text_names_what_the_document_says(text: str, expected: str) -> None:
    assert (", ".join(mentioned_names(text)) or "-") == expected


@pytest.mark.parametrize(("text", "problem"), expectations("problems"), ids=repr)
def test_an_unresolved_mention_has_a_problem(text: str, problem: str) -> None:
    """In every form if the skill exists; else only if the name can hardly be anything but a skill."""
    assert [item.problem for item in find_mentions(text, SKILLS)] == [problem]


def test_the_spans_of_a_phrase_are_disjoint() -> None:
    """The first begins with the verb, the last ends with `skill`."""
    text = "now use the pdf, docx and writing skills for it"
    assert [item.text for item in find_mentions(text, SKILLS)] == ["use the pdf", "docx", "writing skills"]
    assert [item.text for item in find_mentions("use the skill called 'pdf'", SKILLS)] == ["use the skill called 'pdf"]


@pytest.mark.slow
@given(mention_texts())
def test_a_fence_hides_everything(text: str) -> None:
    """Closed or not."""
    fence = "`" * (text.count("`") + 3)
    assert find_mentions(f"{fence}\n{text}\n{fence}", SKILLS) == ()
    assert find_mentions(f"{fence}\n{text}", SKILLS) == ()
    assert len(find_mentions(f"{fence}\n{text}\n{fence}\n$pdf", SKILLS)) == 1


@given(mention_texts())
def test_spans_are_ordered_and_disjoint(text: str) -> None:
    """Whatever the text; and every problem is safe to show."""
    last = 0
    for item in find_mentions(text, SKILLS):
        assert text[item.start : item.end] == item.text
        assert item.name in item.text
        assert last <= item.start < item.end
        last = item.end
        assert (item.entry is None) is (item.problem is not None)
        assert item.problem is None or item.problem == neutral(item.problem)
        assert item.entry is None or item.entry.state in ("active", "user-only", "deferred")


MANY = (
    *(new_entry(f"skill-name-{number}") for number in range(1000)),
    *(new_entry(f"the long name {number}") for number in range(500)),
    *(new_entry(f"pack{number % 7}:thing{number}") for number in range(497)),
    *(new_entry(name) for name in ("pdf", "📦", "x" * 100_000)),
)


NAMED = ("$", "`", "don't ", " ", "[", "use the ")


def find(text: str) -> None:
    find_mentions(text, MANY)


@pytest.mark.slow
@pytest.mark.parametrize("unit", NAMED)
def test_the_mentions_of_a_megabyte_are_found_in_linear_time(unit: str) -> None:
    """With two thousand skills."""
    text = unit * (2**20 // len(unit))
    assert_linear(find, text)
    assert_linear(find, f"$pdf {text} the pdf skill\n\n$pdf")


@pytest.mark.slow
@pytest.mark.parametrize("unit", [unescaped(line) for line in lines(DOCUMENT, "repeated")])
def test_time_is_linear_in_the_text(unit: str) -> None:
    """Quadratic time would be minutes."""
    text = unit * (2**18 // len(unit))
    assert_linear(find, text)
    assert_linear(find, f"$pdf {text} the pdf skill\n\n$pdf")


@pytest.mark.slow
def test_many_mentions_take_linear_time() -> None:
    """Of skills, of unknown names that all differ, and back-ticks in all lengths."""
    dice = random.Random(1)  # noqa: S311 - nothing secret
    texts = [
        "$pdf " * 50_000,
        "don't use $pdf " * 20_000,
        "use the pdf skill " * 20_000,
        "pack1:thing1 pack1:nothing " * 20_000,
        " ".join("$" + "".join(dice.choices("abcdef", k=60)) for _ in range(5000)),
        "".join("`" * length + "x" for length in range(1, 1400)) + " $pdf",
        "$the long name " * 20_000,
    ]
    for text in texts:
        assert_linear(find, text)


def test_only_the_first_thousand_places_of_a_form_count() -> None:
    """So the result is bounded too; what comes after them is text."""
    mentions = find_mentions("$pdf " * (MAX_MENTIONS + 5) + "use the pdf skill", MANY)
    assert [mention.reason for mention in mentions] == ["sigil"] * MAX_MENTIONS + ["phrase"]
