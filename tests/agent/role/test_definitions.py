"""Writing the repeated parts of a JSON Schema once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from prowess.agent.role import schema
from prowess.agent.role._definitions import share_definitions

LONG: dict[str, Any] = {
    "description": "a text that is long enough to be worth a definition",
    "type": ["string", "null"],
    "pattern": ".",
}
OTHER = {**LONG, "pattern": "x"}
TOP = Path(__file__).parents[3]


def with_definitions_inline(part: Any, definitions: dict[str, Any]) -> Any:
    """Undo `share_definitions`."""
    if isinstance(part, list):
        return [with_definitions_inline(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        assert list(part) == ["$ref"]
        return with_definitions_inline(definitions[part["$ref"].removeprefix("#/$defs/")], definitions)
    return {key: with_definitions_inline(item, definitions) for key, item in part.items() if key != "$defs"}


def test_repeated_parts_are_written_once() -> None:
    """A definition has the name of its first property; parts that occur once stay where they are."""
    shared = share_definitions(
        {
            "properties": {"a": LONG, "b": {"items": LONG}, "c": {"properties": {"a": OTHER, "d": OTHER}}},
            "required": ["a"],
        }
    )
    assert shared == {
        "properties": {
            "a": {"$ref": "#/$defs/a"},
            "b": {"items": {"$ref": "#/$defs/a"}},
            "c": {"properties": {"a": {"$ref": "#/$defs/a.2"}, "d": {"$ref": "#/$defs/a.2"}}},
        },
        "required": ["a"],
        "$defs": {"a": LONG, "a.2": OTHER},
    }


def test_values_that_look_like_schemas_are_not_changed() -> None:
    """A default is a value, and `properties` may be the name of a property."""
    whole: dict[str, Any] = {
        "properties": {
            "properties": {"default": LONG},
            "items": {"const": LONG},
            "x": {"enum": [LONG, LONG]},
            "y": True,
        }
    }
    assert share_definitions(whole) == {**whole, "$defs": {}}


def test_the_schema_of_a_role_has_no_part_twice() -> None:
    """Every definition is used, and with its definitions written out the schema has nothing to share left out."""
    made = json.loads(json.dumps(schema()))
    definitions = made["$defs"]
    whole = with_definitions_inline(made, definitions)
    assert json.loads(json.dumps(share_definitions(whole)["$defs"])) == definitions
    text = json.dumps(made)
    assert [name for name in definitions if text.count(f'"#/$defs/{name}"') < 2] == []


def test_the_published_schema_stays_readable() -> None:
    lines = (TOP / "docs/role.schema.json").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 2000
    assert max(map(len, lines)) < 500
