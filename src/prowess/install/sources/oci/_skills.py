"""Fetch and publish skills in an OCI registry.

Fetch skills from a registry of containers, and publish them there.

Parse the manifests of skills in registries, and say what each layer is.

Skills are published in three families, and all are read in the same way, layer by layer:

    artifacts   one layer with a folder of the skill's name (`skills-oci`, `arconia`, `acr-skill`, `prowess publish`)
    images      the files of a skill as the layers of a container image (`kagent`, `skillctl`, `skr`, `thv`)
    files       one layer for each file, whose name is in an annotation (`oras push`, `agentskills-oci`)

An index names several manifests: those of the type of skills, or else one for this machine.

The manifest says which blobs belong to a skill, and with its digest nothing else is installed.

Publish a skill to a registry, as an artifact of the type that the specification of skills in registries proposes.

The manifest has no time and no name of a machine: the same skill has the same digest wherever it is published. A tag
that leads to something else is only moved if the caller agrees; registries have no way to do that in one step.
"""

from __future__ import annotations

import json
import os
import re

from prowess._internal.files import MAX_DIGEST_BYTES
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, open_fd, open_or_make_folder
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError
from prowess.install.archive import unpack
from prowess.install.sources._fetched import Fetched, FetchedSkill, check_wanted, digest_of, resolve_names, write_errors
from prowess.install.sources._folder import find_skills
from prowess.lock import check_paths

from ._registry import INDEX_TYPES, MANIFEST_TYPES, Descriptor, Registry, open_registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from prowess.findings import Finding
    from prowess.install._publish import PackedSkill, Publication, Published
    from prowess.install.sources._fetched import Wanted
    from prowess.install.sources._source import Source

    from ._registry import StoredManifest

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


_DEFAULT_TAG = "latest"


def fetch(wanted: Wanted) -> Fetched:
    """Fetch the skills of a tag or digest of a registry; by default those of the tag `latest`.

    Raises:
        ConfigError: a file with credentials is invalid.
        InstallError: the registry cannot be read, what it has is no skill, or breaks a rule.
    """
    source, revision, names = wanted.source, wanted.revision, wanted.names
    if revision is not None and not revision.startswith("sha256:"):
        raise InstallError(f"invalid tag or digest {quoted(revision)}", hint="a revision begins with `sha256:`")
    skills: list[FetchedSkill] = []
    findings: list[Finding] = []
    with open_registry(source.url) as registry:
        top = _manifest(registry, revision or source.ref or _DEFAULT_TAG, source)
        listed = parse_index(top)
        if listed is None:
            manifests = [top]
        else:
            named = [entry for entry in listed if entry.name in names]
            manifests = [_manifest(registry, entry.digest, source) for entry in named or listed]
        for manifest in manifests:
            found, problems = _fetch_manifest(registry, manifest, wanted)
            skills += found
            findings += problems
    is_tag = wanted.revision is None and source.ref not in (None, "latest") and not _match_digest(source.ref or "")
    chosen = _choose(skills, names, source)
    return Fetched(skills=chosen, revision=top.digest, is_tag=is_tag, findings=tuple(findings))


def _manifest(registry: Registry, reference: str, source: Source) -> StoredManifest:
    stored = registry.manifest(reference)
    if stored is None:
        what = f"digest {reference}" if reference.startswith("sha256:") else f"tag {quoted(reference)}"
        raise InstallError(f"{quoted(source.url, PATH_LIMIT)} has no {what}", hint="check the name and the tag")
    return stored


def _fetch_manifest(
    registry: Registry, manifest: StoredManifest, wanted: Wanted
) -> tuple[list[FetchedSkill], list[Finding]]:
    """Write the layers of a manifest into one folder, and return the skills in it."""
    layers = parse_manifest(manifest)
    size = sum(layer.blob.size for layer in layers)
    if size > MAX_DIGEST_BYTES:
        message = f"{quoted(registry.name, PATH_LIMIT)} has {size:,} bytes, more than {MAX_DIGEST_BYTES:,}"
        raise InstallError(message, hint="a skill is smaller; is this the image of a program?")
    target, downloads = wanted.opened.new_folder(), wanted.opened.new_folder()
    check_paths(layer.title for layer in layers if layer.title is not None)
    for number, layer in enumerate(layers):
        wanted.tell(f"fetching {number + 1:,} of {len(layers):,} from {registry.name}")
        with write_errors():
            _fetch_layer(registry, layer, target, os.path.join(downloads, str(number)))
    found, findings = find_skills(target)
    skills = []
    for name, path in found:
        if not path and name == os.path.basename(target):  # it has no name of its own
            name = registry.name.rpartition("/")[2]
        skills.append(FetchedSkill(name=name, path=path, folder=os.path.join(target, path) if path else target))
    return skills, findings


def _fetch_layer(registry: Registry, layer: Layer, target: str, download: str) -> None:
    if layer.title is not None:
        *folders, name = layer.title.split("/")
        fd = os.open(target, FOLDER_FLAGS)
        try:
            for folder in folders:
                inner, _ = open_or_make_folder(folder, fd)
                os.close(fd)
                fd = inner
            with open_fd(name, CREATE_FLAGS, 0o666, dir_fd=fd) as file:
                registry.read_blob(layer.blob, file)
        finally:
            os.close(fd)
        return
    with open_fd(download, CREATE_FLAGS) as file:
        registry.read_blob(layer.blob, file)
    with open(download, "rb") as stream:
        unpack(stream, layer.archive or "tar", target)
    os.unlink(download)


def _choose(skills: Sequence[FetchedSkill], wanted: Sequence[str], source: Source) -> tuple[FetchedSkill, ...]:
    """Return the skills that are wanted.

    Raises:
        InstallError: the artifact has no skill, or two have the same name.
        SkillNotFoundError: one is missing.
    """
    url = quoted(source.url, PATH_LIMIT)
    names = [skill.name for skill in skills]
    if not skills:
        raise InstallError(f"{url} has no skill", hint="a skill is a folder with a `SKILL.md`")
    wanted = resolve_names(wanted, ((skill.name, skill.path) for skill in skills))
    check_wanted(wanted, names, url)
    chosen = [skill for skill in skills if not wanted or skill.name in wanted]
    for skill in chosen:
        if names.count(skill.name) > 1:
            raise InstallError(f"{url} has two skills of the name {quoted(skill.name)}", hint="ask its author")
    return tuple(chosen)


_is_tag = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}").fullmatch
_ANNOTATIONS = "org.opencontainers.image"


def publish(publication: Publication) -> Published:
    """Publish a skill to a registry; see `publish_skill`.

    Raises:
        ConfigError: a file with credentials is invalid.
        InstallError: the registry refuses it, or a tag may not be moved.
    """
    packed, place = publication.packed, publication.place
    named = (*filter(None, (place.ref,)), *publication.tags)
    tags = tuple(dict.fromkeys(named)) or (_version(packed) or "latest",)
    for tag in tags:
        if not _is_tag(tag):
            hint = "a tag has letters, digits, `_`, `.` and `-`, and at most 128 characters"
            raise InstallError(f"invalid tag {quoted(tag)}", hint=hint)
    config, manifest = write_artifact(packed)
    digest = digest_of(manifest)
    state = "planned"
    if not publication.dry_run:
        with open_registry(place.url, push=True) as registry:
            state = _push(registry, tags, manifest, (config, packed.archive), publication)
    return publication.published(state, f"{place.url}@{digest}", digest, tags)


def _push(
    registry: Registry, tags: Sequence[str], manifest: bytes, blobs: Sequence[bytes], publication: Publication
) -> str:
    """Upload what the registry lacks, and return the state."""
    known = {tag: registry.manifest(tag) for tag in tags}
    digest = digest_of(manifest)
    changed = [tag for tag, stored in known.items() if stored is None or stored.digest != digest]
    moved = [tag for tag in changed if known[tag] is not None]
    for tag in moved:
        if not publication.may_move(tag):
            hint = "publish under another tag, or use `--force`"
            raise InstallError(f"the tag {quoted(tag)} of {quoted(registry.name)} has another content", hint=hint)
    if changed:
        for blob in blobs:
            if not registry.has_blob(digest_of(blob)):
                publication.tell(f"uploading {len(blob):,} bytes to {registry.name}")
                registry.write_blob(blob, digest_of(blob))
        for tag in changed:
            registry.write_manifest(tag, manifest, MANIFEST_TYPES[0])
    return "moved" if moved else "new" if changed else "unchanged"


def write_artifact(packed: PackedSkill) -> tuple[bytes, bytes]:
    """Return the config and the manifest of a skill."""
    skill, version = packed.skill, _version(packed)
    config = _write_json(
        {
            "schemaVersion": "1",
            "name": packed.name,
            "version": version,
            "description": skill.description,
            "license": skill.license,
            "compatibility": skill.compatibility,
            "allowedTools": [*skill.allowed_tools] or None,
            "metadata": {key: value for key, value in skill.metadata.items() if isinstance(value, str)} or None,
        }
    )
    layer = {
        "mediaType": CONTENT_TYPE,
        "digest": digest_of(packed.archive),
        "size": len(packed.archive),
        "annotations": {TITLE: f"{packed.name}.tar.gz"},
    }
    annotations = {
        NAME: packed.name,
        TITLE: packed.name,
        f"{_ANNOTATIONS}.version": version,
        f"{_ANNOTATIONS}.description": skill.description,
        f"{_ANNOTATIONS}.licenses": skill.license,
    }
    manifest = _write_json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPES[0],
            "artifactType": ARTIFACT_TYPE,
            "config": {"mediaType": CONFIG_TYPE, "digest": digest_of(config), "size": len(config)},
            "layers": [layer],
            "annotations": {key: text for key, text in annotations.items() if text},
        }
    )
    return config, manifest


def _version(packed: PackedSkill) -> str | None:
    """Return the version in the metadata of a skill, if it can be a tag."""
    version = packed.skill.metadata.get("version")
    return version if isinstance(version, str) and _is_tag(version) else None


def _write_json(value: Mapping[str, object]) -> bytes:
    present = {key: item for key, item in value.items() if item is not None}
    return json.dumps(present, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
