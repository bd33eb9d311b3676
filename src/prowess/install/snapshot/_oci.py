"""Read the objects of a snapshot from a registry of containers; see `_snapshot_artifact` for what is there."""

from __future__ import annotations

import json
import re

from prowess.errors import ConfigError, InstallError
from prowess.install._source import parse_source

from ._object import Pointer, StoredObject, too_large, unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.install.oci import Descriptor, Registry, StoredManifest

    from ._artifact import SnapshotIndex

__all__ = ["RegistryPlace", "parse_registry_url"]

_DEFAULT_TAG = "snapshot"
_is_digest = re.compile(r"sha256:[0-9a-f]{64}").fullmatch
_parse_name = re.compile(r"(?:snapshot-|skills/)([0-9a-f]{64})\.(?:bin|tar\.gz)").fullmatch


def parse_registry_url(url: str) -> tuple[str, str]:
    """Return the URL of the repository, and the tag or digest.

    Raises:
        ConfigError: the URL is invalid.
    """
    try:
        source = parse_source(url)
    except InstallError as error:
        raise ConfigError(str(error), hint=error.hint) from None
    if source.skill is not None:
        raise ConfigError("the URL of a snapshot has a skill", hint="write `oci://REGISTRY/REPOSITORY:TAG`")
    return source.url, source.ref or _DEFAULT_TAG


class RegistryPlace:
    """A snapshot in a registry.

    Args:
        url: of the repository, with a tag or digest; by default the tag `snapshot`.

    Raises:
        ConfigError: the URL is invalid.
    """

    def __init__(self, url: str) -> None:
        self._url, self._reference = parse_registry_url(url)
        self.origin = f"{self._url}{'@' if _is_digest(self._reference) else ':'}{self._reference}"
        self._index: SnapshotIndex | None = None
        """The last one that was read."""

    def read(self, name: str, limit: int, etag: str | None = None) -> StoredObject | None:
        """Return the pointer, made of what the index says; `None` if the tag still leads to the index.

        Args:
            name: of the pointer.
            limit: unused, since an index and a manifest have limits.
            etag: the digest of an index.

        Raises:
            ConfigError: a file with credentials is invalid.
            InstallError: it cannot be read, or is not the index of a snapshot.
        """
        from prowess.install.oci import (
            open_registry,  # they need modules that take long to load, and the cache may suffice
        )

        from ._artifact import parse_data, parse_index

        del limit
        known = etag if etag and _is_digest(etag) else None
        with open_registry(self._url) as registry:
            stored = self._stored_index(registry, name, known)
            if stored.digest == known:
                return None
            self._index = index = parse_index(stored, self.origin)
            data = parse_data(self._manifest(registry, name, index.data.digest), self.origin)
        pointer = Pointer(sha256=data.digest.removeprefix("sha256:"), size=data.size)
        return StoredObject(data=json.dumps(pointer.as_dict()).encode(), etag=index.digest)

    def download(self, name: str, fd: int, limit: int) -> None:
        """Write the data or an archive to a file.

        Args:
            name: of the object.
            fd: of the file, which is empty.
            limit: of the data its size; of an archive its size at most.

        Raises:
            ConfigError: a file with credentials is invalid.
            InstallError: it cannot be read, or has another size or digest.
        """
        from prowess.install.oci import Descriptor, open_registry

        found = _parse_name(name)
        assert found is not None  # noqa: S101 - names of objects are made of digests
        with open_registry(self._url) as registry:
            if name.startswith("snapshot-"):
                blob = Descriptor(media_type="", digest=f"sha256:{found[1]}", size=limit)
            else:
                blob = self._archive(registry, name, found[1])
            if blob.size > limit:
                raise too_large(self.origin, name, limit)
            registry.read_blob(blob, fd)

    def _archive(self, registry: Registry, name: str, tree: str) -> Descriptor:
        """Return the blob of an archive, as the snapshot has it now: it has those of earlier ones too."""
        from ._artifact import parse_index, parse_pack

        index = self._index
        stored = self._stored_index(registry, name, None if index is None else index.digest)
        if index is None or stored.digest != index.digest:
            self._index = index = parse_index(stored, self.origin)
        pack = self._manifest(registry, name, index.pack_of(tree).digest)
        blob = parse_pack(pack, self.origin).get(tree)
        if blob is None:
            raise unreadable(self.origin, name, "the registry has no such archive")
        return blob

    def _stored_index(self, registry: Registry, name: str, known: str | None) -> StoredManifest:
        stored = registry.manifest(self._reference, known=known)
        if stored is None:
            raise unreadable(self.origin, name, "the registry has no such tag or digest")
        return stored

    def _manifest(self, registry: Registry, name: str, digest: str) -> StoredManifest:
        stored = registry.manifest(digest)
        if stored is None:
            raise unreadable(self.origin, name, f"the registry has lost {digest}")
        return stored
