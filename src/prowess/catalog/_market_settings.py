"""Read what settings and arguments say about marketplaces: where they are, and which of their plugins are on."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import expand_home
from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from prowess.hosts import MarketFolderRules

    from ._settings_layers import SettingsLayer

__all__ = ["MarketSetting", "market_setting"]

_MAX_MARKETS = 1000
"""Marketplaces, and folders of plugins, that count for one host."""


class MarketSetting(Frozen):
    """What the settings and arguments of a host say about marketplaces."""

    folders: Mapping[str, str] = EMPTY
    """Name of a marketplace to its folder."""
    switches: Mapping[str, tuple[bool, str]] = EMPTY
    """`PLUGIN@MARKET` to whether it is on, and the file that says so."""
    by_user: bool = False
    """Whether a file of the user has the key, so that no list of copies says which are on."""
    arguments: tuple[str, ...] = ()
    """The folders of plugins that arguments name."""


def market_setting(
    rules: MarketFolderRules,
    *,
    values: Callable[[str], Iterable[tuple[str, Any]]],
    arguments: Iterable[str],
    layers: Iterable[SettingsLayer],
    project: str,
    cwd: str,
    home: str,
) -> MarketSetting:
    """Return what the settings say about the marketplaces of one table.

    Args:
        rules: the table.
        values: returns the values of a key that count, each with its file, highest precedence first.
        arguments: the values of its argument.
        layers: the settings files.
        project: the git root, or the working directory without one.
        cwd: the working directory.
        home: the user's home.
    """
    in_project = {layer.path for layer in layers if layer.rules.needs_trust}
    folders: dict[str, str] = {}
    for file, value in values(rules.setting):
        for name, item in value.items() if isinstance(value, Mapping) else ():
            source = item.get("source") if isinstance(item, Mapping) else None
            path = source.get("path") if isinstance(source, Mapping) and source.get("source") == "directory" else None
            folder = expand_home(path, home) if isinstance(path, str) and path and "\0" not in path else ""
            if folder and file in in_project:
                folder = os.path.join(project, folder)
            # What the user says of a marketplace counts, whatever a repository says.
            if os.path.isabs(folder) and (len(folders) < _MAX_MARKETS or name in folders):
                folders[name] = os.path.normpath(folder)
    switches: dict[str, tuple[bool, str]] = {}
    by_user = False
    for file, value in values(rules.switches):
        by_user = by_user or file not in in_project
        for name, item in value.items() if isinstance(value, Mapping) else ():
            if isinstance(item, bool):
                switches.setdefault(name, (item, file))
    named = [os.path.normpath(os.path.join(cwd, expand_home(item, home))) for item in arguments if "\0" not in item]
    arguments = tuple(named[:_MAX_MARKETS])
    return MarketSetting(folders=folders, switches=switches, by_user=by_user, arguments=arguments)
