"""Each rule of docs/security.md names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

TOP = Path(__file__).parent.parent
ROW = re.compile(r"^\|(?! Threat|-)(.*)\|(.*)\|(.*)\|$", re.MULTILINE)
TEST_ID = re.compile(r"`(tests/[\w/-]+\.(?:py|md|yaml))::([^`]+)`")
CAPITALIZED = re.compile(r"(?!Prowess|Python|Unix|Windows)[A-Z][a-z']*\b")
ROWS = [tuple(cell.strip() for cell in row) for row in ROW.findall((TOP / "docs/security.md").read_text("utf-8"))]


@pytest.mark.parametrize(("threat", "rule", "tests"), ROWS, ids=[row[0][:40] for row in ROWS])
def test_each_rule_names_tests_that_exist(threat: str, rule: str, tests: str) -> None:
    assert threat
    assert rule
    named = TEST_ID.findall(tests)
    assert named, f"name a test as `tests/FILE.py::NAME`: {tests}"
    for file, name in named:
        source = (TOP / file).read_text("utf-8")
        if file.endswith(".yaml"):  # a case, by the first words of its claim
            claims = [case["claim"] for case in yaml.safe_load(source)["cases"]]
            assert [claim for claim in claims if claim.startswith(name)], f"{file} has no claim {name}"
            continue
        place = rf"^## {re.escape(name)}$" if file.endswith(".md") else rf"^(async )?def {name}\("
        assert re.search(place, source, re.MULTILINE), f"{file} has no test {name}"


@pytest.mark.parametrize("cell", [cell for row in ROWS for cell in row[:2]])
def test_cells_are_no_sentences(cell: str) -> None:
    """They begin with a small letter and end without a full stop."""
    assert not CAPITALIZED.match(cell)
    assert not cell.endswith(".")


def test_no_threat_is_listed_twice() -> None:
    """Changes of this page are merged line by line, so that a changed row can come back."""
    threats = [row[0].lower().rstrip(".") for row in ROWS]
    assert sorted(threats) == sorted(set(threats))
