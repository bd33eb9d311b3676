"""Rows of parametrized tests are those of tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("path", sorted(TESTS.rglob("rows.yaml")), ids=lambda path: path.parent.name)
def test_each_table_of_rows_belongs_to_a_test(path: Path) -> None:
    text = "".join(module.read_text(encoding="utf-8") for module in path.parent.glob("test_*.py"))
    used = re.findall(r'rows\(__file__, "(\w+)"\)', text)
    assert sorted(used) == sorted(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert [name for name in used if f"def test_{name}(" not in text] == []
