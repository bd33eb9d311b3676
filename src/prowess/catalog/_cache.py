"""Keep the results of `discover` in files, and return a result only if nothing it depends on has changed.

A file holds one result: what one host sees from one directory. It counts only if every file, folder, link and
variable that had a part in it is unchanged; otherwise the disk is read again. A file that is damaged, cut short or not
the user's own is ignored. A result is stored only if what it depends on changed some time ago, so that no later change
can have the same time stamp.

    file     = magic checksum *(" " length) newline *section
    sections = query files fingerprints folders fingerprints observations extra *column
    observations = *(letter name value) ; query, files, folders, observations, column = *(text NUL)
    letter   = "k" / "l"  ; what `kind` and `link_kind` returned for a path
             / "r"        ; a path without links
             / "v" / "u"  ; a variable that was set, or was not
             / "-" / "_"  ; a path that did not exist, links not followed, or followed

Two things go unnoticed: a forged file of a process that can write as the user, and so could change the skills as well;
and a change that the system does not show yet, such as one through a memory mapping that was written to before, or on
another machine of a network file system.
"""

from __future__ import annotations

import os
import stat
import sys
from itertools import chain
from zlib import crc32

from prowess._internal.file_status import is_own_file
from prowess._internal.files import real_path

from ._fingerprints import FINGERPRINT_BYTES, fingerprint_paths, kind, link_kind, newest_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ._fingerprints import Fingerprints

__all__ = ["Cache", "CachedResult", "user_identity"]

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Bytes of one file."""
SETTLE_NS = 2_000_000_000
"""Nanoseconds. A file that changed more recently may change again in the same tick of its file system's clock
(2 seconds on FAT, less elsewhere), and its fingerprint would stay the same."""

_MAGIC = b"prowess-cache 1 "
_FIXED_SECTIONS = 7
"""Sections before the columns."""
_MAX_TEXTS = 16
"""Sections of text in a file."""
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OPEN_FLAGS |= getattr(os, "O_NONBLOCK", 0)


class CachedResult:
    """A result from the cache: columns of text, and `extra` in the form in which it was stored."""

    def __init__(
        self,
        columns: Sequence[list[str] | memoryview],
        extra: bytes,
        files: Sequence[str] = (),
        depends_on: Sequence[memoryview] = (),
    ) -> None:
        self._columns, self.extra = columns, extra
        self.depends_on = depends_on
        """The sections that say what it depends on."""
        self.column_lengths = [len(column) if isinstance(column, list) else _count_texts(column) for column in columns]
        """The number of texts in each column."""
        self.files = files
        """Paths of the files that were read for it, in the order in which they were opened."""

    def column(self, number: int) -> list[str]:
        """Return a column.

        Raises:
            ValueError: the column is not UTF-8.
        """
        column = self._columns[number]
        return column if isinstance(column, list) else _decode_texts(column)

    def fingerprints(self) -> dict[str, bytes]:
        """Return the fingerprints of `files`, by path."""
        if not self.depends_on:
            return {}
        states = self.depends_on[1]
        parts = (bytes(states[at : at + FINGERPRINT_BYTES]) for at in range(0, len(states), FINGERPRINT_BYTES))
        return dict(zip(self.files, parts, strict=True))


class Cache:
    """The cached results of one user, in one folder.

    Args:
        folder: the cache's folder; created when a result is stored.
        settle_ns: nanoseconds, instead of `SETTLE_NS`.
    """

    def __init__(self, folder: str, *, settle_ns: int | None = None) -> None:
        self.folder, self._settle_ns = folder, SETTLE_NS if settle_ns is None else settle_ns

    # ── load ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def load(self, query: Sequence[str], env: Mapping[str, str]) -> CachedResult | None:
        """Return the result for a query if nothing that it depends on has changed.

        Args:
            query: all that the result is for.
            env: the environment.
        """
        key = _encode_texts(query)
        sections = [] if key is None else self._sections(key)
        if len(sections) < _FIXED_SECTIONS or bytes(sections[0]) != key:
            return None
        try:
            files = _decode_texts(sections[1])
            unchanged = (
                _is_unchanged(files, sections[2])
                and _is_unchanged(_decode_texts(sections[3]), sections[4], os.stat)
                and _observations_match(_decode_texts(sections[5]), env)
            )
            if not unchanged:
                return None
            return CachedResult(sections[_FIXED_SECTIONS:], bytes(sections[6]), files, sections[1:6])
        except (OSError, ValueError, OverflowError):
            return None

    def _sections(self, key: bytes) -> list[memoryview]:
        """Return the sections of the file for a key; none if the file is missing or invalid."""
        data = self._read(os.path.join(self.folder, _file_name(key)))
        end = data.find(b"\n", 0, 512)
        if end < 0 or not data.startswith(_MAGIC):
            return []
        body = memoryview(data)[end + 1 :]
        checksum, *lengths = data[len(_MAGIC) : end].split(b" ")
        if checksum != b"%08x" % crc32(body, crc32(b" ".join(lengths))) or not all(map(bytes.isdigit, lengths)):
            return []
        if sum(map(int, lengths)) != len(body):
            return []
        sections, at = [], 0
        for size in map(int, lengths):
            sections.append(body[at : at + size])
            at += size
        return sections

    def _read(self, path: str) -> bytes:
        """Return the content of a file of the cache; empty if it is missing, not regular or not the user's own."""
        try:
            if not is_own_file(os.lstat(self.folder), stat.S_ISDIR):
                return b""
            fd = os.open(path, _OPEN_FLAGS)
        except (OSError, ValueError):
            return b""
        try:
            status = os.fstat(fd)
            if not is_own_file(status) or status.st_size > MAX_FILE_BYTES:
                return b""
            parts = [os.read(fd, len(_MAGIC))]
            left = status.st_size - len(_MAGIC) if parts[0] == _MAGIC else 0
            while left > 0 and (part := os.read(fd, left)):
                parts.append(part)
                left -= len(part)
            return b"".join(parts)
        except OSError:
            return b""
        finally:
            os.close(fd)

    # ── store ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def store(
        self,
        query: Sequence[str],
        fingerprints: Fingerprints,
        variables_read: Mapping[str, str | None],
        started_ns: int,
        columns: Sequence[Iterable[str]],
        extra: bytes,
    ) -> bool:
        """Store a result, unless something that it depends on changed a moment ago. Never raises.

        Args:
            query: all that the result is for.
            fingerprints: what was read.
            variables_read: the environment variables that were read.
            started_ns: when reading began, in nanoseconds of the system's clock.
            columns: lists of text.
            extra: the rest of the result.

        Returns:
            Whether it was stored.
        """
        files, folders = _existing(fingerprints.files), _existing(fingerprints.folders)
        latest = max(newest_time(b"".join(recorded.values())) for recorded in (files, folders))
        if not fingerprints.complete or latest > started_ns - self._settle_ns:
            return False
        observations = _encode_observations(fingerprints, variables_read)
        lists = (query, list(files), list(folders), observations, *map(list, columns))
        texts = [text for part in lists if (text := _encode_texts(part)) is not None]
        if len(texts) < len(lists) or len(texts) > _MAX_TEXTS:
            return False
        key, paths, listed, observed, *rest = texts
        depends_on = [paths, b"".join(files.values()), listed, b"".join(folders.values()), observed]
        return self._store_sections(key, [*depends_on, extra, *rest])

    def store_derived(
        self, query: Sequence[str], result: CachedResult, columns: Sequence[list[str]], extra: bytes
    ) -> None:
        """Store what was made of a result alone, and so counts as long as the result. Never raises.

        Args:
            query: all that it is for.
            result: as `load` returned it.
            columns: lists of text.
            extra: the rest.
        """
        texts = [text for part in (query, *columns) if (text := _encode_texts(part)) is not None]
        if len(texts) == 1 + len(columns):
            self._store_sections(texts[0], [*result.depends_on, extra, *texts[1:]])

    def _store_sections(self, key: bytes, sections: Sequence[bytes | memoryview]) -> bool:
        """Write the file for a key, and return whether that was possible. Never raises."""
        sections = [key, *sections]
        lengths = b" ".join(b"%d" % len(section) for section in sections)
        body = b"".join(sections)
        head = _MAGIC + b"%08x " % crc32(body, crc32(lengths)) + lengths + b"\n"
        if len(head) + len(body) > MAX_FILE_BYTES:
            return False
        try:
            self._write(_file_name(key), head + body)
        except (OSError, ValueError, RecursionError):  # the last for a folder that is too deep to create
            return False
        return True

    def _write(self, name: str, data: bytes) -> None:
        """Write a file, and remove old ones.

        Raises:
            OSError: the file cannot be written.
        """
        from ._cache_files import evict_files, write_file

        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        if is_own_file(os.lstat(self.folder), stat.S_ISDIR):
            evict_files(self.folder, len(data))
            write_file(self.folder, name, data)


def user_identity() -> str:
    """Return the user and groups of the process, which decide what files it can read."""
    if sys.platform == "win32":
        return ""
    return f"{os.geteuid()} {os.getegid()} {sorted(os.getgroups())}"


def _file_name(key: bytes) -> str:
    """Return the name of the file for a key."""
    # Two keys with the same name replace each other's file; the file holds the whole key, which is compared.
    return f"catalog-{crc32(key):08x}{crc32(key[::-1]):08x}"


def _existing(recorded: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the fingerprints of paths that existed."""
    return {path: fingerprint for path, fingerprint in recorded.items() if fingerprint}


def _encode_texts(texts: Sequence[str]) -> bytes | None:
    """Join texts; `None` if one of them contains a NUL, which separates them."""
    joined = "\0".join((*texts, ""))
    if joined.count("\0") != len(texts):
        return None
    try:
        return joined.encode("utf-8", "surrogatepass")
    except UnicodeEncodeError:
        return None


def _decode_texts(section: memoryview) -> list[str]:
    """Split what `_encode_texts` joined.

    Raises:
        ValueError: the section is invalid.
    """
    *texts, rest = bytes(section).split(b"\0")
    if rest:
        raise ValueError("a text has no end")
    try:
        # One by one: a single character beyond Latin-1 makes a string four times as large.
        return list(map(bytes.decode, texts))
    except UnicodeDecodeError:
        return [text.decode("utf-8", "surrogatepass") for text in texts]


def _count_texts(section: memoryview) -> int:
    """Return how many texts `_encode_texts` joined, without splitting them.

    Raises:
        ValueError: the section is invalid.
    """
    data = bytes(section)
    if data and data[-1]:
        raise ValueError("a text has no end")
    return data.count(0)


def _is_unchanged(paths: list[str], stored: memoryview, stat_path: Callable[[str], os.stat_result] = os.lstat) -> bool:
    """Return whether each path still has the fingerprint that was stored.

    Raises:
        OSError: a path does not exist or cannot be read.
        ValueError: a path is invalid.
        OverflowError: a number is too large for a fingerprint.
    """
    return len(stored) == len(paths) * FINGERPRINT_BYTES and fingerprint_paths(paths, stat_path) == stored


def _encode_observations(fingerprints: Fingerprints, variables_read: Mapping[str, str | None]) -> list[str]:
    """Return what was read and has no fingerprint, as pairs of a letter with a name, and a value."""
    tables: Mapping[str, Mapping[str, str]] = {
        "k": fingerprints.kinds,
        "l": fingerprints.links,
        "r": fingerprints.real_paths,
        "v": {name: value for name, value in variables_read.items() if value is not None},
        "u": {name: "" for name, value in variables_read.items() if value is None},
        "-": {path: "" for path, fingerprint in fingerprints.files.items() if not fingerprint},
        "_": {path: "" for path, fingerprint in fingerprints.folders.items() if not fingerprint},
    }
    pairs = ((letter + name, value) for letter, table in tables.items() for name, value in table.items())
    return list(chain.from_iterable(pairs))


def _observations_match(observations: list[str], env: Mapping[str, str]) -> bool:
    """Return whether kinds, links and variables are as `_encode_observations` stored them.

    Raises:
        OSError: a path cannot be read.
        ValueError: an observation is invalid.
    """
    for key, value in zip(observations[::2], observations[1::2], strict=True):
        letter, name = key[:1], key[1:]
        if letter == "k":
            same = kind(name) == value
        elif letter == "l":
            same = link_kind(name) == value
        elif letter == "r":
            same = real_path(name) == value
        elif letter in ("u", "v"):
            same = env.get(name) == (value if letter == "v" else None)
        elif letter in ("-", "_"):
            same = not (link_kind if letter == "-" else kind)(name)
        else:
            raise ValueError("unknown observation")
        if not same:
            return False
    return True
