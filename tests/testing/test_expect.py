"""What is not as expected: each of it, and where."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.sandbox import Result
from prowess.testing._cases import Case
from prowess.testing._expect import Failure, decode_output, failures
from support import strategies  # noqa: F401 - loads the profile


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


def told(result: Result, **expected: Any) -> list[tuple[str, str]]:
    case = Case(name="a", file="tests/cases/a.yaml", command="x", **expected)
    return [(failure.kind, failure.message) for failure in failures(case, result)]


# ── exit codes ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, "1"),
        (126, "126 (command not executable)"),
        (127, "127 (command not found)"),
        (128, "128"),
        (128 + signal.SIGKILL, "137 (SIGKILL)"),
        (128 + signal.SIGSEGV, "139 (SIGSEGV)"),
        (255, "255"),
    ],
)
def test_an_exit_code_is_told_with_what_it_means(code: int, words: str) -> None:
    """Above 128 it stands for a signal, if there is one of that number."""
    assert told(ended(code=code)) == [("exit-code", f"the exit code is {words}, not 0")]
    assert told(ended(code=code), exit_code=code) == []


def test_zero_is_expected_where_nothing_is_said() -> None:
    """And nothing else is."""
    assert told(ended("anything", "at all")) == []
    assert told(ended(), exit_code=3) == [("exit-code", "the exit code is 0, not 3")]


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_texts_are_literal_and_of_one_case() -> None:
    """No pattern, no folding of letters."""
    assert told(ended("a.b [x]* \\d"), stdout_contains=("a.b", "[x]*", "\\d")) == []
    assert [kind for kind, _ in told(ended("aXb Hello"), stdout_contains=("a.b", "hello"))] == ["stdout-contains"] * 2
    assert told(ended("Error"), not_contains=("error", "E.*r")) == []


@pytest.mark.parametrize("output", ["a\nb\n", "a\r\nb\r\n", "a\rb\r"])
@pytest.mark.parametrize("wanted", ["a\nb", "a\r\nb", "a\rb"])
def test_line_ends_are_made_one_on_both_sides(output: str, wanted: str) -> None:
    """Who wrote them on which system makes no difference, for what must be there and for what must not."""
    assert told(ended(output, output), stdout_contains=(wanted,), stderr_contains=(wanted,)) == []
    assert [kind for kind, _ in told(ended(output), not_contains=(wanted,))] == ["not-contains"]


def test_each_stream_is_looked_at_alone() -> None:
    """What is on one is not on the other; nor does anything begin on one and end on the other."""
    assert [kind for kind, _ in told(ended("", "x"), stdout_contains=("x",))] == ["stdout-contains"]
    assert [kind for kind, _ in told(ended("x", ""), stderr_contains=("x",))] == ["stderr-contains"]
    assert told(ended("ends in ER", "ROR at its start"), not_contains=("ERROR", "ER\nROR")) == []
    assert told(ended("a ERROR", "b\nc ERROR"), not_contains=("ERROR",)) == [
        ("not-contains", "stdout contains `ERROR` in line 1"),
        ("not-contains", "stderr contains `ERROR` in line 2"),
    ]


def test_a_text_that_is_missing_is_told_with_the_nearest_line() -> None:
    """Where one is near; and if there is nothing at all, that."""
    output = "Page 1\nHello, World!\nPage 2\n"
    assert told(ended(output), stdout_contains=("Hello World", "zzzzzz")) == [
        ("stdout-contains", "stdout does not contain `Hello World`; the most similar line is 2: `Hello, World!`"),
        ("stdout-contains", "stdout does not contain `zzzzzz`"),
    ]
    assert told(ended(), stderr_contains=("x",)) == [("stderr-contains", "stderr does not contain `x`: it is empty")]


def test_what_is_longer_than_what_is_kept_cannot_pass_unseen() -> None:
    """What must be there counts if it is in the part that is kept; what must not be there may be in the rest."""
    assert told(ended("a", cut=(9, 0)), stdout_contains=("a",)) == []
    assert told(ended("a", cut=(9, 0)), stdout_contains=("b",)) == [
        ("stdout-contains", "stdout does not contain `b` before it was cut off")
    ]
    assert told(ended("a", cut=(9, 0)), not_contains=("b",)) == [
        ("not-contains", "stdout is too long and was cut off, so it may contain `b`")
    ]
    assert told(ended("", "a", cut=(0, 9)), not_contains=("a", "b")) == [
        ("not-contains", "stderr contains `a` in line 1"),
        ("not-contains", "stderr is too long and was cut off, so it may contain `b`"),
    ]
    assert told(ended("{}", cut=(9, 0)), stdout_json={}) == [
        ("stdout-json", "stdout is too long and was cut off, so it cannot be read as JSON")
    ]


def test_what_is_not_utf_8_is_looked_at_all_the_same() -> None:
    """Its other bytes are."""
    assert told(ended(b"\xff\xfeok\x80"), stdout_contains=("ok",)) == []
    assert decode_output(b"\xffa\r\nb\r") == "\ufffda\nb\n"
    assert told(ended(b'["\xff"]'), stdout_json=["\ufffd"]) == [
        ("stdout-json", "stdout is not one JSON value: byte 0xff at offset 2 is not UTF-8")
    ]


def test_what_is_told_can_be_shown() -> None:
    """Neither an output nor a case reaches a terminal as it is."""
    evil = "\x1b]0;x\x07\u202e"
    found = told(
        ended(f"{evil} ok", evil, 1),
        stdout_contains=(f"{evil} okay",),
        not_contains=(evil,),
        stdout_json={evil: 1},
    )
    assert [kind for kind, _ in found] == ["exit-code", "stdout-contains", *["not-contains"] * 2, "stdout-json"]
    assert "".join(words for _, words in found).isprintable()


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_json_is_told_by_each_place_that_differs() -> None:
    """At most twenty of them."""
    assert told(ended('{"a": 1, "b": {"c": [1, 2]}}'), stdout_json={"a": "1", "b": {"c": [1], "d": None}}) == [
        ("stdout-json", '$.a is 1, not "1"'),
        ("stdout-json", "$.b.c has 2 items, not 1"),
        ("stdout-json", "$.b.d is missing"),
    ]
    found = told(ended("{}"), stdout_json={f"k{number}": 1 for number in range(100)})
    assert len(found) == 21
    assert found[-1] == ("stdout-json", "and more differences")


def test_json_that_is_expected_to_be_null_must_be_there() -> None:
    """Nothing expected, and `null` expected, are two things."""
    assert told(ended("null"), stdout_json=None) == []
    assert told(ended(""), stdout_json=None) == [("stdout-json", "stdout is not one JSON value: it is empty")]
    assert told(ended("")) == []


def test_a_log_line_before_the_json_is_told() -> None:
    """The commonest mistake of a script."""
    assert told(ended("loading\n{}\n"), stdout_json={}) == [
        ("stdout-json", "stdout is not one JSON value: expecting value at line 1, column 1")
    ]


# ── all of it ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_expectation_that_fails_is_reported() -> None:
    """Not just the first."""
    found = told(
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


def test_many_texts_that_are_missing_in_much_take_a_moment() -> None:
    """A thousand in a mebibyte: the nearest line is looked for only a few times."""
    begun = time.perf_counter()
    output = "\n".join("ab" * 100 for _ in range(5_000))
    wanted = tuple("ab" * 90 + str(number) for number in range(1_000))
    found = told(ended(output), stdout_contains=wanted)
    assert len(found) == 1_000
    assert sum("the most similar line is" in words for _, words in found) == 3
    assert time.perf_counter() - begun < 10


_OUTPUT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n"), max_size=30)


@given(_OUTPUT, st.integers(0, 30), st.integers(1, 30))
def test_a_part_of_an_output_is_in_it(output: str, start: int, length: int) -> None:
    """And what is in it is not missing from it: the two expectations are opposites."""
    part = decode_output(output.encode())[start : start + length] or output
    here = ended(output)
    assert told(here, stdout_contains=(part,)) == []
    assert bool(told(here, not_contains=(part,)))
    assert bool(told(here, stdout_contains=(part + "\x00!",)))
    assert told(here, not_contains=(part + "\x00!",)) == []
