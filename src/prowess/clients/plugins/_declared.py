"""Read which plugins, extensions and marketplaces a repository declares, and where their skills are."""

from __future__ import annotations

import os

from prowess._internal.files import UnreadableError
from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.findings import Finding, finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from prowess.filesystem import Filesystem

_PLUGIN_FILE, _MARKETPLACE_FILE = "plugin.json", "marketplace.json"
_MANIFEST_NAMES = (_PLUGIN_FILE, _MARKETPLACE_FILE)
_EXTENSION_FILES = ("gemini-extension.json", "qwen-extension.json")
_MANIFEST_FOLDERS = (".github/plugin", ".plugin", ".agents/plugins")
"""Folders that contain manifests, besides `.claude-plugin` and the like."""
MANIFEST_FILES = frozenset((_PLUGIN_FILE, *_EXTENSION_FILES))
"""Files that make the folder that contains them a plugin."""
MANIFEST_NAMES = MANIFEST_FILES | {_MARKETPLACE_FILE}
"""All names of manifests."""
_MAX_MANIFEST_BYTES = 1024 * 1024
_MAX_MANIFESTS = 5000
"""Manifests of one repository that are read."""


class Plugin(Frozen):
    """A folder that a manifest declares as a plugin."""

    name: str
    folder: str
    marketplace: bool
    """Whether only a marketplace declares it."""
    listed: bool
    """Whether the manifest names folders of skills; otherwise they are in the folder `skills`."""
    places: tuple[str, ...]
    """The folders that contain its skills, or are its skills."""


class PluginReader:
    """Reads the manifests in the folders of a repository."""

    def __init__(self, top: str, problems: list[Finding], filesystem: Filesystem) -> None:
        self.top, self.problems, self.filesystem = top, problems, filesystem
        self.plugins: list[Plugin] = []
        self._manifests_left = _MAX_MANIFESTS

    def read_folder(self, folder: str, folders: list[str], files: Mapping[str, bool]) -> None:
        """Read the manifests in a folder and in its manifest folders.

        Args:
            folder: the folder.
            folders: the names of folders in it.
            files: the names of files in it.
        """
        names = [name for name in (_PLUGIN_FILE, *_EXTENSION_FILES) if name in files]
        paths = [] if _is_manifest_folder(folder) else [os.path.join(folder, name) for name in names]
        for name in folders:
            places = [place for place in _MANIFEST_FOLDERS if place.partition("/")[0] == name]
            if _is_manifest_folder(name):
                places.append(name)
            paths += [os.path.join(folder, place, file) for place in places for file in _MANIFEST_NAMES]
        for path in paths:
            self._read_manifest(path, folder)

    def _read_manifest(self, path: str, folder: str) -> None:
        if self._manifests_left <= 0:
            return
        try:
            data = self.filesystem.data(path, _MAX_MANIFEST_BYTES, follow=False)
        except UnreadableError as error:
            if error.code != "file-missing":
                self._report(path, error.message)
            return
        self._manifests_left -= 1
        import json

        try:
            manifest = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            self._report(path, f"it is not valid JSON: {quoted(str(error), 120)}")
            return
        if not isinstance(manifest, dict):
            self._report(path, "it is not a JSON object")
        elif os.path.basename(path) == _MARKETPLACE_FILE:
            self.plugins += self._marketplace_plugins(manifest, folder)
        else:
            name = _text(manifest.get("name")) or os.path.basename(folder)
            self.plugins.append(self._plugin(name, folder, manifest, marketplace=False))

    def _report(self, path: str, problem: str) -> None:
        hint = "fix the file; until then it is ignored"
        self.problems.append(finding("config-invalid", f"the manifest cannot be read: {problem}", path=path, hint=hint))

    def _marketplace_plugins(self, manifest: Mapping[str, Any], folder: str) -> Iterator[Plugin]:
        metadata = manifest.get("metadata")
        base = _text(metadata.get("pluginRoot")) if isinstance(metadata, dict) else ""
        entries = manifest.get("plugins")
        for entry in entries if isinstance(entries, list) else ():
            name = _text(entry.get("name")) if isinstance(entry, dict) else ""
            source = entry.get("source") if name else None
            if isinstance(source, dict):
                source = source.get("path") if source.get("source") in ("local", "directory") else None
            if isinstance(source, str) and (place := self._inside(folder, os.path.join(base, source))):
                yield self._plugin(name, place, entry, marketplace=True)

    def declared(self) -> Mapping[str, Plugin]:
        """Return the plugin of each folder of skills. What a plugin says itself counts before its marketplace."""
        own = {plugin.folder for plugin in self.plugins if not plugin.marketplace}
        ordered = sorted(self.plugins, key=lambda plugin: plugin.marketplace)
        result: dict[str, Plugin] = {}
        for plugin in ordered:
            if not plugin.marketplace or plugin.listed or plugin.folder not in own:
                for place in plugin.places:
                    result.setdefault(place, plugin)
        return result

    def _plugin(self, name: str, folder: str, manifest: Mapping[str, Any], *, marketplace: bool) -> Plugin:
        listed = manifest.get("skills")
        paths = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
        inside = [self._inside(folder, path) for path in paths if isinstance(path, str)]
        places = tuple(place for place in inside if place)
        return Plugin(
            name=name,
            folder=folder,
            marketplace=marketplace,
            listed=bool(places),
            places=places or (os.path.join(folder, "skills"),),
        )

    def _inside(self, folder: str, path: str) -> str | None:
        """Return the path of a manifest, or `None` if it leads out of the repository or is not a path."""
        place = os.path.normpath(os.path.join(folder, path))
        inside = place == self.top or place.startswith(os.path.join(self.top, ""))
        return place if inside and "\0" not in place and "://" not in path else None


def _is_manifest_folder(path: str) -> bool:
    """Return whether the manifests in a folder are about the folder above."""
    name = os.path.basename(path)
    hidden_plugin = name.startswith(".") and name.endswith("-plugin")
    return hidden_plugin or path.replace(os.sep, "/").endswith(tuple(f"/{place}" for place in _MANIFEST_FOLDERS))


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
