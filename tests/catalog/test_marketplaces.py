"""Marketplaces of a client: which plugins count, why others do not, and what hostile files can do."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog

KNOWN = "home/.claude/plugins/known_marketplaces.json"
SETTINGS = "home/.claude/settings.json"
WHEN = "2026-11-22T18:47:06.627Z"


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")


def skill(folder: Path) -> None:
    write(folder / "SKILL.md", f"---\nname: {folder.name}\ndescription: d\n---\n")


def market(top: Path, *entries: Any) -> None:
    """Register a marketplace in a folder, and switch the plugin `p` on."""
    write(top / "market/.claude-plugin/marketplace.json", {"name": "m", "owner": {"name": "o"}, "plugins": entries})
    source = {"source": "directory", "path": str(top / "market")}
    write(top / KNOWN, {"m": {"source": source, "installLocation": str(top / "market"), "lastUpdated": WHEN}})
    write(top / SETTINGS, {"enabledPlugins": {"p@m": True}})


def catalog(top: Path) -> Catalog:
    (top / "repo").mkdir(exist_ok=True)
    return discover(top / "repo", host="claude-code", home=top / "home", env={})


def names(top: Path) -> list[str]:
    return [entry.name for entry in catalog(top).skills if entry.state == "active"]


P = {"name": "p", "source": "./p"}


def test_a_plugin_of_a_folder_is_read_there(tmp_path: Path) -> None:
    """With its plugin as namespace and scope."""
    market(tmp_path, P)
    skill(tmp_path / "market/p/skills/one two")
    (entry,) = catalog(tmp_path).skills
    assert (entry.name, entry.namespace, entry.scope, str(entry.state)) == ("p:one-two", "p", "plugin", "active")


def test_a_plugin_that_is_switched_off_says_where(tmp_path: Path) -> None:
    """Its skills are listed as rejected."""
    market(tmp_path, P)
    skill(tmp_path / "market/p/skills/one")
    write(tmp_path / SETTINGS, {"enabledPlugins": {"p@m": False}})
    (entry,) = catalog(tmp_path).skills
    assert entry.state == "rejected"
    assert entry.reason == f"its plugin `p@m` is switched off in {tmp_path / SETTINGS}"


def test_a_plugin_with_an_invalid_manifest_is_reported(tmp_path: Path) -> None:
    """As the client does, it loads nothing of it."""
    market(tmp_path, P)
    skill(tmp_path / "market/p/skills/one")
    write(tmp_path / "market/p/.claude-plugin/plugin.json", {"name": "p", "skills": ["elsewhere"]})
    found = catalog(tmp_path)
    assert [str(entry.state) for entry in found.skills] == ["rejected"]
    (problem,) = [item for item in found.findings if item.code == "config-invalid"]
    assert "`skills.*` has the wrong type" in problem.message


@pytest.mark.parametrize(
    "source", ["./../outside", "./link", "/outside", "./x\0y", {"source": "github"}, 5, "./p/../../outside"]
)
def test_a_source_outside_of_the_marketplace_is_not_read(tmp_path: Path, source: object) -> None:
    """Nor through a link."""
    skill(tmp_path / "outside/skills/secret")
    market(tmp_path, {"name": "p", "source": source})
    (tmp_path / "market/link").symlink_to(tmp_path / "outside")
    assert names(tmp_path) == []


def test_links_do_not_lead_out_of_a_plugin(tmp_path: Path) -> None:
    """Neither of folders nor of files; the marketplace's own folder is allowed."""
    skill(tmp_path / "outside/secret")
    skill(tmp_path / "market/shared/fine")
    market(tmp_path, P)
    skills = tmp_path / "market/p/skills"
    (skills / "file").mkdir(parents=True)
    (skills / "folder").symlink_to(tmp_path / "outside/secret")
    (skills / "file/SKILL.md").symlink_to(tmp_path / "outside/secret/SKILL.md")
    (skills / "fine").symlink_to("../../shared/fine")
    assert names(tmp_path) == ["p:fine"]


BYTES = (b"", b"\xff\xfe\0", b"[" * 100_000, b'{"p@m": ' * 5000, b"null", b"[1]", rb'{"a": "\ud800"}', b"\0" * 1000)


@pytest.mark.parametrize(
    "file", [KNOWN, SETTINGS, "market/.claude-plugin/marketplace.json", "market/p/.claude-plugin/plugin.json"]
)
@pytest.mark.parametrize("data", BYTES)
def test_files_of_any_bytes_are_at_most_a_finding(tmp_path: Path, file: str, data: bytes) -> None:
    """Other skills are still found."""
    market(tmp_path, P)
    skill(tmp_path / "market/p/skills/one")
    skill(tmp_path / "home/.claude/skills/mine")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_bytes(data)
    assert "mine" in names(tmp_path)


@pytest.mark.parametrize("file", [KNOWN, SETTINGS, "market/.claude-plugin/marketplace.json"])
def test_a_fifo_and_an_endless_file_do_not_hang(tmp_path: Path, file: str) -> None:
    """They are not opened, or not read to the end."""
    market(tmp_path, P)
    skill(tmp_path / "home/.claude/skills/mine")
    started = time.monotonic()
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        (tmp_path / file).unlink()
        make(tmp_path / file)
        assert names(tmp_path) == ["mine"]
    assert time.monotonic() - started < 2


@pytest.mark.slow
def test_ten_thousand_plugins_and_folders_take_bounded_time(tmp_path: Path) -> None:
    """Of a catalog, and of the folders that one plugin lists."""
    folders = ["./" + "/".join(["."] * (number % 7)) for number in range(10_000)]
    market(tmp_path, *({"name": f"p{number}", "source": "./", "skills": folders} for number in range(20)), P)
    write(tmp_path / SETTINGS, {"enabledPlugins": {f"p{number}@m": True for number in range(10_000)} | {"p@m": True}})
    skill(tmp_path / "market/p/skills/one")
    started = time.monotonic()
    assert "p:one" in names(tmp_path)
    assert time.monotonic() - started < 5


def test_a_marketplace_that_is_the_whole_machine_is_not_walked(tmp_path: Path) -> None:
    """Its root has no catalog; a list that names `/` or the home is outside of the plugin."""
    market(tmp_path, {**P, "skills": ["./../../..", "./."]})
    skill(tmp_path / "market/p/skills/one")
    assert names(tmp_path) == ["p:one"]
    table = json.loads((tmp_path / KNOWN).read_text())
    table["m"]["installLocation"] = "/"
    write(tmp_path / KNOWN, table)
    assert names(tmp_path) == []
