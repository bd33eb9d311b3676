"""`shell`: the tool `run_shell`, which runs one program without a shell.

The command line is split as a shell would split it; nothing is expanded, piped or redirected. A line that needs a shell
is refused, so that the model learns it at once.
"""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from prowess._internal.files import real_path
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.agent.sealed_skills import LoadedFolder, path_in_copy
from prowess.sandbox import describe_result, find_user_program, search_path

from ._commands import PROXY_NOTE, command_network, run_command
from ._making import Argument, make_agent_tool
from ._paths import resolve_folder
from ._protection import ALLOWED_BY, guard_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prowess.agent.policy import AgentTool, ToolContext
    from prowess.sandbox import Result

__all__ = ["tools"]

_SHELL_CHARS = ";|&<>$()`\n\r"
_MAX_COMMAND_CHARS = 100_000
_MAX_NAMED = 5
"""Read-only files and folders that are named after a command that failed."""


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make the tool that runs programs.

    Raises:
        ConfigError: the working directory does not exist, or the policy does not allow it; a domain is invalid.
    """
    folder = resolve_folder(context, options["working_dir"], "working_dir")
    timeout, allowed = options["timeout_seconds"], options["allowed_commands"]
    network = command_network(options, context)
    skill = _SkillPrograms(context, folder)

    def run_shell(command: str) -> str:
        words = _split_command(command)
        name = _allowed_program(words[0], allowed, options["blocked_commands"])
        with skill.program(name) as (path, copy):
            program, needed = find_user_program(path, context.env)

            def run(*, readable: tuple[str, ...], **paths: Any) -> Result:
                return run_command(
                    [program, *words[1:]],
                    context,
                    cwd=folder,
                    timeout=timeout,
                    max_output_bytes=options["max_output_bytes"],
                    env={"PATH": search_path(program, needed), "PYTHONDONTWRITEBYTECODE": "1"},
                    readable=(*copy, *readable),
                    needed=needed,
                    network=network,
                    unix_sockets=True,
                    **paths,
                )

            done = guard_for(context, folder).run(run)
        lines = (describe_result(done.result, timeout), *done.notes, *_explain(done.result, done.read_only, folder))
        return "\n".join(lines)

    programs = f" Allowed programs: {', '.join(allowed)}." if allowed else ""
    description = (
        "Run one program with arguments. There is no shell: no pipes, no redirection, no variables, no wildcards. "
        "What other programs run or obey later, such as `.git` and skills, is read-only."
        f"{programs}{PROXY_NOTE if network else ' There is no network.'}"
    )
    argument = Argument("string", "the program and its arguments, quoted as for a shell", needed=True)
    ask = options["require_confirmation"]
    return (make_agent_tool("shell", "run_shell", description, {"command": argument}, run_shell, ask=ask),)


def _explain(done: Result, read_only: Sequence[str], folder: str) -> list[str]:
    """Return lines on why a command failed, if a rule of Prowess is the likely reason and the system does not say so.

    Args:
        done: the result.
        read_only: the paths that were read-only.
        folder: the working directory.
    """
    output = done.stdout + done.stderr
    lines: list[str] = []
    if not done.exit_code:
        return lines
    # The programs show a path as they got it, so only its name is certain.
    paths = [path for path in read_only if os.fsencode(os.path.basename(path)) in output]
    if b"ead-only file system" in output and paths:
        names = ", ".join(quoted(os.path.relpath(path, folder), PATH_LIMIT) for path in paths[:_MAX_NAMED])
        lines.append(
            f"[read-only, because other programs run or obey it: {names}; {ALLOWED_BY}; "
            "tools such as `git_commit` commit without it]"
        )
    if b"Address family not supported" in output:
        lines.append("[Unix sockets are closed; only the role can name some, with `security.unix_sockets`]")
    return lines


class _SkillPrograms:
    """The programs that a skill's configuration names by a path in its own folder: they run from a sealed copy."""

    def __init__(self, context: ToolContext, cwd: str) -> None:
        self._context, self._cwd = context, cwd
        self._folder = None if context.skill is None else real_path(context.skill)

    @contextmanager
    def program(self, name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the program to run, and the copy that it is in, if any.

        Raises:
            RefusedError: the skill changed, or its user does not trust it any more.
        """
        folder, path = self._folder, os.path.normpath(os.path.join(self._cwd, name))
        if folder is None or "/" not in name or path_in_copy(path, folder, "/copy") == path:
            yield name, ()
            return
        sealed = self._context.sealed or LoadedFolder.load(folder)
        with sealed.copy(contained=self._context.contained) as copy:
            yield path_in_copy(path, folder, copy.folder), (copy.folder,)


def _split_command(line: str) -> list[str]:
    """Split a command line into words.

    Raises:
        ToolFailedError: it is empty, too long or not closed.
        RefusedError: it needs a shell.
    """
    if len(line) > _MAX_COMMAND_CHARS:
        raise ToolFailedError(
            f"the command has {len(line):,} characters: the limit is {_MAX_COMMAND_CHARS:,}; put long input into a file"
        )
    line = line.strip()
    if special := _first_shell_char(line):
        raise RefusedError(
            f"{quoted(special)} needs a shell, which is not available: run one program, without pipes, redirection or "
            "variables; to pass the character to the program, put it in single quotes"
        )
    try:
        words = shlex.split(line)
    except ValueError:
        raise ToolFailedError("the command ends inside quotes or after a backslash; close them") from None
    if not words or not words[0]:
        raise ToolFailedError("the command is empty; give a program and its arguments")
    return words


def _first_shell_char(line: str) -> str | None:
    """Return the first character outside quotes that means something to a shell."""
    quote, position = "", 0
    while position < len(line):
        character = line[position]
        if character == "\\" and quote != "'":
            # A shell would join two lines here.
            if line[position + 1 : position + 2] in ("\n", "\r"):
                return line[position + 1]
            position += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in _SHELL_CHARS:
            return character
        position += 1
    return None


def _allowed_program(word: str, allowed: tuple[str, ...], blocked: tuple[str, ...]) -> str:
    """Return the program to run for the first word of a command.

    Raises:
        RefusedError: the program is not allowed.
    """
    if os.path.basename(word) in {os.path.basename(name) for name in blocked}:
        raise RefusedError(f"the program {quoted(word)} is blocked; go on without it")
    if word in allowed:
        return word
    advice = f"allowed are {', '.join(map(quoted, allowed))}" if allowed else "give its name without the folder"
    if "/" in word:
        raise RefusedError(f"{quoted(word, PATH_LIMIT)} is a path, and programs are run by name; {advice}")
    if "=" in word:
        raise RefusedError(f"{quoted(word, PATH_LIMIT)} sets a variable, which needs a shell; start with the program")
    paths = [name for name in allowed if "/" in name and os.path.basename(name) == word]
    if allowed and not paths:
        raise RefusedError(f"the program {quoted(word, PATH_LIMIT)} is not allowed; {advice}")
    return paths[0] if paths else word
