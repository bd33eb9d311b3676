"""`mcp` -> the tools of a server of MCP, as a toolset of Pydantic AI

The client is the one that Pydantic AI brings. What a server offers is known once it runs, so these are no `AgentTool`s:
the policy is asked here, before each call. A server of its own process starts with few variables, and what it writes
to its error stream does not reach the terminal.
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

from prowess._internal.text import neutral, quoted
from prowess.adapters import missing_extra
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError

from ._network import GuardedTransport
from ._reach import NetworkAccess, parse_url

try:
    from fastmcp.client import Client
    from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
    from pydantic_ai.exceptions import ModelRetry
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
except ImportError as error:
    raise ImportError(missing_extra("pydantic-ai-slim[mcp]", "mcp").replace("adapter", "tool")) from error

# What a server does wrong is told where it matters; the client's own log would quote it on the terminal.
logging.getLogger("fastmcp.client").setLevel(logging.CRITICAL)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import IO, Self

    from pydantic_ai import RunContext

    from prowess.agent.policy import Policy, ToolContext

    Permit = Callable[[str, bool, Mapping[str, Any]], Awaitable[None]]

__all__ = ["McpServerToolset", "make_toolset"]

_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL", "TERM")
"""Variables a server has from its user's environment; all others are named in its configuration."""
_MIN_START_SECONDS = 30.0
"""Seconds a server has to start, at least: many are fetched before they run."""
_MAX_ERROR_CHARS = 300
"""Characters of what a server says went wrong."""


def make_toolset(
    options: Mapping[str, Any], context: ToolContext, *, permit: Permit | None = None
) -> AbstractToolset[Any]:
    """Make the toolset of a server; it starts when a run enters it, and ends with it.

    Args:
        options: as `tool_table` says, with its defaults.
        context: what else it is made with.
        permit: awaited before each call with the tool's name, whether the user must be asked, and the arguments. A
            ToolFailedError is told to the model; anything else ends the run. Without it, calls before which the user
            must be asked are refused.

    Raises:
        ConfigError: the configuration cannot be used.
    """
    log: IO[str] | None = None
    transport: Any
    if options["transport"] == "stdio":
        display_name = quoted(options["command"] or "")
        transport = _stdio_transport(options, context)
        log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - lives with the server
        transport.log_file = log
    else:
        display_name = quoted(options["url"] or "", 200)
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
    """Take a message of a server's log, of which it may send any number, and keep it off the terminal."""


@dataclass
class McpServerToolset(WrapperToolset[Any]):
    """The tools of one server, as far as the configuration and the policy let them."""

    _: KW_ONLY
    display_name: str
    """Its command or its URL, for messages."""
    options: Mapping[str, Any]
    policy: Policy
    permit: Permit | None
    log: IO[str] | None
    """What it writes to its error stream."""

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f"the server of MCP {self.display_name}"

    @property
    def tool_name_conflict_hint(self) -> str:
        """What to do where it has a tool that another has too."""
        return "Give the server a `tool_prefix`, or leave the tool out with `tool_exclude`."

    async def __aenter__(self) -> Self:
        try:
            await self.wrapped.__aenter__()
        except ToolFailedError:
            raise
        except Exception as error:  # a client of a protocol fails in many ways
            raise ConfigError(
                f"the server of MCP {self.display_name} cannot be started: {self._describe_error(error)}"
            ) from error
        return self

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools that are offered."""
        try:
            async with asyncio.timeout(self.options["timeout_seconds"]):
                found = await self.wrapped.get_tools(ctx)
        except ToolFailedError:
            raise
        except Exception as error:
            raise ConfigError(
                f"the server of MCP {self.display_name} does not say what it offers: {self._describe_error(error)}"
            ) from error
        only, never = self.options["tool_filter"], self.options["tool_exclude"]
        return {
            name: replace(tool, toolset=self, tool_def=replace(tool.tool_def, name=name))
            for plain, tool in found.items()
            if (not only or plain in only) and plain not in never
            for name in [self._prefix + plain]
            if self.policy.permission("mcp", name) != "deny"
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call a tool; what goes wrong becomes text for the model."""
        plain = name.removeprefix(self._prefix)
        seconds = self.options["timeout_seconds"]
        try:
            await self._require_permission(name, tool_args)
        except ToolFailedError as error:
            return f"error: {error}" + (f" ({error.hint})" if error.hint else "")
        try:
            tool = replace(tool, tool_def=replace(tool.tool_def, name=plain))
            async with asyncio.timeout(seconds):
                result = await self.wrapped.call_tool(plain, tool_args, ctx, tool)
        except ModelRetry as error:
            return self._truncated(f"error: {error.message}")
        except TimeoutError:
            return f"error: there was no answer within {seconds:g} seconds"
        except Exception as error:  # noqa: BLE001 - a client of a protocol fails in many ways
            return f"error: the server of MCP {self.display_name} failed: {self._describe_error(error)}"
        return self._truncated(result)

    @property
    def _prefix(self) -> str:
        prefix = self.options["tool_prefix"]
        return f"{prefix}_" if prefix else ""

    async def _require_permission(self, name: str, arguments: Mapping[str, Any]) -> None:
        """See to it that a call is wanted.

        Raises:
            ToolFailedError: it is not.
        """
        ask = self.policy.permission("mcp", name, ask=self.options["require_confirmation"]) == "ask"
        if self.permit is not None:
            await self.permit(name, ask, arguments)
        elif ask:
            raise RefusedError(f"{quoted(name)} needs the user's word, and nobody can be asked")

    def _truncated(self, result: Any) -> Any:
        """Return a result no longer than the policy lets it be; what is no text is told in words."""
        if not isinstance(result, str):
            from pydantic_ai.messages import BinaryContent, ToolReturnPart

            parts = result if isinstance(result, list) else [result]
            plain = [
                f"[{len(one.data)} bytes of {one.media_type}]" if isinstance(one, BinaryContent) else one
                for one in parts
            ]
            texts = [ToolReturnPart(tool_name="", content=one).model_response_str() for one in plain]
            result = "\n".join(texts)
        most = self.policy.max_result_bytes
        data = result.encode("utf-8", "replace")
        return result if len(data) <= most else data[:most].decode("utf-8", "ignore") + f"\n[cut after {most} bytes]"

    def _describe_error(self, error: BaseException) -> str:
        """Say what went wrong: in the server's own last words if it had any."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        words = "it takes too long" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        if self.log is not None and not self.log.closed:
            self.log.seek(0, os.SEEK_END)
            self.log.seek(max(0, self.log.tell() - 2000))
            last = [line for line in self.log.read().splitlines() if line.strip()][-1:]
            words = f"{words}; it last said: {last[0]}" if last else words
        return neutral(" ".join(words.split()))[:_MAX_ERROR_CHARS]


def _stdio_transport(options: Mapping[str, Any], context: ToolContext) -> Any:
    """Return how a server that is a process is spoken to.

    Raises:
        ConfigError: there is no command, a variable is not set, or a skill's server may not run here.
    """
    if not options["command"]:
        raise ConfigError(
            "an `mcp` tool of the transport `stdio` needs `command`", hint="or give `url` and a transport"
        )
    if context.skill is not None and not context.trusted:
        raise ConfigError(
            f"a skill's server of MCP, {quoted(options['command'])}, is not started without its user's word"
        )
    env = {name: context.env[name] for name in _PASSED_VARIABLES if name in context.env}
    env |= {name: context.expand_variables(text, f"the variable `{name}`")[0] for name, text in options["env"].items()}
    cwd = context.absolute_path(options["cwd"]) if options["cwd"] else (context.skill or context.folder)
    # A process that outlived the run would belong to nobody.
    return StdioTransport(options["command"], [*options["args"]], env=env, cwd=cwd, keep_alive=False)


def _http_transport(options: Mapping[str, Any], context: ToolContext) -> Any:
    """Return how a server at a URL is spoken to: through the policy, and nowhere else than there.

    Raises:
        ConfigError: there is no URL, or none that may be opened.
    """
    if not options["url"]:
        raise ConfigError(f"an `mcp` tool of the transport `{options['transport']}` needs `url`")
    access = NetworkAccess.from_options(options, context)
    try:
        url = parse_url(options["url"])
        access.check(url)
    except RefusedError as error:
        raise ConfigError(f"`url` cannot be used: {error}", hint=error.hint) from None
    headers = {
        name: context.expand_variables(text, f"the header {quoted(name)}")[0]
        for name, text in options["headers"].items()
    }

    def client(**given: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(**given, transport=GuardedTransport(access, only=url), trust_env=False)

    kind = SSETransport if options["transport"] == "sse" else StreamableHttpTransport
    return kind(str(url), headers=headers, httpx_client_factory=client)
