"""Activate a skill for a user, without a conversation."""

from __future__ import annotations

from prowess.skill import load

from ._activation import render_activation
from ._lookup import find_activatable
from ._resources import resource_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.catalog import Catalog

    from ._activation import Activation


def activate_once(catalog: Catalog, name: str, arguments: str | None = None) -> Activation:
    """Return what `Session.activate` returns to a user at first, without the digest, which takes all files to compute.

    Args:
        catalog: where to look; its skills are files of this machine.
        name: of the skill, or another reference to it.
        arguments: what was given with the name.

    Raises:
        SkillNotFoundError: no skill has this name.
        AmbiguousSkillError: several skills have this name.
        ActivationError: the skill may not be activated, or cannot be read now.
    """
    entry = find_activatable(catalog, name, "user")
    skill = load(entry.path, real=entry.real)
    needs = skill.requirements
    notes: tuple[str, ...] = ()
    if any(needs.as_dict().values()):
        from prowess.skill import find_missing

        notes = tuple(missing.message for missing in find_missing(needs))
    return render_activation(entry, skill, arguments, folder=resource_folder(entry), notes=notes, digest=False)
