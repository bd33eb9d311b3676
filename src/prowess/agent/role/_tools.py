"""Read the entries of `tools:` in a role or a skill. Their types and keys are InitRunner's; `keys.toml` lists them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, quoted
from prowess.skill import MappingReader, Node

from ._initrunner import UNUSED_TOOLS, instead_of_tool
from ._keys import TOOL_FIELDS
from ._schema import FieldSpec, list_items, read_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.skill import FindingCollector


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
        blocked = (
            name for name in TOOL_FIELDS["shell"]["blocked_commands"].default if name not in values["allowed_commands"]
        )
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
