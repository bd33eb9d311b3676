"""What a field is worth to a client."""

from __future__ import annotations

import pytest

from prowess.hosts._values import javascript_literal, javascript_string, value_kind, value_matches
from prowess.skill._frontmatter import Field


def field(value: object, kind: str = "text") -> Field:
    return Field(value=value, kind=kind, line=2, column=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("1.50", "1.5", id="decimal"),
        pytest.param("1.0", "1", id="whole"),
        pytest.param("-3", "-3", id="negative"),
        pytest.param("0x1F", "31", id="hexadecimal"),
        pytest.param("0o17", "15", id="octal"),
        pytest.param("1e3", "1000", id="exponent"),
        pytest.param("True", "true", id="boolean"),
        pytest.param("-.inf", "-Infinity", id="infinite"),
        pytest.param(".NaN", "NaN", id="not-a-number"),
        pytest.param("9" * 5_000, "Infinity", id="too-many-digits"),
        pytest.param("0x" + "f" * 60_000, "Infinity", id="too-many-hexadecimal-digits"),
    ],
)
def test_a_number_is_written_as_javascript_writes_it(text: str, shown: str) -> None:
    """`String(value)` in Node.js 20; no number is too large to be written."""
    assert javascript_literal(text) == shown


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        pytest.param(None, "missing", id="missing"),
        pytest.param(field(""), "empty", id="empty"),
        pytest.param(field("  "), "blank", id="blank"),
        pytest.param(field("a"), "text", id="text"),
        pytest.param(field("", "null"), "null", id="null"),
        pytest.param(field("1", "number"), "number", id="number"),
        pytest.param(field(("a",), "list"), "list", id="list"),
    ],
)
def test_a_value_has_one_kind(value: Field | None, kind: str) -> None:
    """What is not there, what is there and says nothing, and what YAML makes of the rest."""
    assert value_kind(value) == kind


def test_lists_and_maps_are_written_as_javascript_writes_them() -> None:
    """`String(["a", ["b"], {}])` in Node.js 20."""
    assert javascript_string(field(("a", ("b", "c"), {"d": "e"}), "list")) == "a,b,c,[object Object]"
    assert javascript_string(field({"a": "b"}, "map")) == "[object Object]"


@pytest.mark.parametrize(
    ("value", "wanted", "fits"),
    [
        pytest.param(field("true", "bool"), "true", True, id="a-boolean-is-true"),
        pytest.param(field("true"), "true", False, id="text-is-no-boolean"),
        pytest.param(field("true"), "~true", True, id="unless-text-counts-too"),
        pytest.param(field("True"), "~true", False, id="spelt-exactly"),
        pytest.param(field("yes"), "truthy", True, id="yes-says-yes"),
        pytest.param(field("", "null"), "falsy", True, id="nothing-says-no"),
        pytest.param(field("maybe"), "not-bool", True, id="text-is-not-bool"),
        pytest.param(field(("**",), "list"), "globs", False, id="all-files-are-no-restriction"),
        pytest.param(field(("src/**",), "list"), "globs", True, id="some-files-are"),
        pytest.param(None, "falsy", False, id="what-is-missing-fits-nothing"),
    ],
)
def test_a_flag_asks_for_a_value(value: Field | None, wanted: str, fits: bool) -> None:
    """Each word of `host.Flag.when`."""
    assert value_matches(value, wanted) is fits
