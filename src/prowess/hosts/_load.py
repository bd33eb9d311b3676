"""Load a host by its name.

The tables come from `_tables.py`, which is made from the TOML files when Prowess is built or installed: to parse TOML
takes longer than to start Python.
"""

from __future__ import annotations

from functools import cache

from prowess.errors import HostNotFoundError

from ._configuration import Argument, Setting, SettingsFile
from ._host import Budget, Flag, HonouredFields, Host, IsolatedLaunch, Source, Template
from ._plugins import PluginRules
from ._raw_values import host_names
from ._reading import DescriptionRules, NameRules, ReadingRules
from ._root import Root
from ._tables import TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@cache
def load_host(name: str) -> Host:
    """Return a host.

    Raises:
        HostNotFoundError: no host has that name.
    """
    untyped_name: object = name
    if not isinstance(untyped_name, str):
        raise HostNotFoundError(
            f"a host name must be text, not {type(untyped_name).__name__}", hint="list the hosts with `prowess hosts`"
        )
    if name not in TABLES:
        from prowess._internal.text import did_you_mean, quoted

        hint = did_you_mean(name, host_names(), "list the hosts with `prowess hosts`")
        raise HostNotFoundError(f"unknown host {quoted(name)}", hint=hint)
    return build_host(name, TABLES[name])


_TABLE_CLASSES: Mapping[str, Any] = {
    "name_rules": NameRules,
    "description_rules": DescriptionRules,
    "reading": ReadingRules,
    "budget": Budget,
    "template": Template,
    "isolated": IsolatedLaunch,
    "fields": HonouredFields,
}
"""The keys of a host's file that are one table each, and the class of each."""


def build_host(name: str, table: Mapping[str, Any]) -> Host:
    """Return a host from its table, which has tuples instead of lists.

    Raises:
        TypeError: a key is unknown or missing.
    """
    values = dict(table)
    root_defaults = values.pop("walk", {})
    values["roots"] = tuple(Root(**{**root_defaults, **root}) for root in table.get("roots", ()))
    values["flags"] = tuple(Flag(**flag) for flag in table.get("flags", ()))
    values["settings_files"] = {key: SettingsFile(**item) for key, item in table.get("settings_files", {}).items()}
    values["plugins"] = {key: PluginRules(**item) for key, item in table.get("plugins", {}).items()}
    values["sources"] = tuple(Source(**source) for source in table.get("sources", ()))
    values["arguments"] = tuple(Argument(**argument) for argument in table.get("arguments", ()))
    values["settings"] = tuple(Setting(**setting) for setting in table.get("settings", ()))
    for key, cls in _TABLE_CLASSES.items():
        if key in table:
            inner = table[key]
            values[key] = cls(**inner)
    return Host(name=name, **values)
