"""Commands that show progress work without stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from support.suites import write_suite

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("command", ["check", "test"])
def test_a_closed_stderr_is_no_bug(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python sets `sys.stderr` to None if it was closed before the start."""
    write_suite(tmp_path / "skill", {"one": "true"})
    monkeypatch.setattr(sys, "stderr", None)
    assert main([command, str(tmp_path / "skill")]) < 3
