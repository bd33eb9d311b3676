"""Which commands a plugin has: those of its folder, its manifest and its marketplace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

HOST = {
    "title": "X",
    "arguments": [{"name": "--plugin", "values": "one", "effect": "plugins"}],
    "plugins": {
        "given": {"argument": "--plugin", "manifests": ["plugin.json"], "commands": ["commands"], "skills": []},
    },
    "roots": [{"plugins": "given", "scope": "plugin", "files": r".*\.md", "depth": -1}],
}


def commands(folder: Path, manifest: Any) -> dict[str, str]:
    """Return the commands of a plugin by name, with their descriptions."""
    for name in ("commands/usual", "more/one", "more/two", "single"):
        file = folder / f"p/{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\ndescription: of {name}\n---\n")
    (folder / "out.md").write_text("---\ndescription: outside\n---\n")
    (folder / "p/plugin.json").write_text(json.dumps({"name": "p", "commands": manifest} if manifest != "" else {}))
    host = host_from_table("x", HOST)
    found = discover(folder, host=host, home=folder / "home", env={}, client_args=["--plugin", str(folder / "p")])
    return {entry.name: entry.description for entry in found.skills if entry.state == "active"}


@pytest.mark.parametrize(
    ("manifest", "names"),
    [
        ("", {"p:usual"}),
        ([], set()),
        ("./single.md", {"p:single"}),
        (["./more", "./commands"], {"p:one", "p:two", "p:usual"}),
        ({"b:c": {"source": "./single.md"}}, {"p:b:c"}),
        (["../out.md", "./gone.md", "./plugin.json", 3, "\0"], set()),
        ({"a": 3, "b": {"source": ["./single.md"]}, "c": {}, "": {"source": "./single.md"}}, set()),
        (3, set()),
    ],
)
def test_a_manifest_replaces_the_default_folder(tmp_path: Path, manifest: Any, names: set[str]) -> None:
    """With files or folders inside the plugin; anything else is ignored."""
    assert set(commands(tmp_path, manifest)) == names


def test_a_single_file_is_called_as_listed_although_it_is_in_a_listed_folder(tmp_path: Path) -> None:
    """And it is there once."""
    found = commands(tmp_path, {"best": {"source": "./more/one.md"}, "folder": {"source": "./more"}})
    assert found == {"p:best": "of more/one", "p:two": "of more/two"}


def test_a_manifest_gives_a_command_its_description(tmp_path: Path) -> None:
    assert commands(tmp_path, {"a": {"source": "./single.md", "description": "given"}}) == {"p:a": "given"}


def test_a_thousand_commands_count(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    for number in range(1002):
        (tmp_path / f"p/{number}.md").write_text("---\ndescription: x\n---\n")
    assert len(commands(tmp_path, [f"./{number}.md" for number in range(1002)])) == 1000
