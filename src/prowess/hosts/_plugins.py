"""Define what a host file can say about plugins, extensions and packages of the client.

Each class is a table of the file, as in `_host`.
"""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MarketRules", "PluginRules"]


class MarketRules(Frozen):
    """Where the client keeps marketplaces, whose catalogs list plugins."""

    known: str = ""
    """A JSON file of the marketplaces that the client knows, as `path` of a root: name to `source` and
    `installLocation`, the folder."""
    known_types: tuple[str, ...] = ()
    """What makes a marketplace there invalid, as `manifest_types`."""
    setting: str = ""
    """A dotted key of the settings files with further marketplaces: name to `source`, with its kind in `source` and
    the folder in `path`."""
    setting_files: tuple[str, ...] = ()
    """The names of the settings files that may have it; empty for all that are not `apart`."""
    trusted_files: tuple[str, ...] = ()
    """The names of further settings files that may have it, but count only if the project is trusted."""
    in_place: tuple[str, ...] = ("directory",)
    """Kinds of sources whose plugins are read in the folder of the marketplace; all others must be installed."""
    catalogs: tuple[str, ...] = (".claude-plugin/marketplace.json",)
    """The catalog of a marketplace in its folder; the first that exists counts."""
    catalog_types: tuple[str, ...] = ()
    """What makes a catalog invalid, as `manifest_types`."""
    entry_types: tuple[str, ...] = ()
    """What makes one plugin of it invalid, as `manifest_types`."""


class PluginRules(Frozen):
    """Where the client keeps plugins, which of them count, and which folders of skills they have."""

    sources: str = ""
    """A dotted key of `setting_files` that lists packages, by folder, `npm:NAME` or git repository; most other keys
    do not apply then, and a manifest with the table of `skills_key` has no other skills than it lists."""
    npm_folder: str = "npm/node_modules"
    """For `sources`: where packages of npm are, relative to the folder of the settings file."""
    git_folder: str = "git"
    """For `sources`: the same for repositories, in `HOST/PATH`."""
    folders: tuple[str, ...] = ()
    """The folders of installed plugins: paths as in `path` of a root, where `*` is any name of a folder."""
    folder_pattern: str = ""
    """A regular expression for the whole name of each folder in place of a `*`; others are no plugins."""
    trusted_folders: tuple[str, ...] = ()
    """Further ones, which count only if the project is trusted."""
    off_hides: bool = False
    """Whether a plugin that the settings switch off is not read as an ordinary skill either, by its SKILL.md."""
    yields_to: tuple[str, ...] = ()
    """The tables of plugins whose names keep plugins of this one from being read."""
    where: str = "cwd"
    """What a relative path belongs to: `cwd` (the working directory), or `project` (the git root)."""
    needs_trust: bool = False
    """Whether the plugins count only if the project is trusted."""
    parts: tuple[str, ...] = ("plugin",)
    """What the `*` of `folders` are, in order, for `id`: `plugin`, `market`, `version`. Of several versions only one
    counts."""
    market: MarketRules | None = None
    """Marketplaces; then a plugin counts only if the settings name it and the catalog of its marketplace lists it."""
    argument: str = ""
    """The argument of the client whose values are folders of further plugins."""
    newest: str = "semver"
    """Which of several versions counts: `semver` (the greatest; others are compared as text) or `last`
    (the last in byte order)."""
    version_first: str = ""
    """The name of a version that counts before all others."""
    version_pattern: str = ""
    """A regular expression for the whole name of a version's folder; other folders, and links, are no versions."""
    listed: str = ""
    """A JSON file that lists the installed plugins, as `path` of a root; those that it does not list do not count."""
    listed_key: str = "plugins"
    """The dotted key of that list: a map of `id` to one or several entries, or a list of entries."""
    listed_id: str = "id"
    """The key of an entry with its `id`, if they are a list."""
    listed_folder: str = "installPath"
    """The key of an entry with the plugin's folder."""
    listed_enabled: str = ""
    """The key of an entry that must be true, a number but 0, or a text that is not empty."""
    listed_project: str = ""
    """The key of an entry with the only project in which it counts: the working directory, or a folder of its
    repository."""
    id: str = "{plugin}@{market}"
    """How settings name a plugin of `folders`: `{plugin}`, `{market}`, and `{manifest}`, the name in its manifest."""
    setting: str = ""
    """A dotted key of the settings files: a map of `id` to true or false, or to a table with `enabled`."""
    lists_are_on: bool = False
    """Whether a list in place of true or false in the setting means true; otherwise false."""
    setting_files: tuple[str, ...] = ()
    """The names of the settings files that may have it; empty for all that are not `apart`."""
    switch: str = ""
    """A dotted key of the settings files; if it is false, none of the plugins counts."""
    merge: str = "join"
    """How the values of the setting in several files are merged, as in `merge` of a setting."""
    id_pattern: str = ""
    """A regular expression for the whole `id`; plugins with another one do not count."""
    setting_off: str = ""
    """A dotted key of the settings files: a list of each `id` that is off."""
    setting_needed: bool = False
    """Whether only plugins that the setting names count at all."""
    enabled: bool = True
    """Whether a plugin counts that the settings do not name."""
    enabled_key: str = ""
    """A key of the manifest that says so for this plugin, instead of `enabled`."""
    manifests: tuple[str, ...] = ()
    """The files with the plugin's name and folders of skills, in its folder; the first that exists counts."""
    manifests_absent: tuple[str, ...] = ()
    """Files of other kinds of plugins; a folder with one of them is no plugin of this table."""
    manifest_needed: bool = False
    """Whether a plugin without a valid manifest has no skills."""
    manifest_files: str = ""
    """A dotted key of the manifest: a list of files, or of tables with files in `paths`. One of them must be there, or
    the manifest of the folder above must name one in this folder."""
    manifest_valid: bool = False
    """Whether a plugin with an invalid manifest has no skills, though one without a manifest may have some."""
    manifest_types: tuple[str, ...] = ()
    """What makes a manifest invalid: `KEY:TYPE` as in `settings_types`, and `KEY!` for a key that must be there."""
    manifest_keys: tuple[str, ...] = ()
    """The only keys that a valid manifest may have; empty for any."""
    manifest_once: tuple[str, ...] = ()
    """The keys that make a manifest invalid if it has them twice."""
    manifest_items: tuple[str, ...] = ()
    """The keys of a manifest that is a list, in order; without them, a list is invalid."""
    name: str = "manifest"
    """The plugin's name: of the `manifest` (without one, of its folder), the `folder`, or the `id` up to `@`."""
    name_pattern: str = ""
    """A regular expression for the whole name; a plugin with another name has no skills."""
    replace: Mapping[str, str] = EMPTY
    """Regular expression to text: what is replaced in the name for the prefix."""
    prefix: bool = True
    """Whether its skills are called `PLUGIN:SKILL`."""
    skills: tuple[str, ...] = ("skills",)
    """The folders of skills of a plugin whose manifest lists none, relative to its folder."""
    skills_key: str = ""
    """The dotted key of the manifest that lists folders of skills: text, or a list of texts."""
    skills_add: bool = False
    """Whether the listed folders come in addition to `skills`."""
    skills_texts: bool = False
    """Whether a list with anything but texts is ignored as a whole."""
    own_instead: bool = False
    """Whether a plugin with a SKILL.md in its folder is that skill if it lacks all `skills`, and lists no folders."""
    commands: tuple[str, ...] = ()
    """The folders of commands of a plugin whose manifest lists none, for a root with `files`."""
    skills_pattern: str = ""
    """A regular expression for a listed folder; others are ignored."""
    skills_inside: bool = True
    """Whether a listed folder must be inside the plugin, links resolved."""
    skills_strict: bool = False
    """Whether a plugin has no skills at all if a listed folder does not match `skills_pattern`, or is not inside."""
    own_skill: bool = False
    """Whether a plugin whose manifest lists no folders is only the skill in its folder itself, if it has a SKILL.md."""
    order: str = "id"
    """The order of plugins, highest precedence first: `id` (sorted), `folder-last` (their folders sorted, the last one
    first), `listed` (as in the list or setting), or `last` (the last in the list first)."""
    install_file: str = ""
    """A JSON file in the folder of a plugin that says where it comes from; if its `type` is `link`, the plugin is in
    the folder `source`, relative to the working directory."""
    rules_file: str = ""
    """A JSON file with rules that say where a plugin counts, as `path` of a root: its name to `{"overrides": [RULE]}`.
    A rule is a path with `*`, with `!` before it if the plugin does not count there; the last that matches decides."""
    rules_fold: bool = False
    """Whether names in `rules_file` are compared without case."""
    rules_invalid: str = "ignored"
    """What the client does if it cannot read `rules_file`: `ignored`, or `stops` (it refuses to start)."""
    allowed: str = ""
    """A dotted key of the settings files: a list of regular expressions. If it is not empty, a plugin counts only if
    one of them is found in the path that `install_file` has as its `source`; without a source, the client stops."""
    blocks_git: str = ""
    """A dotted key of the settings files: if it is true, and `allowed` is empty, no plugin counts whose `type` in
    `install_file` is `git` or `github-release`."""
    text_variables: bool = False
    """Whether `${extensionPath}`, `${workspacePath}`, `${/}` and `${pathSeparator}` are replaced in the names and
    descriptions of its skills."""
    store_file: str = ""
    """A JSON file in which the client records which plugins and skills are on in which folder, as `path` of a root. It
    counts before `rules_file`, unless a person has changed that one since."""
    skill_states: str = ""
    """The key of the manifest that says which skills of the plugin are on: name in lower case to true or false."""
    skills_on: str = ""
    """A dotted key of the settings files: a list of `PLUGIN:SKILL` that are on, whatever the manifest and `store_file`
    say."""
    manifest_stops: tuple[str, ...] = ()
    """The types in the manifest of a plugin that counts without which the client refuses to start, as
    `manifest_types`."""
    replaces_bytes: bool = False
    """Whether bytes in its JSON files that are not UTF-8 are replaced; otherwise such a file is invalid."""
    broken_links: str = "ignored"
    """What the client does if one of `folders` is a broken link: `ignored` or `stops`."""
    same_name: str = "all"
    """Of several plugins with one name: `all` count, the `first` counts, the `last` folder counts, `none` counts, or
    the client `stops`."""
    same_source: bool = False
    """With `last`: whether it counts only if all were installed from the same place; otherwise, and if names differ in
    case only, the client stops."""
