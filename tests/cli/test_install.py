"""`prowess install` installs what is locked, and nothing else."""

from __future__ import annotations

import errno
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from endurance import content
from prowess.install import computed_hash
from prowess.install._change import make_change
from support.installing import Machine, make_machine, repository
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return make_machine(tmp_path, monkeypatch, capsys)


def forget_store(machine: Machine) -> None:
    shutil.rmtree(machine.project.parent / "data/store")


def edit_lock(machine: Machine, **values: Any) -> None:
    """Change the entry of `pdf`; a value of `None` removes a key."""
    table = json.loads(machine.lock.read_text())
    entry = table["skills"]["pdf"] | values
    table["skills"]["pdf"] = {key: value for key, value in entry.items() if value is not None}
    machine.lock.write_text(json.dumps(table))


@pytest.mark.parametrize("source", ["folder", "repository"])
@pytest.mark.parametrize("stored", [True, False], ids=["from the store", "from the source"])
def test_what_is_locked_is_installed_again(source: str, stored: bool, machine: Machine) -> None:
    machine.run("add", "../source" if source == "folder" else repository(machine), "--yes", "--host", "claude-code")
    before = content(machine.project)
    shutil.rmtree(machine.project / ".claude")
    if stored:
        shutil.rmtree(machine.source)
    else:
        forget_store(machine)
    out, err = machine.run("install")
    assert content(machine.project) == before
    assert out.splitlines()[0] == "installed `csv` in .claude/skills/csv"
    assert err == "2 skills as locked, 2 installed now\n"
    assert machine.json("install")["installed"] == []


def test_a_store_that_cannot_be_written_changes_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else skills would be installed that `prowess store gc` does not know."""
    machine.run("add", "../source", "pdf", "--yes")
    shutil.rmtree(machine.project / ".agents")
    shutil.rmtree(machine.project.parent / "data/store/projects")
    before = content(machine.project)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("prowess.install._store.atomic_replace", full)
    assert "no space left on device" in machine.run("install", code=1)[1]
    assert content(machine.project) == before


def test_the_name_of_a_skill_in_a_lock_is_quoted_in_a_command(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    table = json.loads(machine.lock.read_text())
    table["skills"]["$(touch x)"] = table["skills"].pop("pdf") | {"skillPath": "gone/SKILL.md"}
    machine.lock.write_text(json.dumps(table))
    forget_store(machine)
    assert "`prowess remove '$(touch x)'`" in machine.run("install", code=1)[1]


@pytest.mark.parametrize("other", [("update", "pdf", "--yes"), ("remove", "pdf")], ids="".join)
def test_a_lock_that_another_command_changes_meanwhile_is_not_installed_as_it_was(
    other: tuple[str, ...], machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    (machine.source / "skills/pdf/new.md").write_text("new")
    shutil.rmtree(machine.project / ".agents")
    states = []

    def change_first(*args: Any, **more: Any) -> Any:
        machine.run(*other)
        states.append(content(machine.project))
        return make_change(*args, **more)

    monkeypatch.setattr("prowess.install._install.make_change", change_first)
    assert "the lock was changed meanwhile" in machine.run("install", code=1)[1]
    assert [content(machine.project)] == states


@pytest.mark.parametrize("change", ["another link", "store changed", "store removed"])
def test_a_link_that_leads_to_other_files_is_made_again(change: str, machine: Machine) -> None:
    machine.run("add", repository(machine), "pdf", "--yes", "--link")
    link = machine.project / ".agents/skills/pdf"
    if change == "another link":
        skill(machine.project / "other/pdf")
        link.unlink()
        link.symlink_to("../../other/pdf")
    elif change == "store changed":
        (link / "SKILL.md").chmod(0o644)
        (link / "SKILL.md").write_text("---\nname: pdf\ndescription: Another one.\n---\n")
    else:
        shutil.rmtree(link.resolve())
    machine.run("verify", code=1)
    machine.run("install")
    machine.run("verify")


def test_a_link_to_a_folder_stays_though_its_author_changes_it_but_another_one_does_not(machine: Machine) -> None:
    own = skill(machine.project / "skills/own")
    machine.run("add", "./skills", "own", "--yes", "--link")
    link = machine.project / ".agents/skills/own"
    link.unlink()
    skill(machine.project / "other/own")
    link.symlink_to("../../other/own")
    machine.run("install")
    assert link.resolve() == machine.project / "skills/own"
    own.write_text(own.read_text() + "changed\n")
    assert machine.json("install")["installed"] == []


def test_a_repository_is_read_at_the_locked_commit(machine: Machine) -> None:
    machine.run("add", repository(machine), "pdf", "--yes")
    before = content(machine.project)
    (machine.source / "skills/pdf/new.md").write_text("new")
    repository(machine)
    shutil.rmtree(machine.project / ".agents")
    forget_store(machine)
    machine.run("install")
    assert content(machine.project) == before


def test_nothing_is_installed_if_one_source_has_other_files(machine: Machine) -> None:
    machine.run("add", "../source", "--yes")
    shutil.rmtree(machine.project / ".agents")
    forget_store(machine)
    (machine.source / "skills/pdf/new.md").write_text("new")
    before = content(machine.project)
    _, err = machine.run("install", code=1)
    assert "`pdf`: the source has other files than the lock says" in err
    assert content(machine.project) == before
    machine.run("install", "csv")
    assert machine.installed() == ["csv"]


def test_a_lock_that_was_edited_to_point_elsewhere_is_refused(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    shutil.rmtree(machine.project / ".agents")
    forget_store(machine)
    skill(machine.project.parent / "evil/skills/pdf", description="Another.")
    edit_lock(machine, source="../evil")
    _, err = machine.run("install", code=1)
    assert "the source has other files than the lock says" in err
    assert not machine.installed()


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"source": "ext::x", "sourceType": "git"}, "names a program"),
        ({"source": "https://host/r.git", "sourceType": "git", "ref": "a..b"}, "invalid ref"),
        ({"source": "https://me:secret@host/r.git", "sourceType": "git"}, "user name or password"),
        ({"source": "https://host/x", "sourceType": "oci"}, "is another"),
        ({"source": "left-pad", "sourceType": "node_modules"}, "`npx skills install`"),
        ({"sourceType": "other"}, "is not supported"),
    ],
)
def test_a_lock_cannot_name_an_invalid_source(values: dict[str, str], problem: str, machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    shutil.rmtree(machine.project / ".agents")
    forget_store(machine)
    edit_lock(machine, **values)
    _, err = machine.run("install", code=1)
    assert problem in err
    assert not machine.installed()


@pytest.mark.parametrize("name", [".git", ".hidden", "-rf", "con", "A B", "a.", "../up", "a/b"])
def test_a_lock_cannot_name_the_folder_of_a_skill_as_it_likes(name: str, machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    shutil.rmtree(machine.project / ".agents")
    table = json.loads(machine.lock.read_text())
    table["skills"] = {name: table["skills"]["pdf"]}
    machine.lock.write_text(json.dumps(table))
    before = content(machine.project.parent)
    code = 2 if "/" in name else 1
    machine.run("install", code=code)
    assert content(machine.project.parent) == before


def test_a_revision_that_names_no_version_is_refused(machine: Machine) -> None:
    machine.run("add", repository(machine), "pdf", "--yes")
    shutil.rmtree(machine.project / ".agents")
    forget_store(machine)
    table = json.loads(machine.lock.read_text())
    table["skills"]["pdf"]["prowess"]["revision"] = "HEAD~1 x"
    machine.lock.write_text(json.dumps(table))
    _, err = machine.run("install", code=1)
    assert "invalid revision" in err


def test_an_entry_of_another_tool_is_compared_by_its_computed_hash(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    before = content(machine.project / ".agents")
    shutil.rmtree(machine.project / ".agents")
    edit_lock(machine, prowess=None)
    text = machine.lock.read_text()
    machine.run("install")
    assert content(machine.project / ".agents") == before
    assert machine.lock.read_text() == text
    shutil.rmtree(machine.project / ".agents")
    edit_lock(machine, computedHash="0" * 64)
    _, err = machine.run("install", code=1)
    assert "other files than the lock says, by `computedHash`" in err
    assert not machine.installed()


def test_a_changed_skill_is_restored_with_force_only(machine: Machine) -> None:
    machine.run("add", "../source", "--yes")
    before = content(machine.project)
    (machine.project / ".agents/skills/pdf/SKILL.md").write_text("mine")
    _, err = machine.run("install", code=1)
    assert "was changed after it was installed" in err
    machine.run("install", "--force")
    assert content(machine.project) == before


def test_a_damaged_copy_in_the_store_is_fetched_again(machine: Machine) -> None:
    machine.run("add", "../source", "--yes")
    before = content(machine.project)
    shutil.rmtree(machine.project / ".agents")
    for file in (machine.project.parent / "data/store/sha256").rglob("SKILL.md"):
        file.chmod(0o644)
        file.write_text("changed")
    machine.run("install")
    assert content(machine.project) == before


def test_without_a_lock_it_is_wrong_use(machine: Machine) -> None:
    _, err = machine.run("install", code=2)
    assert "hint: `prowess add SOURCE`" in err
    machine.run("add", "../source", "--yes")
    assert "the lock has no skill `x`" in machine.run("install", "x", code=2)[1]


def test_the_hash_of_the_source_is_in_the_lock(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    entry = json.loads(machine.lock.read_text())["skills"]["pdf"]
    assert entry["computedHash"] == computed_hash(str(machine.source / "skills/pdf"))
