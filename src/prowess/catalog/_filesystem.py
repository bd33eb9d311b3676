"""Read files and directories once for one command.

All that discovery reads passes here: each directory is listed and each file is read once, and fingerprints are recorded
on request, so that the cache can tell later whether anything has changed.
"""

from __future__ import annotations

import os
import re
from time import time_ns

from prowess._internal.files import (
    MAX_SKILL_FILE_BYTES,
    UnreadableError,
    read_file,
    read_head,
)
from prowess.skill import (
    MAX_FRONTMATTER_BYTES,
    Skill,
    fast_parse,
    parse_yaml_mapping,
    unreadable_skill,
)

from ._file_content import bytes_needed, decode_text, is_clean_text, parse_skill, typed_value
from ._path_reader import PathReader
from ._skill_file_lists import SkillFileLists

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from prowess.skill import FastFrontmatter, Value

    from ._kept_rows import KeptRows, Row

__all__ = ["Filesystem"]

_MAX_HEAD_BYTES = MAX_FRONTMATTER_BYTES + 4096
"""The most bytes that are read of a SKILL.md without its body: enough to notice a front matter that is too long."""


_MAX_ALL_JSON_BYTES = 16 * 1024 * 1024
"""Bytes of JSON for plugins that one command reads, so that thousands of large files do not take long."""


_MAX_OUTDATED_ROWS = 32
"""After a checkout all files have changed, and to try their rows costs more than to read the files."""
_search_text = re.compile(rb"\S").search


class Filesystem(SkillFileLists, PathReader):
    """The file system as one command has read it."""

    def __init__(self) -> None:
        super().__init__()
        self.started_ns = time_ns()
        """When reading began, in nanoseconds of the system's clock."""
        self._fast_fields: dict[str, FastFrontmatter] = {}
        self._clean_files: set[str] = set()
        """Those of them whose whole file was read, and has no findings."""
        self._slow_files: dict[str, tuple[bytes, bool, bytes] | None] = {}
        """Files for which `read_fast` is not enough, with what it has read, until `skill` uses that."""
        self._unreadable_files: dict[str, UnreadableError] = {}
        """Why `read_fast` could not read a file."""
        self._fingerprints: dict[str, bytes] = {}
        self._skills: dict[tuple[str, str | None, bool], tuple[Skill, bool, bytes]] = {}
        self._yaml_tables: dict[str, tuple[Mapping[str, Value], bytes]] = {}
        self._typed_yaml: dict[str, tuple[Any, bytes]] = {}
        self.kept_rows: KeptRows | None = None
        """What reading files gave earlier, if it is kept."""
        self._outdated_rows = 0
        """How many more rows of changed files than of others were tried."""
        self.json_bytes_left = _MAX_ALL_JSON_BYTES
        """Bytes that may still be read of lists, manifests and catalogs of plugins."""

    def lacks(self, path: str, *, listed: bool) -> bool:
        """Return whether `read_fast` has not found a file.

        Args:
            path: of the file.
            listed: whether its folder is listed now, so that its fingerprint shows when the file is there.
        """
        error = self._unreadable_files.get(path)
        lacks = error is not None and error.code == "file-missing"
        if lacks and not listed and self.fingerprints is not None:
            self.record(self.fingerprints.files, path, b"")
        return lacks

    # ── content ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def read_fast(self, path: str, *, whole: bool = False) -> FastFrontmatter | None:
        """Return the fields of a skill by the fast path, or `None` if it is not enough: then use `skill`.

        Args:
            path: of its SKILL.md, without links, so that hosts that reach it by several paths read it once.
            whole: whether its body must be there and without findings.
        """
        known = self._fast_fields.get(path) if not whole or path in self._clean_files else None
        if known is None:
            if path in self._unreadable_files or path in self._slow_files:
                return None
            known = self._read_row(path, whole=whole)
        if known is None:
            try:
                data, complete, state = self._read(path, whole=whole)
            except UnreadableError as error:
                self._unreadable_files[path] = error.without_frames()
                return None
            known = None if complete and not is_clean_text(data) else fast_parse(data)
            if known is None or (whole and not _search_text(data, len(known[3]))):
                self._slow_files[path] = data, complete, state
                return None
            if whole:
                self._clean_files.add(path)
            self._fast_fields[path], self._fingerprints[path] = known, state
        if self.fingerprints is not None:
            self.record(self.fingerprints.files, path, self._fingerprints.get(path, b""))
        return known

    def _read_row(self, path: str, *, whole: bool) -> FastFrontmatter | None:
        """Return the same as `read_fast` from the kept row of a file; `None` if there is no row or the file changed."""
        row = None if self.kept_rows is None else self.kept_rows.rows.get(path)
        if row is None or (whole and not row[2]) or self._outdated_rows > _MAX_OUTDATED_ROWS:
            return None
        if self.fingerprint_path(path) != row[0]:
            self._outdated_rows += 1
            return None
        self._outdated_rows -= 1
        known = fast_parse(row[1])
        if known is not None:
            self._fast_fields[path], self._fingerprints[path] = known, row[0]
            if row[2]:
                self._clean_files.add(path)
        return known

    def known_fingerprints(self) -> Mapping[str, bytes]:
        """Return the fingerprints of the files that `read_fast` has read, by path; empty ones without a record."""
        return self._fingerprints

    def rows(self) -> dict[str, Row]:
        """Return what `read_fast` has read, to keep it."""
        clean = self._clean_files
        return {path: (self._fingerprints[path], fast[3], path in clean) for path, fast in self._fast_fields.items()}

    def _read(self, real: str, *, whole: bool) -> tuple[bytes, bool, bytes]:
        """Return the bytes of a file, or its first ones, whether these are all, and the file's fingerprint.

        Raises:
            UnreadableError: the file cannot be read.
        """
        if whole:
            state = self.fingerprint_path(real)
            return read_file(real), True, state
        data, complete, status = read_head(real, bytes_needed, _MAX_HEAD_BYTES)
        return data, complete, self.fingerprint_status(status)

    def skill(self, path: str, *, real: str | None = None, whole: bool = False, body: bool = True) -> Skill:
        """Return the skill in a SKILL.md. Never raises.

        The finding `file-missing` says that the file does not exist, `file-is-link` that it is a link.

        Args:
            path: of the file.
            real: the path without links, if `path` is a link; links are never followed when the file is opened.
            whole: whether to read the whole file, because the body or its findings are needed.
            body: whether to keep the body.
        """
        known = self._skills.get((path, real, body))
        if known is None or (whole and not known[1]):
            known = self._skills[path, real, body] = self._read_skill(path, real or path, whole=whole, body=body)
        if self.fingerprints is not None:
            self.record(self.fingerprints.files, real or path, known[2])
        return known[0]

    def _read_skill(self, path: str, real: str, *, whole: bool, body: bool) -> tuple[Skill, bool, bytes]:
        """Return a skill, whether its whole file was read, and the file's fingerprint."""
        self.read_closely.add(real)
        if real in self._unreadable_files:
            return self._unreadable_skill(path, real, self._unreadable_files[real])
        content = self._slow_files.get(real)
        if content is None or (whole and not content[1]):
            try:
                content = self._read(real, whole=whole)
            except UnreadableError as error:
                return self._unreadable_skill(path, real, error)
        else:
            self._slow_files[real] = None  # from here on, `_skills` has it
        data, complete, state = content
        return parse_skill(data, path, complete, body), complete, state

    def _unreadable_skill(self, path: str, real: str, error: UnreadableError) -> tuple[Skill, bool, bytes]:
        """Return the same as `_read_skill` for a file that cannot be read."""
        if error.code == "file-unreadable":
            self.mark_incomplete()
        state = b"" if error.code == "file-missing" else self.fingerprint_path(real, expected=True)
        return unreadable_skill(path, error), True, state

    def modified_ns(self, path: str) -> int:
        """Return when a file that was read has changed last, in nanoseconds; 0 if that is unknown."""
        self.read_closely.add(path)
        try:
            return os.stat(path).st_mtime_ns
        except OSError:
            return 0

    def data(self, path: str, limit: int, *, follow: bool = True) -> bytes:
        """Return the bytes of a small file.

        Args:
            path: of the file.
            limit: bytes; a larger file is not read.
            follow: whether links are followed.

        Raises:
            UnreadableError: the file cannot be read, as in `read_file`.
        """
        data, _ = self._read_small_file(path, limit, follow=follow)
        if isinstance(data, UnreadableError):
            raise data.without_frames()  # a frame that holds the error it raises stays in memory
        return data

    def _read_small_file(self, path: str, limit: int, *, follow: bool) -> tuple[bytes | UnreadableError, bytes]:
        """Return the bytes of a file, or why it cannot be read, and its fingerprint."""
        self.read_closely.add(path)
        state = self.fingerprint_path(path, follow=follow)
        data: bytes | UnreadableError
        try:
            data = read_file(path, limit, follow=follow)
        except UnreadableError as error:
            data = error.without_frames()
            if error.code == "file-unreadable":
                self.mark_incomplete()
            elif error.code == "file-missing":
                state = b""
        if self.fingerprints is not None:
            self.record(self.fingerprints.folders if follow else self.fingerprints.files, path, state)
        return data, state

    def text(self, real: str, *, by_mark: bool = False) -> str:
        """Return a file's text with its own line ends, which matter to some clients; empty if it cannot be read.

        Args:
            real: the path without links.
            by_mark: whether a byte order mark may say that it is UTF-16 or UTF-32.
        """
        try:
            data = self.data(real, MAX_SKILL_FILE_BYTES, follow=False)
        except UnreadableError:
            return ""
        return decode_text(data, by_mark=by_mark)

    def typed_yaml(self, path: str) -> Any:
        """Return the value of a small YAML file beside a SKILL.md, with booleans and numbers as such.

        It is `None` if the file is missing, empty, or not one valid document. Links are followed: a client does so, and
        no text of the file is shown.
        """
        known = self._typed_yaml.get(path)
        if known is None:
            data, state = self._read_small_file(path, MAX_FRONTMATTER_BYTES, follow=True)
            known = self._typed_yaml[path] = None if isinstance(data, UnreadableError) else typed_value(data), state
        elif self.fingerprints is not None:
            self.record(self.fingerprints.folders, path, known[1])
        return known[0]

    def yaml(self, path: str) -> Mapping[str, Value]:
        """Return the mapping in a small YAML file beside a SKILL.md; empty if it is missing or not a mapping."""
        known = self._yaml_tables.get(path)
        if known is None:
            data, state = self._read_small_file(path, MAX_FRONTMATTER_BYTES, follow=False)
            table = {} if isinstance(data, UnreadableError) else parse_yaml_mapping(data, path)[0]
            known = self._yaml_tables[path] = table, state
        elif self.fingerprints is not None:
            self.record(self.fingerprints.files, path, known[1])
        return known[0]

    def has_invalid_yaml(self, path: str) -> bool:
        """Return whether a small YAML file beside a SKILL.md has a content that is not a valid mapping."""
        data, _ = self._read_small_file(path, MAX_FRONTMATTER_BYTES, follow=False)
        if isinstance(data, UnreadableError):
            return data.code != "file-missing"
        codes = {problem.code for problem in parse_yaml_mapping(data, path)[1]} - {"yaml-duplicate-key"}
        return any(code.startswith(("yaml-", "repair-")) for code in codes)
