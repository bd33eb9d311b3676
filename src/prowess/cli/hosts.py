"""prowess hosts: list the agents Prowess knows, or describe the rules of one."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.text import neutral
from prowess.hosts import Host, Root, host_names, load_host

from ._commands import OK
from ._options import add_json_option, make_parser, require_paths
from ._output import format_table, print_json, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from prowess.catalog import ScanRoot


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser(
        "hosts",
        epilog="Rules are `observed` if the real agent was tested, and `documented` if only its docs were read.",
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
        scan_roots = _scan_roots(host, args)
        if args.json:
            print_json([{**_as_dict(host), "places": [_root_as_dict(root) for root in scan_roots]}])
            return OK
        for line in _describe_host(host, scan_roots):
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
        root.path.partition("|")[2] or root.path
        for root in host.roots
        if _is_user_root(root) is user and (user or not root.path.startswith(("/", "$", "@")))
    ]
    return list(dict.fromkeys(paths))


def _join_folders(host: Host, *, user: bool) -> str:
    return ", ".join(folders(host, user=user)) or "-"


def _is_user_root(root: Root) -> bool:
    return root.path.startswith("~") or "|~" in root.path


def _evidence(host: Host) -> str:
    return f"observed {host.observed}" if host.observed else "documented"


def _scan_roots(host: Host, args: Namespace) -> tuple[ScanRoot, ...]:
    """Return the host's skills folders on this machine, including those that do not exist."""
    require_paths(args, "cwd", "home")
    from prowess.catalog import find_scan_roots

    home = os.path.abspath(args.home or os.path.expanduser("~"))
    return find_scan_roots(host, real_path(args.cwd or "."), home, env=os.environ, use_home_variables=args.home is None)


def _as_dict(host: Host) -> dict[str, object]:
    from dataclasses import asdict

    return {
        **asdict(host),
        "evidence": "observed" if host.observed else "documented",
        "project": folders(host, user=False),
        "user": folders(host, user=True),
    }


def _root_as_dict(root: ScanRoot) -> dict[str, object]:
    return {"path": root.path, "scope": root.scope, "exists": os.path.isdir(root.path)}


def _describe_host(host: Host, scan_roots: tuple[ScanRoot, ...]) -> Iterator[str]:
    from prowess.hosts import FOLDERS_TITLE, describe_rules

    yield f"{host.title} (`--host {host.name}`)"
    yield f"  {f'observed: {host.observed}' if host.observed else f'documented: {host.documented}'}"
    yield from (f"  see {link}" for link in host.links)
    if host.newer:
        yield f"  newer releases: `--host {host.newer}`"
    if host.activation:
        yield f"  activation: {host.activation}"
    existing = [f"{neutral(root.path)} ({root.scope})" for root in scan_roots if os.path.isdir(root.path)]
    for title, lines in describe_rules(host):
        yield from ("", title)
        yield from (f"  {line}" for line in lines)
        if title == FOLDERS_TITLE:
            yield from ("", "of these exist here", *(f"  {line}" for line in existing or ["none"]))
