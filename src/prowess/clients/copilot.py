"""What Copilot alone does (observed with 1.0.102).

It has plugins of marketplaces that are folders, and copies that it installed.

The plugin `PLUGIN` of the marketplace `MARKET` is `PLUGIN@MARKET` for the settings. The files of plugins are untrusted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from prowess._internal.files import SKILL_FILE, expand_home
from prowess._internal.text import neutral, quoted
from prowess.clients import settings as usual
from prowess.clients.plugins import MAX_PLUGINS, MAX_SKILL_FOLDERS, CommandPlace, InstalledPlugin, PluginFinder
from prowess.clients.reading import JAVASCRIPT_SPACE, cut_text
from prowess.clients.settings import find_wrong_type, get_dotted, items_of, texts_of
from prowess.filesystem import ancestors, git_root, read_json_or_report
from prowess.hosts import measure_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from prowess.clients.budget import ModelCatalog
    from prowess.clients.settings import ClientArguments, NamedFolder, SettingsFiles, SettingsLayer, SettingsReader
    from prowess.filesystem import Filesystem, Question
    from prowess.hosts import NameRules, Root, SettingsFile
    from prowess.skill import Field, Skill

_ALIASES = {
    "disabled_skills": "disabledSkills",
    "ignored_skills_locations": "ignoredSkillsLocations",
    "skill_directories": "skillDirectories",
}
"""Other names of keys at the top of a file."""
_PLUGIN_FILES = ("local-plugins", "shared-plugins", "claude-local", "claude")
"""Settings files that need trust of the working directory, which may be below the git root."""
_MAX_TRUSTED_FOLDERS = 1000
"""Folders of a list that are compared with the project."""
_MAX_UNREAD_FOLDERS = 1000


def parse_settings(files: SettingsFiles, path: str, data: bytes, rules: SettingsFile) -> Any:
    """Return what a settings file contains; of a key and its alias the last one counts, as of two equal keys."""
    table = usual.parse_settings(files, path, data, rules)
    return {_ALIASES.get(key, key): value for key, value in table.items()} if isinstance(table, Mapping) else table


def moved_folders(arguments: ClientArguments, question: Question) -> Mapping[str, str]:
    """Return the variable that `--config-dir` sets: its last value is the client's folder."""
    folders = [value for value in arguments.values("--config-dir") if value and "\0" not in value]
    if not folders:
        return {}
    return {"COPILOT_HOME": os.path.normpath(os.path.join(question.cwd, expand_home(folders[-1], question.home)))}


def is_trusted_file(reader: SettingsReader, layer: SettingsLayer) -> bool:
    """Return whether a settings file has the trust that it needs."""
    if layer.name not in _PLUGIN_FILES or reader.cwd == reader.project:
        return not layer.rules.needs_trust or reader.trust == "trusted"
    if reader.cwd not in reader.trusted:
        reader.trusted[reader.cwd] = reader.trust_of(reader.cwd)[0] == "trusted"
    return reader.trusted[reader.cwd]


def words_of_own_trust(reader: SettingsReader, folder: str) -> Iterator[tuple[str, str]]:
    """Yield what a variable and the client's own list say; a project is trusted if a folder above it is in the list."""
    if reader.env.get("COPILOT_ALLOW_ALL") == "true":
        yield "COPILOT_ALLOW_ALL", "trusted"
    whole = os.path.join(folder, "")
    for key in ("trustedFolders", "trusted_folders"):
        for path, value in reader.trust_values(key, ("state",)):
            trusted = any(
                whole.startswith(os.path.join(reader.files.filesystem.real(item), ""))
                for item in texts_of(value)[:_MAX_TRUSTED_FOLDERS]
                if os.path.isabs(item) and "\0" not in item
            )
            yield path, "trusted" if trusted else "unknown"


def read_own_settings(reader: SettingsReader) -> None:
    """Read in which folders no skill is read, and whether the model has the tool that loads skills."""
    reader.hide_without_tool("skill")
    unread: dict[str, str] = {}
    for path, value in reader.values("ignoredSkillsLocations", ("user",)):
        written = [expand_home(item.strip(), reader.home) for item in texts_of(value)]
        folders = [os.path.normpath(item) for item in written if os.path.isabs(item) and "\0" not in item]
        if len(folders) > _MAX_UNREAD_FOLDERS:
            reader.files.report(path, f"only {_MAX_UNREAD_FOLDERS:,} folders of this list count")
        unread |= dict.fromkeys(folders[:_MAX_UNREAD_FOLDERS], path)
    reader.found["unread"] = unread


# ── folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def named_directory(
    root: Root, named: NamedFolder, question: Question, project: str, filesystem: Filesystem
) -> str | None:
    """Return the directory that `skillDirectories` or `--add-dir` names; `~` is the home only after `--add-dir`.

    A repository's settings name only relative directories inside the project, links resolved.
    """
    if root.argument:
        return usual.named_directory(root, named, question, project, filesystem)
    written = named.folder.strip() if root.strips else named.folder
    directory = usual.join_named(root, written, question, project)
    if not written or (root.scope == "project" and not _is_in_project(named.folder, directory, project, filesystem)):
        return None
    return directory


def _is_in_project(written: str, directory: str, project: str, filesystem: Filesystem) -> bool:
    inside = os.path.join(project, "")
    whole = os.path.normpath(directory) + os.sep
    plain = not written.startswith(("/", "~"))
    return plain and whole.startswith(inside) and f"{filesystem.real(whole)}/".startswith(inside)


def shares_names_of_plugins() -> bool:
    """Return whether skills of several plugins with one name all stay, as `PLUGIN:SKILL`."""
    return True


def lists_hidden(root: Root) -> bool:
    """Return whether the list has skills that the model does not see: not those below `--add-dir`."""
    return not root.argument


def split_paths(text: str) -> list[str]:
    """Return the directories in `COPILOT_SKILLS_DIRS`, which has commas between them."""
    return text.split(",")


def is_read(root: Root, question: Question) -> bool:
    """Return whether Copilot reads a root: `~/.agents/skills` only if its own folder is not elsewhere."""
    moved = question.variables.get("COPILOT_HOME") if root.path == "~/.agents/skills" else None
    return not moved or os.path.normpath(moved) == expand_home("~/.copilot", question.home)


def folders_listed(root: Root, folders: list[str], question: Question, filesystem: Filesystem) -> list[str]:
    """Return the folders in which only its own list looks: that stops at a valid repository, or not at all."""
    if root.walk != "git-root":
        return []
    found = ancestors(question.cwd, git_root(question.cwd, "valid", filesystem))
    return found[len(folders) :] if found[: len(folders)] == folders else []


def places_of(levels: list[tuple[int, str]], roots: list[Root]) -> list[tuple[int, str, Root]]:
    """Return where roots that walk upwards may be: all levels of a root come before the next root."""
    return [(up, level, root) for root in roots for up, level in levels]


def reason_unread(root: Root, path: str, env: Mapping[str, str], unread: Mapping[str, str]) -> str:
    """Return which of `ignoredSkillsLocations` contains a folder of skills. Paths are compared as written."""
    for folder, file in unread.items():
        if (path + os.sep).startswith(os.path.join(folder, "")) and not root.files:
            return f"the agent reads no skills in {neutral(folder)}, says {neutral(file)}"
    return ""


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_MAX_ROWS = 20_000
"""Plugins that all marketplaces may list."""
_MAX_MARKETS = 1000
"""Marketplaces, and folders of plugins, that count."""
_CATALOGS = (
    *("marketplace.json", ".plugin/marketplace.json", ".github/plugin/marketplace.json"),
    ".claude-plugin/marketplace.json",
)
_CATALOG_TYPES = {
    "name": "label!",
    "owner": "map!",
    "owner.name": "text!",
    "owner.email": "email",
    "metadata": "map",
    "metadata.description": "text",
    "metadata.version": "text",
    "metadata.pluginRoot": "text",
    "plugins": "list!",
    "plugins.*": "map",
    "plugins.*.name": "label!",
    "plugins.*.source": "text|map!",
    "plugins.*.source.source": "=github|=url|=git-subdir!",
    "plugins.*.source.url": "url",
    "plugins.*.source.repo": "text",
    "plugins.*.description": "text",
    "plugins.*.version": "text",
    "plugins.*.author": "map",
    "plugins.*.homepage": "url",
    "plugins.*.repository": "url",
    "plugins.*.license": "text",
    "plugins.*.keywords": "texts",
    "plugins.*.category": "text",
    "plugins.*.tags": "texts",
    "plugins.*.strict": "bool",
    "plugins.*.commands": "text|texts",
    "plugins.*.agents": "text|texts",
    "plugins.*.skills": "text|texts",
    "plugins.*.extensions": "text|texts",
    "plugins.*.outputStyles": "text|texts",
    "plugins.*.rules": "text|texts",
    "plugins.*.hooks": "text|map",
    "plugins.*.mcpServers": "text|map",
    "plugins.*.lspServers": "text|map",
}
"""The types in a catalog; one wrong type, and none of its plugins counts."""
_MANIFESTS = (".plugin/plugin.json", "plugin.json", ".github/plugin/plugin.json", ".claude-plugin/plugin.json")
_COPIES = "$COPILOT_HOME/config.json|~/.copilot/config.json"
_COPY_TYPES = {
    "*.name": "text!",
    "*.marketplace": "text!",
    "*.installed_at": "text!",
    "*.enabled": "bool!",
    "*.cache_path": "text",
    "*.version": "text",
}
"""The types in the list of copies; one wrong type, and none counts."""
_COPIES_FOLDER = "$COPILOT_HOME/installed-plugins|~/.copilot/installed-plugins"


class Plugins(PluginFinder):
    """Finds its plugins: of the argument `--plugin-dir`, or of marketplaces."""

    def read_settings(self) -> None:
        """Read where marketplaces are, and which of their plugins are on."""
        self.catalogs: dict[str, tuple[object, list[Mapping[str, Any]]]] = {}
        self.rows_left = _MAX_ROWS
        self.markets: dict[str, str] = {}
        """Name of a marketplace to its folder."""
        self.by_user = False
        """Whether a file of the user has the key, so that no list of copies says which are on."""
        if self.table == "arguments":
            return
        in_project = {layer.path for layer in self.reader.layers if layer.rules.needs_trust}
        for file, value in self.reader.values("extraKnownMarketplaces"):
            for name, item in items_of(value):
                self._add_market(name, item, in_project=file in in_project)
        for file, value in self.reader.values("enabledPlugins"):
            self.by_user = self.by_user or file not in in_project
            for name, item in items_of(value):
                if isinstance(item, bool):
                    self.switches.setdefault(name, (item, file))

    def _add_market(self, name: str, item: object, *, in_project: bool) -> None:
        source = item.get("source") if isinstance(item, Mapping) else None
        path = source.get("path") if isinstance(source, Mapping) and source.get("source") == "directory" else None
        folder = expand_home(path, self.reader.home) if isinstance(path, str) and path and "\0" not in path else ""
        if folder and in_project:
            folder = os.path.join(self.reader.project, folder)
        # What the user says of a marketplace counts, whatever a repository says.
        if os.path.isabs(folder) and (len(self.markets) < _MAX_MARKETS or name in self.markets):
            self.markets[name] = os.path.normpath(folder)

    def find(self) -> list[InstalledPlugin]:
        """Return the plugins, highest precedence first; those that are switched off come last."""
        found: list[InstalledPlugin] = []
        for plugin in self._plugins():
            if len(found) == MAX_PLUGINS:
                self.report(self.cwd, f"only {MAX_PLUGINS:,} plugins count")
                break
            found.append(plugin)
        return sorted(found, key=lambda plugin: bool(plugin.off))

    def _plugins(self) -> Iterator[InstalledPlugin]:
        if self.table != "arguments":
            for market, folder in self.markets.items():
                yield from self._in_folder(market, folder)
            yield from self._copies()
            return
        yield from self._copies()
        home = self.reader.home
        named = [item for item in self.reader.arguments.values("--plugin-dir") if "\0" not in item]
        for item in named[:_MAX_MARKETS]:
            folder = os.path.normpath(os.path.join(self.cwd, expand_home(item, home)))
            if any(self.filesystem.kind(os.path.join(folder, name)) == "f" for name in _MANIFESTS):
                name = (self._manifest(folder) or {}).get("name")
                yield self._plugin(name if isinstance(name, str) and name else os.path.basename(folder), folder)
            elif self.filesystem.kind(os.path.join(folder, SKILL_FILE)) == "f":
                name = os.path.basename(folder)
                yield InstalledPlugin(id=name, name=name, folder=folder, skill_folders=(folder,), namespace=None)

    def _in_folder(self, market: str, folder: str) -> Iterator[InstalledPlugin]:
        """Yield the plugins of a marketplace in a folder."""
        paths = (os.path.join(folder, name) for name in _CATALOGS)
        file = next((path for path in paths if self.filesystem.kind(path) == "f"), "")
        base, rows = self._catalog(file) if file else (None, [])
        for item in rows[: self.rows_left]:
            self.rows_left -= 1
            name, source = item.get("name"), item.get("source")
            if not isinstance(name, str) or not isinstance(source, str) or "\0" in f"{source}{base}":
                continue
            path = os.path.normpath(os.path.join(folder, base if isinstance(base, str) else "", source))
            if _is_inside(path, folder) and self.filesystem.kind(path) == "d":
                yield self._plugin(name, path, f"{name}@{market}")

    def _copies(self) -> Iterator[InstalledPlugin]:
        """Yield the copies that the client has installed; those without a marketplace or another source come first."""
        file = self.expand(_COPIES)
        table = read_json_or_report(self.filesystem, file, self.report, mark=True, comments=True) if file else None
        entries = get_dotted(table, "installedPlugins")
        if not isinstance(entries, list):
            return
        wrong = find_wrong_type(entries, {"*": "map", **_COPY_TYPES})
        if wrong is not None:
            self.report(file, f"the list of plugins is ignored: {quoted(wrong)} is missing or has the wrong type")
            return
        for item in entries:
            name, market = item["name"], item["marketplace"]
            is_bare = not market and "source" not in item
            if market in self.markets or is_bare is not (self.table == "arguments"):
                continue
            identity = f"{name}@{market}"
            is_decided = bool(market) and (self.by_user or identity in self.switches)
            own = (True, "") if is_bare else None if is_decided else (item["enabled"] is True, file)
            folder, unused = self._folder_of_copy(item)
            if folder:
                yield self._plugin(name, folder, identity, own).with_changes(list_only=unused)

    def _folder_of_copy(self, item: Mapping[str, Any]) -> tuple[str, str]:
        """Return the folder of an installed copy, and why only the client's own list looks there; both may be empty."""
        folder = item.get("cache_path")
        unused = ""
        if folder is None and self.table != "arguments":
            usual = self.expand(_COPIES_FOLDER)
            folder = os.path.normpath(os.path.join(usual, item["marketplace"], item["name"]))
            if not _is_inside(folder, usual):
                return "", ""
            unused = "the list of plugins does not say `cache_path`, so only the agent's own list has it"
        if not isinstance(folder, str) or "\0" in folder:
            return "", ""
        return os.path.normpath(os.path.join(self.cwd, folder)), unused

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
        on, file = own or (self.switches.get(identity, (False, "")) if identity else (True, ""))
        off = f"switched off in {neutral(file)}" if file else "not switched on"
        return InstalledPlugin(
            id=identity or name,
            name=name,
            folder=folder,
            skill_folders=tuple(self._skill_folders(folder, manifest.get("skills"))),
            commands=tuple(map(CommandPlace, self._folders(folder, "commands", manifest.get("commands")))),
            namespace=None,
            off="" if on else f"its plugin {quoted(identity)} is {off}",
        )

    def _manifest(self, folder: str) -> Mapping[str, Any] | None:
        """Return the manifest of a plugin; `None` if it is missing."""
        for name in _MANIFESTS:
            path = os.path.join(folder, name)
            table = self.json(path) if self.filesystem.kind(path) == "f" else None
            if table is not None:
                return table if isinstance(table, Mapping) else {}
        return None

    def _skill_folders(self, plugin: str, value: object) -> Iterator[str]:
        """Yield its folders of skills; without them it may be one skill itself."""
        usual = os.path.join(plugin, "skills")
        is_own = value is None or value == ""
        if is_own and self.filesystem.kind(usual) != "d" and self.filesystem.kind(f"{plugin}/{SKILL_FILE}") == "f":
            yield plugin
        else:
            yield from self._folders(plugin, "skills", value)

    def _folders(self, plugin: str, default: str, value: object) -> Iterator[str]:
        """Yield the folders that a manifest names, or the default."""
        listed = [value] if isinstance(value, str) else value
        adds = value is None or value == ""
        if isinstance(value, Mapping):
            listed, adds = value.get("paths"), value.get("exclusive") in (None, False, "")
        is_valid = isinstance(listed, list) and all(isinstance(item, str) for item in listed)
        if adds if not isinstance(value, Mapping) else adds and is_valid:
            yield os.path.join(plugin, default)
        for item in listed[:MAX_SKILL_FOLDERS] if isinstance(listed, list) and is_valid else ():
            path = os.path.normpath(os.path.join(plugin, item))
            if "\0" not in item and (item or not isinstance(value, str)) and _is_inside(path, plugin):
                yield path

    def _catalog(self, file: str) -> tuple[object, list[Mapping[str, Any]]]:
        """Return where the plugins of a marketplace are, and what it lists; several marketplaces may have one file."""
        real = self.filesystem.real(file)
        if real not in self.catalogs:
            self.catalogs[real] = self._read_catalog(file)
        return self.catalogs[real]

    def _read_catalog(self, file: str) -> tuple[object, list[Mapping[str, Any]]]:
        table = self.json(file)
        if not isinstance(table, Mapping):
            return None, []
        wrong = find_wrong_type(table, _CATALOG_TYPES)
        entries = table.get("plugins") if wrong is None else ()
        rows = [item for item in entries if isinstance(item, Mapping)] if isinstance(entries, list) else []
        names = [item.get("name") for item in rows]
        if wrong is not None or len({str(name) for name in names}) != len(names):
            problem = f"{quoted(wrong)} is missing or has the wrong type" if wrong else "two plugins have one name"
            self.report(file, f"the marketplace is ignored: {problem}")
            return None, []
        return get_dotted(table, "metadata.pluginRoot"), rows


def _is_inside(path: str, folder: str) -> bool:
    """Return whether a path is a folder or inside it, as they are written."""
    return (path + os.sep).startswith(os.path.join(folder, ""))


# ── names and descriptions ────────────────────────────────────────────────────────────────────────────────────────────


def trim_name(name: str, rules: NameRules, *, is_folder: bool) -> str:
    """Return a name without white space around it; the name of a folder keeps it."""
    return name if is_folder else name.strip(JAVASCRIPT_SPACE)


def text_from_body(lines: Sequence[str]) -> str:
    """Return the first three lines that are no headings."""
    text = " ".join([line for line in lines if not line.startswith("#")][:3])
    return cut_text(text, 1024, "", "utf16")


def counted_length(text: str, value: Field | None, skill: Skill, unit: str) -> int:
    """Return the length without a line end before the closing fence, which is the end of the front matter."""
    length = measure_text(text, unit)
    front = skill.document.frontmatter if skill.document is not None else None
    if not front or value is None or not str(value.value).endswith("\n"):
        return length
    last = front.removesuffix("\n").rpartition("\n")[2]
    keeps = re.search(r":[ \t]+[|>][0-9]?\+[0-9]?[ \t]*(?:#.*)?\Z", value.source) is not None
    is_at_end = value.line == max(field.line for field in skill.fields.values())
    return length - 1 if is_at_end and ((last.startswith(" ") and last.strip()) or keeps) else length


# ── reading SKILL.md ──────────────────────────────────────────────────────────────────────────────────────────────────


def refuses_file(text: str) -> bool:
    """Return whether a loose file begins like front matter, so that it is no body."""
    return re.match(r"\s*---", text) is not None


# ── the budget ────────────────────────────────────────────────────────────────────────────────────────────────────────


_REST = "Additional skills available (invoke by name): "
_REST_LIMIT = 5000
"""Characters of the last line."""


def shorten(catalog: ModelCatalog) -> list[str | None]:
    """List the first skill that does not fit, and all after it, by name in the last line, as far as that has room."""
    left = _REST_LIMIT - len(_REST)
    result: list[str | None] = []
    fitted = catalog.described_in_order(catalog.available, names_cost=False)
    for skill, text in zip(catalog.skills, fitted, strict=True):
        if not text and skill.description:
            left -= len(skill.name)
            if left < 0:
                result.append(None)
                continue
            left -= len(", ")
        result.append(text)
    return result


def last_line(names: Sequence[str]) -> str:
    """Return the line with the names of skills without description."""
    return f"{_REST}{', '.join(names)}\n"
