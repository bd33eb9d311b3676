"""A project with a skill, in which `prowess eval` is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from support.recorded_evals import greet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Output = tuple[int, str, str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Output]:
    """Return a function that calls `prowess eval` beside a skill with six cases."""
    greet(tmp_path, 6)
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Output:
        code = main(["eval", *words])
        return code, *capsys.readouterr()

    return call
