"""The exceptions: their base classes, and the caret of a syntax error."""

from __future__ import annotations

import pytest

from prowess import errors
from prowess.findings import finding


@pytest.mark.parametrize(
    ("error", "base"),
    [
        pytest.param(errors.ConfigError, ValueError, id="config"),
        pytest.param(errors.RoleError, errors.ConfigError, id="role"),
        pytest.param(errors.HostNotFoundError, LookupError, id="host"),
        pytest.param(errors.StoreError, RuntimeError, id="store"),
        pytest.param(errors.ConversationBusyError, TimeoutError, id="busy"),
        pytest.param(errors.RequestReusedError, ValueError, id="request-reused"),
        pytest.param(errors.TurnLostError, errors.StoreError, id="turn-lost"),
        pytest.param(errors.InstallError, errors.SkillError, id="install"),
        pytest.param(errors.SkillNotFoundError, LookupError, id="not-found"),
        pytest.param(errors.AmbiguousSkillError, errors.SkillNotFoundError, id="ambiguous"),
        pytest.param(errors.SkillValidationError, ValueError, id="validation"),
        pytest.param(errors.SkillSyntaxError, errors.SkillValidationError, id="syntax"),
    ],
)
def test_every_error_has_two_base_classes(error: type[Exception], base: type) -> None:
    """`ProwessError`, and an exception of the standard library."""
    assert issubclass(error, errors.ProwessError)
    assert issubclass(error, base)


def test_the_docstring_lists_every_error() -> None:
    assert errors.__doc__ is not None
    assert [name for name in errors.__all__ if name[0].isupper() and name not in errors.__doc__] == []


def test_an_ambiguous_name_lists_its_candidates() -> None:
    """And an error has its hint."""
    error = errors.AmbiguousSkillError("two", candidates=["a", "b"], hint="choose")
    assert (str(error), error.candidates, error.hint) == ("two", ("a", "b"), "choose")


def shown(source: str, column: int | None, path: str | None = "p") -> str:
    item = finding("yaml-tag", "m", path=path, line=2, column=column)
    return str(errors.SkillSyntaxError(item, source=source))


@pytest.mark.parametrize(
    ("source", "column", "text"),
    [
        pytest.param("a: !b", 4, "p:2:4: m\n    a: !b\n       ^", id="plain"),
        pytest.param("\ta: !b", 5, "p:2:5: m\n    \ta: !b\n    \t   ^", id="tab"),
        pytest.param("漢: !b", 4, "p:2:4: m\n    漢: !b\n        ^", id="wide"),
        pytest.param("e\u0301: !b", 5, "p:2:5: m\n    e\u0301: !b\n       ^", id="combining"),
        pytest.param("\x1b[2J!b", 5, "p:2:5: m\n    \\x1b[2J!b\n           ^", id="escape"),
        pytest.param("a", 9, "p:2:9: m\n    a\n     ^", id="past-the-end"),
        pytest.param("a", None, "p:2: m", id="no-column"),
        pytest.param("", 1, "p:2:1: m", id="no-source"),
        pytest.param(
            "x" * 500 + "!" + "y" * 500,
            501,
            "p:2:501: m\n    …" + "x" * 30 + "!" + "y" * 89 + "…\n" + " " * 35 + "^",
            id="long-line",
        ),
    ],
)
def test_the_caret_is_under_the_problem(source: str, column: int | None, text: str) -> None:
    """Under tabs, wide and combining characters, escapes, and in a window of a long line."""
    assert shown(source, column) == text


def test_a_syntax_error_without_a_path_begins_with_its_line() -> None:
    """Text that came from nowhere has no path."""
    assert shown("a", 1, path=None) == "2:1: m\n    a\n    ^"


def test_a_syntax_error_carries_its_findings() -> None:
    """By default the one it is about."""
    item = finding("yaml-tag", "m", hint="h")
    error = errors.SkillSyntaxError(item)
    assert (error.finding, error.findings, error.hint, str(error)) == (item, (item,), "h", "m")
