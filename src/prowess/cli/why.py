"""prowess why: explain which agents see a skill, which copy of it they use, and why."""

from __future__ import annotations

from prowess._internal.text import neutral

from ._candidates import candidate_lines, chain_json
from ._commands import OK
from ._discovery import catalog_from_args, named_server
from ._output import encode_lines, evidence_notes, pluralize, print_encoded, print_json, print_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


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
    from ._skills import explain

    catalog = catalog_from_args(args, hosts[0], reference=args.name)
    candidates = explain(catalog, args.name)
    if args.json:
        print_json(chain_json(args.name, catalog, candidates))
        return OK
    from prowess.hosts import raw_value

    notes = evidence_notes(hosts)
    agent = raw_value(hosts[0], "title") + ("*" if notes else "")
    heading = f"{neutral(args.name)} for {agent}: {pluralize(len(candidates), 'candidate')}"
    print_encoded(encode_lines("\n".join([heading, *candidate_lines(candidates)])))
    if notes:
        print_stderr("\n".join(notes))
    return OK
