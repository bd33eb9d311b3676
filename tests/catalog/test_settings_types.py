"""Types of values in settings files: what is wrong, and what the client does then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.catalog._settings_types import find_wrong_type
from prowess.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

TYPES = {"a": "bool", "b.c": "texts|null", "d.*": "map", "d.*.on": "bool|=auto", "e": "text|number", "f": "list"}


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ({}, None),
        ({"a": True, "b": {"c": ["x"]}, "d": {"x.y": {"on": "auto"}}, "e": 1.5, "f": [1, "x"], "other": 5}, None),
        ({"a": "true"}, "a"),
        ({"a": None}, "a"),
        ({"b": {"c": ["x", 1]}}, "b.c"),
        ({"b": {"c": None}}, None),
        ({"b": 5}, None),
        ({"d": {"x": 1}}, "d.*"),
        ({"d": {"x": {"on": "never"}}}, "d.*.on"),
        ({"d": [{"on": 1}]}, "d.*.on"),
        ({"e": True}, "e"),
        ({"f": "x"}, "f"),
    ],
)
def test_the_first_wrong_key_is_named(table: dict[str, Any], wrong: str | None) -> None:
    """`*` is any key or item; keys that are missing are right."""
    assert find_wrong_type(table, TYPES) == wrong


@pytest.mark.parametrize(
    ("effect", "states", "codes"),
    [
        ("ignored", ["disabled"], []),
        ("void", ["active"], ["config-invalid"]),
        ("stops", [], ["config-invalid", "host-disabled"]),
    ],
)
def test_one_wrong_value_has_the_clients_consequence(
    effect: str, states: list[str], codes: list[str], tmp_path: Path
) -> None:
    """The value is ignored, or the whole file, or the client refuses to start."""
    (tmp_path / ".x/skills/s").mkdir(parents=True)
    (tmp_path / ".x/skills/s/SKILL.md").write_text("---\nname: s\ndescription: d\n---\n")
    (tmp_path / ".x/c.json").write_text(json.dumps({"off": ["s"], "model": 5}))
    table = {
        "title": "X",
        "roots": [{"path": ".x/skills", "scope": "project"}],
        "settings_files": {"project": {"path": ".x/c.json", "wrong_type": effect}},
        "settings_types": {"model": "text"},
        "settings": [{"key": "off", "form": "names"}],
    }
    catalog = discover(tmp_path, host=host_from_table("x", table), home=tmp_path / "home", env={})
    assert [str(entry.state) for entry in catalog.skills] == states
    assert sorted(item.code for item in catalog.findings) == codes
