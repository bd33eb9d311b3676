"""Read the keys of a file by a table of `FieldSpec`s, and make a JSON Schema from the same table.

Because both use one table, a file that the schema accepts is a file that `read_fields` accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import did_you_mean, quoted
from prowess.skill import MappingReader, Node


class FieldSpec(Frozen, kw_only=False):
    """The specification of one key."""

    kind: str
    """`text`, `texts`, `truth`, `integer`, `number`, `text-map`, `map`, `maps` (a list of maps), `typed-maps` (a list
    of maps whose `type` decides their keys), `any`, or the name of a custom reader that `read_fields` gets; or
    `refused`: a key that another program reads and that Prowess would not keep to."""
    doc: str = ""
    """What the key means, for the docs and the schema; of a key that is refused or not used, why."""
    default: Any = None
    """The value if the key is missing or invalid."""
    hint: str = ""
    """Of a `refused` key, and of a value that is not one of `choices`: what to do instead."""
    unused: str = ""
    """Of a key that is checked and then not used: what to use instead."""
    needed: bool = False
    minimum: float = 0
    """The smallest integer; a `number` must be greater than it, unless `inclusive`."""
    inclusive: bool = False
    """Whether a `number` may equal `minimum`."""
    maximum: float = 10**9
    choices: tuple[str, ...] = ()
    """The allowed texts; empty allows any."""
    keys: Mapping[str, FieldSpec] = EMPTY
    """The keys of a `map`, and of each of `maps`."""
    is_open: bool = False
    """Whether a `map` or each of `maps` may have other keys too, of any type."""
    variants: Mapping[str, Mapping[str, FieldSpec]] = EMPTY
    """Of `typed-maps`: the keys for each `type`; any other type may have any keys."""
    schema: Mapping[str, Any] = EMPTY
    """The JSON Schema of a kind with a custom reader."""


FieldTable = Mapping[str, FieldSpec]
FieldReaders = Mapping[str, Callable[[MappingReader, str], Any]]


def read_fields(
    mapping: MappingReader, table: FieldTable, readers: FieldReaders = EMPTY, *, is_open: bool = False
) -> dict[str, Any]:
    """Return the values of a map; invalid ones are reported to `mapping.report` and replaced by their defaults.

    Keys that are refused or not used have no value in the result; the latter are added to `mapping.report.unused`.

    Args:
        mapping: the map.
        table: its keys.
        readers: custom readers by kind: each gets the map and the key's name, and returns the value.
        is_open: whether other keys are accepted.
    """
    own = {name: field for name, field in table.items() if field.kind != "refused" and not field.unused}
    if not is_open:
        mapping.allow_only(*own, also=table)
    for name, field in table.items():
        if name not in own and mapping.get(name) is not None:
            _report_without_effect(mapping, name, field, readers)
    return {name: _read_field(mapping, name, field, readers) for name, field in own.items()}


def _report_without_effect(mapping: MappingReader, name: str, field: FieldSpec, readers: FieldReaders) -> None:
    """Report a key that is refused, or check and remember one that is not used."""
    if field.kind == "refused":
        message = f"{quoted(mapping.key_path(name))} is not supported: {field.doc}"
        mapping.report.add(message, mapping.get(name), field.hint)
        return
    _read_field(mapping, name, field, readers)
    mapping.add_unused(name, field.unused)


def _read_field(mapping: MappingReader, name: str, field: FieldSpec, readers: FieldReaders) -> Any:
    node = mapping.get(name, required=field.needed)
    if node is None:
        return dict(field.default) if isinstance(field.default, Mapping) else field.default
    if field.kind in readers:
        return readers[field.kind](mapping, name)
    value = _KIND_READERS[field.kind](mapping, name, field, readers)
    return field.default if value is None else value


def _text(mapping: MappingReader, name: str, field: FieldSpec, _readers: FieldReaders) -> str | None:
    text = mapping.get_text(name)
    if text is not None and field.needed and not text.strip():
        mapping.report.add(f"{quoted(mapping.key_path(name))} is empty", mapping.get(name), "give it a value")
        return None
    if text is not None and field.choices and text not in field.choices:
        message = f"invalid value {quoted(text)} of {quoted(mapping.key_path(name))}"
        mapping.report.add(message, mapping.get(name), field.hint or _choices_hint(text, field.choices))
        return None
    return text


def _texts(mapping: MappingReader, name: str, field: FieldSpec, _readers: FieldReaders) -> tuple[str, ...]:
    texts = mapping.get_texts(name)
    for text in texts:
        if field.choices and text not in field.choices:
            message = f"invalid value {quoted(text)} in {quoted(mapping.key_path(name))}"
            mapping.report.add(message, mapping.get(name), field.hint or _choices_hint(text, field.choices))
    return texts


def _choices_hint(text: str, choices: Sequence[str]) -> str:
    return did_you_mean(text, choices, f"use one of {', '.join(choices)}")


def _integer(mapping: MappingReader, name: str, field: FieldSpec, _readers: FieldReaders) -> int | None:
    return mapping.get_integer(name, int(field.minimum), int(field.maximum))


def _number(mapping: MappingReader, name: str, field: FieldSpec, _readers: FieldReaders) -> float | None:
    return mapping.get_number(name, minimum=field.minimum, maximum=field.maximum, inclusive=field.inclusive)


def _map(mapping: MappingReader, name: str, field: FieldSpec, readers: FieldReaders) -> dict[str, Any] | None:
    inner = mapping.get_mapping(name)
    return None if inner is None else read_fields(inner, field.keys, readers, is_open=field.is_open)


def _maps(mapping: MappingReader, name: str, field: FieldSpec, readers: FieldReaders) -> tuple[dict[str, Any], ...]:
    return tuple(read_fields(inner, field.keys, readers, is_open=field.is_open) for inner in map_items(mapping, name))


def _typed_maps(mapping: MappingReader, name: str, field: FieldSpec, readers: FieldReaders) -> tuple[str, ...]:
    """Check each map by its type; return the types."""
    types = []
    for inner in map_items(mapping, name):
        kind = inner.get_text("type", required=True)
        if kind is not None:
            read_fields(inner, field.variants.get(kind, EMPTY), readers, is_open=True)
            types.append(kind)
    return tuple(types)


def map_items(mapping: MappingReader, name: str) -> list[MappingReader]:
    """Return the maps of a list, and report every other item."""
    maps = []
    for index, item in enumerate(list_items(mapping, name)):
        if item.kind == "map":
            maps.append(MappingReader(item, mapping.report, f"{mapping.key_path(name)}[{index}]"))
        else:
            mapping.report_wrong_type(f"{name}[{index}]", item, "a map")
    return maps


def list_items(mapping: MappingReader, name: str) -> tuple[Node, ...]:
    """Return the items of a list; report any other value."""
    node = mapping.get(name)
    if node is not None and node.kind != "list":
        mapping.report_wrong_type(name, node, "a list", f"write each item below `{name}:`, after a dash")
    return node.items if node is not None and node.kind == "list" else ()


_KIND_READERS: Mapping[str, Callable[[MappingReader, str, FieldSpec, FieldReaders], Any]] = {
    "text": _text,
    "texts": _texts,
    "truth": lambda mapping, name, _field, _readers: mapping.get_bool(name),
    "integer": _integer,
    "number": _number,
    "text-map": lambda mapping, name, _field, _readers: mapping.get_text_map(name),
    "map": _map,
    "maps": _maps,
    "typed-maps": _typed_maps,
    "any": lambda mapping, name, _field, _readers: mapping.get(name),
}

_SCALAR_TYPES = ("string", "number", "boolean")
"""The JSON types of a `text`: what we read as text may be a number or a boolean to other YAML readers."""
_JSON_TYPES: Mapping[str, tuple[str, ...]] = {
    "text": _SCALAR_TYPES,
    "texts": ("array",),
    "truth": ("boolean",),
    "integer": ("integer",),
    "number": ("number",),
    "text-map": ("object",),
    "map": ("object",),
    "maps": ("array",),
    "typed-maps": ("array",),
}


def schema(table: FieldTable, *, is_open: bool = False) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) for a map.

    Args:
        table: its keys.
        is_open: whether other keys are accepted.
    """
    result: dict[str, Any] = {
        "type": "object",
        "properties": {name: field_schema(field) for name, field in table.items()},
        **({} if is_open else {"additionalProperties": False}),
    }
    if needed := [name for name, field in table.items() if field.needed]:
        result["required"] = needed
    return result


def field_schema(field: FieldSpec) -> dict[str, Any]:
    """Return the JSON Schema for the value of a key."""
    if field.kind == "refused":
        return {"description": f"refused: {field.doc}", "type": "null"}
    text = f"read, not used: {field.unused}" if field.unused else field.doc
    result: dict[str, Any] = {"description": text} if text else {}
    if field.kind == "any":
        return result
    if field.schema:
        return result | dict(field.schema)
    # A key without a value counts as missing.
    types = [*_JSON_TYPES[field.kind], *(() if field.needed else ("null",))]
    result |= {"type": types[0] if len(types) == 1 else types}
    if field.kind == "map":
        return {**schema(field.keys, is_open=field.is_open), **result}
    if field.kind == "maps":
        return result | {"items": schema(field.keys, is_open=field.is_open)}
    if field.kind == "typed-maps":
        return result | {"items": _typed_schema(field.variants)}
    if field.kind in ("integer", "number"):
        exclusive = field.kind == "number" and not field.inclusive
        result |= {"exclusiveMinimum" if exclusive else "minimum": field.minimum, "maximum": field.maximum}
    if field.kind == "text" and field.choices:
        result["enum"] = [*field.choices, *(() if field.needed else (None,))]
    elif field.kind == "text" and field.needed:
        result["pattern"] = r"\S"
    elif field.kind == "texts":
        result["items"] = {"enum": [*field.choices]} if field.choices else {"type": [*_SCALAR_TYPES]}
    elif field.kind == "text-map":
        result["additionalProperties"] = {"type": [*_SCALAR_TYPES]}
    if field.default is not None and field.default != ():
        result["default"] = [*field.default] if isinstance(field.default, tuple) else field.default
    return result


def _typed_schema(variants: Mapping[str, FieldTable]) -> dict[str, Any]:
    """Return the JSON Schema of a map whose `type` decides its keys."""
    return {
        "type": "object",
        "properties": {"type": {"type": [*_SCALAR_TYPES]}},
        "required": ["type"],
        "allOf": [
            {"if": {"properties": {"type": {"const": kind}}}, "then": schema(table, is_open=True)}
            for kind, table in variants.items()
        ],
    }
