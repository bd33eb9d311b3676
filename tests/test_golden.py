"""Every file of the golden corpus is parsed as expected.

A case is a folder of `golden` with `SKILL.md` (or `SKILL.md.b64` if an editor could change its bytes) and
`expected.json`, which is written by hand: the fields, the body and its first line (null: not compared), and each
finding of the parser as code, line and column. To add a bug, add a folder.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess import skill
from prowess.skill import check_body, check_links, check_skill
from prowess.skill._frontmatter import MAX_FRONTMATTER_BYTES, parse_frontmatter

if TYPE_CHECKING:
    from prowess.skill._yaml import Value

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(folder.name for folder in GOLDEN.iterdir() if folder.is_dir())


def golden_bytes(name: str) -> bytes:
    folder = GOLDEN / name
    encoded = folder / "SKILL.md.b64"
    return base64.b64decode(encoded.read_bytes()) if encoded.exists() else (folder / "SKILL.md").read_bytes()


def as_json(value: Value) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: as_json(item) for key, item in value.items()}
    return [as_json(item) for item in value]


@pytest.mark.parametrize("name", CASES)
def test_a_golden_file_is_parsed_as_expected(name: str) -> None:
    """Fields, body and findings are those of `expected.json`."""
    expected = json.loads((GOLDEN / name / "expected.json").read_text("utf-8"))
    document = parse_frontmatter(golden_bytes(name))
    assert [[item.code, item.line, item.column] for item in document.findings] == expected["findings"]
    if expected["fields"] is not None:
        assert {key: as_json(entry.value) for key, entry in document.fields.items()} == expected["fields"]
    if expected["body_line"] is not None:
        assert document.body_line == expected["body_line"]
    if expected["body"] is not None:
        assert document.body == expected["body"]


@pytest.mark.parametrize("name", CASES)
def test_a_golden_file_can_be_rendered_and_parsed(name: str) -> None:
    """`parse(render(s)) == s`, without repairs."""
    golden_skill = skill.from_document(parse_frontmatter(golden_bytes(name)))
    if any(item.severity == "error" for item in golden_skill.findings):
        return
    text = skill.render(golden_skill)
    if len(text) > MAX_FRONTMATTER_BYTES + len(golden_skill.body):
        return  # a flow list of 40 KB is a block list of 80
    again = skill.parse(text)
    assert again == golden_skill
    assert [item.code for item in again.findings if item.code != "encoding-nul"] == []


@pytest.mark.parametrize("name", CASES)
def test_every_golden_file_can_be_checked(name: str) -> None:
    """No rule fails, whatever the parser returned."""
    golden_skill = skill.from_document(parse_frontmatter(golden_bytes(name), "x/SKILL.md"), "x/SKILL.md")
    found = [*check_skill(golden_skill), *check_body(golden_skill), *check_links(golden_skill, lambda _: False)]
    assert all(item.path == "x/SKILL.md" for item in found)
