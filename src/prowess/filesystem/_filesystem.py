"""Read files and directories once for one command.

All that discovery reads passes here: each directory is listed and each file is read once, and fingerprints are recorded
on request, so that the cache can tell later whether anything has changed.
"""

from __future__ import annotations

import os
import re
from time import time_ns

from prowess._internal.file_status import owner_and_writers
from prowess._internal.files import (
    MAX_DIGEST_BYTES,
    MAX_SKILL_FILE_BYTES,
    UnreadableError,
    read_file,
    read_head,
    real_path,
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
    has_name,
    kind,
    link_kind,
    names_with_kinds,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from prowess.skill import FastFrontmatter, Value

    Observed = TypeVar("Observed", str, bytes)

Listing = tuple[tuple[str, str], ...]
"""The names in a folder, each with the letter of its kind."""

_MAX_HEAD_BYTES = MAX_FRONTMATTER_BYTES + 4096
"""The most bytes that are read of a SKILL.md without its body: enough to notice a front matter that is too long."""
_MAX_ALL_JSON_BYTES = 16 * 1024 * 1024
"""Bytes of JSON for plugins that one command reads, so that thousands of large files do not take long."""
_WIDE_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
"""Byte order marks and their encodings; a longer one comes before one that it begins with."""
_search_text = re.compile(rb"\S").search


class Filesystem:
    """The file system as one command has read it."""

    def __init__(self, recording: Filesystem | None = None) -> None:
        """Begin with nothing read.

        Args:
            recording: another one, whose record gets what is read here.
        """
        self.started_ns = time_ns()
        """When reading began, in nanoseconds of the system's clock."""
        self.fingerprints: Fingerprints | None = recording.fingerprints if recording is not None else None
        """The record of what is read, if there is one."""
        self.read_unrecorded = False
        """Whether something was read without a record."""
        self.read_closely: set[str] = set()
        """Files of which more was asked than the fast path reads."""
        self._listings: dict[str, tuple[Listing | OSError, bytes]] = {}
        self._listed_as: dict[str, str] = {}
        """Real paths of directories to the paths that they were listed as, where these differ."""
        self._fast_fields: dict[str, FastFrontmatter] = {}
        self._clean_files: set[str] = set()
        """Those of them whose whole file was read, and has no findings."""
        self._slow_files: dict[str, tuple[bytes, bool, bytes] | None] = {}
        """Files for which `read_fast` is not enough, with what it has read, until `skill` uses that."""
        self._unreadable_files: dict[str, UnreadableError] = {}
        """Why `read_fast` could not read a file."""
        self._fingerprints: dict[str, bytes] = {}
        """Of the files that `read_fast` has read."""
        self._skills: dict[tuple[str, str | None, bool], tuple[Skill, bool, bytes]] = {}
        self._yaml_tables: dict[str, tuple[Mapping[str, Value], bytes]] = {}
        self._typed_yaml: dict[str, tuple[Any, bytes]] = {}
        self.json_bytes_left = _MAX_ALL_JSON_BYTES
        """Bytes that may still be read of lists, manifests and catalogs of plugins."""
        self._files: dict[str, tuple[list[tuple[str, int]], dict[str, bytes], dict[str, bytes]]] = {}
        """By folder of a skill: its files with their sizes, and the fingerprints of its folders and files."""
        self.kept: dict[tuple[str, str], Any] = {}
        """What others have found out about a path, once for a command: by their own name and the path."""
        self._digests: dict[tuple[str, str], str | None] = {}
        self._digest_bytes_left = 2 * MAX_DIGEST_BYTES
        """Bytes that may still be read for digests."""

    # ── the record ───────────────────────────────────────────────────────────────────────────────────────────────────

    def record_fingerprints(self) -> Fingerprints:
        """Record fingerprints from now on. The record is incomplete if something was read before without one."""
        self.fingerprints = Fingerprints()
        self.fingerprints.complete = not self.read_unrecorded
        return self.fingerprints

    def record(self, observations: dict[str, Observed], path: str, observed: Observed) -> None:
        """Record what was read of a path. If it differs from an earlier record, the record is incomplete."""
        if observations.setdefault(path, observed) != observed:
            self.mark_incomplete()

    def fingerprint_status(self, status: os.stat_result) -> bytes:
        """Return the fingerprint of an open file; empty without a record."""
        if self.fingerprints is None:
            self.read_unrecorded = True
            return b""
        return fingerprint(status)

    def fingerprint_path(self, path: str, *, follow: bool = False, expected: bool = False) -> bytes:
        """Return the fingerprint of a path; empty without a record.

        Args:
            path: of a file or folder.
            follow: whether links are followed.
            expected: whether the path existed a moment ago.
        """
        if self.fingerprints is None:
            self.read_unrecorded = True
            return b""
        try:
            state = fingerprint_path(path, os.stat if follow else os.lstat)
        except OSError:
            self.mark_incomplete()
            return b""
        if expected and not state:
            self.mark_incomplete()
        return state

    def record_folder(self, path: str) -> None:
        """Record a directory that is going to be listed without `listing`."""
        if self.fingerprints is not None:
            self.record(self.fingerprints.folders, path, self.fingerprint_path(path, follow=True, expected=True))

    def mark_incomplete(self) -> None:
        """Note that the record does not hold everything."""
        if self.fingerprints is not None:
            self.fingerprints.complete = False

    # ── paths and directories ────────────────────────────────────────────────────────────────────────────────────────

    def kind(self, path: str) -> str:
        """Return the kind of a path, links followed: `d`, `f` or `?`; empty if it does not exist."""
        found = self._kind_or_empty(kind, path)
        if self.fingerprints is not None:
            self.record(self.fingerprints.kinds, path, found)
        return found

    def link_kind(self, path: str) -> str:
        """Return the kind of a path, `l` for a link; empty if it does not exist."""
        found = self._kind_or_empty(link_kind, path)
        if self.fingerprints is not None:
            self.record(self.fingerprints.links, path, found)
        return found

    def _kind_or_empty(self, kind_of: Callable[[str], str], path: str) -> str:
        """Return the kind of a path; empty if it cannot be read."""
        try:
            return kind_of(path)
        except OSError:
            self.mark_incomplete()
            return ""

    def is_own_project(self, folder: str, name: str, cwd: str) -> bool:
        """Return whether what makes a folder a project counts, as the function of this name does."""
        if folder == cwd:
            return True
        from prowess._internal.ownership import is_own_project

        return is_own_project(folder, name, cwd, self._owner_and_writers)

    def _owner_and_writers(self, path: str) -> str:
        found = owner_and_writers(path)
        if self.fingerprints is not None:
            self.record(self.fingerprints.owners, path, found)
        return found

    def real(self, path: str) -> str:
        """Return a path without links.

        Raises:
            ValueError: the path is invalid.
        """
        found = real_path(path)
        if self.fingerprints is not None:
            self.record(self.fingerprints.real_paths, path, found)
        return found

    def real_prefix(self, path: str) -> str:
        """Return what the paths inside a directory begin with, without links.

        Raises:
            ValueError: the path is invalid.
        """
        return os.path.join(self.real(path), "")

    def listing(self, path: str) -> Listing:
        """Return the sorted names in a directory, each with its kind: `d` folder, `f` file, `l` link or `?` other.

        Raises:
            OSError: the directory cannot be listed.
        """
        known = self._listings.get(path)
        if known is None:
            state = b""
            names: Listing | OSError
            try:
                if self.fingerprints is None:
                    self.read_unrecorded = True
                else:
                    state = fingerprint(os.stat(path))
                with os.scandir(path) as entries:
                    names = tuple(names_with_kinds(entries))
            except OSError as error:
                names = _fresh(error)
                if isinstance(error, FileNotFoundError):
                    state = b""
            except ValueError:
                names = FileNotFoundError(path)
            known = self._listings[path] = names, state
        found, state = known
        if self.fingerprints is not None:
            self.record(self.fingerprints.folders, path, state)
        if isinstance(found, OSError):
            if not isinstance(found, NOT_FOUND_ERRORS):
                self.mark_incomplete()
            raise _fresh(found)
        return found

    def listing_or_none(self, path: str) -> Listing | None:
        """Return the same as `listing`; `None` if the directory cannot be listed."""
        try:
            return self.listing(path)
        except OSError:
            return None

    def may_contain(self, folder: str, name: str) -> bool:
        """Return whether a folder may contain a name: false only if its listing is known and lacks it."""
        folder = self._listed_as.get(folder, folder)
        known = self._listings.get(folder)
        return known is None or isinstance(known[0], OSError) or has_name(self.listing(folder), name)

    def note_real_path(self, path: str, real: str) -> None:
        """Note the path without links of a directory that was listed, so that `may_contain` knows it by both."""
        if real != path:
            self._listed_as[real] = path

    # ── content ──────────────────────────────────────────────────────────────────────────────────────────────────────

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
            try:
                data, complete, state = self._read(path, whole=whole)
            except UnreadableError as error:
                self._unreadable_files[path] = error.without_frames()
                return None
            known = None if complete and not _is_clean_text(data) else fast_parse(data)
            if known is None or (whole and not _search_text(data, len(known[3]))):
                self._slow_files[path] = data, complete, state
                return None
            if whole:
                self._clean_files.add(path)
            self._fast_fields[path], self._fingerprints[path] = known, state
        if self.fingerprints is not None:
            self.record(self.fingerprints.files, path, self._fingerprints.get(path, b""))
        return known

    def known_fingerprints(self) -> Mapping[str, bytes]:
        """Return the fingerprints of the files that `read_fast` has read, by path; empty ones without a record."""
        return self._fingerprints

    def _read(self, real: str, *, whole: bool) -> tuple[bytes, bool, bytes]:
        """Return the bytes of a file, or its first ones, whether these are all, and the file's fingerprint.

        Raises:
            UnreadableError: the file cannot be read.
        """
        if whole:
            state = self.fingerprint_path(real)
            return read_file(real), True, state
        data, complete, status = read_head(real, _bytes_needed, _MAX_HEAD_BYTES)
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
        return _parse_skill(data, path, complete, body), complete, state

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
        return _decode_text(data, by_mark=by_mark)

    def typed_yaml(self, path: str) -> Any:
        """Return the value of a small YAML file beside a SKILL.md, with booleans and numbers as such.

        It is `None` if the file is missing, empty, or not one valid document. Links are followed: a client does so, and
        no text of the file is shown.
        """
        known = self._typed_yaml.get(path)
        if known is None:
            data, state = self._read_small_file(path, MAX_FRONTMATTER_BYTES, follow=True)
            known = self._typed_yaml[path] = None if isinstance(data, UnreadableError) else _typed_value(data), state
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

    # ── all files of a skill ─────────────────────────────────────────────────────────────────────────────────────────

    def files(self, path: str) -> list[tuple[str, int]]:
        """Return the files of the skill with this SKILL.md, with their sizes."""
        folder = os.path.dirname(path)
        if folder not in self._files:
            listed: list[str] = []
            found = skill_files(folder, folders=listed)
            if "" in listed:
                self.mark_incomplete()
            folders = {name: self.fingerprint_path(name, follow=True, expected=True) for name in listed if name}
            names = [os.path.join(folder, name) for name, _ in found]
            self.read_closely.update(names)
            self._files[folder] = found, folders, {name: self.fingerprint_path(name, expected=True) for name in names}
        found, folders, files = self._files[folder]
        if self.fingerprints is not None:
            for observations, states in ((self.fingerprints.folders, folders), (self.fingerprints.files, files)):
                for name, state in states.items():
                    self.record(observations, name, state)
        return found

    def digest(self, path: str, without: str = "") -> str | None:
        """Return the digest of the skill with this SKILL.md; `None` if the command has read too much for digests.

        Args:
            path: of its SKILL.md.
            without: a file of the skill that is left out.
        """
        key = os.path.dirname(path), without
        found = self.files(path)
        if key not in self._digests:
            self._digest_bytes_left -= sum(size for name, size in found if name != without)
            self._digests[key] = skill_digest(*key) if self._digest_bytes_left >= 0 else None
        if self._digests[key] is None:
            # The reason may be what was read before, or a lack of file descriptors or memory.
            self.mark_incomplete()
        return self._digests[key]


def _fresh(error: OSError) -> OSError:
    """Return a copy of an error without the frames in which it was raised, which would stay in memory."""
    return type(error)(*error.args)


def _parse_skill(data: bytes, path: str, complete: bool, body: bool) -> Skill:
    document = parse_frontmatter(data, path, complete=complete)
    if not body and document.frontmatter is not None and len(document.body) > MAX_FRONTMATTER_BYTES:
        # Hundreds of bodies of 1 MiB take too much memory; their findings are already known.
        # One character still shows that there are instructions.
        shown = document.body.lstrip()[:1]
        document = document.with_changes(text=document.text[: -len(document.body)] + shown, body=shown)
    return from_document(document, path)


def _bytes_needed(data: bytes) -> int:
    """Return the number of bytes that hold the front matter; all bytes if the file does not start with one."""
    end = data.find(b"\n---\n", 3)
    if end > 0 and data.startswith(b"---"):
        return end
    return frontmatter_end(data) if data.startswith((b"---", b"\xef\xbb\xbf---")) else len(data)


def _decode_text(data: bytes, *, by_mark: bool) -> str:
    """Return the text of a file without its byte order mark, which may say that it is UTF-16 or UTF-32."""
    mark = next((mark for mark in _WIDE_MARKS if data.startswith(mark)), b"") if by_mark else b""
    if mark:
        return data.decode(_WIDE_MARKS[mark], "replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def _is_clean_text(data: bytes) -> bool:
    """Return whether a whole file is UTF-8 without a NUL, so that its body has no findings."""
    if b"\0" in data:
        return False
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _typed_value(data: bytes) -> Any:
    from prowess.skill import YamlSyntaxError, parse_yaml_node

    try:
        node = parse_yaml_node(data.decode("utf-8-sig"))
    except (ValueError, YamlSyntaxError):
        return None
    return None if node is None else node.plain_value()
