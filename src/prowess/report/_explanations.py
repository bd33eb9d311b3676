"""Explain what is lost of each skill, and what to change."""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen
from prowess.capabilities import fact_findings
from prowess.findings import CODES, Severity
from prowess.search import Claim
from prowess.skill import load
from prowess.visibility import KIND_WORDS, Contender, Kind, find_competitors, group_losses, skill_label

from ._states import LOOKS
from ._texts import NAME_LIMIT, PATH_LIMIT, one_line, sentence, short_command, short_path, titles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.findings import Finding
    from prowess.visibility import ComparedSkill, Comparison, Cure, LossGroup

    from ._states import Look
    from ._texts import Phrase

_DESCRIPTION_LIMIT = 400
"""Characters that are shown of a description; a valid one has 1,024 at most."""


class Change(Frozen):
    """What to do about a loss: a command that can be pasted, or else a sentence."""

    agents: str
    """The agents that it helps."""
    command: str
    advice: tuple[Phrase, ...]


class Cause(Frozen):
    """Why some agents do not see a skill, and what to do."""

    agents: str
    look: Look
    is_lost: bool
    reason: tuple[Phrase, ...]
    changes: tuple[Change, ...]


class Problem(Frozen):
    """A finding."""

    severity: str
    place: str
    message: tuple[Phrase, ...]
    hint: tuple[Phrase, ...]
    code: str
    link: str


class Explanation(Frozen):
    """What is lost of one skill, and the findings."""

    number: int
    name: str
    path: str
    description: str
    losers: str
    """The agents that lose it, in words."""
    causes: tuple[Cause, ...]
    problems: tuple[Problem, ...]


class SkillFacts(Frozen):
    """What a person must know about a skill before using it."""

    name: str
    path: str
    facts: tuple[Problem, ...]


class Rival(Frozen):
    """Two skills that claim the same requests."""

    name: str
    other: str
    words: str
    """What both claim."""
    preferred: str
    """The one that the search prefers."""


class Batch(Frozen):
    """Several skills that are lost for one reason, and the commands that help all of them."""

    what: str
    losers: str
    changes: tuple[Change, ...]


def explain_skill(number: int, skill: ComparedSkill, comparison: Comparison) -> Explanation | None:
    """Return why not all agents simply see a skill, and its findings; `None` if there is nothing to say."""
    causes = (*_losses(skill, comparison), *_limits(skill, comparison))
    serious = any(item.severity is not Severity.INFO for item in skill.findings)
    if skill.copy_of is not None or not (causes or serious):
        return None
    return Explanation(
        number=number,
        name=one_line(skill_label(skill.name, skill.folder), NAME_LIMIT),
        path=one_line(short_path(os.path.dirname(skill.path), comparison), PATH_LIMIT),
        description=one_line(skill.description, _DESCRIPTION_LIMIT),
        losers=titles(skill.losers, len(comparison.hosts)),
        causes=causes,
        problems=tuple(as_problem(item, comparison) for item in skill.findings),
    )


def facts_of(comparison: Comparison) -> Iterator[SkillFacts]:
    """Yield the facts about each skill that has some; those of copies once."""
    for skill in comparison.distinct:
        found = fact_findings(load(skill.path))
        if found:
            yield SkillFacts(
                name=one_line(skill_label(skill.name, skill.folder), NAME_LIMIT),
                path=one_line(short_path(os.path.dirname(skill.path), comparison), PATH_LIMIT),
                facts=tuple(as_problem(item, comparison) for item in found),
            )


_MAX_RIVALS = 100
"""Pairs that a page shows."""
_MAX_WORDS = 8


def rivals_of(comparison: Comparison) -> Iterator[Rival]:
    """Yield the pairs of skills that claim the same requests at one agent, those that share most first."""
    contenders = {
        skill.path: Contender(
            claim=Claim(key=skill.path, name=skill.name, description=skill.description),
            hosts=frozenset(host for host, view in skill.views.items() if view.kind is Kind.SEEN),
        )
        for skill in comparison.distinct
    }
    shown: set[frozenset[str]] = set()
    for path, found in find_competitors(contenders).items():
        for item in found:
            pair = frozenset((path, item.path))
            if pair not in shown and len(shown) < _MAX_RIVALS:
                shown.add(pair)
                name, other = (one_line(text, NAME_LIMIT) for text in (contenders[path].claim.name, item.name))
                words = one_line(", ".join(item.words[:_MAX_WORDS]), _DESCRIPTION_LIMIT)
                yield Rival(name=name, other=other, words=words, preferred=other if item.is_preferred else name)


def _losses(skill: ComparedSkill, comparison: Comparison) -> Iterator[Cause]:
    """Yield why agents lose a skill; those that lose it for one reason share a line."""
    for group in group_losses(comparison.with_changes(skills=(skill,))):
        yield Cause(
            agents=titles(group.hosts),
            look=LOOKS[skill.views[group.hosts[0]].kind],
            is_lost=True,
            # The names of the agents are above it.
            reason=sentence(group.reason.removeprefix(f"{titles(group.hosts[:1])} "), comparison),
            changes=tuple(_change(cure, comparison) for cure in group.cures if cure.text),
        )


def _limits(skill: ComparedSkill, comparison: Comparison) -> Iterator[Cause]:
    """Yield why agents that do not lose a skill show it to the user only, or later."""
    limits: dict[tuple[Look, str], list[str]] = {}
    for host, view in skill.views.items():
        if view.loss is None and view.reason and view.kind is not Kind.SEEN:
            limits.setdefault((LOOKS[view.kind], view.reason), []).append(host)
    for (look, reason), hosts in limits.items():
        yield Cause(agents=titles(hosts), look=look, is_lost=False, reason=sentence(reason, comparison), changes=())


def _change(cure: Cure, comparison: Comparison) -> Change:
    return Change(
        agents=titles(cure.hosts),
        command=short_command(cure.text, comparison) if cure.is_command else "",
        advice=() if cure.is_command else sentence(cure.text, comparison),
    )


def batches_of(comparison: Comparison) -> Iterator[Batch]:
    """Yield each reason for which several skills are lost, if a command helps."""
    for group in group_losses(comparison):
        changes = tuple(_change(cure, comparison) for cure in group.cures if cure.is_command)
        if changes and len(group.skills) > 1:
            yield Batch(
                what=_group_phrase(group, comparison),
                losers=titles(group.hosts, len(comparison.hosts)),
                changes=changes,
            )


def _group_phrase(group: LossGroup, comparison: Comparison) -> str:
    """Return how many skills are lost for one reason, such as `4 skills in .agents/skills`."""
    folders = group.folders
    where = one_line(short_path(folders[0], comparison), PATH_LIMIT) if len(folders) == 1 else f"{len(folders)} folders"
    why = f": {KIND_WORDS[group.skills[0].views[group.hosts[0]].kind]}"
    return f"{len(group.skills):,} skills{f' in {where}' if group.kind == 'place' else why}"


def as_problem(item: Finding, comparison: Comparison) -> Problem:
    """Return a finding as the page shows it."""
    path = one_line(short_path(item.path or "", comparison), PATH_LIMIT)
    return Problem(
        severity=str(item.severity),
        place=":".join(str(part) for part in (path, item.line, item.column) if part),
        message=sentence(item.message, comparison),
        hint=sentence(item.hint or "", comparison),
        code=item.code,
        link=CODES[item.code].url,
    )
