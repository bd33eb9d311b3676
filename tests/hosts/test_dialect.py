"""Odd fences and broken YAML, as each client goes on in its own way."""

from __future__ import annotations

import pytest

from prowess.hosts import load_host
from prowess.hosts._dialect import (
    apply_dialect,
    javascript_literal,
    javascript_string,
    value_kind,
    value_matches,
)
from prowess.skill import Field, from_document, parse_frontmatter


def described(host: str, text: str) -> str | None:
    """The description as a host's own fences and repairs have it; None where a finding rejects."""
    reading = load_host(host).reading
    skill = apply_dialect(from_document(parse_frontmatter(text.encode())), "SKILL.md", reading, lambda: text)
    codes = {item.code for item in skill.findings}
    return None if codes & {*reading.rejects, *reading.as_body, *reading.as_empty} else skill.description


@pytest.mark.parametrize(
    ("host", "text", "description"),
    [
        pytest.param("codex", " ---\nname: x\ndescription: d\n  ---\n", "d", id="codex-blanks-before-a-fence"),
        pytest.param("codex", "---\ndescription: a: b # c\n---\n", "a: b", id="codex-keeps-a-comment-out"),
        pytest.param("codex", "---\ndescription: {a: b}\n---\n", "{a: b}", id="codex-mends-a-map"),
        pytest.param("codex", "---\ndescription: ends:\n---\n", None, id="codex-leaves-a-colon-at-the-end"),
        pytest.param("codex", "---\ndescription: |\n  a: b\nx: c: d\n---\n", "a: b\n", id="codex-spares-blocks"),
        pytest.param("gemini-cli", "---\ndescription: d\n---- x\n", "d", id="gemini-any-line-of-dashes-closes"),
        pytest.param("pi", "----\ndescription: d\n---\n", "d", id="pi-takes-four-dashes"),
        pytest.param("opencode", "---\ndescription: d\n", "d", id="opencode-needs-no-end"),
        pytest.param("opencode", "---\ndescription: a: b # c\n---\n", "a: b # c", id="opencode-keeps-a-comment-in"),
        pytest.param(
            "opencode", "---\nallowed-tools: a: b\ndescription: d\n---\n", None, id="opencode-knows-no-hyphen"
        ),
        pytest.param("claude-code", "---\ndescription: a --- b\n---\n", "a", id="claude-code-dashes-in-a-line-close"),
        pytest.param("claude-code", "---\ndescription: *.py: x\n---\n", "*.py: x", id="claude-code-mends-a-star"),
        pytest.param(
            "claude-code", "---\ndescription: d\ntags:\n  - a: b: c\n---\n", None, id="claude-code-not-in-lists"
        ),
        pytest.param("copilot", "---\ndescription: a: b\n---\n", None, id="copilot-mends-nothing"),
    ],
)
def test_a_client_goes_on_in_its_own_way(host: str, text: str, description: str | None) -> None:
    """Fences and repairs are the host's data."""
    found = described(host, text)
    assert (found.strip() if found else found) == (description.strip() if description else description)


def test_plain_files_are_not_read_again() -> None:
    """What every client takes apart alike costs no second reading."""
    skill = from_document(parse_frontmatter(b"---\nname: x\ndescription: d\n---\nBody\n"))

    def never() -> str:
        raise AssertionError

    for host in ("claude-code", "codex", "copilot", "gemini-cli", "opencode", "pi", "qwen-code"):
        assert apply_dialect(skill, "SKILL.md", load_host(host).reading, never) is skill


@pytest.mark.parametrize("host", ["claude-code", "codex", "opencode"])
@pytest.mark.parametrize("line", ["a" * 60_000, "a: " + " " * 60_000 + "@", "x:" * 30_000, "- a: " + "b: " * 20_000])
def test_no_line_takes_long(host: str, line: str) -> None:
    """The patterns of the repairs are linear."""
    described(host, f"---\ndescription: a: b\n{line}\n---\n")


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
