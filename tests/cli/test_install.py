"""`prowess install` installs what is locked, and nothing else."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from endurance import content
from prowess.install._change import make_change
from support.installing import Machine, make_machine, repository
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return make_machine(tmp_path, monkeypatch, capsys)


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


@pytest.mark.parametrize("other", [("update", "pdf", "--yes"), ("remove", "pdf", "--yes")], ids="".join)
def test_a_lock_that_another_command_changes_meanwhile_is_not_installed_as_it_was(
    other: tuple[str, ...], machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    (machine.source / "skills/pdf/new.md").write_text("new")
    shutil.rmtree(machine.project / ".agents")
    states: list[object] = []

    def change_first(*args: Any, **more: Any) -> Any:
        monkeypatch.setattr("prowess.install._change.make_change", make_change)
        machine.run(*other)
        states.append(content(machine.project))
        return make_change(*args, **more)

    monkeypatch.setattr("prowess.install._change.make_change", change_first)
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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no umask")
@pytest.mark.parametrize("mask", [0, 0o002])
def test_only_their_user_can_change_what_is_installed(mask: int, machine: Machine) -> None:
    """Nor the folders above it, whatever the umask is."""
    skill(machine.source / "skills/umask")
    old = os.umask(mask)
    try:
        machine.run("add", "../source", "umask", "--yes")
    finally:
        os.umask(old)
    machine.run("verify", "umask")
