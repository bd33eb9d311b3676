"""Read the skills of a provider, whatever it raises."""

from __future__ import annotations

from prowess._internal.text import neutral, quoted
from prowess.errors import ActivationError, ProwessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.catalog import Entry, SkillReader
    from prowess.skill import Skill

__all__ = ["SafeReader"]


class SafeReader:
    """Read the skills of a provider, and turn each exception into a Prowess error, so that conversations continue."""

    def __init__(self, reader: SkillReader) -> None:
        self._reader = reader

    def read(self, skill: Entry) -> Skill:
        """Return a skill with its body.

        Raises:
            ActivationError: the provider failed.
        """
        try:
            return self._reader.read(skill)
        except ProwessError:
            raise
        except Exception as error:
            reason = neutral(str(error) or type(error).__name__)
            raise ActivationError(
                f"the skill {quoted(skill.name)} cannot be read now: {reason}",
                hint="go on without it, or try again later",
            ) from error
