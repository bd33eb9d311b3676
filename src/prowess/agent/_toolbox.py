"""Collect the tools of an agent under the role's policy: each configuration once, each name once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess._internal.text import quoted
from prowess.errors import ConfigError

from .tools import CallRules, make_tools, with_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .policy import AgentTool, SealedSkill, ToolContext
    from .role import Role, ToolConfig

__all__ = ["Toolbox"]

_RESERVED_NAMES = ("activate_skill", "read_skill_file", "search_skills", "run_skill_script")
"""Names of a session's own tools, which no tool of a role or a skill may have."""


class Toolbox:
    """The tools of an agent, under the role's policy.

    Args:
        role: its policy applies.
        context: what every tool is made with; `add` sets `skill`, `trusted` and `env`.
    """

    def __init__(self, role: Role, context: ToolContext) -> None:
        self.role, self.context = role, context
        self.tools: list[AgentTool] = []
        self.mcp_servers: list[tuple[str, ToolConfig, ToolContext]] = []
        """MCP servers: origin, configuration, context. Their tools are known once they run."""
        self.notes: list[str] = []
        """What is not offered, and why."""
        self._origins: dict[str, str] = {}
        self._has_writing_tool = False

    @property
    def names(self) -> frozenset[str]:
        """The names that no tool of an MCP server may have: those of the tools, and a session's own."""
        return frozenset((*_RESERVED_NAMES, *(tool.name for tool in self.tools)))

    @property
    def can_write_files(self) -> bool:
        """Whether a tool could change files in the role's folder."""
        kinds = {tool.kind for tool in self.tools}
        return bool(self.mcp_servers) or bool(kinds & {"shell", "python", "script"}) or self._has_writing_tool

    def copy(self) -> Toolbox:
        """Return a copy to add more tools to; it starts without notes."""
        other = Toolbox(self.role, self.context)
        other.tools, other.mcp_servers = [*self.tools], [*self.mcp_servers]
        other._origins, other._has_writing_tool = dict(self._origins), self._has_writing_tool
        return other

    def add(
        self,
        config: ToolConfig,
        origin: str,
        folder: str | None,
        *,
        trusted: bool,
        env_variables: Iterable[str] | None = None,
        sealed: SealedSkill | None = None,
    ) -> None:
        """Add the tools of one configuration, unless an equal configuration was added before.

        Args:
            config: the configuration.
            origin: `role`, or the skill's name.
            folder: the skill's folder.
            trusted: whether its processes may run without a sandbox.
            env_variables: the only variables, besides PATH, that the configuration may name as `${NAME}`; `None` allows
                all. A skill gets those it says it requires, or it could send any of its user's keys anywhere.
            sealed: checks the skill in each call.

        Raises:
            ConfigError: the configuration cannot be used on this machine.
        """
        if origin != "role":  # the role's own are in its warning
            self.notes += config.notes(origin)
        if not config.is_known:
            return
        # What runs is in the skill's folder, so the same configuration in another folder is another tool.
        key = f"{config.key} {folder}" if config.runs_files else config.key
        if key in self._origins:
            return
        self._origins[key] = origin
        self._has_writing_tool = self._has_writing_tool or not config.options.get("read_only", True)
        context = self.context.with_changes(
            skill=folder, trusted=trusted, env=self._visible_env(env_variables), sealed=sealed
        )
        if context.policy.permission(config.kind, "") == "deny":
            self.notes.append(f"the role denies tools of type `{config.kind}`, requested by {quoted(origin)}")
        elif config.kind == "mcp":
            _check_mcp_server(config, context)
            self.mcp_servers.append((origin, config, context))
        else:
            rules = CallRules.from_options(config.kind, config.options, context)
            for tool in make_tools(config.kind, config.options, context):
                checked = tool if sealed is None or config.kind == "script" else _with_check(tool, sealed)
                checked = checked if rules is None else with_rules(checked, rules)
                self._add_tool(checked.with_changes(origin=origin, ask=tool.ask or config.needs_approval))

    def _visible_env(self, variables: Iterable[str] | None) -> Mapping[str, str]:
        env = self.context.env
        return env if variables is None else {name: env[name] for name in ("PATH", *variables) if name in env}

    def _add_tool(self, tool: AgentTool) -> None:
        policy = self.context.policy
        renamed = tool.with_unique_name((*_RESERVED_NAMES, *(other.name for other in self.tools)))
        # The policy applies to the tool's own name and to the name it has here.
        permissions = {policy.permission(tool.kind, name, ask=tool.ask) for name in (tool.name, renamed.name)}
        if "deny" in permissions:
            self.notes.append(f"the role denies the tool `{tool.name}`, requested by {quoted(tool.origin)}")
        else:
            self.tools.append(renamed.with_changes(ask="ask" in permissions))


def _with_check(tool: AgentTool, sealed: SealedSkill) -> AgentTool:
    """Return a tool that checks its skill before each call; a script checks what it runs itself."""

    def call(**arguments: Any) -> str:
        sealed.check()
        return tool.call(**arguments)

    return tool.with_changes(call=call)


def _check_mcp_server(config: ToolConfig, context: ToolContext) -> None:
    """Check that an MCP server could be started, without starting it.

    Raises:
        ConfigError: it could not.
    """
    needed = "command" if config.options["transport"] == "stdio" else "url"
    if not config.options[needed]:
        message = f"`{needed}` is missing: an `mcp` tool with the transport `{config.options['transport']}` needs it"
        raise ConfigError(message, hint=f"add `{needed}: ...`")
    try:
        from .tools import make_mcp_toolset

        toolset = make_mcp_toolset(config.options, context)
    except ImportError:
        return  # the MCP client is not installed, so nothing will start the server
    if toolset.log is not None:
        toolset.log.close()
