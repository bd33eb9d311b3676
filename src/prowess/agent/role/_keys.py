"""The keys of a role's file, in both forms, from `keys.toml`; and the JSON Schema that follows from them."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY
from prowess.guard import KINDS

from ._initrunner import UNUSED_TOOLS, table as initrunner_table
from ._schema import FieldSpec, field_schema, schema as fields_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._schema import FieldTable

API_VERSION = "initrunner/v1"
_EMPTY_VALUES: Mapping[str, Any] = {"texts": (), "text-map": {}, "maps": (), "tools": ()}
"""The values of kinds that a missing key has, unless the table says another one."""
_INITRUNNER_PARTS = ("metadata", "spec", "model", "guardrails", "security")
"""Tables to which `initrunner.toml` adds keys."""

with open(os.path.join(os.path.dirname(__file__), "keys.toml"), "rb") as _file:
    _DATA: Mapping[str, Any] = tomllib.load(_file)


def _table(name: str) -> dict[str, FieldSpec]:
    """Return the keys of a table, with those that InitRunner has in its place."""
    more = initrunner_table(name) if name in _INITRUNNER_PARTS else {}
    return {**_fields(_DATA[name]), **more}


def _fields(rows: Mapping[str, Any]) -> dict[str, FieldSpec]:
    return {name: _field(_DATA["shared"][name] if row == "shared" else row) for name, row in rows.items()}


def _field(row: Mapping[str, Any]) -> FieldSpec:
    values: dict[str, Any] = {"default": _EMPTY_VALUES.get(row["kind"])}
    values |= {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    if "keys" in row:
        values["keys"] = _table(row["keys"])
    if row.get("choices") == "protected":
        values["choices"] = tuple(KINDS)
    return FieldSpec(**values)


MODEL_FIELDS: FieldTable = _table("model")
GUARDRAIL_FIELDS: FieldTable = _table("guardrails")
SHARED_TOOL_FIELDS: FieldTable = _table("every_tool")
TOOL_FIELDS: Mapping[str, FieldTable] = {
    kind: {**_fields(rows), **SHARED_TOOL_FIELDS} for kind, rows in _DATA["tools"].items()
}
_METADATA_FIELDS: FieldTable = _table("metadata")
_MODEL_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": r"\S", "description": "`provider:name` or `openai:NAME@URL`"},
        fields_schema(MODEL_FIELDS),
        {"type": "null"},
    ]
}
_COMMON_FIELDS = _table("spec")
for _name, _schema in (
    ("model", _MODEL_SCHEMA),
    ("guardrails", fields_schema(GUARDRAIL_FIELDS) | {"type": ["object", "null"]}),
):
    _COMMON_FIELDS[_name] = _COMMON_FIELDS[_name].with_changes(schema=_schema)
_PROMPT_FIELD = FieldSpec("text", "the system prompt", needed=True)
INITRUNNER_FIELDS: FieldTable = {
    "apiVersion": FieldSpec("text", "the version of the format", needed=True, choices=(API_VERSION,)),
    "kind": FieldSpec("text", "the kind of file", needed=True, choices=("Agent",)),
    "metadata": FieldSpec("map", "information about the role", keys=_METADATA_FIELDS, needed=True, default=EMPTY),
    "spec": FieldSpec("map", "the role", keys={"role": _PROMPT_FIELD, **_COMMON_FIELDS}, needed=True, default=EMPTY),
}
FLAT_FIELDS: FieldTable = {**_METADATA_FIELDS, "prompt": _PROMPT_FIELD, **_COMMON_FIELDS, **initrunner_table("flat")}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a role's file, with both forms; what they share is in `$defs`."""
    tools, definitions = _tools_schema()
    shared = {**_METADATA_FIELDS, **_COMMON_FIELDS, "tools": _COMMON_FIELDS["tools"].with_changes(schema=tools)}
    definitions |= {name: field_schema(field) for name, field in shared.items()}
    refs = {
        name: field.with_changes(schema={"$ref": f"#/$defs/{name}"}, doc="", unused="")
        for name, field in shared.items()
    }
    metadata = {name: refs[name] for name in _METADATA_FIELDS}
    spec = {"role": _PROMPT_FIELD, **{name: refs[name] for name in _COMMON_FIELDS}}
    forms = [
        fields_schema(
            {
                **INITRUNNER_FIELDS,
                "metadata": INITRUNNER_FIELDS["metadata"].with_changes(keys=metadata),
                "spec": INITRUNNER_FIELDS["spec"].with_changes(keys=spec),
            }
        ),
        fields_schema({**FLAT_FIELDS, **refs}),
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A role of Prowess",
        "oneOf": forms,
        "$defs": dict(sorted(definitions.items())),
    }


def _tools_schema() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON Schema of `tools:`, and the definitions that it refers to: the options of each type.

    A misspelt type, such as `filesytem`, is an error that it does not see.
    """
    shared = {
        name: field.with_changes(schema={"$ref": f"#/$defs/{name}"}, doc="")
        for name, field in SHARED_TOOL_FIELDS.items()
    }
    tables = {kind: fields_schema({**table, **shared}) for kind, table in TOOL_FIELDS.items()}
    tables |= {kind: fields_schema(field.keys, is_open=True) for kind, field in UNUSED_TOOLS.items()}
    definitions = {
        f"tool.{kind}": table | {"properties": {"type": True, **table["properties"]}} for kind, table in tables.items()
    }
    definitions |= {name: field_schema(field) for name, field in SHARED_TOOL_FIELDS.items()}
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
