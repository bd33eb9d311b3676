"""a table of keys -> the values of a file, or all that is wrong with it; and a JSON Schema

What a role and its tools may say stands in tables of `Key`s. The same tables are read by and published, so a file that
the schema takes is one that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import nearest_names, quoted
from prowess.skill import MappingReader

__all__ = ["FieldSpec", "FieldTable", "map_items", "read_fields", "schema"]


class FieldSpec(Frozen):
    """What one key holds."""

    kind: str
    """`text`, `texts`, `truth`, `integer`, `number`, `text-map`, `map`, `maps` (a list of them), or the name of a
    reader of its own, which is given to `read`."""
    doc: str
    """What it means; in the schema too."""
    default: Any = None
    """What it is where it is not there."""
    needed: bool = False
    minimum: float = 0
    """The least a number may be; a `number` must be above it, unless `closed`."""
    inclusive: bool = False
    """Whether a `number` may be `low` itself."""
    maximum: float = 10**9
    choices: tuple[str, ...] = ()
    """The only texts it may be."""
    keys: Mapping[str, FieldSpec] = EMPTY
    """Of a `map`, and of each of `maps`."""
    schema: Mapping[str, Any] = EMPTY
    """Of a kind with a reader of its own."""


FieldTable = Mapping[str, FieldSpec]
FieldReaders = Mapping[str, Callable[[MappingReader, str], Any]]


def read_fields(form: MappingReader, table: FieldTable, readers: FieldReaders = EMPTY) -> dict[str, Any]:
    """Return the values of a map in a file; what is wrong is in the form's report, and then has its default.

    Args:
        form: the map.
        table: its keys.
        readers: of kinds that are none of `Key`'s own: given the form and the key's name, return the value.
    """
    form.allow_only(*table)
    return {name: _value(form, name, key, readers) for name, key in table.items()}


def _value(form: MappingReader, name: str, key: FieldSpec, readers: FieldReaders) -> Any:
    node = form.get(name, required=key.needed)
    if node is None:
        return dict(key.default) if isinstance(key.default, Mapping) else key.default
    if key.kind in readers:
        return readers[key.kind](form, name)
    value = _KIND_READERS[key.kind](form, name, key, readers)
    return key.default if value is None else value


def _text(form: MappingReader, name: str, key: FieldSpec, _readers: FieldReaders) -> str | None:
    text = form.get_text(name)
    if text is not None and key.needed and not text.strip():
        form.report.add(f"{quoted(form.key_path(name))} is empty", form.get(name), "write something")
        return None
    if text is not None and key.choices and text not in key.choices:
        near = nearest_names(text, key.choices)
        words = f"{quoted(form.key_path(name))} is {quoted(text)}, which is none of {', '.join(key.choices)}"
        form.report.add(words, form.get(name), f"did you mean {quoted(near[0])}?" if near else None)
        return None
    return text


def _texts(form: MappingReader, name: str, key: FieldSpec, _readers: FieldReaders) -> tuple[str, ...]:
    texts = form.get_texts(name)
    for text in texts:
        if key.choices and text not in key.choices:
            words = f"{quoted(form.key_path(name))} holds {quoted(text)}, which is none of {', '.join(key.choices)}"
            form.report.add(words, form.get(name))
    return texts


def _integer(form: MappingReader, name: str, key: FieldSpec, _readers: FieldReaders) -> int | None:
    return form.get_integer(name, int(key.minimum), int(key.maximum))


def _number(form: MappingReader, name: str, key: FieldSpec, _readers: FieldReaders) -> float | None:
    return form.get_number(name, above=key.minimum, most=key.maximum, closed=key.inclusive)


def _map(form: MappingReader, name: str, key: FieldSpec, readers: FieldReaders) -> dict[str, Any] | None:
    inner = form.get_mapping(name)
    return None if inner is None else read_fields(inner, key.keys, readers)


def _maps(form: MappingReader, name: str, key: FieldSpec, readers: FieldReaders) -> tuple[dict[str, Any], ...]:
    return tuple(read_fields(inner, key.keys, readers) for inner in map_items(form, name))


def map_items(form: MappingReader, name: str) -> list[MappingReader]:
    """Return the maps of a list; what is none is reported."""
    node = form.get(name)
    if node is None:
        return []
    if node.kind != "list":
        form.report_wrong_type(name, node, "a list", f"write each below `{name}:`, after a dash")
        return []
    found = []
    for at, item in enumerate(node.items):
        if item.kind == "map":
            found.append(MappingReader(item, form.report, f"{form.key_path(name)}[{at}]"))
        else:
            form.report_wrong_type(f"{name}[{at}]", item, "a map")
    return found


_KIND_READERS: Mapping[str, Callable[[MappingReader, str, FieldSpec, FieldReaders], Any]] = {
    "text": _text,
    "texts": _texts,
    "truth": lambda form, name, _key, _readers: form.get_bool(name),
    "integer": _integer,
    "number": _number,
    "text-map": lambda form, name, _key, _readers: form.get_text_map(name),
    "map": _map,
    "maps": _maps,
}

_SCALAR_TYPES = ("string", "number", "boolean")
"""A scalar that is text to us may be something else to YAML."""
_JSON_TYPES: Mapping[str, tuple[str, ...]] = {
    "text": _SCALAR_TYPES,
    "texts": ("array",),
    "truth": ("boolean",),
    "integer": ("integer",),
    "number": ("number",),
    "text-map": ("object",),
    "map": ("object",),
    "maps": ("array",),
}


def schema(table: FieldTable) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a map."""
    made: dict[str, Any] = {
        "type": "object",
        "properties": {name: _field_schema(key) for name, key in table.items()},
        "additionalProperties": False,
    }
    if needed := [name for name, key in table.items() if key.needed]:
        made["required"] = needed
    return made


def _field_schema(key: FieldSpec) -> dict[str, Any]:
    made: dict[str, Any] = {"description": key.doc}
    if key.schema:
        return made | dict(key.schema)
    # A key with nothing behind it is as good as none.
    types = [*_JSON_TYPES[key.kind], *(() if key.needed else ("null",))]
    made |= {"type": types[0] if len(types) == 1 else types}
    if key.kind == "map":
        return {**schema(key.keys), **made}
    if key.kind == "maps":
        return made | {"items": schema(key.keys)}
    if key.kind in ("integer", "number"):
        above = key.kind == "number" and not key.inclusive
        made |= {"exclusiveMinimum" if above else "minimum": key.minimum, "maximum": key.maximum}
    if key.kind == "text" and key.choices:
        made["enum"] = [*key.choices, *(() if key.needed else (None,))]
    elif key.kind == "text" and key.needed:
        made["pattern"] = r"\S"
    elif key.kind == "texts":
        made["items"] = {"enum": [*key.choices]} if key.choices else {"type": [*_SCALAR_TYPES]}
    elif key.kind == "text-map":
        made["additionalProperties"] = {"type": [*_SCALAR_TYPES]}
    if key.default is not None and key.default != ():
        made["default"] = [*key.default] if isinstance(key.default, tuple) else key.default
    return made
