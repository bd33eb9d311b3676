"""Reading the keys of a file by a table, its errors, and its JSON Schema."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings, strategies as st

from prowess.agent.role._schema import FieldSpec, FieldTable, map_items, read_fields, schema
from prowess.skill._forms import FindingCollector, MappingReader, read_yaml_mapping

TABLE: FieldTable = {
    "word": FieldSpec(kind="text", doc="", needed=True),
    "choice": FieldSpec(kind="text", doc="", default="a", choices=("a", "b")),
    "words": FieldSpec(kind="texts", doc="", default=("x",)),
    "choices": FieldSpec(kind="texts", doc="", default=(), choices=("GET", "PUT")),
    "on": FieldSpec(kind="truth", doc="", default=True),
    "count": FieldSpec(kind="integer", doc="", default=3, minimum=1, maximum=5),
    "seconds": FieldSpec(kind="number", doc="", default=1.5, maximum=10),
    "degree": FieldSpec(kind="number", doc="", inclusive=True, maximum=2),
    "env": FieldSpec(kind="text-map", doc="", default={}),
    "inner": FieldSpec(kind="map", doc="", keys={"deep": FieldSpec(kind="integer", doc="", default=0)}, default={}),
    "rows": FieldSpec(kind="maps", doc="", keys={"name": FieldSpec(kind="text", doc="", needed=True)}, default=()),
    "free": FieldSpec(kind="map", keys={"deep": FieldSpec(kind="integer")}, is_open=True, default={}),
    "whatever": FieldSpec(kind="any"),
    "events": FieldSpec(
        kind="typed-maps", variants={"a": {"name": FieldSpec(kind="text", needed=True)}, "GET": {}}, default=()
    ),
    "unused": FieldSpec(kind="integer", unused="nothing", maximum=5),
    "gone": FieldSpec(kind="refused", doc="it is dangerous", hint="remove it"),
}
DEFAULTS = {
    "choice": "a",
    "words": ("x",),
    "choices": (),
    "on": True,
    "count": 3,
    "seconds": 1.5,
    "degree": None,
    "env": {},
    "inner": {},
    "rows": (),
    "free": {},
    "whatever": None,
    "events": (),
}


def read_text(text: str, **readers: Any) -> tuple[dict[str, Any], list[str]]:
    """Read a text by the table; return its values and its findings."""
    report = FindingCollector("f.yaml", "role-invalid")
    form = read_yaml_mapping(text.encode(), report)
    assert form is not None
    values = read_fields(form, TABLE, readers)
    return values, [f"{item.line}:{item.column} {item.message}" for item in report.findings]


def test_missing_and_empty_keys_have_defaults() -> None:
    """Changing a returned default does not change the table."""
    assert read_text("word: w\n") == ({"word": "w", **DEFAULTS}, [])
    assert read_text("word: w\n" + "".join(f"{name}:\n" for name in TABLE if name != "word")) == (
        {"word": "w", **DEFAULTS},
        [],
    )
    read_text("word: w\n")[0]["env"]["A"] = "changed"
    assert read_text("word: w\n")[0]["env"] == {}


def test_each_kind_is_read() -> None:
    """Text is what the author typed."""
    text = (
        "word: 012\nchoice: b\nwords: [1.0, yes]\nchoices: [PUT]\non: false\ncount: 5\nseconds: 0.25\ndegree: 0\n"
        "env: {A: 1}\ninner: {deep: 7}\nrows:\n- name: n\nfree: {deep: 1, other: [x]}\n"
        "events: [{type: a, name: n}, {type: b, x: []}]\n"
    )
    assert read_text(text) == (
        {
            "word": "012",
            "choice": "b",
            "words": ("1.0", "yes"),
            "choices": ("PUT",),
            "on": False,
            "count": 5,
            "seconds": 0.25,
            "degree": 0.0,
            "env": {"A": "1"},
            "inner": {"deep": 7},
            "rows": ({"name": "n"},),
            "free": {"deep": 1},
            "whatever": None,
            "events": ("a", "b"),
        },
        [],
    )


def test_all_errors_are_reported_together() -> None:
    """Each with its place; the value is then the default."""
    text = (
        "wrd: w\nchoice: c\nwords: w\nchoices: [GOT]\non: on\ncount: 6\nseconds: 0\ndegree: -1\nenv: [A]\n"
        "inner: {deep: x, dep: 1}\nrows:\n- nam: n\n- x\nfree: {deep: x}\nevents: [{type: a}, {name: n}]\nunused: 6\n"
        "gone: 1\n"
    )
    values, messages = read_text(text)
    assert messages == [
        "1:1 unknown key `wrd`",
        "16:9 `unused` is a number (`6`), not a whole number from 0 to 5",
        "17:7 `gone` is not supported: it is dangerous",
        "1:1 missing key `word`",
        "2:9 invalid value `c` of `choice`",
        "3:8 `words` is text (`w`), not a list of texts",
        "4:10 invalid value `GOT` in `choices`",
        "5:5 `on` is text (`on`), not true or false",
        "6:8 `count` is a number (`6`), not a whole number from 1 to 5",
        "7:10 `seconds` is a number (`0`), not a number above 0 and at most 10",
        "8:9 `degree` is a number (`-1`), not a number from 0 to 2",
        "9:6 `env` is a list, not a map of texts",
        "10:18 unknown key `inner.dep`",
        "10:15 `inner.deep` is text (`x`), not a whole number from 0 to 1000000000",
        "13:3 `rows[1]` is text (`x`), not a map",
        "12:3 unknown key `rows[0].nam`",
        "12:3 missing key `rows[0].name`",
        "14:14 `free.deep` is text (`x`), not a whole number from 0 to 1000000000",
        "15:10 missing key `events[0].name`",
        "15:21 missing key `events[1].type`",
    ]
    assert (values["choice"], values["on"], values["count"], values["seconds"]) == ("a", True, 3, 1.5)
    assert values["inner"] == {"deep": 0}


def test_a_key_that_is_not_used_is_checked_and_remembered() -> None:
    """With the place of the key and what to use instead; it has no value."""
    report = FindingCollector("f.yaml", "role-invalid")
    form = read_yaml_mapping(b"word: w\n\nunused: 4\n", report)
    assert form is not None
    assert read_fields(form, TABLE) == {"word": "w", **DEFAULTS}
    ((key, node, instead),) = report.unused
    assert (key, node.line, node.column, instead) == ("unused", 3, 1, "nothing")
    assert report.findings == []


def test_a_kind_can_have_a_custom_reader() -> None:
    """It gets the form and the key; it is not called for a missing key."""

    def read_in_capitals(form: MappingReader, name: str) -> str:
        return (form.get_text(name) or "").upper()

    report = FindingCollector("f.yaml", "role-invalid")
    form = read_yaml_mapping(b"a: x\n", report)
    assert form is not None
    table = {"a": FieldSpec(kind="loud", doc=""), "b": FieldSpec(kind="loud", doc="", default="silence")}
    assert read_fields(form, table, {"loud": read_in_capitals}) == {"a": "X", "b": "silence"}
    assert map_items(form, "a") == []
    assert [item.message for item in report.findings] == ["`a` is text (`x`), not a list"]


def test_the_schema_is_valid_json_schema() -> None:
    """It contains defaults, and required texts must not be empty."""
    made = schema(TABLE)
    jsonschema.Draft202012Validator.check_schema(made)
    assert made["required"] == ["word"]
    assert made["additionalProperties"] is False
    assert made["properties"]["word"] == {
        "type": ["string", "number", "boolean"],
        "pattern": r"\S",
    }
    assert made["properties"]["count"] == {
        "type": ["integer", "null"],
        "minimum": 1,
        "maximum": 5,
        "default": 3,
    }
    assert made["properties"]["words"]["default"] == ["x"]


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 7),
    st.sampled_from([0.0, 0.5, 2.5, 11.5]),
    st.sampled_from(["", "a", "GET"]),
)
_VALUES = st.one_of(
    _SCALARS,
    st.lists(st.sampled_from(["a", "GET", 1]), max_size=2),
    st.dictionaries(st.sampled_from(["deep", "A", "name"]), _SCALARS, max_size=2),
    st.lists(st.dictionaries(st.sampled_from(["type", "name"]), _SCALARS, max_size=2), max_size=2),
)


VALIDATOR: Any = jsonschema.Draft202012Validator(schema(TABLE))


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from([*TABLE, "other"]), _VALUES, max_size=5))
def test_the_schema_accepts_exactly_what_the_reader_accepts(value: dict[str, Any]) -> None:
    """For values that YAML 1.2 and JSON Schema name alike; here `1.0` is not an integer."""
    messages = read_text(yaml.safe_dump(value, sort_keys=False) if value else "{}")[1]
    valid = VALIDATOR.is_valid(value)
    assert (messages == []) is valid, messages


@pytest.mark.parametrize(
    "text", ["on: yes\nword: w", "on: True\nword: w", "count: 0x3\nword: w", "count: 3.0\nword: w"]
)
def test_yaml_1_1_booleans_and_numbers_are_rejected(text: str) -> None:
    """YAML readers disagree about `yes`, `True` and `0x3`."""
    assert len(read_text(text)[1]) == 1
