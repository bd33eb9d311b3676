"""Say how to install the package `mcp`: this module is imported before those that use it."""

from __future__ import annotations

try:
    import mcp.server.lowlevel  # noqa: F401
except ImportError as error:
    message = "skills over MCP need the package mcp: pip install 'prowess[mcp]'"
    raise ImportError(message) from error
