"""Read the files of the disk, but one SKILL.md with another text: as it would be after a fix, or as a copy."""

from __future__ import annotations

import os

from prowess._internal.files import MAX_SKILL_FILE_BYTES, UnreadableError
from prowess.filesystem import Filesystem
from prowess.skill import fix, from_document, parse_frontmatter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.skill import Skill


class FilesystemWithText(Filesystem):
    """A file system in which one SKILL.md has another text."""

    def __init__(self, path: str, text: bytes, recording: Filesystem) -> None:
        super().__init__(recording)
        self.replace(path, text, None)

    def replace(self, path: str, text: bytes, parsed: Skill | None) -> None:
        """Give another file another text, instead of the one before, which is no longer read."""
        self.path, self._text, self._parsed = path, text, parsed

    @property
    def fixed(self) -> bytes:
        """The other text."""
        return self._text

    def skill(self, path: str, *, real: str | None = None, whole: bool = False, body: bool = True) -> Skill:
        """Return the skill; the one file with its other text."""
        if path != self.path:
            return super().skill(path, real=real, whole=whole, body=body)
        if self._parsed is None:
            self._parsed = from_document(parse_frontmatter(self.fixed, path), path)
        return self._parsed

    def text(self, real: str, *, by_mark: bool = False) -> str:
        """Return a file as text; the one file with its other text."""
        if real != self.path:
            return super().text(real, by_mark=by_mark)
        return self.fixed.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


class FixedFilesystem(FilesystemWithText):
    """A file system in which one skill is as `check --fix` would write it."""

    def __init__(self, path: str, recording: Filesystem) -> None:
        super().__init__(path, b"", recording)
        self._is_fixed = False
        try:
            self.original = self.data(path, MAX_SKILL_FILE_BYTES, follow=False)
        except UnreadableError:
            self.original, self._is_fixed = b"", True

    @property
    def fixed(self) -> bytes:
        """The fixed text; most skills need none, so it is worked out on first use."""
        if not self._is_fixed:
            self._text = fix(self.original, folder=os.path.basename(os.path.dirname(self.path))).data
            self._is_fixed = True
        return self._text

    @property
    def changed(self) -> bool:
        """Whether it differs from the text of the file."""
        return self.fixed != self.original
