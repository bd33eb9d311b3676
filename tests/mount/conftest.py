"""Folders for the tests of mounting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from endurance import World, make_world

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


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Two versions of two skills, and homes with and without them."""
    return make_world(tmp_path_factory.mktemp("world").resolve())
