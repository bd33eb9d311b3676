"""Host + directory -> found SKILL.md

The only directory walk for skills. It follows a host's rules about depth, links and names, visits a real directory
once however it is reached, and turns everything it cannot do into a finding.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ._frontmatter import MAX_FRONTMATTER_BYTES, Value, front_end, read, read_yaml
from .files import UnreadableError, read_file, read_head
from .findings import Finding, finding, quoted
from .host import Host, Root
from .skill import Skill, from_document, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Disk", "Found", "Place", "Scan", "git_root", "places", "scan"]

SKILL_FILE = "SKILL.md"
_PUT_THERE = "put the file itself there"
_MAX_PROBES = 64
"""Folders looked into, in one root, only to say that a skill was left out there."""
_MAX_NESTED_FOLDERS = 2000
"""Folders below the project that are looked at for nested skills folders."""


@dataclass(frozen=True, slots=True)
class Place:
    """A root of a host, on this machine."""

    path: str
    scope: str
    root: Root
    namespace: str | None = None
    nested: str | None = None
    """Where a nested skills folder lies, relative to the project."""
    base: str | None = None
    """The project folder it belongs to, where there is one."""
    level: int = 0
    """How many folders above the working directory it belongs to."""
    named: bool = False
    """Whether the user named it, so that its absence is worth a word."""


@dataclass(frozen=True, slots=True)
class Found:
    """A SKILL.md as a host reaches it."""

    path: str
    real: str
    """The same without links."""
    place: Place
    skill: Skill


@dataclass(frozen=True, slots=True)
class Scan:
    """What a host's walk found, highest precedence first."""

    places: tuple[Place, ...]
    found: tuple[Found, ...]
    findings: tuple[Finding, ...]


class Disk:
    """The file system as one command has seen it: each directory is listed and each file is read once.

    The seam for a cache that outlives the process, and for tests.
    """

    def __init__(self) -> None:
        self._listings: dict[str, tuple[tuple[str, str], ...] | OSError] = {}
        self._heads: dict[tuple[str, bool], tuple[Skill, bool]] = {}
        self._tables: dict[str, Mapping[str, Value]] = {}

    def listing(self, path: str) -> tuple[tuple[str, str], ...]:
        """Return the names in a directory, sorted, each with `d` folder, `f` file, `l` link or `?` anything else.

        Raises:
            OSError: it cannot be listed.
        """
        known = self._listings.get(path)
        if known is None:
            try:
                with os.scandir(path) as entries:
                    known = tuple(sorted((entry.name, _letter(entry)) for entry in entries))
            except OSError as error:
                known = error
            except ValueError:
                known = FileNotFoundError(path)
            self._listings[path] = known
        if isinstance(known, OSError):
            raise known
        return known

    def skill(self, path: str, *, follow: bool = False, whole: bool = False) -> Skill:
        """Return the skill a SKILL.md holds, its body only if `whole`. Never raises.

        `file-missing` among its findings says that there is no such file, `file-is-link` that it is a link and
        `follow` was not given.
        """
        known = self._heads.get((path, follow))
        if known is not None and (known[1] or not whole):
            return known[0]
        try:
            if whole:
                data, complete = read_file(path, follow=follow), True
            else:
                data, complete = read_head(path, _enough, MAX_FRONTMATTER_BYTES + 4096, follow=follow)
        except UnreadableError as error:
            skill, complete = unreadable(path, error), True
        else:
            skill = from_document(read(data, path, complete=complete), path)
        self._heads[path, follow] = skill, complete
        return skill

    def yaml(self, path: str) -> Mapping[str, Value]:
        """Return the mapping a small YAML file beside a SKILL.md holds; empty where there is none, or it is not one."""
        known = self._tables.get(path)
        if known is None:
            try:
                known, _ = read_yaml(read_file(path, MAX_FRONTMATTER_BYTES), path)
            except UnreadableError:
                known = {}
            self._tables[path] = known
        return known


def _enough(data: bytes) -> int:
    """Say how much of a file tells all about its front matter: nothing more is read where it does not begin with one."""
    return front_end(data) if data.startswith((b"---", b"\xef\xbb\xbf---")) else len(data)


def _letter(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "l"
        return "d" if entry.is_dir(follow_symlinks=False) else "f" if entry.is_file(follow_symlinks=False) else "?"
    except OSError:
        return "?"


def git_root(directory: str, marker: str = "exists") -> str | None:
    """Return the nearest directory at or above this one that holds `.git`, be it a folder, or a worktree's file.

    Args:
        directory: an absolute path.
        marker: `exists`, or `valid` where the client asks git and an empty `.git` does not count.
    """
    while True:
        path = os.path.join(directory, ".git")
        if os.path.exists(path) and (marker == "exists" or _is_repository(path)):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def _is_repository(path: str) -> bool:
    """Say whether `.git` is a repository's folder, or a worktree's file that leads to one."""
    if os.path.isfile(path):
        try:
            words = read_file(path, 4096, follow=True).decode("utf-8", "replace")
        except UnreadableError:
            return False
        target = words.removeprefix("gitdir:").strip()
        path = os.path.join(os.path.dirname(path), target) if words.startswith("gitdir:") and target else ""
        return bool(path) and os.path.isfile(os.path.join(path, "HEAD"))
    return all(os.path.exists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs"))


def _levels(cwd: str, top: str | None) -> list[str]:
    """Return the folders from `cwd` up to `top`, nearest first; up to the file system's root if `top` is None."""
    levels = [cwd]
    while levels[-1] != top:
        parent = os.path.dirname(levels[-1])
        if parent == levels[-1]:
            break
        levels.append(parent)
    return levels


def places(
    host: Host,
    cwd: str,
    home: str,
    *,
    skill_dirs: Iterable[str] = (),
    env: Mapping[str, str],
    moved: bool = True,
    disk: Disk | None = None,
) -> tuple[Place, ...]:
    """Return the directories a host scans, highest precedence first, whether or not they are there.

    Args:
        host: whose.
        cwd: the working directory, without links.
        home: the user's home.
        skill_dirs: directories the user named.
        env: the environment.
        moved: whether variables that move a client's folders (`CODEX_HOME`, ...) count.
        disk: what was seen so far; needed for nested folders and packages.
    """
    disk = disk or Disk()
    top = git_root(cwd, host.git_marker)
    result: list[Place] = []
    roots = list(host.roots)
    if not any(root.path == "@skill-dir" for root in roots):
        pattern = roots[0] if roots else Root(path="", scope="extra")
        roots.append(_copy(pattern, path="@skill-dir", scope="extra", walk="none", nested="no"))
    at = 0
    while at < len(roots):
        # Neighbours that walk upwards alike are looked for together, level by level.
        block = [roots[at]]
        at += 1
        while at < len(roots) and block[0].walk != "none" and _walks_with(block[0], roots[at]):
            block.append(roots[at])
            at += 1
        levels = list(enumerate(_walked(block[0], cwd, top)))
        pairs = [(up, level, root) for up, level in levels for root in block]
        if not host.levels_first:
            pairs = [(up, level, root) for root in block for up, level in levels]
        for up, level, root in pairs:
            if not (root.not_home and level == home):
                expanded = _expand(root, level, home, skill_dirs, env if moved else {}, env, disk)
                result += [replace(place, level=up) for place in expanded] if up else expanded
        for root in block:
            if root.nested != "no":
                result += _nested(root, top or cwd if root.walk == "project" else cwd, disk)
    return tuple(result)


def _copy(root: Root, **changes: object) -> Root:
    values = {name: getattr(root, name) for name in Root.__slots__}
    return Root(**{**values, **changes})


def _walks_with(first: Root, other: Root) -> bool:
    return (first.scope, first.walk, first.without_git) == (other.scope, other.walk, other.without_git) and not (
        other.path.startswith(("~", "/", "$", "@"))
    )


def _walked(root: Root, cwd: str, top: str | None) -> list[str]:
    if root.walk == "project":
        return [top or cwd]
    if root.walk == "filesystem-root" or (root.walk == "git-root" and not top and root.without_git != "none"):
        return _levels(cwd, None)
    return _levels(cwd, top) if root.walk == "git-root" and top else [cwd]


def _expand(
    root: Root,
    level: str,
    home: str,
    skill_dirs: Iterable[str],
    moving: Mapping[str, str],
    env: Mapping[str, str],
    disk: Disk,
) -> Iterator[Place]:
    """Turn one root's path into directories."""
    path = root.path
    if path == "@skill-dir":
        own = root if root.own != "no" else _copy(root, own="yes")
        for directory in skill_dirs:
            yield Place(
                os.path.abspath(os.path.join(level, os.path.expanduser(directory))), root.scope, own, named=True
            )
        return
    if path.startswith("$"):
        variable, _, fallback = path[1:].partition("|")
        variable, slash, rest = variable.partition("/")
        if not slash and not fallback:
            for directory in filter(None, env.get(variable, "").split(root.separator)):
                yield Place(os.path.abspath(os.path.join(level, directory)), root.scope, root, named=True)
            return
        value = moving.get(variable)
        path = os.path.join(value, rest) if value else fallback
    if path.startswith("~/"):
        path = os.path.join(home, path[2:])
        base = None
    elif os.path.isabs(path):
        base = None
    else:
        path = os.path.join(level, path)
        base = level
    if "*" not in path:
        yield Place(os.path.normpath(path), root.scope, root, base=base)
        return
    before, _, after = path.partition("*")
    try:
        names = [name for name, letter in disk.listing(before) if letter in "dl"]
    except OSError:
        return
    for name in names:
        if not name.startswith("."):
            yield Place(os.path.normpath(before + name + after), root.scope, root, namespace=name, base=base)


def _nested(root: Root, project: str, disk: Disk) -> Iterator[Place]:
    """Find skills folders below the project, but not the project's own."""
    first = root.path.split("/", 1)[0]
    waiting, seen = [project], 0
    while waiting and seen < _MAX_NESTED_FOLDERS:
        directory = waiting.pop(0)
        seen += 1
        try:
            entries = disk.listing(directory)
        except OSError:
            continue
        for name, letter in entries:
            if name == first and directory != project:
                path = os.path.join(directory, root.path)
                if os.path.isdir(path):
                    yield Place(path, root.scope, root, nested=os.path.relpath(directory, project), base=directory)
            elif letter == "d" and not name.startswith(".") and name not in root.skip:
                waiting.append(os.path.join(directory, name))


def scan(host: Host, where: Iterable[Place], *, project: str, disk: Disk | None = None) -> Scan:
    """Walk a host's places.

    Args:
        host: whose rules to follow.
        where: its places, highest precedence first.
        project: the git root, or the working directory without one; links inside it are inside bounds.
        disk: what was seen so far.
    """
    where = tuple(where)
    walk = _Walk(host, where, project, disk or Disk())
    for place in where:
        walk.place(place)
    return Scan(where, tuple(walk.found), tuple(walk.findings))


class _Walk:
    """One host's walk over its places."""

    def __init__(self, host: Host, where: tuple[Place, ...], project: str, disk: Disk) -> None:
        self.host, self.disk = host, disk
        self.found: list[Found] = []
        self.findings: list[Finding] = []
        self.seen: set[str] = set()
        """Real paths of the directories that were visited and the files that were found."""
        self.bounds = tuple(os.path.realpath(path) + os.sep for path in (project, *(place.path for place in where)))

    def report(self, code: str, message: str, path: str, hint: str | None = None) -> None:
        self.findings.append(finding(code, message, path=path, hint=hint))

    def place(self, place: Place) -> None:
        try:
            real = os.path.realpath(place.path)
            if not os.path.isdir(real):
                if os.path.lexists(place.path):
                    self.report("root-not-folder", "the skills folder is not a folder", place.path, "remove it")
                elif place.named:
                    self.report("root-not-folder", "there is no such folder", place.path, "check the path")
                return
        except (OSError, ValueError):
            return
        self.walk(place, real)

    def walk(self, place: Place, real: str) -> None:
        root = place.root
        # Depth first in sorted order; an explicit stack, because a tree may be deeper than Python's.
        stack = [(place.path, real, 0)]
        listed = probes = 0
        last: tuple[str, str] | None = None
        while stack:
            path, real, depth = stack.pop()
            if real in self.seen:
                continue
            self.seen.add(real)
            held = self.skill_in(place, path, real) if depth or root.own in ("yes", "alone") else False
            if held and (root.own == "alone" if not depth else not root.inside):
                if root.count_skills:
                    listed += 1
                continue
            at_bottom = root.depth >= 0 and depth >= root.depth
            if at_bottom and (held or probes >= _MAX_PROBES):
                continue
            if not at_bottom and listed >= root.max_folders:
                limit = f"more than {root.max_folders:,} folders: the rest of this root is not looked at"
                self.report("folder-limit", limit, place.path, "move skills into fewer folders")
                return
            try:
                entries = self.disk.listing(path)
            except OSError as error:
                words = (error.strerror or "it cannot be listed").lower()
                self.report("folder-unreadable", f"the folder cannot be listed: {words}", path, "mend its permissions")
                continue
            if at_bottom:
                probes += 1
                self.probe(path, entries, root)
                continue
            listed += 1
            if not held:
                self.almost(path, entries)
            if root.loose and not depth:
                self.loose(place, path, real, entries)
            if root.own == "last" and not depth:
                last = (path, real)
            below = [self.child(place, path, real, depth, name, letter) for name, letter in entries if letter in "dl"]
            stack += reversed([entry for entry in below if entry is not None])
        if last is not None:
            self.skill_in(place, *last)

    def child(
        self, place: Place, path: str, real: str, depth: int, name: str, letter: str
    ) -> tuple[str, str, int] | None:
        """Decide whether a folder is entered; if so return it with its real path and depth."""
        root = place.root
        inner = os.path.join(path, name)
        if letter == "l":
            if not os.path.isdir(inner):
                if not os.path.exists(inner):
                    self.report("folder-link", "the link leads nowhere", inner, "mend or remove it")
                return None
            if root.linked_folders == "skip":
                self.skipped(inner, "a link")
                return None
            target = os.path.realpath(inner)
            if root.linked_folders == "bounded" and not self.inside(target):
                hint = "copy the skill here, or name its folder with `--skill-dir`"
                self.report("folder-link", "the link leads out of the project and the skills folders", inner, hint)
                return None
        else:
            target = os.path.join(real, name)
        if name in root.skip or (name.startswith(".") and not root.hidden):
            self.skipped(inner, "its name" if name in root.skip else "it is hidden")
            return None
        return inner, target, depth + 1

    def skipped(self, path: str, why: str) -> None:
        """Report a folder that is not entered, if it holds a skill: itself, or one of its folders."""
        try:
            entries = self.disk.listing(path)
        except OSError:
            return
        names = [path, *(os.path.join(path, name) for name, letter in entries[:_MAX_PROBES] if letter == "d")]
        for name in names:
            if os.path.isfile(os.path.join(name, SKILL_FILE)):
                words = f"{quoted(os.path.basename(path))} is skipped ({why}), though it holds a skill"
                self.report("folder-skipped", words, os.path.join(name, SKILL_FILE), "move the skill out of it")
                return

    def probe(self, path: str, entries: tuple[tuple[str, str], ...], root: Root) -> None:
        """Report skills one level deeper than the host looks."""
        self.almost(path, entries)
        for name, letter in entries[:_MAX_PROBES]:
            if letter == "d" and not name.startswith(".") and name not in root.skip:
                deeper = os.path.join(path, name, SKILL_FILE)
                if os.path.isfile(deeper):
                    levels = "1 level" if root.depth == 1 else f"{root.depth} levels"
                    message = f"the skill lies deeper than {self.host.title} looks ({levels} below the skills folder)"
                    self.report("folder-too-deep", message, deeper, "move its folder up")

    def almost(self, path: str, entries: tuple[tuple[str, str], ...]) -> None:
        for name, letter in entries:
            if letter == "f" and name != SKILL_FILE and name.lower() == SKILL_FILE.lower():
                message = f"the file is named {quoted(name)}; clients look for `{SKILL_FILE}` exactly"
                self.report("file-name-case", message, os.path.join(path, name), f"rename it to `{SKILL_FILE}`")

    def skill_in(self, place: Place, path: str, real: str) -> bool:
        """Take the SKILL.md of a folder, if it has one; return whether the folder is a skill's."""
        return self.take(place, os.path.join(path, SKILL_FILE), os.path.join(real, SKILL_FILE))

    def take(self, place: Place, path: str, real: str) -> bool:
        """Take one file as a skill; return whether there is one, so that its folder is a skill's."""
        skill = self.disk.skill(path, whole=self.host.reading.whole_file)
        problem = skill.findings[0].code if skill.document is None else ""
        if problem == "file-missing":
            return False
        if problem == "file-is-link" and place.root.linked_files != "skip":
            target = os.path.realpath(path)
            if not self.inside(target) and (
                place.root.linked_files == "bounded" or os.path.basename(target) != SKILL_FILE
            ):
                # A client may read any file through such a link. Prowess does not: its text would be shown as a skill's.
                message = "SKILL.md is a link that leads out of the project and the skills folders, and is not read"
                skill = replace(skill, findings=(finding("file-is-link", message, path=path, hint=_PUT_THERE),))
            else:
                skill = self.disk.skill(path, follow=True, whole=self.host.reading.whole_file)
                real = target
        if real not in self.seen:
            self.seen.add(real)
            self.found.append(Found(path, real, place, skill))
        return problem != "file-not-regular"

    def inside(self, target: str) -> bool:
        return (target + os.sep).startswith(self.bounds)

    def loose(self, place: Place, path: str, real: str, entries: tuple[tuple[str, str], ...]) -> None:
        for name, letter in entries:
            if letter == "f" and name.endswith(".md") and name != SKILL_FILE:
                self.take(place, os.path.join(path, name), os.path.join(real, name))
