"""Name plugins, and tell skills of several plugins apart that have one name."""

from __future__ import annotations

import os
import re

from ._entry import State
from ._verdicts import LIST_ONLY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from prowess.hosts import PluginRules

    from ._entry import Entry
    from ._plugin_places import PluginCandidate

__all__ = ["names_of_plugin", "share_names"]


def names_of_plugin(
    rules: PluginRules, candidate: PluginCandidate, manifest: Mapping[str, Any]
) -> tuple[str, str] | None:
    """Return what settings call a plugin, and its name; `None` if the client accepts one of them from no plugin."""
    written = manifest.get("name")
    folder = os.path.basename(candidate.folder) if candidate.listed is None else candidate.parts["plugin"]
    manifest_name = written if isinstance(written, str) and written.strip() else folder
    parts = {"plugin": folder, "market": "", **candidate.parts, "manifest": manifest_name}
    identity = candidate.id or rules.id.format_map(parts).removesuffix("@")
    name = {"manifest": manifest_name, "folder": folder}.get(rules.name, identity.partition("@")[0])
    for pattern, text in ((rules.name_pattern, name), (rules.id_pattern, identity)):
        if pattern and not re.fullmatch(pattern, text):
            return None
    return identity, name


def share_names(
    entries: list[Entry], plugins: Mapping[str, str], shadow: Callable[[Entry, Entry], Entry]
) -> list[Entry]:
    """Let skills of several plugins with one name stay, with the plugin in front of the name.

    This is so if a plugin's skill wins the name; the others, which are in no plugin, are hidden by it.

    Args:
        entries: the skills, highest precedence first.
        plugins: the skills folders of plugins, each with its plugin.
        shadow: returns a skill as hidden by another one.
    """
    groups: dict[tuple[str, bool], list[int]] = {}
    for index, entry in enumerate(entries):
        if entry.namespace is None and entry.state not in (State.REJECTED, State.UNTRUSTED):
            groups.setdefault((entry.name, entry.rule == LIST_ONLY), []).append(index)
    result = list(entries)
    for (name, _), group in groups.items():
        owners = {index: _plugin(entries[index], plugins) for index in group}
        if not owners[group[0]] or len(set(filter(None, owners.values()))) < 2:
            continue
        for index in group:
            plugin = owners[index]
            if plugin:
                result[index] = entries[index].with_changes(name=f"{plugin}:{name}", namespace=plugin)
            else:
                result[index] = shadow(entries[index], entries[group[0]])
    return result


def _plugin(entry: Entry, plugins: Mapping[str, str]) -> str:
    """Return the plugin of a skill, if it has one; commands are called the same in all of them."""
    return plugins.get(entry.root, "") if entry.path.endswith("/SKILL.md") else ""
