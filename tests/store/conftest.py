"""A store on each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.store import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return str(request.getfixturevalue("postgres_server").new_database())


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url, lease=1) as opened:
        yield opened
