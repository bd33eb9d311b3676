"""What Kimi Code alone does: the list of its plugins."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from support.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path

LIST = "home/.kimi-code/plugins/installed.json"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "kimi-code")


def plugin(machine: Machine, name: str, *skills: str, **manifest: Any) -> dict[str, Any]:
    """Write a plugin, and return its entry of the list."""
    machine.skills(*(f"{name}/{skill}" for skill in skills))
    machine.write(f"{name}/kimi.plugin.json", {"name": name, **manifest})
    return {"id": name, "root": str(machine.top / name), "enabled": True}


@pytest.mark.parametrize(
    ("manifest", "names"),
    [
        ({}, ["p"]),
        ({"skills": []}, []),
        ({"skills": ["./skills"]}, ["inner"]),
        ({"skills": "./skills"}, ["inner"]),
        ({"skills": ["./skills", "../else"]}, []),
        ({"skills": ["./skills", "./../else"]}, []),
        ({"skills": ["skills"]}, []),
        ({"skills": 5}, []),
    ],
)
def test_a_plugin_has_the_folders_that_it_lists_or_is_one_skill(
    machine: Machine, manifest: dict[str, Any], names: list[str]
) -> None:
    """A folder that does not count makes it invalid; as one skill, no other folder in it counts."""
    row = plugin(machine, "p", "skills/inner", **manifest)
    machine.skills("p")
    machine.write(LIST, {"plugins": [row]})
    assert machine.active() == names


@pytest.mark.parametrize("kind", ["fifo", "folder", "large", "loop", "many"])
def test_a_hostile_list_is_a_finding(kind: str, machine: Machine) -> None:
    """Nothing blocks, and at most a thousand plugins count."""
    file = machine.write(LIST)
    if kind == "many":
        row = plugin(machine, "p", "skills/s", skills="./skills")
        machine.write(LIST, {"plugins": [row] * 10_000})
    else:
        file.unlink()
        if kind == "fifo":
            os.mkfifo(file)
        elif kind == "folder":
            file.mkdir()
        elif kind == "large":
            with file.open("wb") as stream:
                stream.truncate(100 * 1024 * 1024)
        else:
            file.symlink_to(file)
    assert machine.problems() == ["config-invalid"]
    assert machine.active() == (["s"] if kind == "many" else [])


def test_a_loose_file_is_called_by_its_own_name_and_described_by_its_text(machine: Machine) -> None:
    """Without a name and a description that are text."""
    machine.write("repo/.kimi-code/skills/note.md", "\n# Notes\n")
    machine.write("repo/.kimi-code/skills/b.md", "---\nname: named\ndescription: d\n---\nBody.\n")
    machine.write("repo/.kimi-code/skills/c.md", "---\nname: 5\ndescription: 5\n---\n" + "é" * 241 + "\n")
    assert {(entry.name, entry.description, str(entry.state)) for entry in machine.catalog().skills} == {
        ("named", "d", "active"),
        ("note", "# Notes", "active"),
        ("c", "é" * 239 + "…", "active"),
    }
