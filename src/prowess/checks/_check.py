"""Check skills, and return what is wrong with them under a policy.

Paths name files, skill folders or any folder above them; without paths, the whole catalog of a working directory is
checked. Every file is read whole, since problems in the body and links to missing files count too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.catalog import catalog_for
from prowess.errors import ConfigError
from prowess.filesystem import Filesystem, Question
from prowess.find import find_repository_skills
from prowess.findings import Finding, Severity, apply_policy, finding
from prowess.hosts import load_host

from ._check_file import check_file, entry_findings, find_skill_files, is_skill_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.catalog import Catalog
    from prowess.find import RepositorySkill
    from prowess.visibility import Comparison, Offer

_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Progress = Callable[[int], None]


class Report(Frozen):
    """The files that were checked, and their findings."""

    skills: tuple[str, ...]
    """The paths of the checked files, each once."""
    findings: tuple[Finding, ...]
    """File by file, each from top to bottom; findings without a file last. `agents` says what they cost."""
    comparison: Comparison | None = None
    """How the agents that were asked about see the checked skills; `None` if no agent was named."""
    offer: Offer | None = None
    """What the repository offers to others; `None` if it offers nothing, or paths were named."""

    @property
    def counted(self) -> Comparison | None:
        """How the agents see the skills that every command counts: not what the repository offers beside them."""
        return (self.offer and self.offer.counted) or self.comparison

    @property
    def counts(self) -> dict[str, int]:
        """How many skills were checked, and how many findings there are of each severity."""
        found = [item.severity for item in self.findings]
        return {"skills": len(self.skills), **{str(severity): found.count(severity) for severity in Severity}}


def check(
    paths: Paths | None = None,
    *,
    policy: str = "guide",
    hosts: Iterable[str] = (),
    cwd: str | os.PathLike[str] = ".",
    home: str | os.PathLike[str] | None = None,
    skill_dirs: Iterable[str | os.PathLike[str]] = (),
) -> tuple[Finding, ...]:
    """Return the findings of skills.

    Args:
        paths: a SKILL.md, a flat NAME.md, a skill's folder, any folder, below which every SKILL.md is checked; or
            several of these. Without paths, all skills that are seen from `cwd`.
        policy: `guide` (load what can be loaded) or `spec` (agentskills.io to the letter).
        hosts: agents whose own rules count instead: what they do not load is an error. `policy="spec"` counts too.
        cwd: the directory that relative paths start from.
        home: the user's home instead of `~`, without `paths`.
        skill_dirs: further directories of skills, without `paths`.

    Raises:
        SkillNotFoundError: a path does not exist. A path without a skill is a finding.
        HostNotFoundError: a host is unknown.
        ConfigError: the policy is unknown.
    """
    files = None if paths is None else absolute_paths([paths] if isinstance(paths, str | os.PathLike) else paths, cwd)
    return report(Question.about(cwd, home, skill_dirs), files, policy=policy, hosts=hosts, advise=True).findings


def absolute_paths(paths: Iterable[str | os.PathLike[str]], cwd: str | os.PathLike[str] = ".") -> list[str]:
    """Return paths that a user names as absolute ones."""
    return [os.path.abspath(os.path.join(cwd, os.path.expanduser(path))) for path in paths]


def report(
    question: Question,
    paths: Sequence[str] | None = None,
    *,
    policy: str = "guide",
    hosts: Iterable[str] = (),
    agents: Iterable[str] = (),
    progress: Progress | None = None,
    filesystem: Filesystem | None = None,
    advise: bool = False,
) -> Report:
    """Check skills as `check` does, and return the checked files too.

    Args:
        question: where agents are started.
        paths: as in `check`, absolute.
        policy: as in `check`.
        hosts: as in `check`.
        agents: those whose losses are worked out, without their rules deciding what is an error; without `paths` all
            skills of the repository count too.
        progress: is called with the number of skills checked so far.
        filesystem: what was read so far.
        advise: whether to judge how good the skills are, too, for those who write them.
    """
    if policy not in ("guide", "spec"):
        raise ConfigError(f"unknown policy {quoted(policy)}", hint="the policies are `guide` and `spec`")
    rules = [*dict.fromkeys(hosts)]
    for host in rules:
        load_host(host)
    if not rules or policy == "spec":
        rules.insert(0, policy)
    filesystem = filesystem or Filesystem()
    checker = _Checker(rules, filesystem, progress, advise=advise)
    agents = [*dict.fromkeys(agents)]
    catalogs: dict[str, Catalog] = {}
    found: Sequence[RepositorySkill] = ()
    if paths is None:
        for rule in rules:
            host = "prowess" if rule in ("guide", "spec") else rule
            if host not in catalogs:
                catalogs[host] = catalog_for(question, host, filesystem=filesystem, cache=False)
            checker.add_catalog(rule, catalogs[host])
        if agents:
            found = checker.add_repository(question.cwd)
        from prowess.visibility import lock_findings

        checker.add(lock_findings(question, filesystem))
    else:
        for path in paths:
            checker.add_path(path)
    if not (asked := [*dict.fromkeys([*hosts, *agents])]):
        checker.add_pairs(lambda _, __: True)
        return Report(skills=tuple(checker.skills), findings=checker.findings())
    from prowess.visibility import compare_catalogs, find_offer, misnamed_files

    comparison = compare_catalogs(
        {host: catalogs.get(host) or catalog_for(question, host, filesystem=filesystem, cache=False) for host in asked},
        question,
        files=[
            *(path for path in checker.skills if is_skill_file(path) and path not in checker.inside),
            *misnamed_files(catalogs),
        ],
        only_files=paths is not None or not agents,
        filesystem=filesystem,
    )
    checker.add_comparison(comparison, question)
    checker.add_pairs(_seen_together(comparison))
    return Report(
        skills=tuple(checker.skills),
        findings=checker.findings(),
        comparison=comparison,
        offer=find_offer(comparison, found),
    )


def _seen_together(comparison: Comparison) -> Callable[[str, str], bool]:
    """Return whether one agent sees two skills, or none sees either of them, as in a repository that offers them."""
    seen = {
        skill.path: {host for host, view in skill.views.items() if view.kind == "seen"} for skill in comparison.skills
    }

    def together(one: str, other: str) -> bool:
        first, second = seen.get(one, set()), seen.get(other, set())
        return bool(first & second) or not (first or second)

    return together


class _Checker:
    """Checks files under the given rules, and collects findings by file."""

    def __init__(self, rules: list[str], filesystem: Filesystem, progress: Progress | None, *, advise: bool) -> None:
        self.rules, self.filesystem, self.progress, self.advise = rules, filesystem, progress, advise
        self.skills: dict[str, None] = {}
        self.seen: set[str] = set()
        self.inside: set[str] = set()
        """Skills inside the folder of another skill: agents are not expected to find these."""
        self.by_file: dict[str | None, dict[tuple[object, ...], Finding]] = {}

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings, each once: the rules of several agents find the same."""
        for item in findings:
            known = self.by_file.setdefault(item.path, {})
            key = (item.code, item.line, item.column, item.message if item.line is None else "")
            same = known.setdefault(key, item)
            if _SEVERITIES.index(item.severity) < _SEVERITIES.index(same.severity):
                known[key] = item

    def count(self, path: str) -> None:
        if path not in self.skills:
            self.skills[path] = None
            if self.progress is not None:
                self.progress(len(self.skills))

    def add_path(self, path: str) -> None:
        files, problems = find_skill_files(path)
        self.add(problems)
        self._add_files(files)

    def _add_files(self, files: Iterable[str]) -> None:
        for file in files:
            real = real_path(file)
            if real in self.seen:
                continue
            self.seen.add(real)
            self.count(file)
            for rule in self.rules:
                self.add(check_file(file, rule, filesystem=self.filesystem, advise=self.advise))

    def add_catalog(self, rule: str, catalog: Catalog) -> None:
        self.add(apply_policy(catalog.findings, rule))
        for entry in catalog.skills:
            self.count(entry.path)
            self.seen.add(entry.real)
            suppressed = entry.scope in catalog.host.suppressed_scopes
            self.add(entry_findings(entry, rule, self.filesystem, suppressed=suppressed, advise=self.advise))

    def add_repository(self, top: str) -> Sequence[RepositorySkill]:
        """Add the skills of a repository that no catalog holds, and return all of its skills."""
        found = find_repository_skills(top, filesystem=self.filesystem)
        self.add(found.findings)
        self._add_files(skill.path for skill in found.skills)
        self.inside.update(skill.path for skill in found.skills if skill.inside is not None)
        return found.skills

    def add_comparison(self, comparison: Comparison, question: Question) -> None:
        """Add what the findings cost at the agents, and the findings that only the rules of an agent make."""
        from prowess.visibility import copies_of_prowess, outdated_finding

        self._add_files(skill.path for skill in comparison.skills)
        for path in copies_of_prowess(comparison, question, self.filesystem):
            known = self.by_file.get(path, {})
            for key in [key for key in known if key[0] == "skill-copy"]:
                del known[key]
        for skill in comparison.skills:
            if skill.outdated is not None:
                self._forget_shadowing(skill.path, skill.copy_of or "")
                self.add([outdated_finding(skill.path, skill.outdated)])
            lost = [(host, view.loss) for host, view in skill.views.items() if view.loss is not None]
            known = self.by_file.setdefault(skill.path, {})
            for code in dict.fromkeys(code for _, loss in lost for code in loss.codes):
                agents = tuple(host for host, loss in lost if code in loss.codes)
                keys = [key for key in known if key[0] == code]
                for key in keys:
                    known[key] = known[key].with_changes(agents=agents)
                if not keys and any(skill.views[agent].rule != "skill-copy" for agent in agents):
                    loss = next(loss for _, loss in lost if code in loss.codes)
                    hint = None if loss.is_command else loss.cure
                    item = finding(code, loss.reason, path=skill.path, hint=hint)
                    known[code, None, None, loss.reason] = item.with_changes(severity=Severity.WARNING, agents=agents)

    def add_pairs(self, together: Callable[[str, str], bool]) -> None:
        """Add what is wrong between skills, and descriptions of words that most of the others have."""
        if not self.advise:
            return
        from ._pairs import check_pairs

        kept = (self.filesystem.kept.get(("compared", path)) for path in self.skills)
        for rule in self.rules:
            self.add(
                apply_policy(check_pairs([item for item in kept if item is not None], together, self.filesystem), rule)
            )
            break

    def _forget_shadowing(self, copy: str, source: str) -> None:
        """Remove that an old copy and its source share a name: they are one skill."""
        for path, other in ((copy, source), (source, copy)):
            known = self.by_file.get(path, {})
            for key in [key for key, item in known.items() if item.message.endswith(f" is hidden by {neutral(other)}")]:
                del known[key]

    def findings(self) -> tuple[Finding, ...]:
        without_file = self.by_file.pop(None, {}).values()
        order = {path: number for number, path in enumerate(self.skills)}
        folders = {os.path.dirname(path): number for path, number in order.items() if is_skill_file(path)}

        def place(path: str | None) -> tuple[int, bool]:
            """Return where a file comes: after the SKILL.md of its folder, or of the nearest one above it."""
            if path is None or path in order:
                return order.get(path or "", len(order)), False
            folder = os.path.dirname(path)
            while folder not in folders and folder != os.path.dirname(folder):
                folder = os.path.dirname(folder)
            return folders.get(folder, len(order)), True

        files = sorted(self.by_file, key=place)
        groups = [
            sorted(self.by_file[path].values(), key=lambda item: (item.line or 0, item.column or 0)) for path in files
        ]
        return (*(item for group in groups for item in group), *without_file)
