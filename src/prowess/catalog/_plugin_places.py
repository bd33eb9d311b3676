"""Find the folders in which a client keeps plugins: by patterns, lists and marketplaces, the newest version of each."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cmp_to_key

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral
from prowess._internal.variable_paths import variable_path
from prowess.findings import finding

from ._file_trust import main_working_tree
from ._json_files import read_json_or_report
from ._marketplaces import ListedPlugin, Marketplaces
from ._plugin_enablement import FolderRules, read_folder_rules
from ._plugin_store import PluginStore, read_plugin_store
from ._plugin_versions import compare_versions
from ._settings_files import get_dotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from prowess.findings import Finding
    from prowess.hosts import MarketRules, PluginRules

    from ._allowed_sources import AllowedSources
    from ._filesystem import Filesystem
    from ._user_settings import PluginSetting

__all__ = ["PluginCandidate", "PluginPlaces"]


_MAX_PROJECTS = 100
"""Projects below the working directory's repository that plugins may be installed for."""


class PluginCandidate(Frozen):
    """A plugin before its manifest is read."""

    folder: str
    parts: Mapping[str, str] = EMPTY
    """What the `*` of a pattern are."""
    id: str = ""
    off: str = ""
    listed: ListedPlugin | None = None
    """What the catalog of its marketplace says."""


class PluginPlaces:
    """Finds the folders of the plugins of one table of a host."""

    def __init__(
        self,
        rules: PluginRules,
        *,
        cwd: str,
        home: str,
        variables: Mapping[str, str],
        setting: PluginSetting,
        chosen: Collection[str] | None = None,
        trusted: bool = True,
        unread: Collection[str] = (),
        filesystem: Filesystem,
    ) -> None:
        self.trusted, self.project_trusted, self.unread = trusted or not rules.needs_trust, trusted, unread
        self.rules, self.cwd, self.home, self.variables = rules, cwd, home, variables
        self.setting, self.chosen, self.filesystem = setting, chosen, filesystem
        self._invalid_manifests: set[str] = set()
        self.findings: list[Finding] = []
        self._top: str | None = None
        """The top of the repository of the working directory, if it was needed."""
        self.hidden: dict[str, str] = {}
        """The folders whose own SKILL.md the client does not read, each with the reason."""
        self.stops = ""
        """What keeps the client from starting; empty if it starts."""
        self._folder_rules: FolderRules | None = None
        self._store: PluginStore | None = None
        self._allowed: AllowedSources | None = None
        self._answers: dict[tuple[str, str, str], tuple[bool | None, str]] = {}
        self._projects: dict[str, str | None] = {}
        """The top of the repository of each project that plugins are installed for."""

    def _stop(self, path: str, message: str) -> None:
        self.stops = path
        self._report(path, f"{message}, so the agent refuses to start")

    def _report(self, path: str, message: str) -> None:
        hint = "fix the file; until then it is ignored"
        self.findings.append(finding("config-invalid", message, path=path, hint=hint))

    # ── where they are ───────────────────────────────────────────────────────────────────────────────────────────────

    def _candidates(self) -> Iterator[PluginCandidate]:
        if self.rules.market is not None:
            yield from self._of_markets(self.rules.market)
        elif self.rules.listed:
            yield from self._listed()
        for folder in self.setting.named:
            path = os.path.normpath(os.path.join(self.cwd, folder))
            if self.filesystem.kind(path) == "d":
                yield PluginCandidate(folder=path, parts={"plugin": os.path.basename(path)})
        for pattern in (*self.rules.folders, *self.rules.trusted_folders):
            scope = "user" if pattern.startswith(("~", "$")) else "project"
            path = self._expand(pattern) if scope not in self.unread else ""
            found = self._newest(self._matching(path.split("*"), {}, list(self.rules.parts))) if path else ()
            untrusted = pattern in self.rules.trusted_folders and not self.project_trusted
            for item in found:
                yield item.with_changes(off="in a project that is not trusted") if untrusted else item

    def _of_markets(self, rules: MarketRules) -> Iterator[PluginCandidate]:
        """Yield the plugins that settings name and marketplaces list."""
        known = self._expand(rules.known) if rules.known else ""
        markets = Marketplaces(
            rules,
            known=known,
            declared=self.setting.markets,
            filesystem=self.filesystem,
            read_json=self._json,
            report=self._report,
        )
        installed: dict[str, list[str]] = {}
        for item in self._listed() if self.rules.listed else ():
            installed.setdefault(item.id, []).append(item.folder)
        for identity in self.setting.ids:
            name, _, market = identity.rpartition("@")
            listed = markets.find(name, market) if name else None
            if listed is None:
                continue
            folders = [listed.folder] if listed.folder else installed.get(identity, [])
            folder = next((item for item in folders if self.filesystem.kind(item) == "d"), None)
            if folder is not None:
                yield PluginCandidate(
                    folder=folder, id=identity, parts={"plugin": name, "market": market}, listed=listed
                )

    def _read_folder_rules(self) -> None:
        if not self.rules.rules_file:
            return
        path = self._expand(self.rules.rules_file)
        rules = self._folder_rules = read_folder_rules(self.filesystem, path, fold=self.rules.rules_fold)
        if rules.problem and self.rules.rules_invalid == "stops":
            self._stop(path, f"the file cannot be read: {rules.problem}")
        elif rules.problem:
            self._report(path, f"the file cannot be read: {rules.problem}")
        if self.rules.store_file:
            path = self._expand(self.rules.store_file)
            self._store = read_plugin_store(self.filesystem, path, rules)
            if self._store.problem:
                self._stop(path, self._store.problem)

    def _expand(self, path: str) -> str:
        """Return a path of the table on this machine; empty if its variable is not set."""
        path = variable_path(path, self.variables, self.home)
        return os.path.normpath(os.path.join(self.cwd, path)) if path else ""

    def _matching(self, pieces: list[str], parts: dict[str, str], names: list[str]) -> Iterator[PluginCandidate]:
        """Yield the folders that match a pattern, cut at each `*`."""
        before, *rest = pieces
        if not rest:
            if self.filesystem.kind(before) == "d":
                yield PluginCandidate(folder=before, parts=parts)
            return
        try:
            listing = self.filesystem.listing(before)
        except OSError:
            return
        matches = re.compile(self.rules.folder_pattern or "(?s:.+)").fullmatch
        for name, letter in listing:
            if letter in "dl" and matches(name):
                inner = {**parts, names[0]: name} if names else parts
                if letter == "d" and rest == [""]:
                    if self._lacks_manifest(before + name):
                        continue
                    yield PluginCandidate(folder=before + name, parts=inner)
                    continue
                if letter == "l" and self.rules.broken_links == "stops" and not self.filesystem.kind(before + name):
                    self._stop(before + name, "it is a broken link")
                yield from self._matching([f"{before}{name}{rest[0]}", *rest[1:]], inner, names[1:])

    def _lacks_manifest(self, folder: str) -> bool:
        """Return whether a folder is no plugin, since it has no manifest; there may be thousands of such folders."""
        rules = self.rules
        needed = rules.manifest_needed and not rules.install_file and "version" not in rules.parts
        if not needed or self.setting.allowed is not None:
            return False
        return not any(self.filesystem.kind(f"{folder}/{name}") == "f" for name in rules.manifests)

    def _newest(self, candidates: Iterator[PluginCandidate]) -> Iterator[PluginCandidate]:
        """Yield one version of each plugin."""
        if "version" not in self.rules.parts:
            yield from candidates
            return
        versions: dict[tuple[str, ...], list[PluginCandidate]] = {}
        for item in candidates:
            key = tuple(value for name, value in item.parts.items() if name != "version")
            if self._is_version(item):
                versions.setdefault(key, []).append(item)
        for group in versions.values():
            first = [item for item in group if item.parts["version"] == self.rules.version_first]
            if first or self.rules.newest != "semver":
                yield first[0] if first else max(group, key=lambda item: item.parts["version"])
            else:
                order = cmp_to_key(compare_versions)
                yield max(group, key=lambda item: order(item.parts["version"]))

    def _is_version(self, item: PluginCandidate) -> bool:
        pattern = self.rules.version_pattern
        if not pattern:
            return True
        return bool(re.fullmatch(pattern, item.parts["version"])) and self.filesystem.link_kind(item.folder) == "d"

    def _listed(self) -> Iterator[PluginCandidate]:
        """Yield the plugins of the file that lists them."""
        rules = self.rules
        file = self._expand(rules.listed)
        entries = get_dotted(self._json(file) or {}, rules.listed_key)
        rows: list[tuple[Any, Any]] = []
        if isinstance(entries, Mapping):
            for key, value in entries.items():
                rows += [(key, item) for item in (value if isinstance(value, list) else [value])]
        elif isinstance(entries, list):
            rows = [(item.get(rules.listed_id), item) for item in entries if isinstance(item, Mapping)]
        for key, item in rows:
            folder = item.get(rules.listed_folder) if isinstance(item, Mapping) else None
            if not isinstance(key, str) or not isinstance(folder, str) or "\0" in folder or not os.path.isabs(folder):
                continue
            if rules.listed_project and not self._is_here(item.get(rules.listed_project)):
                continue
            off = ""
            if rules.listed_enabled and not item.get(rules.listed_enabled):
                off = f"switched off in {neutral(file)}"
            name, _, market = key.partition("@")
            yield PluginCandidate(folder=folder, id=key, parts={"plugin": name, "market": market}, off=off)

    def _is_here(self, project: object) -> bool:
        """Return whether a plugin counts that is installed for a project: for this folder, or its repository."""
        if project is None or project == self.cwd:
            return True
        if not isinstance(project, str) or not os.path.isabs(project) or "\0" in project:
            return False
        if self._top is None:
            self._top = main_working_tree(self.cwd, self.filesystem) or ""
        inside = os.path.normpath(project) + os.sep
        if not self._top or not inside.startswith(os.path.join(self._top, "")):
            return False
        if project not in self._projects and len(self._projects) < _MAX_PROJECTS:
            self._projects[project] = main_working_tree(os.path.normpath(project), self.filesystem)
        return self._projects.get(project) == self._top

    def _json(self, path: str, once: tuple[str, ...] = ()) -> Any:
        """Return what a JSON file holds; `None` if it is missing or invalid."""
        return read_json_or_report(self.filesystem, path, self._report, once=once, replace=self.rules.replaces_bytes)
