"""Check skills, and return what is wrong with them under a policy.

Paths name files, skill folders or any folder above them; without paths, the whole catalog of a working directory is
checked. Every file is read whole, since problems in the body and links to missing files count too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError, SkillNotFoundError
from prowess.findings import ALWAYS_ERRORS, Finding, Severity, apply_policy, finding
from prowess.hosts import load_host
from prowess.skill import Skill, check_body, check_links, check_skill, load

from ._discover import discover
from ._filesystem import Filesystem
from ._precedence import evaluate_file
from ._repository import find_repository_skills
from ._sidecars import check_sidecars
from ._walk import MAX_FOLDERS, walk_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._catalog import Catalog
    from ._compare import Comparison
    from ._entry import Entry

__all__ = [
    "Report",
    "check",
    "entry_findings",
    "check_file",
    "evaluate_path",
    "report",
    "find_skill_files",
]

_SKIPPED_FOLDERS = frozenset((".git", "node_modules"))
_LOCATION_CODES = frozenset(("name-shadowed", "skill-copy"))
"""Codes about the place of a skill, not about its file."""

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
    return report(paths, policy=policy, hosts=hosts, cwd=cwd, home=home, skill_dirs=skill_dirs).findings


def report(
    paths: Paths | None = None,
    *,
    policy: str = "guide",
    hosts: Iterable[str] = (),
    cwd: str | os.PathLike[str] = ".",
    home: str | os.PathLike[str] | None = None,
    skill_dirs: Iterable[str | os.PathLike[str]] = (),
    role: str | os.PathLike[str] | None = None,
    agents: Iterable[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Check skills as `check` does, and return the checked files too.

    Three arguments are added: `role` is an InitRunner role whose folder and settings count without `paths`; `agents`
    are those whose losses are worked out, without their rules deciding what is an error, and without `paths` all skills
    of the repository count too; `progress` is called with the number of skills checked so far.
    """
    if policy not in ("guide", "spec"):
        raise ConfigError(f"unknown policy {quoted(policy)}", hint="the policies are `guide` and `spec`")
    rules = [*dict.fromkeys(hosts)]
    for host in rules:
        load_host(host)
    if not rules or policy == "spec":
        rules.insert(0, policy)
    checker = _Checker(rules, progress)
    agents = [*dict.fromkeys(agents)]
    if paths is None:
        filesystem = Filesystem()
        for rule in rules:
            host = "prowess" if rule in ("guide", "spec") else rule
            checker.add_catalog(
                rule,
                discover(
                    cwd, host=host, home=home, skill_dirs=skill_dirs, role=role, filesystem=filesystem, cache=False
                ),
            )
        if agents:
            checker.add_repository(real_path(cwd))
    else:
        for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
            checker.add_path(os.path.abspath(os.path.join(cwd, os.path.expanduser(path))))
    if not (asked := [*dict.fromkeys([*hosts, *agents])]):
        return Report(skills=tuple(checker.skills), findings=checker.findings())
    from ._compare import compare

    comparison = compare(
        cwd,
        hosts=asked,
        home=home,
        skill_dirs=skill_dirs,
        role=role,
        files=[path for path in checker.skills if is_skill_file(path) and path not in checker.inside],
        only_files=paths is not None or not agents,
        cache=False,
    )
    checker.add_comparison(comparison)
    return Report(skills=tuple(checker.skills), findings=checker.findings(), comparison=comparison)


def is_skill_file(path: str) -> bool:
    """Return whether a path is that of a SKILL.md, not of a single-file skill."""
    return os.path.basename(path).lower() == SKILL_FILE.lower()


class _Checker:
    """Checks files under the given rules, and collects findings by file."""

    def __init__(self, rules: list[str], progress: Progress | None) -> None:
        self.rules, self.progress = rules, progress
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
        filesystem = Filesystem()
        for file in files:
            real = real_path(file)
            if real in self.seen:
                continue
            self.seen.add(real)
            self.count(file)
            for rule in self.rules:
                self.add(check_file(file, rule, filesystem=filesystem))

    def add_catalog(self, rule: str, catalog: Catalog) -> None:
        self.add(apply_policy(catalog.findings, rule))
        for entry in catalog.skills:
            self.count(entry.path)
            self.seen.add(entry.real)
            self.add(entry_findings(entry, rule, suppressed=entry.scope in catalog.host.suppressed_scopes))

    def add_repository(self, top: str) -> None:
        """Add the skills of a repository that no catalog holds."""
        found = find_repository_skills(top)
        self.add(found.findings)
        self._add_files(skill.path for skill in found.skills)
        self.inside.update(skill.path for skill in found.skills if skill.inside is not None)

    def add_comparison(self, comparison: Comparison) -> None:
        """Add what the findings cost at the agents, and the findings that only the rules of an agent make."""
        self._add_files(skill.path for skill in comparison.skills)
        for skill in comparison.skills:
            lost = [(host, view.loss) for host, view in skill.views.items() if view.loss is not None]
            known = self.by_file.setdefault(skill.path, {})
            for code in dict.fromkeys(code for _, loss in lost for code in loss.codes):
                agents = tuple(host for host, loss in lost if code in loss.codes)
                keys = [key for key in known if key[0] == code]
                for key in keys:
                    known[key] = known[key].with_changes(agents=agents)
                if not keys:
                    loss = next(loss for _, loss in lost if code in loss.codes)
                    hint = None if loss.is_command else loss.cure
                    item = finding(code, loss.reason, path=skill.path, hint=hint)
                    known[code, None, None, loss.reason] = item.with_changes(severity=Severity.WARNING, agents=agents)

    def findings(self) -> tuple[Finding, ...]:
        without_file = self.by_file.pop(None, {}).values()
        order = {path: number for number, path in enumerate(self.skills)}
        files = sorted(self.by_file, key=lambda path: order.get(path or "", len(order)))
        groups = [
            sorted(self.by_file[path].values(), key=lambda item: (item.line or 0, item.column or 0)) for path in files
        ]
        return (*(item for group in groups for item in group), *without_file)


def check_file(path: str, rule: str = "guide", *, filesystem: Filesystem | None = None) -> tuple[Finding, ...]:
    """Return the findings of one file alone.

    Args:
        path: of the file; a link is not followed.
        rule: `guide`, `spec`, or a host's name.
        filesystem: what was read so far.
    """
    skill = load(path)
    if rule in ("guide", "spec"):
        return apply_policy((*_file_name_findings(path), *check_skill(skill), *_whole_file_findings(skill, rule)), rule)
    named = tuple(item.with_changes(severity=Severity.ERROR) for item in _file_name_findings(path))
    return (*named, *_with_whole_file_findings(evaluate_path(path, rule, filesystem=filesystem), skill, rule))


def evaluate_path(path: str, host: str, *, filesystem: Filesystem | None = None) -> Entry:
    """Return how a host sees one file alone; a flat `NAME.md` as if it were `NAME/SKILL.md`."""
    if os.path.basename(path).lower() == SKILL_FILE.lower():
        return evaluate_file(path, host, filesystem=filesystem)
    as_folder = os.path.join(path[: -len(".md")], SKILL_FILE)
    entry = evaluate_file(as_folder, host, filesystem=_FlatFileFilesystem(path))
    findings = tuple(item.with_changes(path=path) if item.path == as_folder else item for item in entry.findings)
    return entry.with_changes(path=path, root=os.path.dirname(path), findings=findings)


class _FlatFileFilesystem(Filesystem):
    """A file system that reads a flat file in place of every SKILL.md."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def skill(
        self,
        path: str,  # noqa: ARG002 - another file is read
        *,
        real: str | None = None,  # noqa: ARG002
        whole: bool = False,
        body: bool = True,  # noqa: ARG002
    ) -> Skill:
        return super().skill(self._path, whole=whole)


def entry_findings(entry: Entry, rule: str, *, suppressed: bool = False) -> tuple[Finding, ...]:
    """Return the findings of a skill in a catalog, with those of its whole file and of its place.

    Args:
        entry: of the catalog.
        rule: `guide` or `spec` for the host `prowess`, else the host's name.
        suppressed: whether the host reports nothing in the skill's scope.
    """
    if suppressed:
        return tuple(item for item in entry.findings if item.code in ALWAYS_ERRORS)
    if entry.skill.document is None:
        return apply_policy(entry.findings, rule) if rule == "spec" else entry.findings
    skill = load(entry.path, real=entry.real)
    if rule == "spec":
        location = (item for item in entry.findings if item.code in _LOCATION_CODES)
        return apply_policy((*check_skill(skill), *_whole_file_findings(skill, rule), *location), rule)
    return _with_whole_file_findings(entry, skill, rule)


def _with_whole_file_findings(entry: Entry, skill: Skill, rule: str) -> tuple[Finding, ...]:
    """Add the findings of the whole file. The host does not read it, so none of them rejects."""
    if entry.skill.document is None:
        return entry.findings
    known = {item.code for item in entry.skill.findings}
    late = [item for item in skill.findings if item.code not in known]
    return (*entry.findings, *apply_policy((*late, *_whole_file_findings(skill, rule)), rule))


def _whole_file_findings(skill: Skill, rule: str) -> Iterator[Finding]:
    """Check the body, the files it links to, the files that agents read beside it, and the path itself."""
    if any("\ud800" <= character <= "\udfff" for character in skill.path or ""):
        message = f"the path is not UTF-8: {quoted(skill.path or '', PATH_LIMIT)}"
        yield finding("path-not-utf8", message, path=skill.path, hint="rename the folder")
    yield from check_body(skill)
    folder = os.path.dirname(skill.path or "")
    yield from check_links(skill, lambda path: _file_exists(folder, path))
    yield from check_sidecars(skill, Filesystem(), None if rule in ("guide", "spec") else (rule,))


def _file_exists(folder: str, path: str) -> bool:
    """Return whether a file of the skill exists. A link in the skill counts as existing and is not followed."""
    for part in path.split(os.sep):
        folder = os.path.join(folder, part)
        if os.path.islink(folder):
            return True
    return os.path.lexists(folder)


def _file_name_findings(path: str) -> tuple[Finding, ...]:
    name = os.path.basename(path)
    if name == SKILL_FILE or name.lower() != SKILL_FILE.lower():
        return ()
    message = f"the file is named {quoted(name)}; clients look for `{SKILL_FILE}` exactly"
    return (finding("file-name-case", message, path=path, hint=f"rename it to `{SKILL_FILE}`"),)


def find_skill_files(path: str) -> tuple[list[str], list[Finding]]:
    """Return the skill files that a path names, and the problems in finding others.

    Links below the path are not followed; the path itself may be a link to a folder.

    Raises:
        SkillNotFoundError: the path does not exist.
    """
    try:
        exists = os.path.lexists(path)
    except ValueError:
        exists = False
    if not exists:
        raise SkillNotFoundError(f"no such file or folder: {quoted(path, PATH_LIMIT)}", hint="check the path")
    if os.path.isdir(path):
        files, problems = _find_below(path)
    else:
        files, problems = ([path] if path.lower().endswith(".md") else []), []
    if not files:
        message = "no SKILL.md in or below this folder" if os.path.isdir(path) else "neither a SKILL.md nor a folder"
        problems.append(finding("file-missing", message, path=path, hint="`prowess new NAME` writes a skill"))
    return files, problems


def _find_below(top: str) -> tuple[list[str], list[Finding]]:
    files: list[str] = []
    problems: list[Finding] = []
    for folder, folders, found in walk_folders(top, problems, files=(SKILL_FILE.lower(),), max_folders=MAX_FOLDERS):
        folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS]
        name = SKILL_FILE if SKILL_FILE in found else min(found, default=None)
        if name is not None:
            files.append(os.path.join(folder, name))
    return sorted(files, key=lambda path: path.split(os.sep)), problems
