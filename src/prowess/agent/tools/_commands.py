"""Run a command for a tool, in the sandbox, and describe the result for a model."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from prowess._internal.files import real_path_or_none
from prowess._internal.frozen import EMPTY
from prowess._internal.fs import remove_tree
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError, SandboxError
from prowess.sandbox import LayerError, Limits, Result, make_temp_folder, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prowess._internal.layers import Layer
    from prowess.agent.policy import ToolContext
    from prowess.net import NetworkRules

PROXY_NOTE = (
    " Allowed hosts of the network are reached by HTTP and HTTPS, through the proxy that `HTTPS_PROXY` names; it says "
    "which host it refuses."
)
"""For the model, about a command with the network."""
_RESERVED_BYTES = 1000
"""Bytes of a result that are not for output."""


def run_command(
    argv: Sequence[str],
    context: ToolContext,
    *,
    cwd: str,
    timeout: float,
    max_output_bytes: int,
    env: Mapping[str, str] = EMPTY,
    stdin: bytes | None = None,
    readable: Sequence[str] = (),
    needed: Sequence[str] = (),
    python: bool = True,
    writable: Sequence[str] = (),
    read_only: Sequence[str] = (),
    layers: Sequence[Layer] = (),
    network: bool | NetworkRules = False,
    unix_sockets: bool = False,
    sees_copies_only: bool = False,
    scratch: str | None = None,
) -> Result:
    """Run a command in the user's choice of sandbox, and wait for it.

    Args:
        argv: the command.
        context: what its tool was made with.
        cwd: the working directory; like `readable` and `writable` absolute and without links.
        timeout: seconds.
        max_output_bytes: bytes of each stream to keep; the policy may allow fewer.
        env: the environment.
        stdin: the standard input.
        readable: files and folders it can read.
        needed: those that its program needs, from `find_user_program`.
        python: whether `python3` is this Python.
        writable: folders it can change.
        read_only: files and folders in those that it cannot change.
        layers: folders of those, each with the folder that gets what it writes there.
        network: the hosts it can reach.
        unix_sockets: whether it can reach the Unix sockets that the role names; a skill's tool never can.
        sees_copies_only: whether it sees no folder of the user, so that Unix sockets it makes are its own.
        scratch: a folder of its own; `None` makes a new one.

    Raises:
        RefusedError: a folder has become a link.
        LayerError: a layer cannot be made on this system, and the command did not start.
        ToolFailedError: the command did not start, or no sandbox is available.
    """
    for path in (cwd, *readable, *writable):
        if real_path_or_none(path) != path:
            raise RefusedError(f"{quoted(path, PATH_LIMIT)} has become a link since the tool was made")
    named = context.policy.unix_sockets if unix_sockets and context.skill is None else ()
    output_limit = max(1, min(max_output_bytes, (context.policy.max_result_bytes - _RESERVED_BYTES) // 2))
    try:
        return run(
            argv,
            cwd=cwd,
            env=env,
            stdin=stdin,
            limits=within_memory(Limits(timeout=timeout, output=output_limit), context),
            readable=(*readable, *needed),
            python=python,
            writable=writable,
            read_only=read_only,
            layers=layers,
            network=network,
            unix_sockets=named or (() if sees_copies_only else None),
            sandbox=context.sandbox,
            trusted=context.trusted,
            scratch=scratch,
        )
    except LayerError:
        raise  # nothing has started: the caller does without
    except SandboxError as error:
        raise ToolFailedError(str(error), hint=error.hint) from None


def within_memory(limits: Limits, context: ToolContext) -> Limits:
    """Return limits with no more memory than the role allows."""
    memory = context.policy.memory
    return limits if memory is None else limits.with_changes(memory=min(memory, limits.memory or memory))


def command_network(options: Mapping[str, Any], context: ToolContext) -> bool | NetworkRules:
    """Return the hosts that a tool's commands can reach; `False` without `network: true`, or if the role closes it.

    Raises:
        ConfigError: a domain is invalid, or has no effect.
    """
    disabled = options.get("network_disabled")
    if not context.policy.commands_network:
        return False
    if disabled or not (options["network"] or disabled is False):
        for name in ("allowed_domains", "blocked_domains"):
            if options.get(name):
                raise ConfigError(f"`{name}` has no effect without the network", hint="add `network: true`")
        return False
    from ._network import network_rules  # loads an HTTP client, which most commands do not need

    return network_rules(options, context)


@contextmanager
def scratch_folder(*, contained: bool) -> Iterator[str]:
    """Make a folder for one call, and remove it afterwards.

    Args:
        contained: whether the call runs in a sandbox.

    Raises:
        ToolFailedError: it cannot be created.
    """
    try:
        folder = make_temp_folder("tool", contained=contained)
    except SandboxError as error:
        raise ToolFailedError(str(error), hint=error.hint) from None
    try:
        yield folder
    finally:
        remove_tree(folder)
