"""Find the commands of a plugin: files that are skills, in folders or one by one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import chain, islice

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.hosts import PluginRules

    from ._filesystem import Filesystem

__all__ = ["CommandPlace", "plugin_commands"]

_MAX_COMMANDS = 1000
"""Files and folders of commands that one plugin may list."""


class CommandPlace(Frozen, kw_only=False):
    """A folder of commands, or one command."""

    path: str
    """Absolute."""
    label: str = ""
    """What a single file is called, without its plugin; empty for a folder."""
    description: str = ""
    """What is shown instead of the file's own description; empty for that."""


def plugin_commands(
    rules: PluginRules,
    folder: str,
    manifest: Mapping[str, Any],
    entry: Mapping[str, Any],
    filesystem: Filesystem,
) -> tuple[CommandPlace, ...]:
    """Return the commands of a plugin, single files first: a file that is also in a folder is called as in the list.

    Args:
        rules: of its table.
        folder: of the plugin, absolute.
        manifest: its manifest, which replaces the default folders.
        entry: what its marketplace says, which adds to them.
        filesystem: what was read so far.
    """
    if not rules.commands:
        return ()
    listed = manifest.get("commands")
    places = [CommandPlace(os.path.join(folder, name)) for name in rules.commands if listed is None]
    inside = os.path.join(filesystem.real(folder), "")
    written = chain(_listed(folder, listed), _listed(folder, entry.get("commands")))
    for place in islice(written, _MAX_COMMANDS):
        kind = filesystem.kind(place.path) if (filesystem.real(place.path) + os.sep).startswith(inside) else ""
        if kind == "d":
            places.append(CommandPlace(place.path))
        elif kind == "f" and place.path.endswith(".md"):
            name = os.path.basename(place.path).removesuffix(".md")
            places.append(place.with_changes(label=place.label or name))
    return tuple(sorted(places, key=lambda place: not place.label))


def _listed(folder: str, value: object) -> Iterator[CommandPlace]:
    """Yield what a manifest lists: a path, several, or names with a `source`."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            source = item.get("source") if isinstance(item, Mapping) else None
            text = item.get("description") if isinstance(item, Mapping) else None
            if isinstance(source, str) and name and "\0" not in source:
                path = os.path.normpath(os.path.join(folder, source))
                yield CommandPlace(path, name, text if isinstance(text, str) else "")
        return
    for item in [value] if isinstance(value, str) else value if isinstance(value, list) else ():
        if isinstance(item, str) and item and "\0" not in item:
            yield CommandPlace(os.path.normpath(os.path.join(folder, item)))
