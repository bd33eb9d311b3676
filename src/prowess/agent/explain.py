"""Explain an agent before it runs: what its model gets, and where each part comes from.

`dry_run` is `prowess run --dry-run`, `explain_assembly` is `prowess show ROLE`. Neither calls a model nor needs a
framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess._internal.text import neutral
from prowess.catalog import State
from prowess.prompt import estimate_tokens

from ._turn import listing_notes
from .models import model_name, resolve_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.session import Session

    from .assembly import Assembly

__all__ = ["dry_run", "explain_assembly", "format_explanation"]

_GUARDRAIL_NAMES = ("max_tokens_per_run", "max_tool_calls", "max_requests", "timeout_seconds")
_MORE_LIMITS = ("input_tokens_limit", "per_request_input_tokens_limit", "session_token_budget")
"""Limits that are shown if they are set."""
_SECURITY_NAMES = (
    *("deny", "ask", "allowed_hosts", "allow_private", "roots", "unix_sockets", "allow_writes", "allow_paths"),
)


def dry_run(assembly: Assembly, model: str | None = None, prompt: str | None = None) -> dict[str, Any]:
    """Return what the model would get in its first request, in the shape of `run --dry-run --json`.

    Args:
        assembly: the role's.
        model: the model of `--model`, instead of the role's.
        prompt: the user's first message; skills that it names are active, as they would be.

    Raises:
        RoleError: the role's model is invalid.
        ConfigError: `model` is invalid.
    """
    if model is not None or assembly.role.model.name:
        resolve_model(assembly.role.model, model)
    session = assembly.new_session()
    block = "" if session is None else session.block(prompt or "").strip()
    messages = [] if prompt is None else _first_messages(session, prompt)
    toolbox = assembly.toolbox_with(session)
    rows = [(tool.name, tool.description, tool.parameters, tool.origin) for tool in toolbox.tools]
    for origin, config, _ in toolbox.mcp_servers:
        label = config.options["tool_prefix"] or config.options["command"] or config.options["url"]
        rows.append((f"mcp:{label}", "an MCP server; its tools are known once it runs", {}, origin))
    own = () if session is None else session.tools()
    rows += [(tool.name, tool.description, tool.parameters, "prowess") for tool in own]
    skills = [{"name": skill.name, "path": skill.path, "loaded": "whole"} for skill in assembly.explicit]
    if assembly.catalog is not None:
        skills += [{"name": entry.name, "path": entry.path, "loaded": "listed"} for entry in assembly.catalog.active]
    return {
        "model": model or (model_name(assembly.role.model) if assembly.role.model.name else None),
        "instructions": "\n\n".join(text for text in (assembly.instructions, block) if text),
        "messages": messages,
        "tools": [
            {"name": name, "description": description, "parameters": dict(parameters), "origin": origin}
            for name, description, parameters, origin in rows
        ],
        "skills": skills,
        "not_run": [item.as_dict() for item in assembly.role.unused],
        "notes": [
            *(() if session is None else session.warnings),
            *(() if toolbox is assembly.toolbox else toolbox.notes),
        ],
        "findings": [item.as_dict() for item in assembly.findings],
    }


def _first_messages(session: Session | None, prompt: str) -> list[dict[str, str]]:
    """Return the messages of a first turn: the prompt, and the skills that it names."""
    tail = None
    if session is not None:
        session.inject(prompt)
        tail = session.tail(visible=[prompt])
    return [{"role": "user", "content": f"{prompt}\n\n{tail}" if tail else prompt}]


def explain_assembly(assembly: Assembly) -> dict[str, Any]:
    """Return where each part of an agent comes from, in the shape of `show ROLE --json`."""
    role, session = assembly.role, assembly.new_session()
    skills, notes = _explain_skills(assembly)
    return {
        "name": role.name,
        "description": role.description,
        "path": role.path,
        "model": model_name(role.model) if role.model.name else None,
        "parts": _explain_prompt(assembly, session),
        "tools": _explain_tools(assembly, session),
        "skills": skills,
        "guardrails": {name: getattr(role.guardrails, name) for name in _GUARDRAIL_NAMES}
        | {name: value for name in _MORE_LIMITS if (value := getattr(role.guardrails, name)) is not None},
        "security": {
            name: [*value] if isinstance(value := getattr(role.security, name), tuple) else value
            for name in _SECURITY_NAMES
        },
        "not_run": [item.as_dict() for item in role.unused],
        "findings": [item.as_dict() for item in assembly.findings],
        "notes": [*assembly.notes, *(() if session is None else listing_notes(session)), *notes],
    }


def _explain_prompt(assembly: Assembly, session: Session | None) -> list[dict[str, Any]]:
    texts = [(part.origin, part.text) for part in assembly.parts]
    if session is not None and (block := session.static_block().strip()):
        texts.append(("catalog", block))
    return [{"origin": origin, "text": text, "tokens": estimate_tokens(text)} for origin, text in texts]


def _explain_tools(assembly: Assembly, session: Session | None) -> list[dict[str, Any]]:
    toolbox = assembly.toolbox
    rows = [(tool.name, tool.kind, tool.origin, tool.ask) for tool in toolbox.tools]
    for origin, config, _ in toolbox.mcp_servers:
        asks = toolbox.context.policy.permission("mcp", "", ask=config.options["require_confirmation"]) == "ask"
        rows.append((f"mcp:{config.options['command'] or config.options['url']}", "mcp", origin, asks))
    rows += [(tool.name, "session", "prowess", False) for tool in (() if session is None else session.tools())]
    return [{"name": name, "type": kind, "origin": origin, "asks": asks} for name, kind, origin, asks in rows]


def _explain_skills(assembly: Assembly) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the skills with the tools each adds, and notes on tools that are not offered."""
    toolbox = assembly.toolbox
    skills: list[dict[str, Any]] = [
        {
            "name": skill.name,
            "path": skill.path,
            "state": "whole",
            "reason": None,
            "tools": [tool.name for tool in toolbox.tools if tool.origin == skill.name],
        }
        for skill in assembly.explicit
    ]
    notes = []
    for entry in () if assembly.catalog is None else assembly.catalog.skills:
        extended = toolbox.copy()
        if entry.state is State.ACTIVE:
            assembly.add_discovered_tools(entry, extended)
        notes += extended.notes
        skills.append(
            {
                "name": entry.name,
                "path": entry.path,
                "state": "listed" if entry.state is State.ACTIVE else str(entry.state),
                "reason": entry.reason,
                "tools": [tool.name for tool in extended.tools[len(toolbox.tools) :]],
            }
        )
    return skills, notes


def format_explanation(explanation: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of `show ROLE` as text."""
    yield neutral(explanation["name"])
    if explanation["description"]:
        yield f"  {neutral(explanation['description'])}"
    yield f"  path   {neutral(explanation['path'])}"
    yield f"  model  {neutral(explanation['model'] or 'not set')}"
    yield from (
        "",
        f"prompt (about {sum(part['tokens'] for part in explanation['parts']):,} tokens: bytes divided by four)",
    )
    for part in explanation["parts"]:
        first_line = next(iter(part["text"].strip().splitlines()), "")
        yield f"  {part['tokens']:>6,}  {neutral(part['origin'])}: {neutral(first_line[:80])}"
    yield from ("", "tools")
    width = max([len(tool["name"]) for tool in explanation["tools"]], default=0)
    for tool in explanation["tools"]:
        asks = ", asks first" if tool["asks"] else ""
        yield f"  {neutral(tool['name']):<{width}}  {neutral(tool['type'])}, from {neutral(tool['origin'])}{asks}"
    yield from ("", "skills")
    for skill in explanation["skills"]:
        reason = f": {neutral(skill['reason'])}" if skill["reason"] else ""
        yield f"  {neutral(skill['name'])}  {_STATE_WORDS.get(skill['state'], skill['state'])}{reason}"
        yield f"      {neutral(skill['path'])}"
        if skill["tools"]:
            yield f"      adds {neutral(', '.join(skill['tools']))}"
    for title in ("guardrails", "security"):
        yield from ("", title)
        for name, value in explanation[title].items():
            yield f"  {name:<20}{_format_value(value)}"


_STATE_WORDS = {
    "whole": "loaded whole, because the role names it",
    "listed": "listed; loaded when the model activates it",
}


def _format_value(value: object) -> str:
    if isinstance(value, list):
        return neutral(", ".join(value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else f"{value:,}"
