"""scripts of a role or a skill -> tools, one each

What the model gives a script is in its environment, never in its text or on its command line.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.agent.policy import ToolFailedError
from prowess.errors import ConfigError
from prowess.sandbox import SYSTEM_PATH

from ._arguments import Argument, make_agent_tool
from ._commands import describe_result, find_program, run_command, scratch_folder
from ._paths import open_folder, open_regular_file, resolve_folder, split_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prowess.agent.policy import AgentTool, ToolContext

__all__ = ["tools"]

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_RESERVED_VARIABLES = re.compile(
    r"PATH|HOME|TMPDIR|LANG|LC_\w+|ENV|IFS|PS4|SHELLOPTS|CDPATH|BASH\w*|(LD|DYLD)_\w+|(PYTHON|PERL5|RUBY|NODE_|GIT_)\w+",
    re.ASCII,
)
"""Variables that decide what a program runs: no model sets them."""
_MAX_VALUE_BYTES = 100_000
"""Bytes of one value: what the system takes."""
_MAX_FIRST_LINE_BYTES = 1024
"""Bytes of a first line."""


class _Script(Frozen):
    """One script."""

    name: str
    folder: str
    """Where its path begins; absolute, without links."""
    cwd: str
    path: str | None
    body: str | None
    interpreter: tuple[str, ...]
    """The words before its path; none is as its first line says."""
    timeout: float
    max_output_bytes: int
    network: bool


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make a tool of each script.

    Raises:
        ConfigError: a name cannot be one, a script is not there, or lies elsewhere.
    """
    folder = os.path.realpath(context.skill or context.folder)
    named = options["working_dir"]
    cwd = folder if named is None else resolve_folder(context, named, "working_dir")
    made: list[AgentTool] = []
    for script in options["scripts"]:
        name = script["name"]
        if not _TOOL_NAME.fullmatch(name):
            hint = "use at most 64 letters, digits, `_` and `-`, a letter first"
            raise ConfigError(f"the script's name {quoted(name)} cannot be that of a tool", hint=hint)
        if name in {tool.name for tool in made}:
            raise ConfigError(f"two scripts are called {quoted(name)}", hint="rename one of them")
        about = _Script(
            name=name,
            folder=folder,
            cwd=cwd,
            path=script["path"],
            body=script["body"],
            interpreter=_split_interpreter(name, script["interpreter"] or options["interpreter"]),
            timeout=script["timeout_seconds"] or options["timeout_seconds"],
            max_output_bytes=options["max_output_bytes"],
            network=options["network"],
        )
        _check_script(about)
        arguments: dict[str, Argument] = {}
        for parameter in script["parameters"]:
            arguments[_checked_parameter(name, parameter["name"], arguments)] = Argument(
                "string", parameter["description"], parameter["default"], needed=parameter["required"]
            )
        made.append(
            make_agent_tool(
                "script",
                name,
                script["description"] or f"Run the script {name}.",
                arguments,
                _make_function(about, context),
                ask=options["require_confirmation"],
            )
        )
    return tuple(made)


def _split_interpreter(name: str, interpreter: str | None) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(interpreter or ""))
    except ValueError:
        raise ConfigError(
            f"the interpreter of the script {quoted(name)} cannot be read", hint="close its quotes"
        ) from None


def _checked_parameter(script: str, name: str, others: Mapping[str, Argument]) -> str:
    """Return the name of a parameter that can be a variable.

    Raises:
        ConfigError: it cannot.
    """
    of = f"the parameter {quoted(name)} of the script {quoted(script)}"
    if not _PARAMETER_NAME.fullmatch(name):
        raise ConfigError(f"{of} cannot be a variable", hint="use letters, digits and `_`, a letter first")
    if _RESERVED_VARIABLES.fullmatch(name.upper()):
        hint = f"call it otherwise, as in `input_{name.lower()}`"
        raise ConfigError(f"{of} would be the variable `{name.upper()}`, which decides what programs do", hint=hint)
    if name.upper() in {other.upper() for other in others}:
        raise ConfigError(f"{of} is there twice", hint="rename one of them")
    return name


def _check_script(script: _Script) -> None:
    """See to it that a script can be found.

    Raises:
        ConfigError: it cannot.
    """
    of = f"the script {quoted(script.name)}"
    if (script.path is None) == (script.body is None):
        words = "has neither a path nor a body" if script.path is None else "has both a path and a body"
        raise ConfigError(f"{of} {words}", hint="give it one of them")
    if script.path is not None:
        if "\0" in script.path:
            raise ConfigError(f"{of} has a NUL character in its path", hint="leave it out")
        try:
            _path_and_first_bytes(script.folder, script.path)
        except ToolFailedError as error:
            hint = "name a file in the skill's folder, or in the role's, that is no link"
            raise ConfigError(f"{of}: {error}", hint=hint) from None


def _path_and_first_bytes(folder: str, path: str) -> tuple[str, bytes]:
    """Return where a script lies, and how it begins.

    Raises:
        ToolFailedError: it is not there, or elsewhere.
    """
    parts = split_path(path, folder)
    if not parts:
        raise ToolFailedError(f"{quoted(path)} is no file")
    with open_folder(folder, parts[:-1]) as fd, open_regular_file(fd, parts[-1], path) as (inner, _):
        return os.path.join(folder, *parts), os.read(inner, _MAX_FIRST_LINE_BYTES)


def _interpreter_of(script: _Script, path: str, begins: bytes) -> Sequence[str]:
    if script.interpreter:
        return script.interpreter
    line = begins.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    # The system gives all that follows as one argument.
    words = line[2:].split(None, 1) if line.startswith("#!") else ()
    return words or (("python3",) if path.endswith(".py") else ("/bin/sh",))


def _make_function(script: _Script, context: ToolContext) -> Any:
    def run_script(**given: str | None) -> str:
        env = {name.upper(): value or "" for name, value in given.items()}
        for name, value in env.items():
            if len(value.encode()) > _MAX_VALUE_BYTES:
                raise ToolFailedError(f"`{name.lower()}` is longer than {_MAX_VALUE_BYTES:,} bytes; give less")
        with scratch_folder() as scratch:
            if script.path is not None:
                path, begins = _path_and_first_bytes(script.folder, script.path)
            else:
                body = (script.body or "").encode("utf-8", "replace")
                path, begins = os.path.join(scratch, script.name), body[:_MAX_FIRST_LINE_BYTES]
                with open(path, "wb") as file:
                    file.write(body)
            first, *others = _interpreter_of(script, path, begins)
            program, needed = (first, ()) if "/" in first else find_program(first, context.env)
            folders = f"{SYSTEM_PATH}:{os.path.dirname(program)}" if needed else SYSTEM_PATH
            done = run_command(
                [program, *others, path],
                context,
                cwd=script.cwd,
                timeout=script.timeout,
                max_output_bytes=script.max_output_bytes,
                env={"PATH": folders, **env},
                readable=(script.folder, *needed),
                network=script.network,
                scratch=scratch,
            )
        return describe_result(done, script.timeout)

    return run_script
