"""an assembly -> what its model would be sent first, without asking it"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.session import Session

from .models import model_name, resolve_model

if TYPE_CHECKING:
    from .assembly import Assembly

__all__ = ["dry_run"]


def dry_run(assembly: Assembly, model: str | None = None) -> dict[str, Any]:
    """Return it in the shape of `run --dry-run --json`.

    Args:
        assembly: of the role.
        model: what the user names instead of the role's.

    Raises:
        ConfigError: what the user names cannot be a model.
    """
    if model is not None:
        resolve_model(assembly.role.model, model)
    session = None if assembly.catalog is None else Session(assembly.catalog, env=assembly.env)
    block = "" if session is None else session.static_block().strip()
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters), "origin": tool.origin}
        for tool in assembly.toolbox.tools
    ]
    tools += [
        {
            "name": f"mcp:{config.options['tool_prefix'] or config.options['command'] or config.options['url']}",
            "description": "a server of MCP: its tools are known once it runs",
            "parameters": {},
            "origin": origin,
        }
        for origin, config, _ in assembly.toolbox.mcp_servers
    ]
    if session is not None:
        tools += [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "origin": "prowess",
            }
            for tool in session.tools()
        ]
    skills = [{"name": skill.name, "path": skill.path, "loaded": "whole"} for skill in assembly.explicit]
    if assembly.catalog is not None:
        skills += [{"name": entry.name, "path": entry.path, "loaded": "listed"} for entry in assembly.catalog.active]
    return {
        "model": model or (model_name(assembly.role.model) if assembly.role.model.name else None),
        "instructions": "\n\n".join(text for text in (assembly.instructions, block) if text),
        "tools": tools,
        "skills": skills,
        "findings": [item.as_dict() for item in assembly.findings],
    }
