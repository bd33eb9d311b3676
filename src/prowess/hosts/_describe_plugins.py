"""Describe in words which plugins of a client count, and which folders of skills they have."""

from __future__ import annotations

from prowess._internal.text import neutral

from ._describe_tables import describe_path, describe_table, describe_types, quote_all
from ._plugins import PluginRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ._host import Host
    from ._market_folders import MarketFolderRules
    from ._plugins import MarketRules

__all__ = ["PLUGIN_PHRASES", "describe_plugins"]

PLUGIN_PHRASES: Mapping[str, str | Mapping[str, str]] = {
    "sources": "packages that the settings list under `{}`: folders, `npm:NAME` and git repositories",
    "npm_folder": "packages of npm are in `{}` beside the settings file",
    "git_folder": "cloned repositories are in `{}` beside the settings file",
    "folders": "installed in {path}",
    "folder_pattern": "only folders whose name matches `{}` are plugins",
    "trusted_folders": "in a trusted project also those in {path}",
    "off_hides": "a plugin that is switched off is no ordinary skill either",
    "yields_to": "one with the name of a plugin of the kind `{}` is not read",
    "where": {"project": "relative paths belong to the git root, or without git to the working directory"},
    "needs_trust": "they count only in a trusted project",
    "parts": "what the folders there are, in order: {}",
    "market": "",  # has lines of its own
    "argument": "the folders that `{}` names",
    "newest": {"last": "of several versions, the last in byte order counts"},
    "version_first": "the version `{}` counts before all others",
    "version_pattern": "only folders whose name matches `{}` are versions",
    "listed": "only those count that are listed in {path}",
    "listed_key": "there under `{}`",
    "listed_id": "the key of its id is `{}`",
    "listed_folder": "the key of its folder is `{}`",
    "listed_enabled": "it is on if `{}` is true there",
    "listed_project": "an entry with `{}` counts in that project only",
    "id": "settings call it `{}`",
    "setting": "switched on and off by `{}` in the settings",
    "lists_are_on": "there a list instead of true or false means on",
    "setting_files": "",  # describe_files says which files there are
    "switch": "if `{}` in the settings is false, none counts",
    "merge": {"first": "only the first file that has the key counts", "deep": "", "union": ""},
    "id_pattern": "only those count that settings call by a name that matches `{}`",
    "setting_off": "those that the settings list under `{}` are off",
    "setting_needed": "a plugin that this setting does not name has no skills",
    "enabled": "it is off if the settings do not name it",
    "enabled_key": "if the settings do not name it, `{}` in its manifest decides",
    "manifests": "its manifest is `{}`",
    "manifests_absent": "a folder with `{}` is no plugin of this kind",
    "manifest_needed": "without a valid manifest it has no skills",
    "manifest_files": "a file that its manifest lists under `{}` must be in its folder",
    "manifest_valid": "with an invalid manifest it has no skills",
    "manifest_types": "values that make a manifest valid: {types}",
    "manifest_keys": "a manifest with any other key than `{}` is invalid",
    "manifest_once": "a manifest that has one of `{}` twice is invalid",
    "manifest_items": "its manifest may be a list of the values of `{}`, in this order",
    "name": {"folder": "its name is that of its folder", "id": "its name is its id, up to `@`"},
    "name_pattern": "its name must match `{}`",
    "replace": "in the prefix, every match of `{}` becomes `{}`",
    "prefix": "its skills have no prefix",
    "skills": "its skills are in `{}`",
    "skills_key": "its manifest may list other folders of skills under `{}`",
    "skills_add": "these come in addition",
    "skills_texts": "a list with anything but texts is ignored",
    "own_instead": "without any folder of skills it is one skill itself, if it has a SKILL.md",
    "commands": "its commands are in `{}`, unless its manifest lists others",
    "skills_pattern": "a listed folder must match `{}`",
    "skills_inside": "a listed folder may be outside the plugin",
    "skills_strict": "with any other listed folder, it has no skills at all",
    "own_skill": "if its manifest lists no folders, it is one skill itself if it has a SKILL.md",
    "order": {
        "folder-last": "the last in byte order comes first",
        "listed": "they come in the order in which they are listed",
        "last": "the last in the list comes first",
    },
    "install_file": "`{}` in its folder says where it comes from; a linked one is in that folder",
    "rules_file": "rules say in which folders it counts; they are in {path}",
    "rules_fold": "names there are compared without case",
    "rules_invalid": {"stops": "if these rules cannot be read, the agent refuses to start"},
    "allowed": "if the settings list patterns under `{}`, only sources that match one count",
    "blocks_git": "otherwise, if `{}` is true, none from git counts",
    "text_variables": "`${extensionPath}` and the like are replaced in the texts of its skills",
    "store_file": "the agent records which plugins and skills are on, in {path}",
    "skill_states": "`{}` in its manifest says which of its skills are on",
    "skills_on": "skills that the settings list under `{}`, as `PLUGIN:SKILL`, are on in any case",
    "manifest_stops": "the agent refuses to start with other values in a manifest than: {types}",
    "replaces_bytes": "bytes of its JSON files that are not UTF-8 are replaced",
    "broken_links": {"stops": "if a folder of a plugin is a broken link, the agent refuses to start"},
    "same_name": {
        "first": "of several with one name, only the first counts",
        "last": "of several with one name, the folder that is last in byte order counts",
        "none": "of several with one name, none counts",
        "stops": "if several have one name, the agent refuses to start",
    },
    "same_source": "if these were not installed from one place, the agent refuses to start",
}
"""Words for each key of `PluginRules`, as for `describe_table`."""
_COPY_PHRASES = {
    "all": "installed copies are listed in {}",
    "others": "installed copies from a marketplace or another source are listed in {}",
    "only": "installed copies without a marketplace or another source are always on; they are listed in {}",
}


def describe_plugins(host: Host) -> Iterator[str]:
    """Yield what is known about plugins; with several kinds of them, each line begins with the name of its kind."""
    kinds: dict[str, Iterator[str]] = {name: _describe_kind(rules) for name, rules in host.plugins.items()}
    kinds |= {name: _describe_folders(rules) for name, rules in host.market_folders.items()}
    for name, lines in kinds.items():
        start = f"{name}: " if len(kinds) > 1 else ""
        yield from (f"{start}{neutral(line)}" for line in lines)


def _describe_kind(rules: PluginRules) -> Iterator[str]:
    if rules.prefix:
        yield "its skills are called `PLUGIN:SKILL`"
    if rules.market is not None:
        yield from _describe_market(rules.market)
    if not rules.sources:
        written = rules.id.replace("{plugin}", "PLUGIN" if rules.market else "FOLDER")
        rules = rules.with_changes(id=written.replace("{manifest}", "PLUGIN").replace("{market}", "MARKETPLACE"))
    yield from describe_table(rules, PLUGIN_PHRASES)
    if rules.skills == PluginRules().skills and not rules.sources:
        yield "its folder of skills is `skills`, unless another line here says more"


def _describe_market(rules: MarketRules) -> Iterator[str]:
    """Yield the lines about marketplaces whose catalogs list plugins."""
    yield f"from the marketplaces in {describe_path(rules.known)}, and from those of `{rules.setting}` in the settings"
    yield f"read in place if the source of the marketplace is {quote_all(rules.in_place, ' or ')}; others are installed"
    yield f"the catalog of a marketplace is {quote_all(rules.catalogs)}"
    if rules.known_types:
        yield f"values that make a marketplace valid: {describe_types(rules.known_types)}"
    if rules.catalog_types:
        yield f"values that make a catalog valid: {describe_types(rules.catalog_types)}"
    if rules.entry_types:
        yield f"values that make an entry of a catalog valid: {describe_types(rules.entry_types)}"


def _describe_folders(rules: MarketFolderRules) -> Iterator[str]:
    """Yield the lines about plugins in folders of marketplaces, and about installed copies of them."""
    if rules.argument:
        yield f"the folders that `{rules.argument}` names"
    if rules.setting:
        yield f"from the marketplaces of `{rules.setting}` in the settings whose source is `directory`"
        yield f"such a marketplace lists its plugins in {quote_all(rules.files, ' or ')}"
    if rules.switches:
        yield f"on only if `{rules.switches}` in the settings says so, where it is called `PLUGIN@MARKETPLACE`"
    if rules.listed:
        yield _COPY_PHRASES[rules.listed_bare].format(describe_path(rules.listed))
    if rules.listed_usual:
        yield f"a copy without a folder is in {describe_path(rules.listed_usual)}; only the agent's own list has it"
    yield f"its manifest is {quote_all(rules.manifests, ' or ')}"
    yield f"its skills are in `{rules.skills}`, unless its manifest says otherwise under `skills`"
    if rules.commands:
        yield f"its commands are in `{rules.commands}`, unless its manifest says otherwise under `commands`"
    yield "without any folder of skills it is one skill itself, if it has a SKILL.md"
