"""Reloading a role while it is in use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.assembly import assemble
from prowess.agent.reload import RoleReloader
from prowess.errors import ConfigError
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

ROLE = "name: a\nprompt: First.\nmodel: openai:m\n"
TAKEN = "reloaded the role after a change"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "role.yaml").write_text(ROLE)
    (tmp_path / "skills").mkdir()
    return tmp_path


def make_reloader(top: Path, *, watch: bool = True) -> tuple[RoleReloader, list[str]]:
    notes: list[str] = []
    reloader = RoleReloader(str(top / "role.yaml"), home=str(top / "home"), env={}, watch=watch, notify=notes.append)
    return reloader, notes


def write(file: Path, text: str) -> None:
    """Write a file and change its time, also on a file system with a coarse clock."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(before + 10**9, before + 10**9))


def test_without_watch_changes_are_ignored(top: Path) -> None:
    reloader, notes = make_reloader(top, watch=False)
    first = reloader.current()
    write(top / "role.yaml", "broken")
    assert reloader.current() is first
    assert notes == []


def test_an_unchanged_role_is_not_read_again(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn only compares fingerprints of files."""
    skill(top / "skills/pdf")
    reloader, notes = make_reloader(top)
    first = reloader.current()
    monkeypatch.setattr("prowess.agent.reload.assemble", lambda *_, **__: pytest.fail("it was read again"))
    assert reloader.current() is first
    assert notes == []


def test_a_changed_role_is_used_from_the_next_turn_on(top: Path) -> None:
    """A running turn keeps its assembly."""
    reloader, notes = make_reloader(top)
    before = reloader.current()
    write(top / "role.yaml", ROLE.replace("First", "Second"))
    assert reloader.current().instructions == "Second."
    assert before.instructions == "First."
    assert notes == [TAKEN]
    reloader.current()
    assert notes == [TAKEN]


def test_a_changed_new_or_deleted_skill_is_noticed(top: Path) -> None:
    skill(top / "skills/named", body="Old.")
    found = skill(top / "skills/found")
    write(top / "role.yaml", ROLE + "skills: [named]\n")
    reloader, notes = make_reloader(top)
    write(top / "skills/named/SKILL.md", "---\nname: named\ndescription: d\n---\nNew.\n")
    assert reloader.current().instructions.endswith("New.")
    write(found, "---\nname: found\ndescription: Other words.\n---\n")
    catalog = reloader.current().catalog
    assert catalog is not None
    assert [entry.description for entry in catalog.active] == ["Other words."]
    skill(top / "skills/third")
    catalog = reloader.current().catalog
    assert catalog is not None
    assert [entry.name for entry in catalog.active] == ["found", "third"]
    found.unlink()
    found.parent.rmdir()
    catalog = reloader.current().catalog
    assert catalog is not None
    assert [entry.name for entry in catalog.active] == ["third"]
    assert notes == [TAKEN] * 4


def test_a_new_skills_folder_is_noticed(top: Path) -> None:
    """`.agents/skills` may be created after the start."""
    reloader, _ = make_reloader(top)
    skill(top / ".agents/skills/late")
    catalog = reloader.current().catalog
    assert catalog is not None
    assert [entry.name for entry in catalog.active] == ["late"]


def test_an_invalid_change_is_reported_and_not_loaded(top: Path) -> None:
    """Once for each error; after the fix the change is loaded."""
    reloader, notes = make_reloader(top)
    first = reloader.current()
    write(top / "role.yaml", ROLE + "skils: []\n")
    assert reloader.current() is first
    assert reloader.current() is first
    assert len(notes) == 1
    assert notes[0].startswith("the change is not loaded: ")
    assert notes[0].endswith("role.yaml:4:1: unknown key `skils` (did you mean `skills`?)")
    write(top / "role.yaml", ROLE + "skills: [../elsewhere/pdf.md]\n")
    assert reloader.current() is first
    assert "skill not found: `../elsewhere/pdf.md`" in notes[1]
    (top.parent / "elsewhere").mkdir(exist_ok=True)
    (top.parent / "elsewhere/pdf.md").write_text("---\nname: pdf\ndescription: d\n---\nTurn pages.\n")
    assert reloader.current().instructions.endswith("Turn pages.")
    assert notes[2:] == [TAKEN]


def test_a_role_whose_file_disappears_is_kept(top: Path) -> None:
    """Editors may write a file by renaming another."""
    reloader, notes = make_reloader(top)
    first = reloader.current()
    (top / "role.yaml").rename(top / "renamed")
    assert reloader.current() is first
    (top / "renamed").rename(top / "role.yaml")
    assert reloader.current().instructions == "First."
    assert len(notes) == 2


def test_a_change_during_reading_is_noticed_at_the_next_turn(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fingerprints are those from before reading."""
    reloader, _ = make_reloader(top)

    def slow(*given: Any, **named: Any) -> object:
        done = assemble(*given, **named)
        write(top / "role.yaml", ROLE.replace("First", "Third"))
        monkeypatch.setattr("prowess.agent.reload.assemble", assemble)
        return done

    monkeypatch.setattr("prowess.agent.reload.assemble", slow)
    write(top / "role.yaml", ROLE.replace("First", "Second"))
    assert reloader.current().instructions == "Second."
    assert reloader.current().instructions == "Third."


def test_each_note_is_given_once(top: Path) -> None:
    """After a change only new ones."""
    for name in ("aa", "bb", "cc"):
        skill(top / f"skills/{name}")
    write(top / "role.yaml", ROLE + "auto_skills: {max_skills: 2}\n")
    reloader, notes = make_reloader(top)
    assert [words.partition(":")[0] for words in notes] == ["`cc` is left out"]
    write(top / "role.yaml", ROLE + "auto_skills: {max_skills: 2}\n# changed\n")
    reloader.current()
    skill(top / "skills/dd")
    reloader.current()
    assert [words.partition(":")[0] for words in notes[1:]] == [TAKEN, TAKEN, "`dd` is left out"]


def test_an_invalid_role_is_an_error_at_the_start(top: Path) -> None:
    """The message lists everything that is wrong, one line each."""
    (top / "role.yaml").write_text("name: a\nskils: []\n")
    with pytest.raises(ConfigError) as caught:
        make_reloader(top)
    assert str(caught.value).splitlines() == [
        f"{top}/role.yaml:2:1: unknown key `skils` (did you mean `skills`?)",
        f"{top}/role.yaml:1:1: missing key `prompt` (add `prompt: ...`)",
    ]
    assert caught.value.hint == "fix the role, then check it with `prowess validate ROLE`"


def test_tools_that_can_write_cannot_change_their_policy(top: Path) -> None:
    """A change of the role is loaded, but its policy and its tools stay."""
    write(
        top / "role.yaml", f"{ROLE}tools: [{{type: filesystem, read_only: false}}]\nsecurity: {{ask: [write_file]}}\n"
    )
    reloader, notes = make_reloader(top)
    first = reloader.current()
    write(
        top / "role.yaml", ROLE.replace("First.", "Second.") + "tools: [{type: shell, require_confirmation: false}]\n"
    )
    second = reloader.current()
    assert second.instructions == "Second."
    assert second.toolbox is first.toolbox
    assert second.role.security == first.role.security
    assert notes == [f"{TAKEN}; its policy and tools stay, because its tools can write its files"]
