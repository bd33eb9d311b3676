"""prowess prompt: print the skill catalog as the model gets it."""

from __future__ import annotations

from ._commands import OK
from ._discovery import catalog_from_args, output_from_args
from ._output import encode_lines, evidence_notes, pluralize, print_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from prowess.catalog import Catalog, Prompt

_EPILOG = """\
Levels of detail: pin (always in full, whatever the budget), full, short, name-only, off. If the budget is too small,
every skill first gets its name, then a short description, then its full description, in the order of the catalog. With
--query the skills that the message needs come before all others; pinned ones stay."""

_MAX_DIGITS = 9
"""Digits of a budget."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    from prowess.catalog import FORMATS, LEVELS

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
    if args.json:
        return _print_as_json(args)

    def make(catalog: Catalog) -> tuple[bytes, str]:
        return _output(args, catalog, budget, unit)

    if args.query is None and not args.level:
        output, note = output_from_args(args, args.host, f"prompt {args.format} {budget} {unit}", make)
    else:
        output, note = make(catalog_from_args(args))
    print_output(output, note)
    return OK


def _render(args: argparse.Namespace, catalog: Catalog, budget: int | None, unit: str) -> Prompt:
    from prowess.catalog import render

    levels = _parse_levels(args.level)
    return render(catalog, format=args.format, budget=budget, unit=unit, levels=levels, query=args.query)


def _output(args: argparse.Namespace, catalog: Catalog, budget: int | None, unit: str) -> tuple[bytes, str]:
    """Return the block, and what is said of it on stderr."""
    from prowess._internal.text import escape_ci_marks

    result = _render(args, catalog, budget, unit)
    shortened = f", {len(result.shortened)} shortened" if result.shortened else ""
    omitted = f", {len(result.omitted)} left out" if result.omitted else ""
    sizes = f"{result.chars:,} characters, about {result.tokens:,} tokens"
    notes = [f"{pluralize(len(result.shown), 'skill')}{shortened}{omitted}; {sizes}"]
    notes += evidence_notes([args.host] if args.host else [])
    if result.omitted and not result.shown and budget is not None:
        whole = _render(args, catalog, None, "chars")
        size = f"{whole.tokens:,} tokens" if unit == "tokens" else f"{whole.chars:,} characters"
        notes += ["", f"hint: use a larger `--budget`; the whole catalog takes {size}"]
    # `print_stdout` would escape this in a way that is not JSON.
    text = escape_ci_marks(result.text, "\\u0023") if args.format == "json" else result.text
    return encode_lines(text), "\n".join(notes)


def _print_as_json(args: argparse.Namespace) -> int:
    from prowess.hosts import evidence_of

    from ._output import print_json

    catalog = catalog_from_args(args)
    result = _render(args, catalog, *_parse_budget(args.budget))
    print_json({**result.as_dict(), "evidence": evidence_of(catalog.host.name).as_dict()})
    return OK


def _parse_budget(text: str | None) -> tuple[int | None, str]:
    if text is None:
        return None, "chars"
    number, letter, word = text.partition("t")
    if not (number.isascii() and number.isdecimal() and len(number) <= _MAX_DIGITS and word in ("", "ok", "okens")):
        from prowess.errors import ConfigError

        raise ConfigError("`--budget` must be a number", hint="for example 4000 for characters, 1000t for tokens")
    return int(number), "tokens" if letter else "chars"


def _parse_levels(pairs: list[str]) -> dict[str, str]:
    levels = {}
    for pair in pairs:
        name, equals, level = pair.rpartition("=")
        if not equals:
            from prowess.errors import ConfigError

            raise ConfigError("`--level` must be NAME=LEVEL", hint="for example --level pdf=pin")
        levels[name] = level
    return levels
