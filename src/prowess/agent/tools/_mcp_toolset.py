"""Offer the tools of one MCP server to a model: those that the role allows, cleaned, each under a name of its own."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import httpx2
from pydantic_ai import ToolDefinition
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from prowess._internal.special_tokens import escape_special_tokens
from prowess._internal.text import neutral, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError

from ._mcp_offer import MAX_SERVER_CHARS, MAX_SERVER_TOOLS, choose_name, clean_name, clean_schema, clean_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import IO, Self

    from pydantic_ai import RunContext

    from prowess.agent.policy import Policy, SealedSkill

    from ._making import CallRules

    Permit = Callable[[str, bool, Mapping[str, Any]], Awaitable[None]]

_MAX_ERROR_CHARS = 300
"""Characters of a server's own error message."""
_MAX_NOTED_NAMES = 5
"""Names in one note for the user."""
MIN_START_SECONDS = 30.0
"""Seconds that a server has to start, at least: many are downloaded first."""


def start_seconds(options: Mapping[str, Any]) -> float:
    """Return the seconds that a server has to start."""
    return max(MIN_START_SECONDS, float(options["timeout_seconds"]))


@dataclass(kw_only=True)
class _ServerTool(ToolsetTool[Any]):
    """A tool of a server, as a model sees it."""

    server_name: str
    """The name that the server knows."""
    policy_names: frozenset[str]
    """The names that the policy applies to: the server's, the one that the model sees, and those between them."""


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
    origin: str
    note: Callable[[str], None]
    sealed: SealedSkill | None = None
    """Checks the skill that declares the server before each call."""
    rules: CallRules | None = None
    """Refuses calls by their arguments."""

    @property
    def label(self) -> str:
        """The server's name in messages."""
        return f"the MCP server {self.display_name}"

    async def __aenter__(self) -> Self:
        try:
            # The client limits its first request, but not what comes before it.
            async with asyncio.timeout(start_seconds(self.options) + 1):
                await self.wrapped.__aenter__()
        except ToolFailedError:
            raise
        except Exception as error:  # an MCP client can fail in many ways
            raise ConfigError(f"{self.label} did not start: {self._describe_error(error)}") from error
        return self

    async def __aexit__(self, *exception: object) -> None:
        """End the server; if its connection broke before, that ended its calls and does not end the run."""
        try:
            await self.wrapped.__aexit__(*exception)
        except Exception as error:  # noqa: BLE001 - an MCP client can fail in many ways
            self.note(f"{self.label} failed: {self._describe_error(error)}")

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools that are offered."""
        return await self.offer(ctx, frozenset(), {})

    async def offer(
        self, ctx: RunContext[Any], taken: frozenset[str], names: dict[tuple[str, str], str]
    ) -> dict[str, ToolsetTool[Any]]:
        """Return the tools that are offered, each under a name that is not taken.

        Args:
            ctx: of the run.
            taken: the names of tools that are not of servers.
            names: the names that tools of servers have, by server and the server's own name. New ones are added, so
                that a tool keeps its name for as long as nothing else takes it.

        Raises:
            ConfigError: the server does not list its tools.
        """
        try:
            async with asyncio.timeout(self.options["timeout_seconds"]):
                listed = await self.wrapped.get_tools(ctx)
        except ToolFailedError:
            raise
        except Exception as error:
            raise ConfigError(f"{self.label} did not list its tools: {self._describe_error(error)}") from error
        return self._fit(listed, taken, names)

    def _fit(
        self, listed: Mapping[str, ToolsetTool[Any]], taken: frozenset[str], names: dict[tuple[str, str], str]
    ) -> dict[str, ToolsetTool[Any]]:
        """Clean the tools that the configuration and the policy allow, as many as fit."""
        tools: dict[str, ToolsetTool[Any]] = {}
        allowed = {name: tool for name, tool in listed.items() if self._is_allowed(name)}
        size, omitted, renamed, without_schema = 0, 0, [], []
        for index, (server_name, tool) in enumerate(allowed.items()):
            shown = names.get((self._key, server_name), "")
            if not shown or shown in taken:
                others = {name for key, name in names.items() if key != (self._key, server_name)}
                shown = choose_name(self._prefix + server_name, self._prefix_label, self._key, taken | others)
            clean, is_complete = self._clean(server_name, shown, tool)
            size += len(shown) + len(clean.tool_def.description or "")
            size += len(json.dumps(clean.tool_def.parameters_json_schema, ensure_ascii=False))
            if len(tools) == MAX_SERVER_TOOLS or size > MAX_SERVER_CHARS:
                omitted = len(allowed) - index
                break
            if self.policy.deny & {shown}:
                continue
            names[self._key, server_name] = shown
            tools[shown] = clean
            renamed += [] if shown == self._prefix + server_name else [f"{quoted(server_name)} as {quoted(shown)}"]
            without_schema += [] if is_complete else [quoted(shown)]
        self._note_changes(omitted, renamed, without_schema)
        return tools

    def _note_changes(self, omitted: int, renamed: list[str], without_schema: list[str]) -> None:
        if omitted:
            limits = f"it has more than {MAX_SERVER_TOOLS} tools or {MAX_SERVER_CHARS:,} characters"
            self.note(f"{omitted} tools of {self.label} are not offered: {limits}; choose some with `tool_filter`")
        if renamed:
            self.note(f"tools of {self.label} have other names here: {_join(renamed)}")
        if without_schema:
            self.note(f"the model does not see the arguments of tools of {self.label}: {_join(without_schema)}")

    def _is_allowed(self, server_name: str) -> bool:
        included, excluded = self.options["tool_filter"], self.options["tool_exclude"]
        if included and server_name not in included:
            return False
        return not {server_name, clean_name(server_name)} & {*excluded} and not any(
            self.policy.permission("mcp", name) == "deny" for name in self._names(server_name)
        )

    def _names(self, server_name: str) -> frozenset[str]:
        """Return the names under which a user may know a tool."""
        prefixed = self._prefix + server_name
        return frozenset((server_name, clean_name(server_name), prefixed, clean_name(prefixed)))

    def _clean(self, server_name: str, shown: str, tool: ToolsetTool[Any]) -> tuple[_ServerTool, bool]:
        """Return a tool as the model sees it, and whether its schema is complete."""
        schema, is_complete = clean_schema(tool.tool_def.parameters_json_schema)
        tool_def = ToolDefinition(
            name=shown, description=clean_text(tool.tool_def.description or ""), parameters_json_schema=schema
        )
        server_tool = _ServerTool(
            toolset=self,
            tool_def=tool_def,
            max_retries=tool.max_retries,
            args_validator=tool.args_validator,
            server_name=server_name,
            policy_names=self._names(server_name) | {shown},
        )
        return server_tool, is_complete

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call a tool; an error becomes text for the model."""
        assert isinstance(tool, _ServerTool)  # noqa: S101 - `offer` returns no others
        seconds = self.options["timeout_seconds"]
        try:
            await self._require_permission(name, tool.policy_names, tool_args)
        except ToolFailedError as error:
            return f"error: {error}" + (f" ({error.hint})" if error.hint else "")
        try:
            plain: Any = replace(cast("Any", tool), tool_def=replace(tool.tool_def, name=tool.server_name))
            async with asyncio.timeout(seconds):
                result = await self.wrapped.call_tool(tool.server_name, tool_args, ctx, plain)
        except ModelRetry as error:
            return self._truncated(f"error: {clean_text(error.message)}")
        except TimeoutError:
            return f"error: no answer within {seconds:g} seconds"
        except Exception as error:  # noqa: BLE001 - an MCP client can fail in many ways
            return f"error: {self.label} failed: {self._describe_error(error)}"
        return self._truncated(result)

    @property
    def _prefix(self) -> str:
        prefix = self.options["tool_prefix"]
        return f"{prefix}_" if prefix else ""

    @property
    def _prefix_label(self) -> str:
        """What distinguishes the server's tools from others of the same name."""
        if self.origin != "role":
            return self.origin
        return os.path.basename(self.options["command"] or "") or httpx2.URL(self.options["url"]).host

    @property
    def _key(self) -> str:
        """Identifies the server among the others."""
        return json.dumps([self.origin, dict(self.options)], sort_keys=True, default=lambda value: [*value])

    async def _require_permission(self, name: str, names: frozenset[str], arguments: Mapping[str, Any]) -> None:
        """Check that a call is allowed, and let the user confirm it if needed.

        Raises:
            ToolFailedError: the call is refused.
        """
        if self.sealed is not None:
            await asyncio.to_thread(self.sealed.check)
        if self.rules is not None:
            self.rules.check(arguments)
        confirm = self.options["require_confirmation"]
        permissions = {self.policy.permission("mcp", known, ask=confirm) for known in names}
        if "deny" in permissions:
            raise RefusedError(f"the role denies {quoted(name)}")
        ask = "ask" in permissions
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
        return escape_special_tokens(neutral(" ".join(message[: 10 * _MAX_ERROR_CHARS].split())))[:_MAX_ERROR_CHARS]


def _join(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NOTED_NAMES} more" if len(names) > _MAX_NOTED_NAMES else ""
    return ", ".join(names[:_MAX_NOTED_NAMES]) + more
