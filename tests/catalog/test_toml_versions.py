"""TOML 1.1 is written as TOML 1.0."""

from __future__ import annotations

import time
import tomllib

import pytest
from hypothesis import given, strategies as st

from prowess.catalog._toml_versions import as_toml_1_0
from support import strategies  # noqa: F401 - its profile makes every run the same


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x = {a = 1,\n b = 2,\n}", {"a": 1, "b": 2}),
        ("x = {a = 1, # one } comment\n b = [1,\n 2,\n], }", {"a": 1, "b": [1, 2]}),
        ("x = [{a = 1,},\n {a = 2,\r\n}]", [{"a": 1}, {"a": 2}]),
        ("x = {\n}", {}),
        ('x = "\\x41\\e\\\\x41"', "A\x1b\\x41"),
        ('x = """\\x41\n{a,\n}"""', "A\n{a,\n}"),
        ("x = '\\x41 {a,}'", "\\x41 {a,}"),
        ('x = {"a # }" = "{,}",}', {"a # }": "{,}"}),
        ("x = ['07:32', \"07:32\"] # 07:32", ["07:32", "07:32"]),
    ],
)
def test_newer_forms_are_read(text: str, value: object) -> None:
    """Inline tables over several lines, and escapes; texts and comments that look like them stay."""
    assert tomllib.loads(as_toml_1_0(text)) == {"x": value}


def test_times_may_lack_seconds() -> None:
    read = tomllib.loads(as_toml_1_0("x = 2026-11-22T07:32\ny = 07:32\nz = 07:32:10\n"))
    assert [str(value) for value in read.values()] == ["2026-11-22 07:32:00", "07:32:00", "07:32:10"]


@pytest.mark.parametrize(
    "text", ["x = {,}", "x = {a = 1,,}", "x = {a = 1", 'x = "\\q"', 'x = "a', "x = [1}", 'x = """']
)
def test_what_is_invalid_stays_invalid(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(as_toml_1_0(text))


@given(st.text(alphabet="a=\"'\\{}[],#\n x1:.e", max_size=40))
def test_valid_toml_keeps_its_meaning(text: str) -> None:
    """Whatever TOML 1.0 accepts is the same afterwards."""
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        as_toml_1_0(text)
        return
    assert tomllib.loads(as_toml_1_0(text)) == value


@pytest.mark.parametrize(
    "text",
    ['"""a\\"' * 15_000, "'''a'" * 20_000, '"' * 100_000, "{" * 100_000, "{a=1,\n" * 15_000, '"' + '\\"' * 200_000],
)
def test_hostile_text_takes_bounded_time(text: str) -> None:
    start = time.monotonic()
    as_toml_1_0(text)
    assert time.monotonic() - start < 1
