"""What Claude Code alone does: commands of plugins, and marketplaces."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from support.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "claude-code")


def commands(machine: Machine, manifest: Any) -> dict[str, str]:
    """Return the commands of a plugin by name, with their descriptions."""
    for name in ("commands/usual", "more/one", "more/two", "single"):
        machine.write(f"p/{name}.md", f"---\ndescription: of {name}\n---\n")
    machine.write("out.md", "---\ndescription: outside\n---\n")
    written = {"name": "p", "commands": manifest} if manifest != "" else {"name": "p"}
    machine.write("p/.claude-plugin/plugin.json", written)
    found = machine.catalog("--plugin-dir", str(machine.top / "p")).skills
    return {entry.name: entry.description for entry in found if entry.state == "active"}


@pytest.mark.parametrize(
    ("manifest", "names"),
    [
        ("", {"p:usual"}),
        ([], set()),
        ("./single.md", {"p:single"}),
        (["./more", "./commands"], {"p:one", "p:two", "p:usual"}),
        ({"b:c": {"source": "./single.md"}}, {"p:b:c"}),
        (["./../out.md", "./gone.md", "./.claude-plugin/plugin.json", "./\0"], set()),
        ({"a": {}, "b": {"source": ["./single.md"]}, "": {"source": "./single.md"}}, set()),
        (3, set()),
    ],
)
def test_a_manifest_replaces_the_default_folder(machine: Machine, manifest: Any, names: set[str]) -> None:
    """With files or folders inside the plugin; anything else is ignored."""
    assert set(commands(machine, manifest)) == names


def test_a_single_file_is_called_as_listed_although_it_is_in_a_listed_folder(machine: Machine) -> None:
    """And it is there once; the manifest may give it a description."""
    listed = {"best": {"source": "./more/one.md", "description": "given"}, "folder": {"source": "./more"}}
    assert commands(machine, listed) == {"p:best": "given", "p:two": "of more/two"}


def test_a_thousand_commands_count(machine: Machine) -> None:
    for number in range(1002):
        machine.write(f"p/{number}.md", "---\ndescription: x\n---\n")
    assert len(commands(machine, [f"./{number}.md" for number in range(1002)])) == 1000


def test_a_plugin_that_is_off_does_not_hide_the_same_folder_elsewhere(machine: Machine) -> None:
    """A link in the project leads to the plugin's own skill."""
    machine.skills("p/skills/s")
    machine.write("p/.claude-plugin/plugin.json", {"name": "p", "defaultEnabled": False})
    (machine.top / "repo/.claude/skills").mkdir(parents=True)
    (machine.top / "repo/.claude/skills/s").symlink_to(machine.top / "p/skills/s")
    assert machine.active("--plugin-dir", str(machine.top / "p")) == ["s"]


def test_a_plugin_for_ten_thousand_projects_is_looked_up_for_a_hundred(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    working_tree = Mock(side_effect=lambda path, _: path)
    monkeypatch.setattr("prowess.clients.claude_code.main_working_tree", working_tree)
    row = {"scope": "project", "version": "1", "installPath": str(machine.top), "lastUpdated": "", "installedAt": ""}
    rows = [{**row, "projectPath": f"{machine.top}/repo/a/{number}"} for number in range(10_000)]
    machine.write("home/.claude/plugins/installed_plugins.json", {"version": 2, "plugins": {"plug@m": rows}})
    machine.write("home/.claude/settings.json", {"enabledPlugins": {"plug@m": True}})
    machine.catalog()
    assert 50 < working_tree.call_count < 110


# ── marketplaces ─────────────────────────────────────────────────────────────────────────────────────────────────────

KNOWN = "home/.claude/plugins/known_marketplaces.json"
SETTINGS = "home/.claude/settings.json"
WHEN = "2026-11-22T18:47:06.627Z"


def market(machine: Machine, *entries: Any) -> None:
    """Register a marketplace in a folder, and switch the plugin `p` on."""
    machine.write("market/.claude-plugin/marketplace.json", {"name": "m", "owner": {"name": "o"}, "plugins": entries})
    source = {"source": "directory", "path": str(machine.top / "market")}
    machine.write(KNOWN, {"m": {"source": source, "installLocation": str(machine.top / "market"), "lastUpdated": WHEN}})
    machine.write(SETTINGS, {"enabledPlugins": {"p@m": True}})


P = {"name": "p", "source": "./p"}


def test_a_plugin_of_a_folder_is_read_there(machine: Machine) -> None:
    """With its plugin as namespace and scope."""
    market(machine, P)
    machine.skills("market/p/skills/one two")
    (entry,) = machine.catalog().skills
    assert (entry.name, entry.namespace, entry.scope, str(entry.state)) == ("p:one-two", "p", "plugin", "active")


def test_a_plugin_that_is_switched_off_says_where(machine: Machine) -> None:
    """Its skills are listed as rejected."""
    market(machine, P)
    machine.skills("market/p/skills/one")
    machine.write(SETTINGS, {"enabledPlugins": {"p@m": False}})
    (entry,) = machine.catalog().skills
    assert entry.state == "rejected"
    assert entry.reason == f"its plugin `p@m` is switched off in {machine.top / SETTINGS}"


def test_a_plugin_with_an_invalid_manifest_is_reported(machine: Machine) -> None:
    """As the client does, it loads nothing of it."""
    market(machine, P)
    machine.skills("market/p/skills/one")
    machine.write("market/p/.claude-plugin/plugin.json", {"name": "p", "skills": ["elsewhere"]})
    found = machine.catalog()
    assert [str(entry.state) for entry in found.skills] == ["rejected"]
    (problem,) = [item for item in found.findings if item.code == "config-invalid"]
    assert "`skills.*` has the wrong type" in problem.message


@pytest.mark.parametrize(
    "source", ["./../outside", "./link", "/outside", "./x\0y", {"source": "github"}, 5, "./p/../../outside"]
)
def test_a_source_outside_of_the_marketplace_is_not_read(machine: Machine, source: object) -> None:
    """Nor through a link."""
    machine.skills("outside/skills/secret")
    market(machine, {"name": "p", "source": source})
    (machine.top / "market/link").symlink_to(machine.top / "outside")
    assert machine.active() == []


def test_links_do_not_lead_out_of_a_plugin(machine: Machine) -> None:
    """Neither of folders nor of files; the marketplace's own folder is allowed."""
    machine.skills("outside/secret")
    machine.skills("market/shared/fine")
    market(machine, P)
    skills = machine.top / "market/p/skills"
    (skills / "file").mkdir(parents=True)
    (skills / "folder").symlink_to(machine.top / "outside/secret")
    (skills / "file/SKILL.md").symlink_to(machine.top / "outside/secret/SKILL.md")
    (skills / "fine").symlink_to("../../shared/fine")
    assert machine.active() == ["p:fine"]


BYTES = (b"", b"\xff\xfe\0", b"[" * 100_000, b'{"p@m": ' * 5000, b"null", b"[1]", rb'{"a": "\ud800"}', b"\0" * 1000)


@pytest.mark.parametrize(
    "file", [KNOWN, SETTINGS, "market/.claude-plugin/marketplace.json", "market/p/.claude-plugin/plugin.json"]
)
@pytest.mark.parametrize("data", BYTES)
def test_files_of_any_bytes_are_at_most_a_finding(machine: Machine, file: str, data: bytes) -> None:
    """Other skills are still found."""
    market(machine, P)
    machine.skills("market/p/skills/one")
    machine.skills("home/.claude/skills/mine")
    (machine.top / file).parent.mkdir(parents=True, exist_ok=True)
    (machine.top / file).write_bytes(data)
    assert "mine" in machine.active()


@pytest.mark.parametrize("file", [KNOWN, SETTINGS, "market/.claude-plugin/marketplace.json"])
def test_a_fifo_and_an_endless_file_do_not_hang(machine: Machine, file: str) -> None:
    """They are not opened, or not read to the end."""
    market(machine, P)
    machine.skills("home/.claude/skills/mine")
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        (machine.top / file).unlink()
        make(machine.top / file)
        assert machine.active() == ["mine"]


@pytest.mark.slow
def test_ten_thousand_plugins_and_folders_do_not_hide_one(machine: Machine) -> None:
    """Of a catalog, and of the folders that one plugin lists."""
    folders = ["./" + "/".join(["."] * (number % 7)) for number in range(10_000)]
    market(machine, *({"name": f"p{number}", "source": "./", "skills": folders} for number in range(20)), P)
    machine.write(SETTINGS, {"enabledPlugins": {f"p{number}@m": True for number in range(10_000)} | {"p@m": True}})
    machine.skills("market/p/skills/one")
    assert "p:one" in machine.active()


def test_a_marketplace_that_is_the_whole_machine_is_not_walked(machine: Machine) -> None:
    """Its root has no catalog; a list that names `/` or the home is outside of the plugin."""
    market(machine, {**P, "skills": ["./../../..", "./."]})
    machine.skills("market/p/skills/one")
    assert machine.active() == ["p:one"]
    table = json.loads((machine.top / KNOWN).read_text())
    table["m"]["installLocation"] = "/"
    machine.write(KNOWN, table)
    assert machine.active() == []


def test_a_thousand_markets_with_one_catalog_read_it_once(machine: Machine) -> None:
    """All of its entries are invalid, and all are for the plugin that is asked for."""
    market(machine, *({"name": "plug", "source": 5} for _ in range(500)))
    row = {"source": {"source": "directory", "path": "/"}, "installLocation": str(machine.top / "market")}
    machine.write(KNOWN, {f"m{number}": {**row, "lastUpdated": WHEN} for number in range(100)})
    machine.write(SETTINGS, {"enabledPlugins": {f"plug@m{number}": True for number in range(100)}})
    assert len(machine.catalog().findings) <= 501
