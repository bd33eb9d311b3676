"""skills and their states -> a list, or a matrix of agents"""

from __future__ import annotations

import os

from prowess._internal.files import expand_home
from prowess._internal.text import neutral
from prowess.catalog import State
from prowess.errors import ConfigError
from prowess.findings import Severity
from prowess.hosts import DEFAULT_HOST, host_names, load_host, raw_value

from ._options import (
    add_discovery_options,
    catalog_from_args,
    format_finding,
    format_table,
    make_parser,
    pluralize,
    print_json,
    print_stderr,
    print_stdout,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.findings import Finding

_EPILOG = """\
Without --host, skills stand down and the agents found on this machine across:
  yes  the model sees it       user  only the user can call it     later  it appears later
  -    hidden by another one   off   switched off or not trusted   no     the agent does not load it
  ?    one of several with that name, in no fixed order
An empty cell means that the agent does not look there. `prowess why NAME` tells the reason."""

_STATE_SYMBOLS = {
    "active": "yes",
    "user-only": "user",
    "deferred": "later",
    "shadowed": "-",
    "disabled": "off",
    "untrusted": "off",
    "rejected": "no",
}
_UNDEFINED_ORDER_SYMBOL = "?"


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    result = make_parser("list", epilog=_EPILOG)
    add_discovery_options(result, host="many")
    result.add_argument("--all", action="store_true", help="in the matrix: every agent Prowess knows")
    result.add_argument("--digest", action="store_true", help="with --host: the digest over each skill's files")
    result.add_argument("--json", action="store_true", help="print JSON")
    return result


def run(args: argparse.Namespace) -> int:
    """Print the skills of one host, or the matrix."""
    hosts = args.host or []
    args.host = None
    if len(hosts) == 1 and not args.all:
        return _list_host(args, hosts[0])
    if args.digest:
        raise ConfigError("`--digest` goes with one `--host`", hint="for example --host prowess --digest")
    return _matrix(args, [] if args.all else hosts)


def _list_host(args: argparse.Namespace, host: str) -> int:
    catalog = catalog_from_args(args, host)
    if args.digest:
        from prowess.catalog import Filesystem, with_digest

        filesystem = Filesystem()
        catalog = catalog.with_changes(skills=tuple(with_digest(entry, filesystem) for entry in catalog.skills))
    if args.json:
        print_json(
            {
                "host": catalog.host.name,
                "cwd": catalog.cwd,
                "home": catalog.home,
                "skills": [entry.as_dict() for entry in catalog.skills],
                "findings": [item.as_dict() for item in catalog.findings],
                "counts": catalog.counts,
            }
        )
        return 0
    rows = [
        ("NAME", "STATE", "SCOPE", "WHERE", "WHY OR WHAT"),
        *(
            (
                entry.name,
                str(entry.state),
                entry.scope,
                _display_path(entry.path, catalog, entry.name),
                _reason_or_description(entry, catalog),
            )
            for entry in catalog.skills
        ),
    ]
    if len(rows) > 1:
        for line in format_table(rows):
            print_stdout(line)
    if args.digest:
        for entry in catalog.skills:
            print_stdout(f"{entry.digest or 'no digest'}  {neutral(_display_path(entry.path, catalog))}")
    _print_findings(catalog.findings, catalog, include_disabled=True)
    print_stderr(_summary(catalog))
    if not catalog.skills:
        _print_empty_hint(catalog)
    return 0


def _reason_or_description(entry: Entry, catalog: Catalog) -> str:
    words = entry.reason or entry.description
    if entry.shadowed_by:
        words = words.replace(entry.shadowed_by, _display_path(entry.shadowed_by, catalog), 1)
    return " ".join(words.split())


def _display_path(path: str, catalog: Catalog, name: str = "") -> str:
    """Write a path as people know it: relative to where they are, or to their home.

    The file's own name is left out, and its folder's where that is the `name` that stands beside it.
    """
    path = path.removesuffix("/SKILL.md").removesuffix(f"/{name}" if name else "")
    if path.startswith(catalog.cwd + os.sep):
        return path[len(catalog.cwd) + 1 :]
    return "~" + path[len(catalog.home) :] if path.startswith(catalog.home + os.sep) else path


def _summary(catalog: Catalog) -> str:
    counts = catalog.counts
    parts = [f"{count} {state}" for state, count in counts.items() if count and state != "found"]
    return f"{catalog.host.title}: {counts['found']} found" + (f" ({', '.join(parts)})" if parts else "")


def _print_findings(findings: Iterable[Finding], catalog: Catalog, *, include_disabled: bool) -> None:
    """Say what is wrong, and with `off` also which host's skills are switched off."""
    for item in findings:
        if include_disabled if item.code == "host-disabled" else item.severity is not Severity.INFO:
            for line in format_finding(item, base=catalog.cwd):
                print_stderr(line)


def _print_empty_hint(catalog: Catalog) -> None:
    roots = [scan_root.path for scan_root in catalog.scan_roots if scan_root.scope in ("project", "user")]
    if roots:
        host = f" --host {catalog.host.name}" if catalog.host.name != DEFAULT_HOST else ""
        print_stderr(
            f"\nhint: put skills into {neutral(_display_path(roots[0], catalog))}, or try `prowess new my-skill{host}`"
        )


def _matrix(args: argparse.Namespace, names: Sequence[str]) -> int:
    from functools import cache

    from prowess.catalog import new_filesystem

    filesystem = cache(new_filesystem)
    hosts = [load_host(name).name for name in dict.fromkeys(names)] if names else _detected_hosts(args)
    catalogs = [catalog_from_args(args, host, filesystem) for host in hosts]
    rows: dict[str, dict[str, Entry]] = {}
    for host, catalog in zip(hosts, catalogs, strict=True):
        for entry in catalog.skills:
            row = rows.setdefault(entry.real, {})
            known = row.get(host)
            # One file under two names, or reached by two paths: what becomes of it is the better of the two.
            if known is None or known.state is not State.ACTIVE:
                row[host] = entry
    skills = sorted(rows.values(), key=lambda row: (_first_entry(row).folder.casefold(), _first_entry(row).path))
    if args.json:
        print_json(_matrix_json(hosts, catalogs, skills))
        return 0
    base = catalogs[0]
    if skills:
        heading = ("SKILL", *hosts, "WHERE")
        lines = [
            (
                _row_name(row),
                *(_state_symbol(row.get(host)) for host in hosts),
                _display_path(_first_entry(row).path, base, _row_name(row)),
            )
            for row in skills
        ]
        for line in format_table([heading, *lines]):
            print_stdout(line)
    problems = {(item.code, item.path, item.message): item for catalog in catalogs for item in catalog.findings}
    _print_findings(problems.values(), base, include_disabled=bool(names))
    errors = sum(item.severity is Severity.ERROR for row in skills for item in _first_entry(row).findings)
    wrong = f"; {pluralize(errors, 'error')}, see `prowess check`" if errors else ""
    print_stderr(
        f"{pluralize(len(skills), 'skill')}, {pluralize(len(catalogs), 'agent')}{wrong}; `prowess why NAME` tells why"
    )
    if not skills:
        _print_empty_hint(base)
    return 0


def _state_symbol(entry: Entry | None) -> str:
    if entry is None:
        return ""
    return _UNDEFINED_ORDER_SYMBOL if entry.rule == "undefined" else _STATE_SYMBOLS[entry.state]


def _row_name(row: dict[str, Entry]) -> str:
    return _first_entry(row).frontmatter_name or _first_entry(row).folder


def _first_entry(row: dict[str, Entry]) -> Entry:
    return next(iter(row.values()))


def _matrix_json(
    hosts: Sequence[str], catalogs: Sequence[Catalog], skills: Sequence[dict[str, Entry]]
) -> dict[str, object]:
    problems = {(item.code, item.path, item.message): item for catalog in catalogs for item in catalog.findings}
    return {
        "cwd": catalogs[0].cwd,
        "home": catalogs[0].home,
        "hosts": hosts,
        "skills": [
            {
                "name": _row_name(row),
                "path": _first_entry(row).path,
                "folder": _first_entry(row).folder,
                "description": (_first_entry(row).skill.description or "").strip(),
                "hosts": {
                    host: {"state": str(entry.state), "reason": entry.reason, "name": entry.name}
                    for host, entry in row.items()
                },
            }
            for row in skills
        ],
        "findings": [item.as_dict() for item in problems.values()],
        "counts": {host: catalog.counts for host, catalog in zip(hosts, catalogs, strict=True)},
    }


def _detected_hosts(args: argparse.Namespace) -> list[str]:
    """Return the names of `prowess` and what hosts are on this machine; all whose clients were asked, if none is."""
    home = os.path.abspath(args.home or os.path.expanduser("~"))
    cwd = os.path.abspath(args.cwd or ".")
    names = list(host_names())
    if args.all:
        return names
    found = [
        name
        for name in names
        if name == DEFAULT_HOST
        or any(_is_marker_present(mark, cwd, home) for mark in raw_value(name, "found_by") or ())
    ]
    if len(found) > 1:
        return found
    print_stderr("no agent was found on this machine; here is what those would see whose real clients were asked")
    return [name for name in names if name == DEFAULT_HOST or raw_value(name, "observed")]


def _is_marker_present(mark: str, cwd: str, home: str) -> bool:
    """Say whether a folder, relative to home or project, or a program is there."""
    if mark.startswith("$"):
        return _is_on_path(mark[1:])
    return os.path.isdir(os.path.join(cwd, expand_home(mark, home)))


def _is_on_path(name: str) -> bool:
    """Say whether a program can be run by its name, as `shutil.which` does; that module takes long to load."""
    folders = os.environ.get("PATH", os.defpath)
    files = [os.path.join(folder, name) for folder in folders.split(os.pathsep)] if folders else []
    return any(os.access(file, os.F_OK | os.X_OK) and not os.path.isdir(file) for file in files)
