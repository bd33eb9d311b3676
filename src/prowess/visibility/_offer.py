"""Say what a repository offers that has skills for others, and has installed none of them."""

from __future__ import annotations

from prowess._internal.files import real_path
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

    @property
    def broken(self) -> int:
        """How many of them have errors."""
        return sum(map(has_errors, self.skills))

    @property
    def sentence(self) -> str:
        """What is offered, without a full stop."""
        count, broken = len(self.skills), self.broken
        parts = [f"{count:,} skill{'s'[: count != 1]}"]
        if self.plugins:
            parts[0] += f" in {self.plugins:,} plugin{'s'[: self.plugins != 1]}"
        if broken:
            parts.append(f"{broken:,} {'has' if broken == 1 else 'have'} errors")
        return f"This repository offers {'; '.join(parts)}; none is installed here"


def find_offer(comparison: Comparison, found: Sequence[RepositorySkill]) -> Offer | None:
    """Return what a repository offers; `None` if it offers nothing, or an agent finds one of its skills there.

    Args:
        comparison: of all its skills.
        found: its skills.
    """
    # Many a repository of skills has them at its top, without a folder for all.
    top = real_path(comparison.cwd)
    places = {skill.real: skill for skill in found if skill.kind in _KINDS or skill.place == top}
    skills = tuple(skill for skill in comparison.distinct if skill.real in places)
    of_project = {skill.real for skill in found} - places.keys()
    is_installed = any(view.state != ABSENT for skill in skills for view in skill.views.values())
    if not skills or is_installed or any(skill.real in of_project for skill in comparison.distinct):
        return None
    plugins = {places[skill.real].plugin for skill in skills} - {None}
    return Offer(skills=skills, plugins=len(plugins))


def has_errors(skill: ComparedSkill) -> bool:
    """Return whether a skill has an error under the policy `guide`."""
    return any(item.severity == "error" for item in skill.findings)
