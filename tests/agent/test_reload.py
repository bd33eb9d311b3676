"""A role that changes while it is used: what is taken over, what is not, and what is said of it."""

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


def live(top: Path, *, watch: bool = True) -> tuple[RoleReloader, list[str]]:
    said: list[str] = []
    made = RoleReloader(str(top / "role.yaml"), home=str(top / "home"), env={}, watch=watch, notify=said.append)
    return made, said


def write(file: Path, text: str) -> None:
    """Write a file whose time differs from before, however coarse the clock of the disk is."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(before + 10**9, before + 10**9))


def test_without_watch_changes_are_ignored(top: Path) -> None:
    made, said = live(top, watch=False)
    first = made.current()
    write(top / "role.yaml", "broken")
    assert made.current() is first
    assert said == []


def test_an_unchanged_role_is_not_read_again(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn only compares fingerprints of files."""
    skill(top / "skills/pdf")
    made, said = live(top)
    first = made.current()
    monkeypatch.setattr("prowess.agent.reload.assemble", lambda *_, **__: pytest.fail("it was read again"))
    assert made.current() is first
    assert said == []


def test_a_changed_role_is_used_from_the_next_turn_on(top: Path) -> None:
    """A running turn keeps its assembly."""
    made, said = live(top)
    before = made.current()
    write(top / "role.yaml", ROLE.replace("First", "Second"))
    assert made.current().instructions == "Second."
    assert before.instructions == "First."
    assert said == [TAKEN]
    made.current()
    assert said == [TAKEN]


def test_a_changed_new_or_deleted_skill_is_noticed(top: Path) -> None:
    skill(top / "skills/named", body="Old.")
    found = skill(top / "skills/found")
    write(top / "role.yaml", ROLE + "skills: [named]\n")
    made, said = live(top)
    write(top / "skills/named/SKILL.md", "---\nname: named\ndescription: d\n---\nNew.\n")
    assert made.current().instructions.endswith("New.")
    write(found, "---\nname: found\ndescription: Other words.\n---\n")
    catalog = made.current().catalog
    assert catalog is not None
    assert [entry.description for entry in catalog.active] == ["Other words."]
    skill(top / "skills/third")
    catalog = made.current().catalog
    assert catalog is not None
    assert [entry.name for entry in catalog.active] == ["found", "third"]
    found.unlink()
    found.parent.rmdir()
    catalog = made.current().catalog
    assert catalog is not None
    assert [entry.name for entry in catalog.active] == ["third"]
    assert said == [TAKEN] * 4


def test_a_new_skills_folder_is_noticed(top: Path) -> None:
    """`.agents/skills` may be created after the start."""
    made, _ = live(top)
    skill(top / ".agents/skills/late")
    catalog = made.current().catalog
    assert catalog is not None
    assert [entry.name for entry in catalog.active] == ["late"]


def test_an_invalid_change_is_reported_and_not_loaded(top: Path) -> None:
    """Once for each error; after the fix the change is loaded."""
    made, said = live(top)
    first = made.current()
    write(top / "role.yaml", ROLE + "skils: []\n")
    assert made.current() is first
    assert made.current() is first
    assert len(said) == 1
    assert said[0].startswith("the change is not loaded: ")
    assert said[0].endswith("role.yaml:4:1: unknown key `skils` (did you mean `skills`?)")
    write(top / "role.yaml", ROLE + "skills: [../elsewhere/pdf.md]\n")
    assert made.current() is first
    assert "skill not found: `../elsewhere/pdf.md`" in said[1]
    (top.parent / "elsewhere").mkdir(exist_ok=True)
    (top.parent / "elsewhere/pdf.md").write_text("---\nname: pdf\ndescription: d\n---\nTurn pages.\n")
    assert made.current().instructions.endswith("Turn pages.")
    assert said[2:] == [TAKEN]


def test_a_role_whose_file_disappears_is_kept(top: Path) -> None:
    """Editors may write a file by renaming another."""
    made, said = live(top)
    first = made.current()
    (top / "role.yaml").rename(top / "aside")
    assert made.current() is first
    (top / "aside").rename(top / "role.yaml")
    assert made.current().instructions == "First."
    assert len(said) == 2


def test_a_change_during_reading_is_noticed_at_the_next_turn(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fingerprints are those from before reading."""
    made, _ = live(top)

    def slow(*given: Any, **named: Any) -> object:
        done = assemble(*given, **named)
        write(top / "role.yaml", ROLE.replace("First", "Third"))
        monkeypatch.setattr("prowess.agent.reload.assemble", assemble)
        return done

    monkeypatch.setattr("prowess.agent.reload.assemble", slow)
    write(top / "role.yaml", ROLE.replace("First", "Second"))
    assert made.current().instructions == "Second."
    assert made.current().instructions == "Third."


def test_each_note_is_given_once(top: Path) -> None:
    """After a change only new ones."""
    for name in ("aa", "bb", "cc"):
        skill(top / f"skills/{name}")
    write(top / "role.yaml", ROLE + "auto_skills: {max_skills: 2}\n")
    made, said = live(top)
    assert [words.partition(":")[0] for words in said] == ["`cc` is left out"]
    write(top / "role.yaml", ROLE + "auto_skills: {max_skills: 2}\n# changed\n")
    made.current()
    skill(top / "skills/dd")
    made.current()
    assert [words.partition(":")[0] for words in said[1:]] == [TAKEN, TAKEN, "`dd` is left out"]


def test_an_invalid_role_is_an_error_at_the_start(top: Path) -> None:
    """The message lists everything that is wrong, one line each."""
    (top / "role.yaml").write_text("name: a\nskils: []\n")
    with pytest.raises(ConfigError) as caught:
        live(top)
    assert str(caught.value).splitlines() == [
        f"{top}/role.yaml:2:1: unknown key `skils` (did you mean `skills`?)",
        f"{top}/role.yaml:1:1: missing key `prompt` (add `prompt: ...`)",
    ]
    assert caught.value.hint == "`prowess validate` reports the same without running the role"


def test_tools_that_can_write_cannot_change_their_policy(top: Path) -> None:
    """A change of the role is loaded, but its policy and its tools stay."""
    write(
        top / "role.yaml", f"{ROLE}tools: [{{type: filesystem, read_only: false}}]\nsecurity: {{ask: [write_file]}}\n"
    )
    made, said = live(top)
    first = made.current()
    write(
        top / "role.yaml", ROLE.replace("First.", "Second.") + "tools: [{type: shell, require_confirmation: false}]\n"
    )
    second = made.current()
    assert second.instructions == "Second."
    assert second.toolbox is first.toolbox
    assert second.role.security == first.role.security
    assert said == [f"{TAKEN}; its policy and tools stay, because its tools can write its files"]
