"""Write the snapshot of a folder of skills: the archives of its skills, its data, and last the pointer to it.

A reader sees the old snapshot or the new one: archives and data have their digests for names, and the pointer is
replaced in one step. Skills that did not change since the last snapshot are not read again
(`_snapshot_records`).
"""

from __future__ import annotations

import hashlib
import json
import os

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import atomic_replace, open_fd, replacement_file, write_all
from prowess._internal.inside import is_inside
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess._internal.user_dirs import cache_folder
from prowess.catalog import REACHABLE, State, discover, searched_terms
from prowess.errors import InstallError
from prowess.findings import Finding, Severity
from prowess.hosts import load_host
from prowess.install._archive import pack_skill

from ._build import SnapshotBuilder, SnapshotRow
from ._cache import MAX_DATA_BYTES, POINTER, data_name, lock_file
from ._file import MAX_SKILLS, USER_ONLY, is_valid_name
from ._object import Pointer
from ._places import is_bucket, is_registry
from ._records import Earlier, Records, folder_fingerprint
from ._skills import ARCHIVES, archive_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prowess.catalog import Entry
    from prowess.hosts import Host

    from ._push import RegistryTarget
    from ._upload import BucketTarget

__all__ = ["SnapshotReport", "write_snapshot"]


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
    target = os.path.abspath(out) if upload is None else upload.folder
    try:
        os.makedirs(os.path.join(target, ARCHIVES), exist_ok=True)
        with open_fd(target, os.O_RDONLY) as locked:
            lock_file(locked, wait=True)  # two writers would rename and remove each other's data
            report = _Writer(top, target, cache, tell).write()
            if upload is not None:
                upload.upload(tell)
    except OSError as error:
        message = f"cannot write the snapshot to {quoted(target, PATH_LIMIT)}: {describe_os_error(error)}"
        raise InstallError(message, hint="make room on the disk, or write to another folder") from None
    return report


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
        from ._upload import BucketTarget  # it needs modules that take long to load

        return BucketTarget(out, cache)
    if is_registry(out):
        from ._push import RegistryTarget

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
        builder = SnapshotBuilder(rows)
        kept = {row.path: number for number, row in enumerate(rows) if terms[number] is None}
        self._earlier.copy_terms(builder, kept)
        for number, found in enumerate(terms):
            if found is not None:
                builder.add(number, found)
        pointer = self._write_data(builder.encode())
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

    def _write_data(self, pieces: Iterator[bytes]) -> Pointer:
        """Write the data, then the pointer, and remove data that no pointer of late has named."""
        sha256, size = hashlib.sha256(), 0
        staged = os.path.join(self._target, ".snapshot.bin")
        with replacement_file(staged, mode=0o644) as fd:
            for piece in pieces:
                sha256.update(piece)
                write_all(fd, piece)
                size += len(piece)
            if size > MAX_DATA_BYTES:
                message = f"the snapshot has {size:,} bytes, and Prowess reads at most {MAX_DATA_BYTES:,}"
                raise InstallError(message, hint="write a snapshot for each of several folders")
            os.fsync(fd)
        pointer = Pointer(sha256=sha256.hexdigest(), size=size)
        os.replace(staged, os.path.join(self._target, data_name(pointer.sha256)))
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
