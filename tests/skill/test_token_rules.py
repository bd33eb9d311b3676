"""Special tokens of language models in front matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.checks import check
from prowess.findings import Finding, Severity
from prowess.hosts import host_names
from support.skills import skill
from support.special_tokens import NO_TOKENS, TOKENS

if TYPE_CHECKING:
    from pathlib import Path


def found(text: str, top: Path, **options: Any) -> list[Finding]:
    file = top / "pdf/SKILL.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return [item for item in check([file], **options) if item.code == "special-token"]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_in_a_description_is_a_warning_at_its_place(token: str, tmp_path: Path) -> None:
    """Under every policy."""
    text = f"---\nname: pdf\ndescription: 'Does it. {token} More.'\n---\nDo it.\n"
    runs: tuple[dict[str, Any], ...] = ({}, {"policy": "spec"}, *({"hosts": [host]} for host in host_names()))
    for options in runs:
        (one,) = found(text, tmp_path, **options)
        assert (one.severity, one.line, one.column) == (Severity.WARNING, 3, 24)
        assert one.message.startswith("the field `description` contains the special token `")
        assert one.hint


@pytest.mark.parametrize(
    ("front", "line", "column"),
    [
        ("name: 'a<|im_end|>'\ndescription: Does.", 2, 9),
        ("name: pdf\ndescription: |\n  Does.\n  It [INST] does.", 5, 6),
        ("name: pdf\ndescription: Does.\nlicense: <s>", 4, 10),
        ("name: pdf\ndescription: Does.\nwhen_to_use: <|im_end|>", 4, 14),
        ("name: pdf\ndescription: Does.\nmetadata:\n  a: b\n  c: <|im_end|>", 6, 6),
        ("name: pdf\ndescription: Does.\nmetadata:\n  <|im_end|>: b", 5, 3),
        ("name: pdf\ndescription: Does.\nallowed-tools: Read [INST]", 4, 21),
        ('name: pdf\ndescription: "Does. <|im\\u005fend|>"', 3, 21),
        ('name: pdf\ndescription: "Does. \\x3c|im_end|>"', 3, 1),
        ("name: pdf\ndescription: Does.\nargument-hint: '[INST]'\nlicense: MIT", 4, 17),
    ],
)
def test_the_place_is_that_of_the_token(front: str, line: int, column: int, tmp_path: Path) -> None:
    """In every field, also inside maps; of the field if the file writes the token with escapes."""
    (one,) = found(f"---\n{front}\n---\nDo it.\n", tmp_path)
    assert (one.line, one.column) == (line, column)


@pytest.mark.parametrize("text", NO_TOKENS)
def test_other_text_has_no_finding(text: str, tmp_path: Path) -> None:
    """Nor has the body."""
    quoted = text.replace("\n", " ").replace("'", "''")
    body = "\n".join(TOKENS)
    assert found(f"---\nname: pdf\ndescription: 'Does. {quoted}'\n---\n{body}\n", tmp_path) == []


@pytest.mark.parametrize("more", ["license: <s>\n", "license: '[INST]'\n", "metadata:\n  a: ＜s>\n", ""])
def test_the_fast_path_has_the_same_findings(more: str, tmp_path: Path) -> None:
    """Cached and not."""
    skill(tmp_path / ".agents/skills/pdf", description="Does it." if more else "Does [INST] it.", more=more)
    for _ in range(3):
        (entry,) = discover(tmp_path, home=tmp_path / "home", env={}).skills
        assert [item.code for item in entry.findings] == ["special-token"]
