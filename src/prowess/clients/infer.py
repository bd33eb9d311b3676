"""What the design of infer alone says."""

from __future__ import annotations

from prowess._internal.text import quoted

_RESERVED = ("infer", "claude", "anthropic", "gemini", "openai")


def name_problem(name: str, namespace: str | None) -> tuple[str, str] | None:
    """Refuse names that contain a reserved word."""
    for word in _RESERVED:
        if word in name.lower():
            return "name-reserved", f"the name {quoted(name)} contains the reserved word `{word}`"
    return None


def is_on_by_default() -> bool:
    """Return whether skills are enabled without any setting: they are off until `agent.skills.enabled` is true."""
    return False
