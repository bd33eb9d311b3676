"""prowess why: explain which agents see a skill, which copy of it they use, and why."""

from __future__ import annotations

import os

from prowess._internal.files import display_path
from prowess._internal.text import neutral
from prowess.errors import SkillNotFoundError
from prowess.hosts import EVIDENCE_MARK, evidence_marks, evidence_note, evidence_of

from ._color import STATE_STYLES
from ._commands import OK
from ._discovery import catalog_from_args, require_paths
from ._losses import describe_losses
from ._output import (
    evidence_json,
    format_finding,
    pluralize,
    print_evidence_note,
    print_json,
    print_stderr,
    print_stdout,
)
from ._skills import with_skill_at
from ._tables import format_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prowess.catalog import Catalog, ComparedSkill, Comparison, Entry, View

    Chains = Mapping[str, tuple[Entry, ...]]
    """The candidates at each agent; empty if it does not find the skill."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    from ._options import SKILL_NAME_HELP, add_all_option, add_discovery_options, add_json_option, make_parser

    result = make_parser(
        "why",
        epilog=f"NAME is {SKILL_NAME_HELP}.\nWithout --host, every agent on this machine has a line, and the "
        "candidates are shown for those that differ.",
    )
    result.add_argument("name", metavar="NAME", help="the skill to explain")
    add_all_option(result)
    add_discovery_options(result, host="many")
    add_json_option(result)
    return result


def run(args: argparse.Namespace) -> int:
    """Print the candidates for a name, the winner first."""
    if args.host and len(args.host) == 1 and not args.all:
        catalog = with_skill_at(catalog_from_args(args, args.host[0]), args.name)
        candidates = catalog.explain(args.name)
        if args.json:
            print_json(_chain_json(args.name, catalog, candidates))
            return OK
        mark = EVIDENCE_MARK if evidence_note([catalog.host.name]) else ""
        print_stdout(f"{neutral(args.name)} for {catalog.host.title}{mark}: {pluralize(len(candidates), 'candidate')}")
        _print_candidates(candidates)
        print_evidence_note([catalog.host.name])
        return OK
    return _explain_for_all(args)


# ── one chain ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _chain_json(name: str, catalog: Catalog, candidates: Iterable[Entry]) -> dict[str, object]:
    entries = [{**entry.as_dict(), "rule": entry.rule} for entry in candidates]
    host = catalog.host.name
    return {"name": name, "host": host, "candidates": entries, "evidence": evidence_of(host).as_dict()}


def _print_candidates(candidates: Iterable[Entry]) -> None:
    for number, entry in enumerate(candidates, 1):
        print_stdout("")
        for line in _format_candidate(number, entry):
            print_stdout(line)


def _format_candidate(number: int, entry: Entry) -> list[str]:
    lines = [
        f"{number}. {entry.state}: {neutral(entry.path)}",
        f"   name    {neutral(entry.name)}" + (f" ({neutral(entry.alias)})" if entry.alias else ""),
        f"   root    {neutral(entry.root)} ({entry.scope})",
        f"   digest  {entry.digest or 'unknown: some of its files cannot be read'}",
        f"   rule    {entry.rule}",
    ]
    if entry.reason:
        lines.append(f"   why     {neutral(entry.reason)}")
    for item in entry.findings:
        lines += [f"   {line}" for line in format_finding(item)]
    return lines


# ── every agent ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _explain_for_all(args: argparse.Namespace) -> int:
    from prowess.catalog import compare_catalogs, new_filesystem

    from ._agents import chosen_hosts

    require_paths(args, "cwd", "home", "role")
    hosts, note = chosen_hosts(args)
    filesystem = new_filesystem()
    catalogs = {host: catalog_from_args(args, host, filesystem) for host in hosts}
    own = with_skill_at(catalog_from_args(args, "prowess", filesystem), args.name)
    own_chain = own.candidates(args.name)
    chains = {host: catalog.candidates(args.name) for host, catalog in catalogs.items()}
    found = {entry.real: entry.path for chain in (own_chain, *chains.values()) for entry in chain}
    files = [*found.values()] or _files_of_repository(own, args.name)
    if not files:
        raise _not_found([own, *catalogs.values()], args.name)
    comparison = compare_catalogs(
        catalogs, args.cwd or ".", home=args.home, files=files, only_files=True, filesystem=filesystem
    )
    skills = [*comparison.skills]
    views = {host: _best_view(skills, host) for host in comparison.hosts}
    if args.json:
        value = _chain_json(args.name, own, own_chain)
        value["hosts"] = {host: {**view.as_dict(), "path": path} for host, (view, path) in views.items()}
        value["evidence"] = evidence_json(views)
        print_json(value)
        return OK
    _print_views(args.name, comparison, skills, views)
    print_evidence_note(views)
    if note is not None:
        print_stderr(note)
    for names, chain in _differing_chains(chains):
        print_stdout(f"\n{neutral(args.name)} for {', '.join(names)}: {pluralize(len(chain), 'candidate')}")
        _print_candidates(chain)
    return OK


def _files_of_repository(catalog: Catalog, name: str) -> list[str]:
    """Return the skills of the repository that no agent finds, and that have this name, folder or path."""
    from prowess._internal.files import expand_home
    from prowess._internal.text import normalize_name

    path = os.path.abspath(os.path.join(catalog.cwd, expand_home(name, catalog.home)))
    path = os.path.join(path, "SKILL.md") if os.path.isdir(path) else path
    if os.path.basename(path) == "SKILL.md" and os.path.isfile(path):
        return [path]
    key = normalize_name(name)
    return [path for path, names in _names_in_repository(catalog.cwd) if key in map(normalize_name, names)]


def _names_in_repository(top: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the skills of the repository, each with its names."""
    from prowess.catalog import Filesystem, find_repository_skills

    filesystem = Filesystem()
    for skill in find_repository_skills(top).skills:
        names = (os.path.basename(os.path.dirname(skill.path)), filesystem.skill(skill.path).name)
        yield skill.path, [name for name in names if name]


def _not_found(catalogs: Sequence[Catalog], name: str) -> SkillNotFoundError:
    """Return the error that no agent finds a skill; it suggests similar names of any of them."""
    from prowess._internal.text import did_you_mean, quoted

    names = [entry.name for catalog in catalogs for entry in catalog.skills]
    names += [each for _, found in _names_in_repository(catalogs[0].cwd) for each in found]
    hint = did_you_mean(name, dict.fromkeys(names), "`prowess list` and `prowess inventory` show all skills")
    return SkillNotFoundError(f"no skill is called {quoted(name)}", hint=hint)


def _best_view(skills: Iterable[ComparedSkill], host: str) -> tuple[View, str]:
    """Return how an agent sees the skills of one name: the view of the best of them, and that one's path."""
    order = ("active", "user-only", "deferred", "disabled", "untrusted", "rejected", "shadowed", "absent")
    views = [(skill.views[host], skill.path) for skill in skills]
    return min(views, key=lambda pair: (pair[0].loss is not None, order.index(pair[0].state)))


def _print_views(
    name: str, comparison: Comparison, skills: list[ComparedSkill], views: Mapping[str, tuple[View, str]]
) -> None:
    seen = sum(view.loss is None for view, _ in views.values())
    subject = pluralize(len(skills), "skill")
    verb = "sees" if seen == 1 or len(views) == 1 else "see"
    print_stdout(f"{neutral(name)}: {subject} of that name; {seen} of {pluralize(len(views), 'agent')} {verb} it\n")
    rows = [("AGENT", "STATE", "WHERE OR WHY")]
    for mark, (view, path) in zip(evidence_marks(views), views.values(), strict=True):
        folder = display_path(os.path.dirname(path), comparison.cwd, comparison.home)
        rows.append((mark, view.state, folder if view.loss is None and view.state != "absent" else view.reason or ""))
    for line in format_table(rows, styles={1: STATE_STYLES}):
        print_stdout(line)
    best = [
        skill.with_changes(views={host: view for host, (view, path) in views.items() if path == skill.path})
        for skill in skills
    ]
    lines = [*describe_losses(comparison.with_changes(skills=tuple(best)))]
    for line in ["", *lines] if lines else []:
        print_stdout(line)


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
