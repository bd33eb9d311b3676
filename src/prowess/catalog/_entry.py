"""Describe one skill of a catalog, as the host sees it.

Every attribute has the name it has in `list --json`. Attributes that most callers never ask for are worked out on first
use.
"""

from __future__ import annotations

import os
from enum import StrEnum

from prowess._internal.frozen import LazyFrozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess._internal.frozen import FieldLoader
    from prowess.findings import Finding
    from prowess.hosts import Host, RootAliases
    from prowess.skill import Requirements, Skill

    from ._skill_file_lists import SkillFileLists

__all__ = ["AWAITS_TRUST", "REACHABLE", "Entry", "State", "with_digest"]


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
    def lazily_active(cls, loader: FieldLoader, subject: object, name: str) -> Entry:
        """Return the entry of an active skill. The loader gives the other attributes on first use."""
        entry = _new_object(cls)
        _set_attribute(entry, "_source", (loader, subject))
        _set_attribute(entry, "_known", _ACTIVE_FIELDS)
        _set_attribute(entry, "name", name)
        _set_attribute(entry, "state", _ACTIVE)
        return entry

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


_ACTIVE, _ACTIVE_FIELDS = State.ACTIVE, ("name", "state")
_new_object, _set_attribute = object.__new__, object.__setattr__


def with_digest(entry: Entry, filesystem: SkillFileLists | None = None) -> Entry:
    """Return the entry with its digest. It reads all files of the skill, or only as many as `filesystem` allows."""
    # The path of a skill of a server is that of no file, though it could be one below the working directory.
    if entry.digest is not None or not entry.readable or not os.path.isabs(entry.path):
        return entry
    if filesystem is not None:
        return entry.with_changes(digest=filesystem.digest(entry.path))
    from prowess._internal.files import skill_digest

    return entry.with_changes(digest=skill_digest(os.path.dirname(entry.path)))
