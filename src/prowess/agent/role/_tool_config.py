"""Read the entries of `tools:` in a role or a skill."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, quoted

from ._schema import FieldSpec, map_items, read_fields
from ._tool_schemas import TOOL_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.skill import MappingReader

__all__ = ["ToolConfig", "read_tools"]


class ToolConfig(Frozen):
    """One entry of `tools:` in a role or a skill."""

    kind: str
    """Its type, such as `shell`."""
    options: Mapping[str, Any]
    """All keys of `TOOL_FIELDS` for the type, with defaults filled in."""
    where: str
    """Its path inside the file, such as `spec.tools[0]`."""
    line: int | None = None

    @property
    def key(self) -> str:
        """The type and options as one text: equal keys are the same tool."""
        return json.dumps([self.kind, self.options], sort_keys=True, default=list)

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


def read_tools(mapping: MappingReader, name: str) -> tuple[ToolConfig, ...]:
    """Read `tools:` of a role or a skill; invalid entries are reported and left out."""
    tools = []
    for inner in map_items(mapping, name):
        kind = inner.get_text("type", required=True)
        if kind is None:
            continue
        if kind not in TOOL_FIELDS:
            hint = did_you_mean(kind, TOOL_FIELDS, f"the types are {', '.join(TOOL_FIELDS)}")
            inner.report.add(f"unknown tool type {quoted(kind)}", inner.get("type"), hint)
            continue
        table = {"type": FieldSpec(kind="text", doc="", needed=True), **TOOL_FIELDS[kind]}
        before = len(inner.report.findings)
        options = {key: value for key, value in read_fields(inner, table).items() if key != "type"}
        # An invalid entry may lack required keys.
        if len(inner.report.findings) > before or inner.report.is_full:
            continue
        tools.append(ToolConfig(kind=kind, options=options, where=inner.prefix, line=inner.node.line))
    return tuple(tools)
