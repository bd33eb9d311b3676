"""Rank a skill among others for the prompts of its cases, by the search of Prowess: level 1.

This is not what a model does: it finds descriptions that claim the same words.
"""

from __future__ import annotations

import re
from pkgutil import get_data

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.text import normalize_name
from prowess.catalog import State
from prowess.search import Index, ordered_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prowess.catalog import Entry

    from ._cases import EvalCase

_SHIPPED = "crowd.txt"
_find_words = re.compile(r"[^\W_][\w'-]*").findall


class Rank(Frozen):
    """Where the search ranks a skill for one prompt."""

    case: EvalCase
    rank: int | None
    """1 is the best; `None` if no word of the prompt is in the skill."""
    rival: str | None = None
    """The skill that is confused with it: the first one if the skill should be, or the first other one if it should
    not be and is."""
    words: tuple[str, ...] = ()
    """The words of the prompt that both claim in their names and descriptions."""

    @property
    def is_right(self) -> bool:
        """Whether the skill is first if it should be used, and is not if it should not."""
        return (self.rank == 1) is self.case.triggers

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        return {
            "case": self.case.id,
            "should_trigger": self.case.triggers,
            "rank": self.rank,
            "right": self.is_right,
            "rival": self.rival,
            "words": list(self.words),
        }


class Found(Frozen):
    """Where a skill is among others."""

    others: int
    ranks: tuple[Rank, ...]
    compared: tuple[Rank, ...] | None = None
    """The same with another description."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        ranks = [rank.as_dict() for rank in self.ranks]
        compared = None if self.compared is None else {"ranks": [rank.as_dict() for rank in self.compared]}
        return {"others": self.others, "ranks": ranks, "compared": compared}


class _Description:
    """A skill that is only a description: nothing of it is read from a file."""

    def read_file(self) -> None:
        """Say to the search that a body would have to be fetched."""


def rivals_of(skill: Entry, others: Iterable[Entry]) -> list[Entry]:
    """Return the skills among which one is ranked: the others without its copies, and without those of its name."""
    own = normalize_name(skill.name)
    return [entry for entry in others if entry.real != skill.real and normalize_name(entry.name) != own]


def rank_skill(skill: Entry, others: Iterable[Entry], cases: Sequence[EvalCase]) -> tuple[Rank, ...]:
    """Return where a skill is among others, for each case.

    Args:
        skill: the one that is evaluated.
        others: those it is ranked among; copies of it are left out.
        cases: of its eval.
    """
    rivals = rivals_of(skill, others)
    entries = (skill, *rivals)
    # The search reads the bodies of skills, as `prowess search` does, except of those that are only descriptions.
    readers = {entry.path: _Description() for entry in rivals if entry.scope == "crowd"}
    index = Index(entries, readers, cache=False, states=tuple(State))  # type: ignore[arg-type]
    claims = {id(entry): _claims(entry) for entry in entries}
    ranks = []
    for case in cases:
        best = index.best(case.prompt, len(entries))
        rank = next((number for number, entry in enumerate(best, 1) if entry is skill), None)
        confused = None
        if best and case.triggers and rank != 1:
            confused = best[0]
        elif rank == 1 and not case.triggers:
            confused = best[1] if len(best) > 1 else None
        both = claims[id(skill)] & (claims[id(confused)] if confused else claims[id(skill)])
        wrong = confused is not None or (rank == 1 and not case.triggers)
        ranks.append(
            Rank(
                case=case,
                rank=rank,
                rival=confused.name if confused else None,
                words=_common_words(case.prompt, both) if wrong else (),
            )
        )
    return tuple(ranks)


def _claims(entry: Entry) -> frozenset[str]:
    return frozenset(ordered_terms(f"{entry.name} {entry.description}"))


def _common_words(prompt: str, terms: frozenset[str]) -> tuple[str, ...]:
    """Return the words of a prompt that are among some terms, each once, in their order."""
    words = dict.fromkeys(word.lower() for word in _find_words(prompt))
    return tuple(word for word in words if terms.intersection(ordered_terms(word)))


def shipped_crowd(like: Entry) -> tuple[Entry, ...]:
    """Return the descriptions that Prowess ships, as skills.

    Args:
        like: an entry whose other fields they get.
    """
    lines = (get_data(__package__, _SHIPPED) or b"").decode().splitlines()
    named = (line.partition(": ")[::2] for line in lines if line and not line.startswith("#"))
    return tuple(
        like.with_changes(
            name=name,
            alias=None,
            folder=name,
            description=text,
            path=f"/crowd/{name}/{SKILL_FILE}",
            real=f"/crowd/{name}/{SKILL_FILE}",
            scope="crowd",
            state=State.ACTIVE,
            findings=(),
        )
        for name, text in named
    )
