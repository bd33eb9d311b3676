"""Read a role's file, and report everything that is wrong with it.

Two forms mean the same: InitRunner's (`apiVersion`, `kind`, `metadata`, `spec`) and the flat one (`name`, `prompt`,
`model`, ...). Tables say what each key may contain; `schema` publishes them as a JSON Schema.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted
from prowess.agent.protected import KINDS
from prowess.errors import ConfigError, RoleError
from prowess.skill import MAX_BYTES, FindingCollector, MappingReader, read_yaml_mapping

from . import _initrunner as initrunner
from ._schema import FieldSpec, read_fields, schema as fields_schema
from ._tool_config import ToolConfig, read_tools
from ._tool_schemas import TOOL_FIELDS

if TYPE_CHECKING:
    from prowess.findings import Finding
    from prowess.skill import Node

    from ._schema import FieldTable

__all__ = [
    "ROLE_INVALID",
    "Guardrails",
    "ModelConfig",
    "Role",
    "Security",
    "load_role",
    "role_error",
    "schema",
]

ROLE_INVALID = "role-invalid"
"""The code of every finding about a role."""
API_VERSION = "initrunner/v1"
MAX_SKILLS = 200
"""InitRunner, "Configuration": `max_skills: 50   # default: 50, max: 200`."""


class ModelConfig(Frozen):
    """The model of a role."""

    provider: str = "openai"
    name: str | None = None
    base_url: str | None = None
    """The URL of a server with OpenAI's API."""
    api_key_env: str | None = None
    """The environment variable that contains the API key, instead of the provider's usual one."""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    """The most tokens of one answer."""
    context_window: int | None = None
    """The tokens of its context window."""


class Guardrails(Frozen):
    """The limits of one run."""

    max_tokens_per_run: int | None = 50_000
    """Tokens of all requests and answers."""
    max_tool_calls: int | None = 20
    max_requests: int | None = 50
    """Requests to the model."""
    timeout_seconds: float | None = 300.0


class Security(Frozen):
    """The policy for every tool, the role's own and those of skills."""

    deny: tuple[str, ...] = ()
    """Types or names of tools that are not offered."""
    ask: tuple[str, ...] = ()
    """Types or names of tools that need the user's confirmation before each call."""
    allowed_hosts: tuple[str, ...] = ()
    allow_private: bool = False
    roots: tuple[str, ...] = (".",)
    """Folders, relative to the role's folder; no tool reads or writes outside them."""
    unix_sockets: tuple[str, ...] = ()
    """Unix sockets, relative to the role's folder, that programs which its own tools run may connect to."""
    allow_writes: tuple[str, ...] = ()
    """Kinds of protected files that tools may write; see `protected.KINDS`."""


class Role(Frozen):
    """An agent in one file."""

    path: str
    """The absolute path of the file."""
    name: str
    prompt: str
    description: str = ""
    model: ModelConfig = ModelConfig()
    skills: tuple[str, ...] = ()
    """Names or paths of skills to load whole, in order."""
    skill_lines: tuple[int | None, ...] = ()
    """The line of each."""
    auto_skills_enabled: bool = True
    max_skills: int = 50
    tools: tuple[ToolConfig, ...] = ()
    guardrails: Guardrails = Guardrails()
    security: Security = Security()
    notes: tuple[str, ...] = ()
    """Notes for the user: keys that are ignored."""

    @property
    def folder(self) -> str:
        """The file's folder; relative paths start here."""
        return os.path.dirname(self.path)


# ── the tables ───────────────────────────────────────────────────────────────────────────────────────────────────────

MODEL_FIELDS: FieldTable = {
    "provider": FieldSpec(kind="text", doc="the provider, such as `openai` or `anthropic`", default="openai"),
    "name": FieldSpec(kind="text", doc="the provider's name of the model", needed=True),
    "base_url": FieldSpec(kind="text", doc="the URL of a server with OpenAI's API"),
    "api_key_env": FieldSpec(
        kind="text", doc="the environment variable with the API key, instead of the provider's usual one"
    ),
    "temperature": FieldSpec(kind="number", doc="the sampling temperature", inclusive=True, maximum=2),
    "top_p": FieldSpec(kind="number", doc="nucleus sampling: the share of likely words to choose from", maximum=1),
    "max_tokens": FieldSpec(kind="integer", doc="the most tokens of one answer", minimum=1),
    "context_window": FieldSpec(
        kind="integer", doc="the tokens of its context window; the catalog of skills gets 2 % of it", minimum=1
    ),
    **initrunner.MODEL_FIELDS,
}
_GUARDRAIL_FIELDS: FieldTable = {
    "max_tokens_per_run": FieldSpec(
        kind="integer", doc="the most tokens of all requests and answers in a run", default=50_000, minimum=1
    ),
    "max_tool_calls": FieldSpec(kind="integer", doc="the most tool calls in a run", default=20, minimum=0),
    "max_requests": FieldSpec(kind="integer", doc="the most requests to the model in a run", default=50, minimum=1),
    "timeout_seconds": FieldSpec(
        kind="number", doc="the time limit of a run, in seconds", default=300.0, maximum=86_400
    ),
    **initrunner.GUARDRAIL_FIELDS,
}
_SECURITY_FIELDS: FieldTable = {
    "deny": FieldSpec(kind="texts", doc="types or names of tools that are not offered", default=()),
    "ask": FieldSpec(
        kind="texts", doc="types or names of tools that need the user's confirmation before each call", default=()
    ),
    "allowed_hosts": FieldSpec(
        kind="texts", doc="domains that tools may connect to, with their subdomains; empty allows all", default=()
    ),
    "allow_private": FieldSpec(
        kind="truth",
        doc="whether commands and a skill's tools may connect to this machine and its network",
        default=False,
    ),
    "roots": FieldSpec(kind="texts", doc="the folders that tools may read and write", default=(".",)),
    "unix_sockets": FieldSpec(
        kind="texts", doc="Unix sockets that programs of the role's own tools may connect to", default=()
    ),
    "allow_writes": FieldSpec(
        kind="texts", doc="kinds of protected files that tools may write", default=(), choices=tuple(KINDS)
    ),
    **initrunner.SECURITY_FIELDS,
}
_AUTO_SKILLS_FIELDS: FieldTable = {
    "enabled": FieldSpec(kind="truth", doc="whether to discover skills", default=True),
    "max_skills": FieldSpec(
        kind="integer", doc="the most skills to discover", default=50, minimum=1, maximum=MAX_SKILLS
    ),
}
_MODEL_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": r"\S", "description": "`provider:name` or `openai:NAME@URL`"},
        fields_schema(MODEL_FIELDS),
        {"type": "null"},
    ]
}
_TOOLS_SCHEMA = {
    "type": ["array", "null"],
    "items": {
        "oneOf": [
            {
                **(inner := fields_schema(table)),
                "properties": {"type": {"const": kind}, **inner["properties"]},
                "required": ["type", *inner.get("required", ())],
            }
            for kind, table in TOOL_FIELDS.items()
        ]
    },
}
_COMMON_FIELDS: FieldTable = {
    "model": FieldSpec(kind="model", doc="the model, as a map or as `provider:name`", schema=_MODEL_SCHEMA),
    "skills": FieldSpec(kind="texts", doc="names or paths of skills to load whole", default=()),
    "auto_skills": FieldSpec(kind="map", doc="settings for discovered skills", keys=_AUTO_SKILLS_FIELDS, default=EMPTY),
    "tools": FieldSpec(kind="tools", doc="the role's own tools", schema=_TOOLS_SCHEMA, default=()),
    "guardrails": FieldSpec(kind="map", doc="the limits of one run", keys=_GUARDRAIL_FIELDS, default=EMPTY),
    "security": FieldSpec(
        kind="map",
        doc="the policy for every tool, the role's own and those of skills",
        keys=_SECURITY_FIELDS,
        default=EMPTY,
    ),
    **initrunner.SPEC_FIELDS,
}
_METADATA_FIELDS: FieldTable = {
    "name": FieldSpec(kind="text", doc="the agent's name", needed=True),
    "description": FieldSpec(kind="text", doc="what the agent is for", default=""),
    "tags": FieldSpec(kind="texts", doc="words to find the role by", default=()),
    "author": FieldSpec(kind="text", doc="the role's author", default=""),
    "version": FieldSpec(kind="text", doc="the role's version", default=""),
    **initrunner.METADATA_FIELDS,
}
_PROMPT_FIELD = FieldSpec(kind="text", doc="the system prompt", needed=True)
INITRUNNER_FIELDS: FieldTable = {
    "apiVersion": FieldSpec(kind="text", doc="the version of the format", needed=True, choices=(API_VERSION,)),
    "kind": FieldSpec(kind="text", doc="the kind of file", needed=True, choices=("Agent",)),
    "metadata": FieldSpec(
        kind="map", doc="information about the role", keys=_METADATA_FIELDS, needed=True, default=EMPTY
    ),
    "spec": FieldSpec(
        kind="map", doc="the role", keys={"role": _PROMPT_FIELD, **_COMMON_FIELDS}, needed=True, default=EMPTY
    ),
}
FLAT_FIELDS: FieldTable = {**_METADATA_FIELDS, "prompt": _PROMPT_FIELD, **_COMMON_FIELDS, **initrunner.TEAM_FIELDS}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a role's file, with both forms."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A role of Prowess",
        "oneOf": [fields_schema(INITRUNNER_FIELDS), fields_schema(FLAT_FIELDS)],
    }


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def load_role(path: str | os.PathLike[str]) -> tuple[Role | None, tuple[Finding, ...]]:
    """Read a role.

    Args:
        path: the role's file.

    Returns:
        The role, or `None` if the file cannot be read; and everything that is wrong. With any finding the role must not
        run.
    """
    file = os.path.abspath(os.fspath(path))
    report = FindingCollector(file, ROLE_INVALID)
    try:
        data = read_file(file, MAX_BYTES, follow=True)
    except UnreadableError as error:
        report.add(error.message, hint=error.hint)
        return None, tuple(report.findings)
    mapping = read_yaml_mapping(data, report)
    if mapping is None:
        return None, tuple(report.findings)
    flat = mapping.get("apiVersion") is None and mapping.get("spec") is None and mapping.get("kind") is None
    table = FLAT_FIELDS if flat else INITRUNNER_FIELDS
    values = read_fields(mapping, table, {"model": _read_model, "tools": read_tools})
    metadata, spec = (values, values) if flat else (values["metadata"] or {}, values["spec"] or {})
    auto_skills = spec.get("auto_skills") or {}
    role = Role(
        path=file,
        name=metadata.get("name") or "",
        description=metadata.get("description") or "",
        prompt=spec.get("prompt" if flat else "role") or "",
        model=spec.get("model") or ModelConfig(),
        skills=tuple(spec.get("skills") or ()),
        skill_lines=_item_lines(mapping if flat else mapping.get("spec"), "skills"),
        auto_skills_enabled=auto_skills.get("enabled", True),
        max_skills=auto_skills.get("max_skills", 50),
        tools=tuple(spec.get("tools") or ()),
        guardrails=Guardrails(**(spec.get("guardrails") or {})),
        security=Security(**(spec.get("security") or {})),
        notes=tuple(report.notes),
    )
    return role, tuple(report.findings)


def role_error(path: str | os.PathLike[str], message: str, hint: str) -> ConfigError:
    """Return the error for a role that does not run: a `RoleError`, unless its file does not exist."""
    if os.path.isfile(path):
        return RoleError(message, hint=hint)
    # Findings as text have their hints in parentheses.
    hint = "check the path"
    return ConfigError(message.removesuffix(f" ({hint})"), hint=hint)


def _item_lines(mapping: MappingReader | Node | None, name: str) -> tuple[int | None, ...]:
    """Return the line of each text in a list; other items are reported elsewhere."""
    node_map = mapping.node if isinstance(mapping, MappingReader) else mapping
    if node_map is None or node_map.kind != "map":
        return ()
    nodes = (
        item
        for key, item in zip(node_map.keys, node_map.items, strict=True)
        if key.text == name and item.kind == "list"
    )
    return tuple(item.line for node in nodes for item in node.items if item.kind not in ("list", "map"))


def _read_model(mapping: MappingReader, name: str) -> ModelConfig | None:
    """Read a model: a map or `provider:name`."""
    node = mapping.get(name)
    if node is None:
        return None
    if node.kind == "map":
        inner = mapping.get_mapping(name)
        return None if inner is None else ModelConfig(**read_fields(inner, MODEL_FIELDS))
    text = mapping.get_text(name)
    if text is not None and not text.strip():
        mapping.report.add(f"{quoted(mapping.key_path(name))} is empty", node, "write it as `provider:name`")
        return None
    return None if text is None else parse_model(text)


def parse_model(text: str) -> ModelConfig:
    """Parse `provider:name` or `openai:NAME@URL`; the default provider is `openai`."""
    provider, colon, name = text.partition(":")
    if not colon:
        provider, name = "openai", text
    name, at, url = name.partition("@http")
    return ModelConfig(provider=provider, name=name, base_url=f"http{url}" if at else None)
