"""What Copilot alone does: plugins of marketplaces in folders, and copies of plugins."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from prowess.catalog import discover
from support.trees import write_repository

if TYPE_CHECKING:
    from pathlib import Path


def write_skill(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n")


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A home with one plugin of a marketplace in a folder, which is on, and a project."""
    known = {"acme": {"source": {"source": "directory", "path": str(tmp_path / "m")}}}
    settings = {"extraKnownMarketplaces": known, "enabledPlugins": {"p@acme": True}}
    write(tmp_path / "home/.copilot/settings.json", settings)
    write(tmp_path / "m/marketplace.json", {"name": "acme", "owner": {"name": "A"}, "plugins": [PLUGIN]})
    write_skill(tmp_path / "m/p/skills/s", "s")
    (tmp_path / "repo").mkdir()
    return tmp_path


PLUGIN: dict[str, Any] = {"name": "p", "source": "./p"}


def names(world: Path, *args: str) -> dict[str, str]:
    found = discover(world / "repo", host="copilot", home=world / "home", env={}, client_args=args, cache=False)
    return {entry.name: str(entry.state) for entry in found.skills}


def test_a_plugin_is_found_where_its_marketplace_is(world: Path) -> None:
    """Nothing was copied."""
    assert names(world) == {"s": "active"}


FILES = ["home/.copilot/settings.json", "home/.copilot/config.json", "m/marketplace.json", "m/p/plugin.json"]
HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "bytes": bytes(range(256)),
    "deep": b"[" * 100_000,
    "deep-maps": b'{"plugins":' * 50_000,
    "number": b"5",
    "list": b"[1, null, []]",
    "many-folders": json.dumps({"skills": [f"./{number}" for number in range(10_000)]}).encode(),
    "many-plugins": json.dumps(
        {"name": "acme", "owner": {"name": "A"}, "plugins": [{**PLUGIN, "name": f"p{n}"} for n in range(10_000)]}
    ).encode(),
    "root": json.dumps({"skills": ["/", "~", "../../../..", "\0", "."], "installedPlugins": [{"name": "\0"}]}).encode(),
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("content", HOSTILE)
def test_hostile_files_of_plugins_are_at_most_findings(world: Path, file: str, content: str) -> None:
    """Whatever they hold, and nothing outside the plugin is read."""
    write(world / file, HOSTILE[content])
    assert set(names(world, "--plugin-dir", str(world / "m/p"))) <= {"s", "p:s"}


@pytest.mark.parametrize("file", FILES)
def test_a_fifo_or_a_huge_file_in_place_of_a_plugins_file_is_not_waited_for(world: Path, file: str) -> None:
    """It is not opened for reading."""
    path = world / file
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    assert set(names(world)) <= {"s"}
    path.unlink()
    with path.open("wb") as huge:
        huge.truncate(100 * 1024 * 1024)
    assert set(names(world)) <= {"s"}


@pytest.mark.parametrize("source", ["..", "../m2", "/", "~", "p/../../m2", "./loop"])
def test_a_plugin_is_in_its_marketplace(world: Path, source: str) -> None:
    """A source that leads out of the marketplace is invalid."""
    write_skill(world / "m2/skills/out", "out")
    (world / "m/loop").symlink_to(world / "m/loop")
    write(
        world / "m/marketplace.json",
        {"name": "acme", "owner": {"name": "A"}, "plugins": [{**PLUGIN, "source": source}]},
    )
    assert names(world) == {}


def copies(world: Path, *rows: dict[str, Any]) -> None:
    """Write a list of installed copies."""
    base = {"installed_at": "2026", "enabled": True}
    write(world / "home/.copilot/config.json", {"installedPlugins": [base | row for row in rows]})


def test_a_copy_without_its_folder_is_in_the_agents_list_only(world: Path) -> None:
    """It hides nothing that the model sees, and its place is below the usual folder."""
    copies(world, {"name": "c", "marketplace": "x"}, {"name": "../../../out", "marketplace": "x"})
    settings = json.loads((world / "home/.copilot/settings.json").read_text())
    settings["enabledPlugins"] |= {"c@x": True, "../../../out@x": True}
    write(world / "home/.copilot/settings.json", settings)
    write_skill(world / "home/.copilot/installed-plugins/x/c/skills/c", "c")
    write_skill(world / "home/.copilot/installed-plugins/x/c/skills/s", "s")
    write_skill(world / "home/out/skills/o", "out")
    found = discover(world / "repo", host="copilot", home=world / "home", env={}, cache=False).skills
    assert [(entry.name, str(entry.state)) for entry in found if "installed-plugins" not in entry.path] == [
        ("s", "active")
    ]
    listed = {entry.name: entry for entry in found if "installed-plugins" in entry.path}
    assert str(listed["c"].state) == "user-only"
    assert "cache_path" in (listed["c"].reason or "")
    assert "out" not in listed


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (None, {"own"}),
        ({"name": "x"}, {"own"}),
        (b"{", {"own"}),
        ({"skills": ""}, {"own"}),
        ({"skills": []}, set()),
        ({"skills": "./extra"}, {"extra"}),
        ({"skills": {"paths": ["./extra"]}}, {"extra"}),
    ],
)
def test_a_plugin_without_a_folder_of_skills_may_be_one_skill(
    world: Path, manifest: object, expected: set[str]
) -> None:
    """If its manifest names no other folder."""
    os.rename(world / "m/p/skills", world / "m/p/elsewhere")
    write(world / "m/p/SKILL.md", b"---\nname: own\ndescription: d\n---\n")
    write_skill(world / "m/p/extra", "extra")
    if manifest is not None:
        write(world / "m/p/plugin.json", manifest)
    assert set(names(world)) == expected
    (world / "m/p/skills").mkdir()
    assert set(names(world)) == expected - {"own"}


@pytest.mark.parametrize(("value", "expected"), [(True, {"e"}), (1, {"e"}), ("no", {"e"}), ([], {"e"})])
def test_paths_replace_the_usual_folder_if_they_are_exclusive(world: Path, value: object, expected: set[str]) -> None:
    """By the truth of JavaScript."""
    write_skill(world / "m/p/extra/e", "e")
    write(world / "m/p/plugin.json", {"skills": {"paths": ["./extra"], "exclusive": value}})
    assert set(names(world)) == expected
    for other in (False, None, "", 0):
        write(world / "m/p/plugin.json", {"skills": {"paths": ["./extra"], "exclusive": other}})
        assert set(names(world)) == {"e", "s"}


@pytest.mark.parametrize("text", [b"{bad", b"null", b"", b"[]"])
def test_a_folder_of_an_argument_needs_a_manifest_of_any_content(world: Path, text: bytes) -> None:
    write_skill(world / "dir/skills/d", "d")
    assert names(world, "--plugin-dir", str(world / "dir")) == {"s": "active"}
    write(world / "dir/plugin.json", text)
    assert names(world, "--plugin-dir", str(world / "dir")) == {"s": "active", "d": "active"}


@pytest.mark.parametrize(
    ("user", "repository", "expected"),
    [
        (None, None, {"on"}),
        (None, {}, {"on"}),
        (None, {"off@x": True}, {"on", "off"}),
        (None, {"on@x": False}, set()),
        ({}, {}, set()),
        ({}, {"off@x": True}, {"off"}),
        ({"on@x": True}, {"other@x": True}, {"on"}),
    ],
)
def test_copies_are_on_by_themselves_unless_the_user_or_a_repository_switches_them(
    world: Path, user: object, repository: object, expected: set[str]
) -> None:
    """The user's list switches all that it does not name; that of a trusted repository only those that it names."""
    rows = []
    for name in ("on", "off"):
        write_skill(world / name / "skills" / name, name)
        row = {"name": name, "marketplace": "x", "enabled": name == "on", "cache_path": str(world / name)}
        rows.append({"installed_at": "2026", **row})
    write(world / "home/.copilot/config.json", {"installedPlugins": rows, "trustedFolders": [str(world)]})
    write(world / "home/.copilot/settings.json", {} if user is None else {"enabledPlugins": user})
    if repository is not None:
        write(world / "repo/.github/copilot/settings.json", {"enabledPlugins": repository})
    assert {name for name, state in names(world).items() if state == "active"} == expected


@pytest.mark.parametrize(("trusted", "expected"), [("repo/sub", {"d"}), ("repo", {"d", "r"}), ("other", {"s"})])
def test_plugins_of_a_repository_need_trust_of_the_working_directory(
    world: Path, trusted: str, expected: set[str]
) -> None:
    """Its folders of skills need trust of the git root."""
    write_repository(world / "repo/.git")
    (world / "repo/sub").mkdir()
    write_skill(world / "repo/d/skills/d", "d")
    write_skill(world / "repo/rel/r", "r")
    write(
        world / "repo/marketplace.json",
        {"name": "m", "owner": {"name": "A"}, "plugins": [{"name": "d", "source": "d"}]},
    )
    known = {"m": {"source": {"source": "directory", "path": "."}}}
    switches = {"d@m": True, "p@acme": False}
    settings = {"extraKnownMarketplaces": known, "enabledPlugins": switches, "skillDirectories": ["rel"]}
    write(world / "repo/.github/copilot/settings.json", settings)
    write(world / "home/.copilot/config.json", {"trustedFolders": [str(world / trusted)]})
    found = discover(world / "repo/sub", host="copilot", home=world / "home", env={}, cache=False).skills
    assert {entry.name for entry in found if entry.state == "active"} == expected


def test_a_thousand_folders_of_markets_with_one_catalog_list_twenty_thousand_plugins(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog is read once."""
    rows = [{"name": f"p{number}", "source": f"./absent{number}"} for number in range(10_000)]
    write(world / "m/marketplace.json", {"name": "m", "owner": {"name": "o"}, "plugins": rows})
    source = {"source": {"source": "directory", "path": str(world / "m")}}
    write(world / "home/.copilot/settings.json", {"extraKnownMarketplaces": {f"m{n}": source for n in range(1000)}})
    is_inside = Mock(return_value=False)
    monkeypatch.setattr("prowess.clients.copilot._is_inside", is_inside)
    assert names(world) == {}
    assert is_inside.call_count == 20_000
