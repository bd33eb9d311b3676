"""Find copies of a skill, and bring together what several agents found, skill by skill.

A copy is the same in every byte, or in all but the `name` that became the name of its folder when it was mounted.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE, UnreadableError, folder_name, read_file
from prowess._internal.text import normalize_name
from prowess.catalog import REACHABLE
from prowess.skill import MAX_NAME, change_name, is_portable_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from prowess.catalog import Catalog, Entry
    from prowess.filesystem import Filesystem

    Step: TypeAlias = "Callable[[_Skill], object]"
    """Returns what two copies have in common; `None` if that cannot be known."""


class _Group:
    """Skills that are alike so far. The next step divides them only when another one is to be compared with them."""

    __slots__ = ("members", "parts")

    def __init__(self) -> None:
        self.members: list[_Skill] = []
        self.parts: dict[object, _Group] = {}

    def first_like(self, skill: _Skill, steps: Sequence[tuple[Step, Step]]) -> _Skill | None:
        """Return the first member that all steps say the same of as of a skill.

        Args:
            skill: which is compared.
            steps: for each, what is said of the skill and of a member; `None` is never the same.
        """
        if not steps or not (self.members or self.parts):
            return self.members[0] if self.members else None
        (of_skill, of_member), *rest = steps
        for member in self.members:
            if (value := of_member(member)) is not None:
                self.parts.setdefault(value, _Group()).members.append(member)
        self.members = []
        part = self.parts.get(of_skill(skill))
        return part.first_like(skill, rest) if part else None


class CopyFinder:
    """Skills among which others are searched for copies, each with what is cheap to compare first."""

    def __init__(self, filesystem: Filesystem) -> None:
        self.filesystem = filesystem
        self._count = 0
        self._same: dict[str, _Group] = {}
        self._renamed: dict[str, _Group] = {}
        self._to_rename: dict[str, _Group] = {}

    def add(self, path: str, name: str | None) -> None:
        """Add a skill.

        Args:
            path: of its SKILL.md, without links.
            name: in its front matter.
        """
        self._count += 1
        skill = _Skill(self._count, path, name)
        self._same.setdefault(skill.same_name, _Group()).members.append(skill)
        if name == skill.folder:
            self._renamed.setdefault(skill.folder, _Group()).members.append(skill)
        for new in skill.new_names:
            self._to_rename.setdefault(new, _Group()).members.append(skill)

    def original(self, path: str, name: str | None) -> str | None:
        """Return the path of the first added skill that is a copy of this one, or that this one is a copy of."""
        if not self._count:
            return None
        skill = _Skill(0, path, name)
        found = [_first(self._same, skill.same_name, skill, [(self._files, self._files), (self._digest, self._digest)])]
        others: tuple[Step, Step] = (self._other_files, self._other_files)
        digests: tuple[Step, Step] = (self._other_digest, self._other_digest)
        if name == skill.folder:
            steps = [others, (_text, _renamed_text(skill.folder)), digests]
            found.append(_first(self._to_rename, skill.folder, skill, steps))
        for new in skill.new_names:
            steps = [others, (_renamed_text(new), _text), digests]
            found.append(_first(self._renamed, new, skill, steps))
        first = min((item for item in found if item), key=lambda item: item.number, default=None)
        return first.path if first else None

    def _files(self, skill: _Skill) -> object:
        return tuple(self.filesystem.files(skill.path))

    def _other_files(self, skill: _Skill) -> object:
        return tuple(item for item in self.filesystem.files(skill.path) if item[0] != SKILL_FILE)

    def _digest(self, skill: _Skill) -> object:
        return self.filesystem.digest(skill.path)

    def _other_digest(self, skill: _Skill) -> object:
        return self.filesystem.digest(skill.path, SKILL_FILE)


class _Skill:
    """A skill that is compared."""

    def __init__(self, number: int, path: str, name: str | None) -> None:
        self.number, self.path, self.name = number, path, name
        self.folder = folder_name(path)

    @property
    def same_name(self) -> str:
        """Return what copies that are the same in every byte share: their name, or that of the folder without one."""
        return self.name or f"/{name_of_copy(None, normalize_name(self.folder))}"

    @property
    def new_names(self) -> set[str]:
        """Return the names that `mount` may give a copy."""
        return set() if self.name is None else {self.folder, name_of_copy(self.name, self.folder)} - {self.name}


def _first(groups: Mapping[str, _Group], key: str, skill: _Skill, steps: Sequence[tuple[Step, Step]]) -> _Skill | None:
    group = groups.get(key)
    return group.first_like(skill, steps) if group else None


def _short(text: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(text).digest()


def _text(skill: _Skill) -> object:
    """Return what is in a SKILL.md, shortened."""
    try:
        return _short(read_file(skill.path))
    except UnreadableError:
        return None


def _renamed_text(name: str) -> Step:
    """Return the same of what `mount` writes for a SKILL.md that it gives a name."""

    def renamed(skill: _Skill) -> object:
        try:
            text = change_name(read_file(skill.path), name)
        except UnreadableError:
            return None
        return text and _short(text)

    return renamed


def are_copies(filesystem: Filesystem, path: str, other: str) -> bool:
    """Return whether two skills are copies: the same file, the same in every byte, or in all but the name.

    Args:
        filesystem: what was read so far.
        path: of a SKILL.md, without links.
        other: likewise.
    """
    if path == other:
        return True
    finder = CopyFinder(filesystem)
    finder.add(other, filesystem.skill(other).name)
    return finder.original(path, filesystem.skill(path).name) is not None


def name_of_copy(own: str | None, folder: str) -> str:
    """Return the name under which a skill is mounted: its own or that of its folder, if valid.

    Args:
        own: the name in its front matter.
        folder: the name of its folder.
    """
    for name in (own, folder):
        if name and is_portable_name(name):
            return name
    valid = re.sub("[^a-z0-9]+", "-", folder.lower()).strip("-")[:MAX_NAME].strip("-")
    return valid if len(valid) > 1 else f"skill-{valid or 1}"  # some agents want two characters


def rows_of_entries(catalogs: Mapping[str, Catalog], filesystem: Filesystem) -> dict[str, dict[str, Entry]]:
    """Return each skill by its real path: host to its entry, in the better state if a host reaches a file twice.

    Args:
        catalogs: by host.
        filesystem: records what a SKILL.md that is a link leads to.
    """
    rows: dict[str, dict[str, Entry]] = {}
    # Not every agent follows a SKILL.md that is a link; for all of them it is the file that it leads to.
    real_paths: dict[str, str] = {}
    read = filesystem.known_fingerprints()
    for host, catalog in catalogs.items():
        for entry in catalog.skills:
            if entry.real not in real_paths:
                # Of a link nothing is read before.
                is_link = entry.real not in read and os.path.islink(entry.real)
                real_paths[entry.real] = filesystem.real(entry.real) if is_link else entry.real
            row = rows.setdefault(real_paths[entry.real], {})
            known = row.get(host)
            if known is None or _rank(entry) < _rank(known):
                row[host] = entry
    return rows


def _rank(entry: Entry) -> int:
    """Return how good the state of an entry is; the smallest rank is the best."""
    return REACHABLE.index(entry.state) if entry.state in REACHABLE else len(REACHABLE)


def first_entry(row: Mapping[str, Entry]) -> Entry:
    """Return the entry that a skill is shown by: one whose text was read, and whose path has no links, if possible."""
    return min(row.values(), key=lambda entry: (entry.rule == "file-is-link", entry.path != entry.real))
