"""path -> what one command has read of it

The seam for a cache that outlives the process, and for tests.
"""

from __future__ import annotations

import os

from ._frontmatter import MAX_FRONTMATTER_BYTES, front_end, read, read_yaml
from .files import MAX_DIGEST_BYTES, UnreadableError, read_file, read_head, skill_digest, skill_files
from .skill import Skill, from_document, unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._frontmatter import Value

__all__ = ["Disk"]


class Disk:
    """The file system as one command has seen it: each directory is listed and each file is read once."""

    def __init__(self) -> None:
        self._listings: dict[str, tuple[tuple[str, str], ...] | OSError] = {}
        self._heads: dict[tuple[str, str | None, bool], tuple[Skill, bool]] = {}
        self._tables: dict[str, Mapping[str, Value]] = {}
        self._files: dict[str, list[tuple[str, int]]] = {}
        self._digests: dict[str, str | None] = {}
        self._left = 2 * MAX_DIGEST_BYTES

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

    def skill(self, path: str, *, real: str | None = None, whole: bool = False, body: bool = True) -> Skill:
        """Return the skill a SKILL.md holds. Never raises.

        `file-missing` among its findings says that there is no such file, `file-is-link` that it is a link.

        Args:
            path: what the file is called.
            real: where it lies, if `path` is a link; a link is never followed when the file is opened.
            whole: whether the whole file is read, since a fault in its body matters or the body is wanted.
            body: whether the body is kept, if it is read.
        """
        known = self._heads.get((path, real, body))
        if known is not None and (known[1] or not whole):
            return known[0]
        try:
            if whole:
                data, complete = read_file(real or path), True
            else:
                data, complete = read_head(real or path, _enough, MAX_FRONTMATTER_BYTES + 4096)
        except UnreadableError as error:
            skill, complete = unreadable(path, error), True
        else:
            document = read(data, path, complete=complete)
            if not body and document.front is not None and len(document.body) > MAX_FRONTMATTER_BYTES:
                # Hundreds of bodies of 1 MiB would not fit: what is wrong in them is in the findings already.
                document = document.but(text=document.text[: -len(document.body)], body="")
            skill = from_document(document, path)
        self._heads[path, real, body] = skill, complete
        return skill

    def files(self, path: str) -> list[tuple[str, int]]:
        """Return the files of the skill whose SKILL.md this is, with their sizes."""
        folder = os.path.dirname(path)
        if folder not in self._files:
            self._files[folder] = skill_files(folder)
        return self._files[folder]

    def digest(self, path: str) -> str | None:
        """Return the digest of the skill whose SKILL.md this is; None past what one command reads for digests."""
        folder = os.path.dirname(path)
        if folder not in self._digests:
            self._left -= sum(size for _, size in self.files(path))
            self._digests[folder] = skill_digest(folder) if self._left >= 0 else None
        return self._digests[folder]

    def text(self, real: str) -> str:
        """Return a file's text with its own line ends, for clients that know but one; empty if it cannot be read."""
        try:
            data = read_file(real)
        except UnreadableError:
            return ""
        return data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")

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
    """Say how much of a file tells all about its front matter: no more is read where it does not begin with one."""
    return front_end(data) if data.startswith((b"---", b"\xef\xbb\xbf---")) else len(data)


def _letter(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "l"
        return "d" if entry.is_dir(follow_symlinks=False) else "f" if entry.is_file(follow_symlinks=False) else "?"
    except OSError:
        return "?"
