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


def test_what_may_be_older_asks_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, and together with what may run; a no to one of them changes nothing."""
    for name, version in (("csv", "2"), ("pdf", "2")):
        skill(machine.source / "skills" / name, more=f"metadata: {{version: {version}}}\n")
    machine.run("add", "../source", "--yes")
    for name, version in (("csv", "1.9"), ("pdf", "1")):
        skill(machine.source / "skills" / name, more=f"metadata: {{version: {version}}}\n")
    asked: list[str] = []

    def answer(question: str) -> bool:
        asked.append(question)
        return len(asked) < 2

    monkeypatch.setattr("prowess.cli.installed._plans.can_ask", lambda: True)
    monkeypatch.setattr("prowess.cli.installed.update.can_ask", lambda: True)
    monkeypatch.setattr("prowess.cli.installed.update.ask", answer)
    machine.run("update", code=1)
    assert asked == [
        "`csv` may be older than what is installed; update it?",
        "`pdf` may be older than what is installed, and run or use something else than before; update it?",
    ]
    machine.run("verify")


LOWER = [
    *(("1.10", "1.9"), ("1.10.0", "1.9.99"), ("v2", "1"), ("2.0", "2.0-rc.1"), ("2.0rc2", "2.0rc1"), ("2.0", "v1.9.9")),
    *(("1.0-2", "1.0-1"), ("2026-10-01", "2026-9-30"), ("1.0.post1", "1.0"), ("1.0+b", "0.9+c"), ("1.0", None)),
    *(("1.0", "next"), ("1.0", "0!9"), ("1.0", "\uff10.9")),
]
NOT_LOWER = [
    *(("1.9", "1.10"), ("1.0", "1"), ("1.0.0", "v1.0"), ("1.0-rc.9", "1.0"), ("1.0", "1.0.post1"), ("1.0+a", "1.0+b")),
    *(("one", "two"), ("next", "1.0"), ("1" * 5000, "1"), (None, "1.0"), (None, None)),
]


def test_a_lower_version_is_named(machine: Machine) -> None:
    def write(number: int, version: str | None, body: str) -> None:
        more = "" if version is None else f'metadata: {{version: "{version}"}}\n'
        skill(machine.source / f"skills/s{number}", more=more, body=body)

    rows = [*LOWER, *NOT_LOWER]
    for number, (version, _) in enumerate(rows):
        write(number, version, "one")
    machine.run("add", "../source", "--yes")
    for number, (_, version) in enumerate(rows):
        write(number, version, "two")
    updates = {update["name"]: update["older"] for update in machine.json("update", "--dry-run")["updates"]}
    found = [bool(updates[f"s{number}"]) for number in range(len(rows))]
    assert found == [True] * len(LOWER) + [False] * len(NOT_LOWER)
