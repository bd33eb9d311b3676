"""Read a role's file, and report everything that is wrong with it.

Two forms mean the same: InitRunner's (`apiVersion`, `kind`, `metadata`, `spec`) and the flat one (`name`, `prompt`,
`model`, ...). Tables say what each key may contain; `schema` publishes them as a JSON Schema.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.errors import ConfigError, RoleError
from prowess.skill import MAX_BYTES, FindingCollector, MappingReader, Node, read_yaml_mapping

from ._initrunner import read_backend, read_capabilities, read_memory, report_other_document
from ._keys import FLAT_FIELDS, GUARDRAIL_FIELDS, INITRUNNER_FIELDS, MODEL_FIELDS
from ._schema import read_fields
from ._tools import ToolConfig, read_role_tools

if TYPE_CHECKING:
    from prowess.findings import Finding

ROLE_INVALID = "role-invalid"
"""The code of every finding about a role."""
_MAX_SHOWN = 50
"""Keys that the warning about what is not run names."""
_SAME_LIMITS = {
    "max_requests": ("max_request_limit",),
    "max_tokens_per_run": ("total_tokens_limit", "run_token_budget"),
}
"""Prowess's name of a limit, and InitRunner's names of the same one."""


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
    input_tokens_limit: int | None = None
    """Tokens of all requests."""
    per_request_input_tokens_limit: int | None = None
    """Tokens of one request."""
    session_token_budget: int | None = None
    """Tokens of a conversation."""


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
    """Kinds of protected files that tools may write; see `prowess.guard.KINDS`."""
    allow_paths: tuple[str, ...] = ()
    """Protected files and folders that tools may write, relative to the role's folder."""
    commands_network: bool = True
    """Whether a tool can open the network to commands; InitRunner's `sandbox.network: none` says that none can."""
    memory: int | None = None
    """Bytes of memory of a command; `None` is the sandbox's own limit. InitRunner's `sandbox.memory_limit`."""


class UnusedKey(Frozen):
    """A key of InitRunner's roles that is read and has no effect."""

    key: str
    """Its path inside the file, such as `spec.triggers`; of a tool with its type."""
    line: int | None
    column: int | None
    instead: str
    """What to use in its place."""

    def as_dict(self) -> dict[str, Any]:
        """Return the key as JSON has it."""
        return {"key": self.key, "line": self.line, "column": self.column, "instead": self.instead}


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
    unused: tuple[UnusedKey, ...] = ()
    """What the file says and Prowess does not run, in the order of the file."""

    @property
    def folder(self) -> str:
        """The file's folder; relative paths start here."""
        return os.path.dirname(self.path)

    @property
    def notes(self) -> tuple[str, ...]:
        """One warning, in several lines, about all that is not run; nothing if there is no such key."""
        if not self.unused:
            return ()
        shown, more = self.unused[:_MAX_SHOWN], len(self.unused) - _MAX_SHOWN
        return (
            "\n".join(
                (
                    f"warning: {neutral(os.path.basename(self.path))} has parts that are not run; use instead:",
                    *(f"  {item.line}:{item.column}: {quoted(item.key)}: {item.instead}" for item in shown),
                    *((f"  and {more} more",) if more > 0 else ()),
                )
            ),
        )


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
    if mapping is None or report_other_document(mapping):
        return None, tuple(report.findings)
    flat = mapping.get("apiVersion") is None and mapping.get("spec") is None and mapping.get("kind") is None
    table = FLAT_FIELDS if flat else INITRUNNER_FIELDS
    values = read_fields(mapping, table, _READERS)
    _check_servers(values if flat else values["spec"] or {}, report)
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
        guardrails=spec.get("guardrails") or Guardrails(),
        security=_make_security(spec.get("security") or {}),
        unused=tuple(
            UnusedKey(key=key, line=node.line, column=node.column, instead=instead)
            for key, node, instead in sorted(report.unused, key=lambda item: (item[1].line, item[1].column))
        ),
    )
    return role, tuple(report.findings)


def _make_security(values: dict[str, Any]) -> Security:
    sandbox = values.pop("sandbox", None) or {}
    return Security(**values, commands_network=sandbox.get("network") != "none", memory=sandbox.get("memory_limit"))


def _check_servers(spec: dict[str, Any], report: FindingCollector) -> None:
    """Report servers that would run outside the sandbox although the role demands one."""
    sandbox = (spec.get("security") or {}).get("sandbox") or {}
    if sandbox.get("backend", "none") == "none":
        return
    for tool in spec.get("tools") or ():
        if tool.kind == "mcp" and tool.options["transport"] == "stdio":
            message = f"{quoted(tool.where)} would run outside the sandbox that `security.sandbox` demands"
            hint = "let a skill declare the server, which then runs in the sandbox, or remove `sandbox`"
            report.add(message, Node(kind="map", line=tool.line, column=1), hint)


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


def _read_guardrails(mapping: MappingReader, name: str) -> Guardrails | None:
    """Read the limits of a run; of several names of one limit, the smallest value counts."""
    inner = mapping.get_mapping(name)
    if inner is None:
        return None
    values = read_fields(inner, GUARDRAIL_FIELDS)
    for own, others in _SAME_LIMITS.items():
        given = [value for other in others if (value := values.pop(other)) is not None]
        if inner.get(own) is not None:  # otherwise it is a default
            given.append(values[own])
        values[own] = min(given, default=values[own])
    return Guardrails(**values)


def _read_model(mapping: MappingReader, name: str) -> ModelConfig | None:
    """Read a model: a map or `provider:name`."""
    node = mapping.get(name)
    if node is None:
        return None
    if node.kind == "map":
        inner = mapping.get_mapping(name)
        if inner is None:
            return None
        values = read_fields(inner, MODEL_FIELDS)
        provider, colon, rest = (values["name"] or "").partition(":")
        if colon and inner.get("provider") is None and values["base_url"] is None:
            values |= {"provider": provider, "name": rest}
        return ModelConfig(**values)
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


_READERS = {
    "model": _read_model,
    "guardrails": _read_guardrails,
    "tools": read_role_tools,
    "capabilities": read_capabilities,
    "backend": read_backend,
    "memory": read_memory,
}
