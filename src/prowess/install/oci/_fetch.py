"""Fetch skills from a registry of containers.

The manifest says which blobs belong to a skill, and with its digest nothing else is installed. See `_manifest` for
the ways in which skills are published.
"""

from __future__ import annotations

import os

from prowess._internal.files import MAX_DIGEST_BYTES
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, open_fd, open_or_make_folder
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError
from prowess.install._archive import unpack
from prowess.install._fetched import Fetched, FetchedSkill
from prowess.install._folder import find_skills
from prowess.install._tree import check_paths

from ._manifest import parse_index, parse_manifest
from ._registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prowess.findings import Finding
    from prowess.install._source import Source
    from prowess.install._store import OpenStore

    from ._manifest import Layer
    from ._registry import StoredManifest

__all__ = ["fetch", "newest", "open_registry"]

_DEFAULT_TAG = "latest"


def fetch(
    source: Source,
    opened: OpenStore,
    *,
    only: Sequence[str] = (),
    revision: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Fetched:
    """Fetch skills into temporary folders of the store.

    Args:
        source: the repository with a tag or digest; by default the tag `latest`.
        opened: the store.
        only: the names of those that are wanted; by default all.
        revision: the digest of the manifest; by default the one that the source names now.
        progress: called with what is being done.

    Raises:
        ConfigError: a file with credentials is invalid.
        InstallError: the registry cannot be read, what it has is no skill, or breaks a rule.
    """
    if revision is not None and not revision.startswith("sha256:"):
        raise InstallError(f"invalid tag or digest {quoted(revision)}", hint="a revision begins with `sha256:`")
    wanted = tuple(dict.fromkeys((*only, *((source.skill,) if source.skill else ()))))
    skills: list[FetchedSkill] = []
    findings: list[Finding] = []
    with open_registry(source.url) as registry:
        top = _manifest(registry, revision or source.ref or _DEFAULT_TAG, source)
        listed = parse_index(top)
        if listed is None:
            manifests = [top]
        else:
            named = [entry for entry in listed if entry.name in wanted]
            manifests = [_manifest(registry, entry.digest, source) for entry in named or listed]
        for manifest in manifests:
            found, problems = _fetch_manifest(registry, manifest, opened, progress)
            skills += found
            findings += problems
    return Fetched(skills=_choose(skills, wanted, source), revision=top.digest, findings=tuple(findings))


def newest(source: Source) -> str:
    """Return the digest of the manifest that a source names now, without fetching the skill.

    Raises:
        ConfigError: a file with credentials is invalid.
        InstallError: the registry cannot be read, or has no such tag.
    """
    with open_registry(source.url) as registry:
        return _manifest(registry, source.ref or _DEFAULT_TAG, source).digest


def open_registry(url: str, *, push: bool = False) -> Registry:
    """Open the repository of a URL such as `oci://registry.example.com/team/pdf`.

    Raises:
        ConfigError: a file with credentials is invalid.
        InstallError: its host is invalid.
    """
    registry, _, repository = url.removeprefix("oci://").partition("/")
    return Registry(registry, repository, push=push, env=os.environ)


def _manifest(registry: Registry, reference: str, source: Source) -> StoredManifest:
    stored = registry.manifest(reference)
    if stored is None:
        what = f"digest {reference}" if reference.startswith("sha256:") else f"tag {quoted(reference)}"
        raise InstallError(f"{quoted(source.url, PATH_LIMIT)} has no {what}", hint="check the name and the tag")
    return stored


def _fetch_manifest(
    registry: Registry, manifest: StoredManifest, opened: OpenStore, progress: Callable[[str], None] | None
) -> tuple[list[FetchedSkill], list[Finding]]:
    """Write the layers of a manifest into one folder, and return the skills in it."""
    layers = parse_manifest(manifest)
    size = sum(layer.blob.size for layer in layers)
    if size > MAX_DIGEST_BYTES:
        message = f"{quoted(registry.name, PATH_LIMIT)} has {size:,} bytes, more than {MAX_DIGEST_BYTES:,}"
        raise InstallError(message, hint="a skill is smaller; is this the image of a program?")
    target, downloads = opened.new_folder(), opened.new_folder()
    check_paths(layer.title for layer in layers if layer.title is not None)
    for number, layer in enumerate(layers):
        if progress is not None:
            progress(f"fetching {number + 1:,} of {len(layers):,} from {registry.name}")
        try:
            _fetch_layer(registry, layer, target, os.path.join(downloads, str(number)))
        except OSError as error:
            reason = describe_os_error(error)
            raise InstallError(f"cannot write a fetched file: {reason}", hint="make room on the disk") from None
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
        InstallError: the artifact has no skill, one is missing, or two have the same name.
    """
    url = quoted(source.url, PATH_LIMIT)
    names = [skill.name for skill in skills]
    if not skills:
        raise InstallError(f"{url} has no skill", hint="a skill is a folder with a `SKILL.md`")
    for name in wanted:
        if name not in names:
            known = ", ".join(map(quoted, sorted(names)[:5]))
            raise InstallError(f"{url} has no skill {quoted(name)}", hint=f"it has {known}")
    chosen = [skill for skill in skills if not wanted or skill.name in wanted]
    for skill in chosen:
        if names.count(skill.name) > 1:
            raise InstallError(f"{url} has two skills of the name {quoted(skill.name)}", hint="ask its author")
    return tuple(chosen)
