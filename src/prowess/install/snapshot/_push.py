"""Write snapshots to registries: first to a folder in the cache, then what the registry does not have yet.

Archives come before the packs that name them, then the data, then the index, and the tag moves last: a reader sees the
old snapshot or the new one. Packs keep the archives of earlier snapshots under the tag, since a reader may need them.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

from prowess.errors import ConfigError
from prowess.install.oci import Descriptor, digest_of, open_registry

from ._artifact import NO_CONFIG, parse_index, parse_pack, write_data, write_index, write_packs
from ._cache import MAX_POINTER_BYTES, POINTER, data_name, parse_pointer
from ._file import open_mapped
from ._oci import RegistryPlace, parse_registry_url
from ._skills import archive_name
from ._upload import staging_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prowess.install.oci import Registry

    from ._artifact import SnapshotIndex

__all__ = ["RegistryTarget"]

_DATA_LAYER_TYPE = "application/vnd.prowess.snapshot.data.v1"
_CONNECTIONS = 8
_MAX_TAG = 100


class RegistryTarget:
    """A tag of a registry to write a snapshot to.

    Args:
        url: of the repository, with a tag; by default `snapshot`.
        cache: the folder of the cache.

    Raises:
        ConfigError: the URL is invalid, or the user has no cache.
    """

    def __init__(self, url: str, cache: str | None) -> None:
        self._url, self._tag = parse_registry_url(url)
        if self._tag.startswith("sha256:") or len(self._tag) > _MAX_TAG:
            hint = f"write `oci://REGISTRY/REPOSITORY:TAG`, with {_MAX_TAG} characters or fewer in the tag"
            raise ConfigError("a snapshot is written under a tag", hint=hint)
        self._origin = RegistryPlace(url).origin
        self.folder = staging_folder(self._origin, cache)
        """Where the snapshot is written first."""

    def upload(self, tell: Callable[[str], None]) -> None:
        """Write to the registry what it does not have yet.

        Raises:
            ConfigError: a file with credentials is invalid.
            InstallError: the registry refuses it, or the tag leads to something else; the registry has the old
                snapshot.
            OSError: the folder cannot be read.
        """
        with open_registry(self._url, push=True) as registry:
            stored = registry.manifest(self._tag)
            earlier = None if stored is None else parse_index(stored, self._origin)
            archives, kept = self._earlier_archives(registry, earlier)
            data, trees = self._data()
            archives |= self._upload_archives(sorted(trees - archives.keys()), tell)
            packs, data_manifest = write_packs(archives), write_data(data)
            index = write_index(data_manifest, packs)
            if not registry.has_blob(digest_of(NO_CONFIG)):
                registry.write_blob(NO_CONFIG, digest_of(NO_CONFIG))
            if not registry.has_blob(data.digest):
                with open(os.path.join(self.folder, data_name(data.digest.removeprefix("sha256:"))), "rb") as file:
                    registry.write_blob(file, data.digest)
            # Some registries collect manifests without a tag as garbage, even those that an index names.
            tagged = {f"{self._tag}-pack-{at}": pack for at, pack in enumerate(packs) if pack.digest not in kept}
            for tag, manifest in (*tagged.items(), (f"{self._tag}-data", data_manifest)):
                registry.write_manifest(tag, manifest.data, manifest.media_type)
            if earlier is None or earlier.digest != index.digest:
                registry.write_manifest(self._tag, index.data, index.media_type)

    def _earlier_archives(
        self, registry: Registry, earlier: SnapshotIndex | None
    ) -> tuple[dict[str, Descriptor], set[str]]:
        """Return the archives that the registry has, by tree digest, and the digests of the packs with them."""
        archives: dict[str, Descriptor] = {}
        kept: set[str] = set()
        for pack in () if earlier is None else earlier.packs:
            stored = registry.manifest(pack.digest)
            if stored is not None:  # otherwise the registry has lost it, and it is written again
                archives |= parse_pack(stored, self._origin)
                kept.add(pack.digest)
        return archives, kept

    def _data(self) -> tuple[Descriptor, set[str]]:
        """Return the data, and the tree digests of its skills in hexadecimal."""
        with open(os.path.join(self.folder, POINTER), "rb") as file:
            pointer = parse_pointer(file.read(MAX_POINTER_BYTES), self._origin)
        with open(os.path.join(self.folder, data_name(pointer.sha256)), "rb") as file:
            snapshot = open_mapped(file.fileno(), self._origin)
        trees = {snapshot.digest(row).removeprefix("sha256:") for row in range(snapshot.skills)}
        data = Descriptor(media_type=_DATA_LAYER_TYPE, digest=f"sha256:{pointer.sha256}", size=pointer.size)
        return data, trees

    # ── archives ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _upload_archives(self, trees: Sequence[str], tell: Callable[[str], None]) -> dict[str, Descriptor]:
        """Upload archives over several connections, and return them by tree digest.

        Raises:
            InstallError: the registry refuses one.
            OSError: one cannot be read.
        """
        found: dict[str, Descriptor] = {}
        stop = threading.Event()

        def upload(part: Sequence[str]) -> None:
            try:
                with open_registry(self._url, push=True) as registry:
                    for tree in part:
                        if stop.is_set():
                            return
                        found[tree] = self._upload_archive(registry, tree)
                        if len(found) % 256 == 0:
                            tell(f"{len(found):,} of {len(trees):,} archives")
            except BaseException:
                stop.set()
                raise

        with ThreadPoolExecutor(_CONNECTIONS) as threads:
            parts = [part for at in range(_CONNECTIONS) if (part := trees[at::_CONNECTIONS])]
            try:
                for _ in threads.map(upload, parts):
                    pass
            finally:
                stop.set()
        return found

    def _upload_archive(self, registry: Registry, tree: str) -> Descriptor:
        with open(os.path.join(self.folder, *archive_name(tree).split("/")), "rb") as file:
            data = file.read()
        digest = digest_of(data)
        if not registry.has_blob(digest):
            registry.write_blob(data, digest)
        return Descriptor(media_type="", digest=digest, size=len(data))
