"""What Qwen Code alone does: its record of extensions and skills that are on."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.clients.plugins import FolderRules
from prowess.clients.qwen_code import PluginStore, read_plugin_store, source_identity
from prowess.filesystem import Filesystem
from support.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path

ON = {"name": "x", "defaultActivation": "enabled", "workspaceOverrides": {}}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def state(rules: str = "{}", **record: Any) -> str:
    plugins = {digest("x"): {**ON, **record}}
    return json.dumps({"version": 2, "generation": 1, "legacyProjectionHash": digest(rules), "extensions": plugins})


def store(folder: Path, text: str, rules: str = "{}", previous: str = "") -> tuple[PluginStore, FolderRules]:
    files = {"rules.json": rules, "state.json": text, "state.previous.json": previous}
    for number, (name, content) in enumerate(files.items()):
        if content:
            (folder / name).write_text(content)
            os.utime(folder / name, ns=(number, number))
    filesystem = Filesystem()
    texts = {name: tuple(item["overrides"]) for name, item in json.loads(rules).items()}
    found = FolderRules(path=str(folder / "rules.json"), rules=texts, fold=True)
    return read_plugin_store(filesystem, str(folder / "state.json"), found), found


@pytest.mark.parametrize(
    ("record", "on"),
    [
        ({}, True),
        ({"defaultActivation": "disabled"}, False),
        ({"defaultActivation": "disabled", "workspaceOverrides": {"/w": "enabled"}}, True),
        ({"workspaceOverrides": {"/w": "disabled"}}, False),
        ({"workspaceOverrides": {"/": "disabled"}}, True),
        ({"legacyPathRules": ["!/*"]}, False),
        ({"legacyPathRules": ["!/*", "/w/*"]}, True),
        ({"workspaceOverrides": {"/w": "inherit"}, "legacyPathRules": ["!/*"]}, True),
    ],
)
def test_a_folder_counts_before_rules_and_the_default(record: dict[str, Any], on: bool, tmp_path: Path) -> None:
    found, rules = store(tmp_path, state(**record))
    assert found.answer("x", "x", "/w", rules) == (on, str(tmp_path / "state.json"))
    assert found.answer("elsewhere", "X", "/w", rules)[0] is on, "an update from elsewhere keeps the record"
    assert found.answer("y", "y", "/w", rules) == (None, str(tmp_path / "rules.json"))


def test_rules_count_that_a_person_has_changed_since(tmp_path: Path) -> None:
    """The record has the digest of the rules that the client wrote."""
    changed = '{"x": {"overrides": ["!/*"]}}'
    found, rules = store(tmp_path, state(), changed)
    assert found.answer("x", "x", "/w", rules)[0] is True, "the record is newer"
    os.utime(tmp_path / "rules.json", ns=(9, 9))
    found = read_plugin_store(Filesystem(), str(tmp_path / "state.json"), rules)
    assert found.answer("x", "x", "/w", rules) == (False, str(tmp_path / "rules.json"))
    found, _ = store(tmp_path, state(changed))
    assert found.answer("x", "x", "/w", rules)[0] is True, "the client has written both"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 1}',
        state(defaultActivation="on"),
        state(workspaceOverrides=[]),
        state(workspaceOverrides={"/w": []}),
        state(skillWorkspaceOverrides={"/w": {"a": 1}}),
        state(name="a b"),
    ],
)
def test_the_previous_record_replaces_an_invalid_one(text: str, tmp_path: Path) -> None:
    """Without it, the client does not start; if both are missing there is nothing to read."""
    found, rules = store(tmp_path, text, previous=state(defaultActivation="disabled"))
    assert found.answer("x", "x", "/w", rules)[0] is False
    (tmp_path / "state.previous.json").unlink()
    assert bool(store(tmp_path, text)[0].problem) == bool(text)


def test_skills_are_on_and_off_in_a_folder(tmp_path: Path) -> None:
    found, _ = store(tmp_path, state(skillWorkspaceOverrides={"/w": {"a": False, "b": True}}))
    assert found.skills("x", "x", "/w") == {"a": False, "b": True}
    assert found.skills("x", "x", "/") == found.skills("y", "y", "/w") == {}


@pytest.mark.parametrize(
    ("install", "identity"),
    [
        ({}, "name"),
        ({"source": "/a"}, "/a"),
        ({"source": "/a", "pluginName": "p"}, "/a:p"),
        ({"source": "o/r", "type": "git"}, "https://github.com/o/r"),
        ({"source": "https://github.com/o/r.git", "type": "github-release"}, "https://github.com/o/r"),
        ({"source": "https://github.com/o/r", "type": "local"}, "https://github.com/o/r"),
        ({"source": "git@github.com:o/r.git", "type": "git"}, "git@github.com:o/r.git"),
        ({"source": "https://example.com/o/r", "type": "git"}, "https://example.com/o/r"),
        ({"source": 5, "pluginName": []}, "name"),
    ],
)
def test_a_plugin_is_known_by_its_source(install: dict[str, Any], identity: str) -> None:
    assert source_identity(install, "name") == identity


def test_a_record_with_many_plugins_is_searched_by_name_at_once(tmp_path: Path) -> None:
    """The first of one name counts, and no search goes through the record."""
    plugins = {f"{number:064x}": {**ON, "name": f"P{number}"} for number in range(100)}
    plugins |= {
        f"{number:064x}": {**ON, "name": "Plug", "defaultActivation": word}
        for number, word in ((200, "disabled"), (201, "enabled"))
    }
    text = json.dumps({"version": 2, "generation": 1, "legacyProjectionHash": "0" * 64, "extensions": plugins})
    found, rules = store(tmp_path, text)
    assert found.answer("elsewhere", "pLUG", "/", rules)[0] is False
    assert len(found.by_name) == 101


def extension(machine: Machine, folder: str, *skills: str, name: str = "same", source: str = "/x", **more: Any) -> None:
    place = f"home/.qwen/extensions/{folder}"
    machine.skills(*(f"{place}/skills/{skill}" for skill in skills))
    machine.write(f"{place}/qwen-extension.json", {"name": name, **more})
    machine.write(f"{place}/.qwen-extension-install.json", {"source": source})


@pytest.mark.parametrize(
    ("name", "source", "expected"), [("same", "/x", ["same:two"]), ("Same", "/x", []), ("same", "/y", [])]
)
def test_of_two_extensions_from_one_place_the_last_counts(
    tmp_path: Path, name: str, source: str, expected: list[str]
) -> None:
    """From two places, or with names that differ in case only, they stop the client."""
    machine = Machine(tmp_path, "qwen-code")
    extension(machine, "a", "one")
    extension(machine, "b", "two", name=name, source=source)
    assert machine.active() == expected


@pytest.mark.parametrize("kind", ["link", "rules"])
def test_a_broken_link_and_invalid_rules_stop_the_client(tmp_path: Path, kind: str) -> None:
    machine = Machine(tmp_path, "qwen-code")
    extension(machine, "a", "one")
    assert machine.active() == ["same:one"]
    if kind == "link":
        (tmp_path / "home/.qwen/extensions/b").symlink_to(tmp_path / "nowhere")
    else:
        machine.write("home/.qwen/extensions/extension-enablement.json", {"x": 5})
    assert (machine.active(), machine.problems()) == ([], ["config-invalid", "host-disabled"])


def test_a_manifest_switches_skills_off_and_the_settings_on(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "qwen-code")
    extension(machine, "a", "one", "two", skillStates={"One": False, "two": False})
    machine.write("home/.qwen/settings.json", {"skills": {"enabled": ["same:ONE", 5]}})
    assert machine.active() == ["same:one"]
