"""prowess prompt: print the skill catalog as the model gets it."""

from __future__ import annotations

import os

from prowess.cli._arguments import catalog_from_args, may_offer_skills, print_for_one, question_from_args
from prowess.cli._output import (
    Message,
    Result,
    encode_result,
    evidence_notes,
    pluralize,
    print_lines,
    print_output,
    print_stderr,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.catalog import Catalog
    from prowess.cli._parser import Arguments, Parser
    from prowess.prompt import Prompt
    from prowess.search import Index

EPILOG = """\
Levels of detail: pin (always in full, whatever the budget), full, short, name-only, off. If the budget is too small,
every skill first gets its name, then a short description, then its full description, in the order of the catalog. With
--query the skills that the message needs come before all others; pinned ones stay."""

_MAX_DIGITS = 9
"""Digits of a budget."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    from prowess.prompt import FORMATS, LEVELS

    parser.discovery()
    parser.add_argument("--format", choices=FORMATS, help="the format (default: that of the host; xml for `prowess`)")
    parser.value("--budget", "N", "use at most N characters, or N tokens with a `t`: 4000, 1000t")
    levels = f"show at most this much of a skill: {', '.join(LEVELS)} (repeatable)"
    parser.values("--level", "NAME=LEVEL", levels)
    parser.value("--query", "TEXT", "a user's message: if the budget is too small, show the skills that it needs")
    parser.add_json("print JSON: the text, and which skills are shortened")


def run(args: Arguments) -> Result | int:
    """Print the catalog."""
    budget, unit = _parse_budget(args.budget)
    if args.json:
        return _json(args, catalog_from_args(args), budget, unit)

    def make(catalog: Catalog) -> Result:
        return Result(None, _text(args, catalog, budget, unit))

    if args.query is None and not args.level:
        code = print_for_one(args, args.host, f"prompt {args.format} {budget} {unit}", make)
        _print_offer(args)
    else:
        code = print_output(*encode_result(make(catalog_from_args(args)), is_json=False))
    _print_old_copies(args)
    return code


def _print_offer(args: Arguments) -> None:
    """Print where the skills of a repository are that offers them, if the model gets only those of the user's home.

    The block above may be from the cache, so this is not a part of it.
    """
    if may_offer_skills(args.cwd or "."):
        from prowess.cli._references import offered_hint

        catalog = catalog_from_args(args)
        print_lines(offered_hint(catalog) if catalog.skills else [])


def _print_old_copies(args: Arguments) -> None:
    """Print which mounted copies are older than their sources, and what to do.

    The block above may be from the cache, and does not depend on the sources.
    """
    if _has_mount_record(args):
        from prowess.cli._references import outdated_notes
        from prowess.filesystem import Filesystem

        filesystem = Filesystem()
        notes = outdated_notes(catalog_from_args(args, filesystem=filesystem), question_from_args(args), filesystem)
        print_lines(notes)


def _has_mount_record(args: Arguments) -> bool:
    """Return whether `mount` may have written a record that is about this agent, without loading what agents search."""
    folder, home = os.path.abspath(args.cwd or "."), args.home or os.path.expanduser("~")
    bases = [home, os.path.join(home, ".config"), folder]
    while not os.path.lexists(os.path.join(folder, ".git")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        bases.append(folder)
    return any(os.path.lexists(os.path.join(part, ".prowess-skills.json")) for base in bases for part in _inner(base))


def _inner(base: str) -> Iterator[str]:
    """Yield the folders in which an agent may have its skills folder."""
    try:
        names = os.listdir(base)
    except OSError:
        return
    hidden = "." if not base.endswith(".config") else ""
    yield from (os.path.join(base, name) for name in names if name.startswith(hidden))


def _render(args: Arguments, catalog: Catalog, budget: int | None, unit: str) -> Prompt:
    from prowess.prompt import render

    index = _message_index(args, catalog)
    levels = _parse_levels(args.level)
    result = render(catalog, format=args.format, budget=budget, unit=unit, levels=levels, query=args.query, index=index)
    if index is not None and index.note:
        print_stderr(f"note: {index.note}")
    return result


def _message_index(args: Arguments, catalog: Catalog) -> Index | None:
    """Return where the skills that a message needs are searched; `None` without a message."""
    if args.query is None:
        return None
    from prowess.catalog import State
    from prowess.search import Index, installed_ranker

    states = (State.ACTIVE,)
    return Index(catalog.skills, catalog.readers, cache=not args.no_cache, ranker=installed_ranker(), states=states)


def _json(args: Arguments, catalog: Catalog, budget: int | None, unit: str) -> Result:
    from prowess.hosts import evidence_of

    result = _render(args, catalog, budget, unit)
    return Result({**result.as_dict(), "evidence": evidence_of(catalog.host.name).as_dict()})


def _text(args: Arguments, catalog: Catalog, budget: int | None, unit: str) -> Iterator[str]:
    """Yield the block, and messages about it."""
    from prowess._internal.text import escape_ci_marks

    result = _render(args, catalog, budget, unit)
    # `encode_lines` would escape this in a way that is not JSON.
    yield escape_ci_marks(result.text, "\\u0023") if args.format == "json" else result.text
    shortened = f", {len(result.shortened)} shortened" if result.shortened else ""
    omitted = f", {len(result.omitted)} left out" if result.omitted else ""
    sizes = f"{result.chars:,} characters, about {result.tokens:,} tokens"
    yield Message(f"{pluralize(len(result.shown), 'skill')}{shortened}{omitted}; {sizes}")
    yield from evidence_notes([args.host] if args.host else [])
    if not catalog.skills:
        from prowess.cli._references import unsearched_hint

        yield from unsearched_hint(catalog)
    if result.omitted and not result.shown and budget is not None:
        whole = _render(args, catalog, None, "chars")
        size = f"{whole.tokens:,} tokens" if unit == "tokens" else f"{whole.chars:,} characters"
        yield Message(f"\nhint: use a larger `--budget`; the whole catalog takes {size}")


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
