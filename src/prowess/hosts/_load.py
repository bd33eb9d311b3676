"""Load a host by its name.

The tables come from `_tables.py`, which is made from the TOML files when Prowess is built or installed: to parse TOML
takes longer than to start Python.
"""

from __future__ import annotations

from functools import cache

from prowess.errors import HostNotFoundError

from . import _schema as schema
from ._raw_values import host_names
from ._tables import TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@cache
def load_host(name: str) -> schema.Host:
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


_CLASSES: Mapping[str, Any] = {
    "roots": schema.Root,
    "name_rules": schema.NameRules,
    "description_rules": schema.DescriptionRules,
    "reading": schema.ReadingRules,
    "budget": schema.Budget,
    "template": schema.Template,
    "isolated": schema.IsolatedLaunch,
    "fields": schema.HonouredFields,
    "flags": schema.Flag,
    "settings_files": schema.SettingsFile,
    "plugins": schema.PluginRules,
    "sources": schema.Source,
    "arguments": schema.Argument,
    "settings": schema.Setting,
}
"""The keys of a host's file that are a table, named tables or a list of tables, and the class of each."""


def build_host(name: str, table: Mapping[str, Any]) -> schema.Host:
    """Return a host from its table, which has tuples instead of lists.

    Raises:
        TypeError: a key is unknown or missing.
    """
    values = dict(table)
    shared = values.pop("walk", {})
    for key in _CLASSES.keys() & values.keys():
        cls, value = _CLASSES[key], values[key]
        if isinstance(value, tuple):
            values[key] = tuple(cls(**({**shared, **row} if key == "roots" else row)) for row in value)
        elif key in ("settings_files", "plugins"):
            values[key] = {row: cls(**value[row]) for row in value}
        else:
            values[key] = cls(**value)
    return schema.Host(name=name, **values)
