"""prowess list: list skills and their states, for one agent or as a matrix of agents."""

from __future__ import annotations

from prowess.cli._arguments import chosen_hosts, print_for_several, question_from_args, require_paths
from prowess.cli._output import Result, print_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prowess.catalog import Catalog
    from prowess.cli._parser import Arguments, Parser
    from prowess.filesystem import Filesystem

EPILOG = """\
Without --host, the result is a table of skills, by their folders, and of the agents found on this machine:
  yes    the model sees it           name   it gets the name without the description
  user   only the user can call it   over   it is left out because of a budget
  later  it appears later            limit  the agent stops before it
  trust  untrusted by the agent      file   the file is not called SKILL.md
  off    a setting switches it off   -      another skill has its name
  no     the agent does not load it  ?      skills share that name; the winner is not decided
An empty cell means that the agent does not search that folder. Skills of one folder with the same cells share a row;
--rows prints a row for each. `prowess why NAME` explains each cell.
--servers lists the skills of Prowess, with those of your MCP servers; no other agent uses these servers."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.discovery(host="many")
    parser.add_all()
    parser.flag("--rows", "in the table, print a row for each skill, also if several rows are equal")
    parser.flag("--digest", "also print the digest of each skill's files")
    parser.add_servers()
    parser.add_json()


def run(args: Arguments) -> Result | int:
    """Print the skills of one host, or the matrix."""
    require_paths(args, "cwd", "home", "role")
    hosts = args.host or []
    if args.servers:
        if args.all or len(hosts) > 1:
            from prowess.errors import ConfigError

            raise ConfigError("`--servers` lists the skills of Prowess alone", hint="leave out `--all` and `--host`")
        from ._host_table import list_with_servers

        return list_with_servers(args, *hosts)
    if len(hosts) != 1 or args.all:
        return _list_for_several(args, [] if args.all else hosts)

    def make(catalogs: Mapping[str, Catalog], filesystem: Filesystem) -> Result:
        from prowess.visibility import lock_findings

        from ._host_table import details

        catalog = catalogs[hosts[0]]
        missing = lock_findings(question_from_args(args), filesystem)
        return details(args, catalog.with_changes(findings=(*catalog.findings, *missing)), filesystem)

    return print_for_several(args, hosts, f"host {args.digest}", make)


def _list_for_several(args: Arguments, names: Sequence[str]) -> int:
    """Print the skills of some agents, or of all agents on this machine, as a table or as JSON."""
    from prowess.hosts import DEFAULT_HOST

    args.host = [*names]
    hosts, note = chosen_hosts(args)
    if note is not None:
        print_stderr(note)
    hosts = hosts if names else [DEFAULT_HOST, *hosts]

    def make(catalogs: Mapping[str, Catalog], filesystem: Filesystem) -> Result:
        from ._matrix import Matrix

        matrix = Matrix(catalogs, filesystem, question_from_args(args), digests=args.digest)
        return Result(matrix.as_dict, matrix.text(merge=not args.rows, is_chosen=bool(names)))

    return print_for_several(args, hosts, f"matrix {args.rows} {args.digest} {bool(names)}", make)
