"""Write a snapshot of a folder of skills, reading only changed skills.

Know which skills did not change since the last snapshot: their files by their status, their words from its data.

CACHE/snapshots/made-KEY.json    the digest of the last data, and of each skill its fingerprint and tree digest

A reader sees the old snapshot or the new one: archives and data have their digests for names, and the pointer is
replaced in one step. Skills that did not change since the last snapshot are not read again.
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
from prowess._internal.files import is_inside, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, READ_FLAGS, atomic_replace, open_fd
from prowess._internal.inside import OutsideError, real_output_path
from prowess._internal.locked import locked
from prowess._internal.ownership import own_folder
from prowess._internal.text import PATH_LIMIT, quoted
from prowess._internal.user_dirs import cache_folder
from prowess.catalog import REACHABLE, State, discover
from prowess.errors import InstallError
from prowess.findings import Finding, Severity
from prowess.hosts import load_host
from prowess.install.archive import pack_skill
from prowess.lock import os_errors
from prowess.search import searched_terms

from ._file import MAX_SKILLS, USER_ONLY, SnapshotFile, SnapshotRow, is_valid_name, write_file
from ._places import (
    ARCHIVES,
    MAX_DATA_BYTES,
    MAX_POINTER_BYTES,
    POINTER,
    Pointer,
    archive_name,
    data_name,
    is_bucket,
    is_registry,
    parse_pointer,
    sha256_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prowess.catalog import Entry
    from prowess.hosts import Host

    from ._buckets import BucketTarget
    from ._registry import RegistryTarget

    Terms = dict[str, tuple[array[int], array[int]]]
    """Of each term the numbers of the skills that have it, and its impact in each."""

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
            folder = os.path.dirname(self._file)
            own_folder(folder, os.path.dirname(folder))
            atomic_replace(self._file, json.dumps(skills).encode())

    def _read(self) -> dict[str, list[str]]:
        if self._file is None:
            return {}
        try:
            with open_fd(self._file, READ_FLAGS) as fd, os.fdopen(os.dup(fd), "rb") as file:
                status = os.fstat(fd)
                table = json.load(file) if is_own_file(self._file, status) and status.st_size <= _MAX_BYTES else {}
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
                self._rows = {
                    path: row for row, (path,) in enumerate(self._file.each("SELECT path FROM skills ORDER BY row"))
                }

    def _open(self) -> SnapshotFile | None:
        try:
            with open_fd(os.path.join(self._target, POINTER), READ_FLAGS) as fd:
                pointer = parse_pointer(os.read(fd, MAX_POINTER_BYTES), self._target)
            path = os.path.join(self._target, data_name(pointer.sha256))
            if sha256_of(path) != pointer.sha256:
                return None
            self._sha256 = pointer.sha256
            return SnapshotFile(path, "the earlier snapshot")
        except (OSError, InstallError):
            return None

    def has(self, path: str, digest: str) -> bool:
        """Return whether the snapshot has a skill as it is now."""
        row = self._rows.get(path)
        return row is not None and self._file is not None and self._file.digest(row) == digest

    def terms(self, rows: Mapping[str, int]) -> Terms:
        """Return the terms of some skills.

        Args:
            rows: the numbers of the skills in the new snapshot, by path.

        Raises:
            InstallError: the snapshot is damaged.
        """
        terms: Terms = {}
        if self._file is None or not rows:
            return terms
        numbers = array("i", [-1]) * self._file.skills
        for path, row in rows.items():
            numbers[self._rows[path]] = row
        for term, old, impacts in self._file.postings.all_terms():
            pairs = [(numbers[row], impact) for row, impact in zip(old, impacts, strict=True) if numbers[row] >= 0]
            if pairs:
                terms[term] = array("I", [row for row, _ in pairs]), array("H", [impact for _, impact in pairs])
        return terms

    def remove_older(self, sha256: str) -> None:
        """Remove the data that neither this pointer nor the one before it names; readers may still fetch the latter."""
        kept = {data_name(sha256), data_name(self._sha256)}
        for name in os.listdir(self._target):
            if _DATA(name) and name not in kept:
                with suppress(OSError):
                    os.unlink(os.path.join(self._target, name))


class SnapshotReport(Frozen):
    """What was written."""

    skills: int
    read: int
    """Skills that were read; the others did not change."""
    archives: int
    """Archives of skills that were written."""
    size: int
    """Bytes of the data."""
    sha256: str
    """Of the data, in hexadecimal."""
    findings: tuple[Finding, ...]
    """What was left out, and why."""


def write_snapshot(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> SnapshotReport:
    """Write the snapshot of all skills below a folder.

    Args:
        folder: the skills.
        out: the folder to write to, created if it is missing; or the URL of a bucket (`s3://`, `gs://`, `az://`) or of
            a tag of a registry (`oci://`).
        env: the environment, for the folder of the cache.
        progress: called with a sentence now and then.

    Raises:
        InstallError: it cannot be written, or there are too many skills.
        ConfigError: the URL is invalid, `obstore` is not installed, a variable of the cloud is missing or invalid, or a
            file with credentials for the registry is.
    """
    top, cache = real_path(folder), cache_folder(os.environ if env is None else env)
    tell = progress or (lambda _: None)
    upload = _find_upload(os.fspath(out), cache)
    target = _local_target(os.fspath(out), top) if upload is None else upload.folder
    message = f"cannot write the snapshot to {quoted(target, PATH_LIMIT)}"
    with os_errors(message, "make room on the disk, or write to another folder"):
        os.makedirs(os.path.join(target, ARCHIVES), exist_ok=True)
        with locked(target):  # two writers would rename and remove each other's data
            report = _Writer(top, target, cache, tell).write()
            if upload is not None:
                upload.upload(tell)
    return report


def _local_target(out: str, folder: str) -> str:
    """Return the folder to write to, without links.

    Raises:
        InstallError: a link leads out of a project.
    """
    try:
        real_output_path(os.path.join(out, ARCHIVES), [folder])
        return real_output_path(out, [folder])[0]
    except OutsideError as error:
        raise InstallError(f"nothing was written: {error}", hint="name the folder to which the link leads") from None


def _host_of_one_folder() -> Host:
    """Return the rules of Prowess without the folders of the machine and those above the working directory."""
    host = load_host("prowess")
    roots = (root.with_changes(walk="none") for root in host.roots if root.scope in ("project", "extra", "package"))
    return host.with_changes(roots=tuple(roots))


def _find_upload(out: str, cache: str | None) -> BucketTarget | RegistryTarget | None:
    """Return where a snapshot is uploaded to; `None` for a folder.

    Raises:
        ConfigError: the URL is invalid, or the user has no cache.
    """
    if is_bucket(out):
        from ._buckets import BucketTarget  # it needs modules that take long to load

        return BucketTarget(out, cache)
    if is_registry(out):
        from ._registry import RegistryTarget

        return RegistryTarget(out, cache)
    return None


class _Writer:
    def __init__(self, top: str, target: str, cache: str | None, tell: Callable[[str], None]) -> None:
        self._top, self._target, self._tell = top, target, tell
        self._records = Records(cache, top, target)
        self._earlier = Earlier(target)
        self._findings: list[Finding] = []
        self._archives: set[str] = set()
        self._written = 0

    def write(self) -> SnapshotReport:
        self._archives.update(os.listdir(os.path.join(self._target, ARCHIVES)))
        entries = self._entries()
        rows: list[SnapshotRow] = []
        terms: list[Mapping[str, int] | None] = []
        fingerprints: dict[str, bytes] = {}
        for number, entry in enumerate(entries):
            if number % 1000 == 999:
                self._tell(f"{number + 1:,} of {len(entries):,} skills")
            row, found, fingerprint = self._row(entry)
            if row is not None:
                rows.append(row)
                terms.append(found)
                fingerprints[row.path] = fingerprint
        kept = {row.path: number for number, row in enumerate(rows) if terms[number] is None}
        index = self._earlier.terms(kept)
        for number, found in enumerate(terms):
            for term, impact in (found or {}).items():
                if (known := index.get(term)) is None:
                    known = index[term] = array("I"), array("H")
                known[0].append(number)
                known[1].append(impact)
        pointer = self._write_data(rows, index)
        self._records.write({row.path: (fingerprints[row.path], row.digest) for row in rows})
        return SnapshotReport(
            skills=len(rows),
            read=len(rows) - len(kept),
            archives=self._written,
            size=pointer.size,
            sha256=pointer.sha256,
            findings=tuple(self._findings),
        )

    def _entries(self) -> Sequence[Entry]:
        """Return the skills below the folder that a model or a user can use."""
        home = os.path.join(self._top, ".no-home")
        catalog = discover(self._top, home=home, skill_dirs=[self._top], env={})
        if any(
            entry.shadowed_by and not is_inside(real_path(entry.shadowed_by), self._top) for entry in catalog.skills
        ):
            # A skill of the project around the folder does not count. This catalog is not cached, so it is the second.
            catalog = discover(self._top, _host_of_one_folder(), home=home, skill_dirs=[self._top], env={})
        inside = [entry for entry in catalog.skills if is_inside(entry.real, self._top)]
        for entry in inside:
            if entry.state in (State.SHADOWED, State.REJECTED):
                self._leave_out(entry.path, entry.reason or str(entry.state))
        entries = [entry for entry in inside if entry.state in REACHABLE]
        if len(entries) > MAX_SKILLS:
            message = f"a snapshot has at most {MAX_SKILLS:,} skills, and there are {len(entries):,}"
            raise InstallError(message, hint="write a snapshot for each of several folders")
        return entries

    def _row(self, entry: Entry) -> tuple[SnapshotRow | None, Mapping[str, int] | None, bytes]:
        """Return the row of a skill, its terms unless they are known, and the fingerprint of its files."""
        if not is_valid_name(entry.name) or not os.path.dirname(entry.real).isprintable():
            self._leave_out(entry.path, "its name has a colon, a slash or a control character", "rename it")
            return None, None, b""
        folder = os.path.dirname(entry.real)
        inside = folder if folder != self._top else os.path.join(folder, os.path.basename(folder))
        path = os.path.relpath(inside, self._top).replace(os.sep, "/")
        fingerprint = folder_fingerprint(folder)
        known = self._records.digest(path, fingerprint)
        terms: Mapping[str, int] | None = None
        try:
            if known is None or not self._earlier.has(path, known) or self._archive_file(known) not in self._archives:
                known = self._write_archive(folder)
                terms = searched_terms(entry)
        except InstallError as error:
            self._leave_out(entry.path, str(error), error.hint)
            return None, None, b""
        if terms is not None and fingerprint and folder_fingerprint(folder) != fingerprint:
            self._leave_out(entry.path, "it changed while it was read", "make the snapshot again")
            return None, None, b""
        row = SnapshotRow(
            name=entry.name,
            description=entry.description,
            path=path,
            digest=known,
            flags=USER_ONLY if entry.state is State.USER_ONLY else 0,
        )
        return row, terms, fingerprint

    def _archive_file(self, digest: str) -> str:
        return archive_name(digest).rpartition("/")[2]

    def _write_archive(self, folder: str) -> str:
        """Write the archive of a skill unless it is there already, and return the tree digest of the skill.

        Raises:
            InstallError: a file of the skill breaks a rule.
        """
        data, tree = pack_skill(folder, "")
        name = self._archive_file(tree.digest)
        if name not in self._archives:
            atomic_replace(os.path.join(self._target, ARCHIVES, name), data, mode=0o644)
            self._archives.add(name)
            self._written += 1
        return tree.digest

    def _write_data(self, rows: Sequence[SnapshotRow], terms: Terms) -> Pointer:
        """Write the data, then the pointer, and remove data that no pointer of late has named."""
        staged = os.path.join(self._target, ".snapshot.bin")
        with suppress(FileNotFoundError):
            os.unlink(staged)  # of a process that was killed
        try:
            with open_fd(staged, CREATE_FLAGS, 0o644) as fd:
                write_file(staged, rows, terms)
                os.fsync(fd)
                size = os.fstat(fd).st_size
            if size > MAX_DATA_BYTES:
                message = f"the snapshot has {size:,} bytes, and Prowess reads at most {MAX_DATA_BYTES:,}"
                raise InstallError(message, hint="write a snapshot for each of several folders")
            pointer = Pointer(sha256=sha256_of(staged), size=size)
            os.replace(staged, os.path.join(self._target, data_name(pointer.sha256)))
        finally:
            with suppress(FileNotFoundError):
                os.unlink(staged)
        text = json.dumps(pointer.as_dict()) + "\n"
        atomic_replace(os.path.join(self._target, POINTER), text.encode(), mode=0o644)
        self._earlier.remove_older(pointer.sha256)
        return pointer

    def _leave_out(self, path: str, reason: str, hint: str | None = None) -> None:
        self._findings.append(
            Finding(
                code="snapshot-skill",
                severity=Severity.WARNING,
                path=path,
                line=None,
                column=None,
                message=f"left out of the snapshot: {reason}",
                hint=hint or "`prowess why` says more",
            )
        )
