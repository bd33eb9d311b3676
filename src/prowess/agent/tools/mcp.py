"""`mcp`: the tools of an MCP server, as a toolset of Pydantic AI.

The client is the one that Pydantic AI uses. What a server offers is known once it runs, so these are no `AgentTool`s:
`McpServerToolset` applies the policy, before each call. A server's error stream does not reach the terminal.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import weakref
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import httpx2

from prowess._internal.files import real_path
from prowess._internal.installer import missing_extra
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.agent.policy import RefusedError
from prowess.agent.role_files import python_module
from prowess.agent.sealed_skills import LoadedFolder, path_in_copy, word_in_copy
from prowess.errors import ConfigError
from prowess.sandbox import (
    Limits,
    find_user_program,
    search_path,
    server_command,
    user_server_command,
    user_variables,
)

from ._commands import command_network, within_memory
from ._making import CallRules
from ._network import GuardedTransport, NetworkAccess, parse_url
from ._paths import resolve_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import IO

    from prowess.agent.policy import SealedSkill, ToolContext

    Permit = Callable[[str, bool, Mapping[str, Any]], Awaitable[None]]

__all__ = ["make_mcp_toolset", "stdio_transport"]

try:
    import mcp.client.session
    from fastmcp.client import Client
    from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
    from pydantic_ai.mcp import MCPToolset

    from ._mcp_toolset import McpServerToolset, start_seconds
except ImportError as error:
    raise ImportError(missing_extra("pydantic-ai-slim[mcp]", "mcp", "this tool")) from error

# Errors of a server are reported where they matter; the client's own logs would repeat them, with tracebacks and with
# what the server sent, on the terminal.
for _name in ("fastmcp", "mcp"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)
logging.getLogger("client").addFilter(lambda record: record.pathname != mcp.client.session.__file__)


def make_mcp_toolset(
    options: Mapping[str, Any],
    context: ToolContext,
    *,
    permit: Permit | None = None,
    origin: str = "role",
    note: Callable[[str], None] | None = None,
) -> McpServerToolset:
    """Make the toolset of a server, which starts when a run enters the toolset and ends with the run.

    Args:
        options: the keys of the type `mcp`, with defaults filled in.
        context: the rest that the toolset is made with: folders, policy, environment.
        permit: awaited before each call with the tool's name, whether it needs confirmation, and the arguments. A
            `ToolFailedError` becomes the call's result; any other exception ends the run. Without `permit`, calls that
            need confirmation are refused.
        origin: `role`, or the name of the skill that the server comes from.
        note: called with a sentence for the user: what is not offered, or under another name.

    Raises:
        ConfigError: the configuration is invalid.
    """
    log: IO[str] | None = None
    transport: Any
    if options["transport"] == "stdio":
        display_name = quoted(options["command"] or "")
        transport = stdio_transport(options, context)
        log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed with the server
        transport.log_file = log
    else:
        display_name = quoted(options["url"] or "", PATH_LIMIT)
        transport = _http_transport(options, context)
    timeout = options["timeout_seconds"]
    client: Any = Client(
        transport, timeout=timeout, init_timeout=start_seconds(options), log_handler=_ignore_log_message
    )
    inner = MCPToolset[Any](client, tool_error_behavior="retry", max_retries=100)
    server = McpServerToolset(
        inner,
        display_name=display_name,
        options=options,
        policy=context.policy,
        permit=permit,
        log=log,
        origin=origin,
        note=note or _ignore_note,
        sealed=context.sealed,
        rules=CallRules.from_options("mcp", options, context),
    )
    if log is not None:
        weakref.finalize(server, log.close)
    return server


async def _ignore_log_message(_: object) -> None:
    """Ignore a log message: a server may send any number, and they do not belong on the terminal."""


def _ignore_note(_: str) -> None:
    pass


def _http_transport(options: Mapping[str, Any], context: ToolContext) -> Any:
    """Return the transport for a server at a URL, limited to that origin and by the policy.

    Raises:
        ConfigError: `url` is invalid or not allowed.
    """
    access = NetworkAccess.from_options(options, context)
    try:
        url = parse_url(options["url"])
        access.check(url)
    except RefusedError as error:
        raise ConfigError(f"invalid `url`: {error}", hint=error.hint) from None
    headers = {
        name: context.expand_variables(text, f"the header {quoted(name)}")[0]
        for name, text in options["headers"].items()
    }

    def client(**options: Any) -> httpx2.AsyncClient:
        made = httpx2.AsyncClient(**options, transport=GuardedTransport(access, only=url), trust_env=False)
        made.headers["Accept-Encoding"] = "identity"
        return made

    transport = SSETransport if options["transport"] == "sse" else StreamableHttpTransport
    return transport(str(url), headers=headers, httpx_client_factory=client)


def stdio_transport(options: Mapping[str, Any], context: ToolContext) -> StdioTransport:
    """Return the transport for a server that is a process; it starts when a run connects, and ends with the run.

    Raises:
        ConfigError: a variable is not set, or a skill's server may not run here.
    """
    if context.skill is not None and not context.trusted:
        raise ConfigError(
            f"the skill's MCP server {quoted(options['command'])} is not started: the skill is untrusted",
            hint="trust the skill with `prowess trust SKILL`",
        )
    env = {name: context.expand_variables(text, f"the variable `{name}`")[0] for name, text in options["env"].items()}
    if context.skill is not None:
        return _SupervisedTransport(_SkillServer(options, context, env).command)
    env = user_variables(context.env) | env
    cwd = context.absolute_path(options["cwd"]) if options["cwd"] else context.folder
    is_local = any((path.folder, path.name) == (cwd, "*.py") for path in context.protected_paths)
    if python_module([options["command"], *options["args"]]) and not is_local:
        # An installed module: a tool that writes must not put another one in its place.
        env = {"PYTHONSAFEPATH": "1"} | env
    if sys.platform == "win32":  # no supervisor there
        return StdioTransport(options["command"], [*options["args"]], env=env, cwd=cwd, keep_alive=False)
    argv = [options["command"], *options["args"]]
    return _SupervisedTransport(lambda: user_server_command(argv, cwd=cwd, env=env))


class _SupervisedTransport(StdioTransport):
    """A transport whose process is prepared when it connects, and removed when it is closed."""

    def __init__(self, prepare: Callable[[], AbstractContextManager[list[str]]]) -> None:
        # Without `keep_alive` the process cannot outlive the run.
        super().__init__("", [], env={}, cwd="/", keep_alive=False)
        self._prepare = prepare

    @asynccontextmanager
    async def connect_session(self, **options: Any) -> AsyncIterator[Any]:
        with ExitStack() as stack:
            self.command, *self.args = stack.enter_context(self._prepare())
            async with super().connect_session(**options) as session:
                yield session


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
        with self._sealed.copy(contained=context.contained) as copy:
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
