"""The templates of a host, and the length of texts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from prowess.hosts import host_names, load_host
from prowess.hosts._template import (
    TEMPLATE_VALUES,
    RootAliases,
    escape_entities,
    fill_template,
    measure_text,
    split_template,
)


@pytest.mark.parametrize(
    ("text", "unit", "size"),
    [
        ("abc", "chars", 3),
        ("é漢📦", "chars", 3),
        ("é漢📦", "utf16", 4),
        ("é漢📦", "bytes", 9),
        ("é漢📦", "tokens", 3),
        ("abc", "bytes", 3),
        ("abcd", "tokens", 1),
        ("abcde", "tokens", 2),
        ("", "tokens", 0),
    ],
)
def test_a_text_is_measured_in_the_unit_of_the_client(text: str, unit: str, size: int) -> None:
    """Unicode characters, units of UTF-16, bytes, or four of them."""
    assert measure_text(text, unit) == size


@given(st.text())
def test_every_unit_measures_any_text(text: str) -> None:
    """Lone surrogates included."""
    for unit in ("chars", "utf16", "bytes", "tokens"):
        assert measure_text(text + "\ud800", unit) >= measure_text(text, unit) >= 0


def test_placeholders_are_filled_in_one_pass() -> None:
    """A placeholder in a value stays, and so do other braces."""
    values = {"name": "{description}", "description": "{name}"}
    assert (
        fill_template("{name}: {description} {other} {} {{name}}", values)
        == "{description}: {name} {other} {} {{description}}"
    )
    assert fill_template("[{alias}]", values) == "[]"


def test_values_are_escaped_but_not_the_pattern() -> None:
    """Only the characters the host escapes."""
    assert fill_template("<n>{name}</n>", {"name": "a<b>&\"'"}, "&<>") == "<n>a&lt;b&gt;&amp;\"'</n>"
    assert escape_entities("a<b>&\"'", "") == "a<b>&\"'"
    assert escape_entities("a<b>&\"'", "&<>\"'") == "a&lt;b&gt;&amp;&quot;&apos;"


def test_roots_are_numbered_in_order() -> None:
    """Each once; paths begin with the number of their root."""
    roots = RootAliases(["/a", "/b", "/a"])
    assert roots.table() == "- `r0` = `/a`\n- `r1` = `/b`\n"
    assert roots.shorten_path("/b/x/SKILL.md", "/b") == "r1/x/SKILL.md"
    assert RootAliases(["/a\u202e"]).table() == "- `r0` = `/a\\u202e`\n"


def test_values_contain_no_hidden_characters() -> None:
    """They are removed from names and descriptions, and escaped in paths; lines of a description stay."""
    shown = SimpleNamespace(
        name="a\u202eb\nc",
        alias="d\x1b",
        description="one\x1b[31m\n two \U000e0041\n",
        path="/x\x1b/SKILL.md",
        root="/",
        scope="project",
    )
    host, roots = load_host("claude-code"), RootAliases(["/"])
    values = {name: value_of(host, shown, roots) for name, value_of in TEMPLATE_VALUES.items()}
    assert values["name"] == "ab c"
    assert values["alias"] == " (d)"
    assert values["description"] == "one[31m\ntwo\n"
    assert values["path"] == "/x\\x1b/SKILL.md"
    assert values["short_path"] == "r0/x\\x1b/SKILL.md"


@pytest.mark.parametrize("host", host_names())
def test_the_cost_of_a_line_is_that_of_its_parts(host: str) -> None:
    """So budgets need no filled templates."""
    rules = load_host(host)
    values = {"name": "a<b", "description": "é & \U0001f600", "path": "/x/ü", "short_path": "r0/a", "scope": "user"}
    for pattern in filter(None, (rules.template.entry, rules.template.name_only)):
        text, names = split_template(pattern)
        filled = [escape_entities(values.get(name, ""), rules.template.escape) for name in names]
        line = fill_template(pattern, values, rules.template.escape)
        for unit in ("chars", "utf16", "bytes", "width"):
            assert measure_text(line, unit) == sum(measure_text(part, unit) for part in (text, *filled))
