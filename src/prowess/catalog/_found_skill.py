"""Define a SKILL.md as a host reaches it."""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen
from prowess.skill import from_document, parse_frontmatter

from ._files_as_skills import file_label
from ._roots import ScanRoot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.findings import Finding
    from prowess.skill import FastFrontmatter, Skill

    from ._roots import ScanRoot

__all__ = ["FoundSkill", "ScanResult"]


class FoundSkill:
    """A SKILL.md as a host reaches it. It is small, since there may be ten thousand."""

    __slots__ = ("_skill", "fast_fields", "path", "real", "scan_root")

    def __init__(
        self,
        path: str,
        real: str,
        scan_root: ScanRoot,
        skill: Skill | None = None,
        fast_fields: FastFrontmatter | None = None,
    ) -> None:
        self.path = path
        self.real = real
        """The same without links."""
        self.scan_root = scan_root
        self.fast_fields = fast_fields
        """The fields, if the fast path could read them."""
        self._skill = skill

    @property
    def folder(self) -> str:
        """The name of its folder; for a file that is a whole skill, its path below the root as a name."""
        root = self.scan_root.root
        if self.scan_root.label:
            return self.scan_root.label
        if root.files:
            return file_label(self.scan_root.path, self.path, root)
        return os.path.basename(os.path.dirname(self.path))

    @property
    def skill(self) -> Skill:
        """The skill, parsed in full now if the fast path has read it."""
        if self._skill is None:
            front = b"" if self.fast_fields is None else self.fast_fields[3]
            self._skill = from_document(parse_frontmatter(front, self.path, complete=False), self.path)
        return self._skill

    def with_skill(self, skill: Skill) -> FoundSkill:
        """Return the same file with the skill that a client reads there."""
        fast_fields = self.fast_fields if skill.document is self.skill.document else None
        return FoundSkill(self.path, self.real, self.scan_root, skill, fast_fields)


class ScanResult(Frozen):
    """The skills that a host finds, highest precedence first."""

    scan_roots: tuple[ScanRoot, ...]
    found: tuple[FoundSkill, ...]
    findings: tuple[Finding, ...]
