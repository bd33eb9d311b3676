"""`prowess update` shows what changes before it changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.installing import Machine, make_machine
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return make_machine(tmp_path, monkeypatch, capsys)


def change_source(machine: Machine) -> None:
    """Change a file, add one, remove one, and ask for a permission."""
    skill(machine.source / "skills/pdf", more="allowed-tools: Bash(rm:*)\n")
    (machine.source / "skills/pdf/new.md").write_text("new")
    (machine.source / "skills/pdf/scripts/run.sh").unlink()


def test_a_change_of_what_may_run_asks_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.run("add", "../source", "--yes")
    (machine.source / "skills/csv/more.md").write_text("x")
    change_source(machine)
    asked: list[str] = []

    def answer(question: str) -> bool:
        asked.append(question)
        return len(asked) < 3

    monkeypatch.setattr("prowess.cli.installed._plans.can_ask", lambda: True)
    monkeypatch.setattr("prowess.cli.installed.update.can_ask", lambda: True)
    monkeypatch.setattr("prowess.cli.installed.update.ask", answer)
    machine.run("update")
    assert asked == ["`pdf` may run or use something else than before; update it?", "update 2 skills?"]
    machine.run("verify")
