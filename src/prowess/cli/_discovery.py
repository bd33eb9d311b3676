"""Ask for the catalog, or the comparison of agents, that the discovery options of a command describe.

This module does not know `argparse`, which takes longer to load than a frequent command takes to run.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from prowess.catalog import Catalog, Comparison, Filesystem
    from prowess.mcp import McpSkillProvider

__all__ = [
    "catalog_from_args",
    "client_arguments",
    "comparison_from_args",
    "named_server",
    "output_from_args",
    "recorded_output_from_args",
    "require_paths",
    "skill_dirs",
]


_REMOTE = "mcp://"
"""What the path of a skill of a server begins with."""


def skill_dirs(args: argparse.Namespace) -> list[str]:
    """Return the folders of skills that the user named: those of options before those of the variable."""
    listed = os.environ.get("PROWESS_SKILL_DIR", "")
    return [*args.skill_dir, *(part for part in listed.split(os.pathsep) if part)]


def require_paths(args: argparse.Namespace, *options: str) -> None:
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


def client_arguments(args: argparse.Namespace) -> list[str]:
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


def catalog_from_args(
    args: argparse.Namespace,
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
    from prowess.catalog import discover

    require_paths(args, "cwd", "home", "role")
    name = host or getattr(args, "host", None) or "prowess"
    where = _where_to_look(args)
    servers: Sequence[McpSkillProvider] = ()
    if getattr(args, "servers", False):
        servers = _all_servers(args, name)
    elif name == "prowess":  # no other agent uses the servers of these settings
        servers = named_server(args, reference)
    catalog = discover(args.cwd or ".", host=name, filesystem=filesystem, providers=servers, **where)
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


def named_server(args: argparse.Namespace, reference: str) -> Sequence[McpSkillProvider]:
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


def _all_servers(args: argparse.Namespace, host: str) -> Sequence[McpSkillProvider]:
    """Return all configured servers; they are not started.

    Raises:
        ConfigError: the settings of servers are invalid, or without servers; or the host does not use them.
    """
    from prowess.errors import ConfigError

    if host != "prowess":
        message = f"`--servers` cannot be used with `--host {host}`: only Prowess uses the servers of your settings"
        raise ConfigError(message, hint="leave out one of the two")
    from prowess.mcp import configured_servers

    servers = configured_servers(args.home)
    if not servers:
        hint = "add one as `[[servers]]` to .prowess/config.toml in your home: docs/mcp.md shows how"
        raise ConfigError("`--servers` has nothing to ask: your settings have no servers", hint=hint)
    return tuple(servers.values())


def output_from_args(
    args: argparse.Namespace, host: str | None, purpose: str, make: Callable[[Catalog], tuple[bytes, str]]
) -> tuple[bytes, str]:
    """Return an output about the catalog that the discovery options ask for, and a note, if possible from the cache.

    Args:
        args: of the command.
        host: the agent's name.
        purpose: the command, with every value that the output depends on besides the catalog.
        make: makes both.

    Raises:
        HostNotFoundError: the host is unknown.
        ConfigError: a path that an option names does not exist.
    """
    from prowess.catalog import catalog_output

    require_paths(args, "cwd", "home", "role")
    return catalog_output(args.cwd or ".", host or "prowess", purpose=purpose, make=make, **_where_to_look(args))


def recorded_output_from_args(
    args: argparse.Namespace,
    hosts: Sequence[str],
    purpose: str,
    make: Callable[[Mapping[str, Catalog], Filesystem], tuple[bytes, str]],
) -> tuple[bytes, str]:
    """Return an output about the catalogs of some agents, and a note, as `output_from_args` does for one agent.

    Raises:
        HostNotFoundError: a host is unknown.
        ConfigError: there are arguments for an agent, but the user has not named one agent.
    """
    from prowess.catalog import recorded_output

    return recorded_output(args.cwd or ".", hosts, purpose=purpose, make=make, **_where_to_look(args))


def comparison_from_args(
    args: argparse.Namespace, hosts: Sequence[str], files: Sequence[str], progress: Callable[[int], None]
) -> Comparison:
    """Return what some agents do with all skills, and with these files, as the discovery options ask for it."""
    from prowess.catalog import compare

    return compare(args.cwd or ".", hosts=hosts, files=files, progress=progress, **_where_to_look(args))


def _where_to_look(args: argparse.Namespace) -> dict[str, Any]:
    """Return the discovery options as the arguments of `discover` and `compare`."""
    return {
        "home": args.home,
        "skill_dirs": skill_dirs(args),
        "role": args.role,
        "client_args": client_arguments(args),
        "cache": not args.no_cache,
    }
