"""Every test has a home and a cache of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

collect_ignore = ["testing/corpus"]
"""Skills whose tests are what a test is about."""


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of whoever runs the tests is read, and nothing is left with them."""
    home: Path = tmp_path_factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(home / "cache"))
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(home / "config"))
    monkeypatch.setenv("CAMEL_WORKDIR", str(home))  # where CAMEL keeps the files it summarises a conversation into
