"""What Claude Code alone does (observed with 2.1.330).

A plugin counts if the settings name it and the catalog of its marketplace lists it, if an argument names its folder, or
if it is in a folder of skills. The files of plugins and marketplaces are untrusted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import chain, islice

from prowess._internal.files import SKILL_FILE, is_inside
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.globs import compile_glob
from prowess._internal.text import collapse_hidden_runs, neutral, quoted
from prowess.clients import settings as usual
from prowess.clients.plugins import CommandPlace, PluginCandidate, PluginFinder, listed_texts
from prowess.clients.reading import cut_text, javascript_literal, javascript_string, quote_values, value_kind
from prowess.clients.settings import NamedSkill, find_problem, get_dotted, items_of, main_working_tree, texts_of
from prowess.hosts import SettingsFile, collation_key, escape_entities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from prowess.clients.budget import ModelCatalog
    from prowess.clients.plugins import InstalledPlugin
    from prowess.clients.settings import Places, SettingsLayer, SettingsReader
    from prowess.filesystem import Question
    from prowess.hosts import DescriptionRules, Root
    from prowess.skill import Field, Skill

_SKILL_TOOL = "Skill"
_EFFECTS = {"on": "on", "off": "gone", "name-only": "name-only", "user-invocable-only": "user-only"}
_CLOSED = {"skills": "closed", "agents": "partly", "hooks": "partly", "mcp": "partly"}
_ALWAYS_READ = ("global-old", "global", "managed-parts", "managed", "arguments")
"""The settings files that count whatever `--setting-sources` lists."""
_MAX_PARTS, _MAX_RULES, _MAX_RULE_LENGTH, _MAX_STARS = 1000, 10_000, 100, 4
"""Parts of the managed settings, permission rules of one list, and the characters and stars of one, that count."""


def read_arguments(reader: SettingsReader) -> None:
    """Read `--settings`: JSON without comments, or a file with it. The last one counts."""
    given = reader.arguments.values("--settings")
    if given and given[-1].lstrip().startswith("{"):
        reader.files.texts[usual.ARGUMENTS] = given[-1]
        return
    path = os.path.normpath(os.path.join(reader.cwd, given[-1])) if given else ""
    reader.files.rules[path] = SettingsFile(path=path, comments=False)
    reader.files.add_table(usual.ARGUMENTS, reader.files.table(path) if given else {})


def settings_paths(name: str, rules: SettingsFile, places: Places) -> Iterator[tuple[str, str | None]]:
    """Yield the paths of a settings file; folders of `--add-dir` have some too, those of the last one first."""
    if not name.endswith("-of-folder"):
        yield from usual.settings_paths(name, rules, places)
        return
    for written in reversed(places.arguments("--add-dir")):
        folder = os.path.normpath(os.path.join(places.question.cwd, written))
        if "\0" not in folder:
            yield os.path.join(folder, rules.path), folder


def counted_layers(reader: SettingsReader, layers: Sequence[SettingsLayer]) -> Iterable[SettingsLayer]:
    """Return the settings files that `--setting-sources` leaves, with the parts of managed settings, the last first."""
    for values in reader.arguments.each("--setting-sources"):
        listed = {name.strip() for value in values for name in value.split(",")}
        layers = [item for item in layers if re.split("[-_]of[-_]", item.name)[0] in listed.union(_ALWAYS_READ)]
    for layer in layers:
        paths = _managed_parts(reader, layer.path) if layer.name == "managed-parts" else [layer.path]
        yield from (layer.with_changes(path=path) for path in paths)


def _managed_parts(reader: SettingsReader, pattern: str) -> list[str]:
    folder, name = os.path.split(pattern)
    listing = reader.files.filesystem.listing_or_none(folder) or ()
    names = [item for item, _ in listing if not item.startswith(".") and compile_glob(name)(item)]
    if len(names) > _MAX_PARTS:
        reader.files.report(folder, f"only {_MAX_PARTS:,} settings files of this folder count")
    paths = [os.path.join(folder, item) for item in sorted(names)[:_MAX_PARTS]]
    return [path for path in reversed(paths) if reader.files.filesystem.kind(path) != "d"]


def words_of_own_trust(reader: SettingsReader, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the answer of the dialog about trust, which belongs to the main working tree of a repository."""
    for path, projects in reader.trust_values("projects", ("global-old", "global")):
        top = main_working_tree(reader.cwd, reader.files.filesystem) or reader.cwd
        item = projects.get(top) if isinstance(projects, Mapping) else None
        accepted = isinstance(item, Mapping) and item.get("hasTrustDialogAccepted") is True
        yield path, "trusted" if accepted else "unknown"


def named_skills(reader: SettingsReader) -> Iterator[NamedSkill]:
    """Yield the skills in `skillOverrides`."""
    key = "skillOverrides"
    for path, value in reader.values(key):
        for name, word in items_of(value):
            if isinstance(word, str) and word in _EFFECTS:
                cure = f"set {quoted(name)} in `{key}` to `on`"
                yield NamedSkill(key=key, file=path, written=name, effect=_EFFECTS[word], cure=cure)


def read_own_settings(reader: SettingsReader) -> None:
    """Read which tools the model has, which folders only plugins may have, variables, limits and sources."""
    for path, rules in reader.values("permissions.deny"):
        reader.hide_catalog(path if _denies_skills(rules) else "")
    for argument, values in reader.arguments.given:
        rules = [rule for value in values for rule in re.findall(r"(?:[^,\s(]|\([^)]*\)?)+", value)]
        is_denied = argument.name in ("--disallowedTools", "--disallowed-tools") and _denies_skills(rules)
        if is_denied or (argument.name == "--tools" and not {_SKILL_TOOL, "default"} & set(rules)):
            reader.hide_catalog(argument.name)
    reader.found["unread"] = _closed(reader)
    for _, variables in reader.values("env"):
        texts = {name: str(text) for name, text in items_of(variables) if isinstance(text, str | int | float)}
        reader.variables = {**texts, **reader.variables}
    for _, limit in reader.values("skillListingMaxDescChars", merge="first"):
        reader.apply_number("description_limit", limit)
    limit = reader.variables.get(_BUDGET_VARIABLE, reader.env.get(_BUDGET_VARIABLE, ""))
    if re.fullmatch("[1-9][0-9]{0,9}", limit):
        reader.found["budget_limit"] = int(limit)
    if bare := reader.arguments.last("--bare", "--disable-slash-commands"):
        reader.found |= {"enabled": False, "enabled_source": bare}
    lists = [",".join(values).split(",") for values in reader.arguments.each("--setting-sources")]
    reader.found["unread_scopes"] = frozenset(
        scope for names in lists for scope in ("project", "user") if scope not in map(str.strip, names)
    )


def _closed(reader: SettingsReader) -> dict[str, str]:
    """Return which folders only plugins may have, each with the file that says so.

    Lists in `strictPluginOnlyCustomization` are joined; of other values the highest counts.
    """
    closed: dict[str, str] = {}
    for path, value in reader.values("strictPluginOnlyCustomization", ("managed-parts", "managed")):
        is_list = isinstance(value, list | tuple)
        for word in texts_of(value) if is_list or value is False else _CLOSED:
            if word in _CLOSED:
                closed.setdefault(_CLOSED[word], path)
        if not is_list:
            break
    return closed


def reason_unread(root: Root, path: str, env: Mapping[str, str], unread: Mapping[str, str]) -> str:
    """Return what keeps Claude Code from reading a root: managed settings that leave skills to plugins.

    Managed skills and plugins of arguments and marketplaces are always read.
    """
    if root.plugins:
        file = (unread.get("closed") or unread.get("partly")) if root.plugins == "skill_folders" else None
    else:
        file = unread.get("closed") if root.scope in ("user", "project") or root.files else None
    return f"managed settings keep the agent from reading it, says {neutral(file)}" if file else ""


def name_order(name: str) -> Any:
    """Return what folders and commands are sorted by, as in a dictionary: punctuation, digits, letters of any case."""
    return collation_key(name)


def hidden_skills_take_names() -> bool:
    """Return whether a hidden skill keeps others of its name from the model: it does not."""
    return False


def sorts_by_name(root: Root) -> bool:
    """Return whether skills of a root are sorted by their names: in plugins."""
    return bool(root.plugins) and not root.files


def settings_count(root: Root) -> bool:
    """Return whether `skillOverrides` counts for a root: not for plugins."""
    return not root.plugins


def shows_undescribed(root: Root) -> bool:
    """Return whether the model sees skills without a description of their own: not those of plugins."""
    return not root.plugins


def text_without_body(root: Root, rules: DescriptionRules) -> str:
    """Return the description of a skill without any text: a command has a fixed one."""
    return "Custom command" if root.files and not root.plugins else rules.fallback


def name_in_root(name: str, written: Field | None, root: Root, namespace: str | None) -> str:
    """Return what a skill of a plugin is called; if the plugin is one skill, as its own field says."""
    if not root.plugins or root.files:
        return name
    text = str(written.value).strip() if written is not None and written.kind == "text" else ""
    name = text.removeprefix(f"{namespace}:") or name
    return re.sub("[^a-zA-Z0-9_-]", "-", re.sub("[\U00010000-\U0010ffff]", "--", name))


def taken_name(root: Root, folder: str, name: str) -> tuple[str, str] | None:
    """Return what a skill below `--add-dir` is called if its name is taken, and what its description says then."""
    if not root.argument or root.files:
        return None
    scope = f'(scoped to {folder}/ — use this instead of the unscoped "{name}" skill'
    return f"{folder}:{name}", f" {scope} when the files being changed are under {folder}/)"


def folders_read(root: Root, folders: list[str], question: Question) -> list[str]:
    """Return the project folders that Claude Code reads: those below the home, where the walk upwards ends."""
    ends = root.walk != "none" and question.home in folders
    return folders[: folders.index(question.home)] if ends else folders


def _denies_skills(rules: object) -> bool:
    """Return whether a list of rules denies the tool for skills as a whole: `Skill`, `Skill(*)`, or a name with `*`."""
    return any(
        text == f"{_SKILL_TOOL}(*)" or re.fullmatch(re.escape(text).replace(r"\*", ".*"), _SKILL_TOOL) is not None
        for text in texts_of(rules)[:_MAX_RULES]
        if len(text) <= _MAX_RULE_LENGTH and text.count("*") <= _MAX_STARS
    )


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_PARTS = ("agents", "commands", "hooks", "outputStyles", "skills", "themes")
"""Keys of an entry that name parts of a plugin."""
_MAX_LISTED, _MAX_COMMANDS, _MAX_NAMED_FOLDERS, _MAX_PROJECTS = 10_000, 1000, 1000, 100
"""Plugins of one catalog, commands that one plugin lists, folders that arguments name, and projects of a repository
that plugins are installed for."""
_MANIFEST, _CATALOG = ".claude-plugin/plugin.json", ".claude-plugin/marketplace.json"
_KNOWN = "$CLAUDE_CONFIG_DIR/plugins/known_marketplaces.json|~/.claude/plugins/known_marketplaces.json"
_IN_PLACE = ("directory", "file")
"""The kinds of marketplaces whose plugins are read in their folder; those of others must be installed."""
_KNOWN_TYPES = {"source": "map!", "source.source": "text", "installLocation": "text!", "lastUpdated": "text!"}
_CATALOG_TYPES = {"name": r"re:[^ /\\]+!", "owner": "map!", "owner.name": "text!", "plugins": "list!"} | {
    "metadata": "map",
    "metadata.pluginRoot": "text",
}
_ENTRY_TYPES = {
    "name": "re:[^ \x00-\x1f\x7f-\x9f]+!",
    "source": r"re:\.|re:\./(?!\.$).*|map!",
    "version": "text",
    "strict": "bool",
    "skills": r"re:\./.*|re:\.|list",
    "skills.*": r"re:\./.*|re:\.",
    "category": "text",
    "tags": "texts",
    "description": "text",
}
"""The types in the files of marketplaces and in one plugin of a catalog, as `manifest_types`; others are ignored."""


class _Listed(Frozen):
    """A plugin as the catalog of a marketplace lists it."""

    entry: Mapping[str, Any]
    folder: str = ""
    """Where it is read; empty if it must be installed."""
    market_folder: str = ""
    """The folder of its marketplace."""

    @property
    def is_whole_market(self) -> bool:
        """Whether the plugin is the marketplace itself."""
        source = self.entry.get("source")
        return isinstance(source, str) and not source.strip("./")


_UNLISTED = _Listed(entry={})


class _Marketplaces:
    """The marketplaces that the client knows."""

    def __init__(self, finder: PluginFinder, declared: list[tuple[str, Any]]) -> None:
        """Take what reads files, and what each settings file declares, the most important first."""
        self.finder, self.filesystem, self.declared = finder, finder.filesystem, declared
        self._known: Mapping[str, Any] | None = None
        self._catalogs: dict[str, tuple[str, dict[str, list[Mapping[str, Any]]]]] = {}

    def find(self, plugin: str, market: str) -> _Listed | None:
        """Return a plugin of a marketplace; `None` if the client does not know it."""
        if (place := self._place(market)) is None or (entry := self._entry(place[0], plugin)) is None:
            return None
        top, is_in_place = place
        source = entry.get("source")
        if not isinstance(source, str) or not is_in_place:
            return _Listed(entry=entry)
        folder = os.path.normpath(os.path.join(top, source))
        if "\0" in source or not self.finder.is_inside(folder, top):
            return None
        return _Listed(entry=entry, folder=folder, market_folder=top)

    def _place(self, market: str) -> tuple[str, bool] | None:
        """Return the folder of a marketplace, and whether its plugins are read there."""
        if self._known is None:
            self._known = self._read_known()
        if (entry := self._known.get(market)) is not None:
            folder, kind = entry.get("installLocation"), get_dotted(entry, "source.source")
            return (folder, kind in _IN_PLACE) if _is_path(folder) else None
        for _, value in self.declared if "" not in self._known else ():
            entry = value.get(market) if isinstance(value, Mapping) else None
            folder, kind = get_dotted(entry, "source.path"), get_dotted(entry, "source.source")
            if kind == "file" and _is_path(folder):
                # What is named there is the catalog, not the folder.
                whole = folder.removesuffix(f"/{_CATALOG}")
                folder = os.path.dirname(folder) if whole == folder else whole
            if kind in _IN_PLACE and _is_path(folder):
                return folder, True
        return None

    def _read_known(self) -> Mapping[str, Any]:
        """Return the valid entries of the file with known marketplaces; one called "" if the file is invalid."""
        path = self.finder.expand(_KNOWN)
        if not path or not self.filesystem.kind(path):
            return EMPTY
        table = self.finder.json(path)
        if not isinstance(table, Mapping):
            return {"": EMPTY}
        problems = {name: find_problem(entry, _KNOWN_TYPES) for name, entry in table.items()}
        for name, problem in problems.items():
            if problem is not None:
                self.finder.report(path, f"the marketplace {quoted(name)} is ignored: {problem}")
        return {name: entry for name, entry in table.items() if problems[name] is None}

    def _entry(self, folder: str, plugin: str) -> Mapping[str, Any] | None:
        """Return the first valid entry of a plugin in the catalog of a marketplace; only those needed are checked."""
        if folder not in self._catalogs:
            self._catalogs[folder] = self._read_catalog(folder)
        path, entries = self._catalogs[folder]
        for entry in entries.pop(plugin, ()):  # so that each problem is reported once
            problem = find_problem(entry, _ENTRY_TYPES)
            if problem is None:
                entries[plugin] = [entry]
                return entry
            self.finder.report(path, f"a plugin is ignored: {problem}")
        return None

    def _read_catalog(self, folder: str) -> tuple[str, dict[str, list[Mapping[str, Any]]]]:
        """Return the file with the catalog of a marketplace, and its entries by name.

        A source that is a bare name is below the catalog's `pluginRoot`.
        """
        path = os.path.join(folder, _CATALOG)
        found: dict[str, list[Mapping[str, Any]]] = {}
        if self.filesystem.kind(path) != "f":
            return path, found
        table = self.finder.json(path)
        if (problem := find_problem(table, _CATALOG_TYPES)) is not None:
            self.finder.report(path, f"the marketplace is ignored: {problem}")
            return path, found
        root = get_dotted(table, "metadata.pluginRoot")
        for entry in (item for item in table["plugins"][:_MAX_LISTED] if isinstance(item, Mapping)):
            source = entry.get("source")
            if isinstance(root, str) and isinstance(source, str) and not source.startswith("."):
                entry = {**entry, "source": f"./{os.path.normpath(os.path.join(root, source))}"}
            found.setdefault(str(entry.get("name")), []).append(entry)
        return path, found


def _is_path(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value and os.path.isabs(value)


def _listed_commands(folder: str, value: object) -> Iterator[CommandPlace]:
    """Yield the commands that a manifest lists: a path, several, or names with a `source`."""
    for name, item in items_of(value):
        source, text = get_dotted(item, "source"), get_dotted(item, "description")
        if isinstance(source, str) and name and "\0" not in source:
            path = os.path.normpath(os.path.join(folder, source))
            yield CommandPlace(path, name, text if isinstance(text, str) else "")
    for path in listed_texts(value):
        yield CommandPlace(os.path.normpath(os.path.join(folder, path)))


class Plugins(PluginFinder):
    """Finds its plugins: of the argument `--plugin-dir`, of marketplaces, or in folders of skills."""

    def read_settings(self) -> None:
        """Read which plugins the settings name, and which marketplaces."""
        super().read_settings()
        self.tops: dict[str, str | None] = {}
        """The top of the repository of a project that plugins are installed for, and of the working directory."""
        self.catalog: dict[str, _Listed] = {}
        """Id of a plugin to what its marketplace says."""
        self.trusted = self.settings.trust == "trusted"
        if self.table == "marketplaces":
            trusted = ("local", "local_of_cwd", "project") if self.trusted else ()
            files = ("managed-parts", "managed", "arguments", "user", *trusted)
            self.markets = _Marketplaces(self, list(self.reader.values("extraKnownMarketplaces", files)))

    def is_on(self, answer: bool | list[Any]) -> bool:
        """Return whether a value of `enabledPlugins` means that a plugin is on; a list may do so."""
        return answer is True or (self.table != "marketplaces" and isinstance(answer, list))

    def on_by_default(self, manifest: Mapping[str, Any]) -> bool:
        """Return whether a plugin is on that `enabledPlugins` does not name."""
        return self.table != "marketplaces" and manifest.get("defaultEnabled") is not False

    def candidates(self) -> Iterator[PluginCandidate]:
        """Yield the folders that may be plugins."""
        if self.table == "marketplaces":
            yield from self._of_markets()
        elif self.table == "arguments":
            for folder in self.reader.arguments.values("--plugin-dir")[:_MAX_NAMED_FOLDERS]:
                path = os.path.normpath(os.path.join(self.cwd, folder))
                if self.filesystem.kind(path) == "d":
                    yield PluginCandidate(folder=path)
        else:
            unread = self.settings.unread_scopes
            if "user" not in unread:
                yield from super().candidates()
            off = "" if self.trusted else "in a project that is not trusted"
            for candidate in self.matching(".claude/skills/*") if "project" not in unread else ():
                yield candidate.with_changes(off=off)

    def may_be_plugin(self, path: str, letter: str) -> bool:
        """Return whether the name of a folder is not hidden, and not one that the client itself uses."""
        name = os.path.basename(path)
        return not name.startswith(".") and name != "synced"

    def _of_markets(self) -> Iterator[PluginCandidate]:
        """Yield the plugins that settings name and marketplaces list."""
        installed: dict[str, list[str]] = {}
        for entry, item in self.listed():
            if self._is_here(entry.get("projectPath")):
                installed.setdefault(item.id, []).append(item.folder)
        for identity in self.switches:
            name, _, market = identity.rpartition("@")
            listed = self.markets.find(name, market) if name else None
            folders = [listed.folder] if listed is not None and listed.folder else installed.get(identity, [])
            folder = next((item for item in folders if self.filesystem.kind(item) == "d"), None)
            if listed is not None and folder is not None:
                self.catalog[identity] = listed
                yield PluginCandidate(folder=folder, name=name, id=identity)

    def _is_here(self, project: object) -> bool:
        """Return whether a plugin counts that is installed for a project: for this folder, or its repository."""
        if project is None or project == self.cwd:
            return True
        top = self._top_of(self.cwd)
        if top is None or not _is_path(project) or not is_inside(folder := os.path.normpath(str(project)), top):
            return False
        return self._top_of(folder) == top

    def _top_of(self, folder: str) -> str | None:
        if folder not in self.tops and len(self.tops) <= _MAX_PROJECTS:
            self.tops[folder] = main_working_tree(folder, self.filesystem)
        return self.tops.get(folder)

    def plugin(self, candidate: PluginCandidate) -> InstalledPlugin | None:
        """Return a plugin; one that is switched off in a folder of skills is no ordinary skill either."""
        plugin = super().plugin(candidate)
        folder = candidate.folder
        if self.table == "skill_folders" and (plugin is not None or folder in self.invalid):
            identity = plugin.id if plugin is not None else ""
            if plugin is None:
                written = get_dotted(self.json(os.path.join(folder, _MANIFEST)), "name")
                identity = f"{written if isinstance(written, str) else os.path.basename(folder)}@skills-dir"
            on, file = self.answer(identity, "", "")
            if on is False:
                self.hidden[folder] = f"its plugin {quoted(identity)} is switched off in {neutral(file)}"
        return plugin

    def fault(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> str:
        """Return what keeps the client from reading a plugin that is switched on; empty for nothing."""
        if candidate.folder in self.invalid:
            return "ignored, since its manifest is invalid"
        entry = self.catalog.get(candidate.id, _UNLISTED).entry
        replaces = entry.get("strict") is False and any(entry.get(key) for key in _PARTS)
        if replaces and self.filesystem.kind(os.path.join(candidate.folder, _MANIFEST)) == "f":
            return "ignored, since both its manifest and its marketplace say what it has"
        return ""

    def skill_folders(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> list[str] | None:
        """Return the folders of skills of a plugin, with those that its marketplace lists; without any, it is a skill.

        The folder of a plugin that is the whole marketplace has the skills of all plugins: only what is listed counts.
        """
        folder, default = candidate.folder, os.path.join(candidate.folder, "skills")
        folders = super().skill_folders(candidate, manifest) or []
        is_own = self.table != "skill_folders" and "skills" not in manifest and not self.filesystem.kind(default)
        if is_own and self.filesystem.kind(os.path.join(folder, SKILL_FILE)) == "f":
            folders.append(folder)
        if (listed := self.catalog.get(candidate.id, _UNLISTED)) is _UNLISTED:
            return folders
        found = self.listed_folders(folder, listed.entry)
        more = [path for _, path, counts in found if counts and self.filesystem.kind(path) == "d"]
        if listed.is_whole_market and more:
            folders = [default] if {default, folder} & set(more) else []
        return list(dict.fromkeys([*folders, *(path for path in more if path != default)]))

    def further(self, candidate: PluginCandidate, name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the commands of a plugin, and the folders that links in one of a marketplace must not leave."""
        top = self.catalog.get(candidate.id, _UNLISTED).market_folder
        bounds = (candidate.folder, top) if self.table == "marketplaces" else ()
        return {"commands": self._commands(candidate, manifest), "bounds": tuple(filter(None, bounds))}

    def _commands(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> tuple[CommandPlace, ...]:
        """Return the commands of a plugin, single files first: one in a folder too is called as in the list."""
        folder, listed = candidate.folder, manifest.get("commands")
        # Those of its manifest replace the folder, those of its marketplace come in addition.
        places = [CommandPlace(os.path.join(folder, "commands"))] if listed is None else []
        more = self.catalog.get(candidate.id, _UNLISTED).entry.get("commands")
        for place in islice(chain(_listed_commands(folder, listed), _listed_commands(folder, more)), _MAX_COMMANDS):
            kind = self.filesystem.kind(place.path) if self.is_inside(place.path, folder) else ""
            if kind == "d":
                places.append(CommandPlace(place.path))
            elif kind == "f" and place.path.endswith(".md"):
                name = os.path.basename(place.path).removesuffix(".md")
                places.append(place.with_changes(label=place.label or name))
        return tuple(sorted(places, key=lambda place: not place.label))

    def in_order(self, found: list[InstalledPlugin]) -> list[InstalledPlugin]:
        """Put plugins in the order in which the settings name them."""
        place = {name: index for index, name in enumerate(self.switches)}
        return sorted(found, key=lambda plugin: place.get(plugin.id, len(place)))


# ── names and descriptions ────────────────────────────────────────────────────────────────────────────────────────────

_REFUSED = (
    r"[\x00-\x1f\x7f-\x9f<>\u2028\u2029\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f"
    r"\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\uffff\ue000-\uf8ff\ufdd0-\ufdef\U0001d173-\U0001d17a"
    r"\U000e0000-\U0010ffff\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|^ | $|  |(?:^|:) | (?::|$)|^:|:$|^.{257,}"
)
"""What no name contains."""
_REMOVED = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])(?:(?!\x1b\\)[^\x07\x9c])*"
    r"(?:\x07|\x1b\\|\x9c|\Z)|\x1b[ -/]*[0-~]"
)
"""Commands of terminals, which it removes from descriptions."""


def name_problem(name: str, namespace: str | None) -> tuple[str, str] | None:
    """Refuse names with control and hidden characters, blanks around parts, and long ones; folders have such too."""
    message = f"Claude Code does not accept the name {quoted(name)}"
    return ("name-characters", message) if re.search(_REFUSED, name) else None


def is_alias(name: str) -> bool:
    """Return whether a name in the front matter is shown beside that of the folder."""
    return re.fullmatch("(?:[\\w:.-]|[\u0300-\u036f])+", name) is not None


def when_to_use(value: Field) -> str:
    """Return what is added to a description: any value, as JavaScript writes it."""
    kind = value_kind(value)
    text = javascript_literal(str(value.value)) if kind in ("number", "bool") else javascript_string(value)
    return f" - {text}" if text and kind != "null" else ""


def clean_description(text: str) -> str:
    """Remove commands of terminals and hidden characters, and escape what could be a tag."""
    if not (text.isascii() and text.isprintable()):
        text = re.sub(_REMOVED, "", text)
    return escape_entities(collapse_hidden_runs(text), "<>")


def text_from_body(lines: Sequence[str]) -> str:
    """Return the beginning of the first line, which may be a heading."""
    return cut_text(re.sub(r"^#+\s+", "", lines[0]) if lines else "", 100, "...", "utf16")


# ── reading SKILL.md ──────────────────────────────────────────────────────────────────────────────────────────────────

_VALUE = r"(?P<key>[a-zA-Z_-]+:)\s+(?P<gap>)(?P<value>\S[^\n\u2028\u2029]*)\Z"
_BROKEN = r"[{}\[\]*&#!|>%@`]|: |^,"
_QUOTED = r"""^"(?:.*")?$|^'(?:.*')?$|^\[[^\[\]]*\]$"""


def repair_lines(lines: list[str]) -> list[str]:
    """Put values with signs of YAML in double quotes."""

    def is_broken(value: str) -> bool:
        return re.search(_BROKEN, value) is not None and re.search(_QUOTED, value) is None

    return quote_values(
        lines, _VALUE, is_broken, lambda value: '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    )


def is_repaired(skill: Skill, read_text: Callable[[], str], *, is_valid: bool) -> bool:
    """Return whether a file has no carriage return."""
    return not is_valid and "\r" not in read_text()


# ── the budget ────────────────────────────────────────────────────────────────────────────────────────────────────────

_BUDGET_VARIABLE = "SLASH_COMMAND_TOOL_CHAR_BUDGET"
_OWN_DESCRIPTION = 255
"""The part of what is reserved that is the description of a skill of its own, and is cut by the user's limit too."""


def shorten(catalog: ModelCatalog) -> list[str | None]:
    """Take the descriptions from skills that do not fit; later and shorter ones may."""
    limit = catalog.settings.description_limit
    available = catalog.available + (0 if limit is None else max(0, _OWN_DESCRIPTION - limit))
    return catalog.described_in_order(available, names_cost=True, greedy=True)
