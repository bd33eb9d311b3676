"""prowess list: list skills and their states, for one agent or as a matrix of agents."""

from __future__ import annotations

import sys

from ._color import has_color
from ._commands import OK
from ._discovery import output_from_args, require_paths
from ._output import print_output
from ._tables import terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from prowess.catalog import Catalog

_EPILOG = """\
Without --host, the result is a table of skills, by their folders, and of the agents found on this machine:
  yes  the model sees it       user  only the user can call it      later  it appears later
  -    another skill hides it  off   it is disabled or not trusted  no     the agent does not load it
  ?    skills share that name; the winner is undefined
An empty cell means that the agent does not search that folder. Skills of one folder with the same cells share a row;
--rows prints a row for each. `prowess why NAME` explains each cell.
--servers lists the skills of Prowess, with those of your MCP servers; no other agent uses these servers."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    from ._options import add_all_option, add_discovery_options, add_json_option, add_servers_option, make_parser

    result = make_parser("list", epilog=_EPILOG)
    add_discovery_options(result, host="many")
    add_all_option(result)
    result.add_argument(
        "--rows", action="store_true", help="in the table, print a row for each skill, also if several rows are equal"
    )
    result.add_argument("--digest", action="store_true", help="also print the digest of each skill's files")
    add_servers_option(result)
    add_json_option(result)
    return result


def run(args: argparse.Namespace) -> int:
    """Print the skills of one host, or the matrix."""
    require_paths(args, "cwd", "home", "role")
    hosts = args.host or []
    if args.servers and not args.all and len(hosts) < 2:
        from ._list_host import list_with_servers

        return list_with_servers(args, *hosts)
    if args.servers:
        from prowess.errors import ConfigError

        raise ConfigError("`--servers` lists the skills of Prowess alone", hint="leave out `--all` and `--host`")
    if len(hosts) == 1 and not args.all:
        return _print_host(args, hosts[0])
    from ._list_matrix import list_matrix

    return list_matrix(args, [] if args.all else hosts)


def _print_host(args: argparse.Namespace, host: str) -> int:
    if args.json or args.digest:
        from ._list_host import list_host

        return list_host(args, host)

    def make(catalog: Catalog) -> tuple[bytes, str]:
        from ._list_host import host_output

        return host_output(catalog)

    look = f"{terminal_width()} {has_color(sys.stdout)} {has_color(sys.stderr)}"
    output, note = output_from_args(args, host, f"list {look}", make)
    print_output(output, note)
    return OK
