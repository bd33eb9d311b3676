"""Find front matter that is a program: a client such as opencode runs it when it lists the mounted skills."""

from __future__ import annotations

import os

from prowess._internal.file_names import plain_file_name
from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import SkillValidationError
from prowess.skill import parse_frontmatter

from ._folders import list_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["reject_programs"]

_CODE = "frontmatter-code"
_SKILL_FILE = plain_file_name(SKILL_FILE)


def reject_programs(source: str) -> None:
    """Check that no SKILL.md of a skill has a program as its front matter, on any level: such clients search them all.

    Raises:
        SkillValidationError: one has.
    """
    for path in _skill_files(source) if os.path.isdir(source) else [source]:
        try:
            document = parse_frontmatter(read_file(path), path)
        except UnreadableError:  # not mounted either
            continue
        for item in document.findings:
            if item.code == _CODE:
                message = f"{quoted(path, PATH_LIMIT)}: {item.message}"
                raise SkillValidationError(message, findings=(item,), hint=item.hint)


def _skill_files(folder: str) -> Iterator[str]:
    """Yield every SKILL.md in a folder, in any spelling."""
    for _, entries in list_folders(folder):
        for entry in entries:
            if plain_file_name(entry.name) == _SKILL_FILE:
                yield entry.path
