"""Fixtures of tests of installing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.install import Store
from support.sources import fetch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prowess.install import Fetched, OpenStore


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenStore]:
    """A store of this test alone."""
    with Store(str(tmp_path / "store")).open() as opened:
        yield opened


@pytest.fixture
def fetched(opened: OpenStore) -> Callable[..., Fetched]:
    """Fetch skills of a source into the store of this test; the options are those of `Wanted`."""
    return lambda source, **options: fetch(source, opened, **options)
