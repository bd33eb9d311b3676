"""Mentions of skills in a user's text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given

from prowess._internal.text import neutral
from prowess.session import Mention, find_mentions
from prowess.session._mentions import MAX_MENTIONS
from support.growth import assert_linear
from support.mentions import SKILLS, mention_texts, mentioned_names, new_entry


def test_a_mention_has_text_span_reason_and_entry() -> None:
    """Each one counts, in the order of the text, by characters."""
    pdf, slides = SKILLS[0], SKILLS[11]
    text = "📦 use the PDF skill, $pdf and office:slides"
    assert find_mentions(text, SKILLS) == (
        Mention(text="use the PDF skill", start=2, end=19, reason="phrase", name="PDF", entry=pdf),
        Mention(text="$pdf", start=21, end=25, reason="sigil", name="pdf", entry=pdf),
        Mention(text="office:slides", start=30, end=43, reason="package", name="office:slides", entry=slides),
    )
    assert find_mentions("", SKILLS) == find_mentions("nothing here", SKILLS) == find_mentions("$pdf", ()) == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("$pdf", ["pdf"], id="dollar"),
        pytest.param("/pdf", ["pdf"], id="slash"),
        pytest.param("@pdf", ["pdf"], id="at"),
        pytest.param("＄pdf ＠pdf ／pdf ﹩pdf ﹫pdf", ["pdf"] * 5, id="full-width and small sigils"),
        pytest.param("$ｐｄｆ $PDF", ["pdf"] * 2, id="names are compared folded"),
        pytest.param("$re\u0301sume\u0301", ["résumé"], id="decomposed"),
        pytest.param("$pdf\u0301", [], id="a mark behind a name makes another name"),
        pytest.param("$pdf. $pdf, $pdf! $pdf? $pdf: $pdf; ($pdf) $pdf...", ["pdf"] * 8, id="punctuation"),
        pytest.param("\"$pdf\" '$pdf' “$pdf” [$pdf] {$pdf} **$pdf** _$pdf_ $pdf's", ["pdf"] * 8, id="quotes"),
        pytest.param("请用，$pdf。 「$pdf」", ["pdf"] * 2, id="Chinese punctuation"),
        pytest.param("$pdf-tools $pdf-", ["pdf-tools", "pdf"], id="the longest name"),
        pytest.param("$PDF Tools, $pdf  tools, $pdf\ttools", ["PDF Tools"] * 3, id="a name with blanks"),
        pytest.param("$C++, $📦", ["C++", "📦"], id="names that are no words"),
        pytest.param("$pdf:then go", ["pdf"], id="a colon of no package"),
        pytest.param("$office:slides $slides @office:slides.", ["office:slides"] * 3, id="of a package"),
        pytest.param("office：slides (OFFICE:slides)", ["office:slides"] * 2, id="colons"),
        pytest.param("a$pdf 2*$pdf x/pdf a@pdf $$pdf //pdf", [], id="no boundary before"),
        pytest.param('"a"@pdf say"$pdf', [], id="a closing quote is no boundary"),
        pytest.param(
            "$pdf=1 $pdf() $pdf[0] $pdf->x $pdf.x $pdf/x @pdf/x @pdf.com /pdf.txt /pdf?x=1 /pdf/", [], id="code"
        ),
        pytest.param("$ pdf, $, @ pdf / pdf", [], id="a blank behind the sigil"),
        pytest.param("$PATH $HOME $path", ["path"], id="variables of every shell"),
        pytest.param("@cache\ndef f(): ...\n@cache please", ["cache"], id="decorators"),
        pytest.param("</pdf> <pdf>", [], id="tags"),
        pytest.param("a\0$pdf\0 \ud800$pdf\ud800", ["pdf"] * 2, id="NULs and surrogates are blanks"),
        pytest.param("\u202e$pdf\u202c \ufeff$pdf\u200b", ["pdf"] * 2, id="what does not show is a blank"),
        pytest.param("$p\u200bdf $pdf\u202etools", [], id="but not inside a word"),
        pytest.param("\x01$pdf\x02", ["pdf"], id="our own marks"),
    ],
)
def test_a_sigil_names_a_skill_at_the_boundary_of_a_word(text: str, names: list[str]) -> None:
    """Unless something else goes on behind the name."""
    assert mentioned_names(text) == names


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


UNITS = [
    "/",
    "@",
    "/a",
    "@a",
    "(",
    "$(",
    "$a",
    "a:",
    "a.",
    "://",
    "www.",
    "](",
    "<!--",
    "-->",
    "````",
    "`a``",
    "\\`",
    "\\",
    ">",
    "*",
    "_",
    "$_",
    ".",
    ",",
    "'",
    "~",
    '"$',
    "pack1",
    "($($",
]


PHRASES = [
    "use the skill ",
    "skill ",
    "not to ",
    "not the ",
    "without ",
    "with the ",
    "e.g. ",
    "the long name ",
    "pdf, ",
    ", please ",
    "don't use ",
    "` ",
    "- ",
    ", ",
]


CONTROLS = (
    "\n",
    "\t",
    "\r",
    "\n\n    ",
    "\n\n    x\ny",
    "~~~\n",
    "```\n",
    "> ```\n",
    "` ``\n~~~\n",
    " >\n",
    "\0",
    "\ud800",
    "\u202e",
    "\u0301",
)


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
@pytest.mark.parametrize("unit", [*UNITS, *PHRASES, *CONTROLS])
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
