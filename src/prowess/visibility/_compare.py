"""Compare what several agents see: for each skill, which of them loses it, why, and how to fix that.

Start with `compare`. A skill is one file, however many agents and paths reach it.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cache, lru_cache, partial

from prowess._internal.files import SKILL_FILE, display_path, folder_name, real_path
from prowess._internal.frozen import Frozen, LazyFrozen
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.catalog import (
    REACHABLE,
    Evaluator,
    catalog_for,
    evaluate_alone,
    new_filesystem,
)
from prowess.clients.settings import Settings
from prowess.findings import finding
from prowess.hosts import DEFAULT_HOST, host_names, observed_hosts
from prowess.skill import check_skill

from ._copies import CopyFinder, are_copies, first_entry, rows_of_entries
from ._fix_effects import FixedElsewhere
from ._fixed_filesystem import FixedFilesystem
from ._installed import InstalledSkills
from ._kinds import EntryKinds, Kind
from ._losses import CureQueue, Loss, LossFinder, is_misnamed_file
from ._mount_cures import MountTarget, TakenNames, mount_folder
from ._mounted_copies import MountedCopies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prowess.catalog import Catalog, Entry
    from prowess.filesystem import Filesystem, Question
    from prowess.findings import Finding
    from prowess.skill import Skill

ABSENT = "absent"
"""The word for the state of a skill that is in no folder that an agent searches."""


class View(Frozen):
    """How one agent sees one skill."""

    host: str
    kind: Kind
    """What the agent's model gets of it now, through an exact copy too."""
    state: str
    """The word of a `State`, or `absent`: no folder that the agent searches holds it."""
    name: str | None = None
    """What the agent calls it; `None` if it does not find it."""
    reason: str | None = None
    rule: str | None = None
    winner: str | None = None
    """The path of the skill that the agent has in its place: of the same name, or a copy."""
    loss: Loss | None = None
    """`None` if the model or the user of the agent can reach the skill, or an exact copy of it."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `check --json`."""
        loss = None if self.loss is None else self.loss.as_dict()
        return {
            "kind": self.kind,
            "state": self.state,
            "reason": self.reason,
            "rule": self.rule,
            "winner": self.winner,
            "loss": loss,
        }


class ComparedSkill(LazyFrozen, not_compared=("skill",)):
    """One skill, and how each agent sees it."""

    path: str
    """The absolute path of its SKILL.md."""
    real: str
    """The same path without links."""
    name: str
    """The name in its front matter, or else its folder."""
    folder: str
    description: str
    """As written; empty if it is missing."""
    scope: str
    """`user` for a skill of the user, `project` for one of the project, or another scope in which an agent has it."""
    copy_of: str | None = None
    """The path of an earlier skill that it is a copy of: the same in every byte, or mounted from it."""
    outdated: Loss | None = None
    """What to do about a mounted copy whose source has changed since."""
    bundled: bool = False
    """Whether it ships with an agent or with a plugin of one, so that no other agent loses it."""
    findings: tuple[Finding, ...]
    """Under the policy `guide`, and that about an old copy."""
    skill: Skill
    views: Mapping[str, View]
    """By the name of the agent, in the order in which the agents were given."""

    @property
    def losers(self) -> tuple[str, ...]:
        """The agents that lose it."""
        return tuple(host for host, view in self.views.items() if view.loss is not None)

    @property
    def is_found(self) -> bool:
        """Whether one of the agents searches its folder, or that of a copy; its file may be called `skill.md`."""
        return any(
            view.state != ABSENT or view.rule == "skill-copy" or view.kind is Kind.FILE_NAME
            for view in self.views.values()
        )


class Comparison(Frozen):
    """What several agents see from one directory."""

    cwd: str
    home: str
    hosts: tuple[str, ...]
    skills: tuple[ComparedSkill, ...]
    """By folder, then by path."""
    is_complete: bool = True
    """Whether these are all skills that the agents find."""
    findings: tuple[Finding, ...]
    """The findings that belong to no skill, each once."""
    catalogs: Mapping[str, Catalog]

    @property
    def distinct(self) -> tuple[ComparedSkill, ...]:
        """The skills that are counted: without copies of another, and without those that ship with an agent."""
        return tuple(skill for skill in self.skills if skill.copy_of is None and not skill.bundled)

    @property
    def unsearched(self) -> int:
        """How many of these skills are in no folder that one of the agents searches."""
        return sum(not skill.is_found for skill in self.distinct)

    def counts(self, host: str) -> dict[Kind, int]:
        """Return how many skills an agent has of each kind, the best first; kinds without a skill are left out."""
        return _count_kinds(self.distinct, host)

    @property
    def kinds(self) -> dict[str, dict[Kind, int]]:
        """The counts of all agents, by host: the totals that every command shows."""
        distinct = self.distinct
        return {host: _count_kinds(distinct, host) for host in self.hosts}

    def lost(self, host: str) -> tuple[ComparedSkill, ...]:
        """Return the skills that an agent loses."""
        return tuple(skill for skill in self.distinct if skill.views[host].loss is not None)


def _count_kinds(skills: Iterable[ComparedSkill], host: str) -> dict[Kind, int]:
    counts = Counter(skill.views[host].kind for skill in skills)
    return {kind: counts[kind] for kind in Kind if counts[kind]}


def compare(
    question: Question,
    *,
    hosts: Iterable[str],
    files: Iterable[str] = (),
    only_files: bool = False,
    cache: bool = True,
    filesystem: Filesystem | None = None,
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Return what several agents see from a directory, skill by skill.

    Args:
        question: where they are started, for which user, and with what.
        hosts: the names of the agents.
        files: the absolute paths of more SKILL.md files, such as all of a repository.
        only_files: whether to leave out the skills that are not in `files`.
        cache: whether to use cached catalogs.
        filesystem: what was read so far.
        progress: is called with the number of skills compared so far.

    Raises:
        HostNotFoundError: a host is unknown.
    """
    filesystem = filesystem or new_filesystem()
    catalogs = {host: catalog_for(question, host, filesystem=filesystem, cache=cache) for host in hosts}
    return compare_catalogs(
        catalogs, question, files=files, only_files=only_files, filesystem=filesystem, progress=progress
    )


def compare_catalogs(
    catalogs: Mapping[str, Catalog],
    question: Question,
    *,
    files: Iterable[str] = (),
    only_files: bool = False,
    filesystem: Filesystem | None = None,
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Compare catalogs of one question, as `compare` does.

    Args:
        catalogs: by host.
        question: what they answer.
        files: as in `compare`.
        only_files: as in `compare`.
        filesystem: what was read so far.
        progress: as in `compare`.
    """
    comparer = _Comparer(catalogs, filesystem or new_filesystem(), question)
    skills = []
    for number, (real, path) in enumerate(comparer.rows(files, only_files=only_files), 1):
        skills.append(comparer.compared_skill(real, path))
        if progress is not None:
            progress(number)
    skills = comparer.mark_copies(sorted(skills, key=lambda skill: (skill.folder.casefold(), skill.path)))
    findings = {(item.code, item.path, item.message): item for each in catalogs.values() for item in each.findings}
    of_locks = () if only_files else comparer.cures.installed.findings()
    return Comparison(
        cwd=question.cwd,
        home=question.home,
        hosts=tuple(catalogs),
        skills=tuple(skills),
        is_complete=not only_files,
        findings=(*findings.values(), *of_locks),
        catalogs=catalogs,
    )


def compare_mounted(catalog: Catalog, question: Question, filesystem: Filesystem) -> Comparison | None:
    """Compare only the mounted copies that an agent finds, to say which are old; `None` if it finds none.

    Args:
        catalog: of the agent.
        question: what it answers.
        filesystem: what was read so far.
    """
    mounted = MountedCopies(question.cwd, filesystem)
    if not any(mounted.mounts_in(filesystem.real(root.path)) for root in catalog.scan_roots):
        return None
    files = [entry.path for entry in catalog.skills if mounted.is_mounted(os.path.dirname(entry.real))]
    return compare_catalogs({catalog.host.name: catalog}, question, files=files, only_files=True, filesystem=filesystem)


class _Comparer:
    """Compares the catalogs of several agents, skill by skill."""

    def __init__(self, catalogs: Mapping[str, Catalog], filesystem: Filesystem, question: Question) -> None:
        self.catalogs, self.filesystem, self.question = catalogs, filesystem, question
        self.entries = rows_of_entries(catalogs, filesystem)
        self.mounted = MountedCopies(question.cwd, filesystem, self.entries)
        self.kinds = {host: EntryKinds(catalog, filesystem, self.mounted) for host, catalog in catalogs.items()}
        self.evaluator_of = cache(lambda host: Evaluator(catalogs[host].host, Settings(), self.filesystem))
        """An agent's rules without its settings, for skills that it does not find."""
        # The agents are asked skill by skill, and a fix does not depend on them.
        fixed_filesystem = lru_cache(maxsize=1)(lambda path: FixedFilesystem(path, filesystem))
        self.taken_names = TakenNames(catalogs, question, filesystem)
        self.cures = cures = CureQueue(question, filesystem, self.mounted)
        make_finder = partial(LossFinder, fixed_filesystem=fixed_filesystem, taken_names=self.taken_names, cures=cures)
        self.finders = {host: make_finder(catalog) for host, catalog in catalogs.items()}
        cures.finder_of = cache(lambda host: self.finders.get(host) or make_finder(self._catalog_of(host)))
        cures.effects_of_fix = FixedElsewhere(self.finders, self.kinds, self.entries).effects

    def rows(self, files: Iterable[str], *, only_files: bool) -> list[tuple[str, str]]:
        """Return the real path and the path of each skill."""
        given = {real_path(path): path for path in files}
        if not only_files:
            named = named_files(self.question, self.filesystem)
            given |= {real_path(path): path for path in (*misnamed_files(self.catalogs), *named)}
        found = {real: first_entry(row).path for real, row in self.entries.items()}
        # A skill has the same path in every answer, also if it is asked about by another one.
        rows = {real: found.get(real, path) for real, path in given.items()} if only_files else {**given, **found}
        # Of two skills that want one name, that of the project is cured.
        self.mounted.compared = {*rows, *self.entries}
        inside = self.mounted.project
        return sorted(rows.items(), key=lambda item: (not item[1].startswith(inside), item[1].split(os.sep)))

    def compared_skill(self, real: str, path: str) -> ComparedSkill:
        """Return one skill, as all agents see it."""
        row = self.entries.get(real, {})
        entry = first_entry(row) if row else None
        name = self.filesystem.skill(path).name if entry is None else entry.frontmatter_name
        scopes = [each.scope for each in row.values()]
        scope = "project" if not scopes or "project" in scopes else scopes[0]
        folder = folder_name(path)
        return ComparedSkill.from_loader(
            self,
            (path, entry, outdated := self._outdated(real)),
            path=path,
            real=real,
            name=name or folder,
            folder=folder,
            scope=scope,
            copy_of=None,
            outdated=outdated,
            bundled=is_bundled(real, row),
            views={host: self._view(host, path, real, row, scope) for host in self.catalogs},
        )

    def load_field(self, subject: tuple[str, Entry | None, Loss | None], name: str) -> object:
        """Return what most callers do not ask about a skill: its text and findings."""
        path, entry, outdated = subject
        # A SKILL.md that is a link is followed only where the rules of an agent did so.
        skill = self.filesystem.skill(path) if entry is None else entry.skill
        if name == "findings":
            return (*(() if outdated is None else (outdated_finding(path, outdated),)), *check_skill(skill))
        return skill if name == "skill" else (skill.description or "").strip()

    def _view(self, host: str, path: str, real: str, row: Mapping[str, Entry], scope: str) -> View:
        finder, kinds, entry = self.finders[host], self.kinds[host], row.get(host)
        if entry is not None:
            copied = None if entry.state in REACHABLE else kinds.copy(entry, real)
            return View(
                host=host,
                kind=kinds.kind(entry, real),
                state=str(entry.state),
                name=entry.name,
                reason=entry.reason,
                rule=entry.rule,
                winner=entry.shadowed_by,
                loss=self._loss(finder, copied or entry),
            )
        file = real if row and path != real and os.path.islink(path) else path
        alone = evaluate_alone(file, self.evaluator_of(host))
        copied = kinds.copy(alone, real) or kinds.rejected_copy(real)
        if copied is not None:
            reason = f"it has {self._word_for(copied, alone, real)}, {neutral(finder.display(copied.path))}"
            reason += "" if copied.state in REACHABLE or copied.reason is None else f": {copied.reason}"
            return View(
                host=host,
                kind=kinds.kind(copied),
                state=ABSENT,
                reason=reason,
                rule="skill-copy",
                winner=copied.path,
                loss=self._loss(finder, copied),
            )
        if is_bundled(real, row):
            reason = "it belongs to another agent"
            return View(host=host, kind=Kind.ELSEWHERE, state=ABSENT, reason=reason, rule="bundled")
        taken = self.taken_names.path_of(host, alone.name)
        lost = finder.loss_elsewhere(
            path,
            alone,
            user=scope == "user",
            taken=taken,
            is_copy=lambda other: other == real or are_copies(self.filesystem, real, real_path(other)),
        )
        if lost is None:
            mounted = f"skills are mounted for {finder.host.title}, never searched for"
            return View(host=host, kind=Kind.ELSEWHERE, state=ABSENT, reason=mounted, rule="mounted")
        rule = "name-shadowed" if lost.kind == "name" else lost.kind
        kind = Kind.FILE_NAME if is_misnamed_file(path) else _KIND_OF_LOSS[lost.kind]
        return View(host=host, kind=kind, state=ABSENT, reason=lost.reason, rule=rule, winner=taken, loss=lost)

    def _word_for(self, copied: Entry, alone: Entry, real: str) -> str:
        """Return what an agent has in place of a skill that it does not find."""
        if not are_copies(self.filesystem, real, copied.real):
            return "its source" if self.mounted.original(real) == copied.real else "an old copy"
        return "an exact copy" if copied.frontmatter_name == alone.frontmatter_name else "a copy with another name"

    def _loss(self, finder: LossFinder, entry: Entry) -> Loss | None:
        """Return the loss of a skill that an agent finds. A mounted copy is repaired through its source."""
        loss, source = finder.loss(entry), self.mounted.source_of(entry.real)
        if loss is None or source is None or loss.kind not in ("text", "field"):
            return loss
        codes = loss.codes if are_copies(self.filesystem, entry.real, source) else ()
        return self._remounted(entry.real, source, loss.reason).with_changes(codes=codes)

    def _outdated(self, real: str) -> Loss | None:
        """Return what to do about a mounted copy whose source has changed since."""
        source = self.mounted.source_of(real)
        if source is None or are_copies(self.filesystem, real, source):
            return None
        shown = display_path(os.path.dirname(source), self.question.cwd, self.question.home)
        return self._remounted(real, source, f"this copy is older than {quoted(shown, PATH_LIMIT)}, its source")

    def _remounted(self, copy: str, source: str, reason: str) -> Loss:
        """Return the loss of a mounted copy, with the command that mounts it again.

        Args:
            copy: the path of its SKILL.md, without links.
            source: the SKILL.md that it was mounted from.
            reason: what is wrong with it.
        """
        question, folder = self.question, os.path.dirname(os.path.dirname(copy))
        for host in dict.fromkeys([*self.catalogs, *observed_hosts(), *host_names()]):
            for user in (False, True):
                base, root = mount_folder(host, cwd=question.cwd, home=question.home, user=user)
                if root and self.filesystem.real(os.path.join(base, root)) == folder:
                    target = MountTarget(
                        source=os.path.dirname(source),
                        name=os.path.basename(os.path.dirname(copy)),
                        base=base,
                        root=root,
                        is_replaced=True,
                    )
                    return self.cures.finder_of(host).remounted(target, reason, user=user)
        shown = neutral(display_path(os.path.dirname(source), question.cwd, question.home))
        return Loss(kind="copy", reason=reason, cure=f"mount {shown} there again")

    def _catalog_of(self, host: str) -> Catalog:
        return self.catalogs.get(host) or catalog_for(self.question, host, filesystem=self.filesystem)

    def mark_copies(self, skills: list[ComparedSkill]) -> list[ComparedSkill]:
        """Return the skills, with `copy_of` in those that are the same as an earlier one."""
        copies = CopyFinder(self.filesystem)
        paths, result = {}, {skill.real: skill for skill in skills}
        mounted: dict[str, str] = {}
        """The first skill of those that were mounted from one source, by that."""
        # A mounted copy is never the original.
        for skill in sorted(skills, key=lambda skill: self.mounted.is_mounted(os.path.dirname(skill.path))):
            name = None if (entry := self.entries.get(skill.real)) is None else first_entry(entry).frontmatter_name
            name = self.filesystem.skill(skill.path).name if entry is None else name
            source = self.mounted.original(skill.real)
            original = copies.original(skill.real, name) or mounted.get(source)
            if original is None:
                if not skill.bundled:
                    copies.add(skill.real, name)
                paths[skill.real] = skill.path
            else:
                result[skill.real] = skill.with_changes(copy_of=paths[original])
            mounted.setdefault(source, original or skill.real)
        return [*result.values()]


def copies_of_prowess(comparison: Comparison, question: Question, filesystem: Filesystem) -> set[str]:
    """Return the skills that are alike because `mount` or a lock copied one of them: none of them is to be removed.

    Args:
        comparison: of the skills.
        question: that it answers.
        filesystem: what was read so far.
    """
    mounted = MountedCopies(question.cwd, filesystem, {skill.real for skill in comparison.skills})
    installed = InstalledSkills(question, filesystem)
    groups: dict[tuple[str, str], list[str]] = {}
    for skill in comparison.skills:
        locked = installed.at(os.path.dirname(skill.real))
        key = ("", mounted.original(skill.real)) if locked is None else (locked.lock_file, locked.entry.name)
        groups.setdefault(key, []).append(skill.path)
    return {path for group in groups.values() if len(group) > 1 for path in group}


def outdated_finding(path: str, outdated: Loss) -> Finding:
    """Return the finding about a mounted copy whose source has changed since.

    Args:
        path: of the SKILL.md of the copy.
        outdated: as `ComparedSkill.outdated` has it.
    """
    command, _, why = outdated.cure.partition("  # ")
    hint = f"run `{command}`{f' ({why})' if why else ''}" if outdated.is_command else outdated.cure
    return finding("copy-outdated", outdated.reason, path=path, hint=hint)


def named_files(question: Question, filesystem: Filesystem) -> list[str]:
    """Return the paths of the skills in folders that the user named, which few agents search.

    Args:
        question: what the agents are asked.
        filesystem: records what was read.
    """
    if not question.skill_dirs:
        return []
    skills = catalog_for(question, DEFAULT_HOST, filesystem=filesystem, cache=False).skills
    return [entry.path for entry in skills if entry.scope == "extra"]


def misnamed_files(catalogs: Mapping[str, Catalog]) -> list[str]:
    """Return the paths of the files called `skill.md` in folders that agents search, without a `SKILL.md` beside them.

    Args:
        catalogs: by host.
    """
    found = (item.path for catalog in catalogs.values() for item in catalog.findings if is_misnamed(item))
    return [*dict.fromkeys(path for path in found if path is not None)]


def is_misnamed(item: Finding) -> bool:
    """Return whether a finding is about a skill whose file is called `skill.md`, without a `SKILL.md` beside it."""
    return item.code == "file-name-case" and not os.path.lexists(
        os.path.join(os.path.dirname(item.path or ""), SKILL_FILE)
    )


_KIND_OF_LOSS = {
    "place": Kind.ELSEWHERE,
    "limit": Kind.BEYOND_LIMIT,
    "file-name": Kind.FILE_NAME,
    "name": Kind.NAME_TAKEN,
    "setting": Kind.OFF,
    "trust": Kind.UNTRUSTED,
    "text": Kind.REJECTED,
    "field": Kind.REJECTED,
}
"""The kind of a skill that an agent does not find, by that of the loss."""


_BUNDLED_FOLDER = f"{os.sep}.system{os.sep}"
"""Codex unpacks the skills that it ships with into `skills/.system` of its own folder (observed, 0.169.0)."""


def is_bundled(real: str, row: Mapping[str, Entry]) -> bool:
    """Return whether a skill ships with an agent, or with plugins only."""
    return _BUNDLED_FOLDER in real or (bool(row) and all(entry.scope == "plugin" for entry in row.values()))
