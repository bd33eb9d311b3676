"""prowess exec -> a client in a home of its own, its exit code, and nothing left behind"""

from __future__ import annotations

import argparse
import os
import sys

from prowess._internal.text import neutral, quoted
from prowess.cli._options import add_discovery_options, make_parser, print_json
from prowess.cli.mount import resolve_mounts
from prowess.errors import ConfigError
from prowess.hosts import DEFAULT_HOST, host_names, raw_value
from prowess.isolation import EphemeralHome, Foreground, IsolationConfig, NetworkPolicy, SandboxConfig
from prowess.mount import SkillConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
All after `--` is the command. Its environment is made from nothing: of yours it has the language, the terminal and the
PATH, and what `--env` names. The exit code is the command's, 128 and the number where a signal ended it. With `--json`
the report comes first, and then what the command prints."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("exec", epilog=_EPILOG)
    result.usage = "prowess exec [--host NAME] [--skill SKILL ...] [OPTION ...] -- COMMAND [ARGUMENT ...]"
    result.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help=argparse.SUPPRESS)
    result.add_argument(
        "--host",
        metavar="NAME",
        help=f"the agent that is started (default: the one whose command it is, else {DEFAULT_HOST})",
    )
    result.add_argument(
        "--skill",
        metavar="SKILL",
        action="append",
        default=[],
        help="a skill to put into its home: a path, a name, or NAME= and one of them (repeatable)",
    )
    result.add_argument("--no-validate", action="store_true", help="also mount what breaks the rules for a SKILL.md")
    group = result.add_argument_group("what it may see and do")
    group.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="a variable for it; without a value, yours (repeatable)",
    )
    group.add_argument(
        "--include-host-env",
        action="store_true",
        help="give it your environment, without what may be a secret or leads out of its home",
    )
    group.add_argument(
        "--allow-domain",
        metavar="DOMAIN",
        action="append",
        default=[],
        help="its commands and web tools may reach this domain, and others of this option, but no others",
    )
    group.add_argument("--no-network", action="store_true", help="its commands and web tools may reach nothing")
    group.add_argument(
        "--writable",
        metavar="DIR",
        action="append",
        default=[],
        help="run its commands in its sandbox, where they may write here too (repeatable)",
    )
    group.add_argument(
        "--readable",
        metavar="PATH",
        action="append",
        default=[],
        help="run its commands in its sandbox, where they may read this of your home too (repeatable)",
    )
    result.add_argument("--json", action="store_true", help="print what was mounted as JSON, before the command starts")
    add_discovery_options(result, host="none")
    return result


def run(args: Namespace) -> int:
    """Start a client in a home of its own."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise ConfigError("there is no command to start", hint="`prowess exec --host claude-code -- claude`")
    if args.cwd is not None and not os.path.isdir(args.cwd):
        raise ConfigError(f"`--cwd` is not a folder: {neutral(args.cwd)}", hint="check the path")
    host = args.host or _host_for_program(command[0])
    config = _isolation_config(args)
    with Foreground() as foreground:
        home = EphemeralHome(config, host=host)
        try:
            if args.json:
                print_json(home.report.as_dict())
                sys.stdout.flush()
            return foreground.run(lambda: home.start(command, cwd=args.cwd))
        finally:
            home.close()


def _host_for_program(program: str) -> str:
    """Return the host whose command this is, else Prowess."""
    name = os.path.basename(program)
    known = (host for host in host_names() if (raw_value(host, "isolated") or {}).get("program") == name)
    return next(known, DEFAULT_HOST)


def _isolation_config(args: Namespace) -> IsolationConfig:
    """Return what the options ask for.

    Raises:
        ConfigError: an option contradicts another, or names a variable that is not there.
        SkillNotFoundError: there is no such skill.
    """
    if args.no_network and args.allow_domain:
        raise ConfigError("`--no-network` and `--allow-domain` contradict each other", hint="leave out one of them")
    network = None
    if args.no_network or args.allow_domain:
        network = NetworkPolicy.with_domains(*args.allow_domain)
    sandbox = None
    if args.writable or args.readable:
        sandbox = SandboxConfig(writable_paths=tuple(args.writable), readable_paths=tuple(args.readable))
    return IsolationConfig(
        network_policy=network,
        sandbox=sandbox,
        env=dict(map(_parse_env_option, args.env)),
        include_host_env=args.include_host_env,
        skills=SkillConfig(skills=resolve_mounts(args, args.skill), validate_on_mount=not args.no_validate),
    )


def _parse_env_option(text: str) -> tuple[str, str]:
    """Take apart what `--env` was given; a name alone stands for the caller's own value.

    Raises:
        ConfigError: the caller has none of that name.
    """
    name, equals, value = text.partition("=")
    if equals:
        return name, value
    if name not in os.environ:
        raise ConfigError(
            f"you have no variable {quoted(name)}", hint=f"give it a value: `--env {neutral(name)}=VALUE`"
        )
    return name, os.environ[name]
