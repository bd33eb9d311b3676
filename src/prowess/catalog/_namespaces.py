"""Find the plugin in whose folder a skill is: some clients put the plugin's name before those of its skills."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import UnreadableError

from ._json_files import read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._filesystem import Filesystem

__all__ = ["Namespaces"]


class Namespaces:
    """The names of the plugins above skills, each folder looked at once."""

    def __init__(self, manifests: Sequence[str], filesystem: Filesystem) -> None:
        self.manifests, self.filesystem = manifests, filesystem
        self._found: dict[str, str | None] = {}
        """Real folder to the name of the nearest plugin at or above it."""

    def of(self, folder: str) -> str | None:
        """Return the name of the nearest plugin at or above a folder, a path without links; `None` without any."""
        if not self.manifests:
            return None
        waiting = []
        while folder not in self._found:
            name = self._plugin_name(folder)
            parent = os.path.dirname(folder)
            if name is not None or parent == folder:
                self._found[folder] = name
                break
            waiting.append(folder)
            folder = parent
        found = self._found[folder]
        self._found.update(dict.fromkeys(waiting, found))
        return found

    def _plugin_name(self, folder: str) -> str | None:
        """Return the name of the plugin whose manifest is in a folder; the first manifest that exists counts."""
        for manifest in self.manifests:
            if not self.filesystem.may_contain(folder, manifest.partition("/")[0]):
                continue
            path = os.path.join(folder, manifest)
            if self.filesystem.kind(path) != "f":
                continue
            try:
                table = read_json(self.filesystem, path, once=("name",), replace=False)
            except (UnreadableError, ValueError):
                return None
            if isinstance(table, list):
                table = {"name": table[0]} if table else {}
            name = table.get("name", "") if isinstance(table, Mapping) else None
            if not isinstance(name, str):
                return None
            return name if name.strip() else os.path.basename(folder)
        return None
