"""Let a user choose among the skills of a source: by numbers, names, plugins, or a word to search for."""

from __future__ import annotations

import re
import sys
from collections import Counter

from prowess._internal.text import neutral, quoted
from prowess.cli._output import format_table, pluralize, print_lines, print_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.install import OfferedSkill

_MAX_LISTED = 40
"""More skills are listed only if they match a word."""
_FIRST = 15
"""Of more skills, the first ones that are listed."""
_QUESTION = "which? numbers like `1 3-5`, names, `all`, or a word to search for (Enter: none)"
_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?").fullmatch


class Choice:
    """The skills of a source, each with its number."""

    def __init__(self, offered: Sequence[OfferedSkill]) -> None:
        """Take the skills; those of one plugin are listed together, those without one first."""
        self.skills = sorted(offered, key=lambda skill: skill.plugin.casefold())
        self.numbers = {skill.name: number for number, skill in enumerate(self.skills, 1)}

    def ask(self) -> tuple[str, ...]:
        """List the skills, ask which are wanted until the answer is clear, and return their names."""
        print_lines(self._overview())
        while True:
            print_stderr(_QUESTION)
            answer = sys.stdin.readline().strip()
            names = self.names(answer)
            if names is not None:
                return names
            found = self.search(answer)
            print_lines(self._table(found) if found else [f"no skill has {quoted(answer)} in its name or description"])

    def names(self, answer: str) -> tuple[str, ...] | None:
        """Return the names that an answer chooses, in the order of the list; `None` if it is a word to search for."""
        if answer.lower() in ("all", "*"):
            return tuple(skill.name for skill in self.skills)
        chosen: set[str] = set()
        for word in re.split(r"[,\s]+", answer) if answer else ():
            picked = self._pick(word.lower())
            if not picked and word:
                return None
            chosen.update(picked)
        return tuple(skill.name for skill in self.skills if skill.name in chosen)

    def _pick(self, word: str) -> list[str]:
        """Return the names of the skills that one word of an answer chooses."""
        if numbers := _RANGE(word):
            first, last = int(numbers[1]), int(numbers[2] or numbers[1])
            return [skill.name for skill in self.skills[max(first - 1, 0) : last]] if first else []
        names = [skill.name for skill in self.skills if skill.name.lower() == word]
        return names or [skill.name for skill in self.skills if skill.plugin.lower() == word]

    def search(self, words: str) -> list[OfferedSkill]:
        """Return the skills that have all words in their name, plugin or description."""
        wanted = words.casefold().split()
        texts = ((skill, f"{skill.name} {skill.plugin} {skill.description}".casefold()) for skill in self.skills)
        return [skill for skill, text in texts if all(word in text for word in wanted)]

    def _overview(self) -> Iterator[str]:
        plugins = Counter(skill.plugin for skill in self.skills if skill.plugin)
        if len(self.skills) <= _MAX_LISTED:
            yield from self._table(self.skills)
            return
        if plugins:
            rows = [("PLUGIN", "SKILLS"), *((name, f"{count:,}") for name, count in plugins.items())]
            yield from format_table(rows[: _FIRST + 1])
            yield from _more(len(plugins) - _FIRST, "plugin")
            yield ""
        yield from self._table(self.skills[:_FIRST])
        yield from _more(len(self.skills) - _FIRST, "skill")

    def _table(self, skills: Sequence[OfferedSkill]) -> Iterator[str]:
        """Yield a line for each skill, below a line for each plugin."""
        shown = skills[:_MAX_LISTED]
        width = len(f"{len(self.skills):,}")
        rows = [(f"{self.numbers[skill.name]:>{width}}", skill.name, skill.description) for skill in shown]
        plugin = ""
        for skill, line in zip(shown, format_table(rows), strict=True):
            if skill.plugin != plugin:
                plugin = skill.plugin
                yield f"{neutral(plugin)}:"
            yield line
        yield from _more(len(skills) - len(shown), "skill")


def _more(count: int, what: str) -> Iterator[str]:
    if count > 0:
        yield f"... and {pluralize(count, f'more {what}')}"
