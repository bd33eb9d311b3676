"""What settings files and environment variables say."""

from __future__ import annotations

import pytest

from prowess.catalog._settings_files import is_switched_on


@pytest.mark.parametrize(
    ("variable", "value", "on"),
    [
        ("A", "yes", True),
        ("A", "1", True),
        ("A", "off", False),
        ("A", "", False),
        ("A=1|true", "TRUE", True),
        ("A=1|true", "1", True),
        ("A=1|true", "yes", False),
        ("A=1|true", "", False),
        ("B", "1", False),
    ],
)
def test_a_variable_is_switched_on_by_its_words(variable: str, value: str, *, on: bool) -> None:
    """Opencode takes `yes` for some variables only."""
    assert is_switched_on(variable, {"A": value}) is on
