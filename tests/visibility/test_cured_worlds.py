"""Every cure keeps its promise: it is typed as it is printed, in worlds with skills of all kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cured_worlds import follow_cures
from prowess.cli import main
from support.skills import skill
from support.trees import write_repository

if TYPE_CHECKING:
    from pathlib import Path

WORLDS = (
    "a-12",
    "a-25",
    "b-14",
    "b-47",
    "b-54",
    "c-37",
    "c-66",
    "e-33",
    "j-36",
    "j-61",
    "h1-28-home",
    "h2-7-home",
    "h2-52-home",
)
"""Worlds that once showed a fault: skills of a lock, mounted copies of copies, links, names taken by other cures."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", WORLDS)
def test_cures_keep_their_promises(seed: str, tmp_path: Path) -> None:
    """`make cures` makes 400 worlds."""
    follow_cures(seed, tmp_path.resolve() / "world")


def test_a_command_that_cures_forty_losses_is_printed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also for skills of a lock, and for their source beside them, which has changed."""
    project = tmp_path.resolve() / "project"
    write_repository(project / ".git")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(project)
    for number in range(40):
        skill(project / f".agents/skills/own-{number}")
        skill(project / f"vendor/locked-{number}")
    assert main(["add", "./vendor", "--yes", "--host", "codex"]) == 0
    capsys.readouterr()
    main(["check", "--full", "--host", "claude-code", "--host", "codex"])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("    prowess ")]
    names = " ".join(sorted((f"locked-{number}" for number in range(40)), key=lambda name: name))
    assert len(lines) == 2
    assert f"prowess add ./vendor {names} --host claude-code" in lines
    assert sum(line.startswith("prowess mount .agents/skills/own-0 ") for line in lines) == 1
