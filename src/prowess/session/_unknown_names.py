"""Report once in a conversation that no usable skill has a name which its user mentioned."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._mentions import Mention

__all__ = ["UnknownNames"]

_MAX_NAMES = 100


class UnknownNames:
    """The unknown names that were reported to the model.

    Args:
        names: what `names` was when the conversation was saved.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = dict.fromkeys(names)

    @property
    def names(self) -> tuple[str, ...]:
        """The last names that were reported."""
        return tuple(self._names)

    def problems(self, mentions: Iterable[Mention]) -> list[str]:
        """Return why each name that is new here cannot be used, and remember the name."""
        unknown = {mention.name: mention.problem or "" for mention in mentions if mention.entry is None}
        new = {name: problem for name, problem in unknown.items() if name not in self._names}
        self._names.update(dict.fromkeys(new))
        for name in [*self._names][:-_MAX_NAMES]:
            del self._names[name]
        return list(new.values())[:_MAX_NAMES]
