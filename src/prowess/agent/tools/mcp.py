"""`mcp`: the tools of an MCP server, as a toolset of Pydantic AI.

The client is the one that Pydantic AI uses. What a server offers is known once it runs, so these are no `AgentTool`s:
`McpServerToolset` applies the policy, before each call. A server's error stream does not reach the terminal.
"""

from __future__ import annotations

import logging
import tempfile
import weakref
from typing import TYPE_CHECKING, Any

import httpx2

from prowess._internal.text import PATH_LIMIT, quoted
from prowess.adapters import missing_extra
from prowess.agent.policy import RefusedError
from prowess.errors import ConfigError

from ._network import GuardedTransport, NetworkAccess, parse_url
from ._permissions import CallRules

try:
    import mcp.client.session
    from fastmcp.client import Client
    from fastmcp.client.transports import SSETransport, StreamableHttpTransport
    from pydantic_ai.mcp import MCPToolset

    from ._mcp_process import stdio_transport
    from ._mcp_toolset import McpServerToolset, start_seconds
except ImportError as error:
    raise ImportError(missing_extra("pydantic-ai-slim[mcp]", "mcp", "this tool")) from error

# Errors of a server are reported where they matter; the client's own logs would repeat them, with tracebacks and with
# what the server sent, on the terminal.
for _name in ("fastmcp", "mcp"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)
logging.getLogger("client").addFilter(lambda record: record.pathname != mcp.client.session.__file__)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import IO

    from prowess.agent.policy import ToolContext

    Permit = Callable[[str, bool, Mapping[str, Any]], Awaitable[None]]

__all__ = ["make_mcp_toolset"]


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
        made = httpx2.AsyncClient(**options, transport=GuardedTransport(access, only=url), trust_env=False)
        made.headers["Accept-Encoding"] = "identity"
        return made

    transport = SSETransport if options["transport"] == "sse" else StreamableHttpTransport
    return transport(str(url), headers=headers, httpx_client_factory=client)
