"""`mcp`: the tools of an MCP server, as a toolset of Pydantic AI.

The client is the one that Pydantic AI uses. What a server offers is known once it runs, so these are no `AgentTool`s:
the policy is applied here, before each call. A server's process gets few environment variables, and its error stream
does not reach the terminal.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import weakref
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

import httpx2

from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.adapters import missing_extra
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError

from ._network import GuardedTransport, NetworkAccess, parse_url

try:
    from fastmcp.client import Client
    from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
    from pydantic_ai.exceptions import ModelRetry
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
except ImportError as error:
    raise ImportError(missing_extra("pydantic-ai-slim[mcp]", "mcp", "this tool")) from error

# Errors of a server are reported where they matter; the client's own log would repeat them on the terminal.
logging.getLogger("fastmcp.client").setLevel(logging.CRITICAL)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import IO, Self

    from pydantic_ai import RunContext

    from prowess.agent.policy import Policy, ToolContext

    Permit = Callable[[str, bool, Mapping[str, Any]], Awaitable[None]]

__all__ = ["make_mcp_toolset"]

_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL", "TERM")
"""Variables of the user's environment that every server gets; the configuration names all others."""
_MIN_START_SECONDS = 30.0
"""Seconds that a server has to start, at least: many are downloaded first."""
_MAX_ERROR_CHARS = 300
"""Characters of a server's own error message."""


def make_mcp_toolset(
    options: Mapping[str, Any], context: ToolContext, *, permit: Permit | None = None
) -> McpServerToolset:
    """Make the toolset of a server, which starts when a run enters the toolset and ends with the run.

    Args:
        options: the keys of the type `mcp`, with defaults filled in.
        context: the rest that the toolset is made with: folders, policy, environment.
        permit: awaited before each call with the tool's name, whether it needs confirmation, and the arguments. A
            `ToolFailedError` becomes the call's result; any other exception ends the run. Without `permit`, calls that
            need confirmation are refused.

    Raises:
        ConfigError: the configuration is invalid.
    """
    log: IO[str] | None = None
    transport: Any
    if options["transport"] == "stdio":
        display_name = quoted(options["command"] or "")
        transport = _stdio_transport(options, context)
        log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed with the server
        transport.log_file = log
    else:
        display_name = quoted(options["url"] or "", PATH_LIMIT)
        transport = _http_transport(options, context)
    timeout = options["timeout_seconds"]
    client: Any = Client(
        transport, timeout=timeout, init_timeout=max(_MIN_START_SECONDS, timeout), log_handler=_ignore_log_message
    )
    inner = MCPToolset[Any](client, tool_error_behavior="retry", max_retries=100)
    server = McpServerToolset(
        inner, display_name=display_name, options=options, policy=context.policy, permit=permit, log=log
    )
    if log is not None:
        weakref.finalize(server, log.close)
    return server


async def _ignore_log_message(_: object) -> None:
    """Ignore a log message: a server may send any number, and they do not belong on the terminal."""


@dataclass
class McpServerToolset(WrapperToolset[Any]):
    """The tools of one server that the configuration and the policy allow."""

    _: KW_ONLY
    display_name: str
    """The server's command or URL, for messages."""
    options: Mapping[str, Any]
    policy: Policy
    permit: Permit | None
    log: IO[str] | None
    """The server's error stream."""

    @property
    def label(self) -> str:
        """The server's name in messages."""
        return f"the MCP server {self.display_name}"

    @property
    def tool_name_conflict_hint(self) -> str:
        """What to do if another tool has the same name."""
        return "Set `tool_prefix` for the server, or exclude the tool with `tool_exclude`."

    async def __aenter__(self) -> Self:
        try:
            await self.wrapped.__aenter__()
        except ToolFailedError:
            raise
        except Exception as error:  # an MCP client can fail in many ways
            raise ConfigError(f"{self.label} did not start: {self._describe_error(error)}") from error
        return self

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools that are offered."""
        try:
            async with asyncio.timeout(self.options["timeout_seconds"]):
                offered = await self.wrapped.get_tools(ctx)
        except ToolFailedError:
            raise
        except Exception as error:
            raise ConfigError(f"{self.label} did not list its tools: {self._describe_error(error)}") from error
        included, excluded = self.options["tool_filter"], self.options["tool_exclude"]
        return {
            name: replace(tool, toolset=self, tool_def=replace(tool.tool_def, name=name))
            for plain_name, tool in offered.items()
            if (not included or plain_name in included) and plain_name not in excluded
            for name in [self._prefix + plain_name]
            if self.policy.permission("mcp", name) != "deny"
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call a tool; an error becomes text for the model."""
        plain_name = name.removeprefix(self._prefix)
        seconds = self.options["timeout_seconds"]
        try:
            await self._require_permission(name, tool_args)
        except ToolFailedError as error:
            return f"error: {error}" + (f" ({error.hint})" if error.hint else "")
        try:
            tool = replace(tool, tool_def=replace(tool.tool_def, name=plain_name))
            async with asyncio.timeout(seconds):
                result = await self.wrapped.call_tool(plain_name, tool_args, ctx, tool)
        except ModelRetry as error:
            return self._truncated(f"error: {error.message}")
        except TimeoutError:
            return f"error: no answer within {seconds:g} seconds"
        except Exception as error:  # noqa: BLE001 - an MCP client can fail in many ways
            return f"error: {self.label} failed: {self._describe_error(error)}"
        return self._truncated(result)

    @property
    def _prefix(self) -> str:
        prefix = self.options["tool_prefix"]
        return f"{prefix}_" if prefix else ""

    async def _require_permission(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Check that a call is allowed, and let the user confirm it if needed.

        Raises:
            ToolFailedError: the call is refused.
        """
        ask = self.policy.permission("mcp", name, ask=self.options["require_confirmation"]) == "ask"
        if self.permit is not None:
            await self.permit(name, ask, arguments)
        elif ask:
            raise RefusedError(f"{quoted(name)} needs the user's confirmation, and the user cannot be asked here")

    def _truncated(self, result: Any) -> Any:
        """Return a result as text, cut to the length that the policy allows; binary content becomes a note."""
        if not isinstance(result, str):
            from pydantic_ai.messages import BinaryContent, ToolReturnPart

            parts = [
                f"[{len(part.data)} bytes of {part.media_type}]" if isinstance(part, BinaryContent) else part
                for part in (result if isinstance(result, list) else [result])
            ]
            result = "\n".join(ToolReturnPart(tool_name="", content=part).model_response_str() for part in parts)
        limit = self.policy.max_result_bytes
        data = result.encode("utf-8", "replace")
        return result if len(data) <= limit else data[:limit].decode("utf-8", "ignore") + f"\n[cut after {limit} bytes]"

    def _describe_error(self, error: BaseException) -> str:
        """Return what failed, with the last line of the server's error stream."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        message = "it takes too long" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        if self.log is not None and not self.log.closed:
            self.log.seek(0, os.SEEK_END)
            self.log.seek(max(0, self.log.tell() - 2000))
            last_lines = [line for line in self.log.read().splitlines() if line.strip()][-1:]
            message = f"{message}; its last output: {last_lines[0]}" if last_lines else message
        return neutral(" ".join(message.split()))[:_MAX_ERROR_CHARS]


def _stdio_transport(options: Mapping[str, Any], context: ToolContext) -> Any:
    """Return the transport for a server that is a process.

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
    env = {name: context.env[name] for name in _PASSED_VARIABLES if name in context.env}
    env |= {name: context.expand_variables(text, f"the variable `{name}`")[0] for name, text in options["env"].items()}
    cwd = context.absolute_path(options["cwd"]) if options["cwd"] else (context.skill or context.folder)
    # Without `keep_alive` the process cannot outlive the run.
    return StdioTransport(options["command"], [*options["args"]], env=env, cwd=cwd, keep_alive=False)


def _http_transport(options: Mapping[str, Any], context: ToolContext) -> Any:
    """Return the transport for a server at a URL, limited to that origin and by the policy.

    Raises:
        ConfigError: `url` is missing, invalid or not allowed.
    """
    if not options["url"]:
        raise ConfigError(
            f"`url` is missing: an `mcp` tool with the transport `{options['transport']}` needs it",
            hint="add `url: ...`",
        )
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
        return httpx2.AsyncClient(**options, transport=GuardedTransport(access, only=url), trust_env=False)

    transport = SSETransport if options["transport"] == "sse" else StreamableHttpTransport
    return transport(str(url), headers=headers, httpx_client_factory=client)
