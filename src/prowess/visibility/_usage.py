"""Join what agents see with what they recorded: which skills were offered and used, and which never.

What an agent sees is what `compare` says; what was done is what `prowess.trajectory` read.
"""

from __future__ import annotations

import os
from functools import cache, cached_property

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import normalize_name
from prowess.prompt import estimate_tokens

from ._compare import ABSENT, compare_catalogs
from ._kinds import KIND_MEANINGS, Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from prowess.catalog import Entry
    from prowess.filesystem import Filesystem, Question
    from prowess.trajectory import Activation, RecordedSession, Recording, Unreadable

    from ._compare import ComparedSkill, Comparison, View


class SkillUse(Frozen, not_compared=("view",)):
    """What one agent did with one skill."""

    name: str
    """What the agent calls it."""
    names: frozenset[str] = frozenset()
    """The names by which a user may ask for it too, normalized."""
    host: str
    path: str | None
    """Of its SKILL.md; `None` if it does not exist any more, or if it is unknown which copy was used."""
    was: str | None = None
    """Where it was, if it does not exist any more."""
    skill: str = ""
    """The same for all agents and all exact copies of a skill; of one that does not exist any more, its name."""
    visible: bool
    """Whether the model sees it now, by the rules of the agent."""
    reason: str | None
    """Why it does not."""
    offered: int | None
    """Sessions whose catalog held it; `None` if the agent does not record its catalog."""
    offered_short: int = 0
    """Those of them in which the description was cut or missing."""
    used_by_model: int = 0
    used_by_user: int = 0
    first_used: str | None = None
    last_used: str | None = None
    weeks: tuple[tuple[str, int], ...] = ()
    """The Mondays of the weeks in which it was used, each with how often."""
    files_read: int = 0
    scripts_run: int = 0
    scripts_failed: int = 0
    catalog_tokens: int | None = None
    body_tokens: int | None = None
    view: View | None = None
    """How the agent sees it; `None` if it does not exist."""

    @property
    def used(self) -> int:
        """How often it was used."""
        return self.used_by_model + self.used_by_user

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `usage --json`."""
        names = (
            *("name", "host", "path", "was", "visible", "reason", "offered", "offered_short", "used", "used_by_model"),
            *("used_by_user", "first_used", "last_used", "files_read", "scripts_run", "scripts_failed"),
            *("catalog_tokens", "body_tokens"),
        )
        return {name: getattr(self, name) for name in names}


class Usage(Frozen):
    """What agents did with skills."""

    since: str
    sessions: Mapping[str, int]
    """By agent."""
    tokens: Mapping[str, Mapping[str, int] | None]
    """By agent, the sums of its sessions: `input`, `cached` (of them) and `output`; `None` if no session has them."""
    skills: tuple[SkillUse, ...]
    """One for each agent and skill: those that were used most come first."""
    unreadable: tuple[Unreadable, ...]

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `usage --json`."""
        return {
            "since": self.since,
            "sessions": dict(self.sessions),
            "tokens": {host: None if sums is None else dict(sums) for host, sums in self.tokens.items()},
            "skills": [skill.as_dict() for skill in self.skills],
            "unreadable": [{"path": item.path, "reason": item.reason} for item in self.unreadable],
        }


def usage_of(
    recording: Recording,
    comparison: Comparison,
    question: Question,
    *,
    hosts: Iterable[str],
    since: str,
    filesystem: Filesystem,
) -> Usage:
    """Return what agents did with the skills of a comparison, and with others.

    Args:
        recording: the sessions that count.
        comparison: of these agents, and perhaps more.
        question: that it answers.
        hosts: the agents.
        since: what the sessions were chosen by.
        filesystem: what was read so far.
    """
    sessions = {host: [each for each in recording.sessions if each.agent == host] for host in hosts}
    bodies = cache(lambda path, real: estimate_tokens(filesystem.skill(path, real=real, whole=True).body))
    rows = [
        row
        for host, found in sessions.items()
        for row in _Joined(host, found, comparison, question, filesystem, bodies).rows()
    ]
    rows.sort(
        key=lambda row: (-row.used, not row.visible, normalize_name(row.name), row.host, row.path or row.was or "")
    )
    return Usage(
        since=since,
        sessions={host: len(found) for host, found in sessions.items()},
        tokens={host: _sum(found) for host, found in sessions.items()},
        skills=tuple(rows),
        unreadable=recording.unreadable,
    )


def _sum(sessions: Iterable[RecordedSession]) -> dict[str, int] | None:
    """Return the tokens of sessions; `None` if those of no session are recorded."""
    counts = [tokens for session in sessions if (tokens := session.tokens) is not None]
    return {name: sum(count[name] for count in counts) for name in counts[0]} if counts else None


class _Joined:
    """The skills of one agent, with what its sessions say of them."""

    def __init__(
        self,
        host: str,
        sessions: Sequence[RecordedSession],
        comparison: Comparison,
        question: Question,
        filesystem: Filesystem,
        body_tokens: Callable[[str, str], int],
    ) -> None:
        self.filesystem, self.body_tokens = filesystem, body_tokens
        self.host, self.sessions, self.comparison, self.question = host, sessions, comparison, question
        self.counts: dict[str, dict[str, Any]] = {}
        """What was counted, by the path of a SKILL.md without links."""
        self.entries: dict[str, Entry] = {entry.real: entry for entry in reversed(comparison.catalogs[host].skills)}
        self.skills = {skill.real: skill for skill in comparison.skills}
        self.first = {skill.path: skill.real for skill in comparison.skills}
        self._real_path = cache(real_path)

    def rows(self) -> Iterable[SkillUse]:
        """Return a row for each skill that the agent could see, and for each one that it used."""
        is_offered_known = any(session.catalog is not None for session in self.sessions)
        for session in self.sessions:
            for item in session.activations:
                self._count_activation(item)
            for real, offer in {self._real(item.path, item.name): item for item in session.catalog or ()}.items():
                counts = self._counts(real)
                counts["offered"] += 1
                counts["short"] += offer.description != "full"
            for name, files in (("files", session.files), ("scripts", session.scripts)):
                for file in files:
                    if (owner := self._skill_of(file.path)) is not None:
                        self._counts(owner)[name].append(file)
        copies: dict[str, list[ComparedSkill]] = {}
        for skill in self.comparison.skills:
            copies.setdefault(self._original(skill.real), []).append(skill)
        for real, group in copies.items():
            if all(skill.bundled and skill.views[self.host].state == ABSENT for skill in group):
                continue  # of a plugin that this agent does not have
            yield self._row(min(group, key=self._rank), real, is_offered_known)
        for real, found in [*self.counts.items()]:
            if real not in self.skills and found["activations"]:
                yield self._row_of_other(real, found, is_offered_known)

    # ── counts ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _counts(self, real: str) -> dict[str, Any]:
        empty: dict[str, Any] = {"activations": [], "files": [], "scripts": [], "offered": 0, "short": 0, "name": ""}
        return self.counts.setdefault(real, empty)

    def _count_activation(self, item: Activation) -> None:
        counts = self._counts(self._real(item.path, item.name))
        counts["activations"].append(item)
        counts["name"], counts["path"] = item.name, item.path

    def _real(self, path: str | None, name: str) -> str:
        """Return which skill a record means: by its path, or else the one that the agent has under a name."""
        if path is not None:
            return self._original(self._real_path(path))
        return self._by_name.get(normalize_name(name), f"name:{name}")

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """The skill of each name, the best one first."""
        views = [(skill.views[self.host], skill) for skill in self.comparison.skills]
        views.sort(key=lambda pair: [*Kind].index(pair[0].kind), reverse=True)
        found = {normalize_name(skill.name): skill.real for _, skill in views if not skill.bundled}
        found |= {normalize_name(view.name): skill.real for view, skill in views if view.name}
        return {name: self._original(real) for name, real in found.items()}

    def _skill_of(self, path: str) -> str | None:
        """Return the skill in whose folder a file is."""
        folder = os.path.dirname(path)
        while folder != os.path.dirname(folder):
            real = self._real_path(os.path.join(folder, SKILL_FILE))
            if real in self.skills or real in self.counts:
                return self._original(real)
            folder = os.path.dirname(folder)
        return None

    # ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _original(self, real: str) -> str:
        """Return the skill that one is an exact copy of, or itself."""
        skill = self.skills.get(real)
        return real if skill is None or skill.copy_of is None else self.first.get(skill.copy_of, real)

    def _rank(self, skill: ComparedSkill) -> tuple[bool, int, str]:
        """Return the order of the copies of a skill: the one that the agent reads comes first."""
        view = skill.views[self.host]
        return view.state == ABSENT, [*Kind].index(view.kind), skill.path

    def _row(self, skill: ComparedSkill, real: str, is_offered_known: bool) -> SkillUse:
        view, entry = skill.views[self.host], self.entries.get(skill.real)
        visible = view.kind is Kind.SEEN
        description = skill.description if entry is None else entry.description
        name = view.name or skill.name
        return SkillUse(
            name=name,
            names=frozenset(map(normalize_name, (skill.name, skill.folder))),
            host=self.host,
            path=skill.path if entry is None else entry.path,
            visible=visible,
            reason=None if visible else view.reason or KIND_MEANINGS[view.kind],
            catalog_tokens=estimate_tokens(f"{name}: {description}") if visible else 0,
            body_tokens=self.body_tokens(skill.path, skill.real),
            view=view,
            skill=real,
            **self._counted(real, is_offered_known),
        )

    def _row_of_other(self, real: str, found: dict[str, Any], is_offered_known: bool) -> SkillUse:
        """Return the row of a skill that was used, and that the agents do not find from here."""
        by_name = self.counts.get(f"name:{found['name']}", found)  # a catalog without paths
        found["offered"], found["short"] = by_name["offered"], by_name["short"]
        counted = self._counted(real, is_offered_known)
        path, view = found["path"], None
        if path is None or not os.path.isfile(path):
            reason = "it does not exist any more" if path else "the sessions do not say where it is"
            name = found["name"]
            gone = {"path": None, "was": path, "skill": f"gone: {normalize_name(name)}", "visible": False}
            return SkillUse(name=name, host=self.host, reason=reason, **gone, **counted)
        catalogs = {self.host: self.comparison.catalogs[self.host]}
        others = compare_catalogs(
            catalogs, self.question, files=[path], only_files=True, filesystem=self.filesystem
        ).skills
        view = others[0].views[self.host]
        return SkillUse(
            name=found["name"],
            host=self.host,
            path=path,
            visible=view.kind is Kind.SEEN,
            reason=view.reason or KIND_MEANINGS[view.kind],
            catalog_tokens=0,
            body_tokens=self.body_tokens(path, real),
            view=view,
            skill=real,
            **counted,
        )

    def _counted(self, real: str, is_offered_known: bool) -> dict[str, Any]:
        """Return the fields that are counted."""
        found = self._counts(real)
        used = sorted(found["activations"], key=lambda item: item.time)
        times = [item.time for item in used if item.time]
        weeks: dict[str, int] = {}
        for time in times:
            monday = _monday(time)
            weeks[monday] = weeks.get(monday, 0) + 1
        return {
            "offered": found["offered"] if is_offered_known else None,
            "offered_short": found["short"],
            "used_by_model": sum(item.by == "model" for item in used),
            "used_by_user": sum(item.by == "user" for item in used),
            "first_used": times[0] if times else None,
            "last_used": times[-1] if times else None,
            "weeks": tuple(weeks.items()),
            "files_read": len(found["files"]),
            "scripts_run": len(found["scripts"]),
            "scripts_failed": sum(item.exit != 0 for item in found["scripts"]),
        }


def _monday(time: str) -> str:
    from datetime import date, timedelta

    day = date.fromisoformat(time[:10])
    return (day - timedelta(days=day.weekday())).isoformat()
