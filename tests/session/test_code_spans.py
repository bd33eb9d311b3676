"""Code, comments, links and paths name no skill."""

from __future__ import annotations

import pytest
from hypothesis import given

from prowess.session import find_mentions
from support.mentions import SKILLS, mention_texts, mentioned_names


@pytest.mark.parametrize(
    "text",
    [
        "`$pdf` ``a ` $pdf`` `a\n$pdf`",
        "```\n$pdf\n```",
        "```sh\n$pdf",
        "~~~\n$pdf\n```\n$pdf\n~~~",
        "````\n```\n$pdf\n````",
        "- ```\n  $pdf\n  ```",
        "> ```\n> $pdf",
        "x\n\n    $pdf\n\n    $pdf",
        " \t\n    $pdf",
        "`a` x\n \t\n\n \t $pdf\ny\n\n    $pdf",
        "\t$pdf",
        "<!-- $pdf\n\n$pdf -->",
        "<!-- $pdf",
        "https://a/$pdf http://($pdf www.a.b/($pdf ftp://x/(/pdf",
        "[text](/pdf) [text]($pdf)",
        "me@pdf mail a@b.c",
        "/usr/bin/pdf ./pdf ../pdf ~/pdf C:\\pdf dir/pdf $HOME/pdf",
        "and/or 1/2 2026/11/21 $5 $5.00 @types/node /etc @media /tmp $x $foo @alice http://office:slides",
    ],
)
def test_code_comments_links_and_paths_name_nothing(text: str) -> None:
    """As CommonMark reads them."""
    assert mentioned_names(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "`a $pdf",
        "``a` $pdf",
        "\\`$pdf \\`, a $pdf".replace("\\`$", "\\` $"),
        "`a\n\n$pdf`, $pdf",
        "`a\n\n $pdf `",
        "\\` $pdf `",
        "x\r\n    $pdf",
        "`a` $pdf `b` $pdf",
        "```a``` $pdf\n$pdf",
        "```\na\n```\n$pdf $pdf",
        "> ```\n> a\n\n$pdf $pdf",
        "x\n    $pdf\n    $pdf",
        "a <!-- b $pdf $pdf",
        "<!-- a --> $pdf $pdf",
        "see https://a.b/c $pdf, (www.x.y) $pdf",
    ],
)
def test_text_that_only_begins_like_code_counts(text: str) -> None:
    """A run of back-ticks that is not closed, a fence that is closed."""
    assert set(mentioned_names(text)) == {"pdf"}


@pytest.mark.slow
@given(mention_texts())
def test_a_fence_hides_everything(text: str) -> None:
    """Closed or not."""
    fence = "`" * (text.count("`") + 3)
    assert find_mentions(f"{fence}\n{text}\n{fence}", SKILLS) == ()
    assert find_mentions(f"{fence}\n{text}", SKILLS) == ()
    assert len(find_mentions(f"{fence}\n{text}\n{fence}\n$pdf", SKILLS)) == 1
