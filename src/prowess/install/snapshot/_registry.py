"""Read and write snapshots in container registries.

Read snapshots from registries of containers, and write them there.

    index                      the data and all packs; the tag leads to it
      manifest of the data     its only layer is the data of the snapshot
      manifest of each pack    its layers are archives of skills, each with the title `TREE-DIGEST.tar.gz`

The number of packs is a power of two, and the first bits of the tree digest of a skill say which pack has its archive:
to find it takes the index and one pack, and a skill that changed changes one pack. What these manifests name is not
collected as garbage. There is no time in it: the same skills have the same index everywhere.

Write snapshots to registries: first to a folder in the cache, then what the registry does not have yet.

Archives come before the packs that name them, then the data, then the index, and the tag moves last: a reader sees the
old snapshot or the new one. Packs keep the archives of earlier snapshots under the tag, since a reader may need them.
"""

from __future__ import annotations

import json
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor

from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError, InstallError
from prowess.install.sources import digest_of, parse_source
from prowess.install.sources.oci import (
    INDEX_TYPES,
    MANIFEST_TYPES,
    TITLE,
    Descriptor,
    StoredManifest,
    open_registry,
    parse_descriptor,
)

from ._buckets import staging_folder
from ._file import SnapshotFile
from ._places import (
    MAX_POINTER_BYTES,
    POINTER,
    Pointer,
    StoredObject,
    archive_name,
    data_name,
    parse_pointer,
    too_large,
    unreadable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from prowess.install.sources.oci import Registry

NO_CONFIG = b"{}"
"""The config of a manifest that needs none."""
_TYPE = "application/vnd.prowess.snapshot.v1"
_DATA_TYPE = "application/vnd.prowess.snapshot.data.v1"
_PACK_TYPE = "application/vnd.prowess.snapshot.pack.v1"
_NO_CONFIG_TYPE = "application/vnd.oci.empty.v1+json"
_ARCHIVE_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
_PACK_SIZE = 256
"""Archives of a pack on average, at most."""
_MAX_PACKS = 1 << 13
_title = re.compile(r"([0-9a-f]{64})\.tar\.gz").fullmatch


class SnapshotIndex(Frozen):
    """The index of a snapshot in a registry."""

    digest: str
    data: Descriptor
    """The manifest of the data."""
    packs: tuple[Descriptor, ...]

    def pack_of(self, tree: str) -> Descriptor:
        """Return the pack that has the archive of a skill, if the snapshot has it.

        Args:
            tree: its tree digest, in hexadecimal.
        """
        return self.packs[_number_of(tree, len(self.packs))]


def _number_of(tree: str, packs: int) -> int:
    return int(tree[:8], 16) * packs >> 32


# ── parsing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_index(stored: StoredManifest, origin: str) -> SnapshotIndex:
    """Return what an index says.

    Args:
        stored: the index.
        origin: the snapshot, in messages.

    Raises:
        InstallError: it is not that of a snapshot, or is invalid.
    """
    try:
        kind = json.loads(stored.data)["artifactType"]
    except (ValueError, TypeError, KeyError, RecursionError):
        kind = None
    if kind != _TYPE:
        hint = "use another tag; `prowess index DIR --snapshot OUT` writes a snapshot"
        raise InstallError(f"{quoted(origin, PATH_LIMIT)} is something else than a snapshot", hint=hint)
    entries = _parse(stored, "manifests", origin)
    data = [blob for kind, _, blob in entries if kind == _DATA_TYPE]
    packs = tuple(blob for kind, _, blob in entries if kind == _PACK_TYPE)
    if len(data) != 1 or not 0 < len(packs) <= _MAX_PACKS or len(packs) & (len(packs) - 1):
        raise _invalid(origin, "its index has no data, or a wrong number of packs")
    return SnapshotIndex(digest=stored.digest, data=data[0], packs=packs)


def parse_data(stored: StoredManifest, origin: str) -> Descriptor:
    """Return the data that a manifest names.

    Raises:
        InstallError: the manifest is invalid.
    """
    layers = _parse(stored, "layers", origin)
    if len(layers) != 1:
        raise _invalid(origin, "the manifest of its data has several layers or none")
    return layers[0][2]


def parse_pack(stored: StoredManifest, origin: str) -> dict[str, Descriptor]:
    """Return the archives of a pack, by the tree digest in hexadecimal.

    Raises:
        InstallError: the pack is invalid.
    """
    layers = _parse(stored, "layers", origin)
    titles = [(_title(title), blob) for _, title, blob in layers]
    return {found[1]: blob for found, blob in titles if found is not None}


def _parse(stored: StoredManifest, part: str, origin: str) -> Sequence[tuple[object, str, Descriptor]]:
    """Return of each entry of a manifest or index the kind, the title and what it names."""
    try:
        entries = json.loads(stored.data)[part]
        return [(entry.get("artifactType"), _title_of(entry), parse_descriptor(entry)) for entry in entries]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _invalid(origin, f"a manifest has no valid list of {part}") from None


def _title_of(entry: Mapping[str, Any]) -> str:
    title = entry.get("annotations", {}).get(TITLE, "")
    return title if isinstance(title, str) else ""


def _invalid(origin: str, problem: str) -> InstallError:
    message = f"the snapshot {quoted(origin, PATH_LIMIT)} is invalid: {problem}"
    return InstallError(message, hint="ask who makes it to make it again")


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_packs(archives: Mapping[str, Descriptor]) -> list[StoredManifest]:
    """Return the packs of some archives, which are named by tree digests in hexadecimal."""
    count = 1
    while count * _PACK_SIZE < len(archives) and count < _MAX_PACKS:
        count *= 2
    parts: list[list[Mapping[str, object]]] = [[] for _ in range(count)]
    for tree, blob in sorted(archives.items()):
        parts[_number_of(tree, count)].append(
            {**_entry(blob), "mediaType": _ARCHIVE_TYPE, "annotations": {TITLE: f"{tree}.tar.gz"}}
        )
    return [_write_manifest(_PACK_TYPE, part or [_no_config()]) for part in parts]


def write_data(blob: Descriptor) -> StoredManifest:
    """Return the manifest of the data."""
    return _write_manifest(_DATA_TYPE, [_entry(blob)])


def write_index(data: StoredManifest, packs: Iterable[StoredManifest]) -> StoredManifest:
    """Return the index of a snapshot."""
    entries = [*_listed(_DATA_TYPE, [data]), *_listed(_PACK_TYPE, packs)]
    content = {"schemaVersion": 2, "mediaType": INDEX_TYPES[0], "artifactType": _TYPE, "manifests": entries}
    return _encode(content, INDEX_TYPES[0])


def _listed(kind: str, manifests: Iterable[StoredManifest]) -> Iterator[Mapping[str, object]]:
    for stored in manifests:
        blob = Descriptor(media_type=stored.media_type, digest=stored.digest, size=len(stored.data))
        yield {**_entry(blob), "artifactType": kind}


def _write_manifest(kind: str, layers: Sequence[Mapping[str, object]]) -> StoredManifest:
    content = {"schemaVersion": 2, "mediaType": MANIFEST_TYPES[0], "artifactType": kind, "config": _no_config()}
    return _encode({**content, "layers": layers}, MANIFEST_TYPES[0])


def _no_config() -> dict[str, object]:
    return _entry(Descriptor(media_type=_NO_CONFIG_TYPE, digest=digest_of(NO_CONFIG), size=len(NO_CONFIG)))


def _entry(blob: Descriptor) -> dict[str, object]:
    return {"mediaType": blob.media_type, "digest": blob.digest, "size": blob.size}


def _encode(content: Mapping[str, object], media_type: str) -> StoredManifest:
    data = json.dumps(content, separators=(",", ":")).encode()
    return StoredManifest(data=data, digest=digest_of(data), media_type=media_type)


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
        snapshot = SnapshotFile(os.path.join(self.folder, data_name(pointer.sha256)), self._origin)
        trees = {snapshot.digest(row).removeprefix("sha256:") for row in range(snapshot.skills)}
        data = Descriptor(media_type=_DATA_TYPE, digest=f"sha256:{pointer.sha256}", size=pointer.size)
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
