"""a role's file -> Role, and all that is wrong with it

Two forms mean the same: InitRunner's (`apiVersion`, `kind`, `metadata`, `spec`), as it stands in its documents, and the
flat one (`name`, `prompt`, `model` ...). Tables say what each may hold; `schema` publishes them.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import nearest_names, quoted
from prowess.skill import MAX_BYTES, FindingCollector, MappingReader, read_yaml_mapping

from ._schema import FieldSpec, map_items, read_fields
from ._schema import schema as fields_schema
from ._tool_schemas import TOOL_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.findings import Finding
    from prowess.skill import Node

    from ._schema import FieldTable

__all__ = [
    "ROLE_INVALID",
    "Guardrails",
    "ModelConfig",
    "Role",
    "Security",
    "ToolConfig",
    "load_role",
    "read_tools",
    "schema",
]

ROLE_INVALID = "role-invalid"
"""The code of all that is wrong with a role."""
API_VERSION = "initrunner/v1"
MAX_SKILLS = 200
"""InitRunner, "Configuration": `max_skills: 50   # default: 50, max: 200`."""


class ToolConfig(Frozen):
    """A tool that a role or a skill asks for."""

    kind: str
    """Its type, as in `shell`."""
    options: Mapping[str, Any]
    """All of `tool_table`'s keys."""
    where: str
    """Its path inside the file, as in `spec.tools[0]`."""
    line: int | None = None

    @property
    def key(self) -> str:
        """What two configurations have in common that are one tool: type and options."""
        return json.dumps([self.kind, self.options], sort_keys=True, default=list)


class ModelConfig(Frozen):
    """The model of a role."""

    provider: str = "openai"
    name: str | None = None
    base_url: str | None = None
    """Of a server that speaks OpenAI's API."""
    api_key_env: str | None = None
    """The variable that holds its key, where it is not the provider's own."""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    """Tokens of one answer."""


class Guardrails(Frozen):
    """What one run may use."""

    max_tokens_per_run: int | None = 50_000
    """Tokens of all requests and answers together."""
    max_tool_calls: int | None = 20
    max_requests: int | None = 50
    """Requests to the model."""
    timeout_seconds: float | None = 300.0


class Security(Frozen):
    """What no tool may do, whoever brought it."""

    deny: tuple[str, ...] = ()
    """Types or names of tools that are not offered."""
    ask: tuple[str, ...] = ()
    """Types or names of tools before each call of which the user is asked."""
    allowed_hosts: tuple[str, ...] = ()
    allow_private: bool = False
    roots: tuple[str, ...] = (".",)
    """Folders, relative to the role's, outside which no tool reads or writes."""


class Role(Frozen):
    """An agent in one file."""

    path: str
    """Of the file, absolute."""
    name: str
    prompt: str
    description: str = ""
    model: ModelConfig = ModelConfig()
    skills: tuple[str, ...] = ()
    """Explicit references, in their order."""
    skill_lines: tuple[int | None, ...] = ()
    """Where each stands."""
    auto_skills_enabled: bool = True
    max_skills: int = 50
    tools: tuple[ToolConfig, ...] = ()
    guardrails: Guardrails = Guardrails()
    security: Security = Security()

    @property
    def folder(self) -> str:
        """The file's folder, in which relative paths begin."""
        return os.path.dirname(self.path)


# ── the tables ───────────────────────────────────────────────────────────────────────────────────────────────────────

MODEL_FIELDS: FieldTable = {
    "provider": FieldSpec(kind="text", doc="who serves it, as in `openai` or `anthropic`", default="openai"),
    "name": FieldSpec(kind="text", doc="what the provider calls it", needed=True),
    "base_url": FieldSpec(kind="text", doc="of a server that speaks OpenAI's API"),
    "api_key_env": FieldSpec(kind="text", doc="the variable that holds its key, where it is not the provider's own"),
    "temperature": FieldSpec(kind="number", doc="how freely it answers", inclusive=True, maximum=2),
    "top_p": FieldSpec(kind="number", doc="of how many likely words it chooses", maximum=1),
    "max_tokens": FieldSpec(kind="integer", doc="tokens of one answer", minimum=1),
}
_GUARDRAIL_FIELDS: FieldTable = {
    "max_tokens_per_run": FieldSpec(
        kind="integer", doc="tokens of all requests and answers of a run", default=50_000, minimum=1
    ),
    "max_tool_calls": FieldSpec(kind="integer", doc="calls of tools in a run", default=20, minimum=0),
    "max_requests": FieldSpec(kind="integer", doc="requests to the model in a run", default=50, minimum=1),
    "timeout_seconds": FieldSpec(kind="number", doc="seconds a run may take", default=300.0, maximum=86_400),
}
_SECURITY_FIELDS: FieldTable = {
    "deny": FieldSpec(
        kind="texts", doc="types or names of tools that are not offered, whoever brings them", default=()
    ),
    "ask": FieldSpec(
        kind="texts", doc="types or names of tools before each call of which the user is asked", default=()
    ),
    "allowed_hosts": FieldSpec(
        kind="texts", doc="domains tools may speak to, with all below them; none is all", default=()
    ),
    "allow_private": FieldSpec(
        kind="truth", doc="whether a skill's tools may speak to this machine or network", default=False
    ),
    "roots": FieldSpec(kind="texts", doc="folders outside which no tool reads or writes", default=(".",)),
}
_AUTO_SKILLS_FIELDS: FieldTable = {
    "enabled": FieldSpec(kind="truth", doc="whether skills are discovered", default=True),
    "max_skills": FieldSpec(kind="integer", doc="discovered skills at most", default=50, minimum=1, maximum=MAX_SKILLS),
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
    "model": FieldSpec(kind="model", doc="the model: a map, or one text", schema=_MODEL_SCHEMA),
    "skills": FieldSpec(kind="texts", doc="skills that are loaded whole: names or paths", default=()),
    "auto_skills": FieldSpec(kind="map", doc="skills that are discovered", keys=_AUTO_SKILLS_FIELDS, default=EMPTY),
    "tools": FieldSpec(kind="tools", doc="the role's own tools", schema=_TOOLS_SCHEMA, default=()),
    "guardrails": FieldSpec(kind="map", doc="what one run may use", keys=_GUARDRAIL_FIELDS, default=EMPTY),
    "security": FieldSpec(
        kind="map", doc="what no tool may do, whoever brings it", keys=_SECURITY_FIELDS, default=EMPTY
    ),
}
_METADATA_FIELDS: FieldTable = {
    "name": FieldSpec(kind="text", doc="what the agent is called", needed=True),
    "description": FieldSpec(kind="text", doc="what it is for", default=""),
    "tags": FieldSpec(kind="texts", doc="words to find it by", default=()),
    "author": FieldSpec(kind="text", doc="who wrote it", default=""),
    "version": FieldSpec(kind="text", doc="of the role", default=""),
}
_PROMPT_FIELD = FieldSpec(kind="text", doc="what the model is told first", needed=True)
INITRUNNER_FIELDS: FieldTable = {
    "apiVersion": FieldSpec(kind="text", doc="of the form", needed=True, choices=(API_VERSION,)),
    "kind": FieldSpec(kind="text", doc="of the file", needed=True, choices=("Agent",)),
    "metadata": FieldSpec(kind="map", doc="about the role", keys=_METADATA_FIELDS, needed=True, default=EMPTY),
    "spec": FieldSpec(
        kind="map", doc="the role", keys={"role": _PROMPT_FIELD, **_COMMON_FIELDS}, needed=True, default=EMPTY
    ),
}
FLAT_FIELDS: FieldTable = {**_METADATA_FIELDS, "prompt": _PROMPT_FIELD, **_COMMON_FIELDS}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a role's file, both forms."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A role of Prowess",
        "oneOf": [fields_schema(INITRUNNER_FIELDS), fields_schema(FLAT_FIELDS)],
    }


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def load_role(path: str | os.PathLike[str]) -> tuple[Role | None, tuple[Finding, ...]]:
    """Read a role.

    Args:
        path: of its file.

    Returns:
        The role, None where it cannot be read, and all that is wrong with it: where anything is, it must not run.
    """
    file = os.path.abspath(os.fspath(path))
    report = FindingCollector(file, ROLE_INVALID)
    try:
        data = read_file(file, MAX_BYTES, follow=True)
    except UnreadableError as error:
        report.add(error.message, hint=error.hint)
        return None, tuple(report.findings)
    form = read_yaml_mapping(data, report)
    if form is None:
        return None, tuple(report.findings)
    flat = form.get("apiVersion") is None and form.get("spec") is None and form.get("kind") is None
    table = FLAT_FIELDS if flat else INITRUNNER_FIELDS
    values = read_fields(form, table, {"model": _read_model, "tools": read_tools})
    about, said = (values, values) if flat else (values["metadata"] or {}, values["spec"] or {})
    role = Role(
        path=file,
        name=about.get("name") or "",
        description=about.get("description") or "",
        prompt=said.get("prompt" if flat else "role") or "",
        model=said.get("model") or ModelConfig(),
        skills=tuple(said.get("skills") or ()),
        skill_lines=_item_lines(form if flat else form.get("spec"), "skills"),
        auto_skills_enabled=(said.get("auto_skills") or {}).get("enabled", True),
        max_skills=(said.get("auto_skills") or {}).get("max_skills", 50),
        tools=tuple(said.get("tools") or ()),
        guardrails=Guardrails(**(said.get("guardrails") or {})),
        security=Security(**(said.get("security") or {})),
    )
    return role, tuple(report.findings)


def _item_lines(form: MappingReader | Node | None, name: str) -> tuple[int | None, ...]:
    """Return where each text of a list stands; what is wrong with it was told before."""
    top = form.node if isinstance(form, MappingReader) else form
    if top is None or top.kind != "map":
        return ()
    nodes = (item for key, item in zip(top.keys, top.items, strict=True) if key.text == name and item.kind == "list")
    return tuple(item.line for node in nodes for item in node.items if item.kind not in ("list", "map"))


def _read_model(form: MappingReader, name: str) -> ModelConfig | None:
    """Read a model: a map, or `provider:name`."""
    node = form.get(name)
    if node is None:
        return None
    if node.kind == "map":
        inner = form.get_mapping(name)
        return None if inner is None else ModelConfig(**read_fields(inner, MODEL_FIELDS))
    text = form.get_text(name)
    if text is not None and not text.strip():
        form.report.add(f"{quoted(form.key_path(name))} is empty", node, "write it as `provider:name`")
        return None
    return None if text is None else parse_model(text)


def parse_model(text: str) -> ModelConfig:
    """Return the model that one text means: `provider:name`, `openai:NAME@URL`; without a provider it is `openai`."""
    provider, colon, name = text.partition(":")
    if not colon:
        provider, name = "openai", text
    name, at, url = name.partition("@http")
    return ModelConfig(provider=provider, name=name, base_url=f"http{url}" if at else None)


def read_tools(form: MappingReader, name: str) -> tuple[ToolConfig, ...]:
    """Read a list of tools' configurations, a role's or a skill's; those that are wrong are left out and reported."""
    found = []
    for inner in map_items(form, name):
        kind = inner.get_text("type", required=True)
        if kind is None:
            continue
        if kind not in TOOL_FIELDS:
            near = nearest_names(kind, TOOL_FIELDS)
            hint = f"did you mean {quoted(near[0])}?" if near else f"the types are {', '.join(TOOL_FIELDS)}"
            inner.report.add(f"there is no tool of the type {quoted(kind)}", inner.get("type"), hint)
            continue
        table = {"type": FieldSpec(kind="text", doc="", needed=True), **TOOL_FIELDS[kind]}
        before = len(inner.report.findings)
        options = {key: value for key, value in read_fields(inner, table).items() if key != "type"}
        # One that is wrong is not made: what it needs may be missing.
        if len(inner.report.findings) > before or inner.report.is_full:
            continue
        found.append(ToolConfig(kind=kind, options=options, where=inner.prefix, line=inner.node.line))
    return tuple(found)
