"""Run a command for a tool, in the sandbox, and describe the result for a model."""

from __future__ import annotations

import codecs
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from prowess._internal.files import real_path, real_path_or_none
from prowess._internal.frozen import EMPTY
from prowess._internal.fs import remove_tree
from prowess._internal.inside import is_inside
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError, SandboxError
from prowess.sandbox import SYSTEM_PATH, Limits, Result, make_temp_folder, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prowess.agent.policy import ToolContext
    from prowess.sandbox import NetworkRules

__all__ = [
    "PROXY_NOTE",
    "command_network",
    "decode_output",
    "describe_result",
    "find_program",
    "run_command",
    "scratch_folder",
    "search_path",
]

_SYSTEM_PYTHONS = ("python", "python3")
"""Programs that every sandbox provides."""
PROXY_NOTE = (
    " Allowed hosts of the network are reached by HTTP and HTTPS, through the proxy that `HTTPS_PROXY` names; it says "
    "which host it refuses."
)
"""For the model, about a command with the network."""
_MAX_REASONS, _MAX_REASON_CHARS = 3, 250
"""Reasons of refused hosts that a result shows: with them it has no more than `_RESERVED_BYTES` besides output."""
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
    writable: Sequence[str] = (),
    read_only: Sequence[str] = (),
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
        writable: folders it can change.
        read_only: files and folders in those that it cannot change.
        network: the hosts it can reach.
        unix_sockets: whether it can reach the Unix sockets that the role names; a skill's tool never can.
        sees_copies_only: whether it sees no folder of the user, so that Unix sockets it makes are its own.
        scratch: a folder of its own; `None` makes a new one.

    Raises:
        RefusedError: a folder has become a link.
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
            limits=Limits(timeout=timeout, output=output_limit),
            readable=readable,
            writable=writable,
            read_only=read_only,
            network=network,
            unix_sockets=named or (() if sees_copies_only else None),
            sandbox=context.sandbox,
            trusted=context.trusted,
            scratch=scratch,
        )
    except SandboxError as error:
        raise ToolFailedError(str(error), hint=error.hint) from None


def command_network(options: Mapping[str, Any], context: ToolContext) -> bool | NetworkRules:
    """Return the hosts that a tool's commands can reach; `False` without `network: true`.

    Raises:
        ConfigError: a domain is invalid, or has no effect.
    """
    if not options["network"]:
        for name in ("allowed_domains", "blocked_domains"):
            if options.get(name):
                raise ConfigError(f"`{name}` has no effect without the network", hint="add `network: true`")
        return False
    from ._network import network_rules  # loads an HTTP client, which most commands do not need

    return network_rules(options, context)


def describe_result(done: Result, timeout: float) -> str:
    """Return a command's exit code and output as text."""
    summary = f"stopped: it took longer than {timeout:g} seconds" if done.timed_out else f"exit code {done.exit_code}"
    if done.killed and not done.timed_out:
        summary += f"; processes it left running were stopped ({done.killed})"
    if done.out_of_memory:
        summary += "; it used too much memory"
    # Many programs do not show the reason that the proxy gives them.
    lines = [summary, *(f"network: {reason[:_MAX_REASON_CHARS]}" for reason in done.refused_hosts[:_MAX_REASONS])]
    if left_out := len(done.refused_hosts[_MAX_REASONS:]):
        lines.append(f"network: {left_out} more hosts were refused")
    for name, data, size in (("stdout", done.stdout, done.stdout_size), ("stderr", done.stderr, done.stderr_size)):
        if size:
            lines += [f"{name}:", decode_output(data, size)]
    return "\n".join(lines if len(lines) > 1 else (summary, "no output"))


def decode_output(data: bytes, size: int) -> str:
    """Return output as text: hidden characters are escaped, and a note says how much is left out.

    Args:
        data: the first bytes of the output.
        size: the bytes of all output.
    """
    whole = size <= len(data)
    # A character that is cut in two at the end is left out.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=whole)
    lines = text.replace("\r\n", "\n").split("\n")
    visible = "\n".join("\t".join(map(neutral, line.split("\t"))) for line in lines).rstrip("\n")
    if not whole:
        visible += f"\n[the first {len(data):,} of {size:,} bytes; {size - len(data):,} are left out; ask for less]"
    return visible


@contextmanager
def scratch_folder() -> Iterator[str]:
    """Make a folder for one call, and remove it afterwards.

    Raises:
        ToolFailedError: it cannot be created.
    """
    try:
        folder = make_temp_folder("tool")
    except SandboxError as error:
        raise ToolFailedError(str(error), hint=error.hint) from None
    try:
        yield folder
    finally:
        remove_tree(folder)


def find_program(name: str, env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Find a program on the user's PATH, if it is not in a system folder.

    Args:
        name: the program's name; a path is returned unchanged.
        env: the user's environment.

    Returns:
        The program's path and the files and folders it needs; only the name if a system folder has it or if it is not
        found.
    """
    if (
        "/" in name
        or name in _SYSTEM_PYTHONS
        or any(os.access(f"{folder}/{name}", os.X_OK) for folder in SYSTEM_PATH.split(":"))
    ):
        return name, ()
    for folder in env.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        # A relative folder on PATH could be any project's.
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            real = real_path(path)
            return real, (real, *_virtual_environment_folders(os.path.dirname(os.path.dirname(real)), env))
    return name, ()


def search_path(program: str, needed: Sequence[str]) -> str:
    """Return the PATH for a program that `find_program` found: the system's folders, and its own if it is elsewhere."""
    return f"{SYSTEM_PATH}:{os.path.dirname(program)}" if needed else SYSTEM_PATH


def _virtual_environment_folders(prefix: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders of the Python virtual environment that a program belongs to, if any."""
    if not os.path.isfile(f"{prefix}/pyvenv.cfg"):
        return ()
    base = os.path.dirname(os.path.dirname(real_path(f"{prefix}/bin/python")))
    # A virtual environment that is the home folder itself must not make all of it readable.
    home = real_path(env.get("HOME") or os.path.expanduser("~"))
    return tuple(path for path in (prefix, base) if not is_inside(home, path))
