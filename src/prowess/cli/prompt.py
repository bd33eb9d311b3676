"""prowess prompt: print the skill catalog as the model gets it."""

from __future__ import annotations

import re

from prowess._internal.text import escape_ci_marks
from prowess.catalog import FORMATS, LEVELS, render
from prowess.errors import ConfigError

from ._commands import OK
from ._discovery import catalog_from_args
from ._output import pluralize, print_evidence_note, print_json, print_stderr, print_stdout_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_EPILOG = """\
Levels of detail: pin (always in full, whatever the budget), full, short, name-only, off. If the budget is too small,
every skill first gets its name, then a short description, then its full description, in the order of the catalog. With
--query the skills that the message needs come before all others; pinned ones stay."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    from ._options import add_discovery_options, add_json_option, make_parser

    result = make_parser("prompt", epilog=_EPILOG)
    add_discovery_options(result)
    result.add_argument("--format", choices=FORMATS, help="the format (default: that of the host; xml for `prowess`)")
    result.add_argument("--budget", metavar="N", help="use at most N characters, or N tokens with a `t`: 4000, 1000t")
    result.add_argument(
        "--level",
        metavar="NAME=LEVEL",
        action="append",
        default=[],
        help="show at most this much of a skill: " + ", ".join(LEVELS) + " (repeatable)",
    )
    result.add_argument(
        "--query", metavar="TEXT", help="a user's message: if the budget is too small, show the skills that it needs"
    )
    add_json_option(result, "print JSON: the text, and which skills are shortened")
    return result


def run(args: argparse.Namespace) -> int:
    """Print the catalog."""
    budget, unit = _parse_budget(args.budget)
    catalog = catalog_from_args(args)
    levels = _parse_levels(args.level)
    result = render(catalog, format=args.format, budget=budget, unit=unit, levels=levels, query=args.query)
    if args.json:
        from prowess.hosts import evidence_of

        print_json({**result.as_dict(), "evidence": evidence_of(catalog.host.name).as_dict()})
        return OK
    if result.text:
        # `print_stdout` would escape this in a way that is not JSON.
        text = escape_ci_marks(result.text, "\\u0023") if args.format == "json" else result.text
        print_stdout_lines(text)
    shortened = f", {len(result.shortened)} shortened" if result.shortened else ""
    omitted = f", {len(result.omitted)} left out" if result.omitted else ""
    print_stderr(
        f"{pluralize(len(result.shown), 'skill')}{shortened}{omitted}; "
        f"{result.chars:,} characters, about {result.tokens:,} tokens"
    )
    print_evidence_note([args.host] if args.host else [])
    if result.omitted and not result.shown and budget is not None:
        _print_budget_hint(args, unit)
    return OK


def _print_budget_hint(args: argparse.Namespace, unit: str) -> None:
    whole = render(catalog_from_args(args), format=args.format, levels=_parse_levels(args.level))
    size = f"{whole.tokens:,} tokens" if unit == "tokens" else f"{whole.chars:,} characters"
    print_stderr(f"\nhint: use a larger `--budget`; the whole catalog takes {size}")


def _parse_budget(text: str | None) -> tuple[int | None, str]:
    if text is None:
        return None, "chars"
    match = re.fullmatch(r"([0-9]{1,9})(t?)(?:okens|ok)?", text)
    if match is None or (not match[2] and not text.isdigit()):
        raise ConfigError("`--budget` must be a number", hint="for example 4000 for characters, 1000t for tokens")
    return int(match[1]), "tokens" if match[2] else "chars"


def _parse_levels(pairs: list[str]) -> dict[str, str]:
    levels = {}
    for pair in pairs:
        name, equals, level = pair.rpartition("=")
        if not equals:
            raise ConfigError("`--level` must be NAME=LEVEL", hint="for example --level pdf=pin")
        levels[name] = level
    return levels
