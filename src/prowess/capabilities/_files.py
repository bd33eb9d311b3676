"""Read the files of a skill for a search: each once, never through a link, and within limits."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, UnreadableError, read_start, skill_files
from prowess._internal.frozen import Frozen

from ._binaries import FIRST_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_FILE_BYTES = 1024 * 1024
"""Of a larger text the beginning is searched."""
MAX_SKILL_BYTES = 8 * 1024 * 1024
"""Bytes of text that are searched of one skill."""
MAX_FILES = 2_000
"""Files of one skill that are opened."""
_SKIPPED_FOLDERS = frozenset((".git",))


class SkillFile(Frozen):
    """One file of a skill."""

    path: str
    """In the skill, with `/`."""
    size: int
    data: bytes
    """A text of at most `MAX_FILE_BYTES` in UTF-8 without a byte order mark; the first bytes of another file."""
    is_text: bool

    @property
    def text(self) -> str:
        """Its text with line feeds only."""
        text = self.data.decode("utf-8", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


class SkillFiles(Frozen):
    """The files of a skill, as far as they were read."""

    files: tuple[SkillFile, ...]
    unsearched: int = 0
    """Files that were not read, or not to their end."""
    first_unsearched: str = ""


def read_files(folder: str, first: str = SKILL_FILE, listed: Sequence[tuple[str, int]] | None = None) -> SkillFiles:
    """Read the files of a skill. What cannot be read is left out: other findings say so.

    Args:
        folder: of the skill.
        first: the file that is read before all others, which could use up the limits.
        listed: its files with their sizes, if that is known.
    """
    left, found, unsearched = MAX_SKILL_BYTES, list[SkillFile](), list[str]()
    listed = skill_files(folder) if listed is None else listed
    for number, (path, size) in enumerate(sorted(listed, key=lambda item: (item[0] != first, item[0]))):
        if not _SKIPPED_FOLDERS.isdisjoint(path.split("/")[:-1]):
            continue
        if number >= MAX_FILES:
            unsearched.append(path)
            continue
        wanted = min(size, MAX_FILE_BYTES)
        try:
            data = read_start(os.path.join(folder, *path.split("/")), wanted if wanted <= left else FIRST_BYTES)
        except UnreadableError:
            continue
        text = _utf8(data)
        if text is not None:
            left -= len(data)
            if len(data) < size:
                unsearched.append(path)
        found.append(SkillFile(path=path, size=size, data=data if text is None else text, is_text=text is not None))
    return SkillFiles(
        files=tuple(found), unsearched=len(unsearched), first_unsearched=unsearched[0] if unsearched else ""
    )


_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def _utf8(data: bytes) -> bytes | None:
    """Return a text in UTF-8; `None` if the first bytes of a file are not those of a text."""
    if b"\0" in data and (encoding := _MARKS.get(data[:2])):
        return data.decode(encoding, "replace").encode()
    return None if b"\0" in data[:8192] else data.removeprefix(b"\xef\xbb\xbf")
