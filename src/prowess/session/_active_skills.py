"""Render the `<active_skills>` block: the skills of a conversation once more, within a budget."""

from __future__ import annotations

from prowess._internal.text import neutral
from prowess.errors import SkillError

from ._activation import escape_tags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._ledger import ActivationRecord

__all__ = ["ActiveSkillsBlock"]


class ActiveSkillsBlock:
    """A block that is filled skill by skill, the most recently activated first.

    Args:
        budget: the size of the whole block at most; `None` means no limit.
        size: measures a text.
    """

    def __init__(self, budget: int | None, size: Callable[[str], int]) -> None:
        self._budget, self._size = budget, size
        self._contents: list[str] = []
        self._names: list[str] = []

    def fill(
        self, records: Iterable[ActivationRecord], content: Callable[[ActivationRecord], str], visible: list[str]
    ) -> ActiveSkillsBlock:
        """Add skills, each with its content, or its name alone if that does not fit or cannot be read.

        Args:
            records: the skills.
            content: returns the content of a skill.
            visible: texts that the model still sees: a skill whose content is in them is left out.
        """
        for record in records:
            name = escape_tags(neutral(record.name))
            try:
                text = content(record)
            except (SkillError, OSError):
                self._names.append(f"{name} (cannot be read now)")
                continue
            if any(text in seen for seen in visible):
                continue
            if self._fits(_render([*self._contents, text], self._names)):
                self._contents.append(text)
            else:
                self._names.append(name)
        return self

    def render(self) -> str:
        """Return the block, without what does not fit; empty if there are no skills."""
        text = _render(self._contents, self._names)
        while text and not self._fits(text):
            (self._names or self._contents).pop()
            text = _render(self._contents, self._names)
        return text

    def _fits(self, text: str) -> bool:
        return self._budget is None or self._size(text) <= self._budget


def _render(contents: list[str], names: list[str]) -> str:
    if not contents and not names:
        return ""
    lines = ["<active_skills>", "These skills were activated earlier in this conversation and still apply.", *contents]
    if names:
        lines.append(f"Also active; call `activate_skill` or `read_skill_file` to read them: {', '.join(names)}")
    return "\n".join([*lines, "</active_skills>"])
