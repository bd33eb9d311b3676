"""found skills -> Catalog

The only place where precedence is decided. Everything that decides is in the host's file; this module applies it in
one order: can it be read, what is it called, what is shown of it, is it switched off, does another one win.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from .budget import fit_in_order, level
from .config import Settings, read_settings
from .discovery import Disk, Found, Place, git_root, places, scan
from .errors import AmbiguousSkillError, SkillNotFoundError
from .files import skill_digest
from .findings import Finding, Severity, finding, neutral, quoted, under_policy
from .host import DESCRIPTION_ON, NAME_ON, Flag, Host, load_host
from .rules import check_skill, same_name
from .skill import Requirements, Skill

if TYPE_CHECKING:
    from ._frontmatter import Field

__all__ = ["Catalog", "Entry", "State", "discover"]


class State(StrEnum):
    """What became of a skill; compares equal to its word."""

    ACTIVE = "active"
    USER_ONLY = "user-only"
    """The model does not see it."""
    DEFERRED = "deferred"
    """The client shows it later: it is nested below the working directory, or bound to `paths`."""
    SHADOWED = "shadowed"
    DISABLED = "disabled"
    UNTRUSTED = "untrusted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One skill of a catalog, as the host sees it."""

    name: str
    """What the host calls it; with its namespace, if it has one."""
    alias: str | None = None
    """A second name the host shows beside it."""
    frontmatter_name: str | None
    folder: str
    description: str
    """As the host shows it to the model; as written where the host does not show it."""
    path: str
    """Absolute, of its SKILL.md, as the host reaches it."""
    scope: str
    root: str
    namespace: str | None = None
    state: State
    reason: str | None = None
    """Why it is in that state; None where it is plainly active."""
    rule: str
    """The rule that decided, for `why`."""
    shadowed_by: str | None = None
    """The path of the skill that won."""
    digest: str | None = None
    """Over all files of the skill; None until it is asked for."""
    requirements: Requirements
    findings: tuple[Finding, ...] = ()
    skill: Skill = field(repr=False)

    def as_dict(self) -> dict[str, object]:
        """Return the entry in the shape of `list --json`."""
        return {
            "name": self.name,
            "alias": self.alias,
            "frontmatter_name": self.frontmatter_name,
            "folder": self.folder,
            "description": self.description,
            "path": self.path,
            "scope": self.scope,
            "root": self.root,
            "namespace": self.namespace,
            "state": str(self.state),
            "reason": self.reason,
            "shadowed_by": self.shadowed_by,
            "digest": self.digest,
            "requirements": self.requirements.as_dict(),
            "findings": [item.as_dict() for item in self.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """What one host sees from one directory: skills with states, highest precedence first, and findings."""

    host: Host
    cwd: str
    home: str
    skills: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    """Those that belong to no single skill."""
    places: tuple[Place, ...] = field(repr=False)
    settings: Settings = field(repr=False)

    @property
    def counts(self) -> dict[str, int]:
        """How many skills were found, and how many are in each state; the states add up to `found`."""
        counts = {"found": len(self.skills), **{str(state): 0 for state in State}}
        for entry in self.skills:
            counts[entry.state] += 1
        return counts

    @property
    def active(self) -> tuple[Entry, ...]:
        """The skills whose name and description the model gets."""
        return tuple(entry for entry in self.skills if entry.state is State.ACTIVE)

    def explain(self, reference: str) -> tuple[Entry, ...]:
        """Return every candidate behind a reference, with its digest, the one that wins first.

        Raises:
            SkillNotFoundError: there is none; the error names skills that are called almost so.
        """
        found = self._candidates(reference)
        if not found:
            raise self._not_found(reference)
        order = {State.ACTIVE: 0, State.USER_ONLY: 1, State.DEFERRED: 2}
        found.sort(key=lambda entry: order.get(entry.state, 3))
        return tuple(with_digest(entry) for entry in found)

    def resolve(self, reference: str) -> Entry:
        """Return the one skill a reference means: `name`, `scope:name`, `package:name`, a path or a digest prefix.

        Of several skills with that name the one that is active is meant.

        Raises:
            SkillNotFoundError: there is none.
            AmbiguousSkillError: there are several, and no rule chooses.
        """
        found = self._candidates(reference)
        for state in (State.ACTIVE, State.USER_ONLY, None):
            chosen = [entry for entry in found if state is None or entry.state is state]
            if len(chosen) == 1:
                return chosen[0]
            if chosen:
                paths = [entry.path for entry in chosen]
                shown = "".join(
                    f"\n  {neutral(entry.scope)}:{neutral(entry.name)}  {neutral(entry.path)}" for entry in chosen
                )
                raise AmbiguousSkillError(
                    f"{quoted(reference)} means {len(chosen)} skills:{shown}",
                    candidates=paths,
                    hint="name one by its path",
                )
        raise self._not_found(reference)

    def _candidates(self, reference: str) -> list[Entry]:
        key = same_name(reference)
        exact = [entry for entry in self.skills if key in _names(entry)]
        if exact:
            return exact
        scope, colon, rest = reference.partition(":")
        if colon:
            if scope == "sha256" or (scope == "" and rest):
                return [
                    entry for entry in self.skills if (with_digest(entry).digest or "").startswith(f"sha256:{rest}")
                ]
            inner = same_name(rest)
            return [entry for entry in self.skills if entry.scope == scope and inner in _names(entry)]
        path = os.path.abspath(os.path.join(self.cwd, os.path.expanduser(reference)))
        by_path = [entry for entry in self.skills if path in (entry.path, os.path.dirname(entry.path))]
        if by_path:
            return by_path
        if re.fullmatch(r"[0-9a-f]{8,64}", reference):
            return [
                entry for entry in self.skills if (with_digest(entry).digest or "").startswith(f"sha256:{reference}")
            ]
        return []

    def _not_found(self, reference: str) -> SkillNotFoundError:
        from difflib import get_close_matches

        names = list(dict.fromkeys(entry.name for entry in self.skills))
        near = get_close_matches(reference, names, n=3)
        hint = (
            "did you mean " + " or ".join(quoted(name) for name in near) + "?"
            if near
            else "`prowess list` shows all skills"
        )
        return SkillNotFoundError(f"no skill is called {quoted(reference)} for host `{self.host.name}`", hint=hint)


def with_digest(entry: Entry) -> Entry:
    """Return the entry with its digest, which costs reading all its files."""
    if entry.digest is not None or entry.skill.document is None:
        return entry
    return replace(entry, digest=skill_digest(os.path.dirname(entry.path)))


def _names(entry: Entry) -> set[str]:
    """Return every name, compared form, under which a user may look for a skill."""
    names = (entry.name, entry.alias, entry.frontmatter_name, entry.folder)
    return {same_name(name) for name in names if name}


def discover(
    cwd: str | os.PathLike[str],
    host: str | Host = "prowess",
    home: str | os.PathLike[str] | None = None,
    skill_dirs: Iterable[str | os.PathLike[str]] = (),
    *,
    env: Mapping[str, str] | None = None,
    role: str | os.PathLike[str] | None = None,
    disk: Disk | None = None,
) -> Catalog:
    """Find the skills one host sees from a directory, and decide which win.

    Args:
        cwd: the directory the client is started in.
        host: the host or its name.
        home: the user's home instead of `~`. Variables that move a client's folders, such as `CODEX_HOME`, count only
            where it is not given, since they belong to the real home.
        skill_dirs: further directories to scan, highest precedence first.
        env: the environment; the process's by default.
        role: an InitRunner role file: its folder is then the working directory, its `auto_skills` count.
        disk: what was already read, to be shared between hosts.

    Raises:
        HostNotFoundError: there is no such host.
    """
    host = load_host(host) if isinstance(host, str) else host
    env = os.environ if env is None else env
    disk = disk or Disk()
    cwd = os.path.realpath(os.path.dirname(os.fspath(role)) or "." if role is not None else cwd)
    moved = home is None
    home = os.path.abspath(os.path.expanduser("~") if home is None else home)
    project = git_root(cwd) or cwd
    settings = read_settings(
        host,
        project=project,
        cwd=cwd,
        home=home,
        env=env,
        role=None if role is None else os.path.abspath(role),
    )
    findings = list(settings.findings)
    if not settings.enabled:
        hint = f"set {host.switch_variable}=true to switch them on" if host.switch_variable else None
        words = f"skills are switched off for {host.title} by {settings.enabled_by}; nothing was scanned"
        findings.append(finding("host-disabled", words, hint=hint))
        return Catalog(host=host, cwd=cwd, home=home, skills=(), findings=tuple(findings), places=(), settings=settings)
    where = places(
        host, cwd, home, skill_dirs=[os.fspath(path) for path in skill_dirs], env=env, moved=moved, disk=disk
    )
    result = scan(host, where, project=project, disk=disk)
    findings += result.findings
    decided = _Decision(host, settings, disk)
    skills = decided.all(result.found)
    findings += decided.findings
    return Catalog(
        host=host, cwd=cwd, home=home, skills=skills, findings=tuple(findings), places=result.places, settings=settings
    )


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A state with its reason, on the way to an entry."""

    state: State
    reason: str | None
    rule: str
    code: str | None = None
    """The finding that rejects, where one does."""


class _Decision:
    """Applies one host's rules to what was found."""

    def __init__(self, host: Host, settings: Settings, disk: Disk) -> None:
        self.host, self.settings, self.disk = host, settings, disk
        self.findings: list[Finding] = []
        self.nested: dict[str, str] = {}
        """Skills folders below the project, by path, with where they lie."""
        self.rejects = frozenset(host.reading.rejects)
        self.as_body = frozenset(host.reading.as_body)
        self.name_on = {**NAME_ON, **host.name_rules.on}
        self.description_on = {**DESCRIPTION_ON, **host.description_rules.on}

    def all(self, found: tuple[Found, ...]) -> tuple[Entry, ...]:
        entries = [self.entry(item) for item in found]
        self.nested = {item.place.path: item.place.nested for item in found if item.place.nested is not None}
        entries = self.collide(entries)
        entries = self.aliases(entries)
        entries = self.limit(entries)
        entries = self.shorten(entries)
        if self.host.trust_note and self.settings.trust != "trusted" and any(e.scope == "project" for e in entries):
            self.findings.append(finding("host-trust", self.host.trust_note))
        return tuple(entries)

    # ── one skill ────────────────────────────────────────────────────────────────────────────────────────────────

    def entry(self, item: Found) -> Entry:
        skill, place = item.skill, item.place
        folder = os.path.basename(os.path.dirname(item.path))
        findings = check_skill(skill)
        codes = {problem.code for problem in findings}
        no_front = skill.document is not None and (skill.document.front is None or bool(codes & self.as_body))
        verdict = self.reading(skill, codes, no_front=no_front)
        name, named = self.name(skill, folder, no_front=no_front)
        verdict = verdict or named
        description, described = self.description(item, no_front=no_front)
        verdict = verdict or described or self.flags(item, no_front=no_front) or self.settings_say(item, name, folder)
        if verdict is None and place.nested is not None and place.root.nested == "deferred":
            words = f"it lies below {neutral(place.nested)} and appears when the client works there"
            verdict = _Verdict(State.DEFERRED, words, "nested")
        verdict = verdict or _Verdict(State.ACTIVE, None, "found")
        if place.namespace is not None:
            name = f"{place.namespace}:{name}"
        shown = under_policy(findings, _policy(self.host), self.rejects)
        if verdict.code is not None:
            shown = _marked(shown, verdict, item.path)
        if place.scope in self.host.suppressed_scopes:
            shown = ()
        return Entry(
            name=name,
            frontmatter_name=skill.name,
            folder=folder,
            description=description,
            path=item.path,
            scope=place.scope,
            root=place.path,
            namespace=place.namespace,
            state=verdict.state,
            reason=verdict.reason,
            rule=verdict.rule,
            requirements=skill.requirements,
            findings=shown,
            skill=skill,
        )

    def reading(self, skill: Skill, codes: set[str], *, no_front: bool) -> _Verdict | None:
        if skill.document is None:
            problem = skill.findings[0]
            return _rejected(problem.code, problem.message)
        for problem in skill.findings:
            if problem.code in self.rejects and not (no_front and problem.code in self.as_body):
                return _rejected(problem.code, problem.message)
        return None

    def name(self, skill: Skill, folder: str, *, no_front: bool) -> tuple[str, _Verdict | None]:
        """Return what the host calls a skill, and why it refuses it if it does."""
        rules = self.host.name_rules
        value = None if no_front else skill.fields.get("name")
        kind = _kind_of(value)
        verdict = None
        if kind == "text":
            name = str(value.value) if value is not None else ""
            if rules.trim:
                name = name.strip()
        else:
            action = self.name_on.get(kind, "reject")
            name = folder
            if action == "reject":
                verdict = _rejected(
                    f"name-{kind}" if kind in ("missing", "empty") else "name-not-text", f"its name is {_a(kind)}"
                )
                if kind in ("number", "bool", "null"):
                    verdict = replace(verdict, code="name-type" if kind != "null" else "name-empty")
            elif action == "text" and value is not None:
                name = str(value.value) if isinstance(value.value, str) else _joined(value)
            elif action == "join" and value is not None:
                name = _joined(value)
        if kind not in ("missing", "null", "empty") or rules.identity == "name":
            verdict = verdict or self.name_limits(name, folder)
        for old, new in rules.replace.items():
            name = name.replace(old, new)
        return (folder if rules.identity == "folder" else name), verdict

    def name_limits(self, name: str, folder: str) -> _Verdict | None:
        rules = self.host.name_rules
        if rules.replace_first:
            for old, new in rules.replace.items():
                name = name.replace(old, new)
        if rules.max_length and len(name) > rules.max_length:
            return _rejected("name-too-long", f"its name has {len(name)} characters, more than {rules.max_length}")
        if rules.pattern and not re.fullmatch(rules.pattern, name):
            return _rejected("name-characters", f"{self.host.title} does not take the name {quoted(name)}")
        if rules.must_equal_folder and name != folder:
            return _rejected("name-not-folder", f"the name {quoted(name)} is not the folder's name {quoted(folder)}")
        for word in rules.reserved:
            if word in name.lower():
                return _rejected("name-reserved", f"the name {quoted(name)} holds the reserved word `{word}`")
        return None

    def description(self, item: Found, *, no_front: bool) -> tuple[str, _Verdict | None]:
        """Return the description the host shows before any budget, and why it refuses or hides the skill if it does."""
        rules = self.host.description_rules
        skill = item.skill
        value = None if no_front else skill.fields.get("description")
        kind = _kind_of(value)
        verdict = None
        text = str(value.value) if value is not None and isinstance(value.value, str) else ""
        if kind != "text":
            action = self.description_on.get(kind, "reject")
            if action == "reject":
                code = f"description-{kind}" if kind in ("missing", "empty") else "description-not-text"
                if kind in ("number", "bool", "null"):
                    code = "description-type" if kind != "null" else "description-empty"
                verdict = _rejected(code, f"its description is {_a(kind)}")
            elif action == "hide":
                verdict = _Verdict(
                    State.USER_ONLY,
                    f"its description is {_a(kind)}, so the model is not told of it",
                    f"description-{kind}",
                )
            elif action == "body":
                text = self.from_body(item, no_front=no_front)
            elif action == "join" and value is not None:
                text = _joined(value)
            elif action == "raw" and value is not None:
                text = value.source.partition(":")[2].strip()
        if rules.trim:
            text = text.strip()
        if rules.one_line:
            text = " ".join(text.split())
        parts = [text]
        if (
            "when_to_use" in rules.append
            and isinstance(when := skill.extra.get("when_to_use"), str)
            and when.strip()
            and not no_front
        ):
            parts.append(f" - {when.strip()}")
        text = "".join(parts)
        if rules.limit and len(text) > rules.limit:
            if rules.past_limit == "drop":
                verdict = verdict or _rejected(
                    "description-too-long", f"its description has {len(text):,} characters, more than {rules.limit:,}"
                )
            elif rules.past_limit == "cut":
                text = text[: rules.limit - len(rules.ellipsis)] + rules.ellipsis
        text = _escaped(text, rules.escape)
        if "scope" in rules.append:
            text = f"{text} ({item.place.scope})"
        return text, verdict

    def from_body(self, item: Found, *, no_front: bool) -> str:
        """Take a description from the first line of the body that is not blank."""
        rules = self.host.description_rules
        follow = item.skill.document is not None and os.path.islink(item.path)
        document = self.disk.skill(item.path, follow=follow, whole=True).document
        text = "" if document is None else document.text if no_front else document.body
        line = next((line.strip() for line in text.split("\n") if line.strip()), "")
        if rules.fallback_strips_heading:
            line = re.sub(r"^#+\s+", "", line)
        return (line[: rules.fallback_length] if rules.fallback_length else line) or rules.fallback

    def flags(self, item: Found, *, no_front: bool) -> _Verdict | None:
        """Apply the fields with which an author keeps a skill from the model."""
        if no_front:
            return None
        for flag in self.host.flags:
            if flag.file:
                if _sidecar(self.disk, item.path, flag):
                    return _Verdict(State(flag.state), flag.reason, flag.file)
            elif all(_matches(item.skill.fields.get(key), wanted) for key, wanted in flag.when.items()):
                return _Verdict(State(flag.state), flag.reason, ", ".join(flag.when), flag.code or None)
        return None

    def settings_say(self, item: Found, name: str, folder: str) -> _Verdict | None:
        if item.place.scope == "project" and self.settings.trust == "untrusted":
            words = f"the folder is not trusted, says {neutral(self.settings.trust_by)}"
            return _Verdict(State.UNTRUSTED, words, "trust")
        for path in (item.path, os.path.dirname(item.path), item.real, os.path.dirname(item.real)):
            if path in self.settings.off_paths:
                return _Verdict(State.DISABLED, f"switched off in {neutral(self.settings.off_paths[path])}", "settings")
        effect = self.settings.effects.get(name) or (
            self.settings.effects.get(folder) if self.host.name_rules.identity == "folder" else None
        )
        if effect is None:
            return None
        what, by = effect
        if what == "off":
            return _Verdict(State.DISABLED, f"switched off in {neutral(by)}", "settings")
        if what == "user-only":
            return _Verdict(State.USER_ONLY, f"left to the user in {neutral(by)}", "settings")
        return _Verdict(State.ACTIVE, f"cut down to its name in {neutral(by)}", "name-only")

    # ── all skills together ──────────────────────────────────────────────────────────────────────────────────────

    def collide(self, entries: list[Entry]) -> list[Entry]:
        """Let one skill of each name win, as the host does."""
        if self.host.collision == "keep-all":
            return entries
        result = list(entries)
        winners: dict[str, int] = {}
        spelt: dict[str, Entry] = {}
        order = range(len(entries)) if self.host.collision != "last" else range(len(entries) - 1, -1, -1)
        for index in order:
            entry = entries[index]
            if entry.state in (State.REJECTED, State.UNTRUSTED):
                continue
            key = same_name(entry.name) if self.host.compare == "folded" else entry.name
            first = winners.setdefault(key, index)
            if first == index:
                twin = spelt.setdefault(same_name(entry.name), entry)
                if twin is not entry:
                    words = (
                        f"the names {quoted(twin.name)} and {quoted(entry.name)} differ only in case or Unicode form"
                    )
                    self.findings.append(finding("name-lookalike", words, path=entry.path, hint="rename one of them"))
                continue
            winner = entries[first]
            if entry.state is State.DEFERRED:
                # A nested skill stays beside the one above it, under a name that tells where it applies.
                result[index] = replace(entry, name=f"{self.nested[entry.root]}:{entry.name}")
                continue
            result[index] = self.lose(entry, winner)
        if self.host.collision == "undefined":
            lost = {entry.shadowed_by for entry in result if entry.shadowed_by}
            words = "undefined: the client reads these in no fixed order, and the last to finish wins"
            result = [
                replace(entry, reason=words, rule="undefined") if entry.path in lost else entry for entry in result
            ]
        return result

    def lose(self, entry: Entry, winner: Entry) -> Entry:
        same = _same_bytes(entry, winner)
        reason = f"{neutral(winner.path)} wins: {_why_wins(entry, winner)}"
        if self.host.collision == "undefined":
            reason = f"undefined: the client reads this and {neutral(winner.path)} in no fixed order, and the last to finish wins"
        if same:
            words = f"a byte-identical copy of {neutral(winner.path)}"
            note = finding("skill-copy", words, path=entry.path, hint="remove one of the two")
            reason = f"{reason}; it is a byte-identical copy"
        else:
            words = f"{quoted(entry.name)} is hidden by {neutral(winner.path)}"
            note = finding("name-shadowed", words, path=entry.path, hint="rename one of the two, or remove it")
        return replace(
            entry,
            state=State.SHADOWED,
            reason=reason,
            rule="undefined" if self.host.collision == "undefined" else "name-shadowed",
            shadowed_by=winner.path,
            findings=(*entry.findings, note),
        )

    def aliases(self, entries: list[Entry]) -> list[Entry]:
        """Give a host that goes by folders the front matter's name as an alias, where no other skill has it yet."""
        rules = self.host.name_rules
        if rules.identity != "folder":
            return entries
        taken = {entry.name for entry in entries if entry.state not in (State.REJECTED, State.SHADOWED)}
        result = []
        for entry in entries:
            alias = (entry.frontmatter_name or "").strip()
            if (
                alias
                and alias not in taken
                and re.fullmatch(rules.alias_pattern or ".+", alias)
                and entry.state is not State.SHADOWED
            ):
                taken.add(alias)
                entry = replace(entry, alias=alias)
            result.append(entry)
        return result

    def limit(self, entries: list[Entry]) -> list[Entry]:
        """Switch off what exceeds the number of skills the host takes."""
        most = self.settings.max_skills
        if not most:
            return entries
        result, active = [], 0
        for entry in entries:
            if entry.state is State.ACTIVE:
                active += 1
                if active > most:
                    reason = f"only the first {most} skills are taken (`max_skills`)"
                    entry = replace(entry, state=State.DISABLED, reason=reason, rule="max_skills")
            result.append(entry)
        if active > most:
            words = f"{active} skills were found, and only the first {most} are taken (`max_skills`)"
            self.findings.append(finding("skill-limit", words, hint="raise `max_skills`, or remove some"))
        return result

    def shorten(self, entries: list[Entry]) -> list[Entry]:
        """Cut descriptions as the host does for its catalog to fit its budget."""
        budget = self.host.budget
        result = [replace(entry, description="") if entry.rule == "name-only" else entry for entry in entries]
        active = [index for index, entry in enumerate(result) if entry.state is State.ACTIVE]
        if self.host.sorts == "name":
            active.sort(key=lambda index: result[index].name)
        if not budget.characters or not active:
            return result
        shown = [result[index] for index in active]
        room = budget.characters - budget.reserved
        names = [len(entry.name) for entry in shown]
        texts = [len(entry.description) for entry in shown]
        full = [budget.line + name + text for name, text in zip(names, texts, strict=True)]
        if sum(full) <= room:
            return result
        if budget.degrade == "level":
            kept = level(texts, room - sum(budget.line + name for name in names))
            cut = [entry.description[:size] for entry, size in zip(shown, kept, strict=True)]
        elif budget.degrade == "first-line":
            cut = [entry.description.split("\n", 1)[0] for entry in shown]
        else:
            least = [budget.name_line + name for name in names] if budget.degrade == "name-only" else [0] * len(names)
            fits = fit_in_order(full, [min(pair) for pair in zip(least, full, strict=True)], room)
            cut = [entry.description if fit else "" for entry, fit in zip(shown, fits, strict=True)]
        for index, text in zip(active, cut, strict=True):
            if text != result[index].description:
                result[index] = replace(
                    result[index],
                    description=text,
                    reason=f"shortened: {self.host.title} shows at most {budget.characters:,} characters of skills",
                    rule="budget",
                )
        return result


def _policy(host: Host) -> str:
    return "guide" if host.name == "prowess" else host.name


def _rejected(code: str, reason: str) -> _Verdict:
    return _Verdict(State.REJECTED, reason, code, code)


def _marked(findings: tuple[Finding, ...], verdict: _Verdict, path: str) -> tuple[Finding, ...]:
    """Make the finding that rejects an error, whatever its code is elsewhere."""
    for index, item in enumerate(findings):
        if item.code == verdict.code:
            return (*findings[:index], replace(item, severity=Severity.ERROR), *findings[index + 1 :])
    extra = finding(verdict.code or verdict.rule, verdict.reason or "", path=path)
    return (*findings, replace(extra, severity=Severity.ERROR))


def _kind_of(value: Field | None) -> str:
    if value is None:
        return "missing"
    if value.kind == "text" and not str(value.value).strip():
        return "empty"
    return value.kind


def _a(kind: str) -> str:
    words = {"missing": "missing", "null": "empty", "empty": "empty", "bool": "true or false, not text"}
    return words.get(kind, f"a {kind}, not text")


def _joined(value: Field) -> str:
    if isinstance(value.value, tuple):
        return ",".join(item if isinstance(item, str) else "[object Object]" for item in value.value)
    return value.value if isinstance(value.value, str) else "[object Object]"


_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}


def _escaped(text: str, characters: str) -> str:
    return "".join(_ENTITIES[c] if c in characters else c for c in text) if characters else text


def _matches(value: Field | None, wanted: str) -> bool:
    """Say whether a field has the value a flag asks for: `true` or `false`, unquoted unless `~` stands before it."""
    if value is None or not isinstance(value.value, str):
        return wanted == "present" and value is not None and bool(value.value)
    word = value.value.strip().lower()
    if wanted == "present":
        return bool(word)
    if wanted == "not-bool":
        return value.kind not in ("bool", "null")
    if wanted.startswith("~"):
        return word == wanted[1:]
    return value.kind == "bool" and word == wanted


def _sidecar(disk: Disk, path: str, flag: Flag) -> bool:
    """Say whether a file beside SKILL.md sets what a flag asks for."""
    table = disk.yaml(os.path.join(os.path.dirname(path), *flag.file.split("/")))
    for key, wanted in flag.when.items():
        value: object = table
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if not isinstance(value, str) or value.strip().lower() != wanted:
            return False
    return True


def _why_wins(entry: Entry, winner: Entry) -> str:
    if entry.scope != winner.scope:
        return f"{winner.scope} before {entry.scope}"
    if entry.root != winner.root:
        return f"{neutral(winner.root)} comes first"
    return f"{quoted(winner.folder)} sorts first"


def _same_bytes(entry: Entry, winner: Entry) -> bool:
    """Say whether two skills are byte-identical; their front matter is compared before any file is read."""
    if entry.skill != winner.skill:
        return False
    mine = with_digest(entry).digest
    return mine is not None and mine == with_digest(winner).digest
