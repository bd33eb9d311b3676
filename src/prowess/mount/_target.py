"""Check that a target folder is free, or is an unchanged copy that Prowess mounted there before."""

from __future__ import annotations

import os

from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import SkillMountError
from prowess.skill import integrity_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._record import RecordedMount

__all__ = ["check_free", "check_unchanged"]


def check_free(target: str, recorded: RecordedMount | None) -> None:
    """Check that mounting a skill loses nothing.

    Args:
        target: the folder to mount into.
        recorded: what the mount record says about this name.

    Raises:
        SkillMountError: the target exists, and Prowess did not mount it, or it has changed since.
    """
    if not os.path.lexists(target):
        return
    if recorded is None:
        message = f"{quoted(target, PATH_LIMIT)} already exists, and Prowess did not mount it"
        raise SkillMountError(message, hint="move it away, or mount the skill under another name: `NAME=PATH`")
    check_unchanged(target, recorded)


def check_unchanged(target: str, recorded: RecordedMount) -> None:
    """Check that a mounted skill is still as it was mounted.

    Raises:
        SkillMountError: it is not.
    """
    if os.path.islink(target) or integrity_digest(target) != recorded.integrity:
        message = f"{quoted(target, PATH_LIMIT)} has changed since it was mounted"
        raise SkillMountError(message, hint="copy what you need from it, then remove the folder")
