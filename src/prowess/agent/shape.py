"""a table of keys -> the values of a file, or all that is wrong with it; and a JSON Schema

What a role and its tools may say stands in tables of `Key`s. The same tables are read by and published, so a file that
the schema takes is one that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prowess._frozen import EMPTY, Frozen
from prowess.forms import Form
from prowess.text import near_names, quoted

__all__ = ["Key", "Table", "forms", "read", "schema"]


class Key(Frozen):
    """What one key holds."""

    kind: str
    """`text`, `texts`, `truth`, `integer`, `number`, `text-map`, `map`, `maps` (a list of them), or the name of a
    reader of its own, which is given to `read`."""
    doc: str
    """What it means; in the schema too."""
    default: Any = None
    """What it is where it is not there."""
    needed: bool = False
    low: float = 0
    """The least a number may be; a `number` must be above it, unless `closed`."""
    closed: bool = False
    """Whether a `number` may be `low` itself."""
    high: float = 10**9
    choices: tuple[str, ...] = ()
    """The only texts it may be."""
    keys: Mapping[str, Key] = EMPTY
    """Of a `map`, and of each of `maps`."""
    schema: Mapping[str, Any] = EMPTY
    """Of a kind with a reader of its own."""


Table = Mapping[str, Key]
Readers = Mapping[str, Callable[[Form, str], Any]]


def read(form: Form, table: Table, readers: Readers = EMPTY) -> dict[str, Any]:
    """Return the values of a map in a file; what is wrong is in the form's report, and then has its default.

    Args:
        form: the map.
        table: its keys.
        readers: of kinds that are none of `Key`'s own: given the form and the key's name, return the value.
    """
    form.only(*table)
    return {name: _value(form, name, key, readers) for name, key in table.items()}


def _value(form: Form, name: str, key: Key, readers: Readers) -> Any:
    node = form.get(name, needed=key.needed)
    if node is None:
        return dict(key.default) if isinstance(key.default, Mapping) else key.default
    if key.kind in readers:
        return readers[key.kind](form, name)
    value = _PLAIN[key.kind](form, name, key, readers)
    return key.default if value is None else value


def _text(form: Form, name: str, key: Key, _readers: Readers) -> str | None:
    text = form.text(name)
    if text is not None and key.needed and not text.strip():
        form.report.say(f"{quoted(form.path(name))} is empty", form.get(name), "write something")
        return None
    if text is not None and key.choices and text not in key.choices:
        near = near_names(text, key.choices)
        words = f"{quoted(form.path(name))} is {quoted(text)}, which is none of {', '.join(key.choices)}"
        form.report.say(words, form.get(name), f"did you mean {quoted(near[0])}?" if near else None)
        return None
    return text


def _texts(form: Form, name: str, key: Key, _readers: Readers) -> tuple[str, ...]:
    texts = form.texts(name)
    for text in texts:
        if key.choices and text not in key.choices:
            words = f"{quoted(form.path(name))} holds {quoted(text)}, which is none of {', '.join(key.choices)}"
            form.report.say(words, form.get(name))
    return texts


def _integer(form: Form, name: str, key: Key, _readers: Readers) -> int | None:
    return form.integer(name, int(key.low), int(key.high))


def _number(form: Form, name: str, key: Key, _readers: Readers) -> float | None:
    return form.number(name, above=key.low, most=key.high, closed=key.closed)


def _map(form: Form, name: str, key: Key, readers: Readers) -> dict[str, Any] | None:
    inner = form.form(name)
    return None if inner is None else read(inner, key.keys, readers)


def _maps(form: Form, name: str, key: Key, readers: Readers) -> tuple[dict[str, Any], ...]:
    return tuple(read(inner, key.keys, readers) for inner in forms(form, name))


def forms(form: Form, name: str) -> list[Form]:
    """Return the maps of a list; what is none is reported."""
    node = form.get(name)
    if node is None:
        return []
    if node.kind != "list":
        form.wrong(name, node, "a list", f"write each below `{name}:`, after a dash")
        return []
    found = []
    for at, item in enumerate(node.items):
        if item.kind == "map":
            found.append(Form(item, form.report, f"{form.path(name)}[{at}]"))
        else:
            form.wrong(f"{name}[{at}]", item, "a map")
    return found


_PLAIN: Mapping[str, Callable[[Form, str, Key, Readers], Any]] = {
    "text": _text,
    "texts": _texts,
    "truth": lambda form, name, _key, _readers: form.truth(name),
    "integer": _integer,
    "number": _number,
    "text-map": lambda form, name, _key, _readers: form.texts_by_name(name),
    "map": _map,
    "maps": _maps,
}

_SCALAR = ("string", "number", "boolean")
"""A scalar that is text to us may be something else to YAML."""
_TYPES: Mapping[str, tuple[str, ...]] = {
    "text": _SCALAR,
    "texts": ("array",),
    "truth": ("boolean",),
    "integer": ("integer",),
    "number": ("number",),
    "text-map": ("object",),
    "map": ("object",),
    "maps": ("array",),
}


def schema(table: Table) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a map."""
    made: dict[str, Any] = {
        "type": "object",
        "properties": {name: _schema(key) for name, key in table.items()},
        "additionalProperties": False,
    }
    if needed := [name for name, key in table.items() if key.needed]:
        made["required"] = needed
    return made


def _schema(key: Key) -> dict[str, Any]:
    made: dict[str, Any] = {"description": key.doc}
    if key.schema:
        return made | dict(key.schema)
    # A key with nothing behind it is as good as none.
    types = [*_TYPES[key.kind], *(() if key.needed else ("null",))]
    made |= {"type": types[0] if len(types) == 1 else types}
    if key.kind == "map":
        return {**schema(key.keys), **made}
    if key.kind == "maps":
        return made | {"items": schema(key.keys)}
    if key.kind in ("integer", "number"):
        above = key.kind == "number" and not key.closed
        made |= {"exclusiveMinimum" if above else "minimum": key.low, "maximum": key.high}
    if key.kind == "text" and key.choices:
        made["enum"] = [*key.choices, *(() if key.needed else (None,))]
    elif key.kind == "text" and key.needed:
        made["pattern"] = r"\S"
    elif key.kind == "texts":
        made["items"] = {"enum": [*key.choices]} if key.choices else {"type": [*_SCALAR]}
    elif key.kind == "text-map":
        made["additionalProperties"] = {"type": [*_SCALAR]}
    if key.default is not None and key.default != ():
        made["default"] = [*key.default] if isinstance(key.default, tuple) else key.default
    return made
