"""a question + what was looked at -> the answer, as long as all of it is still so

A file holds one answer: what one host sees from one directory. It is believed only where a look at every file, folder
and link, and at every variable, that had a part in it shows what it showed then; all else is asked of the disk again. A
file that is damaged, cut, foreign or not the user's own counts for nothing, and what was seen while it may have been
changing is never kept.

    file     = magic checksum *(" " length) newline *section
    sections = question files marks folders marks others more *column
    others   = *(letter name value) ; question, files, folders, others, column = *(text NUL)
    letter   = "k" / "l"  ; what `kind` and `link_kind` said of a path
             / "r"        ; a path without links
             / "v" / "u"  ; a variable that was set, or was not
             / "-" / "_"  ; nothing was there, not even a link; nothing was there, through links

What it cannot tell: an answer forged well by somebody who can write as the user, and who could write the skills just as
well; and a change that the system itself does not tell yet when a file is looked at, such as what is written through a
mapping of memory that was written to before, or on another machine of a network.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import suppress
from itertools import chain
from operator import itemgetter
from time import time_ns
from zlib import crc32

from ._looks import FINGERPRINT_BYTES, fingerprint_paths, kind, link_kind, newest_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ._looks import Fingerprints

__all__ = ["CachedResult", "Cache", "RecordingEnvironment", "user_identity"]

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Of one answer."""
MAX_BYTES = 256 * 1024 * 1024
"""Of all answers of a user."""
MAX_FILES = 128
"""Answers of a user."""
SETTLE_NS = 2_000_000_000
"""Nanoseconds: what changed less than this before it was looked at may change again within the same tick of its file
system's clock (2 seconds on FAT, less elsewhere), so that nothing would show it."""

_MAGIC = b"prowess-cache 1 "
_FIXED_SECTIONS = 7
"""Sections before the columns."""
_MAX_TEXTS = 16
"""Sections of text in a file."""
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINKS |= getattr(os, "O_NONBLOCK", 0)
_match_cache_file = re.compile(r"(\.)?catalog-[0-9a-f]{16}(?(1)\.[0-9]+\.[0-9a-f]+)").fullmatch
"""What files of ours are called: nothing else that lies in the folder is touched."""
_STALE_NS = 3600 * 1_000_000_000
"""Nanoseconds after which the process that wrote a file is taken to be dead."""


class RecordingEnvironment(dict[str, str]):
    """An environment that notes which variables were asked for. Only `get` is to be used."""

    def __init__(self, env: Mapping[str, str]) -> None:
        super().__init__()
        self._env = env
        self.variables_read: dict[str, str | None] = {}

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return a variable, and note what it is."""
        value = self.variables_read[name] = self._env.get(name)
        return default if value is None else value


class CachedResult:
    """What was answered: columns of text, and the rest in whatever form its owner gave it."""

    def __init__(self, columns: Sequence[list[str] | memoryview], extra: bytes, files: Sequence[str] = ()) -> None:
        self._columns, self.extra = columns, extra
        self.column_lengths = [len(column) if isinstance(column, list) else _count_texts(column) for column in columns]
        """How many texts each column has."""
        self.files = files
        """Paths of the files that had a part in it, in the order in which they were opened."""

    def column(self, at: int) -> list[str]:
        """Return a column, which is taken apart now.

        Raises:
            ValueError: it is not UTF-8.
        """
        column = self._columns[at]
        return column if isinstance(column, list) else _decode_texts(column)


class Cache:
    """The answers of one user, in one folder.

    Args:
        folder: of the cache; made when something is kept.
        settle_ns: in nanoseconds, instead of `SETTLED`.
    """

    def __init__(self, folder: str, *, settle_ns: int | None = None) -> None:
        self.folder, self._settle_ns = folder, SETTLE_NS if settle_ns is None else settle_ns

    # ── recalling ────────────────────────────────────────────────────────────────────────────────────────────────────

    def load(self, query: Sequence[str], env: Mapping[str, str]) -> CachedResult | None:
        """Return the answer to a question if all it depends on is still so.

        Args:
            query: all that was asked.
            env: the environment.
        """
        key = _encode_texts(query)
        sections = [] if key is None else self._sections(key)
        if len(sections) < _FIXED_SECTIONS or bytes(sections[0]) != key:
            return None
        try:
            files = _decode_texts(sections[1])
            still = (
                _is_unchanged(files, sections[2])
                and _is_unchanged(_decode_texts(sections[3]), sections[4], os.stat)
                and _observations_hold(_decode_texts(sections[5]), env)
            )
            return CachedResult(sections[_FIXED_SECTIONS:], bytes(sections[6]), files) if still else None
        except (OSError, ValueError, OverflowError):
            return None

    def _sections(self, key: bytes) -> list[memoryview]:
        """Return what a file holds, taken apart; nothing where it is not what was written."""
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
        """Return what a file of the user's own holds; nothing if it is anything else."""
        try:
            if not _is_own(os.lstat(self.folder)):
                return b""
            fd = os.open(path, os.O_RDONLY | _NO_LINKS)
        except (OSError, ValueError):
            return b""
        try:
            status = os.fstat(fd)
            if not _is_own(status) or not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
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

    # ── keeping ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def store(
        self,
        query: Sequence[str],
        fingerprints: Fingerprints,
        variables_read: Mapping[str, str | None],
        started_ns: int,
        columns: Sequence[Iterable[str]],
        extra: bytes,
    ) -> bool:
        """Keep an answer, if what it depends on has settled. Whatever is in the way, nothing is raised.

        Args:
            query: all that was asked.
            fingerprints: what was looked at.
            variables_read: the variables of the environment that were asked for.
            started_ns: when the looking began, in nanoseconds of the system's clock.
            columns: of text.
            extra: what else belongs to it.

        Returns:
            Whether it was kept.
        """
        files, folders = _existing(fingerprints.files), _existing(fingerprints.folders)
        latest = max(newest_time(b"".join(noted.values())) for noted in (files, folders))
        if not fingerprints.complete or latest > started_ns - self._settle_ns:
            return False
        observations = _encode_observations(fingerprints, variables_read)
        texts = [_encode_texts(part) for part in (query, list(files), list(folders), observations, *map(list, columns))]
        if None in texts or len(texts) > _MAX_TEXTS:
            return False
        key, paths, listed, rows, *rest = (text or b"" for text in texts)
        sections = [key, paths, b"".join(files.values()), listed, b"".join(folders.values()), rows, extra, *rest]
        lengths = b" ".join(b"%d" % len(section) for section in sections)
        body = b"".join(sections)
        head = _MAGIC + b"%08x " % crc32(body, crc32(lengths)) + lengths + b"\n"
        if len(head) + len(body) > MAX_FILE_BYTES:
            return False
        try:
            self._write(_file_name(key), head + body)
        except (OSError, ValueError, RecursionError):  # the last for folders too deep to be made
            return False
        return True

    def _write(self, name: str, data: bytes) -> None:
        """Write a file beside its place, and move it there in one step.

        Raises:
            OSError: it cannot be written.
        """
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        if not _is_own(os.lstat(self.folder)):
            return
        self._evict(len(data))
        staged = os.path.join(self.folder, f".{name}.{os.getpid()}.{time_ns():x}")
        fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o600)
        try:
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(fd, left) :]
            finally:
                os.close(fd)
            os.replace(staged, os.path.join(self.folder, name))
        except BaseException:
            with suppress(OSError):
                os.unlink(staged)
            raise

    def _evict(self, size: int) -> None:
        """Remove the oldest answers where there are too many, and what a process left that was killed."""
        found = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if ours := _match_cache_file(entry.name):
                    with suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime_ns, status.st_size, entry.path, bool(ours[1])))
        found.sort()
        now = time_ns()
        count, total = len(found), size + sum(map(itemgetter(1), found))
        for written, taken, path, staged in found:
            if now - written > _STALE_NS if staged else count >= MAX_FILES or total > MAX_BYTES:
                with suppress(OSError):
                    os.unlink(path)
                    count, total = count - 1, total - taken


def user_identity() -> str:
    """Return what decides which files may be read: as somebody else, the same process may see other skills."""
    if sys.platform == "win32":
        return ""
    return f"{os.geteuid()} {os.getegid()} {sorted(os.getgroups())}"


def _is_own(status: os.stat_result) -> bool:
    """Say whether a file or folder is the user's, and nobody else may write there."""
    if sys.platform == "win32":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022 and not stat.S_ISLNK(status.st_mode)


def _file_name(key: bytes) -> str:
    """Return what the file with the answer to a question is called."""
    # Two questions of one name only take turns: the whole question is compared.
    return f"catalog-{crc32(key):08x}{crc32(key[::-1]):08x}"


def _existing(noted: Mapping[str, bytes]) -> dict[str, bytes]:
    """Leave out where there was nothing."""
    return {path: fingerprint for path, fingerprint in noted.items() if fingerprint}


def _encode_texts(texts: Sequence[str]) -> bytes | None:
    """Write texts one after the other; None where one cannot be told from two."""
    joined = "\0".join((*texts, ""))
    if joined.count("\0") != len(texts):
        return None
    try:
        return joined.encode("utf-8", "surrogatepass")
    except UnicodeEncodeError:
        return None


def _decode_texts(section: memoryview) -> list[str]:
    """Read what `_joined` wrote.

    Raises:
        ValueError: it did not write this.
    """
    *texts, rest = bytes(section).split(b"\0")
    if rest:
        raise ValueError("a text without its end")
    try:
        # One by one: a single letter beyond Latin-1 would make one text of all of them four times as large.
        return list(map(bytes.decode, texts))
    except UnicodeDecodeError:
        return [text.decode("utf-8", "surrogatepass") for text in texts]


def _count_texts(section: memoryview) -> int:
    """Return how many texts `_joined` wrote, without taking them apart.

    Raises:
        ValueError: it did not write this.
    """
    data = bytes(section)
    if data and data[-1]:
        raise ValueError("a text without its end")
    return data.count(0)


def _is_unchanged(paths: list[str], states: memoryview, stat_path: Callable[[str], os.stat_result] = os.lstat) -> bool:
    """Say whether a look at each path gives the mark it gave.

    Raises:
        OSError: there is nothing at one, or it may not be looked at.
        ValueError: this is not what was written.
        OverflowError: one has no mark.
    """
    return len(states) == len(paths) * FINGERPRINT_BYTES and fingerprint_paths(paths, stat_path) == states


def _encode_observations(fingerprints: Fingerprints, variables_read: Mapping[str, str | None]) -> list[str]:
    """Return what was looked at and has no mark, as rows of a letter with a name, and a value."""
    tables: Mapping[str, Mapping[str, str]] = {
        "k": fingerprints.kinds,
        "l": fingerprints.links,
        "r": fingerprints.real_paths,
        "v": {name: value for name, value in variables_read.items() if value is not None},
        "u": {name: "" for name, value in variables_read.items() if value is None},
        "-": {path: "" for path, fingerprint in fingerprints.files.items() if not fingerprint},
        "_": {path: "" for path, fingerprint in fingerprints.folders.items() if not fingerprint},
    }
    rows = ((letter + name, value) for letter, table in tables.items() for name, value in table.items())
    return list(chain.from_iterable(rows))


def _observations_hold(observations: list[str], env: Mapping[str, str]) -> bool:
    """Say whether kinds, links and variables are what `_others` wrote of them.

    Raises:
        OSError: something may not be looked at.
        ValueError: this is not what was written.
    """
    for row, value in zip(observations[::2], observations[1::2], strict=True):
        letter, name = row[:1], row[1:]
        if letter == "k":
            same = kind(name) == value
        elif letter == "l":
            same = link_kind(name) == value
        elif letter == "r":
            same = os.path.realpath(name) == value
        elif letter in ("u", "v"):
            same = env.get(name) == (value if letter == "v" else None)
        elif letter in ("-", "_"):
            same = not (link_kind if letter == "-" else kind)(name)
        else:
            raise ValueError("a row of no kind")
        if not same:
            return False
    return True
