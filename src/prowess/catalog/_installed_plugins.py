"""Find the plugins, extensions or packages that a client has installed, and their folders of skills.

Where they are, and which of them count, is in the host's table. Their files are untrusted: whatever they hold,
the result is at most a finding.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cmp_to_key

from prowess._internal.files import SKILL_FILE, UnreadableError, expand_home
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral, quoted
from prowess.findings import finding

from ._marketplaces import ListedPlugin, Marketplaces
from ._plugin_enablement import FolderRules, read_folder_rules, read_json
from ._plugin_versions import compare_versions
from ._settings_files import get_dotted
from ._settings_types import find_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from prowess.findings import Finding
    from prowess.hosts import MarketRules, PluginRules

    from ._filesystem import Filesystem
    from ._path_patterns import PathPatterns
    from ._user_settings import PluginSetting

__all__ = ["InstalledPlugin", "PluginFinder"]

_MAX_PLUGINS = 1000
"""Plugins that count for one host."""
_MAX_SKILL_FOLDERS = 1000
"""Folders of skills that one plugin may list."""


class InstalledPlugin(Frozen):
    """A plugin on this machine."""

    id: str
    """As settings name it."""
    name: str
    folder: str
    """Absolute."""
    skill_folders: tuple[str, ...]
    """Absolute, in order."""
    command_folders: tuple[str, ...] = ()
    """Absolute; folders of files that are skills."""
    bounds: tuple[str, ...] = ()
    """Folders that links inside the plugin must not leave; empty for no bounds."""
    namespace: str | None
    """The prefix of the names of its skills, without the colon; `None` without a prefix."""
    own_only: bool = False
    """Whether its folder is one skill, and no other folders in it count."""
    patterns: tuple[PathPatterns, ...] = ()
    """What switches its skills off and on by their paths."""
    off: str = ""
    """Why the client does not use it; empty if it does."""
    place: str = ""
    """The folder in which it was found: another one if it is linked."""
    source: str = ""
    """Where it was installed from; its name if that is unknown."""


class _Candidate(Frozen):
    """A plugin before its manifest is read."""

    folder: str
    parts: Mapping[str, str] = EMPTY
    """What the `*` of a pattern are."""
    id: str = ""
    off: str = ""
    listed: ListedPlugin | None = None
    """What the catalog of its marketplace says."""


class PluginFinder:
    """Finds the plugins of one table of a host."""

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
        filesystem: Filesystem,
    ) -> None:
        self.trusted = trusted or not rules.needs_trust
        self.rules, self.cwd, self.home, self.variables = rules, cwd, home, variables
        self.setting, self.chosen, self.filesystem = setting, chosen, filesystem
        self._invalid_manifests: set[str] = set()
        self.findings: list[Finding] = []
        self.stops = ""
        """What keeps the client from starting; empty if it starts."""
        self._folder_rules: FolderRules | None = None

    def find(self) -> list[InstalledPlugin]:
        """Return the installed plugins, highest precedence first; those that are switched off come last."""
        found = []
        self._read_folder_rules()
        for candidate in self._candidates():
            plugin = self._plugin(candidate)
            if plugin is not None:
                found.append(plugin)
            if len(found) == _MAX_PLUGINS:
                self._report(self.cwd, f"only {_MAX_PLUGINS:,} plugins count")
                break
        if self.rules.order == "id":
            found.sort(key=lambda plugin: plugin.id)
        elif self.rules.order == "last":
            found.reverse()
        elif self.rules.order == "folder-last":
            found.sort(key=lambda plugin: os.fsencode(plugin.place), reverse=True)
        elif self.setting.ids:
            place = {name: index for index, name in enumerate(self.setting.ids)}
            found.sort(key=lambda plugin: place.get(plugin.id, len(place)))
        if self.rules.same_name != "all":
            found = self._without_same_names(found)
        if self.rules.unique:
            found = list({plugin.name: plugin for plugin in reversed(found)}.values())[::-1]
        if not self.trusted:
            reason = "is in a project that is not trusted"
            found = [plugin.with_changes(off=f"its plugin {quoted(plugin.id)} {reason}") for plugin in found]
        return sorted(found, key=lambda plugin: bool(plugin.off))

    def _without_same_names(self, found: list[InstalledPlugin]) -> list[InstalledPlugin]:
        """Keep one plugin of each name, or note that the client does not start."""
        fold = str.lower if self.rules.same_source else str
        last = {fold(plugin.name): plugin for plugin in sorted(found, key=lambda plugin: os.fsencode(plugin.place))}
        for index, plugin in enumerate(found):
            winner = last[fold(plugin.name)]
            differ = (plugin.name, plugin.source) != (winner.name, winner.source)
            if winner is not plugin and (self.rules.same_name == "stops" or (self.rules.same_source and differ)):
                self._stop(plugin.place, f"{neutral(winner.place)} has the name {quoted(plugin.name)} too")
            elif winner is not plugin:
                off = f"{neutral(winner.place)} has the name of its plugin {quoted(plugin.name)} too, and wins"
                found[index] = plugin.with_changes(off=off)
        return found

    def _stop(self, path: str, message: str) -> None:
        self.stops = path
        self._report(path, f"{message}, so the agent refuses to start")

    def _report(self, path: str, message: str) -> None:
        hint = "fix the file; until then it is ignored"
        self.findings.append(finding("config-invalid", message, path=path, hint=hint))

    # ── where they are ───────────────────────────────────────────────────────────────────────────────────────────────

    def _candidates(self) -> Iterator[_Candidate]:
        if self.rules.market is not None:
            yield from self._of_markets(self.rules.market)
        elif self.rules.listed:
            yield from self._listed()
        for folder in self.setting.named:
            path = os.path.normpath(os.path.join(self.cwd, folder))
            if self.filesystem.kind(path) == "d":
                yield _Candidate(folder=path, parts={"plugin": os.path.basename(path)})
        for pattern in self.rules.folders:
            path = self._expand(pattern)
            if path:
                yield from self._newest(self._matching(path.split("*"), {}, list(self.rules.parts)))

    def _of_markets(self, rules: MarketRules) -> Iterator[_Candidate]:
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
                yield _Candidate(folder=folder, id=identity, parts={"plugin": name, "market": market}, listed=listed)

    def _read_folder_rules(self) -> None:
        if not self.rules.rules_file:
            return
        path = self._expand(self.rules.rules_file)
        rules = self._folder_rules = read_folder_rules(self.filesystem, path, fold=self.rules.rules_fold)
        if rules.problem and self.rules.rules_invalid == "stops":
            self._stop(path, f"the file cannot be read: {rules.problem}")
        elif rules.problem:
            self._report(path, f"the file cannot be read: {rules.problem}")

    def _expand(self, path: str) -> str:
        """Return a path of the table on this machine; empty if its variable is not set."""
        if path.startswith("$"):
            variable, _, path = path[1:].partition("|")
            variable, _, rest = variable.partition("/")
            if value := self.variables.get(variable):
                path = os.path.join(value, rest)
        path = expand_home(path, self.home)
        return os.path.normpath(os.path.join(self.cwd, path)) if path else ""

    def _matching(self, pieces: list[str], parts: dict[str, str], names: list[str]) -> Iterator[_Candidate]:
        """Yield the folders that match a pattern, cut at each `*`."""
        before, *rest = pieces
        if not rest:
            if self.filesystem.kind(before) == "d":
                yield _Candidate(folder=before, parts=parts)
            return
        try:
            listing = self.filesystem.listing(before)
        except OSError:
            return
        for name, letter in listing:
            if letter in "dl":
                inner = {**parts, names[0]: name} if names else parts
                if letter == "l" and self.rules.broken_links == "stops" and not self.filesystem.kind(before + name):
                    self._stop(before + name, "it is a link to nothing")
                yield from self._matching([f"{before}{name}{rest[0]}", *rest[1:]], inner, names[1:])

    def _newest(self, candidates: Iterator[_Candidate]) -> Iterator[_Candidate]:
        """Yield one version of each plugin."""
        if "version" not in self.rules.parts:
            yield from candidates
            return
        versions: dict[tuple[str, ...], list[_Candidate]] = {}
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

    def _is_version(self, item: _Candidate) -> bool:
        pattern = self.rules.version_pattern
        if not pattern:
            return True
        return bool(re.fullmatch(pattern, item.parts["version"])) and self.filesystem.link_kind(item.folder) == "d"

    def _listed(self) -> Iterator[_Candidate]:
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
            if rules.listed_project and item.get(rules.listed_project) not in (None, self.cwd):
                continue
            off = ""
            if rules.listed_enabled and item.get(rules.listed_enabled) is not True:
                off = f"switched off in {neutral(file)}"
            name, _, market = key.partition("@")
            yield _Candidate(folder=folder, id=key, parts={"plugin": name, "market": market}, off=off)

    # ── what they are ────────────────────────────────────────────────────────────────────────────────────────────────

    def _plugin(self, candidate: _Candidate) -> InstalledPlugin | None:
        """Return a plugin; `None` if the client does not know it."""
        rules = self.rules
        place = candidate.folder
        install = self._json(os.path.join(place, rules.install_file)) if rules.install_file else None
        install = install if isinstance(install, Mapping) else {}
        folder = self._source_folder(place, install)
        if folder is None:
            return None
        candidate = candidate.with_changes(folder=folder)
        manifest = self._manifest(folder)
        if manifest is None and rules.manifest_needed:
            return None
        table = manifest or {}
        written = table.get("name")
        folder_name = os.path.basename(candidate.folder)
        if candidate.listed is not None:
            folder_name = candidate.parts["plugin"]
        manifest_name = written if isinstance(written, str) and written.strip() else folder_name
        identity = candidate.id or rules.id.format_map(
            {"plugin": folder_name, "market": "", **candidate.parts, "manifest": manifest_name}
        ).removesuffix("@")
        name = {"manifest": manifest_name, "folder": folder_name}.get(rules.name, identity.partition("@")[0])
        if any(
            pattern and not re.fullmatch(pattern, text)
            for pattern, text in ((rules.name_pattern, name), (rules.id_pattern, identity))
        ):
            return None
        on, source = self._answer(identity, name)
        if on is None and rules.setting_needed:
            return None
        if self.setting.off:
            on, source = False, self.setting.off
        off = candidate.off
        if not off and not (rules.enabled if on is None else on):
            off = f"switched off in {neutral(source)}" if source else "not switched on"
        if not off and rules.manifest_stops and (problem := find_problem(table, rules.manifest_stops)):
            self._stop(candidate.folder, problem)
        off = off or self._fault(candidate, manifest)
        listed = self._listed_folders(candidate.folder, table)
        if listed is None:
            return None
        own_only = rules.own_skill and rules.skills_key not in table
        own_only = own_only and self.filesystem.kind(os.path.join(candidate.folder, SKILL_FILE)) == "f"
        skill_folders = [candidate.folder] if own_only else self._skill_folders(candidate, table, listed)
        return InstalledPlugin(
            id=identity,
            name=name,
            folder=candidate.folder,
            skill_folders=tuple(skill_folders),
            command_folders=tuple(
                os.path.join(candidate.folder, item) for item in rules.commands if not table.get("commands")
            ),
            bounds=self._bounds(candidate),
            own_only=own_only,
            namespace=self._prefix(name) if rules.prefix else None,
            off=off and f"its plugin {quoted(identity)} is {off}",
            place=place,
            source=f"{install.get('source') or name}:{install.get('pluginName')}",
        )

    def _fault(self, candidate: _Candidate, manifest: Mapping[str, Any] | None) -> str:
        """Return what keeps the client from reading a plugin that is switched on; empty for nothing."""
        if self.rules.manifest_valid and candidate.folder in self._invalid_manifests:
            return "ignored, since its manifest is invalid"
        if manifest is not None and candidate.listed is not None and candidate.listed.replaces_manifest():
            return "ignored, since both its manifest and its marketplace say what it has"
        return ""

    def _bounds(self, candidate: _Candidate) -> tuple[str, ...]:
        """Return the folders that links inside a plugin must not leave."""
        if self.rules.market is None:
            return ()
        in_place = candidate.listed if candidate.listed is not None and candidate.listed.folder else None
        return (candidate.folder,) if in_place is None else (candidate.folder, in_place.market_folder)

    def _source_folder(self, folder: str, install: Mapping[str, Any]) -> str | None:
        """Return the folder of a plugin: its own, or the one it is linked to; `None` if the link is invalid."""
        if install.get("type") != "link":
            return folder
        source = install.get("source")
        if not isinstance(source, str) or not source or "\0" in source:
            return None
        return os.path.normpath(os.path.join(self.cwd, source))

    def _answer(self, identity: str, name: str) -> tuple[bool | None, str]:
        """Return whether a plugin is on, and what says so: an argument, rules for folders, or the settings."""
        if self.chosen is not None:
            return name.lower() in self.chosen, "the arguments"
        rules = self._folder_rules
        on = rules.answer(name, (self.cwd,)) if rules is not None else None
        return (on, rules.path) if rules is not None and on is not None else self.setting.answer(identity)

    def _prefix(self, name: str) -> str:
        """Return the name of a plugin as its skills have it."""
        for old, new in self.rules.replace.items():
            name = re.sub(old, new, name)
        return name

    def _manifest(self, folder: str) -> Mapping[str, Any] | None:
        """Return the manifest of a plugin; `None` if it is missing or invalid."""
        rules = self.rules
        for name in rules.manifests:
            path = os.path.join(folder, name)
            if self.filesystem.kind(path) != "f":
                continue
            table = self._json(path, rules.manifest_once)
            if isinstance(table, list) and rules.manifest_items:
                table = dict(zip(rules.manifest_items, table, strict=False))
            problem = find_problem(table, rules.manifest_types, rules.manifest_keys)
            if problem is None:
                return dict(table)
            self._invalid_manifests.add(folder)
            if isinstance(table, Mapping):
                self._report(path, f"the plugin is ignored: {problem}")
            return None
        return None

    def _skill_folders(self, candidate: _Candidate, manifest: Mapping[str, Any], listed: list[str]) -> list[str]:
        """Return all folders of skills of a plugin; `listed` are those that its manifest lists."""
        rules = self.rules
        defaults = [os.path.join(candidate.folder, item) for item in rules.skills]
        folders = [*(defaults if rules.skills_add or not listed else ()), *listed]
        has_own = self.filesystem.kind(os.path.join(candidate.folder, SKILL_FILE)) == "f"
        if rules.own_instead and has_own and rules.skills_key not in manifest:
            folders += [] if any(map(self.filesystem.kind, defaults)) else [candidate.folder]
        if candidate.listed is not None:
            folders = candidate.listed.skill_folders(candidate.folder, folders, defaults, self.filesystem)
        return folders

    def _listed_folders(self, folder: str, manifest: Mapping[str, Any]) -> list[str] | None:
        """Return the folders of skills that a manifest lists; `None` if they make the plugin invalid."""
        rules = self.rules
        value = get_dotted(manifest, rules.skills_key) if rules.skills_key else None
        written = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        listed = [item for item in written if isinstance(item, str) and item and "\0" not in item]
        if rules.skills_texts and not all(isinstance(item, str) for item in written):
            listed = []
        if len(listed) > _MAX_SKILL_FOLDERS:
            self._report(folder, f"only {_MAX_SKILL_FOLDERS:,} folders of skills of a plugin count")
        inside = os.path.join(self.filesystem.real(folder), "")
        found = []
        for item in listed[:_MAX_SKILL_FOLDERS]:
            path = os.path.normpath(os.path.join(folder, item))
            is_allowed = re.fullmatch(rules.skills_pattern or "(?s:.+)", item) is not None and (
                not rules.skills_inside or (self.filesystem.real(path) + os.sep).startswith(inside)
            )
            if is_allowed:
                found.append(path)
            elif rules.skills_strict:
                self._report(folder, f"the plugin is ignored: it lists {quoted(item)} as a folder of skills")
                return None
        return found

    def _json(self, path: str, once: tuple[str, ...] = ()) -> Any:
        """Return what a JSON file holds; `None` if it is missing or invalid."""
        try:
            return read_json(self.filesystem, path, once, replace=self.rules.replaces_bytes)
        except UnreadableError as error:
            if error.code != "file-missing":
                self._report(path, f"the file cannot be read: {error.message}")
        except (ValueError, RecursionError) as error:
            self._report(path, f"the file cannot be read: {quoted(str(error), 120)}")
        return None
