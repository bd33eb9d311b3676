"""Plugins of a client: where they are, which of them count, which folders of skills they have."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog

CACHE = {"folders": ["~/.x/cache/*/*/*"], "parts": ["market", "plugin", "version"], "setting": "plugins"}
LIST = {"listed": "~/.x/installed.json", "setting": "plugins"}
MANIFEST = {"manifests": [".x-plugin/plugin.json"], "skills_key": "skills"}


def write(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n")


def settings(top: Path, value: Any) -> None:
    (top / "home/.x").mkdir(parents=True, exist_ok=True)
    (top / "home/.x/settings.json").write_text(json.dumps(value))


def catalog(top: Path, rules: dict[str, Any]) -> Catalog:
    table = {
        "title": "X",
        "roots": [{"path": ".x/skills", "scope": "project"}, {"plugins": "plugin", "scope": "plugin"}],
        "settings_files": {"user": {"path": "~/.x/settings.json"}},
        "plugins": {"plugin": rules},
    }
    (top / "repo").mkdir(exist_ok=True)
    return discover(top / "repo", host=host_from_table("x", table), home=top / "home", env={})


def active(top: Path, rules: dict[str, Any]) -> list[str]:
    return [entry.name for entry in catalog(top, rules).skills if entry.state == "active"]


def manifest(plugin: Path, value: Any) -> None:
    (plugin / ".x-plugin").mkdir(parents=True, exist_ok=True)
    (plugin / ".x-plugin/plugin.json").write_text(value if isinstance(value, str) else json.dumps(value))


def test_a_plugin_in_the_cache_counts_as_its_setting_says(tmp_path: Path) -> None:
    """One that is switched off is rejected, with the file that says so."""
    for plugin in ("one", "two", "three"):
        write(tmp_path / f"home/.x/cache/m/{plugin}/1.0.0/skills", plugin)
    settings(tmp_path, {"plugins": {"two@m": False, "three@m": {"enabled": True}}})
    found = {entry.name: entry for entry in catalog(tmp_path, {**CACHE, "name": "id"}).skills}
    assert {name: str(entry.state) for name, entry in found.items()} == {
        "one:one": "active",
        "two:two": "rejected",
        "three:three": "active",
    }
    reason = f"its plugin `two@m` is switched off in {tmp_path}/home/.x/settings.json"
    assert found["two:two"].reason == reason
    assert {entry.scope for entry in found.values()} == {"plugin"}
    assert active(tmp_path, {**CACHE, "name": "id", "enabled": False}) == ["three:three"]


def test_the_greatest_version_counts(tmp_path: Path) -> None:
    """As semver orders them; a release after its pre-releases."""
    for version in ("1.9.0", "1.10.0-rc.2", "1.10.0-rc.10", "1.2.3"):
        write(tmp_path / f"home/.x/cache/m/p/{version}/skills", "v" + version.replace(".", "-"))
    assert active(tmp_path, {**CACHE, "name": "id"}) == ["p:v1-10-0-rc-10"]
    write(tmp_path / "home/.x/cache/m/p/1.10.0/skills", "release")
    assert active(tmp_path, {**CACHE, "name": "id"}) == ["p:release"]


def test_only_listed_plugins_count(tmp_path: Path) -> None:
    """With one or several entries each; entries without a folder are ignored."""
    for name in ("a", "b", "c"):
        write(tmp_path / name / "skills", name)
    entries = {"a@m": [{"installPath": str(tmp_path / "a")}], "b@m": {"installPath": str(tmp_path / "b")}, "c@m": [7]}
    (tmp_path / "home/.x").mkdir(parents=True)
    (tmp_path / "home/.x/installed.json").write_text(json.dumps({"plugins": entries}))
    assert active(tmp_path, {**LIST, "name": "id"}) == ["a:a", "b:b"]
    rows = [{"id": "k", "root": str(tmp_path / "c"), "on": True}, {"id": "l", "root": str(tmp_path / "a")}]
    (tmp_path / "home/.x/installed.json").write_text(json.dumps({"plugins": rows}))
    assert active(tmp_path, {**LIST, "name": "id", "listed_folder": "root", "listed_enabled": "on"}) == ["k:c"]


def test_the_list_of_a_manifest_replaces_the_default_folder(tmp_path: Path) -> None:
    """Or adds to it; folders outside the plugin do not count."""
    plugin = tmp_path / "home/.x/cache/m/p/1.0.0"
    write(plugin / "skills", "default")
    write(plugin / "more", "listed")
    write(tmp_path / "outside", "secret")
    manifest(plugin, {"name": "q", "skills": ["./more", "../../../../../../outside", 7, str(tmp_path / "outside")]})
    assert active(tmp_path, {**CACHE, **MANIFEST}) == ["q:listed"]
    assert active(tmp_path, {**CACHE, **MANIFEST, "skills_add": True}) == ["q:default", "q:listed"]
    assert active(tmp_path, {**CACHE, **MANIFEST, "prefix": False}) == ["listed"]
    manifest(plugin, {"name": "q", "skills": []})
    assert active(tmp_path, {**CACHE, **MANIFEST}) == ["q:default"]


@pytest.mark.parametrize("text", ["{", "[]", "", "\0", '{"name": 5}', '{"version": "1"}', "[" * 100_000])
def test_an_invalid_manifest_leaves_no_skills_if_the_client_needs_it(text: str, tmp_path: Path) -> None:
    """Otherwise the plugin is called like its folder."""
    plugin = tmp_path / "home/.x/cache/m/p/1.0.0"
    write(plugin / "skills", "s")
    manifest(plugin, text)
    rules = {**CACHE, **MANIFEST, "manifest_types": ["name:text", "name!"]}
    assert active(tmp_path, {**rules, "manifest_needed": True}) == []
    assert active(tmp_path, rules) == ["1.0.0:s"]


def test_a_plugin_that_is_off_does_not_hide_the_same_folder_elsewhere(tmp_path: Path) -> None:
    """A link in the project leads to the plugin's own skill."""
    plugin = tmp_path / "home/.x/cache/m/p/1.0.0"
    write(plugin / "skills", "s")
    settings(tmp_path, {"plugins": {"p@m": False}})
    (tmp_path / "repo/.x/skills").mkdir(parents=True)
    (tmp_path / "repo/.x/skills/s").symlink_to(plugin / "skills/s")
    assert active(tmp_path, {**CACHE, "name": "id"}) == ["s"]


@pytest.mark.parametrize("kind", ["fifo", "folder", "large", "loop", "many"])
def test_a_hostile_list_is_a_finding_in_bounded_time(kind: str, tmp_path: Path) -> None:
    """Nothing blocks, and at most a thousand plugins count."""
    file = tmp_path / "home/.x/installed.json"
    file.parent.mkdir(parents=True)
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "large":
        with file.open("wb") as stream:
            stream.truncate(100 * 1024 * 1024)
    elif kind == "loop":
        file.symlink_to(file)
    else:
        entries = {f"p{number}@m": {"installPath": f"/absent/{number}"} for number in range(10_000)}
        file.write_text(json.dumps({"plugins": entries}))
    start = time.process_time()
    found = catalog(tmp_path, LIST)
    assert time.process_time() - start < 1
    assert [item.code for item in found.findings] == ["config-invalid"]
    assert found.skills == ()


@pytest.mark.parametrize(
    ("versions", "newest"),
    [
        (("1.9.0", "1.10.0"), "1.10.0"),
        (("1.0.0-beta", "1.0.0"), "1.0.0"),
        (("2.0.0-rc.9", "2.0.0-rc.10"), "2.0.0-rc.10"),
        (("1.0.0+a", "1.0.0+b", "1.0.0"), "1.0.0+b"),
        (("9", "10"), "9"),
        (("3.0.0", "abcdef12"), "abcdef12"),
        (("1.0.0", "01.0.0"), "1.0.0"),
        (("local", "2.0.0"), "local"),
        (("1.0.0", "not a version"), "1.0.0"),
    ],
)
def test_one_version_of_a_plugin_counts(versions: tuple[str, ...], newest: str, tmp_path: Path) -> None:
    """Semantic versions by their rules, others as text; a preferred name before all; other folders are no versions."""
    for version in versions:
        write(tmp_path / f"home/.x/cache/m/p/{version}/skills", f"of-{version}".replace(" ", "-"))
    rules = {**CACHE, "name": "id", "version_first": "local", "version_pattern": "[A-Za-z0-9._+-]+"}
    assert active(tmp_path, rules) == [f"p:of-{newest}"]


def test_a_link_is_no_version_where_versions_have_a_pattern(tmp_path: Path) -> None:
    """An installer writes folders."""
    write(tmp_path / "home/.x/cache/m/p/1.0.0/skills", "old")
    write(tmp_path / "elsewhere/skills", "new")
    (tmp_path / "home/.x/cache/m/p/2.0.0").symlink_to(tmp_path / "elsewhere")
    assert active(tmp_path, {**CACHE, "name": "id"}) == ["p:new"]
    assert active(tmp_path, {**CACHE, "name": "id", "version_pattern": "[0-9.]+"}) == ["p:old"]


def test_only_ids_that_fit_the_pattern_count(tmp_path: Path) -> None:
    for plugin in ("good", "two words"):
        write(tmp_path / f"home/.x/cache/m/{plugin}/1.0.0/skills", plugin.replace(" ", "-"))
    assert active(tmp_path, {**CACHE, "name": "id", "id_pattern": "[a-z]+@[a-z]+"}) == ["good:good"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"name": "p"}', ["p:one"]),
        ('{"name": "p", "name": "q"}', []),
        ('{"name": "p", "x": 1, "x": 2}', ["p:one"]),
        ('{"name": "p", "x": NaN}', []),
        ('{"name": "p"} // comment', []),
        ('\ufeff{"name": "p"}', []),
        ('["p", ["other"]]', ["p:two"]),
        ("[]", ["1.0.0:one"]),
        ('{"name": "p", "skills": ["other", 5]}', ["p:one"]),
        ("5", []),
    ],
)
def test_a_manifest_is_read_as_strictly_as_the_table_says(text: str, names: list[str], tmp_path: Path) -> None:
    """A key that comes twice, comments, a list in place of an object, a list with something other than texts."""
    plugin = tmp_path / "home/.x/cache/m/p/1.0.0"
    write(plugin / "skills", "one")
    write(plugin / "other", "two")
    manifest(plugin, text)
    rules = {
        **CACHE,
        **MANIFEST,
        "manifest_needed": True,
        "manifest_once": ["name"],
        "manifest_items": ["name", "skills"],
        "skills_texts": True,
    }
    assert active(tmp_path, rules) == names


def test_settings_are_merged_key_by_key_for_plugins(tmp_path: Path) -> None:
    """A file that only names a plugin does not switch it on again."""
    write(tmp_path / "home/.x/cache/m/p/1.0.0/skills", "one")
    settings(tmp_path, {"plugins": {"p@m": {"enabled": False}}})
    (tmp_path / "repo/.x").mkdir(parents=True)
    (tmp_path / "repo/.x/settings.json").write_text('{"plugins": {"p@m": {}}}')
    files = {"project": {"path": ".x/settings.json"}, "user": {"path": "~/.x/settings.json"}}
    for merge, names in (("join", ["p:one"]), ("deep", [])):
        table = {
            "title": "X",
            "roots": [{"plugins": "plugin", "scope": "plugin"}],
            "settings_files": files,
            "plugins": {"plugin": {**CACHE, "name": "id", "merge": merge}},
        }
        found = discover(tmp_path / "repo", host=host_from_table("x", table), home=tmp_path / "home", env={})
        assert [entry.name for entry in found.skills if entry.state == "active"] == names


EXTENSIONS = {
    "folders": ["~/.x/extensions/*"],
    "id": "{manifest}",
    "manifests": ["x.json"],
    "manifest_needed": True,
    "manifest_types": ["name!", "name:text"],
    "install_file": ".install.json",
    "rules_file": "~/.x/extensions/enabled.json",
    "prefix": False,
    "order": "folder-last",
}


def extension(top: Path, folder: str, *skills: str, name: str | None = None, install: Any = None) -> Path:
    place = top / "home/.x/extensions" / folder
    for skill in skills:
        write(place / "skills", skill)
    (place / "x.json").write_text(json.dumps({"name": name or folder}))
    if install is not None:
        (place / ".install.json").write_text(json.dumps(install))
    return place


def test_a_linked_extension_is_read_where_it_is(tmp_path: Path) -> None:
    """Its own folder is not; one with a broken link has no skills."""
    write(tmp_path / "source/skills", "linked")
    (tmp_path / "source/x.json").write_text('{"name": "source"}')
    extension(tmp_path, "a", "own-a", install={"type": "link", "source": str(tmp_path / "source")})
    extension(tmp_path, "b", "own-b", install={"type": "link", "source": "../nowhere"})
    extension(tmp_path, "c", "own-c", install={"type": "link", "source": 5})
    extension(tmp_path, "d", "own-d", install={"type": "local", "source": "../source"})
    extension(tmp_path, "e", "own-e", install=[1])
    assert sorted(active(tmp_path, EXTENSIONS)) == ["linked", "own-d", "own-e"]


def test_rules_for_folders_count_by_the_name_in_the_manifest(tmp_path: Path) -> None:
    """The last folder comes first, whatever its extension is called."""
    for folder, name in (("a", "z"), ("b", "y"), ("c", "x")):
        extension(tmp_path, folder, "same", name=name)
    rules = tmp_path / "home/.x/extensions/enabled.json"
    rules.write_text(json.dumps({"x": {"overrides": ["!/*"]}, "b": {"overrides": ["!/*"]}}))
    found = [entry.path for entry in catalog(tmp_path, EXTENSIONS).skills if entry.state == "active"]
    assert [path.split("/extensions/")[1] for path in found] == ["b/skills/same/SKILL.md"]
    rules.write_text('{"x": {"overrides": 5}}')
    found = [entry.path for entry in catalog(tmp_path, EXTENSIONS).skills if entry.state == "active"]
    assert [path.split("/extensions/")[1] for path in found] == ["c/skills/same/SKILL.md"]
    assert active(tmp_path, {**EXTENSIONS, "rules_invalid": "stops"}) == []


def test_of_two_extensions_with_one_name_the_last_counts_or_the_client_stops(tmp_path: Path) -> None:
    """A client that stops sees no skills at all."""
    extension(tmp_path, "a", "one", name="same")
    extension(tmp_path, "b", "two", name="same")
    write(tmp_path / "repo/.x/skills", "project")
    assert sorted(active(tmp_path, EXTENSIONS)) == ["one", "project", "two"]
    assert sorted(active(tmp_path, {**EXTENSIONS, "same_name": "last"})) == ["project", "two"]
    stopped = catalog(tmp_path, {**EXTENSIONS, "same_name": "stops"})
    assert stopped.skills == ()
    assert [item.code for item in stopped.findings] == ["config-invalid", "host-disabled"]


def test_a_broken_link_and_a_wrong_type_can_stop_the_client(tmp_path: Path) -> None:
    """Both are findings that name the place."""
    extension(tmp_path, "a", "one")
    (tmp_path / "home/.x/extensions/b").symlink_to(tmp_path / "nowhere")
    assert active(tmp_path, EXTENSIONS) == ["one"]
    assert active(tmp_path, {**EXTENSIONS, "broken_links": "stops"}) == []
    assert active(tmp_path, {**EXTENSIONS, "manifest_stops": ["tools:list"]}) == ["one"]
    (tmp_path / "home/.x/extensions/a/x.json").write_text('{"name": "a", "tools": 5}')
    assert active(tmp_path, {**EXTENSIONS, "manifest_stops": ["tools:list"]}) == []


def test_an_argument_chooses_the_extensions_that_count(tmp_path: Path) -> None:
    """Whatever the rules say."""
    for name in ("a", "b", "c"):
        extension(tmp_path, name, f"skill-{name}")
    (tmp_path / "home/.x/extensions/enabled.json").write_text('{"a": {"overrides": ["!/*"]}}')
    table = {
        "title": "X",
        "roots": [{"plugins": "plugin", "scope": "plugin"}],
        "plugins": {"plugin": EXTENSIONS},
        "arguments": [{"name": "-e", "values": "one", "effect": "only-plugins"}],
    }
    host = host_from_table("x", table)

    def chosen(*arguments: str) -> list[str]:
        found = discover(tmp_path, host=host, home=tmp_path / "home", env={}, client_args=arguments)
        return sorted(entry.name for entry in found.skills if entry.state == "active")

    assert chosen() == ["skill-b", "skill-c"]
    assert chosen("-e", "A, b") == ["skill-a", "skill-b"]
    assert chosen("-e", "none") == []


def test_of_two_extensions_from_one_place_the_last_counts(tmp_path: Path) -> None:
    """From two places, or with names that differ in case only, they stop the client."""
    rules = {**EXTENSIONS, "same_name": "last", "same_source": True}
    extension(tmp_path, "a", "one", name="same", install={"source": "/x"})
    extension(tmp_path, "b", "two", name="same", install={"source": "/x"})
    assert active(tmp_path, rules) == ["two"]
    extension(tmp_path, "b", name="Same", install={"source": "/x"})
    assert active(tmp_path, rules) == []
    extension(tmp_path, "b", name="same", install={"source": "/y"})
    assert active(tmp_path, rules) == []


def test_a_manifest_with_another_key_or_of_another_schema_is_invalid(tmp_path: Path) -> None:
    """As agent-plugins.org has it: the schema is named, and some agents allow no other keys."""
    rules = {
        **MANIFEST, "folders": ["~/.x/plugins/*"], "id": "{manifest}", "manifest_needed": True,
        "manifest_types": ["$schema!", "$schema:=https://a.org/1.json"], "manifest_keys": ["$schema", "name"],
    }  # fmt: skip
    schema = {"$schema": "https://a.org/1.json"}
    manifests: dict[str, Any] = {
        "good": schema, "none": {}, "other": {"$schema": "https://a.org/2.json"}, "more": {**schema, "x": 1},
    }  # fmt: skip
    for name, table in manifests.items():
        write(tmp_path / f"home/.x/plugins/{name}/skills", name)
        manifest(tmp_path / f"home/.x/plugins/{name}", {"name": name, **table})
    assert active(tmp_path, rules) == ["good:good"]


def test_plugins_of_a_project_may_need_trust(tmp_path: Path) -> None:
    """Without it their skills are rejected, with the reason."""
    write(tmp_path / "repo/.x/plugins/one/skills", "a")
    found = catalog(tmp_path, {"folders": [".x/plugins/*"], "id": "{plugin}", "needs_trust": True})
    (entry,) = found.skills
    assert (str(entry.state), entry.reason) == ("rejected", "its plugin `one` is in a project that is not trusted")


def test_only_the_first_plugin_of_a_name_may_count(tmp_path: Path) -> None:
    rules = {**MANIFEST, "folders": ["~/.x/plugins/*"], "id": "{plugin}", "name": "manifest"}
    for folder in ("a", "b"):
        write(tmp_path / f"home/.x/plugins/{folder}/skills", folder)
        manifest(tmp_path / f"home/.x/plugins/{folder}", {"name": "same"})
    assert active(tmp_path, rules) == ["same:a", "same:b"]
    assert active(tmp_path, {**rules, "same_name": "first"}) == ["same:a"]


def test_a_list_in_the_settings_switches_plugins_off(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write(tmp_path / f"home/.x/plugins/{folder}/skills", folder)
    settings(tmp_path, {"off": ["a", 5]})
    assert active(tmp_path, {"folders": ["~/.x/plugins/*"], "id": "{plugin}", "setting_off": "off"}) == ["b:b"]


def test_a_path_outside_makes_a_strict_plugin_invalid(tmp_path: Path) -> None:
    rules = {**MANIFEST, "folders": ["~/.x/plugins/*"], "id": "{plugin}"}
    write(tmp_path / "home/.x/plugins/a/skills", "a")
    manifest(tmp_path / "home/.x/plugins/a", {"name": "a", "skills": ["skills", "../../else"]})
    assert active(tmp_path, rules) == ["a:a"]
    assert active(tmp_path, {**rules, "skills_strict": True}) == []


def test_a_plugin_without_a_list_may_be_one_skill(tmp_path: Path) -> None:
    """Then no other folder in it counts."""
    plugin = tmp_path / "home/.x/plugins/a"
    write(plugin / "skills", "inner")
    write(plugin.parent, "a")
    manifest(plugin, {"name": "a"})
    rules = {**MANIFEST, "folders": ["~/.x/plugins/*"], "id": "{plugin}", "own_skill": True}
    assert active(tmp_path, rules) == ["a:a"]
