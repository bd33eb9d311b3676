"""a command of a tool -> how it ended, in words for a model"""

from __future__ import annotations

import codecs
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prowess._internal.frozen import EMPTY
from prowess._internal.fs import remove_tree
from prowess._internal.text import neutral, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import SandboxError
from prowess.sandbox import SYSTEM_PATH, Limits, Result, make_temp_folder, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prowess.agent.policy import ToolContext

__all__ = ["run_command", "find_program", "scratch_folder", "decode_output", "describe_result"]

_SYSTEM_PYTHONS = ("python", "python3")
"""Which contained commands find already."""
_RESERVED_BYTES = 1000
"""Bytes of a result that are for what is not output."""


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
    network: bool = False,
    scratch: str | None = None,
) -> Result:
    """Run a command to its end, contained as the agent's user wants it.

    Args:
        argv: the command.
        context: what its tool was made with.
        cwd: the working directory; this, `readable` and `writable` are absolute and without links.
        timeout: seconds.
        max_output_bytes: bytes of each stream that are kept; fewer where the policy returns fewer to the model.
        env: its variables.
        stdin: what it reads.
        readable: what it can read.
        writable: what it can change.
        network: whether it has one.
        scratch: a folder of its own; None for a new one.

    Raises:
        RefusedError: a folder has become a link.
        ToolFailedError: it cannot be started, or nothing contains it.
    """
    for path in (cwd, *readable, *writable):
        if os.path.realpath(path) != path:
            raise RefusedError(f"{quoted(path, 200)} lies behind a link now; it was none when the tool was made")
    kept = max(1, min(max_output_bytes, (context.policy.max_result_bytes - _RESERVED_BYTES) // 2))
    try:
        return run(
            argv,
            cwd=cwd,
            env=env,
            stdin=stdin,
            limits=Limits(timeout=timeout, output=kept),
            readable=readable,
            writable=writable,
            network=network,
            sandbox=context.sandbox,
            trusted=context.trusted,
            scratch=scratch,
        )
    except SandboxError as error:
        raise ToolFailedError(str(error), hint=error.hint) from None


def describe_result(done: Result, timeout: float) -> str:
    """Say how a command ended, and what it wrote."""
    first = f"stopped: it took longer than {timeout:g} seconds" if done.timed_out else f"exit code {done.exit_code}"
    if done.killed and not done.timed_out:
        first += f"; what it left running was ended ({done.killed})"
    lines = [first]
    for name, data, size in (("stdout", done.stdout, done.stdout_size), ("stderr", done.stderr, done.stderr_size)):
        if size:
            lines += [f"{name}:", decode_output(data, size)]
    return "\n".join(lines if len(lines) > 1 else (first, "no output"))


def decode_output(data: bytes, size: int) -> str:
    """Return output as text: what does not show is escaped, and what was left out is told.

    Args:
        data: its beginning.
        size: bytes that were written.
    """
    whole = size <= len(data)
    # A character that was cut in two at the end is left out.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=whole)
    lines = text.replace("\r\n", "\n").split("\n")
    plain = "\n".join("\t".join(map(neutral, line.split("\t"))) for line in lines).rstrip("\n")
    if not whole:
        plain += f"\n[the first {len(data):,} of {size:,} bytes; {size - len(data):,} were left out: ask for less]"
    return plain


@contextmanager
def scratch_folder() -> Iterator[str]:
    """Make a folder for one call, removed at its end.

    Raises:
        ToolFailedError: it cannot be made.
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
    """Find a program that lies in no system folder on the user's PATH.

    Args:
        name: of the program, without `/`.
        env: the user's environment.

    Returns:
        its path, or its name where a system folder has it or nothing has, and what must be readable to run it.
    """
    if name in _SYSTEM_PYTHONS or any(os.access(f"{folder}/{name}", os.X_OK) for folder in SYSTEM_PATH.split(":")):
        return name, ()
    for folder in env.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        # A relative folder on PATH is whatever a project put there.
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            real = os.path.realpath(path)
            return real, (real, *_virtual_environment_folders(os.path.dirname(os.path.dirname(real)), env))
    return name, ()


def _virtual_environment_folders(prefix: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders of a Python environment, if that is what a program lies in."""
    if not os.path.isfile(f"{prefix}/pyvenv.cfg"):
        return ()
    base = os.path.dirname(os.path.dirname(os.path.realpath(f"{prefix}/bin/python")))
    # An environment or a Python right in the home must not bring the rest of it along.
    home = os.path.realpath(env.get("HOME") or os.path.expanduser("~")) + "/"
    return tuple(path for path in (prefix, base) if not home.startswith(path.rstrip("/") + "/"))
