"""Describe what a source of skills gave: the skills, and the revision of the source."""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.findings import Finding
    from prowess.install.lock import NotedFiles, Tree


class FetchedSkill(Frozen):
    """A skill that was fetched into a temporary folder of the store."""

    name: str
    """From its front matter."""
    path: str
    """Its folder in the source, with `/`, such as `skills/pdf`; empty if the source is the skill."""
    folder: str
    """Its folder on this machine, absolute."""
    extra: Mapping[str, str] = EMPTY
    """Further fields of the lock that only this kind of source has, such as `wellKnownDigest`."""
    noted: NotedFiles | None = None
    """Its files, if they were noted while they were written."""

    @property
    def tree(self) -> Tree | None:
        """All its files, if they are known without reading them."""
        return None if self.noted is None else self.noted.tree


class Fetched(Frozen):
    """What a source gave."""

    skills: tuple[FetchedSkill, ...]
    revision: str | None
    """What names exactly this content: a commit of git, the digest of a manifest; `None` if the source has no such."""
    findings: tuple[Finding, ...] = ()
    """What was left out, and why."""
