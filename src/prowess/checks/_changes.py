"""Find out what a change of a repository does to its skills: who loses them, what is found, and what they can do now.

Two checked folders are compared: the repository as it is, and as it was.
"""

from __future__ import annotations

import os
from collections import Counter

from prowess._internal.files import skill_digest
from prowess._internal.frozen import Frozen
from prowess.capabilities import Capabilities, Difference, difference, find_capabilities
from prowess.findings import Severity, relative_path
from prowess.skill import load

from ._accepted import fingerprints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prowess.findings import Finding
    from prowess.visibility import ComparedSkill, View

    from ._check import Report

_PLACES = ("place",)
"""Kinds of losses that are about where a skill is, not what it is: a repository may only offer its skills."""


class Invisible(Frozen):
    """Why some agents do not see a skill any more, or not from the beginning."""

    hosts: tuple[str, ...]
    reason: str
    cure: str
    """A command, or a sentence that says what to change."""


class SkillChange(Frozen):
    """What a change does to one skill."""

    name: str
    path: str
    """Of its SKILL.md, relative to the repository, with `/`."""
    state: str
    """`new`, `changed`, `removed` or `same`."""
    invisible: tuple[Invisible, ...] = ()
    capabilities: Difference = Difference()


class Changes(Frozen):
    """What a change does to the skills of a repository."""

    skills: tuple[SkillChange, ...]
    """Those that are new, changed or removed, or that an agent loses, by path."""
    findings: tuple[Finding, ...]
    """New ones: errors, warnings and facts."""
    fixed: int
    """Findings that the repository does not have any more."""


def find_changes(before: Report, after: Report, *, old: str, top: str, findings: Sequence[Finding]) -> Changes:
    """Return what differs between two checks of a repository.

    Args:
        before: of the repository as it was, with the same agents.
        after: of the repository as it is.
        old: the folder of the repository as it was, without links.
        top: the folder of the repository, without links.
        findings: those of `after` that count.
    """
    was, now = _skills_of(before, old), _skills_of(after, top)
    moved: set[str] = set()
    changes = [*_changed_skills(was, now, old, top, moved)]
    changes += [
        SkillChange(name=skill.name, path=path, state="removed")
        for path, skill in was.items()
        if path not in now and path not in moved
    ]
    known = Counter(fingerprints(before.findings, old))
    new = []
    for item, fingerprint in zip(findings, fingerprints(findings, top), strict=True):
        if known[fingerprint]:
            known[fingerprint] -= 1
        elif item.severity is not Severity.INFO or item.group == "safety":
            new.append(item)
    left = {*fingerprints(after.findings, top)}
    fixed = sum(fingerprint not in left for fingerprint in fingerprints(before.findings, old))
    return Changes(skills=tuple(sorted(changes, key=lambda change: change.path)), findings=tuple(new), fixed=fixed)


def _skills_of(report: Report, top: str) -> dict[str, ComparedSkill]:
    """Return the skills of a repository by the paths of their files in it."""
    found = {}
    for skill in report.comparison.skills if report.comparison is not None else ():
        inside = relative_path(skill.path, top)
        if inside is not None:
            found[inside.replace(os.sep, "/")] = skill
    return found


def _changed_skills(
    was: Mapping[str, ComparedSkill], now: Mapping[str, ComparedSkill], old: str, top: str, moved: set[str]
) -> Iterator[SkillChange]:
    """Yield what a change does to each skill that is there now, and collect where others were before."""
    by_name: dict[str, str] = {}
    for path, skill in was.items():
        by_name.setdefault(skill.name, path)
    for path, skill in now.items():
        # A skill that moved is compared with what it was elsewhere.
        source = path if path in was else by_name.get(skill.name, "")
        source = source if source == path or source not in now else ""
        moved.add(source)
        before = was.get(source)
        invisible = tuple(_invisible(before, skill))
        state, gained = "new", Difference()
        if before is not None:
            same = path == source and _digest(old, source) == _digest(top, path)
            state = "same" if same else "changed"
            if not same:
                gained = difference(find_capabilities(load(before.path)), find_capabilities(load(skill.path)))
        else:
            gained = difference(Capabilities(), find_capabilities(load(skill.path)))
        if state != "same" or invisible:
            yield SkillChange(name=skill.name, path=path, state=state, invisible=invisible, capabilities=gained)


def _digest(top: str, path: str) -> str | None:
    return skill_digest(os.path.dirname(os.path.join(top, *path.split("/"))))


def _invisible(before: ComparedSkill | None, after: ComparedSkill) -> Iterator[Invisible]:
    """Yield why agents lose a skill that they did not lose before; those with one reason together."""
    if after.copy_of is not None:
        return
    reasons: dict[tuple[str, str], list[str]] = {}
    for host, view in after.views.items():
        if view.loss is None or not _loses_more(None if before is None else before.views.get(host), view):
            continue
        reason, cure = view.loss.reason, view.loss.cure
        if view.loss.codes:  # the reason may be its place, and that it is rejected is new
            cause = next((item for item in after.findings if item.code in view.loss.codes), None)
            reason, cure = (cause.message, cause.hint or cure) if cause is not None else (reason, cure)
        reasons.setdefault((reason, cure), []).append(host)
    for (reason, cure), hosts in reasons.items():
        yield Invisible(hosts=tuple(hosts), reason=reason, cure=cure)


def _loses_more(before: View | None, after: View) -> bool:
    """Return whether an agent loses a skill for a reason that is new."""
    loss = after.loss
    if loss is None:
        return False
    if before is None:
        return bool(loss.codes) or loss.kind not in _PLACES
    if before.loss is None:
        return True
    return bool(loss.codes) and not before.loss.codes
