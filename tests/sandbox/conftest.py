"""Fixtures of the tests of sandboxes."""

from __future__ import annotations

import sys

import pytest

from support.suites import require_backend


@pytest.fixture(autouse=True)
def _no_windows() -> None:
    if sys.platform == "win32":
        pytest.skip("Prowess cannot run commands on Windows yet")


@pytest.fixture(autouse=True)
def _own_temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove what callers that are killed here leave behind."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))


@pytest.fixture(params=["none", "bwrap"])
def sandbox(request: pytest.FixtureRequest) -> str:
    return require_backend(request.param)


@pytest.fixture
def bwrap() -> str:
    return require_backend("bwrap")


@pytest.fixture
def linux() -> None:
    if sys.platform != "linux":
        pytest.skip("needs /proc")
