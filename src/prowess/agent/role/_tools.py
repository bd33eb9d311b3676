"""The entries of `tools:` in a role or a skill: the keys of each type, and what is read from them.

Types and keys are InitRunner's.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, quoted
from prowess.skill import MappingReader, Node

from ._initrunner import UNUSED_TOOLS, instead_of_tool
from ._schema import FieldSpec, field_schema, list_items, read_fields, schema as fields_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.skill import FindingCollector

    from ._schema import FieldTable

_TIMEOUT_FIELD = FieldSpec("number", "time limit of one call, in seconds", default=30.0, maximum=3600)
_OUTPUT_FIELD = FieldSpec(
    "integer", "the most bytes of output that one call returns", default=100_000, minimum=1, maximum=10_000_000
)
_CONFIRMATION_DOC = "whether the user must confirm each call"

DEFAULT_BLOCKED = (
    *("rm", "mkfs", "dd", "fdisk", "parted", "mount", "umount", "shutdown", "reboot", "halt", "poweroff"),
    *("chmod", "chown", "passwd", "useradd", "userdel", "sudo", "su"),
)
"""InitRunner's: its roles rely on them where a call needs no confirmation."""
_DOMAIN_FIELDS: FieldTable = {
    "allowed_domains": FieldSpec("texts", "allowed domains, with their subdomains; empty allows all", default=()),
    "blocked_domains": FieldSpec("texts", "blocked domains, with their subdomains", default=()),
}
_OWN_FIELDS: Mapping[str, FieldTable] = {
    "filesystem": {
        "root_path": FieldSpec("text", "the folder that the tools may use, relative to the role's folder", default="."),
        "read_only": FieldSpec("truth", "whether the tools only read", default=True),
        "allowed_extensions": FieldSpec(
            "texts", "allowed file extensions, such as `.md`; empty allows all", default=()
        ),
        "max_bytes": FieldSpec("integer", "the most bytes of a file to read or write", default=1_000_000, minimum=1),
        "require_confirmation": FieldSpec("truth", "whether the user must confirm each write", default=False),
    },
    "git": {
        "repo_path": FieldSpec("text", "the repository's folder, relative to the role's folder", default="."),
        "read_only": FieldSpec("truth", "whether the tools only read", default=True),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_output_bytes": _OUTPUT_FIELD,
    },
    "shell": {
        "allowed_commands": FieldSpec("texts", "allowed programs; empty allows all", default=()),
        "blocked_commands": FieldSpec(
            "texts",
            "blocked programs; of the default, not those in `allowed_commands`; an empty list blocks none",
            default=DEFAULT_BLOCKED,
        ),
        "require_confirmation": FieldSpec("truth", _CONFIRMATION_DOC, default=True),
        "timeout_seconds": _TIMEOUT_FIELD,
        "working_dir": FieldSpec("text", "the working directory, relative to the role's folder", default="."),
        "max_output_bytes": _OUTPUT_FIELD,
        "network": FieldSpec(
            "truth", "whether the programs reach the hosts that the role allows, through a proxy", default=False
        ),
        **_DOMAIN_FIELDS,
    },
    "http": {
        "base_url": FieldSpec("text", "the URL that all requests stay below: `https://HOST/PATH`", needed=True),
        "allowed_methods": FieldSpec(
            "texts",
            "allowed methods",
            default=("GET",),
            choices=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
        ),
        "headers": FieldSpec(
            "text-map", "headers of each request; `${NAME}` inserts an environment variable", default={}
        ),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_bytes": FieldSpec("integer", "the most bytes of a response to read", default=1_000_000, minimum=1),
        "allow_private": FieldSpec(
            "truth", "whether addresses of this machine and its network are allowed", default=False
        ),
    },
    "web_reader": {
        **_DOMAIN_FIELDS,
        "user_agent": FieldSpec("text", unused="requests name Prowess"),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_content_bytes": FieldSpec("integer", "the most bytes of a page to read", default=1_000_000, minimum=1),
        "allow_private": FieldSpec(
            "truth", "whether addresses of this machine and its network are allowed", default=False
        ),
    },
    "mcp": {
        "transport": FieldSpec(
            "text", "how to connect to the server", default="stdio", choices=("stdio", "sse", "streamable-http")
        ),
        "command": FieldSpec("text", "the server's program, for `stdio`"),
        "args": FieldSpec("texts", "the program's arguments", default=()),
        "env": FieldSpec(
            "text-map", "the program's environment variables; `${NAME}` inserts one of the user's", default={}
        ),
        "cwd": FieldSpec("text", "the program's working directory, relative to the role's folder"),
        "network": FieldSpec(
            "truth",
            "whether a skill's program reaches the hosts that the role allows, through a proxy; the role's own can",
            default=False,
        ),
        "url": FieldSpec("text", "the server's URL, for `sse` and `streamable-http`"),
        "headers": FieldSpec(
            "text-map", "headers of each request; `${NAME}` inserts an environment variable", default={}
        ),
        "tool_filter": FieldSpec("texts", "the server's tools to offer; empty offers all", default=()),
        "tool_exclude": FieldSpec("texts", "the server's tools to leave out", default=()),
        "tool_prefix": FieldSpec("text", "a prefix for the names of the server's tools, joined with `_`"),
        "timeout_seconds": _TIMEOUT_FIELD,
        "require_confirmation": FieldSpec("truth", _CONFIRMATION_DOC, default=False),
        "max_retries": FieldSpec("integer", unused="the model sees the error, and may call again"),
        "defer": FieldSpec("truth", unused="the model gets every tool at once"),
    },
    "python": {
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_output_bytes": _OUTPUT_FIELD,
        "working_dir": FieldSpec("text", "the folder that the code can read, relative to the role's folder"),
        "network": FieldSpec(
            "truth", "whether the code reaches the hosts that the role allows, through a proxy", default=False
        ),
        "network_disabled": FieldSpec(
            "truth", "InitRunner's name: `true` is no network, whatever `network` says; `false` is the network"
        ),
        **_DOMAIN_FIELDS,
        "require_confirmation": FieldSpec("truth", _CONFIRMATION_DOC, default=True),
    },
    "script": {
        "scripts": FieldSpec(
            "maps",
            "the scripts; each becomes a tool",
            needed=True,
            default=(),
            keys={
                "name": FieldSpec("text", "the tool's name", needed=True),
                "description": FieldSpec("text", "what the tool does, for the model", default=""),
                "path": FieldSpec("text", "the script's file, relative to the skill's or the role's folder"),
                "body": FieldSpec("text", "the script's text, instead of `path`"),
                "interpreter": FieldSpec("text", "the program that runs the script; by default its first line decides"),
                "parameters": FieldSpec(
                    "maps",
                    "the tool's arguments; the script gets each as an environment variable in capitals",
                    default=(),
                    keys={
                        "name": FieldSpec("text", "the argument's name", needed=True),
                        "description": FieldSpec("text", "what the argument means, for the model", default=""),
                        "required": FieldSpec("truth", "whether the model must give it", default=False),
                        "default": FieldSpec("text", "the value if the model leaves it out", default=""),
                    },
                ),
                "timeout_seconds": FieldSpec("number", "the script's time limit, in seconds", maximum=3600),
                "allowed_commands": FieldSpec(
                    "texts", "the commands that lines of `body` may begin with; empty allows all", default=()
                ),
            },
        ),
        "interpreter": FieldSpec("text", "the program that runs scripts without their own `interpreter`"),
        "working_dir": FieldSpec(
            "text", "the working directory, relative to the role's folder; by default the skill's or the role's folder"
        ),
        "timeout_seconds": _TIMEOUT_FIELD,
        "max_output_bytes": _OUTPUT_FIELD,
        "network": FieldSpec(
            "truth", "whether the scripts reach the hosts that the role allows, through a proxy", default=False
        ),
        **_DOMAIN_FIELDS,
        "require_confirmation": FieldSpec("truth", _CONFIRMATION_DOC, default=False),
    },
}

SHARED_FIELDS: FieldTable = {
    "permissions": FieldSpec(
        "map",
        "which calls are allowed, by their arguments",
        keys={
            "default": FieldSpec(
                "text", "what happens to a call that no pattern matches", default="allow", choices=("allow", "deny")
            ),
            "allow": FieldSpec("texts", "patterns, `ARGUMENT=PATTERN` or `PATTERN`; `*` is any text", default=()),
            "deny": FieldSpec("texts", "patterns of refused calls; they count before `allow`", default=()),
        },
    ),
    "approval": FieldSpec(
        "text", "`required` and `judged`: the user must confirm each call", choices=("auto", "required", "judged")
    ),
}
"""Keys of every type."""
TOOL_FIELDS: Mapping[str, FieldTable] = {kind: {**table, **SHARED_FIELDS} for kind, table in _OWN_FIELDS.items()}


class ToolConfig(Frozen):
    """One entry of `tools:` in a role or a skill."""

    kind: str
    """Its type, such as `shell`."""
    options: Mapping[str, Any]
    """All keys of `TOOL_FIELDS` for the type, with defaults filled in."""
    where: str
    """Its path inside the file, such as `spec.tools[0]`."""
    line: int | None = None
    unused: tuple[tuple[str, str], ...] = ()
    """What of it is read and not used, or all of it: the path inside the file, and what to use instead."""

    def notes(self, skill: str) -> tuple[str, ...]:
        """Return a note for the user on each part that is not used; for the tool of a skill."""
        return tuple(f"{quoted(skill)}: {quoted(key)} is not run; use instead: {text}" for key, text in self.unused)

    @property
    def key(self) -> str:
        """The type and options as one text: equal keys are the same tool."""
        return json.dumps([self.kind, self.options], sort_keys=True, default=list)

    @property
    def is_known(self) -> bool:
        """Whether Prowess has tools of this type."""
        return self.kind in TOOL_FIELDS

    @property
    def needs_approval(self) -> bool:
        """Whether the user must confirm each call, also one that only reads: InitRunner's `approval`."""
        return self.options.get("approval") in ("required", "judged")

    @property
    def needs_trust(self) -> bool:
        """Whether a skill beside the role needs its user's trust for it.

        Its tools start a program that the configuration, the model or the skill chooses, or send values of variables
        (`${NAME}`), which may be the user's keys.
        """
        return self.kind in ("shell", "python") or self.runs_files or "${" in self.key

    @property
    def runs_files(self) -> bool:
        """Whether its tools run files of the skill that declares them."""
        if self.kind == "shell":  # a program that is named by its path
            return any("/" in name for name in self.options["allowed_commands"])
        return self.kind == "script" or (self.kind == "mcp" and self.options["transport"] == "stdio")


def read_role_tools(mapping: MappingReader, name: str) -> tuple[ToolConfig, ...]:
    """Read `tools:` of a role; types that Prowess does not have are remembered as unused, and left out."""
    return tuple(tool for tool in read_tools(mapping, name) if tool.is_known)


def read_tools(mapping: MappingReader, name: str) -> tuple[ToolConfig, ...]:
    """Read `tools:` of a role or a skill; invalid entries are reported and left out.

    An entry is a map with `type`, a type alone, or a map from a type to its configuration.
    """
    tools = []
    for index, item in enumerate(list_items(mapping, name)):
        if item.kind not in ("map", "text") or (item.kind == "text" and not item.text):
            mapping.report_wrong_type(f"{name}[{index}]", item, "the type of a tool, or a map")
            continue
        config = _read_entry(item, f"{mapping.key_path(name)}[{index}]", mapping.report)
        if config is not None:
            tools.append(config)
    return tuple(tools)


def _read_entry(item: Node, where: str, report: FindingCollector) -> ToolConfig | None:
    """Read one entry; if it is invalid, report it and return `None`."""
    short = _short_form(item)
    if short is not None:
        kind_node, options = short
        inner = MappingReader(options, report, where if options.line is None else f"{where}.{kind_node.text}")
        kind: str | None = kind_node.text
    else:
        inner = MappingReader(item, report, where)
        kind, kind_node = inner.get_text("type", required=True), inner.get("type") or item
        if kind is not None and kind_node.kind != "text":
            inner.report_wrong_type("type", kind_node, "the type of a tool")
            return None
    if kind is None:
        return None
    before, unused = len(report.findings), len(report.unused)
    if kind in TOOL_FIELDS:
        values = read_fields(inner, _type_field(short is None) | dict(TOOL_FIELDS[kind]))
    else:
        values = {}
        _read_unknown(inner, kind, kind_node, where, short is None)
    # An invalid entry may lack required keys.
    if len(report.findings) > before or report.is_full:
        return None
    values.pop("type", None)
    if kind == "shell" and inner.get("blocked_commands") is None:
        blocked = (name for name in DEFAULT_BLOCKED if name not in values["allowed_commands"])
        values["blocked_commands"] = tuple(blocked)
    not_used = tuple((key, instead) for key, _, instead in report.unused[unused:])
    config = ToolConfig(kind=kind, options=values, where=where, line=item.line, unused=not_used)
    if config.needs_approval and "require_confirmation" in values:
        return config.with_changes(options=values | {"require_confirmation": True})
    return config


def _short_form(item: Node) -> tuple[Node, Node] | None:
    """Return the type and the options of an entry without `type`, as newer roles of InitRunner have it."""
    if item.kind == "text":
        return item, _EMPTY_MAP
    if item.kind == "map" and len(item.keys) == 1 and item.keys[0].text != "type":
        options = item.items[0]
        if options.kind in ("map", "null"):
            return item.keys[0], options if options.kind == "map" else _EMPTY_MAP
    return None


def _read_unknown(inner: MappingReader, kind: str, kind_node: Node, where: str, has_type: bool) -> None:
    """Check an entry of a type that Prowess does not have, and remember it as unused; report what is misspelt."""
    known = UNUSED_TOOLS.get(kind)
    near = did_you_mean(kind, (*TOOL_FIELDS, *UNUSED_TOOLS), "") if known is None else ""
    if near or not kind.strip():
        hint = near or f"the types are {', '.join(TOOL_FIELDS)}"
        inner.report.add(f"unknown tool type {quoted(kind)}", kind_node, hint)
        return
    if known is not None:
        read_fields(inner, _type_field(has_type) | dict(known.keys), is_open=True)
    inner.report.unused.append((f"{where} ({kind})", kind_node, instead_of_tool(kind)))


def _type_field(has_type: bool) -> dict[str, FieldSpec]:
    return {"type": FieldSpec("text", needed=True)} if has_type else {}


_EMPTY_MAP = Node(kind="map")


def tools_schema() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON Schema of `tools:`, and the definitions that it refers to: the options of each type.

    A misspelt type, such as `filesytem`, is an error that it does not see.
    """
    shared = {
        name: field.with_changes(schema={"$ref": f"#/$defs/{name}"}, doc="") for name, field in SHARED_FIELDS.items()
    }
    tables = {kind: fields_schema({**table, **shared}) for kind, table in TOOL_FIELDS.items()}
    tables |= {kind: fields_schema(field.keys, is_open=True) for kind, field in UNUSED_TOOLS.items()}
    definitions = {
        f"tool.{kind}": table | {"properties": {"type": True, **table["properties"]}} for kind, table in tables.items()
    }
    definitions |= {name: field_schema(field) for name, field in SHARED_FIELDS.items()}
    options = {kind: {"$ref": f"#/$defs/tool.{kind}"} for kind in tables}
    with_type = [
        {"properties": {"type": {"const": kind}}, "required": ["type"], "allOf": [ref]} for kind, ref in options.items()
    ]
    short = {}
    for kind, table in tables.items():
        own = {"allOf": [options[kind]], **({} if kind in UNUSED_TOOLS else {"properties": {"type": False}})}
        short[kind] = own if "required" in table else {"anyOf": [own, {"type": "null"}]}
    one_key = {"type": "object", "minProperties": 1, "maxProperties": 1}
    needs_options = [kind for kind, table in tables.items() if "required" in table]
    unknown = {"type": "string", "pattern": r"\S", "not": {"enum": [*tables]}}
    others = [
        one_key | {"properties": short, "additionalProperties": False},
        {"type": "string", "pattern": r"\S", "not": {"enum": needs_options}},
        {"type": "object", "properties": {"type": unknown}, "required": ["type"]},
        {
            **one_key,
            "propertyNames": {"allOf": [unknown, {"not": {"const": "type"}}]},
            "additionalProperties": {"type": ["object", "null"]},
        },
    ]
    return {"type": ["array", "null"], "items": {"oneOf": [*others, *with_type]}}, definitions
