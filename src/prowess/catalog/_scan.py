"""Host + the directories it scans -> found SKILL.md

The only directory walk for skills. It follows a host's rules about depth, links and names, visits a real directory
once however it is reached, and turns everything it cannot do into a finding.
"""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.findings import Finding, finding
from prowess.hosts import collation_key
from prowess.skill import from_document, parse_frontmatter

from ._filesystem import Filesystem
from ._ignore import IgnoreRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.hosts import Host, Root
    from prowess.skill import FastFrontmatter, Skill

    from ._roots import ScanRoot

__all__ = ["FoundSkill", "ScanResult", "scan"]

_LINK_HINT = "put the file itself there"
_MAX_PROBES = 64
"""Folders looked into, in one root, only to say that a skill was left out there."""


class FoundSkill:
    """A SKILL.md as a host reaches it. There may be ten thousand, so it is no more than it must be."""

    __slots__ = ("_skill", "fast_fields", "path", "real", "scan_root")

    def __init__(
        self,
        path: str,
        real: str,
        scan_root: ScanRoot,
        skill: Skill | None = None,
        fast_fields: FastFrontmatter | None = None,
    ) -> None:
        self.path = path
        self.real = real
        """The same without links."""
        self.scan_root = scan_root
        self.fast_fields = fast_fields
        """What a glance told, where that was enough."""
        self._skill = skill

    @property
    def skill(self) -> Skill:
        """The skill, read in full now if it was only glanced at."""
        if self._skill is None:
            front = b"" if self.fast_fields is None else self.fast_fields[3]
            self._skill = from_document(parse_frontmatter(front, self.path, complete=False), self.path)
        return self._skill

    def with_skill(self, skill: Skill) -> FoundSkill:
        """Return the same with what a client reads there."""
        return FoundSkill(self.path, self.real, self.scan_root, skill)


class ScanResult(Frozen):
    """What a host's walk found, highest precedence first."""

    scan_roots: tuple[ScanRoot, ...]
    found: tuple[FoundSkill, ...]
    findings: tuple[Finding, ...]


def scan(
    host: Host, scan_roots: Iterable[ScanRoot], *, project: str, filesystem: Filesystem | None = None
) -> ScanResult:
    """Walk a host's places.

    Args:
        host: whose rules to follow.
        scan_roots: its places, highest precedence first.
        project: the git root, or the working directory without one; links inside it are inside bounds.
        filesystem: what was seen so far.
    """
    scan_roots = tuple(scan_roots)
    walk = _Walk(host, scan_roots, project, filesystem or Filesystem())
    for scan_root in scan_roots:
        walk.walk_root(scan_root)
    return ScanResult(scan_roots=scan_roots, found=tuple(walk.found), findings=tuple(walk.findings))


def _real_prefix(path: str, filesystem: Filesystem) -> str:
    """Return what the real paths inside a directory begin with."""
    return os.path.join(filesystem.real(path), "")


def _relative_path(scan_root: ScanRoot, path: str) -> str:
    """Write a path relative to its root, as patterns see it."""
    return path[len(scan_root.path) :].strip(os.sep).replace(os.sep, "/")


class _Walk:
    """One host's walk over its places."""

    def __init__(self, host: Host, scan_roots: tuple[ScanRoot, ...], project: str, filesystem: Filesystem) -> None:
        self.host, self.filesystem = host, filesystem
        self.whole_file = host.reading.whole_file
        self.found: list[FoundSkill] = []
        self.findings: list[Finding] = []
        self.visited: set[str] = set()
        """Real paths of the directories that were visited and the files that were found."""
        self.ignore_rules = IgnoreRules()
        """What the ignore files of the root that is walked leave out."""
        # A project cannot widen its own bounds with a root that is itself a link to somewhere else.
        real = [
            (
                _real_prefix(scan_root.path, filesystem),
                "" if scan_root.project_folder is None else _real_prefix(scan_root.project_folder, filesystem),
            )
            for scan_root in scan_roots
        ]
        self.allowed_prefixes = (
            _real_prefix(project, filesystem),
            *(path for path, project_folder in real if path.startswith(project_folder)),
        )

    def report(self, code: str, message: str, path: str, hint: str | None = None) -> None:
        self.findings.append(finding(code, message, path=path, hint=hint))

    def walk_root(self, scan_root: ScanRoot) -> None:
        """Walk one root, if it is there and may be."""
        try:
            real = self.filesystem.real(scan_root.path)
            if self.filesystem.kind(real) != "d":
                if self.filesystem.link_kind(scan_root.path):
                    self.report("root-not-folder", "the skills folder is not a folder", scan_root.path, "remove it")
                elif scan_root.user_named:
                    self.report("root-not-folder", "there is no such folder", scan_root.path, "check the path")
                return
        except (OSError, ValueError):
            return
        if scan_root.root.linked_folders == "bounded" and not self.is_within_bounds(real):
            hint = "copy the skills here, or name their folder with `--skill-dir`"
            self.report("folder-link", "the link leads out of the project and the skills folders", scan_root.path, hint)
            return
        told = len(self.findings)
        self.walk_folders(scan_root, real)
        if scan_root.scope in self.host.suppressed_scopes:
            del self.findings[told:]

    def walk_folders(self, scan_root: ScanRoot, real: str) -> None:
        """Go through the folders of a root, whose real path is given, as deep as the host does."""
        root = scan_root.root
        self.ignore_rules = IgnoreRules()
        # Depth first in sorted order; an explicit stack, because a tree may be deeper than Python's.
        stack = [(scan_root.path, real, 0)]
        quick = not (root.ignore_files or root.inside or root.count_skills or self.whole_file)
        read_fast = self.filesystem.read_fast
        listed = probes = 0
        last: tuple[str, str] | None = None
        while stack:
            path, real, depth = stack.pop()
            if real in self.visited:
                continue
            if root.count_skills and listed >= root.max_folders:
                self.report_folder_limit(scan_root)
                return
            self.visited.add(real)
            if root.ignore_files:
                self.ignore_rules.read(path, _relative_path(scan_root, path), self.filesystem.data)
            if quick and depth:
                # What `take` does, for most skills.
                file = f"{path}/SKILL.md"
                fast_fields = read_fast(file)
                if fast_fields is not None:
                    target = file if real == path else f"{real}/SKILL.md"
                    if target not in self.visited:
                        self.visited.add(target)
                        self.found.append(FoundSkill(file, target, scan_root, None, fast_fields))
                    continue
            held = self.add_folder_skill(scan_root, path, real) if depth or root.own in ("yes", "alone") else False
            if held and (root.own == "alone" if not depth else not root.inside):
                if root.count_skills:
                    listed += 1
                continue
            at_bottom = root.depth >= 0 and depth >= root.depth
            if at_bottom and (held or probes >= _MAX_PROBES):
                continue
            if not at_bottom and listed >= root.max_folders:
                self.report_folder_limit(scan_root)
                return
            try:
                entries = self.filesystem.listing(path)
            except OSError as error:
                words = (error.strerror or "it cannot be listed").lower()
                self.report("folder-unreadable", f"the folder cannot be listed: {words}", path, "mend its permissions")
                continue
            if at_bottom:
                probes += 1
                self.report_too_deep(path, entries, root)
                continue
            listed += 1
            if not held:
                self.report_wrong_case(path, entries)
            if not depth and root.own == "no":
                self.report_skill_in_root(path, entries)
            if root.loose and not depth:
                self.add_loose_files(scan_root, path, real, entries)
            if root.own == "last" and not depth:
                last = (path, real)
            folders = [entry for entry in entries if entry[1] in "dl"]
            if root.collated:
                folders.sort(key=lambda entry: collation_key(entry[0]))
            stack += reversed(self.enterable_folders(scan_root, path, real, depth + 1, folders))
        if last is not None:
            self.add_folder_skill(scan_root, *last)

    def enterable_folders(
        self, scan_root: ScanRoot, path: str, real: str, depth: int, folders: list[tuple[str, str]]
    ) -> list[tuple[str, str, int]]:
        """Return the folders that are entered, each with its real path and depth."""
        skip = scan_root.root.skip
        entered = []
        for name, letter in folders:
            if letter == "d" and name[0] != "." and name not in skip and not self.ignore_rules:
                inner = f"{path}/{name}"
                entered.append((inner, inner if real == path else f"{real}/{name}", depth))
            elif (below := self.enterable_folder(scan_root, path, real, name, letter)) is not None:
                entered.append((*below, depth))
        return entered

    def enterable_folder(
        self, scan_root: ScanRoot, path: str, real: str, name: str, letter: str
    ) -> tuple[str, str] | None:
        """Decide whether a folder is entered; if so return it with its real path."""
        root = scan_root.root
        inner = os.path.join(path, name)
        if letter == "l":
            kind = self.filesystem.kind(inner)
            if kind != "d":
                if not kind:
                    self.report("folder-link", "the link leads nowhere", inner, "mend or remove it")
                return None
            if root.linked_folders == "skip":
                self.report_skipped(inner, "a link")
                return None
            target = self.filesystem.real(inner)
            if root.linked_folders == "bounded" and not self.is_within_bounds(target):
                hint = "copy the skill here, or name its folder with `--skill-dir`"
                self.report("folder-link", "the link leads out of the project and the skills folders", inner, hint)
                return None
        else:
            target = os.path.join(real, name)
        if name in root.skip or (name.startswith(".") and not root.hidden):
            self.report_skipped(inner, "its name" if name in root.skip else "it is hidden")
            return None
        if self.ignore_rules(_relative_path(scan_root, inner), folder=True):
            self.report_skipped(inner, "an ignore file")
            return None
        return inner, target

    def report_folder_limit(self, scan_root: ScanRoot) -> None:
        """Report that the rest of a root is left out."""
        limit = f"more than {scan_root.root.max_folders:,} folders: the rest of this root is not looked at"
        self.report("folder-limit", limit, scan_root.path, "move skills into fewer folders")

    def report_skipped(self, path: str, why: str) -> None:
        """Report a folder that is not entered, if it holds a skill: itself, or one of its folders."""
        names = [path]
        # What a link leads to may be any folder of the machine, as large as it likes: it is not listed.
        if self.filesystem.link_kind(path) != "l":
            try:
                entries = self.filesystem.listing(path)
            except OSError:
                return
            names += [os.path.join(path, name) for name, letter in entries[:_MAX_PROBES] if letter == "d"]
        for name in names:
            if self.filesystem.kind(os.path.join(name, SKILL_FILE)) == "f":
                words = f"{quoted(os.path.basename(path))} is skipped ({why}), though it holds a skill"
                self.report("folder-skipped", words, os.path.join(name, SKILL_FILE), "move the skill out of it")
                return

    def report_too_deep(self, path: str, entries: tuple[tuple[str, str], ...], root: Root) -> None:
        """Report skills one level deeper than the host looks."""
        self.report_wrong_case(path, entries)
        for name, letter in entries[:_MAX_PROBES]:
            if letter == "d" and not name.startswith(".") and name not in root.skip:
                deeper = os.path.join(path, name, SKILL_FILE)
                if self.filesystem.kind(deeper) == "f":
                    levels = "1 level" if root.depth == 1 else f"{root.depth} levels"
                    message = f"the skill lies deeper than {self.host.title} looks ({levels} below the skills folder)"
                    self.report("folder-too-deep", message, deeper, "move its folder up")

    def report_wrong_case(self, path: str, entries: tuple[tuple[str, str], ...]) -> None:
        """Report files that are called SKILL.md but for upper and lower case."""
        for name, letter in entries:
            if letter == "f" and name != SKILL_FILE and name.lower() == SKILL_FILE.lower():
                message = f"the file is named {quoted(name)}; clients look for `{SKILL_FILE}` exactly"
                self.report("file-name-case", message, os.path.join(path, name), f"rename it to `{SKILL_FILE}`")

    def report_skill_in_root(self, path: str, entries: tuple[tuple[str, str], ...]) -> None:
        """Report a skill in the skills folder itself, where the host looks in the folders below only."""
        if any(name == SKILL_FILE and letter in "fl" for name, letter in entries):
            message = f"the skill lies in the skills folder itself; {self.host.title} looks in the folders below it"
            self.report("folder-skipped", message, os.path.join(path, SKILL_FILE), "give it a folder of its own")

    def add_folder_skill(self, scan_root: ScanRoot, path: str, real: str) -> bool:
        """Take the SKILL.md of a folder, if it has one; return whether the folder is a skill's."""
        file = f"{path}/SKILL.md"
        return self.add_skill(scan_root, file, file if real == path else f"{real}/SKILL.md")

    def add_skill(self, scan_root: ScanRoot, path: str, real: str) -> bool:
        """Take one file as a skill; return whether there is one, so that its folder is a skill's."""
        if self.ignore_rules and self.ignore_rules(_relative_path(scan_root, path), folder=False):
            return False
        fast_fields = None if self.whole_file else self.filesystem.read_fast(path)
        if fast_fields is not None:
            if real not in self.visited:
                self.visited.add(real)
                self.found.append(FoundSkill(path, real, scan_root, None, fast_fields))
            return True
        skill = self.filesystem.skill(path, whole=self.whole_file, body=False)
        problem = skill.findings[0].code if skill.document is None else ""
        if problem == "file-missing":
            return False
        if problem == "file-is-link" and scan_root.root.linked_files != "skip":
            target = self.filesystem.real(path)
            name, message = os.path.basename(target), ""
            # A client may read any file through such a link. Prowess does not: its text would show as a skill's.
            if not self.is_within_bounds(target) and (scan_root.root.linked_files == "bounded" or name != SKILL_FILE):
                message = "SKILL.md is a link that leads out of the project and the skills folders, and is not read"
            elif not name.lower().endswith(".md"):
                message = "SKILL.md is a link to a file that is not a `.md` file, and is not read"
            if message:
                skill = skill.with_changes(findings=(finding("file-is-link", message, path=path, hint=_LINK_HINT),))
            else:
                skill = self.filesystem.skill(path, real=target, whole=self.whole_file, body=False)
                real = target
        if real not in self.visited:
            if problem != "file-not-regular":
                # A folder of that name may be entered yet.
                self.visited.add(real)
            self.found.append(FoundSkill(path, real, scan_root, skill))
        return problem != "file-not-regular"

    def is_within_bounds(self, target: str) -> bool:
        """Say whether a real path lies in the project or in a scanned root."""
        return (target + os.sep).startswith(self.allowed_prefixes)

    def add_loose_files(self, scan_root: ScanRoot, path: str, real: str, entries: tuple[tuple[str, str], ...]) -> None:
        """Take the flat files of a skills folder."""
        for name, letter in entries:
            if letter == "f" and name.endswith(".md") and name != SKILL_FILE and not name.startswith("."):
                self.add_skill(scan_root, os.path.join(path, name), os.path.join(real, name))
