"""Decide what a report says: turn a comparison of catalogs into the headline, tables and lists of the page.

All values of a page are plain texts and numbers, cut to a length that fits, but not escaped: the template does that.
"""

from __future__ import annotations

import os

from prowess._internal.files import is_inside, shorten_home
from prowess._internal.frozen import Frozen
from prowess.findings import Severity
from prowess.hosts import describe_rules, evidence_marks, evidence_of, load_host
from prowess.visibility import Kind, describe_others, headline, skill_label

from ._explanations import as_problem, batches_of, explain_skill, facts_of, rivals_of
from ._states import LOOKS
from ._texts import NAME_LIMIT, PATH_LIMIT, one_line, phrases, short_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.visibility import ComparedSkill, Comparison

    from ._explanations import Batch, Explanation, Problem, Rival, SkillFacts
    from ._states import Look
    from ._texts import Phrase

_OPEN_DETAILS = 8
"""If a page explains this many skills or fewer, their explanations are open from the start."""


class Agent(Frozen):
    """One agent: how many skills it sees, and its rules."""

    number: int
    name: str
    title: str
    lost: int
    """Skills that neither its model nor its user can reach."""
    seen: int
    """Skills that its model sees."""
    others: str
    """How many skills are of each other kind."""
    evidence: str
    mark: str
    """`*` if it was never run."""
    links: tuple[str, ...]
    rules: tuple[tuple[str, tuple[tuple[Phrase, ...], ...]], ...]
    """Title of a section, and its sentences."""


class Row(Frozen):
    """One skill in the matrix."""

    number: int
    name: str
    is_copy: bool
    """Whether it is the same as an earlier one, and so not counted."""
    is_lost: bool
    is_explained: bool
    cells: tuple[tuple[Look, bool], ...]
    """For each agent what it shows of the skill, and whether it is lost."""


class Folder(Frozen):
    """The skills of one folder."""

    path: str
    rows: tuple[Row, ...]


class Content(Frozen):
    """Everything that a page shows."""

    headline: str
    summary: str
    total: int
    agents: tuple[Agent, ...]
    """The agent that sees the fewest skills is first."""
    folders: tuple[Folder, ...]
    legend: tuple[Look, ...]
    """The kinds that occur."""
    batches: tuple[Batch, ...]
    explanations: tuple[Explanation, ...]
    are_open: bool
    problems: tuple[Problem, ...]
    """Findings that belong to no skill."""
    rivals: tuple[Rival, ...]
    """Pairs of skills that claim the same requests."""
    facts: tuple[SkillFacts, ...]
    """Facts about skills, for the person who decides whether to use them."""


def page_content(comparison: Comparison, note: str = "") -> Content:
    """Return what the page shows for a comparison, with a sentence about other skills."""
    skills, total = comparison.skills, len(comparison.distinct)
    agents = sorted(
        (_agent(name, number, comparison) for number, name in enumerate(comparison.hosts, 1)),
        key=lambda agent: agent.seen,
    )
    names = [agent.name for agent in agents]
    explanations = tuple(
        item for number, skill in enumerate(skills, 1) if (item := explain_skill(number, skill, comparison)) is not None
    )
    explained = {item.number for item in explanations}
    kinds = {view.kind for skill in skills for view in skill.views.values()}
    return Content(
        headline=headline(comparison.kinds, total),
        summary=" ".join(filter(None, (_summary(agents, total, comparison), note))),
        total=total,
        agents=tuple(agents),
        folders=_folders(skills, names, explained, comparison),
        legend=tuple(look for kind, look in LOOKS.items() if kind in kinds),
        batches=tuple(batches_of(comparison)),
        explanations=explanations,
        are_open=len(explanations) <= _OPEN_DETAILS,
        problems=tuple(
            as_problem(item, comparison) for item in comparison.findings if item.severity is not Severity.INFO
        ),
        rivals=tuple(rivals_of(comparison)),
        facts=tuple(facts_of(comparison)),
    )


# ── the agents ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _summary(agents: Sequence[Agent], total: int, comparison: Comparison) -> str:
    """Return the sentence below the headline."""
    skills = "1 skill" if total == 1 else f"{total:,} skills"
    seen_by = "1 agent sees it" if len(agents) == 1 and total == 1 else "1 agent sees them"
    seen_by = seen_by if len(agents) == 1 else f"{len(agents)} agents see {'it' if total == 1 else 'them'}"
    where = shorten_home(comparison.cwd, comparison.home)
    complete = sum(agent.seen == total for agent in agents)
    rest = ""
    if len(agents) > 1 and complete < len(agents):
        rest = f" {'One sees' if complete == 1 else f'{complete} see' if complete else 'None sees'} all of them."
    return f"{skills} for {where}, as {seen_by}.{rest if total > 1 else ''}"


def _agent(name: str, number: int, comparison: Comparison) -> Agent:
    host = load_host(name)
    kinds = comparison.counts(name)
    evidence = evidence_of(name)
    return Agent(
        number=number,
        name=name,
        title=host.title,
        lost=len(comparison.lost(name)),
        seen=kinds.get(Kind.SEEN, 0),
        others=describe_others(kinds),
        evidence=f"observed in version {evidence.version} on {evidence.date}"
        if evidence.version
        else f"{evidence.kind}: {evidence.source}",
        mark="".join(evidence_marks([name])).removeprefix(name),
        links=host.links,
        rules=tuple(
            (title, tuple(phrases(line) for line in lines))
            for title, lines in (("activation", [host.activation] if host.activation else []), *describe_rules(host))
            if lines
        ),
    )


# ── the matrix ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _folders(
    skills: Sequence[ComparedSkill], names: Sequence[str], explained: set[int], comparison: Comparison
) -> tuple[Folder, ...]:
    """Return the rows of the matrix by folder, those of the project first."""
    rows: dict[str, list[Row]] = {}
    for number, skill in enumerate(skills, 1):
        views = [skill.views[name] for name in names]
        row = Row(
            number=number,
            name=one_line(skill_label(skill.name, skill.folder), NAME_LIMIT),
            is_copy=skill.copy_of is not None,
            is_lost=skill.copy_of is None and any(view.loss for view in views),
            is_explained=number in explained,
            cells=tuple((LOOKS[view.kind], view.loss is not None) for view in views),
        )
        rows.setdefault(os.path.dirname(os.path.dirname(skill.path)), []).append(row)
    return tuple(
        Folder(path=one_line(short_path(path, comparison), PATH_LIMIT), rows=tuple(items))
        for path, items in sorted(rows.items(), key=lambda item: (not is_inside(item[0], comparison.cwd), item[0]))
    )
