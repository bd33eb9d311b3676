"""The file in which a client records which plugins are on."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog._filesystem import Filesystem
from prowess.catalog._plugin_enablement import FolderRules, read_folder_rules
from prowess.catalog._plugin_store import PluginStore, read_plugin_store, source_identity

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
    found = read_folder_rules(filesystem, str(folder / "rules.json"), fold=True)
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
