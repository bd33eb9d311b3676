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


@pytest.mark.parametrize("checks", rows(__file__, "a_result_is_compared_with_what_is_expected"))
def test_a_result_is_compared_with_what_is_expected(checks: list[Any]) -> None:
    """And all that differs is reported."""
    for result, expected, reported in checks:
        assert [list(row) for row in failures_of(ended(**result), **expected)] == reported


# ── exit codes ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("code", "words"), rows(__file__, "an_exit_code_is_reported_with_its_meaning"))
def test_an_exit_code_is_reported_with_its_meaning(code: int, words: str) -> None:
    """Above 128 it is a signal, if a signal has that number."""
    assert failures_of(ended(code=code)) == [("exit-code", f"the exit code is {words}, not 0")]
    assert failures_of(ended(code=code), exit_code=code) == []


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("output", ["a\nb\n", "a\r\nb\r\n", "a\rb\r"])
@pytest.mark.parametrize("wanted", ["a\nb", "a\r\nb", "a\rb"])
def test_line_endings_are_normalized_on_both_sides(output: str, wanted: str) -> None:
    """Who wrote them on which system makes no difference, for what must be there and for what must not."""
    assert failures_of(ended(output, output), stdout_contains=(wanted,), stderr_contains=(wanted,)) == []
    assert [kind for kind, _ in failures_of(ended(output), not_contains=(wanted,))] == ["not-contains"]


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


def test_at_most_twenty_differences_of_json_are_reported() -> None:
    found = failures_of(ended("{}"), stdout_json={f"k{number}": 1 for number in range(100)})
    assert len(found) == 21
    assert found[-1] == ("stdout-json", "and more differences")


# ── all of it ────────────────────────────────────────────────────────────────────────────────────────────────────────


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
