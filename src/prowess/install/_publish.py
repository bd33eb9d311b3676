"""Publish a skill where others can add it from: a registry, a bucket or a file.

The skill is packed first, so that what is published is what was read and checked. Each kind of place has one module
with a function `publish`.
"""

from __future__ import annotations

import os
from functools import partial

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError, InstallError
from prowess.install.archive import pack_skill
from prowess.install.sources import Source, has_archive_name, parse_source
from prowess.skill import is_portable_name, load

from ._secrets import check_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prowess.lock import Tree
    from prowess.skill import Skill

_KINDS = {"oci": "sources.oci", "bucket": "sources.bucket", "folder": "_archive_publishing"}
"""Each kind of place, and the module whose `publish` writes there."""


class PackedSkill(Frozen):
    """A skill that is ready to be published."""

    name: str
    skill: Skill
    tree: Tree
    archive: bytes
    """Tar with gzip, with everything below a folder of the skill's name."""
    folder: str
    """From which it was read."""
    original: bytes = b""
    """The `.skill` or `.zip` file from which it was read; empty if it was not one, or has more than the skill."""


class Publication(Frozen):
    """A skill to publish, where, and how."""

    packed: PackedSkill
    place: Source
    """As `parse_destination` returns it."""
    tags: tuple[str, ...] = ()
    """Further names for it."""
    may_move: Callable[[str], bool]
    """Called with a name that has another content now; returns whether to replace it."""
    dry_run: bool = False
    """Only return what would be published."""
    progress: Callable[[str], None] | None = None
    """Called with what is being done."""

    def tell(self, text: str) -> None:
        """Say what is being done."""
        if self.progress is not None:
            self.progress(text)

    def published(self, state: str, reference: str, digest: str, tags: tuple[str, ...] = ()) -> Published:
        """Return what was published."""
        name, size = self.packed.name, len(self.packed.archive)
        return Published(name=name, reference=reference, digest=digest, tags=tags, size=size, state=state)


class Published(Frozen):
    """A skill that was published, or would be."""

    name: str
    reference: str
    """A source that names exactly this content."""
    digest: str
    """Of the manifest in a registry, of the archive in a bucket or a file."""
    tags: tuple[str, ...]
    """The names that lead to it now."""
    size: int
    """Bytes of the archive."""
    state: str
    """`new`, `moved` if a name led to another content before, `unchanged`, or `planned`."""


def parse_destination(text: str) -> Source:
    """Return where a skill is published.

    Raises:
        ConfigError: it is not a registry, a bucket, or a file that is called like an archive.
    """
    try:
        is_file = "://" not in text and has_archive_name(text)
        place = Source(kind="folder", url=os.path.expanduser(text), text=text) if is_file else parse_source(text)
    except InstallError as error:
        if "://" in text:
            raise ConfigError(str(error), hint=error.hint) from None
        place = None
    if place is None or place.kind not in _KINDS or (place.kind == "folder" and not has_archive_name(place.url)):
        hint = "write `oci://REGISTRY/REPOSITORY:TAG`, `s3://BUCKET/PATH`, `file:///FOLDER` or `./NAME.skill`"
        raise ConfigError(f"nothing can be published to {quoted(text, PATH_LIMIT)}", hint=hint)
    if place.skill is not None or (place.ref or "").startswith("sha256:"):
        hint = "the skill is named by its folder, and the digest follows from its files"
        raise ConfigError(f"{quoted(place.text, PATH_LIMIT)} names a skill or a digest", hint=hint)
    return place


def prepare_skill(folder: str, allowed: Iterable[str] = ()) -> PackedSkill:
    """Read and pack a skill.

    Args:
        folder: of the skill.
        allowed: the paths of files that may have secrets.

    Raises:
        ConfigError: the skill has no file with an allowed path.
        InstallError: its name is invalid, or a file of it cannot be published or may have a secret.
    """
    skill = load(os.path.join(folder, SKILL_FILE))
    if skill.name is None or not is_portable_name(skill.name):
        hint = f"give it a name in the front matter of its {SKILL_FILE}"
        raise InstallError(f"the skill in {quoted(folder, PATH_LIMIT)} has no valid name", hint=hint)
    archive, tree = pack_skill(folder, skill.name, partial(check_secrets, allowed=allowed))
    return PackedSkill(name=skill.name, skill=skill, tree=tree, archive=archive, folder=folder)


def publish_skill(publication: Publication) -> Published:
    """Publish a skill.

    Raises:
        ConfigError: a file with credentials is invalid, or a library is missing.
        InstallError: the place refuses it, or a name that has another content may not be moved.
    """
    from importlib import import_module

    published: Published = import_module(f".{_KINDS[publication.place.kind]}", __package__).publish(publication)
    return published
