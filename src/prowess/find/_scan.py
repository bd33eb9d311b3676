"""Find the SKILL.md files in the directories that a host scans.

This is the only directory walk for skills. It follows a host's rules about depth, links and names, visits a real
directory once however it is reached, and reports everything that it skips.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess.filesystem import IGNORE_FILES, Filesystem, IgnoreRules, has_name
from prowess.findings import finding
from prowess.hosts import collation_key
from prowess.skill import from_document, parse_frontmatter

from ._skipped import MAX_PROBES, SkipReports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prowess.filesystem import Listing
    from prowess.findings import Finding
    from prowess.hosts import Host, Root
    from prowess.skill import FastFrontmatter, Skill

    from ._roots import ScanRoot

    _Folder = tuple[str, str, int]

_LINK_HINT = "put the file itself there"


class FoundSkill:
    """A SKILL.md as a host reaches it. It is small, since there may be ten thousand."""

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
        """The fields, if the fast path could read them."""
        self._skill = skill

    @property
    def folder(self) -> str:
        """The name of its folder; for a file that is a whole skill, its path below the root as a name."""
        root = self.scan_root.root
        if self.scan_root.label:
            return self.scan_root.label
        if root.files:
            return _file_label(self.scan_root.path, self.path, root)
        return os.path.basename(os.path.dirname(self.path))

    @property
    def skill(self) -> Skill:
        """The skill, parsed in full now if the fast path has read it."""
        if self._skill is None:
            front = b"" if self.fast_fields is None else self.fast_fields[3]
            self._skill = from_document(parse_frontmatter(front, self.path, complete=False), self.path)
        return self._skill

    def with_skill(self, skill: Skill) -> FoundSkill:
        """Return the same file with the skill that a client reads there."""
        fast_fields = self.fast_fields if skill.document is self.skill.document else None
        return FoundSkill(self.path, self.real, self.scan_root, skill, fast_fields)


class ScanResult(Frozen):
    """The skills that a host finds, highest precedence first."""

    scan_roots: tuple[ScanRoot, ...]
    found: tuple[FoundSkill, ...]
    findings: tuple[Finding, ...]


def scan(
    host: Host, scan_roots: Iterable[ScanRoot], *, project: str, filesystem: Filesystem | None = None
) -> ScanResult:
    """Find the skills of a host.

    Args:
        host: whose rules to follow.
        scan_roots: its directories, highest precedence first.
        project: the git root, or the working directory without one; links to paths inside it are allowed.
        filesystem: what was read so far.
    """
    scan_roots = tuple(scan_roots)
    walk = _Walk(host, scan_roots, project, filesystem or Filesystem())
    for scan_root in scan_roots:
        walk.walk_root(scan_root)
    return ScanResult(scan_roots=scan_roots, found=tuple(walk.found), findings=tuple(walk.reports.findings))


def _relative_path(scan_root: ScanRoot, path: str) -> str:
    """Return a path relative to its root, as ignore patterns match it."""
    return path[len(scan_root.path) :].strip(os.sep).replace(os.sep, "/")


class _Walk:
    """One host's walk over its directories."""

    def __init__(self, host: Host, scan_roots: tuple[ScanRoot, ...], project: str, filesystem: Filesystem) -> None:
        self.host, self.filesystem = host, filesystem
        self.whole_file = host.reading.whole_file
        self.found: list[FoundSkill] = []
        self.reports = SkipReports(host, filesystem)
        self.visited: set[str] = set()
        """Real paths of the directories that were visited and of the files that were found."""
        self.ignore_rules = IgnoreRules()
        """The ignore files of the current root."""
        # A project cannot widen its own bounds with a root that is itself a link to somewhere else.
        real = [
            (
                filesystem.real_prefix(scan_root.path),
                "" if scan_root.project_folder is None else filesystem.real_prefix(scan_root.project_folder),
            )
            for scan_root in scan_roots
        ]
        self.allowed_prefixes = (
            filesystem.real_prefix(project),
            *(path for path, project_folder in real if path.startswith(project_folder)),
        )

    def walk_root(self, scan_root: ScanRoot) -> None:
        """Walk one root, if it exists and the host may enter it."""
        try:
            real = self.filesystem.real(scan_root.path)
            kind = self.filesystem.kind(real)
            if kind == "f" and (scan_root.root.may_be_file or scan_root.label):
                if scan_root.path.endswith(".md"):
                    self.ignore_rules = IgnoreRules()
                    self.add_skill(scan_root, scan_root.path, scan_root.path)
                return
            if kind != "d":
                if self.filesystem.link_kind(scan_root.path):
                    message, hint = "the skills folder is not a folder", "remove it"
                    self.reports.report("root-not-folder", message, scan_root.path, hint)
                elif scan_root.user_named:
                    self.reports.report("root-not-folder", "no such folder", scan_root.path, "check the path")
                return
        except (OSError, ValueError):
            return
        if scan_root.root.linked_folders == "bounded" and not self.is_within_bounds(real):
            self.reports.link_out_of_bounds(scan_root.path, "skills")
            return
        findings_before = len(self.reports.findings)
        self.ignore_rules = IgnoreRules()
        if scan_root.root.files:
            for path, target in _find_files(scan_root, real, self.filesystem, self.reports):
                self.add_skill(scan_root, path, target)
        else:
            _RootWalk(self, scan_root).run(real)
        if scan_root.scope in self.host.suppressed_scopes:
            del self.reports.findings[findings_before:]

    def add_folder_skill(self, scan_root: ScanRoot, path: str, real: str) -> bool:
        """Add the SKILL.md of a folder, if it has one; return whether the folder is a skill's."""
        file = f"{path}/SKILL.md"
        return self.add_skill(scan_root, file, file if real == path else f"{real}/SKILL.md")

    def add_skill(self, scan_root: ScanRoot, path: str, real: str) -> bool:
        """Add one file as a skill; return whether it exists, so that its folder is a skill's."""
        if self.ignore_rules and self.ignore_rules(_relative_path(scan_root, path), folder=False):
            return False
        for patterns in scan_root.patterns:
            if off := patterns.reason_off(path):
                scan_root = scan_root.with_changes(off=off)
        fast_fields = self.filesystem.read_fast(real, whole=self.whole_file)
        if fast_fields is not None:
            if real not in self.visited:
                self.visited.add(real)
                self.found.append(FoundSkill(path, real, scan_root, None, fast_fields))
            return True
        real_or_none = None if real == path else real
        skill = self.filesystem.skill(path, real=real_or_none, whole=self.whole_file, body=False)
        problem = skill.findings[0].code if skill.document is None else ""
        if problem == "file-missing":
            return False
        if problem == "file-is-link" and scan_root.root.linked_files != "skip":
            skill, real = self._follow_linked_file(scan_root, path, real, skill)
        if real not in self.visited:
            if problem != "file-not-regular":
                # A folder with this name may still be entered.
                self.visited.add(real)
            self.found.append(FoundSkill(path, real, scan_root, skill))
        return problem != "file-not-regular"

    def _follow_linked_file(self, scan_root: ScanRoot, path: str, real: str, skill: Skill) -> tuple[Skill, str]:
        """Return the skill that a linked SKILL.md leads to, with its real path; the link itself if it is not followed.

        A client may read any file through such a link. Prowess does not: the file's text would appear as a skill's.
        """
        target = self.filesystem.real(path)
        name, message = os.path.basename(target), ""
        if scan_root.bounds and not self.is_within_bounds(target, scan_root):
            message = "SKILL.md is a link that leads out of its plugin, and is not read"
        elif not self.is_within_bounds(target) and (scan_root.root.linked_files == "bounded" or name != SKILL_FILE):
            message = "SKILL.md is a link that leads out of the project and the skills folders, and is not read"
        elif not name.lower().endswith(".md"):
            message = "SKILL.md is a link to a file that is not a `.md` file, and is not read"
        if message:
            return skill.with_changes(findings=(finding("file-is-link", message, path=path, hint=_LINK_HINT),)), real
        return self.filesystem.skill(path, real=target, whole=self.whole_file, body=False), target

    def is_within_bounds(self, target: str, scan_root: ScanRoot | None = None) -> bool:
        """Return whether a real path is inside the project or a scanned root, or inside the bounds of this one."""
        allowed = self.allowed_prefixes
        if scan_root is not None and scan_root.bounds:
            allowed = tuple(self.filesystem.real_prefix(folder) for folder in scan_root.bounds)
        return (target + os.sep).startswith(allowed)


class _RootWalk:
    """The walk over one root: depth first, in sorted order."""

    def __init__(self, walk: _Walk, scan_root: ScanRoot) -> None:
        self.walk, self.scan_root, self.root = walk, scan_root, scan_root.root
        self.filesystem, self.reports = walk.filesystem, walk.reports
        self.folders: list[tuple[str, str, int]] = []
        """Path, real path and depth of the folders to enter, the next one last; a tree may be too deep to recurse.
        Files that are skills are among them, with the depth -1."""
        self.listed = 0
        """How many folders count for the host's limit."""
        self.last_skill: tuple[str, str] | None = None
        """Path and real path of the root, if its own skill comes after those below it."""
        self.probes = 0
        """How many folders were listed only to report a skill that is too deep."""

    def run(self, real: str) -> None:
        """Walk the root, whose real path is given."""
        root, visited, found = self.root, self.walk.visited, self.walk.found
        scan_root, read_fast = self.scan_root, self.filesystem.read_fast
        self.folders = folders = [(scan_root.path, real, 0)]
        fast = not (scan_root.patterns or root.ignore_files or root.inside or root.count_skills)
        whole = self.walk.whole_file
        while folders:
            path, real, depth = folders.pop()
            if depth < 0:
                self.walk.add_skill(scan_root, path, real)
                continue
            if real in visited:
                continue
            if root.count_skills and self.listed >= root.max_folders:
                self.reports.folder_limit(scan_root)
                return
            visited.add(real)
            if fast and depth:
                # The same as `add_folder_skill`, for most skills.
                target = f"{real}/SKILL.md"
                fast_fields = read_fast(target, whole=whole)
                if fast_fields is not None:
                    if target not in visited:
                        visited.add(target)
                        file = target if real == path else f"{path}/SKILL.md"
                        found.append(FoundSkill(file, target, scan_root, None, fast_fields))
                    continue
            if not self._enter(path, real, depth):
                return
        if self.last_skill is not None:
            self.walk.add_folder_skill(scan_root, *self.last_skill)

    def _enter(self, path: str, real: str, depth: int) -> bool:
        """Add the skill of a folder, or the folders in it to those to enter; return whether to continue."""
        root, filesystem = self.root, self.filesystem
        at_bottom = root.depth >= 0 and depth >= root.depth
        lacks_skill = filesystem.lacks(f"{real}/SKILL.md", listed=not at_bottom)
        # A file that is not in the listing is not looked for.
        list_first = root.ignore_files or (not at_bottom and (root.inside or lacks_skill))
        entries = filesystem.listing_or_none(path) if list_first else None
        filesystem.note_real_path(path, real)
        if root.ignore_files and (entries is None or any(has_name(entries, name) for name in IGNORE_FILES)):
            self.walk.ignore_rules.read(path, _relative_path(self.scan_root, path), filesystem.data)
        may_hold_skill = not lacks_skill and (depth > 0 or root.own in ("yes", "alone"))
        may_hold_skill = may_hold_skill and (entries is None or has_name(entries, SKILL_FILE))
        has_skill = may_hold_skill and self.walk.add_folder_skill(self.scan_root, path, real)
        if has_skill and (root.own == "alone" if not depth else not root.inside):
            self.listed += root.count_skills
            return True
        if at_bottom and (has_skill or self.probes >= MAX_PROBES):
            return True
        if not at_bottom and self.listed >= root.max_folders:
            self.reports.folder_limit(self.scan_root)
            return False
        try:
            entries = entries or filesystem.listing(path)
        except OSError as error:
            message = f"the folder cannot be listed: {(error.strerror or 'unknown error').lower()}"
            self.reports.report("folder-unreadable", message, path, "fix its permissions")
            return True
        if at_bottom:
            self.probes += 1
            self.reports.too_deep(path, entries, root)
            return True
        self.listed += bool(entries) or root.count_empty
        if not has_skill:
            self.reports.wrong_case(path, entries)
        if not depth and not root.skills_first:
            self._enter_root(path, real, entries)
        folders = [entry for entry in entries if entry[1] in "dl"]
        if not folders and not (root.loose or root.loose_below or root.skills_first):
            return True
        if root.collated:
            folders.sort(key=lambda entry: collation_key(entry[0]))
        entered = self._enterable_folders(path, real, depth + 1, folders)
        if root.skills_first:
            entered = [folder for folder in entered if not self._add_early(folder)]
            if not depth:
                self._enter_root(path, real, entries)
                for file, target, _ in _find_loose_files(root, path, real, entries, filesystem) if root.loose else ():
                    self.walk.add_skill(self.scan_root, file, target)
        elif root.loose_below if depth else root.loose:
            entered = sorted([*entered, *_find_loose_files(root, path, real, entries, filesystem)])
        self.folders += reversed(entered)
        return True

    def _add_early(self, folder: _Folder) -> bool:
        """Add the skill of a folder that is not entered yet; return whether that is all there is in it."""
        path, real, _ = folder
        if real in self.walk.visited or not self.walk.add_folder_skill(self.scan_root, path, real):
            return False
        self.walk.visited.add(real)
        return not self.root.inside

    def _enter_root(self, path: str, real: str, entries: Listing) -> None:
        """Handle the files in the skills folder itself."""
        if self.root.own == "no":
            self.reports.skill_in_root(path, entries)
        elif self.root.own == "last":
            self.last_skill = (path, real)

    def _enterable_folders(self, path: str, real: str, depth: int, folders: list[tuple[str, str]]) -> list[_Folder]:
        """Return the folders to enter, each with its real path and depth."""
        root, ignore_rules = self.root, self.walk.ignore_rules
        skip, is_skipped = root.skip, re.compile(root.skip_pattern).search if root.skip_pattern else None
        entered = []
        for name, letter in folders:
            is_plain = letter == "d" and name[0] != "." and not (name in skip or ignore_rules)
            if is_plain and (is_skipped is None or not is_skipped(name)):
                inner = f"{path}/{name}"
                entered.append((inner, inner if real == path else f"{real}/{name}", depth))
            elif (folder := self._enterable_folder(path, real, name, letter)) is not None:
                entered.append((*folder, depth))
        return entered

    def _enterable_folder(self, path: str, real: str, name: str, letter: str) -> tuple[str, str] | None:
        """Return a folder with its real path; `None` if it is not entered."""
        root = self.root
        inner = os.path.join(path, name)
        target = os.path.join(real, name)
        if letter == "l":
            if (followed := self._follow_linked_folder(inner)) is None:
                return None
            target = followed
        by_name = name in root.skip or bool(root.skip_pattern and re.search(root.skip_pattern, name))
        if by_name or (name.startswith(".") and not root.hidden):
            is_new = root.skip_inside and target not in self.walk.visited
            if is_new and self.walk.add_folder_skill(self.scan_root, inner, target):
                return None
            self.reports.folder(inner, "its name" if by_name else "it is hidden")
            return None
        if self.walk.ignore_rules(_relative_path(self.scan_root, inner), folder=True):
            self.reports.folder(inner, "an ignore file")
            return None
        return inner, target

    def _follow_linked_folder(self, path: str) -> str | None:
        """Return the real path of a link to a folder; `None` if it is not followed."""
        kind = self.filesystem.kind(path)
        if kind != "d":
            if not kind:
                message, hint = "the target of the link does not exist", "fix or remove the link"
                self.reports.report("folder-link", message, path, hint)
            return None
        if self.root.linked_folders == "skip":
            self.reports.folder(path, "a link")
            return None
        target = self.filesystem.real(path)
        bounded = self.root.linked_folders == "bounded" or self.scan_root.bounds
        if bounded and not self.walk.is_within_bounds(target, self.scan_root):
            self.reports.link_out_of_bounds(path, "skill")
            return None
        return target


# ── files as skills ──────────────────────────────────────────────────────────────────────────────────────────────────

_FOLDER_FILE = "skill.md"
"""The file, in any case, that makes its folder a skill."""


def _file_label(root_path: str, path: str, root: Root) -> str:
    """Return what a file is called: its path below the root, with `:` for `/`.

    Args:
        root_path: of the root.
        path: of the file.
        root: its rules.
    """
    relative = os.path.relpath(path, root_path)
    folder, file = os.path.split(relative)
    if root.folder_files != "no" and file.lower() == _FOLDER_FILE:
        return folder.replace(os.sep, ":") or os.path.basename(root_path)
    return os.path.splitext(relative)[0].replace(os.sep, ":")


def _find_files(
    scan_root: ScanRoot, real: str, filesystem: Filesystem, reports: SkipReports
) -> Iterator[tuple[str, str]]:
    """Yield the files of a root that are skills, each with its path without links, sorted by path.

    Args:
        scan_root: the root.
        real: its path without links.
        filesystem: what was read so far.
        reports: where skipped folders are reported.
    """
    root = scan_root.root
    is_skill = re.compile(root.files).fullmatch
    found: list[tuple[str, str]] = []
    waiting, visited = [(scan_root.path, real, 0)], {real}
    while waiting:
        path, real, depth = waiting.pop()
        try:
            entries = filesystem.listing(path)
        except OSError as error:
            message = f"the folder cannot be listed: {(error.strerror or 'unknown error').lower()}"
            reports.report("folder-unreadable", message, path, "fix its permissions")
            continue
        files, below = [], []
        for name, letter in entries:
            inner = os.path.join(path, name)
            kind = filesystem.kind(inner) if letter == "l" else letter
            if kind == "f" and is_skill(name):
                files.append((inner, os.path.join(real, name)))
            elif kind == "d" and depth != root.depth and name not in root.skip and (root.hidden or name[0] != "."):
                target = filesystem.real(inner) if letter == "l" else os.path.join(real, name)
                if (letter == "l" and root.linked_folders == "skip") or target in visited:
                    continue
                visited.add(target)
                if len(visited) <= root.max_folders:
                    below.append((inner, target, depth + 1))
        own = [item for item in files if os.path.basename(item[0]).lower() == _FOLDER_FILE]
        has_own = bool(own) and root.folder_files != "no"
        found += own[:1] if has_own else files
        waiting += [] if has_own and root.folder_files == "alone" else below
    if len(visited) > root.max_folders:
        reports.folder_limit(scan_root)
    yield from sorted(found, key=(lambda item: _order(scan_root.path, item[0])) if root.collated else None)


def _order(root_path: str, path: str) -> list[tuple[bool, object]]:
    """Return a key that sorts the files of a folder, as in a dictionary, before its folders."""
    *folders, file = os.path.relpath(path, root_path).split(os.sep)
    return [*((True, collation_key(name)) for name in folders), (False, collation_key(file))]


def _find_loose_files(
    root: Root, path: str, real: str, entries: Iterable[tuple[str, str]], filesystem: Filesystem
) -> list[tuple[str, str, int]]:
    """Return the files of a folder that are skills, although they are not called SKILL.md.

    Args:
        root: whose rules to follow.
        path: of the folder.
        real: the same without links.
        entries: its listing.
        filesystem: what was read so far.

    Returns:
        The path and the real path of each, and -1.
    """
    return [
        (f"{path}/{name}", f"{real}/{name}", -1)
        for name, letter in entries
        if name.endswith(".md")
        and name != SKILL_FILE
        and (root.skip_inside or not name.startswith("."))
        and (letter == "f" or (letter == "l" and filesystem.kind(f"{path}/{name}") == "f"))
    ]
