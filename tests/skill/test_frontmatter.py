"""The parser of front matter: properties for any bytes, and positions of findings. Single files are in `golden`."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import assume, example, given, strategies as st

from prowess.findings import CODES
from prowess.skill._fences import frontmatter_end
from prowess.skill._frontmatter import MAX_FRONTMATTER_BYTES, Document, parse_frontmatter
from prowess.skill._yaml import scalar_kind
from support.growth import assert_linear
from support.strategies import examples, front_matters, plain_values, skill_bytes


def document(front: str) -> Document:
    return parse_frontmatter(f"---\n{front}\n---\n".encode())


def values(found: Document) -> dict[str, object]:
    return {key: entry.value for key, entry in found.fields.items()}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("", "null", id="empty"),
        pytest.param("~", "null", id="tilde"),
        pytest.param("NULL", "null", id="null"),
        pytest.param("nUll", "text", id="null-in-another-case"),
        pytest.param("true", "bool", id="true"),
        pytest.param("yes", "text", id="yes"),
        pytest.param("on", "text", id="on"),
        pytest.param("12", "number", id="integer"),
        pytest.param("-1.10", "number", id="float"),
        pytest.param(".5e-3", "number", id="exponent"),
        pytest.param("0o17", "number", id="octal"),
        pytest.param("0x1F", "number", id="hexadecimal"),
        pytest.param("-0x1F", "text", id="signed-hexadecimal"),
        pytest.param("-.inf", "number", id="infinity"),
        pytest.param(".nan", "number", id="nan"),
        pytest.param("1_000", "text", id="underscore"),
        pytest.param("2026-11-01", "text", id="date"),
        pytest.param("1:30", "text", id="sexagesimal"),
    ],
)
def test_scalar_kinds_follow_the_core_schema_of_yaml_1_2(text: str, kind: str) -> None:
    """YAML 1.2, "10.3.2 Tag Resolution"; YAML 1.1 differs."""
    assert scalar_kind(text) == kind


@pytest.mark.parametrize(
    ("data", "end"),
    [
        pytest.param(b"---\na: b\n---\nBody", 12, id="lf"),
        pytest.param(b"---\r\na: b\r\n---\r\nBody", 14, id="crlf"),
        pytest.param(b"---\ra: b\r---\rBody", 12, id="cr"),
        pytest.param(b"---\na: b\n--- \t\nBody", 14, id="blanks"),
        pytest.param(b"----\na: b\n-----\nBody", 15, id="four-dashes"),
        pytest.param(b"---\na: b\n----\nBody", -1, id="four-dashes-do-not-close"),
        pytest.param(b"---\na: b\n---", -1, id="end-of-data"),
        pytest.param(b"---\na: b ---\n ---\n", -1, id="dashes-in-text"),
        pytest.param(b"", -1, id="empty"),
    ],
)
def test_the_end_of_the_front_matter_is_found(data: bytes, end: int) -> None:
    """Discovery reads no further than the closing fence."""
    assert frontmatter_end(data) == end


@given(skill_bytes())
def test_the_body_does_not_change_the_fields(data: bytes) -> None:
    end = frontmatter_end(data)
    assume(end >= 0)
    whole, head = parse_frontmatter(data), parse_frontmatter(data[:end])
    assert head.frontmatter == whole.frontmatter
    assert values(head) == values(whole)


@given(skill_bytes())
@example(b"---\na: \xc2\x85b\n---")
@example(b"---\n? [a]\n: b\n---")
@example(b'---\na: "\\U00110000"\n---')
@example(b"---\n\xef\xbb\xbfa: b\n---")
def test_no_bytes_make_the_parser_raise(data: bytes) -> None:
    """Findings always have known codes, and positions inside the file."""
    found = parse_frontmatter(data, "p")
    for item in found.findings:
        assert item.code in CODES
        assert item.path == "p"
        assert item.line is None or 1 <= item.line <= found.line_count
        assert item.column is None or item.column >= 1
    for entry in found.fields.values():
        assert 1 <= entry.line <= found.line_count


@given(skill_bytes())
def test_fields_have_their_positions_in_the_file(data: bytes) -> None:
    """`source` is the field's line, and its key is at its column."""
    found = parse_frontmatter(data)
    lines = found.text.split("\n")
    for key, entry in found.fields.items():
        assert entry.source == lines[entry.line - 1]
        if key and key[0].isalnum():
            # The key may begin with an anchor, an alias, a tag or an escape.
            place = entry.source[entry.column - 1 :]
            assert place.lstrip("'\"").startswith(key[0]) or place[0] in "&*!" or "\\" in place


@given(front_matters())
def test_valid_yaml_is_never_repaired(front: str) -> None:
    """A repair is reported only if PyYAML refuses the same text."""
    assume("\n---" not in f"\n{front}")
    found = document(front)
    repaired = [item.code for item in found.findings if item.code.startswith("repair-")]
    try:
        events = list(yaml.parse(front, Loader=yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader))
    except yaml.YAMLError:
        return
    # An alias without anchor and a map as a key are valid events, but no value can be built from them.
    known = {event.anchor for event in events if not isinstance(event, yaml.AliasEvent) and hasattr(event, "anchor")}
    if all(event.anchor in known for event in events if isinstance(event, yaml.AliasEvent)):
        assert not repaired or "{{" in front or "[[" in front or any(c in front for c in "\x85\u2028\u2029")


def test_control_characters_are_kept_in_values_and_reported() -> None:
    """Clients show them to their model; the text after repair, which `check --fix` writes, is without them."""
    found = document("name: a\x07b\nmetadata:\n  k\x1b[31m: [x\x9f]")
    assert values(found) == {"name": "a\x07b", "metadata": {"k\x1b[31m": ("x\x9f",)}}
    assert [item.code for item in found.findings] == ["control-character"]
    assert found.frontmatter == "name: ab\nmetadata:\n  k[31m: [x]\n"


def test_a_file_with_private_characters_loses_its_control_characters() -> None:
    """The reader uses private characters in their place, so it could not tell them apart."""
    assert values(document("name: a\x07b\U000f0007\n")) == {"name": "ab\U000f0007"}


@given(front_matters())
def test_a_repaired_text_needs_no_repair(front: str) -> None:
    """And has the same fields."""
    found = document(front)
    codes = {item.code for item in found.findings}
    assume(found.frontmatter is not None and codes.isdisjoint(("yaml-syntax", "control-character")))
    assert found.frontmatter is not None
    again = parse_frontmatter(f"---\n{found.frontmatter.removesuffix(chr(10))}\n---\n".encode())
    assert [item.code for item in again.findings if item.code.startswith(("repair-", "control-", "yaml-syntax"))] == []
    assert values(again) == values(found)


@given(plain_values(), st.sampled_from(["{}: {}\nb: c", "a: b\n{}: {}", "m:\n  k: v\n  {}: {}\nb: c", "m:\n- {}: {}"]))
def test_a_repair_equals_quoting_by_hand(value: str, around: str) -> None:
    found = document(around.format("description", value))
    codes = {item.code for item in found.findings}
    assume(codes & {"repair-colon", "repair-indicator"} and "yaml-syntax" not in codes)
    by_hand = document(around.format("description", "'" + value.replace("'", "''") + "'"))
    assert by_hand.findings == ()
    assert values(found) == values(by_hand)


@given(
    st.sampled_from(["123", "1.10", "yes", "no", "null", "~", "0x1F", "1e3", "2026-11-01", "1:30", "0o7", ".inf", "="])
)
def test_a_plain_scalar_is_always_text(text: str) -> None:
    """It is the text its author typed, at any position."""
    found = document(f"a: {text}\nb: [{text}]\nc: {{k: {text}}}\nd:\n  - {text}\n{text}: e")
    assert values(found) == {"a": text, "b": (text,), "c": {"k": text}, "d": (text,), text: "e"}
    assert found.findings == ()


@pytest.mark.parametrize(
    ("front", "code", "line", "column", "message"),
    [
        pytest.param("a: b\nc: d: e", "repair-colon", 3, 4, "the unquoted value contains `: `", id="colon"),
        pytest.param(
            "a: @b",
            "repair-indicator",
            2,
            4,
            "the unquoted value begins with `@`, which YAML reserves",
            id="indicator",
        ),
        pytest.param("a:\n\tb: c", "repair-tab", 3, 1, "the line is indented with a tab", id="tab"),
        pytest.param(
            "a: \x07b",
            "control-character",
            2,
            4,
            "the front matter contains the control character U+0007",
            id="control",
        ),
        pytest.param("a: b\na: c", "yaml-duplicate-key", 3, 1, "duplicate key `a`", id="duplicate"),
        pytest.param("a: *b\nc: &d e", "yaml-anchor", 3, 4, "the anchor `&d` is not allowed", id="anchor"),
        pytest.param("a: !!str b", "yaml-tag", 2, 4, "the tag `tag:yaml.org,2002:str` is not allowed", id="tag"),
    ],
)
def test_a_finding_has_message_and_position(front: str, code: str, line: int, column: int, message: str) -> None:
    """Positions are 1-based."""
    shown = [(item.code, item.line, item.column, item.message) for item in document(front).findings]
    assert (code, line, column, message) in shown


def test_a_line_below_a_number_is_part_of_its_value() -> None:
    """A line that looks like a nested key is quoted with the value above; the repeated key is reported too."""
    found = document("a: 1\n b: 2\na: 3").findings
    assert [(item.code, item.line) for item in found] == [("repair-colon", 2), ("yaml-duplicate-key", 4)]


def test_columns_after_a_tab_are_those_of_the_file() -> None:
    """Not those of the repaired text."""
    found = document("m:\n\tk: v\n\tk: w")
    assert [(item.code, item.line, item.column) for item in found.findings] == [
        ("repair-tab", 3, 1),
        ("repair-tab", 4, 1),
        ("yaml-duplicate-key", 4, 2),
    ]


def test_at_most_twenty_findings_of_one_code_are_reported() -> None:
    assert len(document("a: b\n" * 100).findings) == 20


def test_repairs_that_do_not_help_are_not_reported() -> None:
    assert [item.code for item in document('a: b: c\nd: "e').findings] == ["yaml-syntax"]


@pytest.mark.parametrize(
    "front",
    [
        pytest.param("[" * 65_000, id="brackets"),
        pytest.param("{a: " * 16_000, id="braces"),
        pytest.param("? " * 32_000, id="question-marks"),
        pytest.param("- " * 32_000, id="dashes"),
        pytest.param("a: b: c\n" * 8_000, id="colons"),
        pytest.param("a: " + "b: " * 21_000, id="colons-in-a-line"),
        pytest.param("".join(f"k{i}: v\n" for i in range(5_000)) + "a: b: c\n" * 30, id="colons-at-the-end"),
        pytest.param("a: @b\n" * 10_000, id="at-signs"),
        pytest.param("a: {{b}}\n" * 7_000, id="templates"),
        pytest.param("\ta: b\n" * 10_000, id="tabs"),
        pytest.param("a:" + "\t" * 65_000, id="tabs-in-a-line"),
        pytest.param("a" + " " * 65_000 + "x", id="blanks-in-a-key"),
        pytest.param("a: |" + " " * 65_000 + "x", id="blanks-after-a-pipe"),
        pytest.param("a: b" + " " * 65_000 + "x: y", id="blanks-in-a-value"),
        pytest.param("a: '" + "x\n" * 32_000, id="open-quote"),
        pytest.param("\n".join(" " * i + "a:" for i in range(350)), id="steps"),
        pytest.param("a: &a x\nb: [" + "*a," * 21_000 + "]", id="aliases"),
        pytest.param("\x01" * 65_000, id="control-characters"),
        pytest.param("a: \x07[" + "&a b," * 9_000 + "]", id="anchors-behind-a-control-character"),
        pytest.param("{" + "".join(f"k{i}: v," for i in range(6_000)) + "x: \x07y}", id="keys-before-a-control"),
        pytest.param("\u2028" * 21_000, id="line-separators"),
    ],
)
def test_hostile_front_matter_is_parsed_quickly(front: str) -> None:
    """64 KiB of text that makes parsers slow take four times as long as 16 KiB."""
    assert len(front.encode()) <= MAX_FRONTMATTER_BYTES
    assert_linear(document, front)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(" <!-- -->\n" * 100_000, id="comments"),
        pytest.param("<!--" * 250_000, id="open-comments"),
        pytest.param("# \n" * 300_000, id="headings"),
        pytest.param("---\n" + "--- x\n" * 150_000, id="fences-with-text"),
    ],
)
def test_hostile_files_without_front_matter_are_parsed_quickly(text: str) -> None:
    """1 MiB without a fence takes four times as long as 256 KiB."""
    assert_linear(parse_frontmatter, text.encode())


@examples(0.5)
@given(st.text(st.sampled_from("ab\x85\u2028\u2029 :\n"), max_size=40))
def test_only_lf_ends_a_line(text: str) -> None:
    """Other line ends of YAML 1.1 are text, as in YAML 1.2, so a value cannot add a key."""
    found = document(f"x: '{text}'\nlast: y")
    assert set(found.fields) == {"x", "last"}
    assert found.fields["last"].line == 3 + text.count("\n")
