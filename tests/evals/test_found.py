"""Where a skill is among others, for the prompts of its eval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prowess.catalog import discover
from prowess.evals import EvalCase, rank_skill, shipped_crowd
from support.skills import make_entry, skill

if TYPE_CHECKING:
    from pathlib import Path


def case(prompt: str, *, triggers: bool = True) -> EvalCase:
    return EvalCase(id=prompt[:8], prompt=prompt, skill="pdf-forms" if triggers else None, triggers=triggers, path="e")


OWN = make_entry("pdf-forms", "Fills the fields of PDF forms.", "/x/pdf-forms/SKILL.md")
TWIN = make_entry("form-filler", "Fills forms. Use it for fields of forms.", "/x/form-filler/SKILL.md")
OTHER = make_entry("csv-profile", "Describes the columns of CSV tables.", "/x/csv-profile/SKILL.md")


def test_a_confusion_names_the_other_skill_and_the_words() -> None:
    """For a prompt that should use the skill, and for one that should not."""
    prompts = [
        case("Fill the fields in this pdf"),
        case("Fill in the fields of these forms, fill every form"),
        case("Describe the columns of the table"),
        case("Which fields does a PDF form have?", triggers=False),
        case("Describe the columns", triggers=False),
    ]
    ranks = rank_skill(OWN, (TWIN, OTHER), prompts)
    assert [(rank.rank, rank.is_right, rank.rival) for rank in ranks] == [
        (1, True, None),
        (2, False, "form-filler"),
        (None, False, "csv-profile"),
        (1, False, "form-filler"),
        (None, True, None),
    ]
    assert ranks[1].words == ("fill", "fields", "forms", "form")
    assert ranks[2].words == ()
    assert ranks[3].words == ("fields", "form")


def test_copies_are_no_rivals() -> None:
    """A skill is found among others, whatever copies of it there are."""
    copy = OWN.with_changes(path="/y/pdf-forms/SKILL.md", real="/y/pdf-forms/SKILL.md")
    (rank,) = rank_skill(OWN, (copy, OWN, OTHER), [case("Fill the fields in this pdf")])
    assert rank.rank == 1


def test_another_description_is_another_rank() -> None:
    changed = OWN.with_changes(description="Works with documents.")
    prompt = [case("Fill the fields of the forms")]
    assert [rank.rank for rank in rank_skill(OWN, (OTHER,), prompt)] == [1]
    assert rank_skill(changed, (TWIN, OTHER), prompt)[0].rank == 2


def test_the_bodies_of_skills_are_searched(tmp_path: Path) -> None:
    """As `prowess search` does; those of the crowd are only descriptions."""
    skill(tmp_path / ".agents/skills/alpha", description="Does it.", body="# Zebras\n\nZebras and walruses.")
    skill(tmp_path / ".agents/skills/beta", description="Does that.")
    alpha, beta = discover(tmp_path, home=tmp_path).skills
    (rank,) = rank_skill(alpha, (beta,), [case("Count the zebras")])
    assert rank.rank == 1


def test_the_crowd_has_fifty_different_descriptions() -> None:
    """Each is found first by its own words."""
    crowd = shipped_crowd(OWN)
    assert len({entry.name for entry in crowd}) == len({entry.description for entry in crowd}) == 50
    assert all(40 < len(entry.description) < 300 for entry in crowd)
    for entry in crowd:
        (rank,) = rank_skill(entry, crowd, [case(entry.description)])
        assert rank.rank == 1, entry.name
