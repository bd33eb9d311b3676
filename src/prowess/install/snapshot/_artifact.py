"""Write and parse the manifests of a snapshot in a registry.

    index                      the data and all packs; the tag leads to it
      manifest of the data     its only layer is the data of the snapshot
      manifest of each pack    its layers are archives of skills, each with the title `TREE-DIGEST.tar.gz`

The number of packs is a power of two, and the first bits of the tree digest of a skill say which pack has its archive:
to find it takes the index and one pack, and a skill that changed changes one pack. What these manifests name is not
collected as garbage. There is no time in it: the same skills have the same index everywhere.
"""

from __future__ import annotations

import json
import re

from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError
from prowess.install.oci import (
    INDEX_TYPES,
    MANIFEST_TYPES,
    TITLE,
    Descriptor,
    StoredManifest,
    digest_of,
    parse_descriptor,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

__all__ = ["NO_CONFIG", "SnapshotIndex", "parse_data", "parse_index", "parse_pack", "write_data", "write_index"]
__all__ += ["write_packs"]

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
