"""Environment variables in the texts of settings."""

from __future__ import annotations

import time

from prowess.catalog._settings_variables import fill_braces, plugin_variables, replace_variables

ENV = {"A": "one", "B_2": "two", "EMPTY": ""}


def test_variables_in_texts_are_replaced() -> None:
    """In lists and tables too, but not in keys; one that is missing is its default, or stays."""
    value = {"$A": ["$A-${B_2}", "${X:-other}", "${A:-other}", "${X}", "$X", "${EMPTY:-x}", "$", "${}", 5, None]}
    assert replace_variables(value, ENV) == {"$A": ["one-two", "other", "one", "${X}", "$X", "", "$", "${}", 5, None]}


def test_a_default_may_count_or_not() -> None:
    text = "${A:-x} ${B:-y}"
    assert replace_variables(text, {"A": "a"}) == "a y"
    assert replace_variables(text, {"A": "a"}, defaults=False) == text


def test_variables_in_braces_are_filled() -> None:
    """An unknown name stays, and so does a text that would get too long."""
    values = plugin_variables("/e", "/w")
    assert (
        fill_braces("${extensionPath}${/}a ${HOME} ${} ${workspacePath", values) == "/e/a ${HOME} ${} ${workspacePath"
    )
    long = "${extensionPath}" * 4000
    assert fill_braces(long, plugin_variables("/" + "e" * 4000, "/w")) == long


def test_hostile_texts_take_bounded_time_and_room() -> None:
    """A text that would become too long stays as it is."""
    started = time.perf_counter()
    assert replace_variables("$A" * 100_000, {"A": "x" * 100_000}) == "$A" * 100_000
    assert replace_variables("${" * 20_000, ENV) == "${" * 20_000
    assert fill_braces("${" * 30_000, ENV) == "${" * 30_000
    assert time.perf_counter() - started < 1
