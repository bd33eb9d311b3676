"""Find all plugins of a host."""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted
from prowess.clients import client

from ._finder import InstalledPlugin, PluginFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.clients.settings import Settings, SettingsReader
    from prowess.findings import Finding


class FoundPlugins(Frozen):
    """The plugins of a host."""

    plugins: Mapping[str, list[InstalledPlugin]]
    """By the name of their table."""
    findings: tuple[Finding, ...]
    hidden: Mapping[str, str] = EMPTY
    """The folders of plugins whose own SKILL.md the client does not read, each with the reason."""
    stops: str = ""
    """The file because of which the client does not start."""


def find_plugins(reader: SettingsReader, settings: Settings) -> FoundPlugins:
    """Return the plugins of a host, those off whose names plugins of more important tables have."""
    tables = reader.host.plugins
    finder: type[PluginFinder] = getattr(client(reader.host.name), "Plugins", PluginFinder)
    problems = reader.files.findings
    known = len(problems)
    finders = {table: finder(table, reader, settings) for table in tables}
    findings = problems[known:]
    plugins = {table: each.find() for table, each in finders.items()}
    for table, rules in tables.items():
        taken = {plugin.name for other in rules.yields_to for plugin in plugins[other] if not plugin.off}
        plugins[table] = [
            plugin.with_changes(off=f"another plugin has the name of its plugin {quoted(plugin.id)} too, and wins")
            if plugin.name in taken and not plugin.off
            else plugin
            for plugin in plugins[table]
        ]
    return FoundPlugins(
        plugins=plugins,
        findings=(*findings, *(item for each in finders.values() for item in each.findings)),
        hidden={path: why for each in finders.values() for path, why in each.hidden.items()},
        stops=next((each.stops for each in finders.values() if each.stops), ""),
    )
