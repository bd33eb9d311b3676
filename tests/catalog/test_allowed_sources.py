"""Regular expressions for the sources of plugins."""

from __future__ import annotations

import time

import pytest

from prowess.catalog._allowed_sources import AllowedSources


def allows(*patterns: object, source: str = "/work/https:/github.com/o/r") -> bool:
    return AllowedSources(path="/settings.json", patterns=patterns).allows(source)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("github", True),
        (r"github\.com/o/.*$", True),
        ("^https", False),
        ("^/work/.*r$", True),
        ("github.com/(o|p)/r", True),
        ("[^/]+$", True),
        ("o/r\n?$", True),
        ("", True),
    ],
)
def test_one_expression_must_be_found(pattern: str, found: bool) -> None:
    assert allows(pattern) is found
    assert allows("nothing", pattern) is found


@pytest.mark.parametrize("pattern", ["(", "[", 5, None, "a**"])
def test_an_invalid_expression_is_an_error(pattern: object) -> None:
    """An expression before it may be found first."""
    with pytest.raises(ValueError, match=r"."):
        allows(pattern)
    assert allows("github", pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*$",
        "((a{1,9}){1,9}){1,9}$",
        ".*.*.*.*.*.*.*x",
        r"(a)\1",
        "(?=a)",
        "a{1,99999}" * 9,
        "a?" * 60 + "x",
        "a??" * 60 + "x",
        "(a|a)" * 60 + "x",
        "(|a|b)" * 60 + "x",
        "a{,60}" * 60 + "x",
        "(?x)(a|a) # \n *x",
        "(?:a|a)(?#)*x",
        "[" * 500_000,
        "a" * 500_000,
    ],
)
def test_an_expression_that_may_take_long_is_not_tried(pattern: str) -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        allows(pattern, source="a" * 3000)
    assert time.monotonic() - start < 1


def test_ten_thousand_expressions_take_bounded_time() -> None:
    """For all plugins together."""
    allowed = AllowedSources(path="/settings.json", patterns=("a.*.*x",) * 10_000)
    start = time.process_time()
    for _ in range(100):
        with pytest.raises(TimeoutError):
            allowed.allows("a" * 200)
    assert time.process_time() - start < 1


def test_an_expression_that_python_warns_of_is_tried_without_a_word(recwarn: pytest.WarningsRecorder) -> None:
    assert allows("[[h]ttps") is True
    assert not recwarn.list
