"""What is not as expected: each of it, and where."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from prowess.sandbox import Result
from prowess.testing._cases import Case
from prowess.testing._expect import Failure, decode_output, failures
from support import strategies  # noqa: F401 - loads the profile
from support.growth import ends
from support.rows import rows


def ended(
    stdout: str | bytes = b"", stderr: str | bytes = b"", code: int = 0, *, cut: tuple[int, int] = (0, 0)
) -> Result:
    out, err = (text.encode() if isinstance(text, str) else text for text in (stdout, stderr))
    return Result(
        exit_code=code,
        timed_out=False,
        stdout=out,
        stderr=err,
        stdout_size=len(out) + cut[0],
        stderr_size=len(err) + cut[1],
        duration=0.1,
        killed=0,
        backend="none",
    )


def failures_of(result: Result, **expected: Any) -> list[tuple[str, str]]:
    case = Case(name="a", file="tests/cases/a.yaml", command="x", **expected)
    return [(failure.kind, failure.message) for failure in failures(case, result)]


# ── exit codes ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("code", "words"), rows(__file__, "an_exit_code_is_reported_with_its_meaning"))
def test_an_exit_code_is_reported_with_its_meaning(code: int, words: str) -> None:
    """Above 128 it is a signal, if a signal has that number."""
    assert failures_of(ended(code=code)) == [("exit-code", f"the exit code is {words}, not 0")]
    assert failures_of(ended(code=code), exit_code=code) == []


def test_the_default_exit_code_is_zero() -> None:
    """And nothing else is."""
    assert failures_of(ended("anything", "at all")) == []
    assert failures_of(ended(), exit_code=3) == [("exit-code", "the exit code is 0, not 3")]


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_texts_are_literal_and_of_one_case() -> None:
    """No pattern, no folding of letters."""
    assert failures_of(ended("a.b [x]* \\d"), stdout_contains=("a.b", "[x]*", "\\d")) == []
    assert [kind for kind, _ in failures_of(ended("aXb Hello"), stdout_contains=("a.b", "hello"))] == [
        "stdout-contains"
    ] * 2
    assert failures_of(ended("Error"), not_contains=("error", "E.*r")) == []


@pytest.mark.parametrize("output", ["a\nb\n", "a\r\nb\r\n", "a\rb\r"])
@pytest.mark.parametrize("wanted", ["a\nb", "a\r\nb", "a\rb"])
def test_line_endings_are_normalized_on_both_sides(output: str, wanted: str) -> None:
    """Who wrote them on which system makes no difference, for what must be there and for what must not."""
    assert failures_of(ended(output, output), stdout_contains=(wanted,), stderr_contains=(wanted,)) == []
    assert [kind for kind, _ in failures_of(ended(output), not_contains=(wanted,))] == ["not-contains"]


def test_each_stream_is_looked_at_alone() -> None:
    """A text in one is not in the other, and no text begins in one and ends in the other."""
    assert [kind for kind, _ in failures_of(ended("", "x"), stdout_contains=("x",))] == ["stdout-contains"]
    assert [kind for kind, _ in failures_of(ended("x", ""), stderr_contains=("x",))] == ["stderr-contains"]
    assert failures_of(ended("ends in ER", "ROR at its start"), not_contains=("ERROR", "ER\nROR")) == []
    assert failures_of(ended("a ERROR", "b\nc ERROR"), not_contains=("ERROR",)) == [
        ("not-contains", "stdout contains `ERROR` in line 1"),
        ("not-contains", "stderr contains `ERROR` in line 2"),
    ]


def test_a_missing_text_is_reported_with_the_most_similar_line() -> None:
    """Where one is near; and if there is nothing at all, that."""
    output = "Page 1\nHello, World!\nPage 2\n"
    assert failures_of(ended(output), stdout_contains=("Hello World", "zzzzzz")) == [
        ("stdout-contains", "stdout does not contain `Hello World`; the most similar line is 2: `Hello, World!`"),
        ("stdout-contains", "stdout does not contain `zzzzzz`"),
    ]
    assert failures_of(ended(), stderr_contains=("x",)) == [
        ("stderr-contains", "stderr does not contain `x`: it is empty")
    ]


def test_an_output_that_is_cut_off_fails_not_contains_and_json() -> None:
    """What must be there counts if it is in the part that is kept; what must not be there may be in the rest."""
    assert failures_of(ended("a", cut=(9, 0)), stdout_contains=("a",)) == []
    assert failures_of(ended("a", cut=(9, 0)), stdout_contains=("b",)) == [
        ("stdout-contains", "stdout does not contain `b` before it was cut off")
    ]
    assert failures_of(ended("a", cut=(9, 0)), not_contains=("b",)) == [
        ("not-contains", "stdout is too long and was cut off, so it may contain `b`")
    ]
    assert failures_of(ended("", "a", cut=(0, 9)), not_contains=("a", "b")) == [
        ("not-contains", "stderr contains `a` in line 1"),
        ("not-contains", "stderr is too long and was cut off, so it may contain `b`"),
    ]
    assert failures_of(ended("{}", cut=(9, 0)), stdout_json={}) == [
        ("stdout-json", "stdout is too long and was cut off, so it cannot be read as JSON")
    ]


def test_output_that_is_not_utf_8_is_still_compared() -> None:
    """Its other bytes are."""
    assert failures_of(ended(b"\xff\xfeok\x80"), stdout_contains=("ok",)) == []
    assert decode_output(b"\xffa\r\nb\r") == "\ufffda\nb\n"
    assert failures_of(ended(b'["\xff"]'), stdout_json=["\ufffd"]) == [
        ("stdout-json", "stdout is not one JSON value: byte 0xff at offset 2 is not UTF-8")
    ]


def test_messages_are_safe_to_show() -> None:
    """Outputs and texts of cases are escaped."""
    evil = "\x1b]0;x\x07\u202e"
    found = failures_of(
        ended(f"{evil} ok", evil, 1),
        stdout_contains=(f"{evil} okay",),
        not_contains=(evil,),
        stdout_json={evil: 1},
    )
    assert [kind for kind, _ in found] == ["exit-code", "stdout-contains", *["not-contains"] * 2, "stdout-json"]
    assert "".join(words for _, words in found).isprintable()


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_difference_of_json_is_reported() -> None:
    """At most twenty of them."""
    assert failures_of(ended('{"a": 1, "b": {"c": [1, 2]}}'), stdout_json={"a": "1", "b": {"c": [1], "d": None}}) == [
        ("stdout-json", '$.a is 1, not "1"'),
        ("stdout-json", "$.b.c has 2 items, not 1"),
        ("stdout-json", "$.b.d is missing"),
    ]
    found = failures_of(ended("{}"), stdout_json={f"k{number}": 1 for number in range(100)})
    assert len(found) == 21
    assert found[-1] == ("stdout-json", "and more differences")


def test_json_that_is_expected_to_be_null_must_be_there() -> None:
    """Nothing expected, and `null` expected, are two things."""
    assert failures_of(ended("null"), stdout_json=None) == []
    assert failures_of(ended(""), stdout_json=None) == [("stdout-json", "stdout is not one JSON value: it is empty")]
    assert failures_of(ended("")) == []


def test_a_log_line_before_the_json_is_a_failure() -> None:
    """The commonest mistake of a script."""
    assert failures_of(ended("loading\n{}\n"), stdout_json={}) == [
        ("stdout-json", "stdout is not one JSON value: expecting value at line 1, column 1")
    ]


# ── all of it ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_expectation_that_fails_is_reported() -> None:
    """Not just the first."""
    found = failures_of(
        ended("a ERROR", "b", 2),
        stdout_contains=("a", "c", "d"),
        stderr_contains=("e",),
        not_contains=("ERROR", "b", "nothing"),
        stdout_json={},
    )
    assert [kind for kind, _ in found] == [
        "exit-code",
        "stdout-contains",
        "stdout-contains",
        "stderr-contains",
        "not-contains",
        "not-contains",
        "stdout-json",
    ]


def test_a_failure_is_written_as_in_the_json_of_the_command() -> None:
    """Its kind is the key of the expectation."""
    assert Failure(kind="exit-code", message="x").as_dict() == {"kind": "exit-code", "message": "x"}


@pytest.mark.slow
def test_many_texts_that_are_missing_in_much_take_a_moment() -> None:
    """A thousand in a mebibyte: the nearest line is looked for only a few times."""
    with ends():
        output = "\n".join("ab" * 100 for _ in range(5_000))
        wanted = tuple("ab" * 90 + str(number) for number in range(1_000))
        found = failures_of(ended(output), stdout_contains=wanted)
        assert len(found) == 1_000
        assert sum("the most similar line is" in words for _, words in found) == 3


_OUTPUT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n"), max_size=30)


@given(_OUTPUT, st.integers(0, 30), st.integers(1, 30))
def test_a_part_of_an_output_is_in_it(output: str, start: int, length: int) -> None:
    """And what is in it is not missing from it: the two expectations are opposites."""
    part = decode_output(output.encode())[start : start + length] or output
    here = ended(output)
    assert failures_of(here, stdout_contains=(part,)) == []
    assert bool(failures_of(here, not_contains=(part,)))
    assert bool(failures_of(here, stdout_contains=(part + "\x00!",)))
    assert failures_of(here, not_contains=(part + "\x00!",)) == []
