"""Which skills claim the same requests, and which do not."""

from __future__ import annotations

from itertools import permutations

import pytest

from prowess.search import Claim, common_terms, find_overlaps
from support.growth import calls_at_most, counted_calls

PDF = "Fills the fields of PDF forms with values from a table. Use when a tax form is due."


def claims(*pairs: tuple[str, str]) -> list[Claim]:
    return [Claim(key=name, name=name, description=description) for name, description in pairs]


def pairs(*skills: tuple[str, str]) -> list[tuple[str, str]]:
    return [(item.first.name, item.second.name) for item in find_overlaps(claims(*skills))]


def test_two_skills_claim_the_same_requests() -> None:
    """With the words that both claim, the longest first, and the one that the search prefers for them first."""
    other = "Writes values from tables into the fields of forms. Use when a tax office wants a PDF form."
    (found,) = find_overlaps(claims(("pdf-forms", PDF), ("form-tables", other)))
    assert (found.first.name, found.second.name) == ("pdf-forms", "form-tables")
    assert found.words == ("fields", "values", "forms", "table", "pdf", "tax")
    assert 0.3 <= found.share <= 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            ("pdf-forms", PDF), ("csv-tables", "Reads tables in CSV files. Use for sums."), id="little-shared"
        ),
        pytest.param(("pdf-forms", PDF), ("pdf-forms", PDF), id="one-name"),
        pytest.param(("pdf-split", PDF), ("pdf-merge", PDF), id="names-tell-apart"),
        pytest.param(("pdf-create", PDF), ("pdf-update", PDF), id="verbs-tell-apart"),
        pytest.param(
            ("pdf-forms", PDF), ("form-tables", f"{PDF} Reads; to fill one use pdf-forms."), id="one-names-the-other"
        ),
        pytest.param(("forms", PDF), ("tables", f"{PDF} For a PDF use `forms`."), id="by-a-short-name"),
        pytest.param(
            ("pdf-forms", "Fills PDF fields. Use when a form is due."),
            ("form-pdf", "Signs things. Do not use for PDF fields, forms, tables or taxes that are due."),
            id="what-it-is-not-for",
        ),
        pytest.param(
            ("pdf-forms", "Helps with coding tasks of projects and systems, and improves the code."),
            ("form-pdf", "Helps with coding tasks of systems and projects, and improves the code."),
            id="words-of-most-requests",
        ),
    ],
)
def test_skills_that_a_model_tells_apart_do_not_compete(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert pairs(one, other) == []


def test_the_answer_depends_on_the_two_skills_alone() -> None:
    """Others in the catalog change nothing, nor does their order."""
    two = [("pdf-forms", PDF), ("form-tables", PDF)]
    others = [(f"other-{number}", f"Reads table {number} of forms. Use for values.") for number in range(100)]
    assert pairs(*two) == [("pdf-forms", "form-tables")]
    found = [pair for pair in pairs(*others, *two) if "pdf-forms" in pair]
    assert found == [("pdf-forms", "form-tables")]


def test_some_skills_are_compared_with_all_others() -> None:
    """As before one is installed."""
    many = claims(("pdf-forms", PDF), ("form-tables", PDF), ("tax-forms", PDF))
    assert len(find_overlaps(many)) == 3
    found = find_overlaps(many, only={"tax-forms"})
    assert {item.second.name for item in found} | {item.first.name for item in found} == {
        "pdf-forms",
        "form-tables",
        "tax-forms",
    }
    assert len(found) == 2


def test_asking_about_one_skill_gives_the_same_answer_as_asking_about_all() -> None:
    """A shorter way: the texts of skills without shared words are not split."""
    names = ["-".join(name) for name in permutations(WORDS, 3)]
    many = claims(
        *(
            (name, f"{PDF} {' '.join(name.split('-') * (1 + number % 3))} für 税"[: 60 + number])
            for number, name in enumerate(names)
        )
    )
    pairs_of_all = {(item.first.name, item.second.name, item.words) for item in find_overlaps(many[:40])}
    assert pairs_of_all
    for name in names[:40]:
        found = {(item.first.name, item.second.name, item.words) for item in find_overlaps(many[:40], only={name})}
        assert {pair[:2] for pair in found} == {pair[:2] for pair in pairs_of_all if name in pair[:2]}


WORDS = ("pdf", "forms", "fields", "values", "table", "tax")


def test_ten_thousand_pairs_that_all_overlap_are_bounded() -> None:
    """Of 360 skills all pairs overlap, of which 1,000 are returned."""
    many = claims(*(("-".join(name), PDF) for name in permutations(WORDS, 4)))
    assert len(many) == 360
    with calls_at_most(600_000):
        assert len(find_overlaps(many)) == 1_000


def test_the_work_grows_with_the_skills_and_not_with_their_pairs() -> None:
    """4,000 skills with the same words cost about four times as much as 1,000."""

    def work(count: int) -> int:
        many = claims(*((f"kind-{number}", f"{PDF} Number{number}") for number in range(count)))
        with counted_calls() as calls:
            find_overlaps(many)
        return calls.count

    work(100)
    assert work(4_000) < 6 * work(1_000)


def test_words_of_half_of_a_catalog_are_common() -> None:
    """If it has ten skills or more."""
    many = [(f"skill-{number}", f"Reads invoices of kind{number}.") for number in range(10)]
    assert "invoic" in common_terms(claims(*many))
    assert common_terms(claims(*many[:9])) == frozenset()
    assert "invoic" not in common_terms(claims(*many, *[(f"other-{n}", "Cuts trees.") for n in range(11)]))


@pytest.mark.parametrize("text", ["", "x" * 100_000, "a-" * 50_000, "\0\x1b[31m", "use " * 30_000, "do not " * 20_000])
def test_hostile_descriptions_are_compared(text: str) -> None:
    with calls_at_most(300_000):
        find_overlaps(claims(("pdf-forms", text), ("form-tables", text), ("", "")))
