"""Host + the directories it scans -> found SKILL.md

The only directory walk for skills. It follows a host's rules about depth, links and names, visits a real directory
once however it is reached, and turns everything it cannot do into a finding.
"""

from __future__ import annotations

import os

from ._frontmatter import read
from ._frozen import Frozen
from .disk import Disk
from .files import SKILL_FILE
from .findings import Finding, finding
from .ignore import Ignored
from .skill import from_document
from .template import collation
from .text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .glance import Glance
    from .host import Host, Root
    from .places import Place
    from .skill import Skill

__all__ = ["Found", "Scan", "scan"]

_PUT_THERE = "put the file itself there"
_MAX_PROBES = 64
"""Folders looked into, in one root, only to say that a skill was left out there."""


class Found:
    """A SKILL.md as a host reaches it. There may be ten thousand, so it is no more than it must be."""

    __slots__ = ("_skill", "path", "place", "real", "seen")

    def __init__(
        self, path: str, real: str, place: Place, skill: Skill | None = None, seen: Glance | None = None
    ) -> None:
        self.path = path
        self.real = real
        """The same without links."""
        self.place = place
        self.seen = seen
        """What a glance told, where that was enough."""
        self._skill = skill

    @property
    def skill(self) -> Skill:
        """The skill, read in full now if it was only glanced at."""
        if self._skill is None:
            front = b"" if self.seen is None else self.seen[3]
            self._skill = from_document(read(front, self.path, complete=False), self.path)
        return self._skill

    def read_as(self, skill: Skill) -> Found:
        """Return the same with what a client reads there."""
        return Found(self.path, self.real, self.place, skill)


class Scan(Frozen):
    """What a host's walk found, highest precedence first."""

    places: tuple[Place, ...]
    found: tuple[Found, ...]
    findings: tuple[Finding, ...]


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
    return Scan(places=where, found=tuple(walk.found), findings=tuple(walk.findings))


def _bound(path: str, disk: Disk) -> str:
    """Return what the real paths inside a directory begin with."""
    return os.path.join(disk.real(path), "")


def _below(place: Place, path: str) -> str:
    """Write a path relative to its root, as patterns see it."""
    return path[len(place.path) :].strip(os.sep).replace(os.sep, "/")


class _Walk:
    """One host's walk over its places."""

    def __init__(self, host: Host, where: tuple[Place, ...], project: str, disk: Disk) -> None:
        self.host, self.disk = host, disk
        self.whole_file = host.reading.whole_file
        self.found: list[Found] = []
        self.findings: list[Finding] = []
        self.seen: set[str] = set()
        """Real paths of the directories that were visited and the files that were found."""
        self.ignored = Ignored()
        """What the ignore files of the root that is walked leave out."""
        # A project cannot widen its own bounds with a root that is itself a link to somewhere else.
        real = [(_bound(place.path, disk), "" if place.base is None else _bound(place.base, disk)) for place in where]
        self.bounds = (_bound(project, disk), *(path for path, base in real if path.startswith(base)))

    def report(self, code: str, message: str, path: str, hint: str | None = None) -> None:
        self.findings.append(finding(code, message, path=path, hint=hint))

    def place(self, place: Place) -> None:
        """Walk one root, if it is there and may be."""
        try:
            real = self.disk.real(place.path)
            if self.disk.kind(real) != "d":
                if self.disk.link_kind(place.path):
                    self.report("root-not-folder", "the skills folder is not a folder", place.path, "remove it")
                elif place.named:
                    self.report("root-not-folder", "there is no such folder", place.path, "check the path")
                return
        except (OSError, ValueError):
            return
        if place.root.linked_folders == "bounded" and not self.inside(real):
            hint = "copy the skills here, or name their folder with `--skill-dir`"
            self.report("folder-link", "the link leads out of the project and the skills folders", place.path, hint)
            return
        told = len(self.findings)
        self.walk(place, real)
        if place.scope in self.host.suppressed_scopes:
            del self.findings[told:]

    def walk(self, place: Place, real: str) -> None:
        """Go through the folders of a root, whose real path is given, as deep as the host does."""
        root = place.root
        self.ignored = Ignored()
        # Depth first in sorted order; an explicit stack, because a tree may be deeper than Python's.
        stack = [(place.path, real, 0)]
        quick = not (root.ignore_files or root.inside or root.count_skills or self.whole_file)
        glanced = self.disk.glanced
        listed = probes = 0
        last: tuple[str, str] | None = None
        while stack:
            path, real, depth = stack.pop()
            if real in self.seen:
                continue
            if root.count_skills and listed >= root.max_folders:
                self.too_many(place)
                return
            self.seen.add(real)
            if root.ignore_files:
                self.ignored.read(path, _below(place, path), self.disk.data)
            if quick and depth:
                # What `take` does, for most skills.
                file = f"{path}/SKILL.md"
                seen = glanced(file)
                if seen is not None:
                    target = file if real == path else f"{real}/SKILL.md"
                    if target not in self.seen:
                        self.seen.add(target)
                        self.found.append(Found(file, target, place, None, seen))
                    continue
            held = self.skill_in(place, path, real) if depth or root.own in ("yes", "alone") else False
            if held and (root.own == "alone" if not depth else not root.inside):
                if root.count_skills:
                    listed += 1
                continue
            at_bottom = root.depth >= 0 and depth >= root.depth
            if at_bottom and (held or probes >= _MAX_PROBES):
                continue
            if not at_bottom and listed >= root.max_folders:
                self.too_many(place)
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
            if not depth and root.own == "no":
                self.in_root(path, entries)
            if root.loose and not depth:
                self.loose(place, path, real, entries)
            if root.own == "last" and not depth:
                last = (path, real)
            folders = [entry for entry in entries if entry[1] in "dl"]
            if root.collated:
                folders.sort(key=lambda entry: collation(entry[0]))
            stack += reversed(self.children(place, path, real, depth + 1, folders))
        if last is not None:
            self.skill_in(place, *last)

    def children(
        self, place: Place, path: str, real: str, depth: int, folders: list[tuple[str, str]]
    ) -> list[tuple[str, str, int]]:
        """Return the folders that are entered, each with its real path and depth."""
        skip = place.root.skip
        entered = []
        for name, letter in folders:
            if letter == "d" and name[0] != "." and name not in skip and not self.ignored:
                inner = f"{path}/{name}"
                entered.append((inner, inner if real == path else f"{real}/{name}", depth))
            elif (below := self.child(place, path, real, name, letter)) is not None:
                entered.append((*below, depth))
        return entered

    def child(self, place: Place, path: str, real: str, name: str, letter: str) -> tuple[str, str] | None:
        """Decide whether a folder is entered; if so return it with its real path."""
        root = place.root
        inner = os.path.join(path, name)
        if letter == "l":
            kind = self.disk.kind(inner)
            if kind != "d":
                if not kind:
                    self.report("folder-link", "the link leads nowhere", inner, "mend or remove it")
                return None
            if root.linked_folders == "skip":
                self.skipped(inner, "a link")
                return None
            target = self.disk.real(inner)
            if root.linked_folders == "bounded" and not self.inside(target):
                hint = "copy the skill here, or name its folder with `--skill-dir`"
                self.report("folder-link", "the link leads out of the project and the skills folders", inner, hint)
                return None
        else:
            target = os.path.join(real, name)
        if name in root.skip or (name.startswith(".") and not root.hidden):
            self.skipped(inner, "its name" if name in root.skip else "it is hidden")
            return None
        if self.ignored(_below(place, inner), folder=True):
            self.skipped(inner, "an ignore file")
            return None
        return inner, target

    def too_many(self, place: Place) -> None:
        """Report that the rest of a root is left out."""
        limit = f"more than {place.root.max_folders:,} folders: the rest of this root is not looked at"
        self.report("folder-limit", limit, place.path, "move skills into fewer folders")

    def skipped(self, path: str, why: str) -> None:
        """Report a folder that is not entered, if it holds a skill: itself, or one of its folders."""
        names = [path]
        # What a link leads to may be any folder of the machine, as large as it likes: it is not listed.
        if self.disk.link_kind(path) != "l":
            try:
                entries = self.disk.listing(path)
            except OSError:
                return
            names += [os.path.join(path, name) for name, letter in entries[:_MAX_PROBES] if letter == "d"]
        for name in names:
            if self.disk.kind(os.path.join(name, SKILL_FILE)) == "f":
                words = f"{quoted(os.path.basename(path))} is skipped ({why}), though it holds a skill"
                self.report("folder-skipped", words, os.path.join(name, SKILL_FILE), "move the skill out of it")
                return

    def probe(self, path: str, entries: tuple[tuple[str, str], ...], root: Root) -> None:
        """Report skills one level deeper than the host looks."""
        self.almost(path, entries)
        for name, letter in entries[:_MAX_PROBES]:
            if letter == "d" and not name.startswith(".") and name not in root.skip:
                deeper = os.path.join(path, name, SKILL_FILE)
                if self.disk.kind(deeper) == "f":
                    levels = "1 level" if root.depth == 1 else f"{root.depth} levels"
                    message = f"the skill lies deeper than {self.host.title} looks ({levels} below the skills folder)"
                    self.report("folder-too-deep", message, deeper, "move its folder up")

    def almost(self, path: str, entries: tuple[tuple[str, str], ...]) -> None:
        """Report files that are called SKILL.md but for upper and lower case."""
        for name, letter in entries:
            if letter == "f" and name != SKILL_FILE and name.lower() == SKILL_FILE.lower():
                message = f"the file is named {quoted(name)}; clients look for `{SKILL_FILE}` exactly"
                self.report("file-name-case", message, os.path.join(path, name), f"rename it to `{SKILL_FILE}`")

    def in_root(self, path: str, entries: tuple[tuple[str, str], ...]) -> None:
        """Report a skill in the skills folder itself, where the host looks in the folders below only."""
        if any(name == SKILL_FILE and letter in "fl" for name, letter in entries):
            message = f"the skill lies in the skills folder itself; {self.host.title} looks in the folders below it"
            self.report("folder-skipped", message, os.path.join(path, SKILL_FILE), "give it a folder of its own")

    def skill_in(self, place: Place, path: str, real: str) -> bool:
        """Take the SKILL.md of a folder, if it has one; return whether the folder is a skill's."""
        file = f"{path}/SKILL.md"
        return self.take(place, file, file if real == path else f"{real}/SKILL.md")

    def take(self, place: Place, path: str, real: str) -> bool:
        """Take one file as a skill; return whether there is one, so that its folder is a skill's."""
        if self.ignored and self.ignored(_below(place, path), folder=False):
            return False
        glanced = None if self.whole_file else self.disk.glanced(path)
        if glanced is not None:
            if real not in self.seen:
                self.seen.add(real)
                self.found.append(Found(path, real, place, None, glanced))
            return True
        skill = self.disk.skill(path, whole=self.whole_file, body=False)
        problem = skill.findings[0].code if skill.document is None else ""
        if problem == "file-missing":
            return False
        if problem == "file-is-link" and place.root.linked_files != "skip":
            target = self.disk.real(path)
            name, message = os.path.basename(target), ""
            # A client may read any file through such a link. Prowess does not: its text would show as a skill's.
            if not self.inside(target) and (place.root.linked_files == "bounded" or name != SKILL_FILE):
                message = "SKILL.md is a link that leads out of the project and the skills folders, and is not read"
            elif not name.lower().endswith(".md"):
                message = "SKILL.md is a link to a file that is not a `.md` file, and is not read"
            if message:
                skill = skill.but(findings=(finding("file-is-link", message, path=path, hint=_PUT_THERE),))
            else:
                skill = self.disk.skill(path, real=target, whole=self.whole_file, body=False)
                real = target
        if real not in self.seen:
            if problem != "file-not-regular":
                # A folder of that name may be entered yet.
                self.seen.add(real)
            self.found.append(Found(path, real, place, skill))
        return problem != "file-not-regular"

    def inside(self, target: str) -> bool:
        """Say whether a real path lies in the project or in a scanned root."""
        return (target + os.sep).startswith(self.bounds)

    def loose(self, place: Place, path: str, real: str, entries: tuple[tuple[str, str], ...]) -> None:
        """Take the flat files of a skills folder."""
        for name, letter in entries:
            if letter == "f" and name.endswith(".md") and name != SKILL_FILE and not name.startswith("."):
                self.take(place, os.path.join(path, name), os.path.join(real, name))
