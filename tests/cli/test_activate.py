"""`prowess activate`: what the model would read of a skill."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.project_commands import json_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def test_nothing_in_the_skill_is_run_or_filled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No process is started."""
    skill(tmp_path / ".agents/skills/pdf", body="Fill $ARGUMENTS with !`date`.")
    for name in ("system", "posix_spawn", "fork"):
        monkeypatch.setattr(os, name, lambda *_, **__: pytest.fail("a process was started"))
    assert "Fill $ARGUMENTS with !`date`." in json_in("activate", tmp_path, "pdf", capsys=capsys)["content"]
