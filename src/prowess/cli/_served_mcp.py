"""The option `--dry-run` of `prowess mcp serve`: what would be served, and what would not."""

from __future__ import annotations

from prowess._internal.text import did_you_mean, neutral, quoted

from ._commands import OK
from ._discovery import catalog_from_args
from ._output import pluralize, print_findings, print_json, print_note, print_stderr, print_stdout
from ._tables import format_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from prowess.catalog import Catalog

__all__ = ["print_served", "print_unknown_names"]


def print_unknown_names(only: Iterable[str], catalog: Catalog) -> None:
    """Say which names of `--only` no skill has."""
    names = {entry.name for entry in catalog.skills}
    for name in only:
        if name not in names:
            hint = did_you_mean(name, names, "`prowess list` shows the names")
            print_note(f"no skill is called {quoted(name)}; {hint}")


def print_served(args: Namespace) -> int:
    """Print the skills that a client would list, and findings about the others.

    Raises:
        ConfigError: an option is invalid.
    """
    from prowess.mcp import ServedCatalog, served_skills

    catalog = catalog_from_args(args)
    print_unknown_names(args.only, catalog)
    served = ServedCatalog(catalog, only=frozenset(args.only), tags=frozenset(args.tag))
    skills, findings = served_skills(served)
    rows = [
        {
            "name": str(skill.frontmatter["name"]),
            "uri": skill.uri,
            "path": path,
            "files": len(skill.files),
            "bytes": sum(size for _, _, size in skill.files),
        }
        for skill, path in skills
    ]
    if args.json:
        print_json({"cwd": catalog.cwd, "skills": rows, "findings": [item.as_dict() for item in findings]})
        return OK
    table = [("FILES", "BYTES", "URI")] + [(f"{row['files']:,}", f"{row['bytes']:,}", str(row["uri"])) for row in rows]
    for line in format_table(table) if rows else []:
        print_stdout(line)
    print_findings(findings, base=catalog.cwd, to=print_stderr)
    print_stderr(f"{pluralize(len(rows), 'skill')} of {neutral(catalog.cwd)} would be served")
    return OK
