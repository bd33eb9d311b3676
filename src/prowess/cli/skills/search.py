"""prowess search: find the skills that match some words."""

from __future__ import annotations

import argparse
from functools import partial

from prowess._internal.files import display_path
from prowess._internal.text import did_you_mean, quoted
from prowess.catalog import ManySkills, State, new_filesystem
from prowess.cli._arguments import catalog_from_args, question_from_args
from prowess.cli._output import Message, Result, as_dicts, format_table, pluralize, print_stderr
from prowess.search import MAX_BODY_CHARS, MAX_QUERY_WORDS, Index, installed_ranker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prowess.catalog import Catalog, SkillTable
    from prowess.cli._parser import Arguments, Parser
    from prowess.search import Hit

EPILOG = f"""\
QUERY is words or a whole message; the {MAX_QUERY_WORDS} words that say most count. A match in a name counts most,
then in a description, in the headings of a body, and in a body (its first {MAX_BODY_CHARS:,} characters). An unknown
word may have one typo, and the last word may be incomplete. Skills that neither the model nor the user can use are not
searched. Those of MCP servers are found by name and description: nothing is fetched."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("query", "QUERY", "words to search for, in any order", nargs="+")
    parser.discovery()
    parser.value("--limit", "N", "print at most N skills (default: 10)", type=_parse_limit, default=10)
    parser.add_servers()
    parser.value(
        "--from",
        "URL",
        "search the snapshot at URL (https, s3, gs, az, oci or a folder), and not the folders of an agent",
        dest="snapshot",
    )
    parser.add_json()


def run(args: Arguments) -> Result:
    """Return the matching skills."""
    query = " ".join(args.query)
    if args.snapshot is None:
        filesystem = new_filesystem()
        catalog = catalog_from_args(args, filesystem=filesystem)
        index = Index(catalog.skills, catalog.readers, cache=not args.no_cache, ranker=installed_ranker())
        names: Iterable[str] = (entry.name for entry in catalog.skills)
        folder = partial(_display_folder, catalog=catalog)
    else:
        table = _open_snapshot(args)
        skills = ManySkills((), (table,))
        index, names = Index(skills), skills.names()
        folder = partial(_display_remote_folder, root=table.root)
    hits = index.search(query, args.limit)
    if index.note:
        print_stderr(f"note: {index.note}")

    def text() -> Iterator[str]:
        if not hits:
            otherwise = "`prowess list` shows all skills" if args.snapshot is None else "use fewer or other words"
            yield Message(f"no skill matches {quoted(query)}")
            hint = did_you_mean(query, names, "")
            if not hint and args.snapshot is None:
                from prowess.cli._references import unsearched_hint

                if hints := unsearched_hint(catalog):
                    yield from hints
                    return
            yield Message(f"\nhint: {hint or otherwise}")
            return
        rows = [("NAME", "SCORE", "WHERE", "DESCRIPTION")]
        rows += [(hit.entry.name, f"{hit.score:.2f}", folder(hit), _format_description(hit)) for hit in hits]
        yield from format_table(rows)
        yield Message(pluralize(len(hits), "skill"))
        if args.snapshot is None:
            from prowess.cli._references import outdated_notes

            yield from outdated_notes(catalog, question_from_args(args), filesystem)

    return Result({"query": query, "results": as_dicts(hits)}, text())


def _open_snapshot(args: Arguments) -> SkillTable:
    """Return the skills of the snapshot that the user named.

    Raises:
        ConfigError: the URL is invalid, or `--servers` is given too.
        InstallError: the snapshot cannot be fetched, and no earlier one is in the cache.
    """
    from prowess.errors import ConfigError
    from prowess.install.snapshot import SnapshotProvider

    if args.servers:
        raise ConfigError("`--from` and `--servers` exclude each other", hint="search one after the other")
    provider = SnapshotProvider(args.snapshot)
    table = provider.table()
    for finding in provider.findings:
        print_stderr(f"note: {finding.message}")
    return table


def _display_remote_folder(hit: Hit, root: str) -> str:
    """Return the folder that contains a skill's own folder in the snapshot."""
    path = hit.entry.path.removeprefix(root).removesuffix("/SKILL.md").removesuffix(hit.entry.folder)
    return path.removesuffix("/") or "."


def _parse_limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 9 and int(text)):
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return int(text)


def _format_description(hit: Hit) -> str:
    state = "" if hit.entry.state is State.ACTIVE else f"({hit.entry.state}) "
    return state + " ".join(hit.entry.description.split())


def _display_folder(hit: Hit, catalog: Catalog) -> str:
    """Return the folder that contains a skill's own folder, for display."""
    path = hit.entry.path.removesuffix("/SKILL.md").removesuffix(f"/{hit.entry.name}")
    return display_path(path, catalog.cwd, catalog.home)
