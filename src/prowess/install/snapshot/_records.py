"""Know which skills did not change since the last snapshot: their files by their status, their words from its data.

CACHE/snapshots/made-KEY.json    the digest of the last data, and of each skill its fingerprint and tree digest
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from array import array
from contextlib import suppress

from prowess._internal.file_status import SETTLE_NS, is_own_file, stat_fingerprint
from prowess._internal.fs import READ_FLAGS, atomic_replace, open_fd
from prowess.errors import InstallError

from ._cache import MAX_POINTER_BYTES, POINTER, data_name, parse_pointer
from ._file import MAX_FILE_BYTES, open_mapped
from ._postings import SnapshotPostings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ._build import SnapshotBuilder
    from ._file import SnapshotFile

__all__ = ["Earlier", "Records", "folder_fingerprint"]

_MAX_BYTES = 256 << 20
_DATA = re.compile(r"snapshot-[0-9a-f]{64}\.bin").fullmatch


def folder_fingerprint(folder: str) -> bytes:
    """Return what changes with each file of a skill; empty if one changed a moment ago, or cannot be read."""
    newest = 0
    found: list[tuple[str, tuple[int, ...]]] = []
    try:
        for path, status in _walk(folder, ""):
            newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
            found.append((path, stat_fingerprint(status)))
    except OSError:
        return b""
    if newest > time.time_ns() - SETTLE_NS:
        return b""
    return hashlib.blake2b(repr(sorted(found)).encode("utf-8", "surrogateescape"), digest_size=16).digest()


def _walk(folder: str, path: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            inner = f"{path}/{entry.name}"
            yield inner, entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path, inner)


class Records:
    """What was known of the skills of a folder when its snapshot was made here last.

    Args:
        cache: the folder of the cache; `None` to know nothing.
        top: the folder.
        target: where the snapshot was written.
    """

    def __init__(self, cache: str | None, top: str, target: str) -> None:
        key = hashlib.sha256(f"{top}\0{target}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._file = cache and os.path.join(cache, "snapshots", f"made-{key}.json")
        self._known = self._read()

    def digest(self, path: str, fingerprint: bytes) -> str | None:
        """Return the tree digest of a skill if its files have the same fingerprint."""
        known = self._known.get(path) if fingerprint else None
        return known[1] if known is not None and known[0] == fingerprint.hex() else None

    def write(self, known: Mapping[str, tuple[bytes, str]]) -> None:
        """Keep what is known now; a cache that cannot be written is a cache that keeps nothing."""
        if self._file is None:
            return
        skills = {path: [fingerprint.hex(), digest] for path, (fingerprint, digest) in known.items()}
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._file), 0o700, exist_ok=True)
            atomic_replace(self._file, json.dumps(skills).encode())

    def _read(self) -> dict[str, list[str]]:
        if self._file is None:
            return {}
        try:
            with open_fd(self._file, READ_FLAGS) as fd, os.fdopen(os.dup(fd), "rb") as file:
                status = os.fstat(fd)
                table = json.load(file) if is_own_file(status) and status.st_size <= _MAX_BYTES else {}
        except (OSError, ValueError, RecursionError):
            return {}
        valid = isinstance(table, dict)
        return {path: row for path, row in table.items() if isinstance(row, list) and len(row) == 2} if valid else {}


class Earlier:
    """The last snapshot in a folder, for the words of its skills.

    Args:
        target: the folder.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._rows: dict[str, int] = {}
        self._sha256 = ""
        self._file = self._open()
        if self._file is not None:
            with suppress(InstallError):
                self._rows = {path: row for row, path in enumerate(self._file.all_texts("paths"))}

    def _open(self) -> SnapshotFile | None:
        try:
            with open_fd(os.path.join(self._target, POINTER), READ_FLAGS) as fd:
                pointer = parse_pointer(os.read(fd, MAX_POINTER_BYTES), self._target)
            with open_fd(os.path.join(self._target, data_name(pointer.sha256)), READ_FLAGS) as fd:
                if not 0 < os.fstat(fd).st_size <= MAX_FILE_BYTES:
                    return None
                with open(fd, "rb", closefd=False) as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() != pointer.sha256:
                        return None
                self._sha256 = pointer.sha256
                return open_mapped(fd, "the earlier snapshot")
        except (OSError, InstallError):
            return None

    def has(self, path: str, digest: str) -> bool:
        """Return whether the snapshot has a skill as it is now."""
        row = self._rows.get(path)
        return row is not None and self._file is not None and self._file.digest(row) == digest

    def copy_terms(self, builder: SnapshotBuilder, rows: Mapping[str, int]) -> None:
        """Copy the terms of some skills.

        Args:
            builder: of the new snapshot.
            rows: the numbers there, by path.

        Raises:
            InstallError: the snapshot is damaged.
        """
        if self._file is None or not rows:
            return
        numbers = array("i", [-1]) * self._file.skills
        for path, row in rows.items():
            numbers[self._rows[path]] = row
        for term, old, impacts in SnapshotPostings(self._file).all_terms():
            pairs = [(numbers[row], impact) for row, impact in zip(old, impacts, strict=True) if numbers[row] >= 0]
            if pairs:
                builder.add_rows(term, pairs)

    def remove_older(self, sha256: str) -> None:
        """Remove the data that neither this pointer nor the one before it names; readers may still fetch the latter."""
        kept = {data_name(sha256), data_name(self._sha256)}
        for name in os.listdir(self._target):
            if _DATA(name) and name not in kept:
                with suppress(OSError):
                    os.unlink(os.path.join(self._target, name))
