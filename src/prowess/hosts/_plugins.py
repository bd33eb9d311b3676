"""Define what a host file can say about plugins, extensions and packages of the client.

Each class is a table of the file, as in `_host`.
"""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class PluginRules(Frozen):
    """Where the client keeps plugins, which of them count, and which folders of skills they have.

    What one client alone does is in its module, and in `facts` in words.
    """

    folders: tuple[str, ...] = ()
    """The folders of installed plugins: paths as in `path` of a root, where `*` is any name of a folder."""
    yields_to: tuple[str, ...] = ()
    """The tables of plugins whose names keep plugins of this one from being read."""
    listed: str = ""
    """A JSON file that lists the installed plugins under `plugins`, as `path` of a root; those that it does not list do
    not count."""
    id: str = "{plugin}@{market}"
    """How settings name a plugin of `folders`: `{plugin}`, `{market}`, and `{manifest}`, the name in its manifest."""
    setting: str = ""
    """A dotted key of the settings files: a map of `id` to true or false, or to a table with `enabled`."""
    setting_needed: bool = False
    """Whether only plugins that the setting names count at all."""
    manifests: tuple[str, ...] = ()
    """The files with the plugin's name and folders of skills, in its folder; the first that exists counts."""
    manifest_needed: bool = False
    """Whether a plugin without a valid manifest has no skills."""
    manifest_types: tuple[str, ...] = ()
    """What makes a manifest invalid: `KEY:TYPE` as in `settings_types`, and `KEY!` for a key that must be there."""
    manifest_items: tuple[str, ...] = ()
    """The keys of a manifest that is a list, in order; without them, a list is invalid."""
    name_pattern: str = ""
    """A regular expression for the whole name; a plugin with another name has no skills."""
    prefix: bool = True
    """Whether its skills are called `PLUGIN:SKILL`."""
    skills_key: str = ""
    """The dotted key of the manifest that lists folders of skills: text, or a list of texts."""
    skills_add: bool = False
    """Whether the listed folders come in addition to `skills`."""
    skills_pattern: str = ""
    """A regular expression for a listed folder; others are ignored."""
    install_file: str = ""
    """A JSON file in the folder of a plugin that says where it comes from; if its `type` is `link`, the plugin is in
    the folder `source`, relative to the working directory."""
    rules_file: str = ""
    """A JSON file with rules that say where a plugin counts, as `path` of a root: its name to `{"overrides": [RULE]}`.
    A rule is a path with `*`, with `!` before it if the plugin does not count there; the last that matches decides."""
    replaces_bytes: bool = False
    """Whether bytes in its JSON files that are not UTF-8 are replaced; otherwise such a file is invalid."""
    first_of_name: bool = False
    """Whether of several plugins with one name only the first counts; otherwise all do."""
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does with its plugins, in words: lines by the key whose line they follow, first
    those with an empty key; `skills` replaces the line about the usual folder of skills."""
