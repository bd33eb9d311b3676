"""found skill + view -> what a catalog says of it

Every attribute has the name it has in `list --json`. What most callers never ask for is worked out when they do.
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

    from ._filesystem import Filesystem

__all__ = ["REACHABLE", "Entry", "State", "with_digest"]


class State(StrEnum):
    """What became of a skill; compares equal to its word."""

    ACTIVE = "active"
    USER_ONLY = "user-only"
    """The model does not see it."""
    DEFERRED = "deferred"
    """The client shows it later: it is nested below the working directory, or bound to `paths`."""
    SHADOWED = "shadowed"
    DISABLED = "disabled"
    UNTRUSTED = "untrusted"
    REJECTED = "rejected"


REACHABLE = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)
"""States of a skill that the model or the user of the host can reach by its name."""


class Entry(LazyFrozen, not_compared=("skill",)):
    """One skill of a catalog, as the host sees it."""

    name: str
    """What the host calls it; with its namespace, if it has one."""
    alias: str | None = None
    """A second name the host shows beside it."""
    frontmatter_name: str | None
    """The name in its front matter, which need not be what the host calls it; None where there is none."""
    folder: str
    """The name of the folder its SKILL.md lies in."""
    description: str
    """As the host shows it to the model; as written where the host does not show it."""
    path: str
    """Absolute, of its SKILL.md, as the host reaches it."""
    real: str
    """The same without links."""
    scope: str
    """Of the root it was found in, as in `Root.scope`."""
    root: str
    """Absolute, of the skills folder it was found in."""
    namespace: str | None = None
    state: State
    reason: str | None = None
    """Why it is in that state; None where it is plainly active."""
    rule: str
    """The rule that decided, for `why`."""
    shadowed_by: str | None = None
    """The path of the skill that won."""
    digest: str | None = None
    """Over all files of the skill; None until it is asked for."""
    requirements: Requirements
    findings: tuple[Finding, ...] = ()
    skill: Skill

    @classmethod
    def lazily_active(cls, loader: FieldLoader, subject: object, name: str) -> Entry:
        """Make the entry of a skill that is plainly active; a teller tells the rest when it is asked for."""
        entry = _new_object(cls)
        _set_attribute(entry, "_source", (loader, subject))
        _set_attribute(entry, "name", name)
        _set_attribute(entry, "state", _ACTIVE)
        return entry

    @property
    def readable(self) -> bool:
        """Whether its SKILL.md could be opened."""
        return not (self.state is State.REJECTED and self.rule.startswith("file-"))

    def template_values(self, host: Host, roots: RootAliases) -> dict[str, str]:
        """Return what fills the holes of a host's template."""
        from prowess.hosts import template_values

        return template_values(
            host,
            name=self.name,
            alias=self.alias,
            description=self.description,
            path=self.path,
            root=self.root,
            scope=self.scope,
            roots=roots,
        )

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


_ACTIVE = State.ACTIVE
_new_object, _set_attribute = object.__new__, object.__setattr__


def with_digest(entry: Entry, filesystem: Filesystem | None = None) -> Entry:
    """Return the entry with its digest, which costs reading all its files; with `disk`, only as far as that reads."""
    if entry.digest is not None or not entry.readable:
        return entry
    if filesystem is not None:
        return entry.with_changes(digest=filesystem.digest(entry.path))
    from prowess._internal.files import skill_digest

    return entry.with_changes(digest=skill_digest(os.path.dirname(entry.path)))
