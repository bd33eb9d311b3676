"""Find the skills that `mount` copied, by its records: a copy is the same skill as its source, also when it is old.

A copy that was changed by hand is another skill, since `mount` would not replace it.
"""

from __future__ import annotations

import os
from functools import cached_property

from prowess._internal.files import SKILL_FILE, UnreadableError
from prowess.filesystem import git_root
from prowess.skill import has_integrity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from prowess.filesystem import Filesystem

_MAX_RECORD_BYTES = 4 * 1024 * 1024
_MAX_CHAIN = 8
"""Copies of copies that are followed."""


class MountedCopies:
    """The mounted copies that are as they were mounted, and their sources. Each record is read once."""

    def __init__(self, cwd: str, filesystem: Filesystem, compared: Collection[str] = ()) -> None:
        """Prepare.

        Args:
            cwd: the working directory, absolute.
            filesystem: what was read so far.
            compared: the skills in question, by their paths without links.
        """
        self.filesystem, self.compared = filesystem, compared
        self._cwd = cwd
        self._records: dict[str, dict[str, Any]] = {}
        self._sources: dict[str, str | None] = {}

    @cached_property
    def project(self) -> str:
        """The folder of the project, with a separator at its end."""
        return os.path.join(git_root(self._cwd, filesystem=self.filesystem) or self._cwd, "")

    def is_mounted(self, folder: str) -> bool:
        """Return whether a folder is a mounted copy, changed or not."""
        root, name = os.path.split(folder)
        return name in self.mounts_in(root)

    def source_of(self, path: str) -> str | None:
        """Return the SKILL.md that another one was mounted from: one in question, or one of the project.

        Anyone may have written a record of the project, so no other path in it counts.

        Args:
            path: of a SKILL.md, without links.
        """
        if not self.is_mounted(os.path.dirname(path)):
            return None
        if path not in self._sources:
            source = os.path.join(self._recorded_source(path) or "", SKILL_FILE)
            is_safe = source.startswith(self.project) or not path.startswith(self.project)
            is_known = source in self.compared or (is_safe and self.filesystem.kind(source) == "f")
            self._sources[path] = source if source != path and is_known else None
        return self._sources[path]

    def original(self, path: str) -> str:
        """Return the first source of a skill, or the skill itself if it is no mounted copy.

        Args:
            path: of a SKILL.md, without links.
        """
        for _ in range(_MAX_CHAIN):
            source = self.source_of(path)
            if source is None:
                break
            path = source
        return path

    def mounts_in(self, root: str) -> dict[str, Any]:
        """Return what was mounted into a skills folder, by name."""
        if root not in self._records:
            self._records[root] = self._read(root)
        return self._records[root]

    def _recorded_source(self, copy: str) -> str | None:
        """Return the folder that a skill was mounted from, without links, if the copy has not been changed."""
        folder = os.path.dirname(copy)
        root, name = os.path.split(folder)
        recorded = self.mounts_in(root).get(name)
        if not isinstance(recorded, dict):
            return None
        source = recorded.get("source")
        if not isinstance(source, str) or "\0" in source:
            return None
        self.filesystem.files(copy)  # what the digest is of is recorded
        if not has_integrity(folder, recorded.get("seal")):
            return None
        return self.filesystem.real(os.path.join(self.filesystem.real(os.path.dirname(root)), source))

    def _read(self, root: str) -> dict[str, Any]:
        """Return what was mounted into a skills folder, by name; nothing without a valid record."""
        record = os.path.join(os.path.dirname(root), f".prowess-{os.path.basename(root)}.json")
        try:
            data = self.filesystem.data(record, _MAX_RECORD_BYTES, follow=False)
        except UnreadableError:
            return {}
        import json

        try:
            return {item["name"]: item for item in reversed(json.loads(data)["skills"])}
        except (ValueError, RecursionError, LookupError, TypeError):
            return {}
