"""a name -> every candidate behind it, and the rule that decided"""

from __future__ import annotations

from prowess._internal.text import neutral

from ._options import add_discovery_options, catalog_from_args, format_finding, make_parser, print_json, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from prowess.catalog import Entry

_EPILOG = """\
NAME is what the agent calls the skill, its folder, `scope:name`, `package:name`, a path or the start of a digest."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    result = make_parser("why", epilog=_EPILOG)
    result.add_argument("name", metavar="NAME", help="the skill to explain")
    add_discovery_options(result)
    result.add_argument("--json", action="store_true", help="print JSON")
    return result


def run(args: argparse.Namespace) -> int:
    """Print the chain behind a name."""
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
        return 0
    count = f"{len(candidates)} candidate{'s' if len(candidates) != 1 else ''}"
    print_stdout(f"{neutral(args.name)} for {catalog.host.title}: {count}")
    for number, entry in enumerate(candidates, 1):
        print_stdout("")
        for line in _format_candidate(number, entry):
            print_stdout(line)
    return 0


def _format_candidate(number: int, entry: Entry) -> list[str]:
    lines = [
        f"{number}. {entry.state}: {neutral(entry.path)}",
        f"   called  {neutral(entry.name)}" + (f" ({neutral(entry.alias)})" if entry.alias else ""),
        f"   root    {neutral(entry.root)} ({entry.scope})",
        f"   digest  {entry.digest or 'none: not all of its files can be read'}",
        f"   rule    {entry.rule}",
    ]
    if entry.reason:
        lines.append(f"   why     {neutral(entry.reason)}")
    for item in entry.findings:
        lines += [f"   {line}" for line in format_finding(item)]
    return lines
