"""prowess exec: start an agent in an isolated home and return its exit code."""

from __future__ import annotations

import argparse
import os
import sys

from prowess._internal.text import neutral, quoted
from prowess.cli._arguments import require_paths
from prowess.cli._output import Result, print_result
from prowess.errors import ConfigError
from prowess.hosts import DEFAULT_HOST, host_names, raw_value
from prowess.isolation import EphemeralHome, Foreground, IsolationConfig, NetworkPolicy, SandboxConfig
from prowess.mount import SkillConfig

from .mount import resolve_mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.cli._parser import Arguments, Parser

EPILOG = """\
Everything after `--` is the command. It gets a new environment: from yours, only the language, the terminal, the PATH
and the variables named with --env. The exit code is that of the command, or 128 plus the signal that ended it. With
--json, the report is printed before the output of the command."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.usage = "prowess exec [--host NAME] [--skill SKILL] [OPTION ...] -- COMMAND ..."
    parser.argument("command", "COMMAND", argparse.SUPPRESS, nargs=argparse.REMAINDER)
    host = f"the agent to start (default: the one that COMMAND starts, or else {DEFAULT_HOST})"
    parser.once("--host", "NAME", host)
    parser.values("--skill", "SKILL", "a skill to mount, given as in `prowess mount` (repeatable)")
    parser.flag("--no-validate", "also mount skills with an invalid SKILL.md")
    group = parser.group("isolation")
    group.values("--env", "NAME[=VALUE]", "set an environment variable; without a value, copy yours (repeatable)")
    group.flag(
        "--include-host-env",
        "pass your environment on, except secrets and variables that name paths outside the new home",
    )
    group.values(
        "--allow-domain",
        "DOMAIN",
        "let the agent's commands and web tools connect to this domain and to no others (repeatable)",
    )
    group.flag(
        "--no-network",
        "block all connections of the agent's commands and web tools; the default for agents that can do this",
    )
    group.flag("--network", "leave the network to the agent")
    group.flag("--no-sandbox", "run the agent's commands without its own sandbox, and with the network")
    group.values(
        "--writable", "DIR", "let the agent's commands write to this folder too, in its own sandbox (repeatable)"
    )
    group.values(
        "--readable",
        "PATH",
        "let the agent's commands read this path of your home too, in its own sandbox (repeatable)",
    )
    parser.add_json("print the mounted skills as JSON, before the command starts")
    parser.discovery(host="no")


def run(args: Arguments) -> int:
    """Start an agent in an isolated home."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise ConfigError("no command to start", hint="for example `prowess exec --host claude-code -- claude`")
    require_paths(args, "cwd")
    host = args.host or _host_for_program(command[0])
    config = _isolation_config(args)
    with Foreground() as foreground:
        home = EphemeralHome(config, host=host)
        try:
            print_result(Result(home.report.as_dict), is_json=args.json)
            sys.stdout.flush()
            return foreground.run(lambda: home.start(command, cwd=args.cwd))
        finally:
            home.close()


def _host_for_program(program: str) -> str:
    """Return the host with this command, or else `prowess`."""
    name = os.path.basename(program)
    hosts = (host for host in host_names() if (raw_value(host, "isolated") or {}).get("program") == name)
    return next(hosts, DEFAULT_HOST)


def _isolation_config(args: Arguments) -> IsolationConfig:
    """Return the isolation that the options ask for.

    Raises:
        ConfigError: two options contradict each other, or an environment variable is not set.
        SkillNotFoundError: no such skill.
    """
    _check_contradictions(args)
    network = NetworkPolicy.unrestricted() if args.network else None
    if args.no_network or args.allow_domain:
        network = NetworkPolicy.with_domains(*args.allow_domain)
    sandbox = SandboxConfig(enabled=False) if args.no_sandbox else None
    if args.writable or args.readable:
        sandbox = SandboxConfig(writable_paths=tuple(args.writable), readable_paths=tuple(args.readable))
    return IsolationConfig(
        network_policy=network,
        sandbox=sandbox,
        env=dict(map(_parse_env_option, args.env)),
        include_host_env=args.include_host_env,
        skills=SkillConfig(skills=resolve_mounts(args, args.skill), validate_on_mount=not args.no_validate),
    )


def _check_contradictions(args: Arguments) -> None:
    """Check that no two options contradict each other.

    Raises:
        ConfigError: two do.
    """
    pairs = (
        ("no-network", "allow-domain"),
        ("no-network", "network"),
        ("allow-domain", "network"),
        ("no-network", "no-sandbox"),
        ("allow-domain", "no-sandbox"),
        ("writable", "no-sandbox"),
        ("readable", "no-sandbox"),
    )
    given = vars(args)
    for one, other in pairs:
        if given[one.replace("-", "_")] and given[other.replace("-", "_")]:
            raise ConfigError(f"`--{one}` and `--{other}` contradict each other", hint="use one of them")


def _parse_env_option(text: str) -> tuple[str, str]:
    """Return the name and the value of `--env`; a name alone takes the value from this environment.

    Raises:
        ConfigError: the variable is not set.
    """
    name, equals, value = text.partition("=")
    if equals:
        return name, value
    if name not in os.environ:
        raise ConfigError(
            f"the environment variable {quoted(name)} is not set",
            hint=f"give it a value: `--env {neutral(name)}=VALUE`",
        )
    return name, os.environ[name]
