"""Parse the manifests of skills in registries, and say what each layer is.

Skills are published in three families, and all are read in the same way, layer by layer:

    artifacts   one layer with a folder of the skill's name (`skills-oci`, `arconia`, `acr-skill`, `prowess publish`)
    images      the files of a skill as the layers of a container image (`kagent`, `skillctl`, `skr`, `thv`)
    files       one layer for each file, whose name is in an annotation (`oras push`, `agentskills-oci`)

An index names several manifests: those of the type of skills, or else one for this machine.
"""

from __future__ import annotations

import json
import re

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.errors import InstallError

from ._registry import INDEX_TYPES, MANIFEST_TYPES, Descriptor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._registry import StoredManifest

__all__ = [
    "ARTIFACT_TYPE",
    "CONFIG_TYPE",
    "CONTENT_TYPE",
    "NAME",
    "TITLE",
    "Layer",
    "ListedManifest",
    "parse_descriptor",
    "parse_index",
    "parse_manifest",
]

ARTIFACT_TYPE = "application/vnd.agentskills.skill.v1"
CONFIG_TYPE = "application/vnd.agentskills.skill.config.v1+json"
CONTENT_TYPE = "application/vnd.agentskills.skill.content.v1.tar+gzip"
"""The types of a skill, as the proposed specification of skills in registries has them."""
NAME = "io.agentskills.skill.name"
TITLE = "org.opencontainers.image.title"
"""Annotations: the name of a skill, and of a layer that is a file."""

_ARCHIVES = {".tar+gzip": "tar.gz", ".tar.gzip": "tar.gz", ".tar.gz": "tar.gz", ".tgz": "tar.gz", ".tar": "tar"}
"""How the type or the name of a layer ends that is an archive, and its kind."""
_UNPACKED = "io.deis.oras.content.unpack"
"""The annotation of a folder that `oras push` packed."""
_MAX_LAYERS = 10_000
_MAX_MANIFESTS = 100
_MAX_SIZE = 1 << 40
_match_digest = re.compile(r"sha256:[0-9a-f]{64}").fullmatch


class Layer(Frozen):
    """A layer of a manifest."""

    blob: Descriptor
    archive: str | None
    """`tar` or `tar.gz`; `None` for a single file."""
    title: str | None
    """The path of a file."""


class ListedManifest(Frozen):
    """A manifest in an index."""

    digest: str
    name: str | None
    """Of the skill, if the index says so."""


def parse_index(stored: StoredManifest) -> tuple[ListedManifest, ...] | None:
    """Return the manifests of an index that may be skills, or `None` if this is a manifest itself.

    Raises:
        InstallError: it is invalid, or lists no manifest.
    """
    content = _parse(stored)
    if _media_type(content, stored) not in INDEX_TYPES:
        return None
    listed = [entry for entry in _objects(content.get("manifests")) if not _is_about_another(entry)]
    chosen = [entry for entry in listed if entry.get("artifactType") == ARTIFACT_TYPE]
    if not chosen:
        ours = [entry for entry in listed if _platform(entry) in (("linux", "amd64"), ("", ""))]
        chosen = (ours or listed)[:1]
    if not chosen or len(chosen) > _MAX_MANIFESTS:
        raise _invalid(f"its index lists {'no' if not chosen else 'too many'} manifests")
    manifests = []
    for entry in chosen:
        descriptor = _descriptor(entry)
        if descriptor.media_type not in MANIFEST_TYPES:
            raise _invalid("its index lists something else than manifests")
        name = _annotations(entry).get(NAME)
        manifests.append(ListedManifest(digest=descriptor.digest, name=name))
    return tuple(manifests)


def parse_manifest(stored: StoredManifest) -> tuple[Layer, ...]:
    """Return the layers of a manifest that contain files.

    Raises:
        InstallError: it is invalid, or none of its layers can be read.
    """
    content = _parse(stored)
    if _media_type(content, stored) not in MANIFEST_TYPES:
        raise _invalid("its manifest has a type that is not known")
    entries = _objects(content.get("layers"))
    if len(entries) > _MAX_LAYERS:
        raise _invalid(f"its manifest has more than {_MAX_LAYERS:,} layers")
    layers = []
    for entry in entries:
        if entry.get("urls"):
            raise _invalid("a layer of its manifest is on another server")
        blob = _descriptor(entry)
        annotations = _annotations(entry)
        title, archive = annotations.get(TITLE), _archive_kind(blob.media_type)
        if archive == "tar" and title is not None and _UNPACKED not in annotations:
            archive = _archive_kind(title)  # `oras push` gives every file the type of tar
        if archive is not None or title is not None:
            layers.append(Layer(blob=blob, archive=archive, title=None if archive else title))
    if not layers:
        raise _invalid("no layer of its manifest is an archive of tar and gzip, or a file with a name")
    return tuple(layers)


def _archive_kind(text: str) -> str | None:
    return next((kind for end, kind in _ARCHIVES.items() if text.endswith(end)), None)


def _parse(stored: StoredManifest) -> Mapping[str, Any]:
    try:
        content = json.loads(stored.data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("schemaVersion") != 2:
        raise _invalid("its manifest is not one of version 2")
    return content


def _media_type(content: Mapping[str, Any], stored: StoredManifest) -> str:
    """Return the type of a manifest, which must not be a manifest and an index at once."""
    said = content.get("mediaType", stored.media_type)
    if not isinstance(said, str) or ("manifests" in content) == ("layers" in content):
        raise _invalid("its manifest is neither one of layers nor an index")
    return said


def _objects(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise _invalid("its manifest has an invalid list")
    return value


def _descriptor(entry: Mapping[str, Any]) -> Descriptor:
    try:
        return parse_descriptor(entry)
    except ValueError as error:
        raise _invalid(f"its manifest has an entry {error}") from None


def parse_descriptor(entry: Mapping[str, Any]) -> Descriptor:
    """Return what an entry of a manifest names.

    Raises:
        ValueError: it is invalid.
    """
    kind, digest, size = entry.get("mediaType"), entry.get("digest"), entry.get("size")
    if not isinstance(kind, str) or not isinstance(digest, str) or not _match_digest(digest):
        raise ValueError("without a type, or without a digest of SHA-256")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < _MAX_SIZE:
        raise ValueError("with an invalid size")
    return Descriptor(media_type=kind, digest=digest, size=size)


def _annotations(entry: Mapping[str, Any]) -> dict[str, str]:
    annotations = entry.get("annotations")
    pairs = annotations.items() if isinstance(annotations, dict) else ()
    return {key: text for key, text in pairs if isinstance(text, str)}


def _platform(entry: Mapping[str, Any]) -> tuple[str, str]:
    platform = entry.get("platform")
    platform = platform if isinstance(platform, dict) else {}
    return str(platform.get("os", "")), str(platform.get("architecture", ""))


def _is_about_another(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry of an index is a statement about another one, as builders of images add it."""
    return "vnd.docker.reference.type" in _annotations(entry) or _platform(entry)[0] == "unknown"


def _invalid(problem: str) -> InstallError:
    return InstallError(
        f"this is not a skill in a registry: {problem}", hint=f"its type should be {quoted(ARTIFACT_TYPE)}"
    )
