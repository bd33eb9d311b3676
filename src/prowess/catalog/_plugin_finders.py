"""Find the plugins, packages and marketplaces of a host."""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted

from ._installed_plugins import InstalledPlugin, PluginFinder
from ._market_plugins import MarketPluginFinder
from ._packages import PackageFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.findings import Finding
    from prowess.hosts import Host, PluginRules

    from ._filesystem import Filesystem
    from ._settings import Settings

__all__ = ["FoundPlugins", "find_plugins"]


class FoundPlugins(Frozen):
    """The plugins of a host."""

    plugins: Mapping[str, list[InstalledPlugin]]
    """By the name of their table."""
    findings: tuple[Finding, ...]
    hidden: Mapping[str, str] = EMPTY
    """The folders of plugins whose own SKILL.md the client does not read, each with the reason."""
    stops: str = ""
    """The file because of which the client does not start."""


def find_plugins(
    host: Host,
    settings: Settings,
    *,
    project: str,
    cwd: str,
    home: str,
    variables: Mapping[str, str],
    filesystem: Filesystem,
) -> FoundPlugins:
    """Return the plugins of a host.

    Args:
        host: whose plugins.
        settings: what its user has set.
        project: the git root, or the working directory without one.
        cwd: the working directory.
        home: the user's home.
        variables: those that may move folders.
        filesystem: what was read so far.
    """

    def finder(table: str, rules: PluginRules) -> PluginFinder | PackageFinder:
        if rules.sources:
            packages = settings.packages.get(table, ())
            return PackageFinder(rules, home=home, settings=packages, filesystem=filesystem)
        return PluginFinder(
            rules,
            cwd=project if rules.where == "project" else cwd,
            home=home,
            variables=variables,
            setting=settings.plugins[table],
            chosen=settings.chosen_plugins,
            trusted=settings.trust == "trusted",
            unread=settings.unread_scopes,
            filesystem=filesystem,
        )

    finders = {table: finder(table, rules) for table, rules in host.plugins.items()}
    plugins = {table: list(each.find()) for table, each in finders.items()}
    for table in host.plugins:
        plugins[table] = _without_taken_names(plugins, table, host.plugins[table])
    hidden = {
        path: why for each in finders.values() if isinstance(each, PluginFinder) for path, why in each.hidden.items()
    }
    findings = [item for each in finders.values() for item in each.findings]
    stops = next((each.stops for each in finders.values() if each.stops), "")
    for table, rules in host.market_folders.items():
        markets = MarketPluginFinder(
            rules, settings.market_folders[table], cwd=cwd, home=home, variables=variables, filesystem=filesystem
        )
        plugins[table] = list(markets.find())
        findings += markets.findings
    return FoundPlugins(plugins=plugins, findings=tuple(findings), hidden=hidden, stops=stops)


def _without_taken_names(
    plugins: Mapping[str, list[InstalledPlugin]], table: str, rules: PluginRules
) -> list[InstalledPlugin]:
    """Return the plugins of a table, those off whose names plugins of more important tables have."""
    taken = {plugin.name for other in rules.yields_to for plugin in plugins[other] if not plugin.off}
    return [
        plugin.with_changes(off=f"another plugin has the name of its plugin {quoted(plugin.id)} too, and wins")
        if plugin.name in taken and not plugin.off
        else plugin
        for plugin in plugins[table]
    ]
