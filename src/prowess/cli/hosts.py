"""prowess hosts: list the agents Prowess knows, or describe the rules of one."""

from __future__ import annotations

import os
import re
from collections import Counter

from prowess._internal.text import neutral
from prowess._internal.variable_paths import usual_path
from prowess.hosts import FOLDERS_TITLE, Host, Root, describe_rules, evidence_of, host_names, load_host

from ._commands import OK
from ._discovery import require_paths
from ._options import add_json_option, make_parser
from ._output import pluralize, print_json, print_stdout
from ._tables import format_table, terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator
    from typing import Any

_WIDTH = 80
"""Columns of the page of a host."""
_NO_BREAK = "\0"
"""The character for a blank at which a line must not end."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser(
        "hosts",
        epilog="Rules are `observed` if the real agent was tested, `documented` if only its docs were read, "
        "else `designed`.",
    )
    result.add_argument(
        "name", metavar="NAME", nargs="?", help="show all rules of this agent, and which of its folders exist"
    )
    add_json_option(result)
    group = result.add_argument_group("where to look")
    group.add_argument("--cwd", metavar="DIR", help="the working directory of the agent (default: the current one)")
    group.add_argument("--home", metavar="DIR", help="the user's home directory (default: yours)")
    return result


def run(args: Namespace) -> int:
    """Print the table of all hosts, or the rules of one."""
    if args.name:
        host = load_host(args.name)
        here = _find_here(host, args)
        if args.json:
            print_json([{**_as_dict(host), "rules": dict(describe_rules(host)), **here}])
            return OK
        for line in _describe_host(host, here):
            print_stdout(line)
        return OK
    hosts = [load_host(name) for name in host_names()]
    if args.json:
        print_json([_as_dict(host) for host in hosts])
        return OK
    heading = ("NAME", "TITLE", "EVIDENCE", "PROJECT FOLDERS", "USER FOLDERS")
    rows = [
        (host.name, host.title, _evidence(host), _join_folders(host, user=False), _join_folders(host, user=True))
        for host in hosts
    ]
    for line in format_table([heading, *rows], fit_terminal=False):
        print_stdout(line)
    return OK


def folders(host: Host, *, user: bool) -> list[str]:
    """Return the skills folders in a project, or in a user's home, as the host's file writes them."""
    paths = [
        usual_path(root.path) or root.path
        for root in host.roots
        if root.path and _is_user_root(root) is user and (user or not root.path.startswith(("/", "$", "@")))
    ]
    return list(dict.fromkeys(paths))


def _join_folders(host: Host, *, user: bool) -> str:
    return ", ".join(folders(host, user=user)) or "-"


def _is_user_root(root: Root) -> bool:
    return root.path.startswith("~") or "|~" in root.path


def _evidence(host: Host) -> str:
    return f"observed {host.observed}" if host.observed else evidence_of(host.name).kind


def _find_here(host: Host, args: Namespace) -> dict[str, list[dict[str, Any]]]:
    """Return the host's folders of skills and its settings files on this machine, including those that do not exist."""
    require_paths(args, "cwd", "home")
    from prowess.catalog import discover, git_root, settings_layers

    catalog = discover(args.cwd or ".", host=host.name, home=args.home, cache=False)
    counts = Counter(entry.root for entry in catalog.skills)
    project = git_root(catalog.cwd, host.git_marker) or catalog.cwd
    variables = {} if args.home else os.environ
    layers = settings_layers(host, project=project, cwd=catalog.cwd, home=catalog.home, env=variables)
    return {
        "places": [
            {"path": root.path, "scope": root.scope, "exists": os.path.isdir(root.path), "skills": counts[root.path]}
            for root in catalog.scan_roots
        ],
        "settings_places": [{"path": layer.path, "exists": os.path.exists(layer.path)} for layer in layers],
    }


def _as_dict(host: Host) -> dict[str, object]:
    from dataclasses import asdict

    return {
        **asdict(host),
        "evidence": "observed" if host.observed else "documented",
        "evidence_details": evidence_of(host.name).as_dict(),
        "project": folders(host, user=False),
        "user": folders(host, user=True),
    }


def _describe_host(host: Host, here: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Yield the lines of a host's page, wrapped."""
    yield f"{host.title} (`--host {host.name}`)"
    version, _, date = host.observed.rpartition(", ")
    kind = evidence_of(host.name).kind
    yield from _wrap(f"observed: version {version}, on {date}" if version else f"{kind}: {host.documented}; never run")
    yield from (f"  see {link}" for link in host.links)
    if host.newer:
        yield f"  newer releases: `--host {host.newer}`"
    if host.activation:
        yield from _wrap(f"activation: {host.activation}")
    for title, lines in describe_rules(host):
        yield from ("", title)
        for line in lines:
            yield from _wrap(line)
        if title == FOLDERS_TITLE:
            yield from ("", "of these exist here", *(f"  {line}" for line in _lines_here(here) or ["none"]))


def _lines_here(here: dict[str, list[dict[str, Any]]]) -> list[str]:
    places = [
        f"{neutral(str(place['path']))} ({place['scope']}): {pluralize(place['skills'], 'skill')}"
        for place in here["places"]
        if place["exists"]
    ]
    return places + [f"{neutral(str(item['path']))}: settings" for item in here["settings_places"] if item["exists"]]


def _wrap(line: str) -> list[str]:
    """Return a line in several, so that it fits a terminal of 80 columns; a pattern or a text to paste is not cut."""
    import textwrap

    rule, _, example = line.partition("; example for ")
    width = min(_WIDTH, terminal_width())
    lines = [
        part.replace(_NO_BREAK, " ")
        for part in textwrap.wrap(
            re.sub("`[^`]*`", _unbreakable, rule),
            width,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]
    if example:
        file, _, text = example.partition(": ")
        lines += [f"    example for {file}:", f"      {text.strip('`')}"]
    return lines


def _unbreakable(code: re.Match[str]) -> str:
    """Return code without blanks; a pattern that does not fit a line is only in `--json`."""
    return code[0].replace(" ", _NO_BREAK) if len(code[0]) <= _WIDTH - len("    .") else "a long pattern (in `--json`)"
