"""What all clients with plugins do alike: where plugins are, which count, and which folders of skills they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.hosts import host_from_table
from support.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = {"folders": ["~/.x/plugins/*"], "id": "{manifest}", "manifests": ["x.json"], "skills_key": "skills"}
LISTED = {"listed": "~/.x/installed.json", "setting": "plugins"}


def machine(top: Path, rules: dict[str, Any]) -> Machine:
    table = {
        "title": "X",
        "roots": [{"plugins": "all", "scope": "plugin"}],
        "settings_files": {"user": {"path": "~/.x/settings.json"}},
        "plugins": {"all": rules},
    }
    return Machine(top, host_from_table("x", table))


def test_only_listed_plugins_count_unless_the_settings_switch_them_off(tmp_path: Path) -> None:
    """With one or several entries each; entries without a folder are ignored."""
    here = machine(tmp_path, LISTED)
    here.skills("a/skills/one", "b/skills/two", "c/skills/three")
    entries = {name: {"installPath": str(tmp_path / name[0])} for name in ("b@m", "c@m")}
    here.write(
        "home/.x/installed.json", {"plugins": {"a@m": [{"installPath": str(tmp_path / "a")}], **entries, "d": [7]}}
    )
    here.write("home/.x/settings.json", {"plugins": {"a@m": False, "b@m": {"enabled": True}}})
    assert here.active() == ["b:two", "c:three"]
    assert machine(tmp_path, {**LISTED, "setting_needed": True}).active() == ["b:two"]


def test_the_list_of_a_manifest_replaces_the_default_folder(tmp_path: Path) -> None:
    """Or adds to it; folders outside the plugin do not count."""
    here = machine(tmp_path, FOLDERS)
    here.skills("home/.x/plugins/p/skills/default", "home/.x/plugins/p/more/listed", "outside/secret")
    listed = ["./more", "../../../../outside", 7, str(tmp_path / "outside")]
    here.write("home/.x/plugins/p/x.json", {"name": "q", "skills": listed})
    assert here.active() == ["q:listed"]
    assert machine(tmp_path, {**FOLDERS, "skills_add": True}).active() == ["q:default", "q:listed"]
    assert machine(tmp_path, {**FOLDERS, "prefix": False}).active() == ["listed"]
    assert machine(tmp_path, {**FOLDERS, "skills_pattern": "x"}).active() == ["q:default"]
    assert machine(tmp_path, {**FOLDERS, "name_pattern": "p"}).active() == []
    here.write("home/.x/plugins/p/x.json", {"name": "q", "skills": []})
    assert here.active() == ["q:default"]


@pytest.mark.parametrize("text", ["{", "[]", "", "\0", '{"name": 5}', '{"version": "1"}', "[" * 100_000])
def test_an_invalid_manifest_leaves_no_skills_if_the_client_needs_it(text: str, tmp_path: Path) -> None:
    """Otherwise the plugin is called like its folder."""
    rules = {**FOLDERS, "manifest_types": {"name": "text!"}}
    here = machine(tmp_path, rules)
    here.skills("home/.x/plugins/p/skills/s")
    here.write("home/.x/plugins/p/x.json", text)
    assert here.active() == ["p:s"]
    assert machine(tmp_path, {**rules, "manifest_needed": True}).active() == []


def test_only_the_first_plugin_of_a_name_may_count(tmp_path: Path) -> None:
    here = machine(tmp_path, FOLDERS)
    for folder in ("a", "b"):
        here.skills(f"home/.x/plugins/{folder}/skills/{folder}")
        here.write(f"home/.x/plugins/{folder}/x.json", {"name": "same"})
    assert here.active() == ["same:a", "same:b"]
    assert machine(tmp_path, {**FOLDERS, "first_of_name": True}).active() == ["same:a"]
