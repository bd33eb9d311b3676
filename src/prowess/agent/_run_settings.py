"""Say in Pydantic AI's terms what a role says about its model and its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .role import Role

__all__ = ["model_settings", "tokens_left", "usage_limits"]


def model_settings(role: Role) -> ModelSettings:
    """Return the settings of each request."""
    model = role.model
    settings = {name: getattr(model, name) for name in ("temperature", "top_p", "max_tokens")}
    return ModelSettings(**{name: value for name, value in settings.items() if value is not None})


def usage_limits(role: Role, left: int | None) -> UsageLimits:
    """Return the limits of a run; `left` are the tokens that the conversation may still use."""
    guardrails = role.guardrails
    totals = [limit for limit in (guardrails.max_tokens_per_run, left) if limit is not None]
    return UsageLimits(
        request_limit=guardrails.max_requests,
        tool_calls_limit=guardrails.max_tool_calls,
        total_tokens_limit=min(totals, default=None),
        input_tokens_limit=guardrails.input_tokens_limit,
        per_request_input_tokens_limit=guardrails.per_request_input_tokens_limit,
    )


def tokens_left(role: Role, history: Iterable[Any], lost: int) -> int | None:
    """Return the tokens that a conversation may still use; `None` if it has no budget.

    Args:
        role: its budget is `session_token_budget`.
        history: the messages of the turns that succeeded.
        lost: the tokens of the others.
    """
    budget = role.guardrails.session_token_budget
    if budget is None:
        return None
    used = sum(message.usage.total_tokens for message in history if message.kind == "response")
    return int(budget - lost - used)
