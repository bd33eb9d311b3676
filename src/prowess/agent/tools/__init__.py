"""Make the tools that a role or a skill configures.

Front door: `make_tools` makes the tools of a configuration, `CallRules` checks their calls, and `make_mcp_toolset`
connects an MCP server. Each module without an underscore is one type of tool. Nothing here knows roles, conversations
or the server; tools know the policy they run under (`prowess.agent.policy`).
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._making import CallRules as CallRules, make_tools as make_tools
    from .mcp import make_mcp_toolset as make_mcp_toolset
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
