"""Read the rows of parametrized tests from `rows.yaml` beside their module, where they have the name of the test.

The name is without `test_`. A row is a list of values; in a map, each row has a name, which is the id of its test.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml


def rows(module: str, test: str) -> list[Any]:
    """Return the rows of a test.

    Args:
        module: its `__file__`.
        test: its name without `test_`.
    """
    found = _tables(Path(module).with_name("rows.yaml"))[test]
    if isinstance(found, dict):
        return [pytest.param(*row, id=name) for name, row in found.items()]
    return [tuple(row) if isinstance(row, list) else row for row in found]


@cache
def _tables(path: Path) -> dict[str, Any]:
    tables: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return tables
