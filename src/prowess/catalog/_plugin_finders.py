"""Find the plugins, packages and marketplaces of a host."""

from __future__ import annotations

from prowess._internal.frozen import Frozen

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
            filesystem=filesystem,
        )

    finders = {table: finder(table, rules) for table, rules in host.plugins.items()}
    plugins = {table: list(each.find()) for table, each in finders.items()}
    findings = [item for each in finders.values() for item in each.findings]
    stops = next((each.stops for each in finders.values() if each.stops), "")
    for table, rules in host.market_folders.items():
        markets = MarketPluginFinder(
            rules, settings.market_folders[table], cwd=cwd, home=home, variables=variables, filesystem=filesystem
        )
        plugins[table] = list(markets.find())
        findings += markets.findings
    return FoundPlugins(plugins=plugins, findings=tuple(findings), stops=stops)
