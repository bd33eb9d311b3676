"""Files that people write for Prowess: every problem is reported with its position."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, strategies as st

from prowess.skill._forms import (
    MAX_BYTES,
    FindingCollector,
    MappingReader,
    read_json_mapping,
    read_yaml_list,
    read_yaml_mapping,
)
from prowess.skill._json_nodes import json_value
from prowess.skill._yaml import YamlSyntaxError, parse_yaml_node
from support.growth import assert_linear, calls_at_most

if TYPE_CHECKING:
    from prowess.findings import Finding


def report() -> FindingCollector:
    return FindingCollector("a.yaml", "test-invalid")


def read(text: str | bytes) -> tuple[MappingReader | None, list[str]]:
    """Return the map in a YAML text, and its findings, one line each."""
    data = text.encode() if isinstance(text, str) else text
    collector = report()
    return read_yaml_mapping(data, collector), list(map(line, collector.findings))


def line(item: Finding) -> str:
    place = ":".join(str(part) for part in (item.line, item.column) if part is not None)
    return f"{place}: {item.message}{f' ({item.hint})' if item.hint else ''}"


def form(text: str) -> tuple[MappingReader, FindingCollector]:
    collector = report()
    mapping = read_yaml_mapping(text.encode(), collector)
    assert mapping is not None
    return mapping, collector


def from_json(text: str) -> tuple[MappingReader | None, list[str]]:
    collector = report()
    return read_json_mapping(text.encode("utf-8", "surrogatepass"), collector), list(map(line, collector.findings))


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", ": the file is empty (add its content, or remove the file)", id="empty"),
        pytest.param("# nothing\n", ": the file is empty (add its content, or remove the file)", id="a-comment"),
        pytest.param("- a\n", "1:1: the file is a list, not `key: value` lines (write `key: value` lines)", id="list"),
        pytest.param(
            "text\n", "1:1: the file is text (`text`), not `key: value` lines (write `key: value` lines)", id="text"
        ),
        pytest.param("a: 1\nb: 2\na: 3\n", "3:1: duplicate key `a` (remove one of them)", id="twice"),
        pytest.param("a:\n  b: 1\n  b: 2\n", "3:3: duplicate key `b` (remove one of them)", id="twice-below"),
        pytest.param(
            "a: &x 1\nb: *x\n",
            "1:4: YAML anchors and aliases are not allowed (write the value itself, or put it in quotes)",
            id="anchor",
        ),
        pytest.param(
            "a: !!python/object/apply:os.system [id]\n",
            "1:4: the tag `tag:yaml.org,2002:python/object/apply:os.system` is not allowed"
            " (remove the tag, or put the value in quotes)",
            id="tag",
        ),
        pytest.param(
            "a: 1\n---\nb: 2\n", "2:1: the file has more than one YAML document (write a file for each)", id="two"
        ),
        pytest.param("[a]: 1\n", "1:1: the file has a list or a map as a key (fix the YAML there)", id="list-as-key"),
        pytest.param(
            "a: \x07\n",
            "1:4: the character U+0007 is not allowed in YAML"
            " (remove it, or write it as an escape between double quotes)",
            id="control",
        ),
        pytest.param(
            "a: 1\nb: \x00\n",
            "2:4: the character U+0000 is not allowed in YAML"
            " (remove it, or write it as an escape between double quotes)",
            id="nul",
        ),
        pytest.param(b"a: \xff\n", ": byte 0xff at offset 3 is not UTF-8 (save the file as UTF-8)", id="latin-1"),
        pytest.param(
            "a: 1\n".encode("utf-16"), ": byte 0xff at offset 0 is not UTF-8 (save the file as UTF-8)", id="utf-16"
        ),
        pytest.param(b"#" * (MAX_BYTES + 1), ": the file is larger than 256 KiB (split the file)", id="large"),
    ],
)
def test_yaml_that_is_not_a_map_is_reported(text: str | bytes, words: str) -> None:
    """One finding with position and hint."""
    assert read(text) == (None, [words])


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("a:\n\tb: 1\n", "2:1", "fix the YAML there"),
        ("a: [1\n", "2:1", "fix the YAML there"),
        ('a: "x\n', "1:4", "fix the YAML there"),
        ('a: "\\ud800"\n', "1:7", "fix the YAML there"),
        ("a: b: c\n", "1:5", "fix the YAML there"),
    ],
    ids=["tab", "unclosed", "quote", "lone-surrogate", "colon"],
)
def test_invalid_yaml_is_reported_at_its_position(text: str, place: str, hint: str) -> None:
    """With the message of the parser."""
    mapping, (finding,) = read(text)
    assert mapping is None
    assert finding.startswith(f"{place}: the file is not valid YAML: ")
    assert finding.endswith(f"({hint})")


def test_a_yaml_bomb_is_refused_quickly() -> None:
    """Bombs of aliases, of depth, and of many events."""
    with calls_at_most(4_000_000):
        laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{b}: &{b} [{','.join(f'*{a}' for _ in range(9))}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
        )
        assert "anchors and aliases" in read(laughs)[1][0]
        assert read("[" * 100_000)[1] == ["1:65: the file nests more than 64 levels (use fewer levels)"]
        assert "nests more than 64 levels" in read("{a: " * 50_000)[1][0]
        assert "nests more than 64 levels" in read("- " * 100_000)[1][0]
        assert read("a: [" + "x," * 100_000 + "]")[1][0].startswith(
            "1:39995: the file has more than 20,000 YAML events"
        )
        with pytest.raises(YamlSyntaxError, match="more than 20,000 YAML events"):
            parse_yaml_node("- x\n" * 1_000_000)


@pytest.mark.parametrize(("depth", "fits"), [(64, True), (65, False)])
def test_sixty_four_levels_are_allowed(depth: int, fits: bool) -> None:
    """As in a front matter."""
    assert (read("{a: " * depth + "1" + "}" * depth)[1] == []) is fits


def test_a_byte_order_mark_and_windows_line_ends_are_ignored() -> None:
    """Text of several lines has line feeds."""
    plain, _ = form("a: |\n  x\n  y\nb: 1\n")
    mapping, collector = read(b"\xef\xbb\xbfa: |\r\n  x\r\n  y\r\nb: 1\r\n")
    assert mapping is not None
    assert (mapping.node, collector) == (plain.node, [])
    assert mapping.get_text("a") == "x\ny\n"


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_line_breaks_of_yaml_1_1_are_text(mark: str, quote: str) -> None:
    """In YAML 1.2 a line ends only at CR and LF."""
    mapping, _ = form(f"a: {quote}x{mark}y{quote}\nb: 1\n")
    assert (mapping.get_text("a"), mapping.get_text("b")) == (f"x{mark}y", "1")


def test_tabs_between_key_and_value_are_allowed() -> None:
    """Only an indentation must not have them."""
    assert form("a:\t1\n")[0].get_text("a") == "1"


def test_every_value_has_a_position() -> None:
    """Line and column are 1-based, in characters."""
    mapping, _ = form("# é\nä: [x, 'y']\n")
    assert [(key.line, key.column) for key in mapping.node.keys] == [(2, 1)]
    assert [(item.line, item.column) for item in mapping.node.items[0].items] == [(2, 5), (2, 8)]


def test_at_most_fifty_findings_are_reported() -> None:
    """The last says that there are more."""

    def read(count: int) -> list[Finding]:
        mapping, collector = form("".join(f"stdout-contain{number}: 1\n" for number in range(count)))
        mapping.allow_only("stdout-contains", "stderr-contains")
        return collector.findings

    found = read(5_000)
    assert len(found) == 50
    assert line(found[-1]) == "50:1: more problems are not shown (fix the problems above, then check again)"
    assert_linear(read, 5_000)


def test_messages_are_safe_to_show() -> None:
    """They contain no control characters and no marks that change the direction of text."""
    mapping, collector = form('"a\\e[2J\u202e": 1\nb: "\\e[31m"\n')
    mapping.allow_only("b")
    mapping.get_integer("b", 0, 1)
    assert "".join(item.message for item in collector.findings).isprintable()
    assert [line(item) for item in collector.findings] == [
        "1:1: unknown key `a\\x1b[2J\\u202e` (the known keys are b)",
        "2:4: `b` is text (`\\x1b[31m`), not a whole number from 0 to 1",
    ]


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "1:1: the file is not valid JSON: expecting value (fix the JSON there)"),
        ("[1]", "1:1: the file is a list, not an object (write an object)"),
        ("null", "1:1: the file is empty (`null`), not an object (write an object)"),
        ('{"a": 1,}', None),
        ('{"a": 1} {"b": 2}', "1:10: the file is not valid JSON: extra data (fix the JSON there)"),
        ('{"a": 1, "a": 2}', ": the file is not valid JSON: duplicate key `a` (fix the JSON)"),
        ('{"a": NaN}', ": the file is not valid JSON: `NaN` is not a JSON value (fix the JSON)"),
        ('{"a": -Infinity}', ": the file is not valid JSON: `-Infinity` is not a JSON value (fix the JSON)"),
        ('{"a": "\\ud800"}', ": the file is not valid JSON: `\\ud800` contains a lone surrogate (fix the JSON)"),
        ('{"\\ud800": 1}', ": the file is not valid JSON: `\\ud800` contains a lone surrogate (fix the JSON)"),
        ('{"a": "\n"}', "1:8: the file is not valid JSON: invalid control character (fix the JSON there)"),
        ("[" * 100_000, ": the file is not valid JSON: too many levels (use fewer levels)"),
    ],
    ids=str,
)
def test_json_that_is_not_an_object_is_reported(text: str, words: str | None) -> None:
    """With a position if the JSON parser has one."""
    mapping, (finding,) = from_json(text)
    assert mapping is None
    assert words is None or finding == words


def test_json_values_have_positions() -> None:
    """Unless the text is not also YAML."""
    collector = report()
    mapping = read_json_mapping(b'\xef\xbb\xbf{\r\n\t"a": [\r\n "x", {"b": 1}],\r\n "c": ""\r\n}', collector)
    assert mapping is not None
    (a, c), (inner, _) = mapping.node.keys, mapping.node.items
    places = [(item.line, item.column) for item in (mapping.node, a, inner, *inner.items, inner.items[1].items[0], c)]
    assert places == [(1, 1), (2, 2), (2, 7), (3, 2), (3, 7), (3, 13), (4, 2)]
    mapping = read_json_mapping(b'{"a": "\\ud83d\\ude00"}', collector)
    assert mapping is not None
    assert (mapping.get_text("a"), mapping.node.line, collector.findings) == ("\U0001f600", None, [])


@pytest.mark.slow
def test_json_with_many_keys_is_read_quickly() -> None:
    """A repeated key is still reported."""

    def read(count: int) -> None:
        keys = [f'"{number}":1' for number in range(count)]
        assert from_json("{" + ",".join(keys) + "}")[1] == []
        assert from_json("{" + ",".join([*keys, '"7":1']) + "}")[1][0].startswith(
            ": the file is not valid JSON: duplicate key `7`"
        )

    assert_linear(read, 20_000)


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("typed", ["yes", "012", "2024-01-01", "1_000", "12", "true", "0x10", ".5", "1:30", "é", "-"])
def test_text_is_what_its_author_typed(typed: str) -> None:
    """With quotes or without."""
    for written in (typed, f"'{typed}'", f'"{typed}"'):
        if written != "-":
            assert form(f"a: {written}\n")[0].get_text("a") == typed


def test_null_is_text_only_in_quotes() -> None:
    """`null`, `~` and no value are missing; in quotes they are text."""
    for written in ("null", "~", "", "Null"):
        assert form(f"a: {written}\n")[0].get_text("a") is None
    for written in ("null", "~", ""):
        assert form(f"a: '{written}'\n")[0].get_text("a") == written


@pytest.mark.parametrize(
    "wrong", ["text", '"0"', "true", "1.5", "1e1", "012", "0x1", "+1", "-1", "256", "1_0", "9" * 10_000, "[1]", ".inf"]
)
def test_a_whole_number_has_digits_without_quotes(wrong: str) -> None:
    """And is within its range."""
    mapping, collector = form(f"a: {wrong}\n")
    assert mapping.get_integer("a", 0, 255) is None
    (item,) = collector.findings
    assert item.message.endswith("not a whole number from 0 to 255")
    assert (item.hint == "write it without quotes") is (wrong == '"0"')
    assert form("a: 255\n")[0].get_integer("a", 0, 255) == 255


@pytest.mark.parametrize(
    "wrong", ["0", "-1", "1e999", "-1e999", "true", '"30"', "[]", "{}", "1" * 400, "86401", "0.0", "1e-999"]
)
def test_a_number_must_be_in_its_range(wrong: str) -> None:
    """Numbers too large for a float are outside."""
    collector = report()
    mapping = read_json_mapping(f'{{"a": {wrong}}}'.encode(), collector)
    assert mapping is not None
    assert mapping.get_number("a", minimum=0, maximum=86_400) is None
    (item,) = collector.findings
    assert item.message.endswith("not a number above 0 and at most 86400")
    assert (item.hint == "write it without quotes") is (wrong == '"30"')


@pytest.mark.parametrize("right", ["30", "0.5", "1e1", "86400", "1E-3"])
def test_a_number_may_be_written_as_in_json(right: str) -> None:
    """With a fraction, with an exponent."""
    mapping, collector = from_json(f'{{"a": {right}}}')
    assert mapping is not None
    assert mapping.get_number("a", minimum=0, maximum=86_400) == float(right)
    assert collector == []


def test_a_list_of_texts_contains_only_texts() -> None:
    """An empty item, a list and a map are reported."""
    mapping, collector = form("a:\n- x\n- 1\n- true\n- ''\n-\n- [y]\n- z: 1\n")
    assert mapping.get_texts("a") == ("x", "1", "true", "", "")
    assert [line(item) for item in collector.findings] == [
        "6:2: `a[4]` is empty, not text (put it in quotes)",
        "7:3: `a[5]` is a list, not text (put it in quotes)",
        "8:3: `a[6]` is a map, not text (put it in quotes)",
    ]
    mapping, collector = form("a: x\n")
    assert mapping.get_texts("a") == ()
    hint = "write it below `a:`, after a dash"
    assert [line(item) for item in collector.findings] == [f"1:4: `a` is text (`x`), not a list of texts ({hint})"]


def test_an_unknown_key_is_reported_with_a_similar_one() -> None:
    """Or with all known keys; its path is complete."""
    mapping, collector = form("a:\n  exit_code: 0\n  zzz: 1\n")
    inner = mapping.get_mapping("a")
    assert inner is not None
    inner.allow_only("exit-code", "stdout")
    assert [line(item) for item in collector.findings] == [
        "2:3: unknown key `a.exit_code` (did you mean `exit-code`?)",
        "3:3: unknown key `a.zzz` (the known keys are exit-code, stdout)",
    ]


def test_a_missing_key_is_reported() -> None:
    """The hint is in the format of the file."""
    mapping, collector = form("a: 1\nb: null\n")
    assert mapping.get_text("b", required=True) is None
    assert mapping.get_mapping("c", required=True) is None
    assert [line(item) for item in collector.findings] == [
        "2:4: missing key `b` (add `b: ...`)",
        "1:1: missing key `c` (add `c: ...`)",
    ]
    collector = report()
    json_mapping = read_json_mapping(b"{}", collector)
    assert json_mapping is not None
    json_mapping.get("version", required=True)
    assert [line(item) for item in collector.findings] == ['1:1: missing key `version` (add `"version": ...`)']


def test_a_key_without_value_can_be_reported() -> None:
    """`null` is written on purpose; a missing value may be a mistake."""
    mapping, collector = form("a:\nb: null\nc: ''\n")
    mapping.report_empty("a", "b", "c", "d")
    hint = "write its value, or remove the key"
    assert [line(item) for item in collector.findings] == [f"1:3: `a` is empty ({hint})"]


def test_a_list_of_maps_omits_and_reports_other_items() -> None:
    collector = report()
    forms = read_yaml_list(b"- a: 1\n- text\n- [b]\n", collector)
    assert [item.prefix for item in forms] == ["[0]"]
    assert [line(item) for item in collector.findings] == [
        "2:3: `[1]` is text (`text`), not `key: value` lines (write `key: value` after its dash)",
        "3:3: `[2]` is a list, not `key: value` lines (write `key: value` after its dash)",
    ]
    collector = report()
    assert read_yaml_list(b"a: 1\n", collector) == []
    hint = "begin each item with a dash"
    assert [line(item) for item in collector.findings] == [f"1:1: the file is a map, not a list ({hint})"]
    collector = report()
    assert read_yaml_list(b"", collector) == []
    assert [line(item) for item in collector.findings] == [": the file is empty (add its content, or remove the file)"]


# ── JSON values ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("1", 1),
        ("-0", 0),
        ("1.0", 1.0),
        ("1e5", 100_000.0),
        ("1E-2", 0.01),
        ("12345678901234567890", 12345678901234567890),
        # Not a JSON literal: text.
        ("012", "012"),
        ("yes", "yes"),
        ("True", "True"),
        ("NULL", "NULL"),
        ("~", "~"),
        ("", ""),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("0o7", "0o7"),
        (".5", ".5"),
        ("5.", "5."),
        ("+1", "+1"),
        ("NaN", "NaN"),
        (".nan", ".nan"),
        ("Infinity", "Infinity"),
        ("-.inf", "-.inf"),
        ("1:30", "1:30"),
        ("٣", "٣"),
        # Quoted, or in a block: text.
        ('"1"', "1"),
        ("'true'", "true"),
        ('"null"', "null"),
        ("|-\n  1", "1"),
        (">-\n  true", "true"),
        # Too large for Python.
        ("1e999", "1e999"),
        ("9" * 10_000, "9" * 10_000),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_plain_json_literal_has_its_json_type(typed: str, value: object) -> None:
    """Anything else is text."""
    node = form(f"a: {typed}\n")[0].get("a", null_is_missing=False)
    assert node is not None
    mapping = json_value(node)
    assert (type(mapping), mapping) == (type(value), value)


def test_keys_are_text() -> None:
    """As JSON has them."""
    mapping, _ = form("1: {yes: [null], ~: {}}\n")
    assert json_value(mapping.node) == {"1": {"yes": [None], "~": {}}}


_TEXT = st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF), max_size=20)
"""Text whose JSON escapes are valid in YAML; JSON escapes higher characters as two surrogates."""
_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(_ANY)
def test_json_keeps_its_values_when_read_as_yaml(value: Any) -> None:
    """JSON is YAML, so JSON pasted into a test case keeps its meaning."""
    node = parse_yaml_node(json.dumps({"a": value}))
    assert node is not None
    assert json_value(node) == {"a": value}


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["yes", "~", "1e3", " x", "a: b", "- a"]))
def test_text_written_by_another_yaml_library_is_read_back(text: str) -> None:
    """Its rules for quotes differ from ours."""
    node = parse_yaml_node(yaml.safe_dump({"a": text}, allow_unicode=False))
    assert node is not None
    assert node.items[0].text == text


@given(
    st.binary(max_size=80) | st.text(alphabet="ab:-[]{}\"'|>#&*! \n\t\r\ufeff\x85%@`~0", max_size=40).map(str.encode)
)
def test_any_bytes_give_a_value_or_a_finding(data: bytes) -> None:
    """No parser raises."""
    for reader in (read_yaml_mapping, read_json_mapping, read_yaml_list):
        collector = report()
        mapping = reader(data, collector)
        assert mapping is not None or collector.findings
