"""Find the files that the manifest of a plugin names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from ._settings_files import get_dotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from prowess.hosts import PluginRules

    from ._filesystem import Filesystem

__all__ = ["has_plugin_files", "named_files"]

_MAX_FILES = 1000
"""Files that count in one manifest."""


def named_files(value: Any, folder: str) -> Iterator[str]:
    """Yield the paths of files in a list of texts, and of tables with a list of texts in `paths`.

    Args:
        value: from a manifest; anything else names no files.
        folder: the folder that they are relative to.
    """
    names: list[Any] = []
    for item in value[:_MAX_FILES] if isinstance(value, list) else ():
        inner = item.get("paths") if isinstance(item, Mapping) else None
        names += inner if isinstance(inner, list) else [item]
    for name in names[:_MAX_FILES]:
        if isinstance(name, str) and name and "\0" not in name:
            yield os.path.normpath(os.path.join(folder, name))


def has_plugin_files(
    rules: PluginRules,
    folder: str,
    manifest: Mapping[str, Any] | None,
    read_manifest: Callable[[str], Mapping[str, Any] | None],
    filesystem: Filesystem,
) -> bool:
    """Return whether a folder has the files of a plugin: those that its manifest names, and none of another kind.

    Args:
        rules: the table of the plugins.
        folder: the plugin's.
        manifest: in this folder, if it is valid.
        read_manifest: returns the manifest in another folder.
        filesystem: what was read so far.
    """
    if any(filesystem.kind(os.path.join(folder, name)) == "f" for name in rules.manifests_absent):
        return False
    if not rules.manifest_files:
        return True
    above = os.path.dirname(folder)
    return any(
        path.startswith(folder + os.sep) and filesystem.kind(path) == "f"
        for place, table in ((folder, manifest), (above, read_manifest(above)))
        for path in named_files(get_dotted(table, rules.manifest_files), place)
    )
