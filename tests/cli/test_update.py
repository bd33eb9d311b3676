"""`prowess update` shows what changes before it changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from endurance import content
from prowess.install import read_lock
from support.installing import Machine, make_machine, repository
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


def test_what_changes_is_shown_and_then_installed(machine: Machine) -> None:
    machine.run("add", repository(machine), "--yes")
    old = read_lock(str(machine.lock)).skills["pdf"].revision or ""
    change_source(machine)
    repository(machine)
    before = content(machine.project)
    out, err = machine.run("update", "--dry-run")
    assert content(machine.project) == before
    new = (machine.source / ".git/refs/heads/main").read_text().strip()
    assert out.splitlines() == [
        f"pdf: {old[:19]} -> {new[:19]}",
        "  + new.md",
        "  ~ SKILL.md",
        "  - scripts/run.sh",
        "  allowed-tools: none -> `Bash(rm:*)`",
        "  scripts: `scripts/run.sh` -> none",
    ]
    assert err == "1 skill to update, 1 current, 0 pinned\n"
    found = machine.json("update", "--yes")
    assert found["current"] == ["csv"]
    assert found["updates"][0]["permissions"]["allowed-tools"] == {"before": "", "after": "Bash(rm:*)"}
    assert (found["updates"][0]["added"], found["updates"][0]["removed"]) == (["new.md"], ["scripts/run.sh"])
    machine.run("verify")
    assert read_lock(str(machine.lock)).skills["pdf"].revision == new
    assert machine.run("update")[1] == "nothing to update, 2 current, 0 pinned\n"


def test_findings_of_one_version_only_are_shown(machine: Machine) -> None:
    skill(machine.source / "skills/pdf", more="metadata: {a: {b: 1}}\nold-field: x\n")
    machine.run("add", repository(machine), "--yes")
    skill(machine.source / "skills/pdf", more="metadata: {a: {b: 1}}\nnew-field: x\n")
    repository(machine)
    out, _ = machine.run("update", "--dry-run")
    (update,) = machine.json("update", "--dry-run")["updates"]
    (new,), (fixed,) = update["new_findings"], update["fixed_findings"]
    assert ("new-field" in new["message"], "old-field" in fixed["message"]) == (True, True)
    assert "metadata-nested" in {item["code"] for item in update["findings"]}
    assert f"fixed: {fixed['message']} [{fixed['code']}]" in out
    assert new["message"] in out
    assert "[metadata-nested]" not in out


@pytest.mark.parametrize("kind", ["tag", "commit"])
def test_a_pinned_skill_is_not_moved(kind: str, machine: Machine) -> None:
    url = repository(machine)
    commit = (machine.source / ".git/refs/heads/main").read_text().strip()
    (machine.source / ".git/refs/tags/v1.2").write_text(f"{commit}\n")
    machine.run("add", f"{url}#{'v1.2' if kind == 'tag' else commit}", "pdf", "--yes")
    change_source(machine)
    repository(machine)
    (machine.source / ".git/refs/tags/v1.2").write_text((machine.source / ".git/refs/heads/main").read_text())
    before = content(machine.project)
    out, err = machine.run("update", "pdf", "--yes")
    assert out == f"pdf: pinned to `{'v1.2' if kind == 'tag' else commit}`\n"
    assert err == "nothing to update, 0 current, 1 pinned\n"
    assert content(machine.project) == before


def test_a_changed_skill_is_updated_with_force_only(machine: Machine) -> None:
    machine.run("add", "../source", "--yes")
    change_source(machine)
    (machine.project / ".agents/skills/pdf/SKILL.md").write_text("mine")
    before = content(machine.project)
    assert "was changed after it was installed" in machine.run("update", "--yes", code=1)[1]
    assert content(machine.project) == before
    machine.run("update", "--yes", "--force")
    machine.run("verify")


def test_without_a_terminal_it_needs_yes(machine: Machine) -> None:
    machine.run("add", "../source", "--yes")
    change_source(machine)
    before = content(machine.project)
    out, err = machine.run("update", code=2)
    assert out.startswith("pdf: ")
    assert "there is no terminal to ask on" in err
    assert content(machine.project) == before


def test_a_change_of_what_may_run_asks_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.run("add", "../source", "--yes")
    (machine.source / "skills/csv/more.md").write_text("x")
    change_source(machine)
    asked: list[str] = []

    def answer(question: str) -> bool:
        asked.append(question)
        return len(asked) < 3

    monkeypatch.setattr("prowess.cli._installing.is_terminal", lambda: True)
    monkeypatch.setattr("prowess.cli.update.is_terminal", lambda: True)
    monkeypatch.setattr("prowess.cli.update.ask", answer)
    machine.run("update")
    assert asked == ["`pdf` may run or use something else than before; update it?", "update 2 skills?"]
    machine.run("verify")


def test_a_skill_that_its_source_lost_does_not_stop_the_others(machine: Machine) -> None:
    machine.run("add", repository(machine), "--yes")
    for file in (machine.source / "skills/csv").iterdir():
        file.unlink()
    (machine.source / "skills/pdf/new.md").write_text("new")
    repository(machine)
    out, _ = machine.run("update", "--yes")
    assert "csv: its source has no such skill any more" in out
    assert "updated `pdf`" in out
    assert machine.installed() == ["csv", "pdf"]


def test_a_skill_that_has_another_name_now_stays(machine: Machine) -> None:
    machine.run("add", "../source", "--yes")
    skill(machine.source / "skills/pdf", "other")
    out, err = machine.run("update", "--yes")
    assert "pdf: its source has no such skill any more" in out
    assert err == "nothing to update, 1 current, 0 pinned\n"


def test_a_missing_lock_is_noted(machine: Machine) -> None:
    out, err = machine.run("update")
    assert (out, err) == (
        "",
        "note: no lock: skills-lock.json does not exist\nnothing to update, 0 current, 0 pinned\n",
    )


def test_an_unknown_name_is_wrong_use(machine: Machine) -> None:
    assert "the lock has no skill `x`" in machine.run("update", "x", code=2)[1]


def test_an_entry_of_another_tool_gets_our_keys(machine: Machine) -> None:
    import json

    machine.run("add", "../source", "pdf", "--yes")
    table = json.loads(machine.lock.read_text())
    del table["skills"]["pdf"]["prowess"]
    table["skills"]["pdf"]["theirs"] = 1
    machine.lock.write_text(json.dumps(table))
    change_source(machine)
    machine.run("update", "--yes")
    entry = json.loads(machine.lock.read_text())["skills"]["pdf"]
    assert entry["theirs"] == 1
    assert entry["prowess"]["digest"].startswith("sha256:")
    machine.run("verify")
