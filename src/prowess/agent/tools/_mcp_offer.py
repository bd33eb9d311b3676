"""Clean what an MCP server says about its tools, before a model reads it: names, descriptions and schemas.

A server can send any name, any text and any schema, in any amount. What a model is shown has names that every provider
accepts, texts without hidden characters and special tokens, schemas without references, and bounds for all of it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from prowess._internal.special_tokens import escape_special_tokens
from prowess._internal.text import without_hidden

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

MAX_SERVER_TOOLS = 128
"""Tools of one server that are offered; no provider accepts more."""
MAX_SERVER_CHARS = 100_000
"""Characters of the names, descriptions and schemas of one server."""
_MAX_NAME_CHARS = 64
_MAX_DESCRIPTION_CHARS = 2_000
_MAX_SCHEMA_BYTES = 16_000
_MAX_SCHEMA_NODES = 1_000
_MAX_SCHEMA_DEPTH = 12
_MAX_SCHEMA_TEXT = 500
"""Characters of a description or a title inside a schema."""
_MAX_KEY_CHARS = 100

_CUT = " [cut]"


def clean_text(text: str, limit: int = _MAX_DESCRIPTION_CHARS) -> str:
    """Return a foreign text for a model, at most `limit` characters, without hidden characters and special tokens."""
    # A text of megabytes is cut first; hidden characters take room too, so more than the limit is read.
    cut = text[: 4 * limit]
    lines = (without_hidden(line) for line in re.split(r"\r\n|[\n\r\x85\u2028\u2029]", cut))
    clean = escape_special_tokens(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip())
    if len(clean) <= limit and len(cut) == len(text):
        return clean
    return escape_special_tokens(clean[: limit - len(_CUT) - 1]).rstrip()[: limit - len(_CUT)] + _CUT


def clean_name(name: str) -> str:
    """Return a name that providers accept: 1 to 64 of `a-z A-Z 0-9 _ -`."""
    folded = unicodedata.normalize("NFKC", without_hidden(name[:1000]))
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", folded).strip("_")[:_MAX_NAME_CHARS] or "tool"


def choose_name(name: str, label: str, key: str, taken: Container[str]) -> str:
    """Return a name for a tool that is not taken: its own, with the server's label as a prefix, or with a digest.

    Args:
        name: as the server writes it, with the prefix of the configuration.
        label: of the server.
        key: identifies the server among the others.
        taken: the names of other tools.
    """
    return next(candidate for candidate in _name_candidates(name, label, key) if candidate not in taken)


def _name_candidates(name: str, label: str, key: str) -> Iterator[str]:
    base = clean_name(name)
    digest = hashlib.sha256(f"{key}\0{name}".encode("utf-8", "replace")).hexdigest()
    yield base
    yield clean_name(f"{clean_name(label)[:24]}_{base}")
    yield f"{base[:57]}_{digest[:6]}"
    for number in itertools.count(2):
        yield f"{base[:40]}_{digest[:6]}_{number}"


def clean_schema(schema: object) -> tuple[dict[str, Any], bool]:
    """Return a schema of arguments for a model, and whether it is complete.

    References inside the schema are replaced by what they refer to, a recursive one by a schema that accepts anything,
    and so is one to another document. A schema that is no object or too large accepts any arguments.
    """
    try:
        if isinstance(schema, dict) and schema.get("type", "object") == "object":
            clean = {**_SchemaCleaner(schema).clean(schema, 0, ()), "type": "object"}
            if len(json.dumps(clean, ensure_ascii=False).encode("utf-8", "replace")) <= _MAX_SCHEMA_BYTES:
                clean.setdefault("properties", {})
                return clean, True
    except (_TooLargeError, RecursionError, ValueError):
        pass
    return {"type": "object", "properties": {}, "additionalProperties": True}, False


class _TooLargeError(Exception):
    """A schema has too many parts."""


_TEXTS = ("title", "description")
_SCHEMAS = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")


class _SchemaCleaner:
    """Copy the keywords of JSON Schema that are known, each in its own way; all others are left out."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root, self.nodes = root, 0

    def clean(self, schema: object, depth: int, refs: tuple[str, ...]) -> dict[str, Any]:
        self.nodes += 1
        if self.nodes > _MAX_SCHEMA_NODES:
            raise _TooLargeError
        if not isinstance(schema, dict) or depth > _MAX_SCHEMA_DEPTH:
            return {}
        if "$ref" in schema:
            ref = schema["$ref"]
            target = None if ref in refs or not isinstance(ref, str) else self._resolve(ref)
            beside = {name: value for name, value in schema.items() if name != "$ref"}
            if target is None:
                return self.clean(beside, depth + 1, refs)
            return {**self.clean(target, depth + 1, (*refs, ref)), **self.clean(beside, depth + 1, refs)}
        result: dict[str, Any] = {}
        for name, value in schema.items():
            clean = self._keyword(name, value, depth, refs)
            if clean is not None:
                result[name] = clean
        if "required" in schema and isinstance(schema["required"], list):
            known = result.get("properties", {})
            result["required"] = [name for name in _unique(schema["required"]) if name in known]
        return result

    def _resolve(self, ref: str) -> object:
        """Return the part of the schema that a reference names; `None` if it names another document, or nothing."""
        if not ref.startswith("#/") or len(ref) > _MAX_SCHEMA_TEXT:
            return None
        part: object = self.root
        for step in ref[2:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            part = part.get(step) if isinstance(part, dict) else None
        return part

    def _keyword(self, name: str, value: Any, depth: int, refs: tuple[str, ...]) -> Any:
        """Return the value of a keyword; `None` to leave it out."""
        if name in _TEXTS:
            return clean_text(value, _MAX_SCHEMA_TEXT) if isinstance(value, str) else None
        if name == "properties" and isinstance(value, dict):
            names = [key for key in value if key != "$ref" and _is_plain(key, _MAX_KEY_CHARS)]
            return {key: self.clean(value[key], depth + 1, refs) for key in names}
        if name in _SCHEMAS:
            return value if isinstance(value, bool) else self.clean(value, depth + 1, refs)
        if name in _SCHEMA_LISTS and isinstance(value, list) and value:
            return [self.clean(item, depth + 1, refs) for item in value]
        return _plain_keyword(name, value)


def _plain_keyword(name: str, value: Any) -> Any:
    """Return the value of a keyword that has no schemas inside; `None` to leave it out."""
    if name == "type":
        kinds = value if isinstance(value, list) else [value]
        return value if kinds and all(isinstance(kind, str) and kind in _TYPES for kind in kinds) else None
    if name == "enum" and isinstance(value, list):
        return [item for item in value if item is None or _is_scalar(item)] or None
    if name in ("const", "default"):
        return value if _is_scalar(value) else None
    if name in ("format", "pattern"):
        return value if _is_plain(value, _MAX_SCHEMA_TEXT) else None
    if name == "uniqueItems":
        return value if isinstance(value, bool) else None
    if name in _NUMBERS:
        return value if _is_number(value) else None
    if name in _COUNTS:
        return value if type(value) is int and 0 <= value < 10**9 else None
    return None


def _is_plain(text: object, limit: int) -> bool:
    """Return whether a text can be shown as it is; it cannot be changed, since its exact characters count."""
    return isinstance(text, str) and 0 < len(text) <= limit and escape_special_tokens(without_hidden(text)) == text


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**18


def _is_scalar(value: object) -> bool:
    return isinstance(value, bool) or value == "" or _is_number(value) or _is_plain(value, _MAX_SCHEMA_TEXT)


def _unique(names: list[Any]) -> list[str]:
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))
