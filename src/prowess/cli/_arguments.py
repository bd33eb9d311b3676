"""Turn the arguments of a command into agents, a catalog or a comparison, and parse those of frequent commands.

This module does not know `argparse`: to load it and to make a parser takes as long as a frequent command takes to run.
"""

from __future__ import annotations

import os
import sys

from ._output import choose_color, encode_result, look, print_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from prowess.catalog import Catalog
    from prowess.filesystem import Filesystem, Question
    from prowess.mcp import McpSkillProvider
    from prowess.visibility import Comparison

    from ._output import Result
    from ._parser import Arguments

_REMOTE = "mcp://"
"""What the path of a skill of a server begins with."""


def skill_dirs(args: Arguments) -> list[str]:
    """Return the folders of skills that the user named: those of options before those of the variable."""
    listed = os.environ.get("PROWESS_SKILL_DIR", "")
    return [*args.skill_dir, *(part for part in listed.split(os.pathsep) if part)]


def require_paths(args: Arguments, *options: str) -> None:
    """Check that the options `cwd` and `home` are folders and `role` is a file, if given.

    Raises:
        ConfigError: one of them is not.
    """
    for option in options:
        value = getattr(args, option)
        kind, exists = ("file", os.path.isfile) if option == "role" else ("folder", os.path.isdir)
        if value is not None and not exists(value):
            from prowess._internal.text import neutral
            from prowess.errors import ConfigError

            raise ConfigError(f"`--{option}` is not a {kind}: {neutral(value)}", hint="check the path")


def client_arguments(args: Arguments) -> list[str]:
    """Return the arguments that the agent is started with.

    Raises:
        ConfigError: there are arguments, but the user has not named one agent.
    """
    arguments: list[str] = args.client_arg
    named = getattr(args, "host", None)
    if arguments and (not named or (isinstance(named, list) and len(named) != 1)):
        from prowess.errors import ConfigError

        raise ConfigError("`--client-arg` needs one `--host`", hint="name the agent that is started with this argument")
    return arguments


def may_offer_skills(cwd: str, exists: Callable[[str], object] = os.path.lexists) -> bool:
    """Return whether a folder looks like the top of a repository that offers skills, without searching it."""
    return any(exists(os.path.join(cwd, name)) for name in ("skills", "plugins", ".claude-plugin"))


def catalog_from_args(
    args: Arguments,
    host: str | None = None,
    filesystem: Filesystem | Callable[[], Filesystem] | None = None,
    *,
    reference: str = "",
) -> Catalog:
    """Return the catalog that the discovery options ask for.

    Args:
        args: of the command; with `--servers` the skills of all configured servers are added.
        host: the agent's name.
        filesystem: as for `discover`.
        reference: the skill that the user names; for `LABEL:NAME` or `mcp://LABEL/URI` the skills of the server with
            that label are added, if the agent is Prowess.

    Raises:
        HostNotFoundError: the host is unknown.
        ConfigError: a path that an option names does not exist, the settings of servers are invalid, or no server is
            configured.
        SkillError: the server failed, or has no skill with the URI.
    """
    from prowess.catalog import catalog_for

    require_paths(args, "cwd", "home", "role")
    name = host or getattr(args, "host", None) or "prowess"
    servers: Sequence[McpSkillProvider] = ()
    if getattr(args, "servers", False):
        servers = _all_servers(args, name)
    elif name == "prowess":  # no other agent uses the servers of these settings
        servers = named_server(args, reference)
    catalog = catalog_for(question_from_args(args), name, filesystem=filesystem, cache=not args.no_cache)
    if servers:
        from prowess.catalog import add_providers

        catalog = add_providers(catalog, servers)
    if servers and reference and not catalog.candidates(reference):
        failed = [item for server in servers for item in server.findings if item.code == "server-failed"]
        if failed:
            from prowess.errors import SkillError

            raise SkillError(failed[0].message, hint=failed[0].hint)
        if reference.startswith(_REMOTE):  # a server need not list all that it serves
            entry = servers[0].find(reference.removeprefix(f"{_REMOTE}{servers[0].label}/"))
            readers = {**catalog.readers, entry.path: servers[0]}
            catalog = catalog.with_changes(skills=(*catalog.skills, entry), readers=readers)
    return catalog


def named_server(args: Arguments, reference: str) -> Sequence[McpSkillProvider]:
    """Return the configured server that a reference names; it is not started.

    Raises:
        ConfigError: the settings of servers are invalid.
    """
    is_path = reference.startswith(_REMOTE)
    label, mark, name = reference.removeprefix(_REMOTE).partition("/" if is_path else ":")
    home = args.home or os.path.expanduser("~")
    if not mark or not name or not os.path.lexists(os.path.join(home, ".prowess", "config.toml")):
        return ()
    from prowess.mcp import configured_servers

    return tuple(configured_servers(home, only=label).values())


def _all_servers(args: Arguments, host: str) -> Sequence[McpSkillProvider]:
    """Return all configured servers, which have listed their skills, or did not in time.

    Raises:
        ConfigError: the settings of servers are invalid, or without servers; or the host does not use them.
    """
    from prowess.errors import ConfigError

    if host != "prowess":
        message = f"`--servers` cannot be used with `--host {host}`: only Prowess uses the servers of your settings"
        raise ConfigError(message, hint="leave out one of the two")
    from prowess.mcp import configured_servers, list_together

    servers = configured_servers(args.home)
    if not servers:
        hint = "add one as `[[servers]]` to .prowess/config.toml in your home: docs/mcp.md shows how"
        raise ConfigError("`--servers` has nothing to ask: your settings have no servers", hint=hint)
    list_together(servers.values(), os.path.abspath(args.cwd or "."))
    return tuple(servers.values())


def print_for_one(args: Arguments, host: str | None, purpose: str, make: Callable[[Catalog], Result]) -> int:
    """Print a text about the catalog that the discovery options ask for, if possible from the cache.

    Args:
        args: of the command.
        host: the agent's name.
        purpose: the command, with every value that the text depends on besides the catalog.
        make: returns the text.

    Raises:
        HostNotFoundError: the host is unknown.
        ConfigError: a path that an option names does not exist.
    """
    from prowess.catalog import catalog_output

    require_paths(args, "cwd", "home", "role")
    output, note = catalog_output(
        question_from_args(args),
        host or "prowess",
        purpose=purpose,
        make=lambda catalog: encode_result(make(catalog), is_json=False),
        cache=not args.no_cache,
    )
    return print_output(output, note)


def print_for_several(
    args: Arguments,
    hosts: Sequence[str],
    purpose: str,
    make: Callable[[Mapping[str, Catalog], Filesystem], Result],
) -> int:
    """Print JSON or a text about the catalogs of some agents, as `print_for_one` does for one.

    Raises:
        HostNotFoundError: a host is unknown.
        ConfigError: there are arguments for an agent, but the user has not named one agent.
    """
    from prowess.catalog import recorded_output

    output, note = recorded_output(
        question_from_args(args),
        hosts,
        purpose=f"{purpose} {'json' if args.json else look()}",
        make=lambda catalogs, filesystem: encode_result(make(catalogs, filesystem), is_json=args.json),
        cache=not args.no_cache,
    )
    return print_output(output, note, is_json=args.json)


def print_for_question(
    args: Arguments, question: Question, purpose: str, make: Callable[[Question, Filesystem], Result]
) -> int:
    """Print JSON or a text about a question, as `print_for_one` does for a catalog, and return its exit code.

    Args:
        args: of the command.
        question: which the discovery options ask.
        purpose: the command, with every value that the result depends on besides the question and the disk.
        make: returns the result, as in `question_output`.
    """
    from prowess.catalog import question_output

    def output_with_code(question: Question, filesystem: Filesystem) -> tuple[bytes, str]:
        result = make(question, filesystem)
        output, note = encode_result(result, is_json=args.json)
        return output, "\n".join([str(result.code), *filter(None, (note, *result.notes))])

    try:
        here = os.getcwd()
    except OSError:  # removed
        here = ""
    purpose = f"{purpose} {here!r} {'json' if args.json else look()}"
    output, words = question_output(question, purpose=purpose, make=output_with_code, cache=not args.no_cache)
    code, _, note = words.partition("\n")
    print_output(output, note, is_json=args.json)
    return int(code)


def comparison_from_args(
    args: Arguments, hosts: Sequence[str], files: Sequence[str], progress: Callable[[int], None]
) -> Comparison:
    """Return what some agents do with all skills, and with these files, as the discovery options ask for it."""
    from prowess.visibility import compare

    question = question_from_args(args)
    return compare(question, hosts=hosts, files=files, progress=progress, cache=not args.no_cache)


class OptionalExtra:
    """A block whose packages may be missing: their error, which says how to install them, becomes one of the user.

    Raises:
        ConfigError: a package is missing.
    """

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """End the block."""
        if isinstance(error, ImportError):
            from prowess.errors import ConfigError

            hint = "type the command above, then try again"
            raise ConfigError(str(error), hint=hint) from None


def question_from_args(args: Arguments) -> Question:
    """Return the question that the discovery options ask."""
    from prowess.filesystem import Question

    return Question.about(
        args.cwd or ".", args.home, skill_dirs(args), role=args.role, client_args=client_arguments(args)
    )


# ── agents ───────────────────────────────────────────────────────────────────────────────────────────────────────────

NO_AGENT_FOUND = "no agent found on this machine; showing the agents whose rules were observed"


def chosen_hosts(args: Arguments) -> tuple[list[str], str | None]:
    """Return the agents that the options ask for, and a note if these are not the ones that a user would expect.

    They are those of `--host`; with `--all` all; else those on this machine, or, where no agent is installed, those
    whose rules were observed. `prowess` itself is not one of them unless it is named.

    Raises:
        HostNotFoundError: a host is unknown.
    """
    if args.all:
        from prowess.hosts import DEFAULT_HOST, host_names

        return [name for name in host_names() if name != DEFAULT_HOST], None
    if args.host:
        from prowess.hosts import load_host

        return [load_host(name).name for name in dict.fromkeys(args.host)], None
    return hosts_in_use(args)


def hosts_in_use(args: Arguments) -> tuple[list[str], str | None]:
    """Return the agents that a command is about if the user names none, and a note, as `chosen_hosts` does."""
    from prowess._internal.files import real_path
    from prowess.filesystem import git_root
    from prowess.hosts import detected_hosts, host_names, installed_hosts, observed_hosts

    home, cwd = os.path.abspath(args.home or os.path.expanduser("~")), real_path(args.cwd or ".")
    project = git_root(cwd)
    detected = detected_hosts(cwd, home, [project] if project else [])
    if installed_hosts(home):
        return [*detected], None
    shown = {*detected, *observed_hosts()}
    return [name for name in host_names() if name in shown], NO_AGENT_FOUND


# ── plain arguments ──────────────────────────────────────────────────────────────────────────────────────────────────

_VALUES = {"--host": "host", "--cwd": "cwd", "--home": "home", "--budget": "budget", "--arguments": "arguments"}
_FLAGS = {"--json": "json", "--no-cache": "no_cache", "--all": "all"}
_DISCOVERY: Mapping[str, Any] = {
    **dict.fromkeys(("host", "cwd", "home", "role")),
    **dict.fromkeys(("no_cache", "json"), False),
}
PLAIN_COMMANDS: Mapping[str, Mapping[str, Any]] = {
    "activate": {**_DISCOVERY, "name": None, "arguments": None},
    "list": {**_DISCOVERY, "all": False, "rows": False, "digest": False, "servers": False},
    "prompt": {**_DISCOVERY, "format": None, "budget": None, "query": None, "level": ()},
    "why": {**_DISCOVERY, "name": None, "all": False},
}
"""The commands, each with its arguments and their values if they are not given."""
_Arguments: Any = type(sys.implementation)  # `SimpleNamespace`, without loading `types`
_SEVERAL_HOSTS = ("list", "why")


def parse_plain_arguments(command: str, arguments: Sequence[str]) -> Arguments | None:
    """Return the arguments of a frequent command as its parser does; `None` if they are not plain.

    An option that is unknown, abbreviated, repeated, written with `=` or without its value is left to the parser, which
    reports the errors; a test compares both.
    """
    defaults = PLAIN_COMMANDS.get(command)
    if defaults is None:
        return None
    found: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        key = _FLAGS.get(argument) or _VALUES.get(argument) or "name"
        value = next(rest, "-") if argument in _VALUES else argument
        if key not in defaults or key in found or (argument not in _FLAGS and value[:1] in ("", "-")):
            return None
        found[key] = value if argument not in _FLAGS else True
    if "name" in defaults and "name" not in found:
        return None
    if command in _SEVERAL_HOSTS and "host" in found:
        found["host"] = [found["host"]]
    choose_color("auto")
    lists: dict[str, list[str]] = {key: [] for key, value in defaults.items() if value == ()}
    result: Arguments = _Arguments(**{**defaults, **lists, "skill_dir": [], "client_arg": [], **found})
    return result
