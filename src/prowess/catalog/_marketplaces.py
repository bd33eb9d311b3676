"""Find the marketplaces of a client, and the plugins that their catalogs list.

A catalog is `.claude-plugin/marketplace.json` in the folder of a marketplace. Its files are untrusted, as a plugin's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted

from ._settings_files import get_dotted
from ._settings_types import find_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from prowess.hosts import MarketRules

    from ._filesystem import Filesystem

__all__ = ["ListedPlugin", "Marketplaces"]

_PARTS = ("agents", "commands", "hooks", "outputStyles", "skills", "themes")
"""Keys of an entry that name parts of a plugin."""
_MAX_SKILL_FOLDERS = 1000
"""Folders of skills that the catalog may list for one plugin."""
_MAX_PLUGINS = 10_000
"""Plugins of one catalog that are looked at."""


class ListedPlugin(Frozen):
    """A plugin as the catalog of a marketplace lists it."""

    entry: Mapping[str, Any]
    folder: str = ""
    """Where it is read; empty if it must be installed."""
    market_folder: str = ""
    """The folder of its marketplace."""
    is_whole_market: bool = False
    """Whether the plugin is the marketplace itself."""

    def replaces_manifest(self) -> bool:
        """Return whether the entry says that it replaces the manifest, and names parts of the plugin too."""
        return self.entry.get("strict") is False and any(self.entry.get(key) for key in _PARTS)

    def skill_folders(self, folder: str, own: list[str], defaults: list[str], filesystem: Filesystem) -> list[str]:
        """Return the folders of skills of the plugin, with those that the catalog lists for it.

        Args:
            folder: of the plugin.
            own: its folders of skills without the catalog.
            defaults: those that it has without any list.
            filesystem: what was read so far.
        """
        written = self.entry.get("skills")
        names = [written] if isinstance(written, str) else written if isinstance(written, list) else []
        inside = os.path.join(filesystem.real(folder), "")
        paths = [
            os.path.normpath(os.path.join(folder, name))
            for name in names[:_MAX_SKILL_FOLDERS]
            if isinstance(name, str) and name and "\0" not in name
        ]
        more = [
            path
            for path in dict.fromkeys(paths)
            if filesystem.kind(path) == "d" and (filesystem.real(path) + os.sep).startswith(inside)
        ]
        if self.is_whole_market and more:
            # The folder of the marketplace has the skills of all its plugins.
            own = defaults if {*defaults, folder} & set(more) else []
        return list(dict.fromkeys([*own, *(path for path in more if path not in defaults)]))


class _Marketplace(Frozen):
    """A marketplace on this machine."""

    folder: str
    in_place: bool = False
    """Whether its plugins are read where they are."""


class Marketplaces:
    """The marketplaces that one client knows."""

    def __init__(
        self,
        rules: MarketRules,
        known: str,
        declared: Sequence[tuple[str, Any]],
        filesystem: Filesystem,
        read_json: Callable[[str], Any],
        report: Callable[[str, str], None],
    ) -> None:
        """Prepare to look marketplaces up.

        Args:
            rules: the host's.
            known: the file of `MarketRules.known` on this machine; empty without one.
            declared: what each settings file says about marketplaces, the most important first.
            filesystem: what was read so far.
            read_json: returns what a JSON file holds; `None` if it is missing or invalid.
            report: reports a problem with a file.
        """
        self.rules, self.known_file, self.declared = rules, known, declared
        self.filesystem, self.read_json, self.report = filesystem, read_json, report
        self._known: Mapping[str, Any] | None = None
        self._entries: dict[tuple[str, str], Mapping[str, Any] | None] = {}
        self._catalogs: dict[str, tuple[str, Mapping[str, list[Mapping[str, Any]]]]] = {}

    def find(self, plugin: str, market: str) -> ListedPlugin | None:
        """Return a plugin of a marketplace; `None` if the client does not know it."""
        place = self._place(market)
        if place is None:
            return None
        entry = self._entry(place.folder, plugin)
        if entry is None:
            return None
        source = entry.get("source")
        if not isinstance(source, str):
            return ListedPlugin(entry=entry)
        whole = not source.strip("./")
        if not place.in_place:
            return ListedPlugin(entry=entry, is_whole_market=whole)
        folder = os.path.normpath(os.path.join(place.folder, source))
        inside = os.path.join(self.filesystem.real(place.folder), "")
        if "\0" in source or not (self.filesystem.real(folder) + os.sep).startswith(inside):
            return None
        return ListedPlugin(entry=entry, folder=folder, market_folder=place.folder, is_whole_market=whole)

    def _place(self, market: str) -> _Marketplace | None:
        """Return where a marketplace is."""
        if self._known is None:
            self._known = self._read_known()
        rules = self.rules
        entry = self._known.get(market)
        if entry is not None:
            folder = entry.get("installLocation")
            kind = get_dotted(entry, "source.source")
            return _Marketplace(folder=folder, in_place=kind in rules.in_place) if _is_path(folder) else None
        if "" in self._known:
            return None
        for _, value in self.declared:
            entry = value.get(market) if isinstance(value, Mapping) else None
            folder, kind = get_dotted(entry, "source.path"), get_dotted(entry, "source.source")
            if kind == "file" and _is_path(folder):
                # What is named there is the catalog, not the folder.
                ending = next((f"/{name}" for name in rules.catalogs if folder.endswith(f"/{name}")), "")
                folder = folder.removesuffix(ending) if ending else os.path.dirname(folder)
            if kind in rules.in_place and _is_path(folder):
                return _Marketplace(folder=folder, in_place=True)
        return None

    def _read_known(self) -> Mapping[str, Any]:
        """Return the valid entries of the file with known marketplaces; one called "" if the file is invalid."""
        path = self.known_file
        if not path or not self.filesystem.kind(path):
            return EMPTY
        table = self.read_json(path)
        if not isinstance(table, Mapping):
            return {"": EMPTY}
        found: dict[str, Any] = {}
        for name, entry in table.items():
            problem = find_problem(entry, self.rules.known_types)
            if problem is None:
                found[name] = entry
            else:
                self.report(path, f"the marketplace {quoted(name)} is ignored: {problem}")
        return found

    def _entry(self, folder: str, plugin: str) -> Mapping[str, Any] | None:
        """Return the first valid entry of a plugin in the catalog of a marketplace."""
        key = folder, plugin
        if key not in self._entries:
            self._entries[key] = self._find_entry(folder, plugin)
        return self._entries[key]

    def _find_entry(self, folder: str, plugin: str) -> Mapping[str, Any] | None:
        if folder not in self._catalogs:
            self._catalogs[folder] = self._read_catalog(folder)
        path, entries = self._catalogs[folder]
        for entry in entries.get(plugin, ()):
            problem = find_problem(entry, self.rules.entry_types)
            if problem is None:
                return entry
            self.report(path, f"a plugin is ignored: {problem}")
        return None

    def _read_catalog(self, folder: str) -> tuple[str, Mapping[str, list[Mapping[str, Any]]]]:
        """Return the file with the catalog of a marketplace, and its entries by name; only those needed are checked."""
        rules = self.rules
        for name in rules.catalogs:
            path = os.path.join(folder, name)
            if self.filesystem.kind(path) != "f":
                continue
            table = self.read_json(path)
            problem = find_problem(table, rules.catalog_types)
            if problem is not None:
                self.report(path, f"the marketplace is ignored: {problem}")
                return path, EMPTY
            root = get_dotted(table, "metadata.pluginRoot")
            found: dict[str, list[Mapping[str, Any]]] = {}
            plugins = table.get("plugins")
            for written in plugins[:_MAX_PLUGINS] if isinstance(plugins, list) else ():
                entry = _with_plugin_root(written, root)
                if isinstance(entry, Mapping):
                    found.setdefault(str(entry.get("name")), []).append(entry)
            return path, found
        return "", EMPTY


def _with_plugin_root(entry: Any, root: object) -> Any:
    """Return an entry of a catalog whose source, if it is a bare name, is below the catalog's `pluginRoot`."""
    source = entry.get("source") if isinstance(entry, Mapping) else None
    if not isinstance(root, str) or not isinstance(source, str) or source.startswith("."):
        return entry
    return {**entry, "source": f"./{os.path.normpath(os.path.join(root, source))}"}


def _is_path(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value and os.path.isabs(value)
