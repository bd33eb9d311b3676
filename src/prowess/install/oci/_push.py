"""Publish a skill to a registry, as an artifact of the type that the specification of skills in registries proposes.

The manifest has no time and no name of a machine: the same skill has the same digest wherever it is published. A tag
that leads to something else is only moved if the caller agrees; registries have no way to do that in one step.
"""

from __future__ import annotations

import json
import re

from prowess._internal.text import quoted
from prowess.errors import InstallError
from prowess.install._publish import Published

from ._fetch import open_registry
from ._manifest import ARTIFACT_TYPE, CONFIG_TYPE, CONTENT_TYPE, NAME, TITLE
from ._registry import MANIFEST_TYPES, digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prowess.install._publish import PackedSkill
    from prowess.install._source import Source

    from ._registry import Registry

__all__ = ["publish", "write_artifact"]

_is_tag = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}").fullmatch
_ANNOTATIONS = "org.opencontainers.image"


def publish(
    packed: PackedSkill,
    place: Source,
    *,
    tags: Sequence[str],
    may_move: Callable[[str], bool],
    dry_run: bool,
    progress: Callable[[str], None] | None,
) -> Published:
    """Publish a skill to a registry; see `publish_skill`.

    Raises:
        ConfigError: a file with credentials is invalid.
        InstallError: the registry refuses it, or a tag may not be moved.
    """
    version = _version(packed)
    tags = tuple(dict.fromkeys((*((place.ref,) if place.ref else ()), *tags))) or (version or "latest",)
    for tag in tags:
        if not _is_tag(tag):
            hint = "a tag has letters, digits, `_`, `.` and `-`, and at most 128 characters"
            raise InstallError(f"invalid tag {quoted(tag)}", hint=hint)
    config, manifest = write_artifact(packed)
    digest = digest_of(manifest)
    state = "planned"
    if not dry_run:
        with open_registry(place.url, push=True) as registry:
            state = _push(registry, tags, manifest, (config, packed.archive), may_move, progress)
    return Published(
        name=packed.name,
        reference=f"{place.url}@{digest}",
        digest=digest,
        tags=tags,
        size=len(packed.archive),
        state=state,
    )


def _push(
    registry: Registry,
    tags: Sequence[str],
    manifest: bytes,
    blobs: Sequence[bytes],
    may_move: Callable[[str], bool],
    progress: Callable[[str], None] | None,
) -> str:
    """Upload what the registry lacks, and return the state."""
    known = {tag: registry.manifest(tag) for tag in tags}
    digest = digest_of(manifest)
    changed = [tag for tag, stored in known.items() if stored is None or stored.digest != digest]
    moved = [tag for tag in changed if known[tag] is not None]
    for tag in moved:
        if not may_move(tag):
            hint = "publish under another tag, or use `--force`"
            raise InstallError(f"the tag {quoted(tag)} of {quoted(registry.name)} has another content", hint=hint)
    if changed:
        for blob in blobs:
            if not registry.has_blob(digest_of(blob)):
                if progress is not None:
                    progress(f"uploading {len(blob):,} bytes to {registry.name}")
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
