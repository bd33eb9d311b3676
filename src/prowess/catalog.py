"""found skills -> Catalog

The only place where precedence is decided. What a host makes of one skill is `view`'s; here they meet: which wins,
which are too many, how much is shown of each.
"""

from __future__ import annotations

import os
import re
from itertools import groupby, product

from ._frozen import Frozen
from .config import Settings, read_settings
from .discovery import Found, scan
from .disk import Disk
from .entry import Entry, with_digest
from .errors import AmbiguousSkillError, SkillNotFoundError
from .files import at_home
from .findings import Finding, finding, neutral, quoted
from .host import Host, Root, load_host
from .places import Place, git_root, places
from .rules import same_name
from .shorten import shorten
from .view import State, Viewer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Catalog", "discover", "judge"]


class Catalog(Frozen, aside=("places", "settings")):
    """What one host sees from one directory: skills with states, highest precedence first, and findings."""

    host: Host
    cwd: str
    home: str
    skills: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    """Those that belong to no single skill."""
    places: tuple[Place, ...]
    settings: Settings

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
        key = same_name(reference)
        found.sort(key=lambda entry: (order.get(entry.state, 3), same_name(entry.name) != key))
        disk = Disk()
        return tuple(with_digest(entry, disk) for entry in found)

    def resolve(self, reference: str) -> Entry:
        """Return the one skill a reference means: `name`, `scope:name`, `package:name`, a path or a digest prefix.

        Of several skills with that name the one that is active is meant.

        Raises:
            SkillNotFoundError: there is none.
            AmbiguousSkillError: there are several, and no rule chooses.
        """
        found = self._candidates(reference)
        # A skill of that very name is meant rather than one whose folder, or whose name in its package, is so called.
        key = same_name(reference)
        named = [entry for entry in found if same_name(entry.name) == key]
        for state, those in product((State.ACTIVE, State.USER_ONLY, None), (named, found)):
            chosen = [entry for entry in those if state is None or entry.state is state]
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
        key, disk = same_name(reference), Disk()
        exact = [entry for entry in self.skills if key in _names(entry)]
        if exact:
            return exact
        scope, colon, rest = reference.partition(":")
        if colon:
            if scope == "sha256" and rest:
                start = f"sha256:{rest.lower()}"
                return [entry for entry in self.skills if (with_digest(entry, disk).digest or "").startswith(start)]
            inner = same_name(rest)
            return [entry for entry in self.skills if entry.scope == scope and inner in _names(entry)]
        path = os.path.abspath(os.path.join(self.cwd, at_home(reference, self.home)))
        by_path = [entry for entry in self.skills if path in (entry.path, os.path.dirname(entry.path))]
        if by_path:
            return by_path
        if re.fullmatch(r"[0-9a-f]{8,64}", reference):
            start = f"sha256:{reference}"
            return [entry for entry in self.skills if (with_digest(entry, disk).digest or "").startswith(start)]
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
    project = git_root(cwd, host.git_marker) or cwd
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


def judge(path: str, host: str | Host, *, disk: Disk | None = None) -> Entry:
    """Say what a host makes of one SKILL.md by itself, wherever it lies.

    Args:
        path: of the file, absolute; a link is not followed.
        host: the host or its name. Its settings do not count.
        disk: what was already read.

    Raises:
        HostNotFoundError: there is no such host.
    """
    host = load_host(host) if isinstance(host, str) else host
    disk = disk or Disk()
    root = host.roots[0] if host.roots else Root(path="", scope="extra")
    place = Place(os.path.dirname(os.path.dirname(path)), root.scope, root)
    found = Found(path, path, place, disk.skill(path, whole=host.reading.whole_file))
    return _Decision(host, Settings(), disk).entry(found)


class _Decision:
    """Decides among the skills one host found."""

    def __init__(self, host: Host, settings: Settings, disk: Disk) -> None:
        self.host, self.settings, self.disk = host, settings, disk
        self.viewer = Viewer(host, settings, disk)
        self.findings: list[Finding] = []
        self.first_lines: dict[str, str] = {}
        self.second_names: dict[str, str] = {}
        self.nested: dict[str, str] = {}
        """Skills folders below the project, by path, with where they lie."""
        self.levels: dict[str, int] = {}

    def all(self, found: tuple[Found, ...]) -> tuple[Entry, ...]:
        entries = [self.entry(item) for item in found]
        entries = self.collide(entries)
        entries = self.aliases(entries)
        entries = self.limit(entries)
        entries = self.ordered(entries)
        entries = shorten(self.host, entries, self.first_lines)
        if self.host.trust_note and self.settings.trust != "trusted" and any(e.scope == "project" for e in entries):
            self.findings.append(finding("host-trust", self.host.trust_note, hint="trust the folder in the client"))
        return tuple(entries)

    def entry(self, item: Found) -> Entry:
        seen, place = self.viewer.view(item), item.place
        self.first_lines[item.path] = seen.first_line
        self.second_names[item.path] = seen.alias
        self.levels[place.path] = place.level
        if place.nested is not None:
            self.nested[place.path] = place.nested
        return Entry(
            name=seen.name if place.namespace is None else f"{place.namespace}:{seen.name}",
            frontmatter_name=item.skill.name,
            folder=os.path.basename(os.path.dirname(item.path)),
            description=seen.description,
            path=item.path,
            real=item.real,
            scope=place.scope,
            root=place.path,
            namespace=place.namespace,
            state=seen.verdict.state,
            reason=seen.verdict.reason,
            rule=seen.verdict.rule,
            requirements=item.skill.requirements,
            findings=seen.findings,
            skill=item.skill,
        )

    def collide(self, entries: list[Entry]) -> list[Entry]:
        """Let one skill of each name win, as the host does."""
        if self.host.collision == "keep-all":
            return entries
        result = list(entries)
        winners: dict[tuple[bool, str], int] = {}
        spelt: dict[str, Entry] = {}
        order = range(len(entries)) if self.host.collision != "last" else range(len(entries) - 1, -1, -1)
        for index in order:
            entry = entries[index]
            if entry.state in (State.REJECTED, State.UNTRUSTED):
                continue
            # What a package names never meets a bare name, also where that is written to look like it.
            name = same_name(entry.name) if self.host.compare == "folded" else entry.name
            key = (entry.namespace is not None, name)
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
            if entry.state is State.DEFERRED and entry.root in self.nested:
                # A nested skill stays beside the one above it, under a name that tells where it applies.
                result[index] = entry.but(name=f"{self.nested[entry.root]}:{entry.name}")
                continue
            result[index] = self.lose(entry, winner)
        if self.host.collision == "undefined":
            lost = {entry.shadowed_by for entry in result if entry.shadowed_by}
            words = "undefined: the client reads these in no fixed order, and the last to finish wins"
            result = [entry.but(reason=words, rule="undefined") if entry.path in lost else entry for entry in result]
        return result

    def lose(self, entry: Entry, winner: Entry) -> Entry:
        same = self.same_bytes(entry, winner)
        reason = f"{neutral(winner.path)} wins: {_why_wins(entry, winner)}"
        if self.host.collision == "undefined":
            other = neutral(winner.path)
            reason = f"undefined: the client reads this and {other} in no fixed order, and the last to finish wins"
        if same:
            words = f"a byte-identical copy of {neutral(winner.path)}"
            note = finding("skill-copy", words, path=entry.path, hint="remove one of the two")
            reason = f"{reason}; it is a byte-identical copy"
        else:
            words = f"{quoted(entry.name)} is hidden by {neutral(winner.path)}"
            note = finding("name-shadowed", words, path=entry.path, hint="rename one of the two, or remove it")
        return entry.but(
            state=State.SHADOWED,
            reason=reason,
            rule="undefined" if self.host.collision == "undefined" else "name-shadowed",
            shadowed_by=winner.path,
            findings=(*entry.findings, note),
        )

    def same_bytes(self, entry: Entry, winner: Entry) -> bool:
        """Say whether two skills are byte-identical; all is compared that needs no reading before any file is read."""
        if entry.skill != winner.skill or self.disk.files(entry.path) != self.disk.files(winner.path):
            return False
        mine = self.disk.digest(entry.path)
        return mine is not None and mine == self.disk.digest(winner.path)

    def aliases(self, entries: list[Entry]) -> list[Entry]:
        """Give a host that goes by folders the front matter's name as an alias, where no other skill has it yet."""
        rules = self.host.name_rules
        if rules.identity != "folder":
            return entries
        taken = {entry.name for entry in entries if entry.state not in (State.REJECTED, State.SHADOWED)}
        result = []
        for entry in entries:
            alias = self.second_names.get(entry.path, "")
            if (
                alias
                and alias not in taken
                and re.fullmatch(rules.alias_pattern or ".+", alias)
                and entry.state is not State.SHADOWED
            ):
                taken.add(alias)
                entry = entry.but(alias=alias)
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
                    entry = entry.but(state=State.DISABLED, reason=reason, rule="max_skills")
            result.append(entry)
        if active > most:
            words = f"{active} skills were found, and only the first {most} are taken (`max_skills`)"
            self.findings.append(finding("skill-limit", words, hint="raise `max_skills`, or remove some"))
        return result

    def ordered(self, entries: list[Entry]) -> list[Entry]:
        """Put the entries in the order in which the host shows them."""
        if self.host.sorts == "name":
            return sorted(entries, key=lambda entry: entry.name)
        if self.host.sorts == "scopes":
            order = self.host.scope_order
            return sorted(entries, key=lambda entry: (order.index(entry.scope), entry.name, entry.path))
        if self.host.sorts != "runs":
            return entries
        # Losers are not in the client's list, so they do not part a run.
        losers = [entry for entry in entries if entry.state in (State.SHADOWED, State.REJECTED)]
        listed = [entry for entry in entries if entry.state not in (State.SHADOWED, State.REJECTED)]
        runs = groupby(listed, key=lambda entry: (entry.scope, self.levels[entry.root] > 0))
        return [entry for _, run in runs for entry in sorted(run, key=lambda entry: entry.name)] + losers


def _why_wins(entry: Entry, winner: Entry) -> str:
    if entry.scope != winner.scope:
        return f"{winner.scope} before {entry.scope}"
    if entry.root != winner.root:
        return f"{neutral(winner.root)} comes first"
    return f"{quoted(winner.folder)} sorts first"
