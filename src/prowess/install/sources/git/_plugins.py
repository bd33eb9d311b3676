"""Find the plugins that the manifests of a commit declare, without writing its files."""

from __future__ import annotations

import os

from prowess._internal.files import UnreadableError
from prowess.clients.plugins import MANIFEST_NAMES, PluginReader
from prowess.filesystem import Filesystem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def plugins_of(folders: Iterable[str], manifests: Mapping[str, bytes]) -> dict[str, str]:
    """Return the plugin of each folder of a skill that belongs to one.

    Args:
        folders: of skills, relative to the top.
        manifests: the content of each file that may be a manifest, by its path relative to the top.
    """
    reader = PluginReader(os.sep, [], _Manifests(manifests))
    names: dict[str, dict[str, set[str]]] = {}
    for path in manifests:
        folder, _, name = path.rpartition("/")
        names.setdefault(folder, {}).setdefault("files", set()).add(name)
        while folder:  # manifests are in folders of their own, one or two levels below that of the plugin
            parent, _, name = folder.rpartition("/")
            names.setdefault(parent, {}).setdefault("folders", set()).add(name)
            folder = parent
    for folder, inside in sorted(names.items()):
        files = dict.fromkeys(sorted(inside.get("files", ())), False)
        reader.read_folder(os.path.join(os.sep, folder), sorted(inside.get("folders", ())), files)
    declared = reader.declared()
    found: dict[str, str] = {}
    for folder in folders:
        place = os.path.join(os.sep, folder)
        while place not in declared and place != os.sep:
            place = os.path.dirname(place)
        if place in declared:
            found[folder] = declared[place].name
    return found


def may_be_manifest(path: str) -> bool:
    """Return whether a file has the name of a manifest."""
    return path.rpartition("/")[2] in MANIFEST_NAMES


class _Manifests(Filesystem):
    """A file system that has the manifests of a commit alone, at its top."""

    def __init__(self, manifests: Mapping[str, bytes]) -> None:
        super().__init__()
        self._manifests = manifests

    def data(self, path: str, limit: int, *, follow: bool = True) -> bytes:  # noqa: ARG002
        """Return a manifest.

        Raises:
            UnreadableError: it is missing or too large.
        """
        data = self._manifests.get(path.removeprefix(os.sep))
        if data is None or len(data) > limit:
            raise UnreadableError("file-missing", "no such file", "check the path")
        return data
