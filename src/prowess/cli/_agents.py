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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["NO_AGENT_FOUND", "agent_title", "chosen_hosts"]


NO_AGENT_FOUND = "no agent found on this machine; showing the agents whose rules were observed"


def chosen_hosts(args: Namespace) -> tuple[list[str], str | None]:
    """Return the agents that the options ask for, and a note if these are not the ones that a user would expect.

    They are those of `--host`; with `--all` all; else those on this machine, or, where no agent is installed, those
    whose rules were observed. `prowess` itself is not one of them unless it is named.

    Raises:
        HostNotFoundError: a host is unknown.
    """
    if args.all:
        return [name for name in host_names() if name != DEFAULT_HOST], None
    if args.host:
        return [load_host(name).name for name in dict.fromkeys(args.host)], None
    home, cwd = os.path.abspath(args.home or os.path.expanduser("~")), real_path(args.cwd or ".")
    project = git_root(cwd)
    detected = detected_hosts(cwd, home, [project] if project else [])
    if installed_hosts(home):
        return [*detected], None
    return [name for name in host_names() if name in {*detected, *observed_hosts()}], NO_AGENT_FOUND


def agent_title(host: str) -> str:
    """Return the name of an agent for people."""
    return str(raw_value(host, "title"))
