"""Start the process of an MCP server over stdio, and end it with everything that comes from it.

A server that a skill declares runs like a script: from a sealed copy of the skill that was checked when it starts, in
the sandbox, without the user's environment, home or network. A server that the role declares is the user's own command:
it runs as the user, with few environment variables.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from fastmcp.client.transports import StdioTransport

from prowess._internal.files import real_path
from prowess._internal.text import quoted
from prowess.agent.role_files import python_module
from prowess.agent.sealed_skills import LoadedFolder, path_in_copy, word_in_copy
from prowess.errors import ConfigError
from prowess.sandbox import Limits, find_user_program, search_path, server_command

from ._commands import command_network, within_memory
from ._paths import resolve_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from prowess.agent.policy import SealedSkill, ToolContext

__all__ = ["stdio_transport"]

_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL", "TERM")
"""Variables of the user's environment that a role's own server gets; the configuration names all others."""
_NO_LIMITS = Limits(memory=None, file_size=None, descriptors=None, processes=None)


def stdio_transport(options: Mapping[str, Any], context: ToolContext) -> StdioTransport:
    """Return the transport for a server that is a process; it starts when a run connects, and ends with the run.

    Raises:
        ConfigError: `command` is missing, a variable is not set, or a skill's server may not run here.
    """
    if not options["command"]:
        raise ConfigError(
            "`command` is missing: an `mcp` tool with the transport `stdio` needs it",
            hint="add `command: ...`, or `url` and another `transport`",
        )
    if context.skill is not None and not context.trusted:
        raise ConfigError(
            f"the skill's MCP server {quoted(options['command'])} is not started: the skill is untrusted",
            hint="trust the skill with `prowess trust SKILL`",
        )
    env = {name: context.expand_variables(text, f"the variable `{name}`")[0] for name, text in options["env"].items()}
    if context.skill is not None:
        return _SupervisedTransport(_SkillServer(options, context, env))
    env = {name: context.env[name] for name in _PASSED_VARIABLES if name in context.env} | env
    cwd = context.absolute_path(options["cwd"]) if options["cwd"] else context.folder
    is_local = any((path.folder, path.name) == (cwd, "*.py") for path in context.protected_paths)
    if python_module([options["command"], *options["args"]]) and not is_local:
        # An installed module: a tool that writes must not put another one in its place.
        env = {"PYTHONSAFEPATH": "1"} | env
    if sys.platform == "win32":  # no supervisor there
        return StdioTransport(options["command"], [*options["args"]], env=env, cwd=cwd, keep_alive=False)
    return _SupervisedTransport(_OwnServer(options, cwd, env))


class _SupervisedTransport(StdioTransport):
    """A transport whose process is prepared when it connects, and removed when it is closed."""

    def __init__(self, server: _SkillServer | _OwnServer) -> None:
        # Without `keep_alive` the process cannot outlive the run.
        super().__init__("", [], env={}, cwd="/", keep_alive=False)
        self._server = server

    @asynccontextmanager
    async def connect_session(self, **options: Any) -> AsyncIterator[Any]:
        with ExitStack() as stack:
            self.command, *self.args = stack.enter_context(self._server.command())
            async with super().connect_session(**options) as session:
                yield session


class _OwnServer:
    """A server that the role declares."""

    def __init__(self, options: Mapping[str, Any], cwd: str, env: Mapping[str, str]) -> None:
        self._argv, self._cwd, self._env = [options["command"], *options["args"]], cwd, env

    @contextmanager
    def command(self) -> Iterator[list[str]]:
        """Yield the command line to start."""
        with server_command(
            self._argv, cwd=self._cwd, env=self._env, limits=_NO_LIMITS, sandbox="none", python=False
        ) as words:
            yield words


class _SkillServer:
    """A server that a skill declares.

    Raises:
        ConfigError: its working directory does not exist, or the skill has no integrity digest.
    """

    def __init__(self, options: Mapping[str, Any], context: ToolContext, env: Mapping[str, str]) -> None:
        self._options, self._context, self._env = options, context, env
        self._folder = real_path(context.skill or context.folder)
        self._cwd = resolve_folder(context, options["cwd"], "cwd") if options["cwd"] else self._folder
        self._network = command_network(options, context)
        self._sealed: SealedSkill = context.sealed or LoadedFolder.load(self._folder)

    @contextmanager
    def command(self) -> Iterator[list[str]]:
        """Check the skill, and yield the command line to start; the copy exists until the block ends.

        Raises:
            RefusedError: the skill changed, or its user does not trust it any more.
            SandboxError: no sandbox is available, or the program does not exist.
        """
        options, context = self._options, self._context
        with self._sealed.copy() as copy:
            name, *arguments = (
                word_in_copy(word, self._cwd, self._folder, copy.folder)
                for word in (options["command"], *options["args"])
            )
            program, needed = find_user_program(name, context.env)
            with server_command(
                [program, *arguments],
                cwd=path_in_copy(self._cwd, self._folder, copy.folder),
                env={"PATH": search_path(program, needed), **self._env},
                readable=(copy.folder, *needed),
                network=self._network,
                limits=within_memory(Limits(), context),
                sandbox=context.sandbox,
                trusted=context.trusted,
            ) as words:
                yield words
