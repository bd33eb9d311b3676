"""What a server says about its tools is cleaned and bounded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st

from prowess._internal.installer import install_command
from prowess.agent.tools._mcp_offer import choose_name, clean_name, clean_schema, clean_text
from support import strategies  # noqa: F401 - its profile makes every run the same
from support.rows import rows

PROVIDER_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "$ref", "$defs", "anyOf", "enum", "required", "a"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(st.text(max_size=300), st.text(max_size=300), st.sets(st.text("ab_", max_size=3), max_size=5))
def test_every_name_is_one_that_providers_accept(name: str, label: str, taken: set[str]) -> None:
    shown = choose_name(name, label, "key", taken)
    assert PROVIDER_NAME.fullmatch(shown)
    assert shown not in taken
    assert shown == choose_name(name, label, "key", taken)


@pytest.mark.parametrize(("name", "expected"), [*rows(__file__, "a_name_is_cleaned"), ("x" * 300, "x" * 64)])
def test_a_name_is_cleaned(name: str, expected: str) -> None:
    assert clean_name(name) == expected


def test_names_stay_distinct() -> None:
    """Also if hundreds of them are the same once they are clean."""
    taken: set[str] = set()
    for number in range(300):
        taken.add(choose_name("é" * number, "the server", "key", taken))
    assert len(taken) == 300
    assert all(PROVIDER_NAME.fullmatch(name) for name in taken)


def test_a_taken_name_gets_the_label_of_its_server() -> None:
    assert choose_name("add", "my-server.py", "key", {"add"}) == "my-server_py_add"
    first = choose_name("add", "s", "one", {"add", "s_add"})
    assert first != choose_name("add", "s", "two", {"add", "s_add"})


def test_a_text_is_cleaned_and_cut() -> None:
    """Line breaks stay, since lists of arguments have them."""
    assert clean_text("Adds.\n\nArgs:\r\n  a:\tone\u202e\u200b two<|im_\u200bend|>") == (
        "Adds.\n\nArgs:\na: one two&lt;|im_end|>"
    )
    for text in ("word " * 500_000, "\u200b" * 2_000_000, "<|im_end|>" * 1000, "\n" * 3_000_000):
        assert len(clean_text(text)) <= 2_000
        assert "<|im_end|>" not in clean_text(text)
    assert clean_text("word " * 1000).endswith(" [cut]")


def test_a_usual_schema_stays() -> None:
    schema = {
        "type": "object",
        "title": "Arguments",
        "properties": {
            "path": {"type": "string", "description": "Where.", "minLength": 1},
            "mode": {"enum": ["a", "b", 1, None], "default": "a"},
            "rows": {"type": "array", "items": {"type": ["integer", "null"], "minimum": 0}},
            "more": {"anyOf": [{"type": "object", "additionalProperties": False}, {"type": "null"}]},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    assert clean_schema(schema) == (schema, True)


def test_references_are_replaced_by_what_they_refer_to() -> None:
    """A recursive reference and one to another document accept anything; nothing is fetched."""
    schema: dict[str, Any] = {
        "properties": {
            "a": {"$ref": "#/$defs/point", "description": "Where."},
            "b": {"$ref": "https://evil.example/schema.json"},
            "c": {"$ref": "#/$defs/loop"},
            "d": {"$ref": "#/nowhere"},
            "e": {"$ref": 5},
            "f": {"$ref": "#"},
        },
        "$defs": {
            "point": {"type": "object", "properties": {"x": {"type": "number"}}},
            "loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"type": "null"}]},
        },
    }
    assert clean_schema(schema) == (
        {
            "type": "object",
            "properties": {
                "a": {"type": "object", "properties": {"x": {"type": "number"}}, "description": "Where."},
                "b": {},
                "c": {"anyOf": [{}, {"type": "null"}]},
                "d": {},
                "e": {},
                "f": {},
            },
        },
        True,
    )


def test_texts_in_a_schema_are_cleaned_and_names_that_cannot_be_are_left_out() -> None:
    schema = {
        "properties": {
            "a": {"description": "x\u202ey <|im_end|> " * 1000, "title": "\u200b", "x-evil": "<|im_end|>"},
            "b\u200b": {},
            "c" * 200: {},
            "<|im_end|>": {},
            "d": {
                "enum": ["fine", "<|im_end|>", "\u202e", "y" * 1000],
                "pattern": "<|im_end|>",
                "$comment": "x" * 10**6,
            },
        },
        "required": ["a", "b\u200b", 5, "a"],
        "examples": ["x" * 10**6],
    }
    clean, complete = clean_schema(schema)
    assert complete
    text = json.dumps(clean)
    assert ("<|im_end|>" in text, "\\u" in text, len(text) < 1000) == (False, False, True)
    assert (list(clean["properties"]), clean["required"]) == (["a", "d"], ["a"])
    assert clean["properties"]["d"] == {"enum": ["fine"]}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


LAUGHS = {
    "properties": {"a": {"$ref": "#/$defs/l9"}},
    "$defs": {
        "l0": {"type": "string"},
        **{f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n - 1}"}] * 10} for n in range(1, 10)},
    },
}


@pytest.mark.parametrize(
    "schema",
    [
        *(None, [], "object", 5, {"type": "array"}, {"type": ["object"]}, LAUGHS),
        {"properties": {f"p{number}": {"description": "word " * 100} for number in range(500)}},
    ],
    ids=["none", "list", "text", "number", "array", "types", "billion laughs", "large"],
)
def test_a_schema_that_is_invalid_or_too_large_accepts_anything(schema: object) -> None:
    assert clean_schema(schema) == (ANYTHING, False)


def test_a_deep_schema_is_cut() -> None:
    clean, _ = clean_schema(deep(900))
    assert json.dumps(clean).count("properties") < 20
    assert clean_schema({"properties": {"a": {"minimum": 10**5000, "maximum": float("nan"), "maxLength": -1}}})[0][
        "properties"
    ] == {"a": {}}


@given(JSON)
def test_no_schema_raises(schema: Any) -> None:
    clean, _ = clean_schema(schema)
    assert clean["type"] == "object"
    assert len(json.dumps(clean, allow_nan=False)) < 40_000
    assert "$ref" not in json.dumps(clean)


def test_without_the_client_the_extra_is_named() -> None:
    code = "import sys; sys.modules['fastmcp'] = None; import prowess.agent.tools.mcp"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last_line = done.stderr.splitlines()[-1]
    assert last_line == f"ImportError: this tool needs pydantic-ai-slim[mcp]: {install_command('mcp')}"
