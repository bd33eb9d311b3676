"""Choose what finds the plugins or packages of each table of a host."""

from __future__ import annotations

from ._installed_plugins import PluginFinder
from ._packages import PackageFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.hosts import Host

    from ._filesystem import Filesystem
    from ._settings import Settings

__all__ = ["find_plugins"]


def find_plugins(
    host: Host,
    settings: Settings,
    *,
    project: str,
    cwd: str,
    home: str,
    variables: Mapping[str, str],
    filesystem: Filesystem,
) -> Mapping[str, PluginFinder | PackageFinder]:
    """Return what finds the plugins of each table of a host, by its name.

    Args:
        host: whose plugins.
        settings: what its user has set.
        project: the git root, or the working directory without one.
        cwd: the working directory.
        home: the user's home.
        variables: those that may move folders.
        filesystem: what was read so far.
    """
    return {
        table: PackageFinder(rules, home=home, settings=settings.packages.get(table, ()), filesystem=filesystem)
        if rules.sources
        else PluginFinder(
            rules,
            cwd=project if rules.where == "project" else cwd,
            home=home,
            variables=variables,
            setting=settings.plugins[table],
            chosen=settings.chosen_plugins,
            trusted=settings.trust == "trusted",
            filesystem=filesystem,
        )
        for table, rules in host.plugins.items()
    }
