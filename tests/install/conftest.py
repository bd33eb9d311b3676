"""Fixtures of tests of installing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.install import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prowess.install import OpenStore


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenStore]:
    """A store of this test alone."""
    with Store(str(tmp_path / "store")).open() as opened:
        yield opened
