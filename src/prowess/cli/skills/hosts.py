"""prowess hosts: list the agents Prowess knows, or describe the rules of one."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter

from prowess._internal.text import neutral
from prowess._internal.variable_paths import usual_path
from prowess.cli._arguments import require_paths
from prowess.cli._output import Message, Result, format_table, pluralize, terminal_width
from prowess.hosts import FOLDERS_TITLE, Host, Root, describe_rules, evidence_of, host_names, load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.cli._parser import Arguments, Parser

EPILOG = "Rules are `observed` if the real agent was tested, `documented` if only its docs were read, else `designed`."
_WIDTH = 80
"""Columns of the page of a host."""
_NO_BREAK = "\0"
"""The character for a blank at which a line must not end."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("name", "NAME", "show all rules of this agent, and which of its folders exist", nargs="?")
    parser.add_json()
    parser.group("where to look").add_place()


def run(args: Arguments) -> Result:
    """Return the table of all hosts, or the rules of one."""
    if args.name:
        host = load_host(args.name)
        here = _find_here(host, args)
        return Result(
            lambda: [{**_as_dict(host), "rules": dict(describe_rules(host)), **here}], _describe_host(host, here)
        )
    hosts = [load_host(name) for name in host_names()]
    rows = [
        (host.name, host.title, _evidence(host), _join_folders(host, user=False), _join_folders(host, user=True))
        for host in hosts
    ]
    heading = ("NAME", "TITLE", "EVIDENCE", "PROJECT FOLDERS", "USER FOLDERS")

    def text() -> Iterator[str]:
        is_cut = sys.stdout.isatty()
        # A terminal has room for the folders of projects alone, and not always for all of these.
        short = [(*row[:2], row[2].partition(" ")[0], row[3]) for row in (heading, *rows)]
        yield from format_table(short if is_cut else [heading, *rows], fit_terminal=is_cut)
        counts = Counter(evidence_of(host.name).kind for host in hosts)
        if is_cut:
            yield Message("`prowess hosts NAME` shows all folders and rules of an agent")
        yield Message(f"{len(hosts)} sets of rules: {', '.join(f'{counts[kind]} {kind}' for kind in sorted(counts))}")

    return Result(lambda: [*map(_as_dict, hosts)], text())


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


def _find_here(host: Host, args: Arguments) -> dict[str, list[dict[str, Any]]]:
    """Return the host's folders of skills and its settings files on this machine, including those that do not exist."""
    require_paths(args, "cwd", "home")
    from prowess.catalog import catalog_for
    from prowess.clients.settings import Places, settings_layers
    from prowess.filesystem import Question, git_root

    question = Question.about(args.cwd or ".", args.home)
    catalog = catalog_for(question, host.name, cache=False)
    counts = Counter(entry.root for entry in catalog.skills)
    project = git_root(question.cwd, host.git_marker) or question.cwd
    layers = settings_layers(host, Places(question=question, project=project))
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
