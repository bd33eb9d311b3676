"""Find the plugins, extensions or packages that a client has installed, and their folders of skills.

Where they are, and which of them count, is in the host's table. Their files are untrusted: whatever they hold,
the result is at most a finding.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral, quoted

from ._allowed_sources import AllowedSources
from ._plugin_commands import CommandPlace, plugin_commands
from ._plugin_files import has_plugin_files
from ._plugin_names import names_of_plugin
from ._plugin_places import PluginCandidate, PluginPlaces
from ._plugin_store import source_identity
from ._settings_files import get_dotted
from ._settings_types import find_problem
from ._settings_variables import plugin_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._path_patterns import PathPatterns

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
    commands: tuple[CommandPlace, ...] = ()
    """Files that are skills, and folders of them."""
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
    list_only: str = ""
    """Why only the client's own list has its skills, not its model; empty if both have."""
    place: str = ""
    """The folder in which it was found: another one if it is linked."""
    source: str = ""
    """Where it was installed from; its name if that is unknown."""
    variables: Mapping[str, str] = EMPTY
    """What `${NAME}` is in the texts of its skills."""
    skills_off: tuple[str, ...] = ()
    """The names of its skills that are off, in lower case."""


class PluginFinder(PluginPlaces):
    """Finds the plugins of one table of a host."""

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
        if self.rules.same_name == "first":
            found = list({plugin.name: plugin for plugin in reversed(found)}.values())[::-1]
        elif self.rules.same_name != "all":
            found = self._without_same_names(found)
        if not self.trusted:
            reason = "is in a project that is not trusted"
            found = [plugin.with_changes(off=f"its plugin {quoted(plugin.id)} {reason}") for plugin in found]
        return sorted(found, key=lambda plugin: bool(plugin.off))

    def _without_same_names(self, found: list[InstalledPlugin]) -> list[InstalledPlugin]:
        """Keep one plugin of each name, or note that the client does not start."""
        fold = str.lower if self.rules.same_source else str
        last = {fold(plugin.name): plugin for plugin in sorted(found, key=lambda plugin: os.fsencode(plugin.place))}
        if self.rules.same_name == "none":
            counts = Counter(plugin.name for plugin in found)
            return [
                plugin.with_changes(off=f"another plugin has the name of its plugin {quoted(plugin.id)} too")
                if counts[plugin.name] > 1
                else plugin
                for plugin in found
            ]
        for index, plugin in enumerate(found):
            winner = last[fold(plugin.name)]
            differ = (plugin.name, plugin.source) != (winner.name, winner.source)
            if winner is not plugin and (self.rules.same_name == "stops" or (self.rules.same_source and differ)):
                self._stop(plugin.place, f"{neutral(winner.place)} has the name {quoted(plugin.name)} too")
            elif winner is not plugin:
                off = f"{neutral(winner.place)} has the name of its plugin {quoted(plugin.name)} too, and wins"
                found[index] = plugin.with_changes(off=off)
        return found

    # ── what they are ────────────────────────────────────────────────────────────────────────────────────────────────

    def _plugin(self, candidate: PluginCandidate) -> InstalledPlugin | None:
        """Return a plugin; `None` if the client does not know it."""
        rules = self.rules
        place = candidate.folder
        install = self._json(os.path.join(place, rules.install_file)) if rules.install_file else None
        install = install if isinstance(install, Mapping) else {}
        folder = self._source_folder(place, install) if self._is_allowed(place, install) else None
        if folder is None:
            return None
        candidate = candidate if folder == place else candidate.with_changes(folder=folder)
        manifest = self._manifest(folder)
        if manifest is None and rules.manifest_needed:
            self._hide_invalid(folder)
            return None
        if not has_plugin_files(self.rules, folder, manifest, self._manifest, self.filesystem):
            return None
        table = manifest or {}
        names = names_of_plugin(rules, candidate, table)
        if names is None:
            return None
        identity, name = names
        installed_from = source_identity(install, name)
        on, source = self._answer(identity, name, installed_from)
        if on is None and rules.setting_needed:
            return None
        if self.setting.off:
            on, source = False, self.setting.off
        off = candidate.off
        default = table.get(rules.enabled_key) if rules.enabled_key else None
        default = default if isinstance(default, bool) else rules.enabled
        if on is False and rules.off_hides:
            self.hidden[candidate.folder] = f"its plugin {quoted(identity)} is switched off in {neutral(source)}"
        if not off and not (default if on is None else on):
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
            commands=plugin_commands(
                rules,
                candidate.folder,
                table,
                candidate.listed.entry if candidate.listed is not None else {},
                self.filesystem,
            ),
            bounds=self._bounds(candidate),
            own_only=own_only,
            namespace=self._prefix(name) if rules.prefix else None,
            off=off and f"its plugin {quoted(identity)} is {off}",
            place=place,
            source=installed_from,
            variables=plugin_variables(candidate.folder, self.cwd) if rules.text_variables else EMPTY,
            skills_off=self._skills_off(name, installed_from, table),
        )

    def _hide_invalid(self, folder: str) -> None:
        """Note that the client does not read the SKILL.md of a plugin that is invalid and switched off."""
        if not self.rules.off_hides or folder not in self._invalid_manifests:
            return
        table = self._json(os.path.join(folder, self.rules.manifests[0]))
        written = table.get("name") if isinstance(table, Mapping) else None
        name = written if isinstance(written, str) else os.path.basename(folder)
        identity = self.rules.id.format_map({"manifest": name})
        on, source = self.setting.answer(identity)
        if on is False:
            self.hidden[folder] = f"its plugin {quoted(identity)} is switched off in {neutral(source)}"

    def _fault(self, candidate: PluginCandidate, manifest: Mapping[str, Any] | None) -> str:
        """Return what keeps the client from reading a plugin that is switched on; empty for nothing."""
        if self.rules.manifest_valid and candidate.folder in self._invalid_manifests:
            return "ignored, since its manifest is invalid"
        if manifest is not None and candidate.listed is not None and candidate.listed.replaces_manifest():
            return "ignored, since both its manifest and its marketplace say what it has"
        return ""

    def _bounds(self, candidate: PluginCandidate) -> tuple[str, ...]:
        """Return the folders that links inside a plugin must not leave."""
        if self.rules.market is None:
            return ()
        in_place = candidate.listed if candidate.listed is not None and candidate.listed.folder else None
        return (candidate.folder,) if in_place is None else (candidate.folder, in_place.market_folder)

    def _is_allowed(self, place: str, install: Mapping[str, Any]) -> bool:
        """Return whether the settings allow a plugin by where it was installed from."""
        setting = self.setting
        if setting.allowed is None:
            return not (setting.git_blocked and install.get("type") in ("git", "github-release"))
        source = install.get("source")
        if not isinstance(source, str) or not source:
            self._stop(place, f"{neutral(setting.allowed[0])} allows some sources only, and this one is unknown")
            return False
        path = os.path.normpath(os.path.join(self.cwd, source.replace("\0", "")))
        path = self.filesystem.real(path) if self.filesystem.kind(path) else path
        self._allowed = self._allowed or AllowedSources(path=setting.allowed[0], patterns=setting.allowed[1])
        allowed = self._allowed
        try:
            return allowed.allows(path)
        except ValueError as error:
            self._stop(allowed.path, f"a regular expression is invalid: {quoted(str(error), 120)}")
        except TimeoutError as error:
            self._report(allowed.path, f"the regular expression {quoted(str(error), 120)} may take too long")
        return False

    def _source_folder(self, folder: str, install: Mapping[str, Any]) -> str | None:
        """Return the folder of a plugin: its own, or the one it is linked to; `None` if the link is invalid."""
        if install.get("type") != "link":
            return folder
        source = install.get("source")
        if not isinstance(source, str) or not source or "\0" in source:
            return None
        return os.path.normpath(os.path.join(self.cwd, source))

    def _answer(self, identity: str, name: str, source: str) -> tuple[bool | None, str]:
        """Return whether a plugin is on, and what says so: an argument, the client's record, rules, or the settings."""
        known = self._answers.get((identity, name, source))
        if known is None:
            known = self._answers[identity, name, source] = self._find_answer(identity, name, source)
        return known

    def _find_answer(self, identity: str, name: str, source: str) -> tuple[bool | None, str]:
        if self.chosen is not None:
            return name.lower() in self.chosen, "the arguments"
        rules = self._folder_rules
        if self._store is not None and rules is not None:
            return self._store.answer(source, name, self.cwd, rules)
        on = rules.answer(name, (self.cwd,)) if rules is not None else None
        return (on, rules.path) if rules is not None and on is not None else self.setting.answer(identity)

    def _skills_off(self, name: str, source: str, manifest: Mapping[str, Any]) -> tuple[str, ...]:
        """Return which skills of a plugin are off: its manifest says so, or the client's record."""
        key = self.rules.skill_states
        states = {word.strip().lower(): on for word, on in manifest.get(key, {}).items()} if key else {}
        if self._store is not None:
            states |= self._store.skills(source, name, self.cwd)
        on = self.setting.skills_on
        return tuple(skill for skill, is_on in states.items() if not is_on and f"{name}:{skill}".lower() not in on)

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

    def _skill_folders(self, candidate: PluginCandidate, manifest: Mapping[str, Any], listed: list[str]) -> list[str]:
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
