"""Describe one skill of a catalog, as the host sees it.

Every attribute has the name it has in `list --json`. Attributes that most callers never ask for are worked out on first
use.
"""

from __future__ import annotations

import os
from enum import StrEnum

from prowess._internal.frozen import LazyFrozen
from prowess._internal.text import normalize_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess._internal.frozen import FieldLoader
    from prowess.filesystem import Filesystem
    from prowess.findings import Finding
    from prowess.hosts import Host, RootAliases
    from prowess.skill import Requirements, Skill


class State(StrEnum):
    """The state of a skill in a catalog; compares equal to its word."""

    ACTIVE = "active"
    USER_ONLY = "user-only"
    """The model does not see it."""
    DEFERRED = "deferred"
    """The client shows it later: it is nested below the working directory, or limited to `paths`."""
    SHADOWED = "shadowed"
    DISABLED = "disabled"
    UNTRUSTED = "untrusted"
    REJECTED = "rejected"


REACHABLE = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)
"""States of a skill that the model or the user of the host can reach by its name."""

AWAITS_TRUST = "trust-default"
"""The rule of a skill that is `untrusted` because its user has not yet decided about the project: no loss."""


PLACE_FIELDS = (
    *("name", "alias", "frontmatter_name", "folder", "path", "real", "scope", "root", "namespace"),
    *("state", "reason", "rule", "shadowed_by", "digest"),
)
"""The attributes of an entry that are known as soon as it is made."""


class Entry(LazyFrozen, not_compared=("skill",)):
    """One skill of a catalog, as the host sees it."""

    name: str
    """What the host calls it; with its namespace, if it has one."""
    alias: str | None = None
    """A second name that the host shows."""
    frontmatter_name: str | None
    """The name in its front matter, which the host may not use; `None` if missing."""
    folder: str
    """The name of the folder that contains its SKILL.md."""
    description: str
    """As the host shows it to the model; as written if the host does not show it."""
    path: str
    """The absolute path of its SKILL.md, as the host reaches it."""
    real: str
    """The same path without links."""
    scope: str
    """The scope of its root, as in `Root.scope`."""
    root: str
    """The absolute path of the skills folder it was found in."""
    namespace: str | None = None
    state: State
    reason: str | None = None
    """Why it is in that state; `None` for most active skills."""
    rule: str
    """The rule that decided its state, for `why`."""
    shadowed_by: str | None = None
    """The path of the skill that won."""
    digest: str | None = None
    """The digest of all files of the skill; `None` until `with_digest` computes it."""
    requirements: Requirements
    findings: tuple[Finding, ...] = ()
    skill: Skill

    @classmethod
    def from_values(
        cls, loader: FieldLoader, subject: object, values: Sequence[object], names: tuple[str, ...] = PLACE_FIELDS
    ) -> Entry:
        """Return an entry of which some attributes are known, faster than `from_loader` does.

        Args:
            loader: gives the other attributes on first use.
            subject: what the loader is asked about.
            values: the known attributes, in the order of `names`.
            names: as one object for all entries with the same known attributes.
        """
        entry = _new_object(cls)
        _set_attribute(entry, "_source", (loader, subject))
        _set_attribute(entry, "_known", names)
        for name, value in zip(names, values, strict=True):
            _set_attribute(entry, name, value)
        return entry

    @property
    def names(self) -> set[str]:
        """Every name under which a user may look for it, normalized for comparison."""
        names = {self.name, self.alias, self.frontmatter_name, self.folder}  # mostly one
        return {normalize_name(name) for name in names if name}

    @property
    def readable(self) -> bool:
        """Whether its SKILL.md could be opened."""
        return not (self.state is State.REJECTED and self.rule.startswith("file-"))

    def template_values(self, host: Host, roots: RootAliases) -> dict[str, str]:
        """Return the values for the placeholders of a host's template."""
        from prowess.hosts import TEMPLATE_VALUES

        return {name: value_of(host, self, roots) for name, value_of in TEMPLATE_VALUES.items()}

    def as_dict(self) -> dict[str, object]:
        """Return the entry in the shape of `list --json`."""
        return {
            "name": self.name,
            "frontmatter_name": self.frontmatter_name,
            "folder": self.folder,
            "description": self.description,
            "path": self.path,
            "scope": self.scope,
            "root": self.root,
            "namespace": self.namespace,
            "state": str(self.state),
            "reason": self.reason,
            "shadowed_by": self.shadowed_by,
            "digest": self.digest,
            "requirements": self.requirements.as_dict(),
            "findings": [item.as_dict() for item in self.findings],
        }


_new_object, _set_attribute = object.__new__, object.__setattr__


def with_digest(entry: Entry, filesystem: Filesystem | None = None) -> Entry:
    """Return the entry with its digest. It reads all files of the skill, or only as many as `filesystem` allows."""
    if not _needs_digest(entry):
        return entry
    if filesystem is not None:
        return entry.with_changes(digest=filesystem.digest(entry.path))
    from prowess._internal.files import skill_digest

    return entry.with_changes(digest=skill_digest(os.path.dirname(entry.path)))


def with_digests(entries: Sequence[Entry], filesystem: Filesystem | None = None) -> Iterator[Entry]:
    """Yield entries with their digests, until so many bytes were read that the others take too long."""
    if filesystem is not None:
        yield from (with_digest(entry, filesystem) for entry in entries)
        return
    from prowess._internal.files import MAX_DIGEST_BYTES, skill_files

    bytes_left = 2 * MAX_DIGEST_BYTES
    for entry in entries:
        if _needs_digest(entry):
            bytes_left -= sum(size for _, size in skill_files(os.path.dirname(entry.path)))
            yield with_digest(entry) if bytes_left >= 0 else entry
        else:
            yield entry


def _needs_digest(entry: Entry) -> bool:
    # The path of a skill of a server is that of no file, though it could be one below the working directory.
    return entry.digest is None and entry.readable and os.path.isabs(entry.path)
