"""Files about plugins that are made to take long: whatever they hold, the answer comes in bounded time."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.catalog._filesystem import Filesystem
from prowess.catalog._marketplaces import Marketplaces
from prowess.catalog._plugin_enablement import FolderRules
from prowess.catalog._plugin_store import read_plugin_store
from prowess.hosts import load_host

if TYPE_CHECKING:
    from prowess.catalog import Catalog


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def discovered(host: str, top: Path) -> tuple[Catalog, float]:
    project = top / "project"
    (project / ".git").mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    catalog = discover(project, host=host, home=top, env={}, cache=False)
    return catalog, time.process_time() - start


def test_a_record_with_many_plugins_is_searched_by_name_at_once(tmp_path: Path) -> None:
    """The first of one name counts."""
    record = {"name": "Plug", "defaultActivation": "disabled", "workspaceOverrides": {}}
    plugins = {f"{number:064x}": {**record, "name": f"P{number}"} for number in range(15_000)}
    plugins |= {f"{number:064x}": record for number in range(20_000, 20_002)}
    plugins[f"{20_001:064x}"] = {**record, "defaultActivation": "enabled"}
    write(
        tmp_path / "store.json",
        {"version": 2, "generation": 1, "legacyProjectionHash": "0" * 64, "extensions": plugins},
    )
    rules = FolderRules(path=str(tmp_path / "rules.json"))
    store = read_plugin_store(Filesystem(), str(tmp_path / "store.json"), rules)
    start = time.process_time()
    for number in range(1000):
        assert store.answer(f"source {number}", "pLUG", "/", rules)[0] is False
    assert time.process_time() - start < 0.5


@pytest.mark.slow
def test_a_thousand_markets_with_one_catalog_read_it_once(tmp_path: Path) -> None:
    """All of its entries are invalid, and all are for the plugin that is asked for."""
    market = tmp_path / "market"
    write(
        market / ".claude-plugin/marketplace.json",
        {"name": "m", "owner": {"name": "o"}, "plugins": [{"name": "plug", "source": 5}] * 5000},
    )
    rules = next(item.market for item in load_host("claude-code").plugins.values() if item.market is not None)
    reports: list[str] = []
    declared = [("/s", {f"m{n}": {"source": {"source": "directory", "path": str(market)}} for n in range(1000)})]
    markets = Marketplaces(
        rules,
        known="",
        declared=declared,
        filesystem=Filesystem(),
        read_json=lambda path: json.loads(Path(path).read_text()),
        report=lambda _, message: reports.append(message),
    )
    start = time.process_time()
    assert [markets.find("plug", f"m{number}") for number in range(1000)] == [None] * 1000
    assert time.process_time() - start < 1
    assert len(reports) <= 5000


@pytest.mark.slow
def test_a_thousand_folders_of_markets_with_one_catalog_list_plugins_in_bounded_time(tmp_path: Path) -> None:
    market = tmp_path / "market"
    rows = [{"name": f"p{number}", "source": f"./absent{number}"} for number in range(10_000)]
    table = {"name": "m", "owner": {"name": "o"}, "plugins": rows}
    for name in ("marketplace.json", ".claude-plugin/marketplace.json", ".github/plugin/marketplace.json"):
        write(market / name, table)
    names = {f"m{n}": {"source": {"source": "directory", "path": str(market)}} for n in range(1000)}
    write(tmp_path / ".copilot/config.json", {"extraKnownMarketplaces": names})
    write(tmp_path / ".copilot/settings.json", {"extraKnownMarketplaces": names})
    _, seconds = discovered("copilot", tmp_path)
    assert seconds < 1.5


@pytest.mark.slow
def test_a_thousand_large_manifests_take_bounded_time(tmp_path: Path) -> None:
    """After the first 16 MB the others count as too large."""
    large = tmp_path / "large.json"
    large.write_text('{"name": "x", "version": "1.0.0", "list": [' + "1," * 1_900_000 + "1]}")
    for number in range(40):
        folder = tmp_path / f".gemini/extensions/e{number}"
        folder.mkdir(parents=True)
        (folder / "gemini-extension.json").symlink_to(large)
    catalog, seconds = discovered("gemini-cli", tmp_path)
    assert seconds < 3
    assert any("larger than" in item.message for item in catalog.findings)


@pytest.mark.slow
def test_plugins_of_one_name_share_the_answer_of_thousands_of_rules(tmp_path: Path) -> None:
    extensions = tmp_path / ".gemini/extensions"
    for number in range(300):
        write(extensions / f"e{number}/gemini-extension.json", {"name": "plug", "version": "1.0.0"})
    write(extensions / "extension-enablement.json", {"plug": {"overrides": ["/a*" * 1300] * 900}})
    _, seconds = discovered("gemini-cli", tmp_path)
    assert seconds < 3


def test_a_plugin_for_ten_thousand_projects_is_looked_up_for_a_hundred(tmp_path: Path) -> None:
    deep = str(tmp_path / "project" / ("a/" * 1500))
    row = {"scope": "project", "version": "1", "installPath": str(tmp_path), "lastUpdated": "", "installedAt": ""}
    rows = [{**row, "projectPath": f"{deep}{number}"} for number in range(1000)]
    write(tmp_path / ".claude/plugins/installed_plugins.json", {"version": 2, "plugins": {"plug@m": rows}})
    write(tmp_path / ".claude/settings.json", {"enabledPlugins": {"plug@m": True}})
    _, seconds = discovered("claude-code", tmp_path)
    assert seconds < 1.5
