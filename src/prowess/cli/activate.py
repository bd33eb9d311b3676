"""prowess activate: print what the model reads when a skill is activated."""

from __future__ import annotations

from prowess.errors import AmbiguousSkillError, SkillNotFoundError
from prowess.findings import Severity

from ._commands import OK
from ._discovery import catalog_from_args
from ._output import print_findings, print_json, print_stderr, print_untrusted_text
from ._skills import error_with_place, with_skill_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_EPILOG = """\
Nothing in the skill is run, and placeholders in it are not filled in."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    from ._options import SKILL_NAME_HELP, add_discovery_options, add_json_option, make_parser

    result = make_parser("activate", epilog=f"NAME is {SKILL_NAME_HELP}.\n{_EPILOG}")
    result.add_argument("name", metavar="NAME", help="the skill to activate, as a user would")
    result.add_argument("--arguments", metavar="TEXT", help="the text a user would type after the name")
    add_discovery_options(result)
    add_json_option(result)
    return result


def run(args: argparse.Namespace) -> int:
    """Print what the model reads."""
    from prowess.session import activate_once

    catalog = catalog_from_args(args, reference=args.name)
    try:
        if catalog.readers:
            from prowess.session import Session

            activation = Session(catalog).activate(args.name, args.arguments, by="user")
        else:
            activation = activate_once(catalog, args.name, args.arguments)
    except AmbiguousSkillError:
        raise
    except SkillNotFoundError as error:
        with_file = with_skill_at(catalog, args.name)
        if with_file is catalog:
            raise error_with_place(catalog, args.name, error) from None
        activation = activate_once(with_file, args.name, args.arguments)
    if args.json:
        print_json(activation.as_dict())
        return OK
    print_untrusted_text(activation.content)
    print_findings((item for item in activation.findings if item.severity is not Severity.INFO), to=print_stderr)
    return OK
