"""Load the table of InitRunner's keys, `initrunner.toml`, and read those of its values that need more than a type."""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING, Any

from prowess._internal.text import PATH_LIMIT, quoted

from ._schema import FieldSpec, list_items

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.skill import MappingReader, Node

    from ._schema import FieldTable

with open(os.path.join(os.path.dirname(__file__), "initrunner.toml"), "rb") as _file:
    _DATA: Mapping[str, Any] = tomllib.load(_file)
SEVERAL: str = _DATA["several"]
"""What to do with several agents."""
MEMBER_KEYS: Mapping[str, str] = _DATA["members"]
"""The key of the agents in each kind of file that describes several, below `spec`."""
OTHER_KINDS: Mapping[str, str] = _DATA["other_kinds"]
"""Kinds of files that are not agents, and what to do with each."""
_ANY_NUMBER = "-1000000000..1000000000"
_BACKENDS = ("auto", "bwrap", "docker", "none")
_CAPABILITIES = (
    *("Caching", "Citations", "FileUnderstanding", "ImageGeneration", "IncludeToolReturnSchemas", "MCP", "Thinking"),
    *("ToolSearch", "WebFetch", "WebSearch", "XSearch"),
)
"""Capabilities of Pydantic AI that only add something."""
_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "backend": {"enum": [*_BACKENDS, None]},
    "memory": {"type": ["string", "number", "null"], "pattern": "^[0-9]{1,12}[bkmgBKMG]?$"},
    "capabilities": {
        "type": ["array", "null"],
        "items": {
            "anyOf": [
                {"enum": [*_CAPABILITIES]},
                {"type": "object", "propertyNames": {"enum": [*_CAPABILITIES]}, "minProperties": 1, "maxProperties": 1},
            ]
        },
    },
}
"""The JSON Schemas of kinds that the functions below read."""
_MEMORY = re.compile(r"([0-9]{1,12})([bkmg]?)", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_MAX_MEMORY = 2**50
_FILE_KEYS = ("use", "role")
"""Keys of an agent that name its role's file."""
_MAX_NAMED = 10


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def table(part: str) -> FieldTable:
    """Return the keys that InitRunner has in a part of a role."""
    return {name: field for entry in _DATA[part] for name, field in _fields(entry).items()}


def _fields(entry: Mapping[str, Any]) -> FieldTable:
    """Return the keys of one entry: a map, a list of typed maps, or several keys with the same meaning."""
    doc, unused = entry.get("refused") or entry.get("doc", ""), entry.get("unused", "")
    if "table" in entry:
        return {entry["name"]: FieldSpec("map", doc, keys=table(entry["table"]))}
    if "types" in entry:
        variants = {kind: _short_form(words) for kind, words in entry["types"].items()}
        return {entry["name"]: FieldSpec("typed-maps", variants=variants, unused=unused)}
    keys = _short_form(entry["keys"])
    if "name" in entry:
        maps = {name: _open_map(_short_form(words)) for name, words in entry.get("maps", {}).items()}
        return {entry["name"]: _open_map(keys | maps, unused)}
    if "refused" in entry:
        return dict.fromkeys(keys, FieldSpec("refused", doc, hint=entry["hint"]))
    return {name: field.with_changes(doc=doc, unused=unused) for name, field in keys.items()}


def _open_map(keys: dict[str, FieldSpec], unused: str = "") -> FieldSpec:
    return FieldSpec("map", keys=keys, is_open=True, unused=unused)


def _short_form(words: str) -> dict[str, FieldSpec]:
    result = {}
    for word in words.split():
        name, _, kind = word.partition("=")
        result[name.rstrip("!")] = _field(kind or "text", needed=name.endswith("!"))
    return result


def _field(kind: str, *, needed: bool) -> FieldSpec:
    if "|" in kind:
        return FieldSpec("text", choices=tuple(kind.split("|")), needed=needed)
    kind, _, bounds = kind.partition(":")
    if kind not in ("integer", "number"):
        return FieldSpec(kind, needed=needed, is_open=True, schema=_SCHEMAS.get(kind, {}))
    number = int if kind == "integer" else float
    low, high = (number(bound.lstrip(">")) for bound in (bounds or _ANY_NUMBER).split(".."))
    return FieldSpec(kind, minimum=low, maximum=high, inclusive=not bounds.startswith(">"), needed=needed)


UNUSED_TOOLS = table("tools")
"""InitRunner's types of tools that Prowess does not have: their options, and what to use instead."""


def instead_of_tool(kind: str) -> str:
    """Return what to use in place of a type of tool that Prowess does not have."""
    return UNUSED_TOOLS.get(kind, UNUSED_TOOLS["custom"]).unused


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_capabilities(mapping: MappingReader, name: str) -> None:
    """Check `capabilities`: names, or maps from one name to its settings. Others than those listed may be rules."""
    for index, item in enumerate(list_items(mapping, name)):
        where = f"{name}[{index}]"
        if item.kind == "list" or (item.kind == "map" and len(item.keys) != 1):
            mapping.report_wrong_type(where, item, "a name, or a map with one name")
            continue
        word = item.keys[0].text if item.kind == "map" else item.text
        if word not in _CAPABILITIES:
            message = f"the capability {quoted(word)} in {quoted(mapping.key_path(name))} is not supported"
            mapping.report.add(message, item, "it may be a rule for the agent: remove it")


def read_backend(mapping: MappingReader, name: str) -> str | None:
    """Read the name of a sandbox; that of Prowess is used in place of each."""
    text = mapping.get_text(name)
    if text is None:
        return None
    if text not in _BACKENDS:
        message = f"the sandbox {quoted(text)} of {quoted(mapping.key_path(name))} is not supported"
        hint = f"commands would run on this machine: remove it, or use one of {', '.join(_BACKENDS)}"
        mapping.report.add(message, mapping.get(name), hint)
        return None
    if text == "docker":
        mapping.add_unused(name, "commands always run in the sandbox of Prowess")
    return text


def read_memory(mapping: MappingReader, name: str) -> int | None:
    """Read an amount of memory, such as `256m`; return bytes."""
    node, text = mapping.get(name), mapping.get_text(name)
    if node is None or text is None:
        return None
    match = _MEMORY.fullmatch(text)
    if match is None or not 0 < (value := int(match[1]) * _UNITS[match[2].lower()]) <= _MAX_MEMORY:
        mapping.report_wrong_type(name, node, "an amount of memory", "write it as `256m` or `1g`")
        return None
    return value


# ── other files ──────────────────────────────────────────────────────────────────────────────────────────────────────


def report_other_document(mapping: MappingReader) -> bool:
    """Report that a file is not a role, in one finding; return whether it is something else that is known."""
    kind_node, spec = mapping.get("kind"), mapping.get("spec")
    kind = "" if kind_node is None else kind_node.text
    if kind_node is not None and kind in OTHER_KINDS:
        mapping.report.add(f"a file of `kind: {kind}` is not a role", kind_node, OTHER_KINDS[kind])
        return True
    if kind in MEMBER_KEYS:
        members = None if spec is None else _value(spec, MEMBER_KEYS[kind])
    elif kind_node is None and spec is None and mapping.get("prompt") is None:
        members = mapping.get("agents")
    else:
        return False
    if kind_node is None and members is None:
        return False
    names = _members(members)
    # A team and a group of the flat form have no kind.
    what = f"a file of `kind: {kind}`" if kind else "a file with `agents`"
    listed = f": {', '.join(names[:_MAX_NAMED])}" if names else ""
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    mapping.report.add(f"{what} is several agents, and a role is one{listed}{more}", kind_node or members, SEVERAL)
    return True


def _members(node: Node | None) -> list[str]:
    """Return the name of each agent of a file, with the path of its role."""
    if node is None or node.kind != "map":
        return []
    result = []
    for key, item in zip(node.keys, node.items, strict=True):
        files = [value.text for name in _FILE_KEYS if (value := _value(item, name)) is not None and value.text]
        is_file = bool(files) and files[0].endswith((".yaml", ".yml"))
        result.append(quoted(key.text) + (f" ({quoted(files[0], PATH_LIMIT)})" if is_file else ""))
    return result


def _value(node: Node, name: str) -> Node | None:
    """Return the value of a key of a map, without a report."""
    if node.kind != "map":
        return None
    return next((item for key, item in zip(node.keys, node.items, strict=True) if key.text == name), None)
