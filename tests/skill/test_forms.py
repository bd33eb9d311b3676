"""Files that people write for Prowess: nothing is guessed, and whatever is wrong is told with its place."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from prowess.skill._forms import (
    MAX_BYTES,
    FindingCollector,
    MappingReader,
    read_json_mapping,
    read_yaml_list,
    read_yaml_mapping,
)
from prowess.skill._json_nodes import json_value
from prowess.skill._yaml import YamlSyntaxError
from prowess.skill._yaml_nodes import Node, parse_yaml_node
from support import strategies  # noqa: F401 - loads the profile

if TYPE_CHECKING:
    from prowess.findings import Finding


def report() -> FindingCollector:
    return FindingCollector("a.yaml", "test-invalid")


def read(text: str | bytes) -> tuple[MappingReader | None, list[str]]:
    """Read YAML; return it and what is wrong, each in a line."""
    data = text.encode() if isinstance(text, str) else text
    told = report()
    return read_yaml_mapping(data, told), list(map(line, told.findings))


def line(item: Finding) -> str:
    place = ":".join(str(part) for part in (item.line, item.column) if part is not None)
    return f"{place}: {item.message}{f' ({item.hint})' if item.hint else ''}"


def form(text: str) -> tuple[MappingReader, FindingCollector]:
    told = report()
    made = read_yaml_mapping(text.encode(), told)
    assert made is not None
    return made, told


def from_json(text: str) -> tuple[MappingReader | None, list[str]]:
    told = report()
    return read_json_mapping(text.encode("utf-8", "surrogatepass"), told), list(map(line, told.findings))


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
def test_what_is_no_map_in_yaml_is_told(text: str | bytes, words: str) -> None:
    """Once, where it is, and with what to do."""
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
    ids=["tab", "unclosed", "quote", "half-a-character", "colon"],
)
def test_what_is_no_yaml_is_told_where_it_breaks(text: str, place: str, hint: str) -> None:
    """In the words of the parser."""
    made, (told,) = read(text)
    assert made is None
    assert told.startswith(f"{place}: the file is not valid YAML: ")
    assert told.endswith(f"({hint})")


def test_a_yaml_bomb_is_refused_before_it_grows() -> None:
    """Of aliases, of depth, of many events: each within a moment."""
    begun = time.perf_counter()
    laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join(f'*{a}' for _ in range(9))}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert "anchors and aliases" in read(laughs)[1][0]
    assert read("[" * 100_000)[1] == ["1:65: the file nests more than 64 levels (use fewer levels)"]
    assert "nests more than 64 levels" in read("{a: " * 50_000)[1][0]
    assert "nests more than 64 levels" in read("- " * 100_000)[1][0]
    assert read("a: [" + "x," * 100_000 + "]")[1][0].startswith("1:39995: the file has more than 20,000 YAML events")
    with pytest.raises(YamlSyntaxError, match="more than 20,000 YAML events"):
        parse_yaml_node("- x\n" * 1_000_000)
    assert time.perf_counter() - begun < 2


@pytest.mark.parametrize(("depth", "fits"), [(64, True), (65, False)])
def test_sixty_four_levels_are_taken(depth: int, fits: bool) -> None:
    """As in a front matter."""
    assert (read("{a: " * depth + "1" + "}" * depth)[1] == []) is fits


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    """Editors put them there; a text of more lines has line feeds."""
    plain, _ = form("a: |\n  x\n  y\nb: 1\n")
    made, told = read(b"\xef\xbb\xbfa: |\r\n  x\r\n  y\r\nb: 1\r\n")
    assert made is not None
    assert (made.node, told) == (plain.node, [])
    assert made.get_text("a") == "x\ny\n"


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_what_breaks_lines_in_yaml_1_1_alone_is_text(mark: str, quote: str) -> None:
    """YAML 1.2: a line ends at CR and LF."""
    made, _ = form(f"a: {quote}x{mark}y{quote}\nb: 1\n")
    assert (made.get_text("a"), made.get_text("b")) == (f"x{mark}y", "1")


def test_tabs_between_key_and_value_are_blanks() -> None:
    """Only an indentation must not have them."""
    assert form("a:\t1\n")[0].get_text("a") == "1"


def test_every_value_has_its_place() -> None:
    """Line and column from 1 on, in characters."""
    made, _ = form("# é\nä: [x, 'y']\n")
    assert [(key.line, key.column) for key in made.node.keys] == [(2, 1)]
    assert [(item.line, item.column) for item in made.node.items[0].items] == [(2, 5), (2, 8)]


def test_at_most_fifty_things_are_told_of_a_file() -> None:
    """The last is that there is more; and it does not take long."""
    begun = time.perf_counter()
    made, told = form("".join(f"stdout-contain{number}: 1\n" for number in range(5_000)))
    made.allow_only("stdout-contains", "stderr-contains")
    assert len(told.findings) == 50
    assert line(told.findings[-1]) == "50:1: more problems are not shown (fix the problems above, then check again)"
    assert time.perf_counter() - begun < 2


def test_what_is_told_can_be_shown() -> None:
    """No control of a terminal comes through, and no character that turns others around."""
    made, told = form('"a\\e[2J\u202e": 1\nb: "\\e[31m"\n')
    made.allow_only("b")
    made.get_integer("b", 0, 1)
    assert "".join(item.message for item in told.findings).isprintable()
    assert [line(item) for item in told.findings] == [
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
def test_what_is_no_object_in_json_is_told(text: str, words: str | None) -> None:
    """As for YAML; with a place where JSON's parser has one."""
    made, (told,) = from_json(text)
    assert made is None
    assert words is None or told == words


def test_what_json_says_has_its_place() -> None:
    """As far as YAML's parser tells it: of what JSON alone can write, there is none."""
    told = report()
    made = read_json_mapping(b'\xef\xbb\xbf{\r\n\t"a": [\r\n "x", {"b": 1}],\r\n "c": ""\r\n}', told)
    assert made is not None
    (a, c), (inner, _) = made.node.keys, made.node.items
    places = [(item.line, item.column) for item in (made.node, a, inner, *inner.items, inner.items[1].items[0], c)]
    assert places == [(1, 1), (2, 2), (2, 7), (3, 2), (3, 7), (3, 13), (4, 2)]
    made = read_json_mapping(b'{"a": "\\ud83d\\ude00"}', told)
    assert made is not None
    assert (made.get_text("a"), made.node.line, told.findings) == ("\U0001f600", None, [])


def test_json_with_very_many_keys_is_read_in_a_moment() -> None:
    """And the one that stands twice is found."""
    begun = time.perf_counter()
    keys = [f'"{number}":1' for number in range(20_000)]
    assert from_json("{" + ",".join(keys) + "}")[1] == []
    assert from_json("{" + ",".join([*keys, '"7":1']) + "}")[1][0].startswith(
        ": the file is not valid JSON: duplicate key `7`"
    )
    assert time.perf_counter() - begun < 2


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("typed", ["yes", "012", "2024-01-01", "1_000", "12", "true", "0x10", ".5", "1:30", "é", "-"])
def test_text_is_what_its_author_typed(typed: str) -> None:
    """With quotes or without."""
    for written in (typed, f"'{typed}'", f'"{typed}"'):
        if written != "-":
            assert form(f"a: {written}\n")[0].get_text("a") == typed


def test_nothing_is_no_text_but_quoted_it_is() -> None:
    """`null`, `~` and no value at all are none; in quotes they are texts."""
    for written in ("null", "~", "", "Null"):
        assert form(f"a: {written}\n")[0].get_text("a") is None
    for written in ("null", "~", ""):
        assert form(f"a: '{written}'\n")[0].get_text("a") == written


@pytest.mark.parametrize(
    "wrong", ["text", '"0"', "true", "1.5", "1e1", "012", "0x1", "+1", "-1", "256", "1_0", "9" * 10_000, "[1]", ".inf"]
)
def test_a_whole_number_is_typed_as_one(wrong: str) -> None:
    """Digits without quotes, in its range."""
    made, told = form(f"a: {wrong}\n")
    assert made.get_integer("a", 0, 255) is None
    (item,) = told.findings
    assert item.message.endswith("not a whole number from 0 to 255")
    assert (item.hint == "write it without quotes") is (wrong == '"0"')
    assert form("a: 255\n")[0].get_integer("a", 0, 255) == 255


@pytest.mark.parametrize(
    "wrong", ["0", "-1", "1e999", "-1e999", "true", '"30"', "[]", "{}", "1" * 400, "86401", "0.0", "1e-999"]
)
def test_a_number_is_in_its_range(wrong: str) -> None:
    """Above and at most; what a float cannot hold is in none."""
    told = report()
    made = read_json_mapping(f'{{"a": {wrong}}}'.encode(), told)
    assert made is not None
    assert made.get_number("a", above=0, most=86_400) is None
    (item,) = told.findings
    assert item.message.endswith("not a number above 0 and at most 86400")
    assert (item.hint == "write it without quotes") is (wrong == '"30"')


@pytest.mark.parametrize("right", ["30", "0.5", "1e1", "86400", "1E-3"])
def test_a_number_may_be_written_as_in_json(right: str) -> None:
    """With a fraction, with an exponent."""
    made, told = from_json(f'{{"a": {right}}}')
    assert made is not None
    assert made.get_number("a", above=0, most=86_400) == float(right)
    assert told == []


def test_a_list_of_texts_holds_texts() -> None:
    """Scalars of any look; an empty item, a list and a map are told."""
    made, told = form("a:\n- x\n- 1\n- true\n- ''\n-\n- [y]\n- z: 1\n")
    assert made.get_texts("a") == ("x", "1", "true", "", "")
    assert [line(item) for item in told.findings] == [
        "6:2: `a[4]` is empty, not text (put it in quotes)",
        "7:3: `a[5]` is a list, not text (put it in quotes)",
        "8:3: `a[6]` is a map, not text (put it in quotes)",
    ]
    made, told = form("a: x\n")
    assert made.get_texts("a") == ()
    hint = "write it below `a:`, after a dash"
    assert [line(item) for item in told.findings] == [f"1:4: `a` is text (`x`), not a list of texts ({hint})"]


def test_a_key_that_is_not_known_is_told_with_the_nearest() -> None:
    """With its whole path; where none is near, with all there are."""
    made, told = form("a:\n  exit_code: 0\n  zzz: 1\n")
    inner = made.get_mapping("a")
    assert inner is not None
    inner.allow_only("exit-code", "stdout")
    assert [line(item) for item in told.findings] == [
        "2:3: unknown key `a.exit_code` (did you mean `exit-code`?)",
        "3:3: unknown key `a.zzz` (the known keys are exit-code, stdout)",
    ]


def test_a_key_that_is_needed_is_told_where_it_is_missing() -> None:
    """In words for the format of the file."""
    made, told = form("a: 1\nb: null\n")
    assert made.get_text("b", required=True) is None
    assert made.get_mapping("c", required=True) is None
    assert [line(item) for item in told.findings] == [
        "2:4: missing key `b` (add `b: ...`)",
        "1:1: missing key `c` (add `c: ...`)",
    ]
    read_json_mapping(b"{}", told := report()).get("version", required=True)  # type: ignore[union-attr]
    assert [line(item) for item in told.findings] == ['1:1: missing key `version` (add `"version": ...`)']


def test_a_key_with_nothing_behind_it_can_be_refused() -> None:
    """`null` says that nothing is meant; nothing at all may be forgotten."""
    made, told = form("a:\nb: null\nc: ''\n")
    made.report_empty("a", "b", "c", "d")
    hint = "write its value, or remove the key"
    assert [line(item) for item in told.findings] == [f"1:3: `a` is empty ({hint})"]


def test_a_list_of_maps_leaves_out_what_is_none() -> None:
    """And says so."""
    told = report()
    forms = read_yaml_list(b"- a: 1\n- text\n- [b]\n", told)
    assert [item.prefix for item in forms] == ["[0]"]
    assert [line(item) for item in told.findings] == [
        "2:3: `[1]` is text (`text`), not `key: value` lines (write `key: value` after its dash)",
        "3:3: `[2]` is a list, not `key: value` lines (write `key: value` after its dash)",
    ]
    told = report()
    assert read_yaml_list(b"a: 1\n", told) == []
    hint = "begin each item with a dash"
    assert [line(item) for item in told.findings] == [f"1:1: the file is a map, not a list ({hint})"]
    told = report()
    assert read_yaml_list(b"", told) == []
    assert [line(item) for item in told.findings] == [": the file is empty (add its content, or remove the file)"]


# ── what JSON means in YAML ──────────────────────────────────────────────────────────────────────────────────────────


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
        # No literal of JSON: text.
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
        # What Python cannot hold.
        ("1e999", "1e999"),
        ("9" * 10_000, "9" * 10_000),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_plain_scalar_that_is_a_literal_of_json_has_its_type(typed: str, value: object) -> None:
    """Anything else is text."""
    node = form(f"a: {typed}\n")[0].get("a", null_is_missing=False)
    assert node is not None
    made = json_value(node)
    assert (type(made), made) == (type(value), value)


def test_keys_are_text() -> None:
    """As JSON has them."""
    made, _ = form("1: {yes: [null], ~: {}}\n")
    assert json_value(made.node) == {"1": {"yes": [None], "~": {}}}


_TEXT = st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF), max_size=20)
"""Of which JSON's escapes are YAML's too: those of higher characters are two halves."""
_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(_ANY)
def test_json_is_read_as_what_it_is(value: Any) -> None:
    """JSON is YAML, so pasted into a case it means the same, whatever its strings look like."""
    node = parse_yaml_node(json.dumps({"a": value}))
    assert node is not None
    assert json_value(node) == {"a": value}


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["yes", "~", "1e3", " x", "a: b", "- a"]))
def test_a_text_that_is_written_as_yaml_is_read_back(text: str) -> None:
    """By a writer that knows other rules for what must be quoted."""
    node = parse_yaml_node(yaml.safe_dump({"a": text}, allow_unicode=False))
    assert node is not None
    assert node.items[0].text == text


@given(
    st.binary(max_size=80) | st.text(alphabet="ab:-[]{}\"'|>#&*! \n\t\r\ufeff\x85%@`~0", max_size=40).map(str.encode)
)
def test_whatever_bytes_there_are_something_is_said_or_read(data: bytes) -> None:
    """Nothing is raised, by either reader."""
    for reader in (read_yaml_mapping, read_json_mapping, read_yaml_list):
        told = report()
        made = reader(data, told)
        assert made is not None or told.findings


def test_a_node_is_a_value() -> None:
    """Two that say the same are equal."""
    assert parse_yaml_node("a") == Node(kind="text", text="a", plain=True, line=1, column=1)
