"""Read the disk as it will be after skills are installed, and say who sees them then."""

from __future__ import annotations

import os
from itertools import chain

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.frozen import Frozen
from prowess.filesystem import Filesystem

from ._compare import compare
from ._kinds import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from prowess.filesystem import Listing, Question

    from ._compare import View


class AddedSkill(Frozen):
    """A skill that is to be installed."""

    folders: tuple[str, ...]
    """Where it will be: the folders of its own, absolute and without links."""
    source: str
    """The folder that its files are in now, absolute."""
    is_link: bool = False
    """Whether links to the source are installed, not copies."""
    links: tuple[str, ...] = ()
    """Those of its folders that are links to the copy in another one."""

    @property
    def target(self) -> str:
        """What its links lead to."""
        return self.source if self.is_link else next(folder for folder in self.folders if folder not in self.links)

    def leads_on(self, folder: str) -> bool:
        """Return whether one of its folders is a link."""
        return self.is_link or folder in self.links


def views_after(skills: Sequence[AddedSkill], question: Question, hosts: Iterable[str]) -> list[Mapping[str, View]]:
    """Return how agents see each skill after all of them are installed; nothing is written.

    Args:
        skills: those to install.
        question: where the agents are started.
        hosts: the agents.

    Raises:
        HostNotFoundError: an agent is unknown.
    """
    files = [
        [os.path.join(skill.target if skill.leads_on(folder) else folder, SKILL_FILE) for folder in skill.folders]
        for skill in skills
    ]
    filesystem = _FilesystemWithSkills(skills)
    compared = compare(
        question, hosts=hosts, files=chain.from_iterable(files), only_files=True, cache=False, filesystem=filesystem
    )
    views = {skill.real: skill.views for skill in compared.skills}
    order = [*Kind]
    return [
        {
            host: min((views[real_path(file)][host] for file in copies), key=lambda view: order.index(view.kind))
            for host in compared.hosts
        }
        for copies in files
    ]


class _FilesystemWithSkills(Filesystem):
    """A file system with skills that are not there yet. Nothing of it may be kept in the cache."""

    def __init__(self, skills: Iterable[AddedSkill]) -> None:
        super().__init__()
        self._added = {folder: skill for skill in skills for folder in skill.folders}
        self._names = {os.path.basename(folder) for folder in self._added}
        self._inside: dict[str, dict[str, str]] = {}
        """The names that a folder has in addition, each with its kind."""
        for folder, skill in self._added.items():
            kind = "l" if skill.leads_on(folder) else "d"
            while folder != os.sep and folder not in self._inside.get(os.path.dirname(folder), {}):
                parent, name = os.path.split(folder)
                self._inside.setdefault(parent, {})[name] = kind
                folder, kind = parent, "d"

    def _split(self, path: str) -> tuple[str, str]:
        """Return the folder of an added skill that contains a path, and the path in it; empty texts if none does."""
        end = len(path)
        while end > 0:
            start = path.rfind(os.sep, 0, end)
            if path[start + 1 : end] in self._names:
                folder = os.path.join(super().real(path[:start] or os.sep), path[start + 1 : end])
                if folder in self._added:
                    return folder, path[end:]
            end = start
        return "", ""

    def _now(self, path: str) -> str:
        """Return where a path is now."""
        folder, rest = self._split(path)
        return f"{self._added[folder].source}{rest}" if folder else path

    def kind(self, path: str) -> str:
        return super().kind(self._now(path)) or self._kind_of_new_folder(path)

    def link_kind(self, path: str) -> str:
        folder, rest = self._split(path)
        if folder and not rest:
            return "l" if self._added[folder].leads_on(folder) else "d"
        return super().link_kind(self._now(path)) or self._kind_of_new_folder(path)

    def _kind_of_new_folder(self, path: str) -> str:
        return "d" if super().real(path) in self._inside else ""

    def real(self, path: str) -> str:
        folder, rest = self._split(path)
        if not folder:
            return super().real(path)
        skill = self._added[folder]
        real, top = super().real(f"{skill.source}{rest}"), super().real(skill.source)
        if skill.is_link or not (real == top or real.startswith(top + os.sep)):
            return real
        return f"{skill.target if folder in skill.links else folder}{real[len(top) :]}"

    def listing(self, path: str) -> Listing:
        added = self._inside.get(super().real(path), {})
        try:
            listed = super().listing(self._now(path))
        except FileNotFoundError:
            if not added:
                raise
            listed = ()
        return tuple(sorted({**dict(listed), **added}.items())) if added else listed

    def modified_ns(self, path: str) -> int:
        return super().modified_ns(self._now(path))

    def files(self, path: str) -> list[tuple[str, int]]:
        return super().files(self._now(path))

    def digest(self, path: str, without: str = "") -> str | None:
        return super().digest(self._now(path), without)

    def _read(self, real: str, *, whole: bool) -> tuple[bytes, bool, bytes]:
        return super()._read(self._now(real), whole=whole)

    def _read_small_file(self, path: str, limit: int, *, follow: bool) -> tuple[Any, bytes]:
        return super()._read_small_file(self._now(path), limit, follow=follow)
