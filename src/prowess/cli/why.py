"""prowess why: explain which skill a name refers to, and why the other candidates lose."""

from __future__ import annotations

from prowess._internal.text import neutral

from ._commands import OK
from ._options import SKILL_NAME_HELP, add_discovery_options, add_json_option, catalog_from_args, make_parser
from ._output import format_finding, pluralize, print_json, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from prowess.catalog import Entry


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    result = make_parser("why", epilog=f"NAME is {SKILL_NAME_HELP}.")
    result.add_argument("name", metavar="NAME", help="the skill to explain")
    add_discovery_options(result)
    add_json_option(result)
    return result


def run(args: argparse.Namespace) -> int:
    """Print the candidates for a name, the winner first."""
    catalog = catalog_from_args(args)
    candidates = catalog.explain(args.name)
    if args.json:
        print_json(
            {
                "name": args.name,
                "host": catalog.host.name,
                "candidates": [{**entry.as_dict(), "rule": entry.rule} for entry in candidates],
            }
        )
        return OK
    print_stdout(f"{neutral(args.name)} for {catalog.host.title}: {pluralize(len(candidates), 'candidate')}")
    for number, entry in enumerate(candidates, 1):
        print_stdout("")
        for line in _format_candidate(number, entry):
            print_stdout(line)
    return OK


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
