"""Say which skills a repository offers to others that are not installed in it, and set them apart from its own."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.frozen import Frozen

from ._compare import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.find import RepositorySkill

    from ._compare import ComparedSkill, Comparison

_KINDS = ("skills-folder", "plugin", "marketplace")
"""The kinds of places for skills that a repository offers."""


class Offer(Frozen):
    """The skills that a repository offers. That no agent sees them there is no loss."""

    skills: tuple[ComparedSkill, ...]
    plugins: int
    """How many plugins they belong to."""
    is_all: bool
    """Whether the repository has no other skills."""
    others: Comparison
    """What the agents see of the other skills: those of the repository itself, and of the user."""

    @property
    def counted(self) -> Comparison | None:
        """What every command counts: the other skills, if there are any."""
        return self.others if self.others.distinct else None

    @property
    def broken(self) -> int:
        """How many of them have errors."""
        return sum(map(has_errors, self.skills))

    @property
    def sentence(self) -> str:
        """What is offered, without a full stop."""
        count, broken = len(self.skills), self.broken
        parts = [f"{count:,} {'' if self.is_all else 'more '}skill{'s'[: count != 1]}"]
        if self.plugins:
            parts[0] += f" in {self.plugins:,} plugin{'s'[: self.plugins != 1]}"
        if broken:
            parts.append(f"{broken:,} {'has' if broken == 1 else 'have'} errors")
        installed = "none is installed here" if self.is_all else "not installed here"
        return f"This repository offers {'; '.join(parts)}; {installed}"


def find_offer(comparison: Comparison, found: Sequence[RepositorySkill]) -> Offer | None:
    """Return what a repository offers and has not installed; `None` if that is nothing.

    A repository offers skills if most of its skills are in folders for others. A project with skills of its own may
    have a few more in such a folder by mistake: no agent sees them there, and that is a loss.

    Args:
        comparison: of all its skills.
        found: its skills.
    """
    # Many a repository of skills has them at its top, without a folder for all.
    top = real_path(comparison.cwd)
    places = {skill.real: skill for skill in found if skill.kind in _KINDS or skill.place == top}
    of_repository = {skill.real for skill in found}
    own = [skill for skill in comparison.skills if skill.real in of_repository]
    offered_names = {skill.folder for skill in own if skill.real in places}
    more = sum(skill.real not in places and skill.folder not in offered_names for skill in own)  # than is installed
    skills = tuple(skill for skill in comparison.distinct if skill.real in places and not _is_installed(skill, top))
    if not skills or len(offered_names) <= more:
        return None
    offered = {skill.path for skill in skills}
    others = (skill for skill in comparison.skills if offered.isdisjoint((skill.path, skill.copy_of)))
    return Offer(
        skills=skills,
        plugins=len({places[skill.real].plugin for skill in skills} - {None}),
        is_all=len(skills) == sum(skill.real in of_repository for skill in comparison.distinct),
        others=comparison.with_changes(skills=tuple(others)),
    )


def _is_installed(skill: ComparedSkill, project: str) -> bool:
    """Return whether an agent finds a skill, or another one of its name in the project: it was installed from here."""
    inside = os.path.join(project, "")
    return any(view.state != ABSENT or (view.winner or "").startswith(inside) for view in skill.views.values())


def has_errors(skill: ComparedSkill) -> bool:
    """Return whether a skill has an error under the policy `guide`, or a wrong file name."""
    is_misnamed = os.path.basename(skill.path) != SKILL_FILE
    return is_misnamed or any(item.severity == "error" for item in skill.findings)
