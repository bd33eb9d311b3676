"""One turn of a conversation: the answer, the tool calls and the usage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY, Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.session import Session


class ToolCall(Frozen):
    """A call of a tool."""

    tool: str
    arguments: Any
    result: str | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the call in the shape of `run --json`."""
        return {"tool": self.tool, "arguments": self.arguments, "result": self.result, "error": self.error}


class Turn(Frozen):
    """The outcome of one prompt."""

    output: str | None
    """The answer, or `None` after an error."""
    error: str | None = None
    """What failed, and what to do."""
    public_error: str | None = None
    """The same for a client of a served role, if `error` may name the model's server or repeat what it sent."""
    activations: tuple[Mapping[str, object], ...] = ()
    """Skills that are active in the conversation: name, digest, turn."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Mapping[str, int] = EMPTY
    notes: tuple[str, ...] = ()
    """Notes for the user: tools of skills that are not offered, and why."""

    def as_dict(self) -> dict[str, object]:
        """Return the turn in the shape of `run --json`."""
        return {
            "output": self.output,
            "error": self.error,
            "activations": [dict(activation) for activation in self.activations],
            "tool_calls": [call.as_dict() for call in self.tool_calls],
            "usage": dict(self.usage),
            "notes": [*self.notes],
        }


def listing_notes(session: Session) -> tuple[str, ...]:
    """Return a note for the user if the catalog of skills does not fit into its budget."""
    if not session.shortened:
        return ()
    shortened, omitted = len(session.listing.shortened), len(session.listing.omitted)
    counts = f"skills shortened: {shortened}, left out: {omitted}"
    return (f"the catalog of skills is over its budget ({counts}); the model finds all of them with `search_skills`",)


def usage_counts(usage: Any) -> dict[str, int]:
    """Return what a run used so far, from Pydantic AI's `RunUsage`; `None` counts as zero."""
    counts = {name: int(getattr(usage, name, 0) or 0) for name in ("requests", "input_tokens", "output_tokens")}
    total = counts["input_tokens"] + counts["output_tokens"]
    return {**counts, "total_tokens": total, "tool_calls": int(getattr(usage, "tool_calls", 0) or 0)}


def parse_arguments(arguments: Any) -> Any:
    """Return the arguments of a call, parsed if they are JSON text."""
    if isinstance(arguments, str):
        try:
            return json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
    return arguments
