"""Find the plugins of marketplaces: where a marketplace is a folder there, otherwise the copies that are installed.

Their files are untrusted: whatever they hold, the result is at most a finding.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import neutral, quoted
from prowess._internal.variable_paths import variable_path
from prowess.findings import finding

from ._installed_plugins import InstalledPlugin
from ._json_files import read_json_or_report
from ._plugin_commands import CommandPlace
from ._settings_files import get_dotted
from ._settings_types import find_wrong_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.findings import Finding
    from prowess.hosts import MarketFolderRules

    from ._filesystem import Filesystem
    from ._market_settings import MarketSetting

__all__ = ["MarketPluginFinder"]

_MAX_PLUGINS = 1000
"""Plugins that count for one host."""
_MAX_ROWS = 20_000
"""Plugins that all marketplaces of one host may list."""
_MAX_FOLDERS = 1000
"""Folders of skills that one plugin may list."""


class MarketPluginFinder:
    """Finds the plugins of one table of marketplaces of a host."""

    def __init__(
        self,
        rules: MarketFolderRules,
        setting: MarketSetting,
        *,
        cwd: str,
        home: str,
        variables: Mapping[str, str],
        filesystem: Filesystem,
    ) -> None:
        self.rules, self.setting, self.cwd, self.home = rules, setting, cwd, home
        self.variables, self.filesystem = variables, filesystem
        self.findings: list[Finding] = []
        self._catalogs: dict[str, tuple[object, list[Mapping[str, Any]]]] = {}
        self._rows_left = _MAX_ROWS

    def find(self) -> list[InstalledPlugin]:
        """Return the plugins, highest precedence first; those that are switched off come last."""
        found: list[InstalledPlugin] = []
        for plugin in self._plugins():
            if len(found) == _MAX_PLUGINS:
                self._report(self.cwd, f"only {_MAX_PLUGINS:,} plugins count")
                break
            found.append(plugin)
        return sorted(found, key=lambda plugin: bool(plugin.off))

    def _report(self, path: str, message: str) -> None:
        hint = "fix the file; until then it is ignored"
        self.findings.append(finding("config-invalid", message, path=path, hint=hint))

    def _plugins(self) -> Iterator[InstalledPlugin]:
        if self.rules.listed_bare == "only":
            yield from self._copies()
        for folder in self.setting.arguments:
            if any(self.filesystem.kind(os.path.join(folder, name)) == "f" for name in self.rules.manifests):
                name = (self._manifest(folder) or {}).get("name")
                yield self._plugin(name if isinstance(name, str) and name else os.path.basename(folder), folder)
            elif self.filesystem.kind(os.path.join(folder, SKILL_FILE)) == "f":
                name = os.path.basename(folder)
                yield InstalledPlugin(id=name, name=name, folder=folder, skill_folders=(folder,), namespace=None)
        for market, folder in self.setting.folders.items():
            yield from self._in_folder(market, folder)
        if self.rules.listed_bare != "only":
            yield from self._copies()

    def _in_folder(self, market: str, folder: str) -> Iterator[InstalledPlugin]:
        """Yield the plugins of a marketplace in a folder."""
        paths = (os.path.join(folder, name) for name in self.rules.files)
        file = next((path for path in paths if self.filesystem.kind(path) == "f"), "")
        base, rows = self._catalog(file) if file else (None, [])
        for item in rows[: self._rows_left]:
            self._rows_left -= 1
            name, source = item.get("name"), item.get("source")
            if not isinstance(name, str) or not isinstance(source, str) or "\0" in f"{source}{base}":
                continue
            path = os.path.normpath(os.path.join(folder, base if isinstance(base, str) else "", source))
            if _is_inside(path, folder) and self.filesystem.kind(path) == "d":
                yield self._plugin(name, path, f"{name}@{market}")

    def _copies(self) -> Iterator[InstalledPlugin]:
        """Yield the copies that the client has installed."""
        rules = self.rules
        file = self._expand(rules.listed)
        entries = get_dotted(self._json(file, comments=True), rules.listed_key) if file else None
        if not isinstance(entries, list):
            return
        wrong = find_wrong_type(entries, {"*": "map", **rules.listed_types})
        if wrong is not None:
            self._report(file, f"the list of plugins is ignored: {quoted(wrong)} is missing or has the wrong type")
            return
        for item in entries:
            name, market = item["name"], item["marketplace"]
            is_bare = not market and "source" not in item
            if market in self.setting.folders or is_bare is (rules.listed_bare == "others"):
                continue
            if rules.listed_bare == "only" and not is_bare:
                continue
            identity = f"{name}@{market}"
            is_decided = bool(market) and (self.setting.by_user or identity in self.setting.switches)
            own = None if is_decided else (item["enabled"] is True, file)
            own = (True, "") if rules.listed_bare == "only" else own
            folder, unused = self._folder_of_copy(item)
            if folder:
                plugin = self._plugin(name, folder, identity, own)
                yield plugin.with_changes(list_only=unused)

    def _folder_of_copy(self, item: Mapping[str, Any]) -> tuple[str, str]:
        """Return the folder of an installed copy, and why only the client's own list looks there; both may be empty."""
        folder = item.get(self.rules.listed_folder)
        unused = ""
        if folder is None and self.rules.listed_usual:
            usual = self._expand(self.rules.listed_usual)
            folder = os.path.normpath(os.path.join(usual, item["marketplace"], item["name"]))
            if not _is_inside(folder, usual):
                return "", ""
            unused = (
                f"the list of plugins does not say `{self.rules.listed_folder}`, so only the agent's own list has it"
            )
        if not isinstance(folder, str) or "\0" in folder:
            return "", ""
        return os.path.normpath(os.path.join(self.cwd, folder)), unused

    def _expand(self, path: str) -> str:
        """Return a path of the table on this machine."""
        return variable_path(path, self.variables, self.home)

    def _plugin(
        self, name: str, folder: str, identity: str = "", own: tuple[bool, str] | None = None
    ) -> InstalledPlugin:
        """Return a plugin.

        Args:
            name: its name.
            folder: its folder.
            identity: how settings name it; empty for one that is on whatever they say.
            own: whether it is on whatever settings say, and the file that says so.
        """
        manifest = self._manifest(folder) or {}
        on, file = own or (self.setting.switches.get(identity, (False, "")) if identity else (True, ""))
        off = f"switched off in {neutral(file)}" if file else "not switched on"
        return InstalledPlugin(
            id=identity or name,
            name=name,
            folder=folder,
            skill_folders=tuple(self._skill_folders(folder, manifest.get("skills"))),
            commands=tuple(map(CommandPlace, self._folders(folder, self.rules.commands, manifest.get("commands")))),
            namespace=None,
            off="" if on else f"its plugin {quoted(identity)} is {off}",
        )

    def _manifest(self, folder: str) -> Mapping[str, Any] | None:
        """Return the manifest of a plugin; `None` if it is missing."""
        for name in self.rules.manifests:
            path = os.path.join(folder, name)
            table = self._json(path) if self.filesystem.kind(path) == "f" else None
            if table is not None:
                return table if isinstance(table, Mapping) else {}
        return None

    def _skill_folders(self, plugin: str, value: object) -> Iterator[str]:
        """Yield its folders of skills; without them it may be one skill itself."""
        usual = os.path.join(plugin, self.rules.skills)
        is_own = value is None or value == ""
        if is_own and self.filesystem.kind(usual) != "d" and self.filesystem.kind(f"{plugin}/{SKILL_FILE}") == "f":
            yield plugin
        else:
            yield from self._folders(plugin, self.rules.skills, value)

    def _folders(self, plugin: str, default: str, value: object) -> Iterator[str]:
        """Yield the folders that a manifest names, or the default."""
        listed = [value] if isinstance(value, str) else value
        adds = value is None or value == ""
        if isinstance(value, Mapping):
            listed, adds = value.get("paths"), value.get("exclusive") in (None, False, "")
        is_valid = isinstance(listed, list) and all(isinstance(item, str) for item in listed)
        if default and (adds if not isinstance(value, Mapping) else adds and is_valid):
            yield os.path.join(plugin, default)
        for item in listed[:_MAX_FOLDERS] if isinstance(listed, list) and is_valid else ():
            path = os.path.normpath(os.path.join(plugin, item))
            if "\0" not in item and (item or not isinstance(value, str)) and _is_inside(path, plugin):
                yield path

    def _catalog(self, file: str) -> tuple[object, list[Mapping[str, Any]]]:
        """Return where the plugins of a marketplace are, and what it lists; several marketplaces may have one file."""
        real = self.filesystem.real(file)
        if real not in self._catalogs:
            self._catalogs[real] = self._read_catalog(file)
        return self._catalogs[real]

    def _read_catalog(self, file: str) -> tuple[object, list[Mapping[str, Any]]]:
        table = self._json(file)
        if not isinstance(table, Mapping):
            return None, []
        wrong = find_wrong_type(table, self.rules.types)
        entries = table.get("plugins") if wrong is None else ()
        rows = [item for item in entries if isinstance(item, Mapping)] if isinstance(entries, list) else []
        names = [item.get("name") for item in rows]
        if wrong is not None or len({str(name) for name in names}) != len(names):
            problem = f"{quoted(wrong)} is missing or has the wrong type" if wrong else "two plugins have one name"
            self._report(file, f"the marketplace is ignored: {problem}")
            return None, []
        return get_dotted(table, "metadata.pluginRoot"), rows

    def _json(self, path: str, *, comments: bool = False) -> Any:
        """Return what a JSON file holds; `None` if it is missing or invalid."""
        return read_json_or_report(self.filesystem, path, self._report, mark=comments, comments=comments)


def _is_inside(path: str, folder: str) -> bool:
    """Return whether a path is a folder or inside it, as they are written."""
    return (path + os.sep).startswith(os.path.join(folder, ""))
