"""Phrases that name skills."""

from __future__ import annotations

import pytest

from prowess.session import find_mentions
from support.mentions import SKILLS, mentioned_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        *[
            pytest.param(f"{verb} the pdf skill", ["pdf"], id=verb)
            for verb in ("Use", "using", "with", "run", "apply", "activate", "invoke", "load", "please use")
        ],
        pytest.param("use pdf skill", ["pdf"], id="without the"),
        pytest.param("Please use just my PDF skill.", ["pdf"], id="fillers"),
        pytest.param("use the pdf and docx skills", ["pdf", "docx"], id="two"),
        pytest.param("use the pdf, the docx, and the writing skills", ["pdf", "docx", "writing"], id="three"),
        pytest.param("use the pdf skill and the docx skill", ["pdf", "docx"], id="one after the other"),
        pytest.param("use the pdf skill; the docx skill is bad", ["pdf"], id="another clause"),
        pytest.param("use the load test skill, and load the load test skill", ["load test"] * 2, id="verbs in names"),
        pytest.param("use the PDF  Tools skill, with the \"pdf tools\" skill, use 'pdf' skill", None, id="quotes"),
        pytest.param("use the skill called pdf, or use the skill: docx", ["pdf", "docx"], id="called"),
        pytest.param("use skill 'pdf tools'", ["PDF Tools"], id="called in quotes"),
        pytest.param("use the office:slides skill", ["office:slides"], id="package"),
        pytest.param("use the $pdf skill", ["pdf"], id="sigil"),
        pytest.param("the pdf skill is fine; I used the pdf skill; use pdf; use the pdf", [], id="no verb or no skill"),
        pytest.param("use the pdf-skill, use pdf skill.md, use the pdf skillset", [], id="other words"),
        pytest.param("use the\npdf skill", [], id="not over lines"),
        pytest.param("use the ./pdf skill, use the `pdf` skill", [], id="paths and code"),
        pytest.param("use the pptx skill", ["pptx?"], id="unknown"),
        pytest.param(
            "use the right skill, use a soft skill, use skill, with the people skill", [], id="ordinary words"
        ),
    ],
)
def test_a_phrase_names_skills(text: str, names: list[str] | None) -> None:
    """A verb of using, names, and the word `skill`."""
    assert mentioned_names(text) == (["PDF Tools", "PDF Tools", "pdf"] if names is None else names)


def test_the_spans_of_a_phrase_are_disjoint() -> None:
    """The first begins with the verb, the last ends with `skill`."""
    text = "now use the pdf, docx and writing skills for it"
    assert [item.text for item in find_mentions(text, SKILLS)] == ["use the pdf", "docx", "writing skills"]
    assert [item.text for item in find_mentions("use the skill called 'pdf'", SKILLS)] == ["use the skill called 'pdf"]
