"""`script`: one tool for each script of a role or a skill.

A script gets the model's arguments as environment variables, never in its text or on its command line. What runs is a
copy whose bytes were compared with those that the user allowed (`_script_files`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from prowess._internal.files import MAX_DIGEST_BYTES, SKILL_FILE, is_inside, read_up_to, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.agent.sealed_skills import LoadedFolder, path_in_copy, word_in_copy
from prowess.environments import ScriptProgram, missing_hints, with_packages
from prowess.errors import ConfigError, SkillError
from prowess.sandbox import describe_result, search_path
from prowess.skill import FIRST_BYTES, load, named_program

from ._commands import command_network, run_command, scratch_folder
from ._making import Argument, make_agent_tool
from ._paths import open_folder, open_regular_file, resolve_folder, split_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prowess.agent.policy import AgentTool, SealedSkill, ToolContext
    from prowess.net import NetworkRules

__all__ = ["ReadyScript", "ScriptFile", "tools"]

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_RESERVED_VARIABLES = re.compile(
    r"PATH|HOME|TMPDIR|LANG|LC_\w+|ENV|IFS|PS4|SHELLOPTS|CDPATH|BASH\w*|ZDOTDIR|(HTTPS?|FTP|ALL|NO)_PROXY|(LD|DYLD)_\w+|"
    r"(PYTHON|PERL5|RUBY|NODE_|GIT_|GLIBC_|MALLOC_|OPENSSL_|XDG_|NPM_|LUA_|JULIA_|DOTNET_|CORECLR_|GUILE_)\w+|"
    r"GCONV_PATH|LOCPATH|NLSPATH|CLASSPATH|GEM_(PATH|HOME)|PHPRC|PHP_INI_SCAN_DIR|AWK(LIB)?PATH|TCLLIBPATH|\w*JAVA_\w*OPTIONS",
    re.ASCII,
)
"""Variables that decide what a program runs; a model must not set them."""
_OPERATORS = frozenset(("|", "||", "&", "&&", ";", ";;", ">", ">>", "<", "<<", "<<<", "(", ")", "{", "}"))
"""Words that begin another command, or that write a file."""
_PYTHONS = ("python", "python3")
_MAX_VALUE_BYTES = 100_000
"""Bytes of one value; the system accepts no more."""


class _Script(Frozen):
    """One script of a configuration."""

    file: ScriptFile
    folder: str
    """The skill's or the role's folder; absolute, without links."""
    is_skill: bool
    """Whether that is a skill's folder: then the script sees the copy in its place."""
    cwd: str
    interpreter: tuple[str, ...]
    """The command before its path; empty if the script's first line decides."""
    timeout: float
    max_output_bytes: int
    network: bool | NetworkRules


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make a tool for each script.

    Raises:
        ConfigError: a name is invalid, or a script does not exist in its folder.
    """
    folder = real_path(context.skill or context.folder)
    working_dir = options["working_dir"]
    cwd = folder if working_dir is None else resolve_folder(context, working_dir, "working_dir")
    network = command_network(options, context)
    agent_tools: list[AgentTool] = []
    for config in options["scripts"]:
        name = config["name"]
        if not _TOOL_NAME.fullmatch(name):
            hint = "use at most 64 letters, digits, `_` and `-`, starting with a letter"
            raise ConfigError(f"invalid script name: {quoted(name)}", hint=hint)
        if name in {tool.name for tool in agent_tools}:
            raise ConfigError(f"two scripts have the name {quoted(name)}", hint="rename one of them")
        if config.get("allowed_commands"):
            _check_commands(name, config["body"], config["allowed_commands"])
        script = _Script(
            file=_load_file(name, folder, config["path"], config["body"], context),
            folder=folder,
            is_skill=context.skill is not None,
            cwd=cwd,
            interpreter=_split_interpreter(name, config["interpreter"] or options["interpreter"]),
            timeout=config["timeout_seconds"] or options["timeout_seconds"],
            max_output_bytes=options["max_output_bytes"],
            network=network,
        )
        arguments: dict[str, Argument] = {}
        for parameter in config["parameters"]:
            arguments[_checked_parameter(name, parameter["name"], arguments)] = Argument(
                "string", parameter["description"], parameter["default"], needed=parameter["required"]
            )
        agent_tools.append(
            make_agent_tool(
                "script",
                name,
                config["description"] or f"Run the script {name}.",
                arguments,
                _make_function(script, context),
                ask=options["require_confirmation"],
            )
        )
    return tuple(agent_tools)


def _check_commands(name: str, body: str | None, allowed: Sequence[str]) -> None:
    """Check that each line of a body is one allowed command with its arguments.

    Raises:
        ConfigError: a line is something else, or the text is in a file.
    """
    subject = f"the script {quoted(name)}"
    if body is None:
        raise ConfigError(f"{subject} has `allowed_commands`, and no `body`", hint="write its text as `body`")
    for number, line in enumerate(body.splitlines(), 1):
        if not line.strip() or line.strip().startswith("#"):
            continue
        try:
            words = shlex.split(line)
        except ValueError:
            words = []
        if not words or set(words) & _OPERATORS or os.path.basename(words[0]) not in allowed:
            message = f"line {number} of {subject} is not one of its `allowed_commands`: {quoted(line.strip())}"
            raise ConfigError(message, hint=f"use one of {', '.join(map(quoted, allowed))}, without shell operators")


def _split_interpreter(name: str, interpreter: str | None) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(interpreter or ""))
    except ValueError:
        raise ConfigError(
            f"invalid interpreter of the script {quoted(name)}: a quote is not closed", hint="close it"
        ) from None


def _checked_parameter(script: str, name: str, taken_names: Mapping[str, Argument]) -> str:
    """Return the name of a parameter if an environment variable can have it.

    Raises:
        ConfigError: the name is invalid, reserved or used twice.
    """
    subject = f"the parameter {quoted(name)} of the script {quoted(script)}"
    if not _PARAMETER_NAME.fullmatch(name):
        raise ConfigError(f"{subject} has an invalid name", hint="use letters, digits and `_`, starting with a letter")
    if _RESERVED_VARIABLES.fullmatch(name.upper()):
        hint = f"rename it, for example to `input_{name.lower()}`"
        raise ConfigError(f"{subject} would set the reserved variable `{name.upper()}`", hint=hint)
    if name.upper() in {other.upper() for other in taken_names}:
        raise ConfigError(f"{subject} is defined twice", hint="rename one of them")
    return name


def _load_file(name: str, folder: str, path: str | None, body: str | None, context: ToolContext) -> ScriptFile:
    """Return the file or the body of a script as it is now.

    Raises:
        ConfigError: it has neither or both, or the file is missing.
    """
    subject = f"the script {quoted(name)}"
    if (path is None) == (body is None):
        problem = "has neither `path` nor `body`" if path is None else "has both `path` and `body`"
        raise ConfigError(f"{subject} {problem}", hint="set one of them")
    if path is not None and "\0" in path:
        raise ConfigError(f"{subject} has a NUL character in its path", hint="leave it out")
    try:
        return ScriptFile.load(name, folder, path, body, context)
    except ToolFailedError as error:
        hint = "give the path of a regular file in the skill's or the role's folder"
        raise ConfigError(f"{subject}: {str(error).partition('; ')[0]}", hint=hint) from None


def _words(script: _Script, ready: ReadyScript) -> Sequence[str]:
    """Return the program that runs a script, and its options."""
    words = script.interpreter or named_program(ready.path, ready.first_bytes) or ("/bin/sh",)
    # As for a skill's script, a first line with any Python means the one with the script's packages.
    is_python = not script.interpreter and os.path.basename(words[0]) in _PYTHONS
    return ("python3" if is_python or words[0] == "python" else words[0], *words[1:])


def _find_program(script: _Script, ready: ReadyScript, copy: str | None, context: ToolContext) -> ScriptProgram:
    """Return what runs a script, after its packages were installed.

    Raises:
        ToolFailedError: packages that it declares cannot be installed.
    """
    name, *options = _words(script, ready)
    if "/" in name:
        name = word_in_copy(name, script.cwd, script.folder, copy)
        if script.interpreter:  # the user's own choice, with what that has
            return ScriptProgram(words=(name, *options), readable=(), env={"PATH": search_path(name, ())})
    folder = os.path.dirname(ready.path)
    if ready.copy is not None and is_inside(ready.path, ready.copy):
        folder = ready.copy
    parts = os.path.relpath(ready.path, folder).split(os.sep)
    try:
        skill = os.path.join(copy or "", SKILL_FILE)
        declared = load(skill).requirements.packages if copy and os.path.isfile(skill) else ()
        return with_packages((name, *options), folder, parts, declared, context.env, "wheels")
    except SkillError as error:
        raise ToolFailedError(str(error), hint=error.hint) from None


def _make_function(script: _Script, context: ToolContext) -> Callable[..., str]:
    def run_script(**arguments: str | None) -> str:
        env = {name.upper(): value or "" for name, value in arguments.items()}
        for name, value in env.items():
            if len(value.encode()) > _MAX_VALUE_BYTES:
                raise ToolFailedError(
                    f"`{name.lower()}` is longer than {_MAX_VALUE_BYTES:,} bytes; give a shorter value"
                )
        contained = context.contained
        with scratch_folder(contained=contained) as scratch, script.file.ready(scratch, contained) as ready:
            # A skill's script sees its copy where it would see its folder.
            copy = ready.copy if script.is_skill else None
            program = _find_program(script, ready, copy, context)
            readable = (copy or script.folder, *(() if ready.copy is None else (ready.copy,)))
            cwd = path_in_copy(script.cwd, script.folder, copy)
            done = run_command(
                [*program.words, ready.path],
                context,
                cwd=cwd,
                timeout=script.timeout,
                max_output_bytes=script.max_output_bytes,
                env={**program.env, **env},
                readable=readable,
                needed=program.readable,
                python=program.is_own_python,
                network=script.network,
                unix_sockets=True,
                sees_copies_only=copy is not None and f"{cwd}/".startswith(f"{copy}/"),
                scratch=scratch,
            )
        hints = missing_hints(done.stderr + done.stdout) if done.exit_code != 0 else ()
        return "\n".join((describe_result(done, script.timeout), *program.notes, *(f"hint: {hint}" for hint in hints)))

    return run_script


class ReadyScript(Frozen):
    """A script that can run now."""

    path: str
    first_bytes: bytes
    copy: str | None = None
    """The sealed copy of the folder that the script is in."""


class ScriptFile(Frozen):
    """Where the text of a script comes from."""

    name: str
    body: bytes | None = None
    """The text, if the configuration has it."""
    folder: str
    """The folder that `path` is relative to; absolute, without links."""
    path: str | None = None
    sealed: SealedSkill | None = None
    """What `folder` is checked and copied by."""
    file_digest: str | None = None
    """The SHA-256 of the file, without `sealed`."""

    @classmethod
    def load(cls, name: str, folder: str, path: str | None, body: str | None, context: ToolContext) -> ScriptFile:
        """Return the script as it is now.

        Args:
            name: of its tool.
            folder: of the skill or the role.
            path: of the file, relative to the folder.
            body: the text, instead of `path`.
            context: what its tool is made with.

        Raises:
            ToolFailedError: the file does not exist in the folder.
            ConfigError: the folder that it is in cannot be copied.
        """
        data = None if body is None else body.encode("utf-8", "replace")
        parts = [] if path is None else _split(path, folder)
        content = None if path is None else _read_file(folder, parts, path)
        sealed = context.sealed
        if context.skill is not None:
            sealed = sealed or LoadedFolder.load(folder)
        elif len(parts) > 1:
            folder = os.path.join(folder, *parts[:-1])
            parts, sealed = parts[-1:], LoadedFolder.load(folder)
        return cls(
            name=name,
            body=data,
            folder=folder,
            path="/".join(parts) if parts else None,
            sealed=sealed,
            file_digest=None if content is None else hashlib.sha256(content).hexdigest(),
        )

    @contextmanager
    def ready(self, scratch: str, contained: bool) -> Iterator[ReadyScript]:
        """Check the script, and yield what runs.

        Args:
            scratch: a new folder of the call.
            contained: whether it runs in a sandbox.

        Raises:
            RefusedError: it changed, or its user does not trust it any more.
            ToolFailedError: it does not exist.
        """
        if self.sealed is None:
            yield self._write(scratch, self.body if self.path is None else self._unchanged_file())
            return
        with self.sealed.copy(contained=contained) as copy:
            if self.path is None:
                yield self._write(scratch, self.body).with_changes(copy=copy.folder)
                return
            parts = _split(self.path, copy.folder)
            head = _read_file(copy.folder, parts, self.path)[:FIRST_BYTES]
            yield ReadyScript(path=os.path.join(copy.folder, *parts), first_bytes=head, copy=copy.folder)

    def _unchanged_file(self) -> bytes:
        path = self.path or ""
        content = _read_file(self.folder, _split(path, self.folder), path)
        if hashlib.sha256(content).hexdigest() != self.file_digest:
            message = f"{quoted(path)} has changed since the role was loaded: review it, then start the role again"
            raise RefusedError(message)
        return content

    def _write(self, scratch: str, content: bytes | None) -> ReadyScript:
        """Write the text into a folder of its own, in which nothing else is imported."""
        folder = os.path.join(scratch, "script")
        os.mkdir(folder, 0o700)
        path = os.path.join(folder, self.name if self.path is None else os.path.basename(self.path))
        with open(path, "xb") as file:
            file.write(content or b"")
        return ReadyScript(path=path, first_bytes=(content or b"")[:FIRST_BYTES])


def _split(path: str, folder: str) -> list[str]:
    parts = split_path(path, folder)
    if not parts:
        raise ToolFailedError(f"{quoted(path)} is not a file")
    return parts


def _read_file(folder: str, parts: list[str], path: str) -> bytes:
    """Return the content of a file, opened without following a link.

    Raises:
        ToolFailedError: the file does not exist in the folder, or is too large.
    """
    with open_folder(folder, parts[:-1]) as fd, open_regular_file(fd, parts[-1], path) as (file_fd, _):
        content = read_up_to(file_fd, MAX_DIGEST_BYTES)
    if len(content) > MAX_DIGEST_BYTES:
        raise ToolFailedError(f"{quoted(path)} is larger than {MAX_DIGEST_BYTES // 1024 // 1024} MiB")
    return content
