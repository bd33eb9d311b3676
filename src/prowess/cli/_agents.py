"""Choose the agents that a command asks about: the named ones, those on this machine, or all."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess.catalog import git_root
from prowess.hosts import (
    DEFAULT_HOST,
    detected_hosts,
    host_names,
    installed_hosts,
    load_host,
    observed_hosts,
    raw_value,
)

from ._output import print_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["agent_title", "chosen_hosts"]


def chosen_hosts(args: Namespace, *, quiet: bool = False) -> list[str]:
    """Return the agents that the options ask for: `--host`, `--all`, or those on this machine, without `prowess`.

    Where no agent is installed, these are the agents whose rules were observed, and stderr says so.

    Args:
        args: the options of the command.
        quiet: whether to leave the message out.

    Raises:
        HostNotFoundError: a host is unknown.
    """
    if args.all:
        return [name for name in host_names() if name != DEFAULT_HOST]
    if args.host:
        return [load_host(name).name for name in dict.fromkeys(args.host)]
    home, cwd = os.path.abspath(args.home or os.path.expanduser("~")), real_path(args.cwd or ".")
    project = git_root(cwd)
    detected = detected_hosts(cwd, home, [project] if project else [])
    if installed_hosts(home):
        return [*detected]
    if not quiet:
        print_stderr("no agent found on this machine; showing the agents whose rules were observed")
    return [name for name in host_names() if name in {*detected, *observed_hosts()}]


def agent_title(host: str) -> str:
    """Return the name of an agent for people."""
    return str(raw_value(host, "title"))
