"""Decide which findings of a check are accepted: ignored by a rule, or in the baseline."""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen
from prowess.findings import Finding, relative_path

from ._identity import fingerprints
from ._ignore_rules import IgnoreRule, comment_rules
from ._own_files import OwnFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ._baseline import Baseline

__all__ = ["Accepted", "ReportedFinding", "accept_findings"]


class ReportedFinding(Frozen):
    """A finding, and why it does not count, if so."""

    finding: Finding
    fingerprint: str = ""
    """What identifies it in the next check; empty if it was not asked for."""
    kind: str | None = None
    """Why it is accepted: a `comment`, a rule of the `project`, an `option` or the `baseline`; `None` if it counts."""
    reason: str = ""


class Accepted(Frozen):
    """All findings of a check, and notes about the accepted ones."""

    findings: tuple[ReportedFinding, ...]
    notes: tuple[str, ...]
    """Rules that match nothing or are invalid, and how many findings of the baseline are fixed."""

    @property
    def counting(self) -> tuple[Finding, ...]:
        """The findings that are not accepted."""
        return tuple(item.finding for item in self.findings if item.kind is None)

    @property
    def ignored(self) -> int:
        """How many findings a comment, the project or an option ignores."""
        return sum(item.kind not in (None, "baseline") for item in self.findings)

    @property
    def in_baseline(self) -> int:
        """How many findings are accepted because they are in the baseline."""
        return sum(item.kind == "baseline" for item in self.findings)


def accept_findings(
    findings: Iterable[Finding],
    *,
    base: str,
    home: str,
    skills: Sequence[str] = (),
    rules: Sequence[IgnoreRule] = (),
    baseline: Baseline | None = None,
    identify: bool = True,
    whole: bool = True,
) -> Accepted:
    """Return the findings of a check, each with whether it is accepted.

    Args:
        findings: all of them, in their order.
        base: the repository, or else the working directory; without links.
        home: the user's home, without links.
        skills: the files that were checked. Those of the repository itself may have comments.
        rules: of `pyproject.toml` and of options.
        baseline: findings that were accepted before.
        identify: whether fingerprints are needed; a baseline needs them anyway.
        whole: whether the whole repository was checked, so that a rule that matches nothing is worth a note.
    """
    findings = tuple(findings)
    own = OwnFiles(base)
    comments, notes = _comments(skills, own)
    in_project = _ProjectFiles(own)
    used: set[IgnoreRule] = set()
    reported = []
    identified = fingerprints(findings, base, home) if identify or baseline is not None else [""] * len(findings)
    for item, fingerprint in zip(findings, identified, strict=True):
        candidates: list[IgnoreRule] = [*comments.get(item.path or "", ()), *rules]
        rule = next(
            (rule for rule in candidates if rule.matches(item, base) and in_project.may_ignore(rule, item)), None
        )
        if rule is not None:
            used.add(rule)
            kind, reason = rule.kind, rule.reason
        elif baseline is not None and fingerprint in baseline.files:
            kind, reason = "baseline", f"in the baseline {baseline.place}"
        else:
            kind, reason = None, ""
        reported.append(ReportedFinding(finding=item, fingerprint=fingerprint, kind=kind, reason=reason))
    notes += _unused(comments, rules if whole else _rules_of(rules, skills, base), used, base)
    if baseline is not None:
        notes += _fixed(baseline, {item.fingerprint for item in reported}, skills, base)
    return Accepted(findings=tuple(reported), notes=tuple(notes))


class _ProjectFiles:
    """Knows which files the rules of a project count for: its own, and without a repository all below it."""

    def __init__(self, own: OwnFiles) -> None:
        self.own = own
        self.known: dict[str, bool] = {}

    def may_ignore(self, rule: IgnoreRule, item: Finding) -> bool:
        """Return whether a rule that matches a finding counts for it."""
        if rule.kind != "project" or item.path is None:
            return True
        if item.path not in self.known:
            inside = self.own.contains(item.path) if self.own.is_repository else True
            self.known[item.path] = inside and relative_path(item.path, self.own.base) is not None
        return self.known[item.path]


def _comments(skills: Sequence[str], own: OwnFiles) -> tuple[dict[str, list[IgnoreRule]], list[str]]:
    """Return the rules in comments by file, and notes about invalid ones."""
    if not own.is_repository:
        return {}, []
    found: dict[str, list[IgnoreRule]] = {}
    notes = []
    for path in dict.fromkeys(skills):
        rules, problems = comment_rules(path)
        if (rules or problems) and own.contains(path):
            found[path] = rules
            notes += [f"{relative_path(path, own.base)}:{problem}" for problem in problems]
    return found, notes


def _unused(
    comments: dict[str, list[IgnoreRule]], rules: Sequence[IgnoreRule], used: set[IgnoreRule], base: str
) -> Iterator[str]:
    for path, of_file in comments.items():
        for rule in of_file:
            if rule not in used:
                yield f"{relative_path(path, base)}:{rule.place}: the comment ignores `{rule.code}`, which is not found"
    for rule in rules:
        if rule not in used:
            yield f"{rule.place} matches no finding"


def _rules_of(rules: Sequence[IgnoreRule], skills: Sequence[str], base: str) -> list[IgnoreRule]:
    """Return the rules of the project that name one of these skills without a wildcard for all."""
    named = [rule for rule in rules if rule.kind == "project" and rule.skill != "*"]
    return [rule for rule in named if any(rule.matches_path(path, base) for path in skills)]


def _fixed(baseline: Baseline, current: set[str], skills: Sequence[str], base: str) -> Iterator[str]:
    """Say how many findings of the baseline are fixed: their file was checked now, or is gone."""
    checked = {relative_path(path, base) or path for path in skills}
    fixed = 0
    for fingerprint, path in baseline.files.items():
        if fingerprint not in current and path is not None:
            fixed += path.replace("/", os.sep) in checked or not os.path.lexists(os.path.join(base, path))
    if fixed:
        yield "1 finding of the baseline is fixed" if fixed == 1 else f"{fixed:,} findings of the baseline are fixed"
