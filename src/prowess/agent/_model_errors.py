"""Describe what failed in a run of Pydantic AI, and what to do."""

from __future__ import annotations

import re

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelHTTPError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)

from prowess._internal.text import neutral
from prowess.errors import ProwessError

__all__ = ["MAX_ERROR_CHARS", "describe_run_error"]

MAX_ERROR_CHARS = 500
"""Characters of a server's or a framework's own message."""
_GUARDRAIL_NAMES = {
    "request_limit": "max_requests",
    "tool_calls_limit": "max_tool_calls",
    "total_tokens_limit": "max_tokens_per_run",
}
"""Pydantic AI's name of a limit, and the role's."""
_HTTP_HINTS = {
    401: "the API key is invalid: check it",
    403: "the API key has no access to this model",
    404: "the model does not exist: check its name",
    429: "too many requests, or no credit left: try again later",
}


def describe_run_error(error: Exception) -> str:
    """Return what failed, and what to do, as one line."""
    detail = neutral(" ".join(str(error).split()))[:MAX_ERROR_CHARS]
    if isinstance(error, ModelHTTPError):
        status = error.status_code
        hint = _HTTP_HINTS.get(status, "try again later" if status >= 500 else "see its message")
        return f"the model server answered {status}: {hint}; its message: {detail}"
    if isinstance(error, UsageLimitExceeded):
        limit = re.sub("|".join(_GUARDRAIL_NAMES), lambda match: f"`guardrails.{_GUARDRAIL_NAMES[match[0]]}`", detail)
        return f"the run reached a limit of the role: {limit}"
    if isinstance(error, UnexpectedModelBehavior):
        return f"the model returned an invalid response: {detail}"
    if isinstance(error, ProwessError):
        return f"{error}{f' ({error.hint})' if error.hint else ''}"
    if isinstance(error, AgentRunError):
        url = getattr(getattr(error.__cause__, "request", None), "url", None)
        server = "its server" if url is None else f"`{url.scheme}://{neutral(url.netloc.decode('ascii', 'replace'))}`"
        hint = f"check that {server} is right and running, or try again later"
        return f"no answer from the model: {detail.rstrip('.')}: {hint}"
    if isinstance(error, ImportError):
        return detail  # it names the tool and what to install
    if isinstance(error, UserError):
        return f"the role's tools cannot be used together: {detail}"
    return f"the connection to the model server failed: {type(error).__name__}: {detail}"
