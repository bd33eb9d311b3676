"""Unusual fences, broken YAML and other values, as each client reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from prowess.catalog import evaluate_file
from prowess.clients.reading import (
    JAVASCRIPT_SPACE,
    apply_dialect,
    field_or_entry,
    javascript_literal,
    javascript_string,
    plain_front_check,
    value_kind,
    value_matches,
)
from prowess.hosts import host_names, load_host
from prowess.skill import Field, from_document, parse_frontmatter

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.skill import Value


def described(host: str, text: str) -> str | None:
    """Return the description as a host reads it, or `None` if a finding rejects the skill."""
    rules = load_host(host)
    reading = rules.reading
    skill = apply_dialect(from_document(parse_frontmatter(text.encode())), "SKILL.md", rules, lambda: text)
    codes = {item.code for item in skill.findings}
    return None if codes & {*reading.rejects, *reading.as_body, *reading.as_empty} else skill.description


@pytest.mark.parametrize(
    ("host", "text", "description"),
    [
        pytest.param("codex", " ---\nname: x\ndescription: d\n  ---\n", "d", id="codex-blanks-before-a-fence"),
        pytest.param("codex", "---\ndescription: a: b # c\n---\n", "a: b", id="codex-keeps-a-comment-out"),
        pytest.param("codex", "---\ndescription: {a: b}\n---\n", "{a: b}", id="codex-repairs-a-map"),
        pytest.param("codex", "---\ndescription: ends:\n---\n", None, id="codex-leaves-a-colon-at-the-end"),
        pytest.param("codex", "---\ndescription: |\n  a: b\nx: c: d\n---\n", "a: b\n", id="codex-keeps-blocks"),
        pytest.param("gemini-cli", "---\ndescription: d\n---- x\n", "d", id="gemini-any-line-of-dashes-closes"),
        pytest.param("pi", "----\ndescription: d\n---\n", "d", id="pi-takes-four-dashes"),
        pytest.param("opencode", "---\ndescription: d\n", "d", id="opencode-needs-no-end"),
        pytest.param("opencode", "---\ndescription: a: b # c\n---\n", "a: b # c", id="opencode-keeps-a-comment-in"),
        pytest.param(
            "opencode",
            "---\nallowed-tools: a: b\ndescription: d\n---\n",
            None,
            id="opencode-repairs-no-key-with-a-hyphen",
        ),
        pytest.param("opencode", "---\nx: y\n\tdescription: d\n---\n", "d", id="opencode-skips-a-tab-before-a-key"),
        pytest.param(
            "opencode", "---\ndescription: >\n  a\n  \tb\n---\n", "a\n\tb\n", id="opencode-keeps-a-tab-in-text"
        ),
        pytest.param("opencode", "---\n\tdescription: d\n---\n", None, id="opencode-takes-no-tab-first"),
        pytest.param("opencode", "---\ndescription: one\n\ttwo\n---\n", None, id="opencode-tabs-continue-nothing"),
        pytest.param(
            "opencode", "--- \ndescription: a: b\n---\n", None, id="opencode-repairs-below-a-plain-fence-only"
        ),
        pytest.param("opencode", "---\ndescription: a: b\n...\n", None, id="opencode-repairs-up-to-a-fence-only"),
        pytest.param("opencode", '---\ndescription: !!int "3"\n---\n', None, id="opencode-obeys-tags"),
        pytest.param(
            "claude-code", "---\ndescription:\xa0[a\n---\n", "[a", id="claude-code-any-white-space-after-a-key"
        ),
        pytest.param("claude-code", "---\ndescription: a\0\n---\n", None, id="claude-code-refuses-nul"),
        pytest.param("claude-code", "---\ndescription: a\x07b\n---\n", "a\x07b", id="claude-code-keeps-controls"),
        pytest.param("claude-code", "---\x1c\ndescription: d\n---\n", None, id="claude-code-white-space-of-javascript"),
        pytest.param("codex", "---\ndescription: d\x85\n---\n", "d", id="codex-nel-ends-a-line"),
        pytest.param("codex", "---\ndescription: a\u2028b\n---\n", None, id="codex-no-key-after-a-line-separator"),
        pytest.param("copilot", "---\ndescription: |\n  a\u2028  b\n---\n", "a\nb\n", id="copilot-lines-in-a-block"),
        pytest.param("copilot", "\x85---\ndescription: d\n---\n", None, id="copilot-nel-is-no-line-before-a-fence"),
        pytest.param("codex", "---\ndescription: d\n\t\n---\n", None, id="codex-refuses-a-line-that-is-a-tab"),
        pytest.param("claude-code", "---\ndescription: a --- b\n---\n", "a", id="claude-code-dashes-in-a-line-close"),
        pytest.param("claude-code", "---\ndescription: *.py: x\n---\n", "*.py: x", id="claude-code-repairs-a-star"),
        pytest.param(
            "claude-code", "---\ndescription: d\ntags:\n  - a: b: c\n---\n", None, id="claude-code-not-in-lists"
        ),
        pytest.param("copilot", "---\ndescription: a: b\n---\n", None, id="copilot-repairs-nothing"),
    ],
)
def test_a_client_reads_unusual_files_in_its_own_way(host: str, text: str, description: str | None) -> None:
    """Fences and repairs are data of the host."""
    result = described(host, text)
    assert (result.strip() if result else result) == (description.strip() if description else description)


def test_plain_files_are_not_parsed_again() -> None:
    """Every client reads them alike."""
    skill = from_document(parse_frontmatter(b"---\nname: x\ndescription: d\n---\nBody\n"))

    def never() -> str:
        raise AssertionError

    for host in ("claude-code", "codex", "copilot", "gemini-cli", "opencode", "pi", "qwen-code"):
        assert apply_dialect(skill, "SKILL.md", load_host(host), never) is skill


@pytest.mark.parametrize("host", ["claude-code", "codex", "opencode"])
@pytest.mark.parametrize("line", ["a" * 60_000, "a: " + " " * 60_000 + "@", "x:" * 30_000, "- a: " + "b: " * 20_000])
def test_no_line_is_slow(host: str, line: str) -> None:
    """The patterns of the repairs take linear time."""
    described(host, f"---\ndescription: a: b\n{line}\n---\n")


def field(value: Value, kind: str = "text") -> Field:
    return Field(value=value, kind=kind, line=2, column=1)


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
def test_a_number_is_written_as_in_javascript(text: str, shown: str) -> None:
    """As `String(value)` in Node.js 20; there is no limit of digits."""
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
    """Missing, empty, or its type in YAML."""
    assert value_kind(value) == kind


def test_lists_and_maps_are_written_as_in_javascript() -> None:
    """`String(["a", ["b"], {}])` in Node.js 20."""
    assert javascript_string(field(("a", ("b", "c"), {"d": "e"}), "list")) == "a,b,c,[object Object]"
    assert javascript_string(field({"a": "b"}, "map")) == "[object Object]"


@pytest.mark.parametrize(
    ("value", "wanted", "matches"),
    [
        pytest.param(field("true", "bool"), "true", True, id="a-boolean-is-true"),
        pytest.param(field("true"), "true", False, id="text-is-not-a-boolean"),
        pytest.param(field("true"), "~true", True, id="tilde-accepts-text"),
        pytest.param(field("True"), "~true", False, id="spelt-exactly"),
        pytest.param(field("yes"), "truthy", True, id="yes-is-truthy"),
        pytest.param(field("", "null"), "falsy", True, id="null-is-falsy"),
        pytest.param(field("maybe"), "not:bool", True, id="text-is-not-bool"),
        pytest.param(field(("**",), "list"), "globs", False, id="all-files-is-not-a-glob"),
        pytest.param(field(("src/**",), "list"), "globs", True, id="some-files-is-a-glob"),
        pytest.param(None, "falsy", False, id="missing-matches-nothing"),
    ],
)
def test_a_flag_matches_a_value(value: Field | None, wanted: str, matches: bool) -> None:
    """Each word of `Flag.when`."""
    assert value_matches(value, wanted) is matches


@pytest.mark.parametrize(
    ("front", "key", "wanted", "matches"),
    [
        ("paths: null", "paths", "present", False),
        ("paths: [a, ../b]", "paths", r"found:(?:^|/)\.\.(?:/|$)", True),
        ("paths: [a, b..c]", "paths", r"found:(?:^|/)\.\.(?:/|$)", False),
        ("metadata: {a: [b]}", "metadata.a", "not:null text", True),
        ("metadata: {a: b}", "metadata.a", "not:null text", False),
        ("metadata: b", "metadata.a", "absent", True),
        ("metadata: {a: b}", "metadata.a", "absent", False),
    ],
)
def test_flags_look_into_lists_and_metadata(front: str, key: str, wanted: str, matches: bool) -> None:
    """`FIELD.KEY` is the entry of a table, and `found:REGEX` looks at each text of a list."""
    fields = parse_frontmatter(f"---\n{front}\n---\n".encode()).fields
    assert value_matches(field_or_entry(fields, key), wanted) is matches


@pytest.mark.parametrize(
    ("value", "broken"),
    [
        ("[a, 'b]', {c}]", False),
        ("[[a]]", False),
        ("{{a}}", False),
        ("[a [[b]]", True),
        ("[a] b", True),
        ("[a,, b]", True),
        ("[@a]", True),
        ("{a]", True),
        ("a]", False),
    ],
)
def test_brackets_that_are_no_list_are_text(value: str, broken: bool) -> None:
    """Codex puts such a value in quotes, and reads the others as lists."""
    shown = described("codex", f"---\nname: n\ndescription: {value}\n---\n")
    assert (shown == value) is (broken or value == "a]")


@pytest.mark.parametrize(
    ("value", "kind"), [("[a]: b", "list"), ("{{x}}", "map"), ("{{x}} y", "text"), ("[a, b]", "list")]
)
def test_brackets_may_be_a_key(value: str, kind: str) -> None:
    """The parser of Qwen Code reads a template's placeholder as a table, which no description is."""
    text = f"---\nname: n\ndescription: {value}\n---\n"
    host = load_host("qwen-code")
    skill = apply_dialect(from_document(parse_frontmatter(text.encode())), "SKILL.md", host, lambda: text)
    assert skill.fields["description"].kind == kind


HOSTS = [load_host(name) for name in host_names()]
CHECKS = [(host, plain_front_check(host)) for host in HOSTS if host.reading.refuses or host.reading.line_breaks]
LINES = ("name: a", "description: b c", "description: >", "allowed-tools:", "  - 1", "a: !b", "a: !!int 1", "x: =")
MARKS = ("\t", " ", ":", "\n", "=", "|", "'", '"', "-", "1" * 21)
UNUSUAL = ("\x00", "\x0c", "\x1c", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffd", "\uffff")


@pytest.mark.slow
@given(st.lists(st.sampled_from((*LINES, *MARKS, *UNUSUAL)), max_size=8).map("".join))
def test_the_quick_check_of_front_matter_searches_every_pattern(text: str) -> None:
    """Although it looks for newlines instead of the beginnings of lines, and skips some patterns for plain ASCII."""
    for host, check in CHECKS:
        reading = host.reading
        patterns = filter(None, (reading.line_breaks, reading.yaml_line_breaks, *reading.refuses))
        plain = not ("---" in text or any(re.search(pattern, text) for pattern in patterns))
        plain = plain and (host.name != "kimi-code" or text.strip(JAVASCRIPT_SPACE) == text)
        assert check(f"---\n{text}\n---\n".encode()) == plain


@pytest.mark.parametrize(
    ("host", "path", "data", "state"),
    [
        pytest.param("cline", "a/SKILL.md", "---\nname: a\ndescription: d\n---\nDo it.\n", "active", id="body"),
        pytest.param("cline", "a/SKILL.md", "---\nname: a\ndescription: d\n---\n \n", "rejected", id="no-body"),
        pytest.param("cline", "a/SKILL.md", "", "rejected", id="empty-file"),
        pytest.param(
            "mistral-vibe", "a/SKILL.md", "---\nname: a\ndescription: é\n---\n".encode("utf-16"), "active", id="utf-16"
        ),
        pytest.param(
            "mistral-vibe", "a/SKILL.md", "---\nname: a\ndescription: é\n---\n".encode("utf-32"), "active", id="utf-32"
        ),
        pytest.param("mistral-vibe", "a/SKILL.md", "---\nname: a\ndescription: é\n---\n", "active", id="utf-8"),
        pytest.param("copilot", "do.md", "Do it.\n", "active", id="a-file-without-front-matter"),
        pytest.param("copilot", "do.md", "# a\n---\nname: b\n---\n", "active", id="front-matter-further-down"),
        pytest.param("copilot", "do.md", " ---\nname: b\n---\n", "rejected", id="like-front-matter"),
        pytest.param("copilot", "do.md", "---x\nname: b\n---\n", "rejected", id="like-a-fence"),
    ],
)
def test_a_client_loads_files_by_rules_of_its_own(
    host: str, path: str, data: str | bytes, state: str, tmp_path: Path
) -> None:
    """Instructions that Cline needs, byte order marks for Mistral Vibe, and loose files of Copilot."""
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    entry = evaluate_file(str(file), host)
    assert entry.state == state
    assert host != "mistral-vibe" or entry.description == "é"
