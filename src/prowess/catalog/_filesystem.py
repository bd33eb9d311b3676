"""path -> what one command has read of it

All that finding and deciding look at passes here: each directory is listed and each file is read once, and what was
looked at is noted where somebody wants to know, so that `cache` can tell later whether it is still so.
"""

from __future__ import annotations

import os
from time import time_ns

from prowess._internal.files import (
    MAX_DIGEST_BYTES,
    MAX_SKILL_FILE_BYTES,
    UnreadableError,
    read_file,
    read_head,
    skill_digest,
    skill_files,
)
from prowess.skill import (
    MAX_FRONTMATTER_BYTES,
    Skill,
    fast_parse,
    from_document,
    frontmatter_end,
    parse_frontmatter,
    parse_yaml_mapping,
    unreadable_skill,
)

from ._fingerprints import (
    NOT_FOUND_ERRORS,
    Fingerprints,
    fingerprint,
    fingerprint_path,
    kind,
    link_kind,
    names_with_kinds,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from prowess.skill import FastFrontmatter, Value

    Listing = tuple[tuple[str, str], ...]
    Observed = TypeVar("Observed", str, bytes)

__all__ = ["Filesystem"]

_MAX_HEAD_BYTES = MAX_FRONTMATTER_BYTES + 4096
"""Bytes that are read of a SKILL.md at most where its body does not matter: enough to see a front matter too long."""


class Filesystem:
    """The file system as one command has seen it."""

    def __init__(self) -> None:
        self.started_ns = time_ns()
        """When it began to look, in nanoseconds of the system's clock."""
        self.fingerprints: Fingerprints | None = None
        """Where looks are noted, if anywhere; `watch` begins."""
        self._read_unrecorded = False
        """Whether something was read that no note tells of."""
        self._listings: dict[str, tuple[Listing | OSError, bytes]] = {}
        self._fast_fields: dict[str, FastFrontmatter] = {}
        self._fingerprints: dict[str, bytes] = {}
        self._skills: dict[tuple[str, str | None, bool], tuple[Skill, bool, bytes]] = {}
        self._yaml_tables: dict[str, tuple[Mapping[str, Value], bytes]] = {}
        self._files: dict[str, tuple[list[tuple[str, int]], dict[str, bytes], dict[str, bytes]]] = {}
        self._digests: dict[str, str | None] = {}
        self._digest_bytes_left = 2 * MAX_DIGEST_BYTES
        """Bytes that may yet be read for digests."""

    def record_fingerprints(self) -> Fingerprints:
        """Note from now on what is looked at. Of what was read before without a note, none can be made any more."""
        self.fingerprints = Fingerprints()
        self.fingerprints.complete = not self._read_unrecorded
        return self.fingerprints

    # ── what is there ────────────────────────────────────────────────────────────────────────────────────────────────

    def kind(self, path: str) -> str:
        """Return `d` for a folder, `f` for a regular file, `?` for anything else, through links; empty for nothing."""
        found = self._kind_or_empty(kind, path)
        if self.fingerprints is not None:
            self._record(self.fingerprints.kinds, path, found)
        return found

    def link_kind(self, path: str) -> str:
        """Return the letter of what a path names, and `l` if that is a link; empty for nothing."""
        found = self._kind_or_empty(link_kind, path)
        if self.fingerprints is not None:
            self._record(self.fingerprints.links, path, found)
        return found

    def _kind_or_empty(self, kind_of: Callable[[str], str], path: str) -> str:
        """Return what a look says; nothing where it is not allowed."""
        try:
            return kind_of(path)
        except OSError:
            self._mark_incomplete()
            return ""

    def real(self, path: str) -> str:
        """Return a path without links.

        Raises:
            OSError: it cannot be told.
            ValueError: it is none.
        """
        found = os.path.realpath(path)
        if self.fingerprints is not None:
            self._record(self.fingerprints.real_paths, path, found)
        return found

    def listing(self, path: str) -> Listing:
        """Return the names in a directory, sorted, each with `d` folder, `f` file, `l` link or `?` anything else.

        Raises:
            OSError: it cannot be listed.
        """
        known = self._listings.get(path)
        if known is None:
            state = b""
            names: Listing | OSError
            try:
                if self.fingerprints is None:
                    self._read_unrecorded = True
                else:
                    state = fingerprint(os.stat(path))
                with os.scandir(path) as entries:
                    names = tuple(sorted(names_with_kinds(entries)))
            except OSError as error:
                names = error
                if isinstance(error, FileNotFoundError):
                    state = b""
            except ValueError:
                names = FileNotFoundError(path)
            known = self._listings[path] = names, state
        found, state = known
        if self.fingerprints is not None:
            self._record(self.fingerprints.folders, path, state)
        if isinstance(found, OSError):
            if not isinstance(found, NOT_FOUND_ERRORS):
                self._mark_incomplete()
            raise found
        return found

    # ── what it says ─────────────────────────────────────────────────────────────────────────────────────────────────

    def read_fast(self, path: str) -> FastFrontmatter | None:
        """Return what a glance at a skill tells, or None where it does not tell enough: then `skill` does.

        Args:
            path: of its SKILL.md, not a link.
        """
        known = self._fast_fields.get(path)
        if known is None:
            if (path, None, False) in self._skills:
                return None
            try:
                data, complete, status = read_head(path, _bytes_needed, _MAX_HEAD_BYTES)
            except UnreadableError as error:
                self._skills[path, None, False] = self._unreadable_skill(path, path, error)
                return None
            state = self._fingerprint_status(status)
            known = None if complete and not _is_clean_text(data) else fast_parse(data)
            if known is None:
                self._skills[path, None, False] = _parse_skill(data, path, complete, False), complete, state
                return None
            self._fast_fields[path] = known
            if state:
                self._fingerprints[path] = state
        if self.fingerprints is not None:
            self._record(self.fingerprints.files, path, self._fingerprints.get(path, b""))
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
        known = self._skills.get((path, real, body))
        if known is None or (whole and not known[1]):
            known = self._skills[path, real, body] = self._read_skill(path, real or path, whole=whole, body=body)
        if self.fingerprints is not None:
            self._record(self.fingerprints.files, real or path, known[2])
        return known[0]

    def _read_skill(self, path: str, real: str, *, whole: bool, body: bool) -> tuple[Skill, bool, bytes]:
        """Return a skill, whether its whole file was read, and the file's mark."""
        try:
            if whole:
                state = self._fingerprint_path(real)
                data, complete = read_file(real), True
            else:
                data, complete, status = read_head(real, _bytes_needed, _MAX_HEAD_BYTES)
                state = self._fingerprint_status(status)
        except UnreadableError as error:
            return self._unreadable_skill(path, real, error)
        return _parse_skill(data, path, complete, body), complete, state

    def _unreadable_skill(self, path: str, real: str, error: UnreadableError) -> tuple[Skill, bool, bytes]:
        """Return what `_read` does for a file that cannot be read."""
        if error.code == "file-unreadable":
            self._mark_incomplete()
        state = b"" if error.code == "file-missing" else self._fingerprint_path(real, expected=True)
        return unreadable_skill(path, error), True, state

    def data(self, path: str, limit: int, *, follow: bool = True) -> bytes:
        """Return the bytes of a small file.

        Args:
            path: of the file.
            limit: bytes; a larger one is not read.
            follow: whether links are followed.

        Raises:
            UnreadableError: as `files.read_file`.
        """
        data, _ = self._read_small_file(path, limit, follow=follow)
        if isinstance(data, UnreadableError):
            raise data
        return data

    def _read_small_file(self, path: str, limit: int, *, follow: bool) -> tuple[bytes | UnreadableError, bytes]:
        """Return what `data` does, or why there is nothing, and the mark."""
        state = self._fingerprint_path(path, follow=follow)
        data: bytes | UnreadableError
        try:
            data = read_file(path, limit, follow=follow)
        except UnreadableError as error:
            data = error
            if error.code == "file-unreadable":
                self._mark_incomplete()
            elif error.code == "file-missing":
                state = b""
        if self.fingerprints is not None:
            self._record(self.fingerprints.folders if follow else self.fingerprints.files, path, state)
        return data, state

    def text(self, real: str) -> str:
        """Return a file's text with its own line ends, for clients that know but one; empty if it cannot be read."""
        try:
            data = self.data(real, MAX_SKILL_FILE_BYTES, follow=False)
        except UnreadableError:
            return ""
        return data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")

    def yaml(self, path: str) -> Mapping[str, Value]:
        """Return the mapping a small YAML file beside a SKILL.md holds; empty where there is none, or it is not one."""
        known = self._yaml_tables.get(path)
        if known is None:
            data, state = self._read_small_file(path, MAX_FRONTMATTER_BYTES, follow=False)
            table = {} if isinstance(data, UnreadableError) else parse_yaml_mapping(data, path)[0]
            known = self._yaml_tables[path] = table, state
        elif self.fingerprints is not None:
            self._record(self.fingerprints.files, path, known[1])
        return known[0]

    # ── all of a skill ───────────────────────────────────────────────────────────────────────────────────────────────

    def files(self, path: str) -> list[tuple[str, int]]:
        """Return the files of the skill whose SKILL.md this is, with their sizes."""
        folder = os.path.dirname(path)
        if folder not in self._files:
            listed: list[str] = []
            found = skill_files(folder, folders=listed)
            if "" in listed:
                self._mark_incomplete()
            folders = {name: self._fingerprint_path(name, follow=True, expected=True) for name in listed if name}
            names = (os.path.join(folder, name) for name, _ in found)
            self._files[folder] = found, folders, {name: self._fingerprint_path(name, expected=True) for name in names}
        found, folders, files = self._files[folder]
        if self.fingerprints is not None:
            for observations, states in ((self.fingerprints.folders, folders), (self.fingerprints.files, files)):
                for name, state in states.items():
                    self._record(observations, name, state)
        return found

    def digest(self, path: str) -> str | None:
        """Return the digest of the skill whose SKILL.md this is; None past what one command reads for digests."""
        folder = os.path.dirname(path)
        found = self.files(path)
        if folder not in self._digests:
            self._digest_bytes_left -= sum(size for _, size in found)
            self._digests[folder] = skill_digest(folder) if self._digest_bytes_left >= 0 else None
        if self._digests[folder] is None:
            # Why may depend on what else was read, or on what had no place in memory just then.
            self._mark_incomplete()
        return self._digests[folder]

    # ── notes ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _record(self, observations: dict[str, Observed], path: str, observed: Observed) -> None:
        """Note a look. Where another look at the same has shown something else, nothing is sure."""
        if observations.setdefault(path, observed) != observed:
            self._mark_incomplete()

    def _fingerprint_status(self, status: os.stat_result) -> bytes:
        """Return the mark of what was opened; empty where no looks are noted."""
        if self.fingerprints is None:
            self._read_unrecorded = True
            return b""
        return fingerprint(status)

    def _fingerprint_path(self, path: str, *, follow: bool = False, expected: bool = False) -> bytes:
        """Return the mark of a path; `there` says that something was just seen there."""
        if self.fingerprints is None:
            self._read_unrecorded = True
            return b""
        try:
            state = fingerprint_path(path, os.stat if follow else os.lstat)
        except OSError:
            self._mark_incomplete()
            return b""
        if expected and not state:
            self._mark_incomplete()
        return state

    def _mark_incomplete(self) -> None:
        """Note that not all can be noted."""
        if self.fingerprints is not None:
            self.fingerprints.complete = False


def _parse_skill(data: bytes, path: str, complete: bool, body: bool) -> Skill:
    document = parse_frontmatter(data, path, complete=complete)
    if not body and document.frontmatter is not None and len(document.body) > MAX_FRONTMATTER_BYTES:
        # Hundreds of bodies of 1 MiB would not fit: what is wrong in them is in the findings already.
        document = document.with_changes(text=document.text[: -len(document.body)], body="")
    return from_document(document, path)


def _bytes_needed(data: bytes) -> int:
    """Say how much of a file tells all about its front matter: no more is read where it does not begin with one."""
    end = data.find(b"\n---\n", 3)
    if end > 0 and data.startswith(b"---"):
        return end
    return frontmatter_end(data) if data.startswith((b"---", b"\xef\xbb\xbf---")) else len(data)


def _is_clean_text(data: bytes) -> bool:
    """Say whether a whole file is text without a NUL, so that the reader has nothing to say about its body."""
    if b"\0" in data:
        return False
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
