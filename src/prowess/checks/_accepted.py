"""Decide which findings of a check are accepted: ignored by a rule, or in the baseline."""

from __future__ import annotations

import os
import re
from itertools import pairwise

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, neutral, quoted, quoted_list
from prowess.errors import ConfigError
from prowess.filesystem import Filesystem, git_root
from prowess.find import GitIgnore, ignore_files_above, tracked_skill_paths
from prowess.findings import CODES, Finding, relative_path

from ._ignore_rules import IgnoreRule, comment_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import NoReturn

    from prowess.find import IgnoreFile
    from prowess.findings import Finding, Severity


class ReportedFinding(Frozen):
    """A finding, and why it does not count, if so."""

    finding: Finding
    fingerprint: str = ""
    """What identifies it in the next check; empty if it was not asked for."""
    kind: str | None = None
    """Why it is accepted: a `comment`, a rule of the `project`, an `option` or the `baseline`; `None` if it counts."""
    reason: str = ""
    also: tuple[ReportedFinding, ...] = ()
    """Those of other skills with the same cause, which are reported here."""


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
    severity: Mapping[str, Severity] | None = None,
    select: frozenset[str] | None = None,
    baseline: Baseline | None = None,
    identify: bool = True,
    whole: bool = True,
    filesystem: Filesystem | None = None,
) -> Accepted:
    """Return the findings of a check, each with whether it is accepted.

    Args:
        findings: all of them, in their order.
        base: the repository, or else the working directory; without links.
        home: the user's home, without links.
        skills: the files that were checked. Those of the repository itself may have comments.
        rules: of `pyproject.toml` and of options.
        severity: by code, for the repository's own files.
        select: the codes that are wanted; all by default.
        baseline: findings that were accepted before.
        identify: whether fingerprints are needed; a baseline needs them anyway.
        whole: whether the whole repository was checked, so that a rule that matches nothing is worth a note.
        filesystem: what was read so far.
    """
    findings = tuple(findings)
    own = OwnFiles(base, filesystem)
    comments, notes = _comments(skills, own)
    in_project = _ProjectFiles(own)
    folders = {os.path.dirname(path): path for path in skills if os.path.basename(path).lower() == SKILL_FILE.lower()}
    used: set[IgnoreRule] = set()
    reported = []
    identified = fingerprints(findings, base, home) if identify or baseline is not None else [""] * len(findings)
    for item, fingerprint in zip(findings, identified, strict=True):
        skill = _skill_of(item.path or "", folders)
        candidates: list[IgnoreRule] = [*comments.get(skill or item.path or "", ()), *rules]
        rule = next(
            (rule for rule in candidates if rule.matches(item, base, skill) and in_project.may_ignore(rule, item)), None
        )
        if rule is not None:
            used.add(rule)
            kind, reason = rule.kind, rule.reason
        elif baseline is not None and fingerprint in baseline.files:
            kind, reason = "baseline", f"in the baseline {baseline.place}"
        else:
            kind, reason = None, ""
        if severity and item.code in severity and item.path is not None and in_project.contains(item.path):
            item = item.with_changes(severity=severity[item.code])
        reported.append(ReportedFinding(finding=item, fingerprint=fingerprint, kind=kind, reason=reason))
    notes += _unused(comments, rules if whole else _rules_of(rules, skills, base), used, base)
    if baseline is not None:
        notes += _fixed(baseline, {item.fingerprint for item in reported}, skills, base)
    if select is not None:
        reported = [item for item in reported if item.finding.code in select]
    return Accepted(findings=tuple(_once_per_cause(reported)), notes=tuple(notes))


def _once_per_cause(reported: Sequence[ReportedFinding]) -> Iterator[ReportedFinding]:
    """Yield findings, of those that count and have one cause the first, which says where the others are."""
    groups: dict[tuple[str, str, str], list[ReportedFinding]] = {}
    for item in reported:
        if item.kind is None and item.finding.cause:
            groups.setdefault((item.finding.code, item.finding.severity, item.finding.cause), []).append(item)
    others = {id(item) for group in groups.values() for item in group[1:]}
    first = {id(group[0]): tuple(group[1:]) for group in groups.values() if len(group) > 1}
    for item in reported:
        if also := first.get(id(item)):
            yield item.with_changes(finding=_with_others(item.finding, also), also=also)
        elif id(item) not in others:
            yield item


def _with_others(item: Finding, also: Sequence[ReportedFinding]) -> Finding:
    paths = dict.fromkeys(other.finding.path or "" for other in also)
    names = [os.path.basename(os.path.dirname(path)) for path in paths]
    return item.with_changes(message=f"{item.message}; also in {quoted_list(names)}")


def _skill_of(path: str, folders: Mapping[str, str]) -> str | None:
    """Return the SKILL.md of the nearest folder above a file that has one.

    Args:
        path: of the file.
        folders: the folders of skills, with the SKILL.md of each.
    """
    folder = os.path.dirname(path)
    while folder not in folders and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folders.get(folder)


class _ProjectFiles:
    """Knows which files the rules of a project count for: its own, and without a repository all below it."""

    def __init__(self, own: OwnFiles) -> None:
        self.own = own
        self.known: dict[str, bool] = {}

    def may_ignore(self, rule: IgnoreRule, item: Finding) -> bool:
        """Return whether a rule that matches a finding counts for it."""
        return rule.kind != "project" or item.path is None or self.contains(item.path)

    def contains(self, path: str) -> bool:
        """Return whether a file is the project's own."""
        if path not in self.known:
            inside = self.own.contains(path) if self.own.is_repository else True
            self.known[path] = inside and relative_path(path, self.own.base) is not None
        return self.known[path]


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


MAX_BASELINE_BYTES = 64 * 1024 * 1024
_FINGERPRINT = re.compile("[0-9a-f]{32}")


class Baseline(Frozen):
    """The findings that were accepted."""

    place: str
    """The path of the file, as the user wrote it."""
    files: Mapping[str, str | None]
    """Fingerprint to the path of its finding: relative to the repository, absolute, or `None` without a file."""


def read_baseline(path: str) -> Baseline:
    """Return the baseline in a file.

    Raises:
        ConfigError: the file cannot be read, or `prowess check --json` did not write it.
    """
    # Programs like pre-commit add the paths of changed files to a command, and a folder can be called `--baseline=x`.
    if path.casefold().endswith(".md"):
        _reject(path, "it is a Markdown file")
    try:
        data = read_file(path, MAX_BASELINE_BYTES, follow=True)
    except UnreadableError as error:
        hint = "write it with `prowess check --json > FILE`"
        raise ConfigError(f"cannot read the baseline {quoted(path, PATH_LIMIT)}: {error.message}", hint=hint) from None
    import json

    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        _reject(path, "it is not JSON")
    if not isinstance(value, dict) or not isinstance(value.get("findings"), list):
        _reject(path, "it has no list of `findings`")
    root = value.get("root")
    if not isinstance(root, str):
        _reject(path, "it has no `root`")
    files: dict[str, str | None] = {}
    for item in value["findings"]:
        fingerprint = item.get("fingerprint") if isinstance(item, dict) else None
        if not isinstance(fingerprint, str) or not _FINGERPRINT.fullmatch(fingerprint):
            _reject(path, "a finding has no `fingerprint`")
        if not isinstance(item.get("code"), str) or item["code"] not in CODES:
            _reject(path, "a finding has no known `code`")
        files[fingerprint] = _relative_path(item.get("path"), root)
        also = item.get("also", [])
        for other in also if isinstance(also, list) else ():
            if isinstance(other, dict) and isinstance(other.get("fingerprint"), str):
                files[other["fingerprint"]] = _relative_path(other.get("path"), root)
    return Baseline(place=path, files=files)


def _reject(path: str, reason: str) -> NoReturn:
    hint = "write it with `prowess check --json > FILE`"
    raise ConfigError(f"{quoted(path, PATH_LIMIT)} is not a baseline: {reason}", hint=hint)


def _relative_path(path: object, root: str) -> str | None:
    """Return a path of the machine that wrote the baseline, relative to its repository if it is inside."""
    if not isinstance(path, str):
        return None
    import ntpath
    import posixpath

    module = ntpath if ntpath.splitdrive(root)[0] else posixpath
    before = root.rstrip(module.sep) + module.sep
    return path[len(before) :].replace(module.sep, "/") if path.startswith(before) else path


def fingerprints(findings: Iterable[Finding], base: str, home: str | None = None) -> list[str]:
    """Return a text for each finding that stays the same if its line moves or the folder is on another machine.

    It depends on the code, the path relative to `base` (or to the home), and the message without its counts. If several
    findings are equal in that, they are counted.

    Args:
        findings: all findings of a check, in their order.
        base: the repository, without links.
        home: the user's home, without links.
    """
    if not (findings := tuple(findings)):
        return []
    from hashlib import sha256

    seen: dict[tuple[str, str, str], int] = {}
    result = []
    for item in findings:
        key = (item.code, _portable_path(item.path, base, home), _without_counts(_portable_text(item, base, home)))
        seen[key] = seen.get(key, 0) + 1
        text = "\0".join((*key, str(seen[key])))
        result.append(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return result


def _portable_path(path: str | None, base: str, home: str | None) -> str:
    if path is None:
        return ""
    inside = relative_path(path, base)
    if inside is not None:
        inside = inside.replace(os.sep, "/")
        # A folder of the repository may be called `~`, which is the home here.
        return f"./{inside}" if inside.startswith("~") else inside
    in_home = relative_path(path, home) if home else None
    return path if in_home is None else f"~/{in_home.replace(os.sep, '/')}"


def _portable_text(item: Finding, base: str, home: str | None) -> str:
    text = item.message.replace(neutral(base.rstrip(os.sep) + os.sep), "")
    return text.replace(neutral(home.rstrip(os.sep) + os.sep), "~/") if home else text


def _without_counts(message: str) -> str:
    """Replace the numbers of a message, but not those of a value: in a path, or between the first and last back-tick.

    A value may itself contain back-ticks.
    """
    before, first, rest = message.partition("`")
    values, last, after = rest.rpartition("`")
    return f"{_replace_counts(before)}{first}{values}{last}{_replace_counts(after)}"


def _replace_counts(text: str) -> str:
    return re.sub(r"(?<!\S)[0-9]+(?:[.,][0-9]+)*(?=[\s,.;:)]|$)", "0", text)


_PACKAGE_FOLDERS = frozenset(((".prowess", "packages"), (".aam", "packages")))


class OwnFiles:
    """Knows which files belong to the git repository `base` itself, with what was read to learn it.

    An installed package, a file of a repository inside it, one that git ignores, and one that a link leads to outside
    do not.
    """

    def __init__(self, base: str, filesystem: Filesystem | None = None) -> None:
        self.base, self.filesystem = base, filesystem or Filesystem()
        self.is_repository = git_root(base, filesystem=self.filesystem) == base
        self._ignore = GitIgnore(self.filesystem)
        self._rules: dict[tuple[str, ...], IgnoreFile | None] = {}
        self._ignored: dict[tuple[str, ...], bool] = {}
        self._tracked: frozenset[str] | None = None

    def contains(self, path: str) -> bool:
        """Return whether a file is one of the repository's own."""
        real = self.filesystem.real(path)
        inside = relative_path(real, self.base)
        if inside is None or "node_modules" in (parts := tuple(inside.split(os.sep))):
            return False
        if any(pair in _PACKAGE_FOLDERS for pair in pairwise(parts)):
            return False
        if git_root(os.path.dirname(real), filesystem=self.filesystem) != self.base:
            return False
        return not self._is_ignored(parts) or self._is_tracked(parts)

    def _is_ignored(self, parts: tuple[str, ...], *, folder: bool = False) -> bool:
        """Return whether git ignores a path, or a folder above it."""
        if parts not in self._ignored:
            self._ignored[parts] = (len(parts) > 1 and self._is_ignored(parts[:-1], folder=True)) or (
                self._ignore.ignores(self._rules_in(parts[:-1]), parts, folder=folder)
            )
        return self._ignored[parts]

    def _rules_in(self, folder: tuple[str, ...]) -> IgnoreFile | None:
        """Return the rules for what is in a folder."""
        if folder not in self._rules:
            above = self._rules_in(folder[:-1]) if folder else None
            if not folder:
                for path, parts in ignore_files_above(self.base, self.base):
                    above = self._ignore.read(path, len(parts), above)
            path = os.path.join(self.base, *folder, ".gitignore")
            self._rules[folder] = self._ignore.read(path, len(folder), above)
        return self._rules[folder]

    def _is_tracked(self, parts: tuple[str, ...]) -> bool:
        """Return whether git tracks a file or the folder of its skill in spite of its rules."""
        if self._tracked is None:
            self._tracked = tracked_skill_paths(self.base, self.filesystem)
        return "/".join(parts) in self._tracked or "/".join(parts[:-1]) in self._tracked
