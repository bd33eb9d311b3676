"""Find the plugins, extensions or packages that a client has installed, and their folders of skills.

Where they are, and which of them count, is in the host's table; what one client alone does is a class in its own module
(`clients/NAME.py`) that changes single steps. The files of plugins are untrusted: whatever they hold, the result is at
most a finding.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from prowess._internal.files import is_inside
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral, quoted
from prowess._internal.variable_paths import variable_path
from prowess.clients.settings import find_problem, get_dotted, items_of
from prowess.filesystem import read_json_or_report
from prowess.findings import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.clients.settings import Settings, SettingsReader
    from prowess.findings import Finding

MAX_PLUGINS = 1000
"""Plugins that count for one host."""
MAX_SKILL_FOLDERS = 1000
"""Folders of skills that one plugin may list."""


class CommandPlace(Frozen, kw_only=False):
    """A folder of commands, or one command."""

    path: str
    """Absolute."""
    label: str = ""
    """What a single file is called, without its plugin; empty for a folder."""
    description: str = ""
    """What is shown instead of the file's own description; empty for that."""


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
    patterns: tuple[Any, ...] = ()
    """What switches its skills off and on by their paths: `PathPatterns`, by the one client that has them."""
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


class PluginCandidate(Frozen):
    """A plugin before its manifest is read."""

    folder: str
    place: str = ""
    """The folder in which it was found, if it is linked to another one."""
    name: str = ""
    """What it is called unless its manifest says; empty for the name of its folder."""
    parts: Mapping[str, str] = EMPTY
    """What the `*` of a pattern are."""
    id: str = ""
    off: str = ""
    install: Mapping[str, Any] = EMPTY
    """What the client noted when it installed the plugin."""


def listed_texts(value: object) -> list[str]:
    """Return the paths that a manifest lists: one text, or those of a list."""
    written = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [item for item in written if isinstance(item, str) and item and "\0" not in item]


class PluginFinder:
    """Finds the plugins of one table of a host. A client changes single steps in a class of its own."""

    parts: tuple[str, ...] = ("plugin",)
    """What the `*` of `folders` are, in order, for `id`."""
    merge = "join"
    """How the values of the setting in several files are merged, as in `merge` of a setting."""
    stays_inside = True
    """Whether a listed folder of skills must be inside the plugin, links resolved."""

    def __init__(self, table: str, reader: SettingsReader, settings: Settings) -> None:
        """Read the settings about plugins.

        Args:
            table: its name, among those of the host.
            reader: returns what the settings files and arguments say.
            settings: what was read of them.
        """
        self.table, self.reader, self.settings, self.rules = table, reader, settings, reader.host.plugins[table]
        self.cwd, self.filesystem = reader.cwd, reader.files.filesystem
        self.findings: list[Finding] = []
        self.hidden: dict[str, str] = {}
        """The folders whose own SKILL.md the client does not read, each with the reason."""
        self.stops = ""
        """What keeps the client from starting; empty if it starts."""
        self.invalid: set[str] = set()
        """The folders whose manifest is invalid."""
        self.switches: dict[str, tuple[bool, str]] = {}
        """Id of a plugin to whether the settings switch it on, and their file; first those of the lowest file."""
        self.read_settings()

    def find(self) -> list[InstalledPlugin]:
        """Return the installed plugins, highest precedence first; those that are switched off come last."""
        found = []
        for candidate in self.candidates():
            plugin = self.plugin(candidate)
            if plugin is not None:
                found.append(plugin)
            if len(found) == MAX_PLUGINS:
                self.report(self.cwd, f"only {MAX_PLUGINS:,} plugins count")
                break
        return sorted(self.one_of_each_name(self.in_order(found)), key=lambda plugin: bool(plugin.off))

    def stop(self, path: str, message: str) -> None:
        """Report that the client does not start because of a file."""
        self.stops = path
        self.report(path, f"{message}, so the agent refuses to start")

    def report(self, path: str, message: str) -> None:
        """Report a problem with a file."""
        hint = "fix the file; until then it is ignored"
        self.findings.append(finding("config-invalid", message, path=path, hint=hint))

    def expand(self, path: str) -> str:
        """Return a path of the table on this machine; empty if its variable is not set."""
        path = variable_path(path, self.reader.question.variables, self.reader.home)
        return os.path.normpath(os.path.join(self.cwd, path)) if path else ""

    def json(self, path: str) -> Any:
        """Return what a JSON file holds; `None` if it is missing or invalid."""
        return read_json_or_report(self.filesystem, path, self.report, replace=self.rules.replaces_bytes)

    # ── what the settings say ────────────────────────────────────────────────────────────────────────────────────────

    def read_settings(self) -> None:
        """Read which plugins the settings switch on and off."""
        found = self.reader.values(self.rules.setting, (), self.merge) if self.rules.setting else ()
        for path, value in reversed(list(found)):
            for name, item in items_of(value):
                answer = item.get("enabled", True) if isinstance(item, Mapping) else item
                if isinstance(answer, bool | list):
                    self.switches[name] = self.is_on(answer), path

    def is_on(self, answer: bool | list[Any]) -> bool:
        """Return whether a value of the setting means that a plugin is on."""
        return answer is True

    def answer(self, identity: str, name: str, source: str) -> tuple[bool | None, str]:
        """Return whether a plugin is on, and what says so; `None` if nothing does."""
        return self.switches.get(identity, (None, ""))

    def on_by_default(self, manifest: Mapping[str, Any]) -> bool:
        """Return whether a plugin is on about which nothing is set."""
        return True

    # ── where they are ───────────────────────────────────────────────────────────────────────────────────────────────

    def candidates(self) -> Iterator[PluginCandidate]:
        """Yield the folders that may be plugins."""
        for _, candidate in self.listed() if self.rules.listed else ():
            yield candidate
        for pattern in self.rules.folders:
            yield from self.matching(pattern)

    def listed(self, folder_key: str = "installPath") -> Iterator[tuple[Mapping[str, Any], PluginCandidate]]:
        """Yield the entries of the file that lists plugins, each with its plugin.

        The entries are under `plugins`: a map of the id to one or several, or a list of entries with `id`.
        """
        entries = get_dotted(self.json(self.expand(self.rules.listed)) or {}, "plugins")
        rows: list[tuple[Any, Any]] = []
        if isinstance(entries, Mapping):
            for key, value in entries.items():
                rows += [(key, item) for item in (value if isinstance(value, list) else [value])]
        elif isinstance(entries, list):
            rows = [(item.get("id"), item) for item in entries if isinstance(item, Mapping)]
        for key, item in rows:
            folder = item.get(folder_key) if isinstance(item, Mapping) else None
            if isinstance(key, str) and isinstance(folder, str) and "\0" not in folder and os.path.isabs(folder):
                name, _, market = key.partition("@")
                yield item, PluginCandidate(folder=folder, id=key, parts={"plugin": name, "market": market})

    def matching(self, pattern: str) -> Iterator[PluginCandidate]:
        """Yield the folders that match a pattern of the table."""
        path = self.expand(pattern)
        return self._matching(path.split("*"), {}, self.parts) if path else iter(())

    def _matching(self, pieces: list[str], parts: dict[str, str], names: tuple[str, ...]) -> Iterator[PluginCandidate]:
        """Yield the folders that match a pattern, cut at each `*`."""
        before, *rest = pieces
        if not rest:
            if self.filesystem.kind(before) == "d":
                yield PluginCandidate(folder=before, parts=parts)
            return
        for name, letter in self.filesystem.listing_or_none(before) or ():
            if letter in "dl" and self.may_be_plugin(before + name, letter):
                inner = {**parts, names[0]: name} if names else parts
                if letter == "l" or rest != [""]:
                    yield from self._matching([f"{before}{name}{rest[0]}", *rest[1:]], inner, names[1:])
                elif not self._lacks_manifest(before + name):
                    yield PluginCandidate(folder=before + name, parts=inner)

    def may_be_plugin(self, path: str, letter: str) -> bool:
        """Return whether a folder (`d`) or link (`l`) in place of a `*` may be a plugin."""
        return True

    def _lacks_manifest(self, folder: str) -> bool:
        """Return whether a folder is no plugin, since it has no manifest; there may be thousands of such folders."""
        rules = self.rules
        if not rules.manifest_needed or rules.install_file or "version" in self.parts:
            return False
        return not any(self.filesystem.kind(f"{folder}/{name}") == "f" for name in rules.manifests)

    # ── what they are ────────────────────────────────────────────────────────────────────────────────────────────────

    def plugin(self, candidate: PluginCandidate) -> InstalledPlugin | None:
        """Return a plugin; `None` if the client does not know it."""
        rules = self.rules
        manifest = self.manifest(candidate.folder)
        if (manifest is None and rules.manifest_needed) or not self.has_files(candidate.folder, manifest):
            return None
        table = manifest or {}
        names = self.names(candidate, table)
        if names is None:
            return None
        identity, name = names
        source = self.source(candidate, name)
        on, file = self.answer(identity, name, source)
        if on is None and rules.setting_needed:
            return None
        off = candidate.off
        if not off and not (self.on_by_default(table) if on is None else on):
            off = f"switched off in {neutral(file)}" if file else "not switched on"
        off = off or self.fault(candidate, table)
        skill_folders = self.skill_folders(candidate, table)
        if skill_folders is None:
            return None
        return InstalledPlugin(
            id=identity,
            name=name,
            folder=candidate.folder,
            skill_folders=tuple(skill_folders),
            namespace=self.prefix(name) if rules.prefix else None,
            off=off and f"its plugin {quoted(identity)} is {off}",
            place=candidate.place or candidate.folder,
            source=source,
            **self.further(candidate, name, table),
        )

    def further(self, candidate: PluginCandidate, name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return further fields of a plugin."""
        return {}

    def manifest(self, folder: str) -> Mapping[str, Any] | None:
        """Return the manifest of a plugin; `None` if it is missing or invalid."""
        for name in self.rules.manifests:
            path = os.path.join(folder, name)
            if self.filesystem.kind(path) != "f":
                continue
            table = self.json(path)
            if isinstance(table, list) and self.rules.manifest_items:
                table = dict(zip(self.rules.manifest_items, table, strict=False))
            problem = self.problem_of_manifest(table)
            if problem is None:
                return dict(table)
            self.invalid.add(folder)
            if isinstance(table, Mapping):
                self.report(path, f"the plugin is ignored: {problem}")
            return None
        return None

    def problem_of_manifest(self, table: object) -> str | None:
        """Return what makes a manifest invalid, in words; `None` if it is valid."""
        return find_problem(table, self.rules.manifest_types)

    def has_files(self, folder: str, manifest: Mapping[str, Any] | None) -> bool:
        """Return whether a folder has the files of a plugin."""
        return True

    def names(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return what settings call a plugin, and its name; `None` if the client accepts one of them from no plugin."""
        written = manifest.get("name")
        folder = candidate.name or os.path.basename(candidate.folder)
        name = written if isinstance(written, str) and written.strip() else folder
        parts = {"plugin": folder, "market": "", **candidate.parts, "manifest": name}
        identity = candidate.id or self.rules.id.format_map(parts).removesuffix("@")
        return (identity, name) if re.fullmatch(self.rules.name_pattern or "(?s:.*)", name) else None

    def source(self, candidate: PluginCandidate, name: str) -> str:
        """Return what makes a plugin the same plugin: where it was installed from, or its name."""
        return name

    def fault(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> str:
        """Return what keeps the client from reading a plugin that is switched on; empty for nothing."""
        return ""

    def prefix(self, name: str) -> str:
        """Return the name of a plugin as its skills have it."""
        return name

    def skill_folders(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> list[str] | None:
        """Return the folders of skills of a plugin; `None` if its manifest makes it invalid."""
        listed = [path for _, path, counts in self.listed_folders(candidate.folder, manifest) if counts]
        default = [os.path.join(candidate.folder, "skills")]
        return [*(default if self.rules.skills_add or not listed else ()), *listed]

    def listed_folders(self, folder: str, manifest: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
        """Yield the folders of skills that a manifest lists: as written, their path, and whether they count."""
        listed = listed_texts(get_dotted(manifest, self.rules.skills_key) if self.rules.skills_key else None)
        if len(listed) > MAX_SKILL_FOLDERS:
            self.report(folder, f"only {MAX_SKILL_FOLDERS:,} folders of skills of a plugin count")
        for item in listed[:MAX_SKILL_FOLDERS]:
            path = os.path.normpath(os.path.join(folder, item))
            matches = re.fullmatch(self.rules.skills_pattern or "(?s:.+)", item) is not None
            yield item, path, matches and (not self.stays_inside or self.is_inside(path, folder))

    def is_inside(self, path: str, folder: str) -> bool:
        """Return whether a path is a folder or inside it, links resolved."""
        return is_inside(self.filesystem.real(path), self.filesystem.real(folder))

    # ── which of them ────────────────────────────────────────────────────────────────────────────────────────────────

    def in_order(self, found: list[InstalledPlugin]) -> list[InstalledPlugin]:
        """Return plugins with the highest precedence first."""
        return sorted(found, key=lambda plugin: plugin.id)

    def one_of_each_name(self, found: list[InstalledPlugin]) -> list[InstalledPlugin]:
        """Return the plugins that count of those with equal names."""
        if not self.rules.first_of_name:
            return found
        return list({plugin.name: plugin for plugin in reversed(found)}.values())[::-1]
