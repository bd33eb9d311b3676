"""Check the links of a body that lead out of the skill's folder.

Each cause is reported once a skill, and `Finding.cause` lets `check` report it once for all skills: links to skills
beside this one, links written for another layout of folders, and each place outside that is missing or is not copied
with the skill.
"""

from __future__ import annotations

import os
from itertools import islice

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.filesystem import git_root
from prowess.findings import finding
from prowess.skill import find_body_links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.filesystem import Filesystem
    from prowess.findings import Finding
    from prowess.skill import Links, Skill

_MAX_LINKS = 1000
"""Different links of one body that are checked."""
_MAX_CAUSES = 20
"""Causes in one body that are reported."""
_MAX_DEPTH = 64
"""Parts of a path that are looked at."""
_NAME_INSTEAD = "name the skill instead: agents find a skill by its name"
_COPY = "put the file into the skill, and link to it there"


def check_escaping_links(skill: Skill, filesystem: Filesystem, links: Links | None = None) -> Iterator[Finding]:
    """Yield a finding for each cause of links that lead out of a skill's folder: specification, "File references".

    Only the names of files in the same repository are looked up, and no link of the disk is followed.

    Args:
        skill: the skill, with its body.
        filesystem: what was read so far.
        links: those of the body, if they are known.
    """
    folder = os.path.dirname(skill.path or "")
    places: _Places | None = None
    first: dict[str, tuple[str, int, int, str, str, str]] = {}
    targets: dict[str, set[str]] = {}
    for target, line, column in find_body_links(skill) if links is None else links:
        path = os.path.normpath(target)
        if not (os.path.isabs(path) or path == ".." or path.startswith(".." + os.sep)):
            continue
        if places is None:
            places = _Places(folder, filesystem)
        code, cause, message, hint = places.describe(path)
        first.setdefault(cause, (target, line, column, code, message, hint))
        targets.setdefault(cause, set()).add(path)
        if sum(map(len, targets.values())) >= _MAX_LINKS:
            break
    for cause, (target, line, column, code, message, hint) in islice(first.items(), _MAX_CAUSES):
        count = len(targets[cause])
        others = f" ({count:,} such links)" if count > 1 else ""
        item = finding(
            code,
            f"the link {quoted(target, PATH_LIMIT)} leads {message}{others}",
            path=skill.path,
            line=line,
            column=column,
            hint=hint,
        )
        yield item.with_changes(cause=cause)


class _Places:
    """Knows what is at the places outside a skill's folder to which its links lead."""

    def __init__(self, folder: str, filesystem: Filesystem) -> None:
        self.folder, self.filesystem = folder, filesystem
        self.parent = os.path.dirname(folder)
        self.base = git_root(folder, filesystem=filesystem) or self.parent

    def describe(self, target: str) -> tuple[str, str, str, str]:
        """Return the code for a link, its cause, where it leads in words, and what to do.

        Args:
            target: a path relative to the skill's folder, without needless parts.
        """
        path = os.path.normpath(os.path.join(self.folder, target))
        inside = os.path.relpath(path, self.base)
        parts = inside.split(os.sep)
        if os.path.isabs(target) or parts[0] == os.pardir or len(parts) > _MAX_DEPTH:
            return "link-escapes", f"outside {target}", "out of the repository", _COPY
        found, missing = self._walk(parts)
        if missing is None:
            if found or self._is_of_own_plugin(path):
                where = "to a skill beside this one" if found else "to another file of its plugin"
                hint = _NAME_INSTEAD if found else "it is missing where the skill is installed without its plugin"
                return "link-beside", "skill" if found else "plugin", where, hint
            where = "out of the skill's folder, to a file that a copy of the skill lacks"
            return "link-escapes", f"file {inside}", where, _COPY
        moved = self._elsewhere(target)
        if moved is not None:
            where = f"to a missing file; it is at {quoted(moved, PATH_LIMIT)}"
            return "link-escapes", "moved", where, _NAME_INSTEAD
        where = "to a missing file"
        if missing != path:
            where += f": there is no {quoted(os.path.relpath(missing, self.folder), PATH_LIMIT)}"
        return "link-escapes", f"missing {os.path.relpath(missing, self.base)}", where, _COPY

    def _walk(self, parts: list[str]) -> tuple[bool, str | None]:
        """Return whether a path is in a skill, and the first part of it that is missing, if any."""
        path, in_skill = self.base, self._is_skill(self.base)
        for part in parts:
            if part == os.curdir:
                continue
            path = os.path.join(path, part)
            kind = self.filesystem.link_kind(path)
            if not kind:
                return in_skill, path
            if kind == "l":  # it exists, and where it leads is not asked
                break
            in_skill = in_skill or (kind == "d" and self._is_skill(path))
        return in_skill, None

    def _is_skill(self, folder: str) -> bool:
        return self.filesystem.link_kind(os.path.join(folder, SKILL_FILE)) == "f"

    def _is_of_own_plugin(self, path: str) -> bool:
        """Return whether a path is in the folder of the plugin that the skill belongs to."""
        folder = self.parent
        while folder != self.base and folder.startswith(self.base):
            if self.filesystem.link_kind(os.path.join(folder, ".claude-plugin")) == "d":
                return path.startswith(folder + os.sep)
            folder = os.path.dirname(folder)
        return False

    def _elsewhere(self, target: str) -> str | None:
        """Return the path to a missing file that a skill beside this one has, as after folders were moved."""
        parts = [part for part in target.split(os.sep) if part != os.pardir][:_MAX_DEPTH]
        for start, part in enumerate(parts):
            if not self._is_skill(os.path.join(self.parent, part)):
                continue
            path = self.parent
            for name in parts[start:]:
                path = os.path.join(path, name)
                if self.filesystem.link_kind(path) not in ("d", "f"):
                    break
            else:
                return os.path.relpath(path, self.folder).replace(os.sep, "/")
        return None
