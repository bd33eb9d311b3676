"""Match names of skills with patterns of a settings file: globs, and regular expressions of limited cost."""

from __future__ import annotations

import re
import warnings
from fnmatch import translate

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted

from ._bounded_expressions import count_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from prowess.hosts import Setting

__all__ = ["REGEX_PREFIX", "NameFilter", "pattern_problem", "read_name_filter"]

REGEX_PREFIX = "re:"
"""Begins a pattern that is a regular expression for the whole name."""
_MAX_PATTERNS = 1000
_MAX_LENGTH = 256
_USUAL_LENGTH = 64
"""Of a name."""
_MAX_STEPS, _MAX_STEPS_OF_ALL = 20_000_000, 100_000_000
"""Ways to match a name of this length with a regular expression, and with all of them; more could take too long."""


class NameFilter(Frozen):
    """Which skills stay, by their names."""

    patterns: tuple[tuple[str, str], ...] = ()
    """Each pattern with the file that has it."""
    effects: Mapping[str, str] = EMPTY
    """The effect on skills that a pattern matches (`match`), and on the others (`rest`)."""

    def effect(self, name: str) -> tuple[str, str]:
        """Return the effect on a skill, a word of `Setting.effects`, and the file that says so."""
        for pattern, file in self.patterns:
            if _matches(pattern, name):
                return self.effects.get("match", "on"), file
        return self.effects.get("rest", "on"), self.patterns[0][1] if self.patterns else ""


def pattern_problem(pattern: str) -> str | None:
    """Return why a pattern matches no name, or `None`."""
    if len(pattern) > _MAX_LENGTH:
        return "is too long"
    if not pattern.startswith(REGEX_PREFIX):
        return None
    text = pattern.removeprefix(REGEX_PREFIX)
    if count_steps(text, _USUAL_LENGTH) > _MAX_STEPS:
        return "is too complex"
    try:
        _compile(text)
    except (re.error, OverflowError, RecursionError):
        return "is not a regular expression"
    return None


def read_name_filter(
    settings: Iterable[Setting],
    values: Callable[[str, tuple[str, ...], str], Iterator[tuple[str, Any]]],
    report: Callable[[str, str], None],
) -> NameFilter | None:
    """Return the first list of patterns that is not empty, or `None`.

    Args:
        settings: those of a host.
        values: yields the values of a key in some settings files, each with its file.
        report: notes a problem of a file.
    """
    for setting in settings:
        if setting.form != "filter":
            continue
        patterns: list[tuple[str, str]] = []
        for file, value in values(setting.key, setting.files, setting.merge):
            names = value if isinstance(value, list | tuple) else ()
            patterns += [(item.strip(), file) for item in names if isinstance(item, str)]
        if not patterns:
            continue
        if len(patterns) > _MAX_PATTERNS:
            report(patterns[0][1], f"only {_MAX_PATTERNS:,} patterns of names count")
            patterns = patterns[:_MAX_PATTERNS]
        tried, steps = [], 0.0
        for pattern, file in patterns:
            problem = pattern_problem(pattern)
            if problem is None and pattern.startswith(REGEX_PREFIX):
                steps += count_steps(pattern, _USUAL_LENGTH)
                problem = "is too complex together with those before it" if steps > _MAX_STEPS_OF_ALL else None
            if problem is not None:
                report(file, f"the pattern {quoted(pattern)} {problem}, and matches nothing")
            tried.append((pattern if problem is None else "", file))
        return NameFilter(patterns=tuple(tried), effects=setting.effects)
    return None


def _compile(text: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(text, re.IGNORECASE)


def _matches(pattern: str, name: str) -> bool:
    if not pattern:
        return False
    if pattern.startswith(REGEX_PREFIX):
        text = pattern.removeprefix(REGEX_PREFIX)
        return count_steps(text, len(name)) <= _MAX_STEPS_OF_ALL and _compile(text).fullmatch(name) is not None
    return re.match(translate(pattern.lower()), name.lower()) is not None
