"""prowess why: explain which agents see a skill, which copy of it they use, and why."""

from __future__ import annotations

from prowess.cli._arguments import (
    catalog_from_args,
    chosen_hosts,
    named_server,
    print_for_question,
    question_from_args,
    require_paths,
)
from prowess.cli._commands import SKILL_NAME
from prowess.cli._output import Result, evidence_notes, finding_messages, pluralize, print_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.cli._output import Message
    from prowess.cli._parser import Arguments, Parser
    from prowess.filesystem import Filesystem, Question
    from prowess.visibility import Competitor

EPILOG = f"""\
NAME is {SKILL_NAME}.
Without --host, every agent on this machine has a line, and the candidates are shown for those that differ."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("name", "NAME", "the skill to explain")
    parser.add_all()
    parser.discovery(host="many")
    parser.add_json()


def run(args: Arguments) -> Result | int:
    """Return the candidates for a name, the winner first, or print what all agents do with it."""
    hosts = args.host or []
    if len(hosts) != 1 or args.all:
        from prowess.errors import SkillNotFoundError

        try:
            return _explain_for_all(args)
        except SkillNotFoundError:
            if hosts or not named_server(args, args.name):
                raise
        hosts = ["prowess"]  # no other agent uses the servers of these settings
    (host,) = hosts
    if host == "prowess" and named_server(args, args.name):
        from prowess.cli._references import explain

        catalog = catalog_from_args(args, host, reference=args.name)
        return _chain_result(args.name, catalog, explain(catalog, args.name))
    require_paths(args, "cwd", "home", "role")

    def make(question: Question, filesystem: Filesystem) -> Result:
        from prowess.catalog import catalog_for
        from prowess.cli._references import competitors_of, lock_findings_about, outdated_notes

        catalog = catalog_for(question, host, filesystem=filesystem, cache=not args.no_cache)
        if candidates := catalog.candidates(args.name, filesystem):
            competing = competitors_of(candidates, {host: catalog})
            about = finding_messages(lock_findings_about(args.name, question, filesystem), base=question.cwd)
            notes = (*outdated_notes(catalog, question, filesystem), *about)
            return _chain_result(args.name, catalog, candidates, notes, competing)
        from ._why_all import explain_for_all

        return explain_for_all(args, question, filesystem, [host], None)

    return _print_with_use(args, hosts, f"why {args.name!r} at {host}", make)


def _chain_result(
    name: str,
    catalog: Catalog,
    candidates: Sequence[Entry],
    more: Iterable[Message] = (),
    competing: Sequence[Competitor] = (),
) -> Result:
    from prowess._internal.text import neutral
    from prowess.cli._references import candidate_lines, chain_json, competitor_lines
    from prowess.hosts import raw_value

    host = catalog.host.name
    notes = evidence_notes([host])
    agent = raw_value(host, "title") + ("*" if notes else "")
    heading = f"{neutral(name)} for {agent}: {pluralize(len(candidates), 'candidate')}"
    between = ["", *competitor_lines(competing)] if competing else []
    lines = (heading, *candidate_lines(candidates), *between, *notes, *more)
    return Result(lambda: chain_json(name, catalog, candidates, competing), lines)


def _explain_for_all(args: Arguments) -> int:
    require_paths(args, "cwd", "home", "role")
    hosts, note = chosen_hosts(args)

    def make(question: Question, filesystem: Filesystem) -> Result:
        from ._why_all import explain_for_all

        return explain_for_all(args, question, filesystem, hosts, note)

    return _print_with_use(args, hosts, f"why {args.name!r} {hosts} {note}", make)


def _print_with_use(
    args: Arguments, hosts: Sequence[str], purpose: str, make: Callable[[Question, Filesystem], Result]
) -> int:
    """Print a result, if possible from the cache, and as text also when the skill was last used."""
    question = question_from_args(args)
    code = print_for_question(args, question, purpose, make)
    if not args.json:
        from prowess.trajectory import agents_with_sessions

        if agents := [agent for agent in agents_with_sessions(question) if agent in hosts]:
            from .usage import last_use

            print_lines(["", last_use(args.name, question, agents)])
    return code
