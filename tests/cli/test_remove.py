"""`prowess remove` leaves nothing of ours and everything of others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from endurance import content
from prowess.install import read_lock
from support.installing import Machine, make_machine
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return make_machine(tmp_path, monkeypatch, capsys)


def test_nothing_is_left_of_what_was_added(machine: Machine) -> None:
    before = content(machine.project)
    machine.run("add", "../source", "--yes", "--host", "claude-code", "--host", "codex")
    out, _ = machine.run("remove", "csv", "pdf")
    assert content(machine.project) == before
    assert out.splitlines()[0] == "removed `csv` from .claude/skills"


def test_everything_of_others_stays(machine: Machine) -> None:
    skill(machine.project / ".agents/skills/mine")
    before = content(machine.project)
    machine.run("add", "../source", "csv", "--yes")
    locked = machine.lock.read_bytes()
    machine.run("add", "../source", "pdf", "--yes")
    machine.run("remove", "pdf")
    assert machine.lock.read_bytes() == locked
    assert machine.installed() == ["csv", "mine"]
    machine.run("remove", "csv")
    assert content(machine.project) == before


def test_a_changed_skill_is_removed_with_force_only(machine: Machine) -> None:
    machine.run("add", "../source", "--yes")
    (machine.project / ".agents/skills/pdf/mine.md").write_text("mine")
    before = content(machine.project)
    assert "was changed after it was installed" in machine.run("remove", "pdf", "csv", code=1)[1]
    assert content(machine.project) == before
    machine.run("remove", "pdf", "csv", "--force")
    assert not machine.lock.exists()


@pytest.mark.parametrize("mine", ["a repository", "a package", "a link"])
def test_what_the_hash_of_the_other_tool_does_not_cover_is_removed_with_force_only(mine: str, machine: Machine) -> None:
    import json

    machine.run("add", "../source", "pdf", "--yes")
    table = json.loads(machine.lock.read_text())
    del table["skills"]["pdf"]["prowess"]
    machine.lock.write_text(json.dumps(table))
    path = (
        machine.project
        / ".agents/skills/pdf"
        / {"a repository": ".git/notes", "a package": "node_modules/x"}.get(mine, "link")
    )
    if mine == "a link":
        path.symlink_to("SKILL.md")
    else:
        path.parent.mkdir()
        path.write_text("mine")
    assert "was changed after it was installed" in machine.run("remove", "pdf", code=1)[1]
    assert os.path.lexists(path)
    path.unlink()
    if mine != "a link":
        path.parent.rmdir()
    machine.run("remove", "pdf")
    assert machine.installed() == []


def test_a_skill_that_is_gone_is_removed_from_the_lock(machine: Machine) -> None:
    import shutil

    machine.run("add", "../source", "--yes")
    shutil.rmtree(machine.project / ".agents/skills/pdf")
    out, err = machine.run("remove", "pdf")
    assert (out, err) == ("", "the folders were gone already; removed from the lock\n")
    assert [*read_lock(str(machine.lock)).skills] == ["csv"]


def test_what_is_not_installed_is_wrong_use(machine: Machine) -> None:
    skill(machine.project / ".agents/skills/mine")
    machine.run("add", "../source", "--yes")
    _, err = machine.run("remove", "mine", "pdf", code=2)
    assert err == "error: the lock has no skill `mine`\n\nhint: it has `csv`, `pdf`\n"
    assert machine.installed() == ["csv", "mine", "pdf"]
    assert machine.json("remove", "pdf")["removed"] == [str(machine.project / ".agents/skills/pdf")]


def test_other_keys_of_the_lock_keep_it(machine: Machine) -> None:
    import json

    machine.run("add", "../source", "pdf", "--yes")
    table = json.loads(machine.lock.read_text())
    machine.lock.write_text(json.dumps(table | {"theirs": 1}))
    machine.run("remove", "pdf")
    assert json.loads(machine.lock.read_text()) == {"version": 1, "skills": {}, "theirs": 1}
