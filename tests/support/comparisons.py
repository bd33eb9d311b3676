"""Comparisons of skills that were never on a disk, so that any text can be in any place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from prowess.hosts import load_host
from prowess.skill import parse
from prowess.visibility import ComparedSkill, Comparison, Kind, Loss, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.findings import Finding

__all__ = ["CWD", "HOME", "compared", "comparison", "lost", "seen"]

HOME = "/home/ada"
CWD = f"{HOME}/project"
_KINDS = {
    "user-only": Kind.USER_ONLY,
    "deferred": Kind.DEFERRED,
    "untrusted": Kind.UNTRUSTED,
    "disabled": Kind.OFF,
    "shadowed": Kind.NAME_TAKEN,
    "rejected": Kind.REJECTED,
}
_LOST_KINDS = {
    "text": Kind.REJECTED,
    "field": Kind.REJECTED,
    "place": Kind.ELSEWHERE,
    "limit": Kind.BEYOND_LIMIT,
    "file-name": Kind.FILE_NAME,
    "name": Kind.NAME_TAKEN,
    "setting": Kind.OFF,
    "trust": Kind.UNTRUSTED,
}


def seen(host: str, state: str = "active", reason: str | None = None, kind: Kind | None = None) -> View:
    """Return the view of an agent that does not lose a skill."""
    return View(host=host, kind=kind or _KINDS.get(state, Kind.SEEN), state=state, reason=reason)


def lost(host: str, kind: str = "text", *, reason: str = "it is broken", cure: str = "", state: str = "") -> View:
    """Return the view of an agent that loses a skill."""
    state = state or {"place": "absent", "name": "shadowed", "trust": "untrusted"}.get(kind, "rejected")
    loss = Loss(kind=kind, reason=reason, cure=cure, is_command=cure.startswith("prowess "))
    return View(host=host, kind=_LOST_KINDS[kind], state=state, reason=reason, loss=loss)


def compared(
    name: str,
    *views: View,
    folder: str = f"{CWD}/.agents/skills",
    description: str = "Does something.",
    findings: Sequence[Finding] = (),
    copy_of: str | None = None,
) -> ComparedSkill:
    """Return one skill as agents see it."""
    path = f"{folder}/{name}/SKILL.md"
    return ComparedSkill(
        path=path,
        real=path,
        name=name,
        folder=name,
        description=description,
        scope="project" if folder.startswith(CWD) else "user",
        copy_of=copy_of,
        findings=tuple(findings),
        skill=parse("---\nname: x\ndescription: y\n---\n"),
        views={view.host: view for view in views},
    )


def comparison(*skills: ComparedSkill, hosts: Sequence[str] = (), findings: Sequence[Finding] = ()) -> Comparison:
    """Return what several agents see; by default the agents that saw the first skill."""
    names = tuple(hosts or (skills[0].views if skills else ("codex",)))
    catalogs: Any = {name: SimpleNamespace(host=load_host(name)) for name in names}
    return Comparison(cwd=CWD, home=HOME, hosts=names, skills=skills, findings=tuple(findings), catalogs=catalogs)
