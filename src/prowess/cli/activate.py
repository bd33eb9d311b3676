"""a name -> what the model would read of that skill"""

from __future__ import annotations

from prowess.findings import Severity

from ._options import (
    add_discovery_options,
    catalog_from_args,
    format_finding,
    make_parser,
    print_json,
    print_stderr,
    print_untrusted_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_EPILOG = """\
NAME is what the agent calls the skill, its folder, `scope:name`, `package:name`, a path or the start of a digest.
Nothing of the skill is run, and nothing in it is filled in."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    result = make_parser("activate", epilog=_EPILOG)
    result.add_argument("name", metavar="NAME", help="the skill to activate, as its user would")
    result.add_argument("--arguments", metavar="TEXT", help="what is given with the name; shown to the model")
    add_discovery_options(result)
    result.add_argument("--json", action="store_true", help="print JSON")
    return result


def run(args: argparse.Namespace) -> int:
    """Print what the model would read."""
    from prowess.session import Session

    found = Session(catalog_from_args(args)).activate(args.name, args.arguments, by="user")
    if args.json:
        print_json(found.as_dict())
        return 0
    print_untrusted_text(found.content)
    for item in found.findings:
        if item.severity is not Severity.INFO:
            for line in format_finding(item):
                print_stderr(line)
    return 0
