"""prowess why: explain which agents see a skill, which copy of it they use, and why."""

from __future__ import annotations

from prowess._internal.text import neutral
from prowess.cli._arguments import catalog_from_args, named_server
from prowess.cli._commands import SKILL_NAME
from prowess.cli._output import Result, evidence_notes, pluralize
from prowess.cli._references import candidate_lines, chain_json, explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.cli._parser import Arguments, Parser

EPILOG = f"""\
NAME is {SKILL_NAME}.
Without --host, every agent on this machine has a line, and the candidates are shown for those that differ."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("name", "NAME", "the skill to explain")
    parser.add_all()
    parser.discovery(host="many")
    parser.add_json()


def run(args: Arguments) -> Result:
    """Return the candidates for a name, the winner first."""
    hosts = args.host or []
    if len(hosts) != 1 or args.all:
        from prowess.errors import SkillNotFoundError

        from ._why_all import explain_for_all

        try:
            return explain_for_all(args)
        except SkillNotFoundError:
            if hosts or not named_server(args, args.name):
                raise
        hosts = ["prowess"]  # no other agent uses the servers of these settings
    from prowess.hosts import raw_value

    catalog = catalog_from_args(args, hosts[0], reference=args.name)
    candidates = explain(catalog, args.name)
    notes = evidence_notes(hosts)
    agent = raw_value(hosts[0], "title") + ("*" if notes else "")
    heading = f"{neutral(args.name)} for {agent}: {pluralize(len(candidates), 'candidate')}"
    text = (heading, *candidate_lines(candidates), *notes)
    return Result(lambda: chain_json(args.name, catalog, candidates), text)
