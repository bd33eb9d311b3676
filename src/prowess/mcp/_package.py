"""Say how to install the package `mcp`: this module is imported before those that use it."""

from __future__ import annotations

try:
    import mcp.server.lowlevel  # noqa: F401
except ImportError as error:
    from prowess._internal.installer import missing_extra

    raise ImportError(missing_extra("the package mcp", "mcp", "this command")) from error
