"""found skill + view -> what a catalog says of it

Every attribute has the name it has in `list --json`.
"""

from __future__ import annotations

import os

from ._frozen import Frozen
from .files import skill_digest
from .template import Roots, values_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .disk import Disk
    from .findings import Finding
    from .host import Host
    from .skill import Requirements, Skill
    from .view import State

__all__ = ["Entry", "with_digest"]


class Entry(Frozen, aside=("skill",)):
    """One skill of a catalog, as the host sees it."""

    name: str
    """What the host calls it; with its namespace, if it has one."""
    alias: str | None = None
    """A second name the host shows beside it."""
    frontmatter_name: str | None
    folder: str
    description: str
    """As the host shows it to the model; as written where the host does not show it."""
    path: str
    """Absolute, of its SKILL.md, as the host reaches it."""
    real: str
    """The same without links."""
    scope: str
    root: str
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

    def values(self, host: Host, roots: Roots) -> dict[str, str]:
        """Return what fills the holes of a host's template."""
        return values_of(
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


def with_digest(entry: Entry, disk: Disk | None = None) -> Entry:
    """Return the entry with its digest, which costs reading all its files; with `disk`, only as far as that reads."""
    if entry.digest is not None or entry.skill.document is None:
        return entry
    return entry.but(digest=skill_digest(os.path.dirname(entry.path)) if disk is None else disk.digest(entry.path))
