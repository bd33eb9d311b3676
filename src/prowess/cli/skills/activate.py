"""prowess activate: print what the model reads when a skill is activated."""

from __future__ import annotations

from prowess.cli._arguments import catalog_from_args
from prowess.cli._commands import SKILL_NAME
from prowess.cli._output import Result, Untrusted, finding_messages
from prowess.cli._references import error_with_place, with_skill_at
from prowess.errors import AmbiguousSkillError, SkillNotFoundError
from prowess.findings import Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.cli._parser import Arguments, Parser

EPILOG = f"""\
NAME is {SKILL_NAME}.
Nothing in the skill is run, and placeholders in it are not filled in."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("name", "NAME", "the skill to activate, as a user would")
    parser.value("--arguments", "TEXT", "the text a user would type after the name")
    parser.discovery()
    parser.add_json()


def run(args: Arguments) -> Result:
    """Return what the model reads."""
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
    serious = (item for item in activation.findings if item.severity is not Severity.INFO)
    return Result(activation.as_dict, (Untrusted(activation.content), *finding_messages(serious)))
