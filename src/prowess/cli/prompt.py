"""catalog -> the block a model would get"""

from __future__ import annotations

import re

from prowess.catalog import FORMATS, LEVELS, render
from prowess.errors import ConfigError

from ._options import (
    add_discovery_options,
    catalog_from_args,
    make_parser,
    pluralize,
    print_json,
    print_stderr,
    print_stdout,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_EPILOG = """\
Levels of detail: pin (in full whatever the budget), full, short, name-only, off. When the budget does not reach, first
every skill gets its name, then a short description, then the full one, in the catalog's order."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    result = make_parser("prompt", epilog=_EPILOG)
    add_discovery_options(result)
    result.add_argument("--format", choices=FORMATS, help="the block's form (default: the host's own; `prowess`: xml)")
    result.add_argument("--budget", metavar="N", help="at most N characters, or tokens with a `t`: 4000, 1000t")
    result.add_argument(
        "--level",
        metavar="NAME=LEVEL",
        action="append",
        default=[],
        help="the most that is shown of one skill: " + ", ".join(LEVELS) + " (repeatable)",
    )
    result.add_argument("--json", action="store_true", help="print JSON: the text and what was shortened")
    return result


def run(args: argparse.Namespace) -> int:
    """Print the block."""
    budget, unit = _parse_budget(args.budget)
    result = render(
        catalog_from_args(args), format=args.format, budget=budget, unit=unit, levels=_parse_levels(args.level)
    )
    if args.json:
        print_json(result.as_dict())
        return 0
    if result.text:
        # What `tell` writes for it would be no JSON.
        text = result.text.replace("##[", "\\u0023#[") if args.format == "json" else result.text
        for line in text.removesuffix("\n").split("\n"):
            print_stdout(line)
    cut = f", {len(result.shortened)} shortened" if result.shortened else ""
    left = f", {len(result.omitted)} left out" if result.omitted else ""
    shown = pluralize(len(result.shown), "skill")
    print_stderr(f"{shown}{cut}{left}; {result.chars:,} characters, about {result.tokens:,} tokens")
    return 0


def _parse_budget(text: str | None) -> tuple[int | None, str]:
    if text is None:
        return None, "chars"
    match = re.fullmatch(r"([0-9]{1,9})(t?)(?:okens|ok)?", text)
    if match is None or (not match[2] and not text.isdigit()):
        raise ConfigError("`--budget` takes a number", hint="write 4000 for characters, 1000t for tokens")
    return int(match[1]), "tokens" if match[2] else "chars"


def _parse_levels(pairs: list[str]) -> dict[str, str]:
    levels = {}
    for pair in pairs:
        name, equals, level = pair.rpartition("=")
        if not equals:
            raise ConfigError("`--level` takes NAME=LEVEL", hint="for example --level pdf=pin")
        levels[name] = level
    return levels
