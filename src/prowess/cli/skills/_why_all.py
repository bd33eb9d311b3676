"""Explain how every agent sees the skills of a name, and why."""

from __future__ import annotations

import os
import shlex

from prowess._internal.files import display_path
from prowess._internal.text import neutral, normalize_name
from prowess.catalog import catalog_for
from prowess.cli._losses import STYLES_OF_WORDS, describe_losses, describe_outdated
from prowess.cli._output import (
    Message,
    Result,
    evidence_json,
    evidence_notes,
    finding_messages,
    format_table,
    pluralize,
    print_lines,
    wrap_for_terminal,
)
from prowess.cli._references import (
    candidate_lines,
    chain_json,
    competitor_lines,
    competitors_of,
    lock_findings_about,
    with_skill_at,
)
from prowess.errors import SkillNotFoundError
from prowess.hosts import evidence_marks
from prowess.visibility import (
    KIND_WORDS,
    LOCK_INVALID,
    Kind,
    compare_catalogs,
    find_offer,
    misnamed_files,
    named_files,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.cli._parser import Arguments
    from prowess.filesystem import Filesystem, Question
    from prowess.visibility import ComparedSkill, Comparison, Offer, View

    Chains = Mapping[str, tuple[Entry, ...]]
    """The candidates at each agent; empty if it does not find the skill."""


def explain_for_all(
    args: Arguments, question: Question, filesystem: Filesystem, hosts: Sequence[str], note: str | None
) -> Result:
    """Return how every agent sees the skills of a name, and the candidates where they differ.

    Args:
        args: of the command.
        question: where the agents are started.
        filesystem: what was read so far.
        hosts: the agents.
        note: about how they were chosen.
    """
    first = args.host[0] if len(args.host or ()) == 1 and not args.all else "prowess"
    own, *others = (
        catalog_for(question, host, filesystem=filesystem, cache=not args.no_cache) for host in (first, *hosts)
    )
    catalogs = dict(zip(hosts, others, strict=True))
    own_chain = own.candidates(args.name, filesystem)
    if not own_chain:
        filesystem.mark_incomplete()  # its path is looked up, then the names in the whole repository
        own = with_skill_at(own, args.name)
        own_chain = own.candidates(args.name, filesystem)
    chains = {host: catalog.candidates(args.name, filesystem) for host, catalog in catalogs.items()}
    found = {entry.real: entry.path for chain in (own_chain, *chains.values()) for entry in chain}
    more = [*misnamed_files({first: own, **catalogs}), *named_files(question, filesystem)]
    files = [*found.values(), *_with_name(args.name, more, filesystem)]
    offer = None
    if not files and (files := _files_of_repository(own, args.name, filesystem)):
        offer = _offer_of(files, catalogs, question, filesystem)
    locks = lock_findings_about(args.name, question, filesystem)
    if not files:
        if missing := [item for item in locks if item.code != LOCK_INVALID]:
            raise SkillNotFoundError(missing[0].message, hint=f"{missing[0].hint} installs it")
        print_lines(finding_messages(locks, base=question.cwd))
        raise _not_found([own, *catalogs.values()], args.name, filesystem)
    comparison = compare_catalogs(catalogs, question, files=files, only_files=True, filesystem=filesystem)
    views = {host: _best_view(comparison.skills, host) for host in comparison.hosts}
    competing = competitors_of([entry for chain in chains.values() for entry in chain], catalogs)

    def as_dict() -> dict[str, object]:
        return {
            **chain_json(args.name, own, own_chain, competing),
            "hosts": {host: {**view.as_dict(), "path": path} for host, (view, path) in views.items()},
            "evidence": evidence_json(views),
        }

    def text() -> Iterator[str]:
        yield from _view_lines(args.name, comparison, views, offer)
        if competing:
            yield from ("", *competitor_lines(competing))
        yield from finding_messages(locks, base=question.cwd)
        yield from evidence_notes(views)
        if note is not None:
            yield Message(note)
        for names, chain in _differing_chains(chains):
            yield f"\n{neutral(args.name)} for {', '.join(names)}: {pluralize(len(chain), 'candidate')}"
            yield from candidate_lines(chain)

    return Result(as_dict, text())


def _files_of_repository(catalog: Catalog, name: str, filesystem: Filesystem) -> list[str]:
    """Return the skills of the repository that no agent finds, and that have this name, folder or path."""
    from prowess._internal.files import expand_home

    path = os.path.abspath(os.path.join(catalog.cwd, expand_home(name, catalog.home)))
    path = os.path.join(path, "SKILL.md") if os.path.isdir(path) else path
    if os.path.basename(path) == "SKILL.md" and os.path.isfile(path):
        return [path]
    return _with_name(name, _paths_in_repository(catalog.cwd), filesystem)


def _paths_in_repository(top: str) -> list[str]:
    from prowess.find import find_repository_skills

    return [skill.path for skill in find_repository_skills(top).skills]


def _with_name(name: str, paths: Iterable[str], filesystem: Filesystem) -> list[str]:
    """Return the skills that have a name, in their front matter or by their folder."""
    key = normalize_name(name)
    return [path for path in paths if key in map(normalize_name, _names(path, filesystem))]


def _names(path: str, filesystem: Filesystem) -> list[str]:
    """Return the names by which a skill may be asked for."""
    names = (os.path.basename(os.path.dirname(path)), filesystem.skill(path).name)
    return [name for name in names if name]


def _not_found(catalogs: Sequence[Catalog], name: str, filesystem: Filesystem) -> SkillNotFoundError:
    """Return the error that no agent finds a skill; it suggests similar names of any of them."""
    from prowess._internal.text import did_you_mean, quoted

    names = [entry.name for catalog in catalogs for entry in catalog.skills]
    names += [each for path in _paths_in_repository(catalogs[0].cwd) for each in _names(path, filesystem)]
    hint = did_you_mean(name, dict.fromkeys(names), "`prowess list` and `prowess inventory` show all skills")
    return SkillNotFoundError(f"no skill is called {quoted(name)}", hint=hint)


def _best_view(skills: Iterable[ComparedSkill], host: str) -> tuple[View, str]:
    """Return how an agent sees the skills of one name: the view of the best of them, and that one's path."""
    order = [*Kind]
    views = [(skill.views[host], skill.path) for skill in skills]
    return min(views, key=lambda pair: order.index(pair[0].kind))


def _offer_of(
    files: Sequence[str], catalogs: Mapping[str, Catalog], question: Question, filesystem: Filesystem
) -> Offer | None:
    """Return what the repository offers to others, if these skills are among it."""
    from prowess.find import find_repository_skills

    found = find_repository_skills(question.cwd, filesystem=filesystem).skills
    paths = [skill.path for skill in found if not skill.inside]
    offer = find_offer(compare_catalogs(catalogs, question, files=paths, filesystem=filesystem), found)
    return offer if offer is not None and {skill.path for skill in offer.skills}.issuperset(files) else None


def _view_lines(
    name: str, comparison: Comparison, views: Mapping[str, tuple[View, str]], offer: Offer | None
) -> Iterator[str]:
    """Yield how each agent sees the skills, and what to do where one does not."""
    seen = sum(view.kind is Kind.SEEN for view, _ in views.values())
    subject = pluralize(sum(skill.copy_of is None for skill in comparison.skills), "skill")
    verb = "sees" if seen == 1 or len(views) == 1 else "see"
    yield f"{neutral(name)}: {subject} of that name; {seen} of {pluralize(len(views), 'agent')} {verb} it\n"
    rows = [("AGENT", "STATE", "WHERE OR WHY")]
    for mark, (view, path) in zip(evidence_marks(views), views.values(), strict=True):
        has_it_at = view.winner if view.kind is Kind.SEEN and view.winner else path
        where = display_path(os.path.dirname(has_it_at), comparison.cwd, comparison.home)
        if view.reason is not None and has_it_at == path:
            winner = view.winner or ""
            where = view.reason.replace(winner, display_path(winner, comparison.cwd, comparison.home), 1)
        rows.append((mark, KIND_WORDS[view.kind], where))
    yield from format_table(rows, styles={1: STYLES_OF_WORDS})
    best = [
        skill.with_changes(views={host: view for host, (view, path) in views.items() if path == skill.path})
        for skill in comparison.skills
    ]
    if offer is None:
        lines = [*describe_losses(comparison.with_changes(skills=tuple(best)))]
    else:
        command = f"prowess add . {shlex.quote(neutral(comparison.skills[0].name))}"
        lines = wrap_for_terminal(f"{offer.sentence}; `{command}` installs this one", "  ")
    lines += describe_outdated(comparison)
    yield from ["", *lines] if lines else []


def _differing_chains(chains: Chains) -> Iterator[tuple[list[str], tuple[Entry, ...]]]:
    """Yield the candidates that need an explanation, each chain once, with the agents that have it."""
    groups: dict[tuple[object, ...], tuple[list[str], tuple[Entry, ...]]] = {}
    for host, chain in chains.items():
        key = tuple((entry.path, entry.state, entry.rule, entry.reason) for entry in chain)
        groups.setdefault(key, ([], chain))[0].append(host)
    found = [(names, chain) for names, chain in groups.values() if chain]
    yield from [
        (names, chain) for names, chain in found if len(chain) > 1 or chain[0].state != "active" or len(found) == 1
    ] or found[:1]
