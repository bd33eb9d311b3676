"""The skill that a mentioned name means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prowess.session import _mention_names, find_mentions
from support.mentions import SKILLS, mentioned_names, new_entry

if TYPE_CHECKING:
    import pytest


def test_skills_that_the_model_does_not_see_can_be_mentioned() -> None:
    """Of two with one name the usable one is found."""
    assert mentioned_names("$hidden-one $later $twice") == ["hidden-one", "later", "twice"]
    found = find_mentions("$twice", SKILLS)
    assert found[0].entry is SKILLS[17]


def test_of_names_that_differ_in_case_the_exact_one_is_found() -> None:
    """Without an exact one the mention is ambiguous."""
    both = (new_entry("Pdf"), new_entry("pdf"))
    found = find_mentions("$Pdf $pdf $PDF", both)
    assert [item.entry for item in found] == [*both, None]
    assert found[2].problem == "`PDF` means 2 skills: `Pdf`, `pdf`"
    same = tuple(new_entry("x", path=f"/{number}/SKILL.md") for number in range(5))
    assert find_mentions("$x", same)[0].problem == (
        "`x` means 5 skills: `/0/SKILL.md`, `/1/SKILL.md`, `/2/SKILL.md` and 2 more"
    )


def test_an_amount_is_not_a_skill_and_a_package_not_a_name() -> None:
    """Even if a skill has this name."""
    assert find_mentions("$5, $5.00 and $5k", (new_entry("5"),)) == ()
    found = find_mentions("$office:charts $office", (new_entry("office"), new_entry("office:slides")))
    assert [item.problem for item in found] == ["no skill is called `office:charts`", None]


def test_a_skill_can_be_mentioned_by_alias_and_folder() -> None:
    """The name that the host uses comes first."""
    skills = (new_entry("one", alias="uno", folder="eins"), new_entry("eins"))
    assert [item.entry for item in find_mentions("$uno $eins $one", skills)] == [skills[0], skills[1], skills[0]]


def test_the_names_of_a_catalog_are_read_once_and_remember_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """For all conversations, so what they say must not add up."""
    skills = tuple(SKILLS)
    find_mentions("$pdf", skills)
    known = next(names for known, names in _mention_names._shared if known is skills)
    monkeypatch.setattr(_mention_names, "SkillNames", None)
    for number in range(5):
        assert [item.name for item in find_mentions(f"$pdf /x-{number} use the y{number} skill", skills)] == [
            "pdf",
            f"y{number}",
        ]
    assert not known._normalized
    assert not known._name_lengths
