"""Folders for the tests of mounting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder whose path contains no link."""
    return tmp_path.resolve()


@pytest.fixture
def home(top: Path) -> Path:
    """A home that does not exist yet."""
    return top / "home"
