"""Say what a host does with a skill: its state, why, and by which rule."""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess.findings import Finding, Severity, finding

from ._entry import State

LIST_ONLY = "list-only"
"""The rule of a skill that only the client's own list has."""


class Verdict(Frozen, kw_only=False):
    """A state, why, and by which rule."""

    state: State
    reason: str | None
    rule: str
    code: str | None = None
    """The finding that rejects the skill, if any."""


ACTIVE_VERDICT = Verdict(State.ACTIVE, None, "found")
"""The verdict on a skill that no rule objects to."""


def rejection(code: str, reason: str) -> Verdict:
    """Return the verdict that rejects a skill with a finding, which is also the rule."""
    return Verdict(State.REJECTED, reason, code, code)


def value_rejection(field: str, kind: str) -> Verdict:
    """Return the verdict that rejects a skill for the kind of its name or description."""
    return rejection(value_code(field, kind), f"its {field} is {describe_kind(kind)}")


def value_code(field: str, kind: str) -> str:
    """Return the code of the finding for a name or description that is not a text."""
    suffix = {
        "missing": "missing",
        "null": "empty",
        "empty": "empty",
        "blank": "empty",
        "list": "not-text",
        "map": "not-text",
    }
    return f"{field}-{suffix.get(kind, 'type')}"


def describe_kind(kind: str) -> str:
    """Return words for a kind of value, to follow `its name is`."""
    words = {
        "missing": "missing",
        "null": "empty",
        "empty": "empty",
        "blank": "blank",
        "bool": "true or false, not text",
    }
    return words.get(kind, f"a {kind}, not text")


def with_error(
    findings: tuple[Finding, ...], host_findings: tuple[Finding, ...], verdict: Verdict, path: str, hint: str | None
) -> tuple[Finding, ...]:
    """Make the finding that rejects the skill an error, whatever its severity is elsewhere, with the hint."""
    for index, item in enumerate(findings):
        if item.code == verdict.code:
            error = item.with_changes(severity=Severity.ERROR, hint=hint or item.hint)
            return (*findings[:index], error, *findings[index + 1 :])
    place = next((item for item in host_findings if item.code == verdict.code), None)
    line, column = (place.line, place.column) if place is not None else (None, None)
    extra = finding(verdict.code or verdict.rule, verdict.reason or "", path=path, line=line, column=column, hint=hint)
    return (*findings, extra.with_changes(severity=Severity.ERROR))
