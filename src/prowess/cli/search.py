"""words -> the skills that fit them best"""

from __future__ import annotations

import argparse
import os

from prowess._internal.text import quoted
from prowess.catalog import MAX_BODY_CHARS, MAX_QUERY_WORDS, Index, State

from ._options import (
    add_discovery_options,
    catalog_from_args,
    format_table,
    make_parser,
    pluralize,
    print_json,
    print_stderr,
    print_stdout,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.catalog import Catalog, Hit

_EPILOG = f"""\
Names count most, then descriptions, then bodies (of each its first {MAX_BODY_CHARS:,} characters). Skills that
have all words come first; the last word may be unfinished. At most {MAX_QUERY_WORDS} words count, and only skills
that the model or the user can reach are found."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    result = make_parser("search", epilog=_EPILOG)
    result.add_argument("query", metavar="QUERY", nargs="+", help="words, in any order")
    add_discovery_options(result)
    result.add_argument("--limit", metavar="N", type=_parse_limit, default=10, help="at most N skills (default: 10)")
    result.add_argument("--json", action="store_true", help="print JSON")
    return result


def run(args: argparse.Namespace) -> int:
    """Print the skills that were found."""
    query = " ".join(args.query)
    catalog = catalog_from_args(args)
    hits = Index(catalog.skills).search(query, args.limit)
    if args.json:
        print_json({"query": query, "results": [hit.as_dict() for hit in hits]})
        return 0
    if not hits:
        print_stderr(f"no skill holds {quoted(query)}\n\nhint: `prowess list` shows all skills")
        return 0
    rows = [("NAME", "SCORE", "WHERE", "DESCRIPTION")]
    rows += [
        (hit.entry.name, f"{hit.score:.2f}", _display_folder(hit, catalog), _format_description(hit)) for hit in hits
    ]
    for line in format_table(rows):
        print_stdout(line)
    print_stderr(pluralize(len(hits), "skill"))
    return 0


def _parse_limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 9 and int(text)):
        raise argparse.ArgumentTypeError("it takes a number from 1 on")
    return int(text)


def _format_description(hit: Hit) -> str:
    state = "" if hit.entry.state is State.ACTIVE else f"({hit.entry.state}) "
    return state + " ".join(hit.entry.description.split())


def _display_folder(hit: Hit, catalog: Catalog) -> str:
    """Write the folder a skill's own folder lies in, relative to where people are, or to their home."""
    path = hit.entry.path.removesuffix("/SKILL.md").removesuffix(f"/{hit.entry.name}")
    if path.startswith(catalog.cwd + os.sep):
        return path[len(catalog.cwd) + 1 :]
    return "~" + path[len(catalog.home) :] if path.startswith(catalog.home + os.sep) else path
