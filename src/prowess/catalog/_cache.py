"""Keep the results of `discover` in files, and return a result only if nothing it depends on has changed.

A file holds one result: what one host sees from one directory. It counts only if every file, folder, link and
variable that had a part in it is unchanged; otherwise the disk is read again. Where only the content of a few files has
changed, the caller may bring the result up to date (`_refresh`). A result is stored only if what it depends on changed
some time ago, so that no later change can have the same time stamp.

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
from itertools import chain

from prowess._internal.file_status import SETTLE_NS
from prowess._internal.files import real_path

from ._cache_sections import count_texts, decode_texts, encode_texts, file_name, read_sections, write_sections
from ._fingerprints import FINGERPRINT_BYTES, Fingerprints, fingerprint_paths, kind, link_kind, newest_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Cache", "CachedResult"]


_KIND = "catalog"
"""The first word of the files' names."""
_FIXED_SECTIONS = 7
"""Sections before the columns."""
_MAX_TEXTS = 16
"""Sections of text in a file."""
_CHECKED_AT_ONCE = 256
"""Files; after so many, the rest is not looked at if too many have changed."""
_MAX_CHANGED = 100
"""Files of which a result may be brought up to date; beyond that, reading the disk is simpler."""


class CachedResult:
    """A result from the cache: columns of text, and `extra` in the form in which it was stored."""

    def __init__(
        self,
        columns: Sequence[list[str] | memoryview],
        extra: bytes,
        files: Sequence[str] = (),
        changed: Mapping[int, bytes] | None = None,
        depends_on: Sequence[memoryview] = (),
    ) -> None:
        self._columns, self.extra = [*columns], extra
        self.column_lengths = [len(column) if isinstance(column, list) else count_texts(column) for column in columns]
        """The number of texts in each column."""
        self.files = files
        """Paths of the files that were read for it, in the order in which they were opened."""
        self.changed = changed or {}
        """Files that have changed since, by their number, with the fingerprints that they had."""
        self.depends_on = [*depends_on]
        """The sections that say what it depends on."""

    def column(self, number: int) -> list[str]:
        """Return a column.

        Raises:
            ValueError: the column is not UTF-8.
        """
        column = self._columns[number]
        return column if isinstance(column, list) else decode_texts(column)

    def replace_column(self, number: int, texts: list[str]) -> None:
        """Replace a column by one of the same length."""
        self._columns[number] = texts

    def sections(self, fingerprints: Mapping[int, bytes]) -> list[bytes] | None:
        """Return the sections of its file, with other fingerprints of some files; `None` if they cannot be written."""
        paths, known, *rest = map(bytes, self.depends_on)
        states = bytearray(known)
        for number, fingerprint in fingerprints.items():
            states[number * FINGERPRINT_BYTES : (number + 1) * FINGERPRINT_BYTES] = fingerprint
        columns = [encode_texts(column) if isinstance(column, list) else bytes(column) for column in self._columns]
        written = [column for column in columns if column is not None]
        return [paths, bytes(states), *rest, self.extra, *written] if len(written) == len(columns) else None

    def recorded(self) -> tuple[Fingerprints, dict[str, str | None]]:
        """Return all that it depends on: what was read, and environment variables. For a result as `load` returned it.

        Raises:
            ValueError: it is not what `Cache.store` wrote.
        """
        recorded = Fingerprints()
        folders, states = decode_texts(self.depends_on[2]), bytes(self.depends_on[3])
        parts = (states[at : at + FINGERPRINT_BYTES] for at in range(0, len(states), FINGERPRINT_BYTES))
        recorded.files, recorded.folders = self.fingerprints(), dict(zip(folders, parts, strict=True))
        observations, variables = decode_texts(self.depends_on[4]), dict[str, str | None]()
        missing = {"-": recorded.files, "_": recorded.folders}
        tables = {"k": recorded.kinds, "l": recorded.links, "r": recorded.real_paths}
        for key, value in zip(observations[::2], observations[1::2], strict=True):
            letter, name = key[:1], key[1:]
            if letter in missing:
                missing[letter][name] = b""
            elif letter in tables:
                tables[letter][name] = value
            else:
                variables[name] = value if letter == "v" else None
        return recorded, variables

    def fingerprints(self) -> dict[str, bytes]:
        """Return the fingerprints of `files`, by path, but for those that have changed."""
        if not self.depends_on:
            return {}
        states = self.depends_on[1]
        parts = (bytes(states[at : at + FINGERPRINT_BYTES]) for at in range(0, len(states), FINGERPRINT_BYTES))
        known = dict(zip(self.files, parts, strict=True))
        for number in self.changed:
            del known[self.files[number]]
        return known


class Cache:
    """The cached results of one user, in one folder.

    Args:
        folder: the cache's folder; created when a result is stored.
        settle_ns: nanoseconds, instead of `SETTLE_NS`.
    """

    def __init__(self, folder: str, *, settle_ns: int | None = None) -> None:
        self.folder, self.settle_ns = folder, SETTLE_NS if settle_ns is None else settle_ns

    # ── load ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def load(self, query: Sequence[str], env: Mapping[str, str], *, outdated: bool = False) -> CachedResult | None:
        """Return the result for a query if nothing that it depends on has changed.

        Args:
            query: all that the result is for.
            env: the environment.
            outdated: whether the content of a few files may have changed. The result names them in `changed`; it is
                not valid before the caller has brought it up to date.
        """
        key = encode_texts(query)
        sections = [] if key is None else read_sections(self.folder, file_name(_KIND, key))
        if len(sections) < _FIXED_SECTIONS or bytes(sections[0]) != key:
            return None
        try:
            files = decode_texts(sections[1])
            folders = decode_texts(sections[3])
            is_current = (
                len(sections[2]) == len(files) * FINGERPRINT_BYTES
                and fingerprint_paths(folders, os.stat) == sections[4]
                and _observations_match(decode_texts(sections[5]), env)
            )
            changed = _changed_files(files, sections[2]) if is_current else None
            if changed is None or (changed and not outdated):
                return None
            return CachedResult(sections[_FIXED_SECTIONS:], bytes(sections[6]), files, changed, sections[1:6])
        except (OSError, ValueError, OverflowError):
            return None

    def load_output(self, query: Sequence[str], env: Mapping[str, str]) -> tuple[bytes, str] | None:
        """Return a cached output and its note, as `load` does; stored as `extra` and as the only text of a column."""
        known = self.load(query, env)
        if known is None:
            return None
        try:
            (note,) = known.column(0)
        except (ValueError, IndexError):  # written by hand, with a valid checksum
            return None
        return known.extra, note

    def is_settled(self, fingerprints: Fingerprints, started_ns: int) -> bool:
        """Return whether a result may be stored: nothing that it depends on changed a moment before it was read."""
        return fingerprints.complete and fingerprints.newest_time() <= started_ns - self.settle_ns

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
        if not self.is_settled(fingerprints, started_ns):
            return False
        files, folders = _existing(fingerprints.files), _existing(fingerprints.folders)
        observations = _encode_observations(fingerprints, variables_read)
        lists = (query, list(files), list(folders), observations, *map(list, columns))
        texts = [text for part in lists if (text := encode_texts(part)) is not None]
        if len(texts) < len(lists) or len(texts) > _MAX_TEXTS:
            return False
        key, paths, listed, observed, *rest = texts
        depends_on = [paths, b"".join(files.values()), listed, b"".join(folders.values()), observed]
        return self._write(key, [*depends_on, extra, *rest])

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
        texts = [text for part in (query, *columns) if (text := encode_texts(part)) is not None]
        if len(texts) == 1 + len(columns):
            self._write(texts[0], [*result.depends_on, extra, *texts[1:]])

    def _write(self, key: bytes, sections: Sequence[bytes | memoryview]) -> bool:
        """Write the file for a key, and return whether that was possible. Never raises."""
        return write_sections(self.folder, file_name(_KIND, key), [key, *sections])

    def update(self, query: Sequence[str], result: CachedResult, fingerprints: Fingerprints, started_ns: int) -> bool:
        """Store a result that was brought up to date, as `store` does. Never raises.

        Args:
            query: all that the result is for.
            result: as `load` returned it, without the old content of the changed files.
            fingerprints: what was read for that.
            started_ns: when reading began, in nanoseconds of the system's clock.
        """
        current = {number: fingerprints.files.get(result.files[number], b"") for number in result.changed}
        latest = newest_time(b"".join(current.values()))
        if not fingerprints.complete or not all(current.values()) or latest > started_ns - self.settle_ns:
            return False
        key, sections = encode_texts(query), result.sections(current)
        return key is not None and sections is not None and self._write(key, sections)


def _existing(recorded: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the fingerprints of paths that existed."""
    return {path: fingerprint for path, fingerprint in recorded.items() if fingerprint}


def _changed_files(paths: list[str], stored: memoryview) -> dict[int, bytes] | None:
    """Return the files whose fingerprints are not those that were stored, with the latter; `None` if they are many.

    Raises:
        OSError: a path does not exist or cannot be read.
        ValueError: a path is invalid.
        OverflowError: a number is too large for a fingerprint.
    """
    changed: dict[int, bytes] = {}
    size = FINGERPRINT_BYTES
    for first in range(0, len(paths), _CHECKED_AT_ONCE):
        current = fingerprint_paths(paths[first : first + _CHECKED_AT_ONCE])
        known = stored[first * size : first * size + len(current)]
        if current != known:
            changed.update(
                (first + at // size, bytes(known[at : at + size]))
                for at in range(0, len(current), size)
                if current[at : at + size] != known[at : at + size]
            )
            if len(changed) > _MAX_CHANGED:
                return None
    return changed


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
