"""Negated mentions do not count."""

from __future__ import annotations

import pytest

from support.mentions import mentioned_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("don't use the pdf skill", []),
        ("dont use $pdf", []),
        ("Don’t ever, under no circumstances, use $pdf", []),
        ("do not use the pdf skill or the docx skill", []),
        ("never use $pdf", []),
        ("you must not use $pdf", []),
        ("don't, please, use either $pdf or $docx", []),
        ("without using $pdf", []),
        ("do it without the pdf skill", []),
        ("not $pdf or $docx, nor $writing", []),
        ("no $pdf", []),
        ("no need for $pdf", []),
        ("avoid the pdf skill, avoid using $pdf", []),
        ("stop using $pdf", []),
        ("I don't want you to use $pdf", []),
        ("use everything except $pdf", []),
        ("don't use office:slides or the pptx skill or $foo-bar", []),
        ("instead of the pdf skill use $docx", ["docx"]),
        ("don't use tools, e.g. $pdf", []),
        ("don't do it, i.e. e.g. never, e.g. $pdf or $docx", []),
        ("never mind. $pdf; don't! $docx", ["pdf", "docx"]),
        ("我不用它。don't use $pdf。$docx", ["docx"]),
        ("rather than $pdf use $docx", ["docx"]),
        ("use $docx instead of $pdf", ["docx"]),
        ("don't use the pdf skill, use $docx", ["docx"]),
        ("don't use $pdf, but $docx", ["docx"]),
        ("don't use $pdf. $docx", ["docx"]),
        ("don't use $pdf; $docx", ["docx"]),
        ("don't use $pdf\n$docx", ["docx"]),
        ("don't use $pdf, please use $docx", ["docx"]),
        ("don't edit it by hand: use $docx", ["docx"]),
        ("I don't have a table so use $docx", ["docx"]),
        ("I don't know, $docx", ["docx"]),
        ("without asking me use $docx", ["docx"]),
        ("to avoid mistakes use $docx", ["docx"]),
        ("if it is not readable, $docx", ["docx"]),
        ("don't forget to use the docx skill", ["docx"]),
        ("Do not hesitate to use the docx skill", ["docx"]),
        ("why not use the docx skill", ["docx"]),
        ("why don't you use $docx?", ["docx"]),
        ("can't you use $docx?", ["docx"]),
        ("not only use $pdf but $docx", ["pdf", "docx"]),
        ("no problem, $docx", ["docx"]),
        ("never answer without the docx skill", ["docx"]),
        ("don't use anything but $docx", ["docx"]),
        ("don't use anything other than $docx", ["docx"]),
        ("don't skip $docx", ["docx"]),
    ],
)
def test_a_negation_reaches_to_the_end_of_its_clause(text: str, names: list[str]) -> None:
    """And what only looks like a negation does not count."""
    assert mentioned_names(text) == names
