"""an assembly -> where each part of an agent comes from, for people and for programs"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess._internal.text import neutral
from prowess.catalog import State, estimate_tokens
from prowess.session import Session

from .models import model_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .assembly import Assembly

__all__ = ["explain_assembly", "format_explanation"]

_GUARDRAIL_NAMES = ("max_tokens_per_run", "max_tool_calls", "max_requests", "timeout_seconds")
_SECURITY_NAMES = ("deny", "ask", "allowed_hosts", "allow_private", "roots")


def explain_assembly(assembly: Assembly) -> dict[str, Any]:
    """Return it in the shape of `show ROLE --json`."""
    role, box = assembly.role, assembly.toolbox
    session = None if assembly.catalog is None else Session(assembly.catalog, env=assembly.env)
    parts = [
        {"origin": part.origin, "text": part.text, "tokens": estimate_tokens(part.text)} for part in assembly.parts
    ]
    if session is not None and (block := session.static_block().strip()):
        parts.append({"origin": "catalog", "text": block, "tokens": estimate_tokens(block)})
    tools = [
        {"name": one.name, "type": one.kind, "origin": one.origin, "asks": _asks_user(assembly, one)}
        for one in box.tools
    ]
    tools += [
        {
            "name": f"mcp:{config.options['command'] or config.options['url']}",
            "type": "mcp",
            "origin": origin,
            "asks": box.context.policy.permission("mcp", "", ask=config.options["require_confirmation"]) == "ask",
        }
        for origin, config, _ in box.mcp_servers
    ]
    if session is not None:
        tools += [{"name": one.name, "type": "session", "origin": "prowess", "asks": False} for one in session.tools()]
    skills: list[dict[str, Any]] = [
        {
            "name": one.name,
            "path": one.path,
            "state": "whole",
            "reason": None,
            "tools": [tool.name for tool in box.tools if tool.origin == one.name],
        }
        for one in assembly.explicit
    ]
    notes = [*assembly.notes]
    for entry in () if assembly.catalog is None else assembly.catalog.skills:
        grown = box.copy()
        if entry.state is State.ACTIVE:
            assembly.add_discovered_tools(entry, grown)
        notes += grown.notes
        skills.append(
            {
                "name": entry.name,
                "path": entry.path,
                "state": "listed" if entry.state is State.ACTIVE else str(entry.state),
                "reason": entry.reason,
                "tools": [tool.name for tool in grown.tools[len(box.tools) :]],
            }
        )
    return {
        "name": role.name,
        "description": role.description,
        "path": role.path,
        "model": model_name(role.model) if role.model.name else None,
        "parts": parts,
        "tools": tools,
        "skills": skills,
        "guardrails": {name: getattr(role.guardrails, name) for name in _GUARDRAIL_NAMES},
        "security": {
            name: [*value] if isinstance(value := getattr(role.security, name), tuple) else value
            for name in _SECURITY_NAMES
        },
        "findings": [item.as_dict() for item in assembly.findings],
        "notes": notes,
    }


def _asks_user(assembly: Assembly, tool: Any) -> bool:
    return assembly.toolbox.context.policy.permission(tool.kind, tool.name, ask=tool.ask) == "ask"


def format_explanation(explanation: dict[str, Any]) -> Iterator[str]:
    """Yield it as people read it."""
    yield neutral(explanation["name"])
    if explanation["description"]:
        yield f"  {neutral(explanation['description'])}"
    yield f"  path   {neutral(explanation['path'])}"
    yield f"  model  {neutral(explanation['model'] or 'none is named')}"
    yield from (
        "",
        f"prompt (about {sum(part['tokens'] for part in explanation['parts']):,} tokens: bytes divided by four)",
    )
    for part in explanation["parts"]:
        first = next(iter(part["text"].strip().splitlines()), "")
        yield f"  {part['tokens']:>6,}  {neutral(part['origin'])}: {neutral(first[:80])}"
    yield from ("", "tools")
    width = max([len(tool["name"]) for tool in explanation["tools"]], default=0)
    for tool in explanation["tools"]:
        asks = ", asks first" if tool["asks"] else ""
        yield f"  {neutral(tool['name']):<{width}}  {neutral(tool['type'])}, from {neutral(tool['origin'])}{asks}"
    yield from ("", "skills")
    words = {"whole": "loaded whole, because the role names it", "listed": "listed; loaded when the model activates it"}
    for skill in explanation["skills"]:
        reason = f": {neutral(skill['reason'])}" if skill["reason"] else ""
        yield f"  {neutral(skill['name'])}  {words.get(skill['state'], skill['state'])}{reason}"
        yield f"      {neutral(skill['path'])}"
        if skill["tools"]:
            yield f"      brings {neutral(', '.join(skill['tools']))}"
    for title in ("guardrails", "security"):
        yield from ("", title)
        for name, value in explanation[title].items():
            yield f"  {name:<20}{_format_value(value)}"


def _format_value(value: object) -> str:
    if isinstance(value, list):
        return neutral(", ".join(value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else f"{value:,}"
