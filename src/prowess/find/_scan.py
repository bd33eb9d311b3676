"""Find the SKILL.md files in the directories that a host scans.

This is the only directory walk for skills. It follows a host's rules about depth, links and names, visits a real
directory once however it is reached, and reports everything that it skips.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE, folder_name
from prowess._internal.frozen import Frozen
from prowess.clients import of_client
from prowess.filesystem import IGNORE_FILES, Filesystem, IgnoreRules, has_name
from prowess.findings import finding
from prowess.skill import from_document, parse_frontmatter

from ._skipped import MAX_PROBES, SkipReports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

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
        """The name of its folder; for a file that is a whole skill, what that is called."""
        if self.scan_root.label:
            return self.scan_root.label
        return folder_name(self.path)

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


# ── what a client may do in its own way ──────────────────────────────────────────────────────────────────────────────


def name_order(name: str) -> Any:
    """Return what folders and files are sorted by."""
    return name


def may_be_file(root: Root) -> bool:  # noqa: ARG001
    """Return whether a root may be a file `*.md`, which is a skill."""
    return False


def skips_folder(name: str) -> bool:  # noqa: ARG001
    """Return whether the client scans no folder with a name, besides those in `skip`."""
    return False


def takes_skipped_skills() -> bool:
    """Return whether a folder that is hidden or skipped by its name may be a skill; folders in it are skipped."""
    return False


def takes_skills_first() -> bool:
    """Return whether the skills right below a folder come before those further down."""
    return False


def has_loose_files(root: Root, depth: int) -> bool:
    """Return whether `*.md` files are skills too in folders at a depth below a root."""
    return root.loose and not depth


def counts_all_folders() -> bool:
    """Return whether folders of skills and empty ones count in `max_folders` like all others."""
    return False


# ── the walk ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class ScanResult(Frozen):
    """The skills that a host finds, highest precedence first."""

    scan_roots: tuple[ScanRoot, ...]
    found: tuple[FoundSkill, ...]
    findings: tuple[Finding, ...]


def scan(
    host: Host, scan_roots: Iterable[ScanRoot], *, project: str, cwd: str = "", filesystem: Filesystem | None = None
) -> ScanResult:
    """Find the skills of a host.

    Args:
        host: whose rules to follow.
        scan_roots: its directories, highest precedence first.
        project: the git root, or the working directory without one; links to paths inside it are allowed.
        cwd: the working directory; by default the project.
        filesystem: what was read so far.
    """
    scan_roots = tuple(scan_roots)
    walk = _Walk(host, scan_roots, project, cwd or project, filesystem or Filesystem())
    for scan_root in scan_roots:
        walk.walk_root(scan_root)
    return ScanResult(scan_roots=scan_roots, found=tuple(walk.found), findings=tuple(walk.reports.findings))


def _relative_path(scan_root: ScanRoot, path: str) -> str:
    """Return a path relative to its root, as ignore patterns match it."""
    return path[len(scan_root.path) :].strip(os.sep).replace(os.sep, "/")


class _Walk:
    """One host's walk over its directories."""

    def __init__(
        self, host: Host, scan_roots: tuple[ScanRoot, ...], project: str, cwd: str, filesystem: Filesystem
    ) -> None:
        self.host, self.filesystem, self.cwd = host, filesystem, cwd
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
            if kind == "f" and (scan_root.label or of_client(self.host.name, may_be_file)(scan_root.root)):
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
        if self.is_foreign(scan_root):
            self.reports.foreign(scan_root.path)
            return
        if scan_root.root.linked_folders == "bounded" and not self.is_within_bounds(real):
            self.reports.link_out_of_bounds(scan_root.path, "skills")
            return
        findings_before = len(self.reports.findings)
        self.ignore_rules = IgnoreRules()
        if scan_root.root.files:
            order = of_client(self.host.name, name_order)
            for path, target in _find_files(scan_root, real, self.filesystem, self.reports, order):
                label = scan_root.label or _file_label(scan_root.path, path, scan_root.root)
                self.add_skill(scan_root.with_changes(label=label), path, target)
        else:
            _RootWalk(self, scan_root).run(real)
        if scan_root.scope in self.host.suppressed_scopes:
            del self.reports.findings[findings_before:]

    def is_foreign(self, scan_root: ScanRoot) -> bool:
        """Return whether another user has put a root above the working directory."""
        folder = scan_root.project_folder
        if folder is None or folder == self.cwd or not self.cwd.startswith(os.path.join(folder, "")):
            return False
        name = os.path.relpath(scan_root.path, folder).split(os.sep)[0]
        return not self.filesystem.is_own_project(folder, name, self.cwd)

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
        client = walk.host.name
        self.order, self.skips = of_client(client, name_order), of_client(client, skips_folder)
        self.has_loose_files = of_client(client, has_loose_files)
        self.takes_skipped = of_client(client, takes_skipped_skills)()
        self.skills_first = of_client(client, takes_skills_first)()
        self.counts_all = of_client(client, counts_all_folders)()

    def run(self, real: str) -> None:
        """Walk the root, whose real path is given."""
        root, visited, found = self.root, self.walk.visited, self.walk.found
        scan_root, read_fast = self.scan_root, self.filesystem.read_fast
        self.folders = folders = [(scan_root.path, real, 0)]
        fast = not (scan_root.patterns or root.ignore_files or root.inside or self.counts_all)
        whole = self.walk.whole_file
        while folders:
            path, real, depth = folders.pop()
            if depth < 0:
                self.walk.add_skill(scan_root, path, real)
                continue
            if real in visited:
                continue
            if self.counts_all and self.listed >= root.max_folders:
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
            self.listed += self.counts_all
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
        self.listed += bool(entries) or self.counts_all
        if not has_skill:
            self.reports.wrong_case(path, entries)
        if not depth and not self.skills_first:
            self._enter_root(path, real, entries)
        folders = [entry for entry in entries if entry[1] in "dl"]
        has_loose_files = self.has_loose_files(root, depth)
        if not folders and not (has_loose_files or self.skills_first):
            return True
        if self.order is not name_order:
            folders.sort(key=lambda entry: self.order(entry[0]))
        entered = self._enterable_folders(path, real, depth + 1, folders)
        if self.skills_first:
            entered = [folder for folder in entered if not self._add_early(folder)]
            if not depth:
                self._enter_root(path, real, entries)
                for file, target, _ in self._find_loose_files(path, real, entries) if has_loose_files else ():
                    self.walk.add_skill(self.scan_root, file, target)
        elif has_loose_files:
            entered = sorted([*entered, *self._find_loose_files(path, real, entries)])
        self.folders += reversed(entered)
        return True

    def _find_loose_files(self, path: str, real: str, entries: Listing) -> list[_Folder]:
        """Return the files of a folder that are skills, although they are not called SKILL.md, with the depth -1."""
        return [
            (f"{path}/{name}", f"{real}/{name}", -1)
            for name, letter in entries
            if name.endswith(".md")
            and name != SKILL_FILE
            and (self.takes_skipped or not name.startswith("."))
            and (letter == "f" or (letter == "l" and self.filesystem.kind(f"{path}/{name}") == "f"))
        ]

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
        skip, is_skipped = root.skip, None if self.skips is skips_folder else self.skips
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
        by_name = name in root.skip or self.skips(name)
        if by_name or (name.startswith(".") and not root.hidden):
            is_new = self.takes_skipped and target not in self.walk.visited
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
    if root.depth and file.lower() == _FOLDER_FILE:
        return folder.replace(os.sep, ":") or os.path.basename(root_path)
    return os.path.splitext(relative)[0].replace(os.sep, ":")


def _find_files(
    scan_root: ScanRoot, real: str, filesystem: Filesystem, reports: SkipReports, order: Callable[[str], Any]
) -> Iterator[tuple[str, str]]:
    """Yield the files of a root that are skills, each with its path without links, those of a folder first.

    Args:
        scan_root: the root.
        real: its path without links.
        filesystem: what was read so far.
        reports: where skipped folders are reported.
        order: what names are sorted by.
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
        has_own = bool(own) and root.depth != 0
        found += own[:1] if has_own else files
        waiting += [] if has_own and not root.inside else below
    if len(visited) > root.max_folders:
        reports.folder_limit(scan_root)
    yield from sorted(found, key=lambda item: _order(scan_root.path, item[0], order))


def _order(root_path: str, path: str, order: Callable[[str], Any]) -> list[tuple[bool, Any]]:
    """Return a key that sorts the files of a folder before its folders."""
    *folders, file = os.path.relpath(path, root_path).split(os.sep)
    return [*((True, order(name)) for name in folders), (False, order(file))]
