"""Describe in words which plugins of a client count, and which folders of skills they have."""

from __future__ import annotations

from prowess._internal.text import neutral

from ._describe_tables import describe_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ._host import Host
    from ._plugins import PluginRules

PLUGIN_PHRASES: Mapping[str, str] = {
    "folders": "installed in {path}",
    "yields_to": "one with the name of a plugin of the kind `{}` is not read",
    "listed": "only those count that are listed in {path}",
    "id": "settings call it `{}`",
    "setting": "switched on and off by `{}` in the settings",
    "setting_needed": "a plugin that this setting does not name has no skills",
    "manifests": "its manifest is `{}`",
    "manifest_needed": "without a valid manifest it has no skills",
    "manifest_types": "values that make a manifest valid: {types}",
    "manifest_items": "its manifest may be a list of the values of `{}`, in this order",
    "name_pattern": "its name must match `{}`",
    "prefix": "its skills have no prefix",
    "skills_key": "its manifest may list other folders of skills under `{}`",
    "skills_add": "these come in addition",
    "skills_pattern": "a listed folder must match `{}`",
    "install_file": "`{}` in its folder says where it comes from; a linked one is in that folder",
    "rules_file": "rules say in which folders it counts; they are in {path}",
    "replaces_bytes": "bytes of its JSON files that are not UTF-8 are replaced",
    "first_of_name": "of several with one name, only the first counts",
}
"""Words for each key of `PluginRules`, as for `describe_table`."""


def describe_plugins(host: Host) -> Iterator[str]:
    """Yield what is known about plugins; with several kinds of them, each line begins with the name of its kind."""
    for name, rules in host.plugins.items():
        start = f"{name}: " if len(host.plugins) > 1 else ""
        yield from (f"{start}{neutral(line)}" for line in _describe_kind(rules))


def _describe_kind(rules: PluginRules) -> Iterator[str]:
    if rules.prefix and rules.manifests:
        yield "its skills are called `PLUGIN:SKILL`"
    yield from rules.facts.get("", ())
    identity = rules.id.format(plugin="FOLDER", manifest="PLUGIN", market="MARKETPLACE")
    rules = rules.with_changes(id=identity)
    for name in PLUGIN_PHRASES if rules.manifests else ():
        yield from describe_table(rules, {name: PLUGIN_PHRASES[name]})
    if rules.manifests:
        usual = "its folder of skills is `skills`, unless another line here says more"
        yield from rules.facts.get("skills", (usual,))
