"""Encode the place at which a page of a list begins."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

if TYPE_CHECKING:
    from mcp_types import PaginatedRequestParams

__all__ = ["cursor_of", "position_after"]


def position_after(params: PaginatedRequestParams | None) -> str | None:
    """Return the URI that a cursor encodes.

    Raises:
        MCPError: it is not a cursor of this server.
    """
    if params is None or params.cursor is None:
        return None
    try:
        return base64.b64decode(params.cursor, altchars=b"-_", validate=True).decode()
    except ValueError:
        raise MCPError(code=INVALID_PARAMS, message="invalid cursor") from None


def cursor_of(uri: str) -> str:
    """Return the cursor of the page that begins behind a URI."""
    return base64.urlsafe_b64encode(uri.encode()).decode()
