"""Files that are skills by themselves: which are found, what they are called, and what bounds the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.catalog import discover
from prowess.hosts import load_host

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, text: str = "Does something.\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def names(home: Path, cwd: Path) -> dict[str, str]:
    catalog = discover(cwd, host="claude-code", home=home, env={})
    return {entry.name: str(entry.state) for entry in catalog.skills}


def test_a_command_is_called_like_its_path(tmp_path: Path) -> None:
    """Folders become parts of the name; the front matter's name does not count."""
    commands = tmp_path / "repo/.claude/commands"
    write(commands / "deploy.md", "---\nname: other\ndescription: d\n---\n")
    write(commands / "db/migrate.md")
    write(commands / "notes.txt")
    assert names(tmp_path / "home", tmp_path / "repo") == {"deploy": "active", "db:migrate": "active"}


def test_a_skill_file_among_commands_makes_its_folder_a_skill(tmp_path: Path) -> None:
    """Its neighbours are its own files, not commands."""
    commands = tmp_path / "repo/.claude/commands"
    write(commands / "review/SKILL.md")
    write(commands / "review/checklist.md")
    assert names(tmp_path / "home", tmp_path / "repo") == {"review": "active"}


@pytest.mark.slow
def test_a_loop_of_links_ends_and_folders_are_counted(tmp_path: Path) -> None:
    """Each folder is entered once, and so many at most."""
    commands = tmp_path / "repo/.claude/commands"
    write(commands / "a.md")
    (commands / "loop").symlink_to(".")
    for number in range(120):
        (commands / f"d{number}").mkdir()
    host = load_host("claude-code")
    host = host.with_changes(roots=tuple(root.with_changes(max_folders=100) for root in host.roots))
    catalog = discover(tmp_path / "repo", host=host, home=tmp_path / "home", env={})
    assert [entry.name for entry in catalog.skills] == ["a"]
    assert "folder-limit" in {item.code for item in catalog.findings}


def test_a_command_that_is_a_link_to_elsewhere_is_not_read(tmp_path: Path) -> None:
    """The client would show the first line of any file that way; Prowess does not."""
    write(tmp_path / "secret.md", "the secret\n")
    commands = tmp_path / "repo/.claude/commands"
    commands.mkdir(parents=True)
    (commands / "x.md").symlink_to(tmp_path / "secret.md")
    catalog = discover(tmp_path / "repo", host="claude-code", home=tmp_path / "home", env={})
    assert [(entry.name, str(entry.state)) for entry in catalog.skills] == [("x", "rejected")]
    assert "secret" not in catalog.skills[0].description
