"""a command line -> what a program wrote, without a shell

The line is taken apart as a shell would, and then a program is started: nothing is expanded, joined or redirected. What
a shell would do more with is refused, so that a model learns it at once.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from prowess._internal.text import quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.sandbox import SYSTEM_PATH

from ._arguments import Argument, make_agent_tool
from ._commands import describe_result, find_program, run_command
from ._paths import resolve_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import AgentTool, ToolContext

__all__ = ["tools"]

_SHELL_CHARS = ";|&<>$()`\n\r"
_MAX_COMMAND_CHARS = 100_000
"""Characters of a command line."""


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make the tool that runs programs.

    Raises:
        ConfigError: there is no such working directory, or the policy does not open it.
    """
    folder = resolve_folder(context, options["working_dir"], "working_dir")
    timeout, allowed = options["timeout_seconds"], options["allowed_commands"]

    def run_shell(command: str) -> str:
        words = _split_command(command)
        named = _allowed_program(words[0], allowed, options["blocked_commands"])
        program, needed = (named, ()) if "/" in named else find_program(named, context.env)
        path = f"{SYSTEM_PATH}:{os.path.dirname(program)}" if needed else SYSTEM_PATH
        done = run_command(
            [program, *words[1:]],
            context,
            cwd=folder,
            timeout=timeout,
            max_output_bytes=options["max_output_bytes"],
            env={"PATH": path},
            readable=needed,
            writable=[folder],
        )
        return describe_result(done, timeout)

    which = f" Programs that may be run: {', '.join(allowed)}." if allowed else ""
    words = (
        "Run a program with its arguments. There is no shell: no pipes, no redirection, no variables, no wildcards; "
        f"one program a call.{which}"
    )
    argument = Argument("string", "the program and its arguments, quoted as for a shell", needed=True)
    ask = options["require_confirmation"]
    return (make_agent_tool("shell", "run_shell", words, {"command": argument}, run_shell, ask=ask),)


def _split_command(line: str) -> list[str]:
    """Take a command line apart.

    Raises:
        ToolFailedError: it is none, or wants a shell.
    """
    if len(line) > _MAX_COMMAND_CHARS:
        raise ToolFailedError(f"a command line of {len(line):,} characters is too long; put what is long into a file")
    line = line.strip()
    if special := _first_shell_char(line):
        raise RefusedError(
            f"{quoted(special)} is for a shell, and there is none: run one program a call, without pipes, redirection "
            "or variables; put single quotes around it if the program is to see it as it stands"
        )
    try:
        words = shlex.split(line)
    except ValueError:
        raise ToolFailedError("a quotation mark or a backslash has no end; close it") from None
    if not words or not words[0]:
        raise ToolFailedError("there is no command; name a program and its arguments")
    return words


def _first_shell_char(line: str) -> str | None:
    """Return the first character outside of quotes that a shell would do something with."""
    quote, at = "", 0
    while at < len(line):
        here = line[at]
        if here == "\\" and quote != "'":
            # A line that goes on in the next is still two.
            if line[at + 1 : at + 2] in ("\n", "\r"):
                return line[at + 1]
            at += 1
        elif quote:
            quote = "" if here == quote else quote
        elif here in "'\"":
            quote = here
        elif here in _SHELL_CHARS:
            return here
        at += 1
    return None


def _allowed_program(word: str, allowed: tuple[str, ...], blocked: tuple[str, ...]) -> str:
    """Return the program a word stands for.

    Raises:
        RefusedError: it may not be started.
    """
    if os.path.basename(word) in {os.path.basename(name) for name in blocked}:
        raise RefusedError(f"{quoted(word)} may not be started; do without it")
    if word in allowed:
        return word
    which = f"programs that may be are {', '.join(map(quoted, allowed))}" if allowed else "name it without its folder"
    if "/" in word:
        raise RefusedError(f"{quoted(word, 200)} may not be started by its path; {which}")
    if "=" in word:
        raise RefusedError(f"{quoted(word, 200)} would set a variable, which only a shell does; begin with the program")
    paths = [name for name in allowed if "/" in name and os.path.basename(name) == word]
    if allowed and not paths:
        raise RefusedError(f"{quoted(word, 200)} may not be started; {which}")
    return paths[0] if paths else word
