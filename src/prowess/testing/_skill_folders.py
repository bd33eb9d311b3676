"""Decide whether a file belongs to a skill, from its path alone."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.text import normalize_name

__all__ = ["SkillFolders"]

_NAME = normalize_name(SKILL_FILE)


class SkillFolders:
    """The folders that are skills, remembered for one run."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}

    def skill_of(self, path: str | os.PathLike[str]) -> str | None:
        """Return the skill that contains a file or folder, or `None`.

        A folder is a skill if it contains anything called SKILL.md, in any case; the file itself is not read. A path
        belongs to a skill also if it is a link into one.
        """
        shown = os.path.abspath(os.fspath(path))
        return self._containing_skill(shown) or self._containing_skill(real_path(shown))

    def _containing_skill(self, path: str) -> str | None:
        if path not in self._known:
            parent = os.path.dirname(path)
            if _has_skill_file(path):
                self._known[path] = path
            else:
                self._known[path] = self._containing_skill(parent) if parent != path else None
        return self._known[path]


def _has_skill_file(folder: str) -> bool:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):  # a folder that cannot be listed may still be entered
        return os.path.lexists(os.path.join(folder, SKILL_FILE))
    return any(normalize_name(name) == _NAME for name in names if len(name) < 32)
