"""Compute the integrity digest of a skill: of every byte, name, permission and link in its folder.

    digest = "trust1:" SHA256HEX of all records, sorted by path
    record = kind " " mode " " size " " SHA256HEX NUL path NUL ; kind: f file, d folder, l link

All bytes are read each time; time stamps and caches are not used. Another process may write into the folder meanwhile,
so each entry is opened from the descriptor of its folder, never through a link, and compared with its status before.
A walk can also write what it reads (`_sealed_copy`): then the digest is that of the bytes that were written.

A copy that is committed has other modes in a clone: git keeps only whether a file is executable, the rest comes from
the umask. Git keeps no empty folder either. So such a copy has the *portable* digest, made of the modes 0755 and 0644
alone, and without folders that hold no file.
"""

from __future__ import annotations

import os
import stat
from itertools import islice

from prowess._internal.file_status import stat_fingerprint
from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import FOLDER_FLAGS, READ_FLAGS, SUPPORTS_DIR_FD
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import SkillError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Protocol
else:
    Protocol = object

MAX_DEPTH = 64
"""Levels of folders in one skill; the folders above the current one stay open."""

_CHANGED_MESSAGE = "the skill changed while it was read"


class EntryWriter(Protocol):
    """Gets what a walk reads, in its order: a folder before its contents."""

    def open_folder(self, path: str) -> None:
        """Begin a folder; the skill's own has an empty path."""

    def close_folder(self, path: str, mode: int) -> None:
        """End a folder whose contents are complete."""

    def open_file(self, path: str) -> Callable[[bytes], None]:
        """Begin a file; return what writes its next bytes."""

    def close_file(self, path: str, mode: int) -> None:
        """End the file that was begun last."""

    def add_link(self, path: str, target: str) -> None:
        """Add a link."""


class FolderIntegrity(Frozen):
    """The integrity digest of a folder."""

    digest: str
    records: tuple[tuple[bytes, bytes], ...] = ()
    """The path and record of each entry, as the digest is made of them; in no order."""

    @property
    def portable(self) -> str:
        """The portable digest, which a clone has too."""
        full = {b""}
        for path, record in self.records:
            while record[:1] != b"d" and path:
                path = path.rpartition(b"/")[0]
                full.add(path)
        return digest_of_records(
            (path, _portable_record(record)) for path, record in self.records if record[:1] != b"d" or path in full
        )


def integrity_digest(folder: str) -> str | None:
    """Return the integrity digest of a folder, or `None` if `read_integrity` raises an error."""
    try:
        return read_integrity(folder).digest
    except SkillError:
        return None


def portable_digest(folder: str) -> str | None:
    """Return the portable digest of a folder, or `None` if `read_integrity` raises an error."""
    try:
        return read_integrity(folder).portable
    except SkillError:
        return None


def has_integrity(folder: str, digest: object) -> bool:
    """Return whether a folder has a digest, the portable one or that of its exact modes, as older records have it."""
    try:
        found = read_integrity(folder)
    except SkillError:
        return False
    return digest in (found.portable, found.digest)


def read_integrity(folder: str, writer: EntryWriter | None = None, skipped: Collection[str] = ()) -> FolderIntegrity:
    """Read everything in a folder, and return its integrity digest.

    Links are not followed; a link is recorded with its target. The target must be inside the folder, relative, with
    `..` only at its beginning: the digest cannot cover files outside.

    Args:
        folder: the folder; a link to it is followed.
        writer: gets everything that is read. Its `SkillError`s are raised.
        skipped: the names of what is left out at the top of the folder.

    Raises:
        SkillError: an entry cannot be read, changed meanwhile, leads out of the folder, or is not a file, folder or
            link; or the folder is larger than `MAX_SKILL_FILES` and `MAX_DIGEST_BYTES` allow.
    """
    walk = _IntegrityWalk(writer, skipped)
    try:
        walk.add_folder(real_path(folder), None, "", 0)
    except (OSError, ValueError) as error:
        message = f"the skill's folder cannot be read: {describe_os_error(error)}"
        raise SkillError(message, hint="fix its permissions") from None
    return FolderIntegrity(digest=digest_of_records(walk.records), records=tuple(walk.records))


def integrity_record(kind: str, mode: int, size: int = 0, digest: str = "-") -> bytes:
    """Return the record of one entry; `digest` is the SHA-256 of its bytes in hexadecimal."""
    return f"{kind} {stat.S_IMODE(mode):04o} {size} {digest}".encode()


def portable_mode(mode: int) -> int:
    """Return the mode of a file or folder for the portable digest."""
    return 0o755 if mode & stat.S_IXUSR else 0o644


def _portable_record(record: bytes) -> bytes:
    kind, mode, rest = record.split(b" ", 2)
    return b"%b %04o %b" % (kind, 0o755 if kind == b"d" else portable_mode(int(mode, 8)), rest)


def digest_of_records(records: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the integrity digest for the path and record of each entry; the folder itself has an empty path."""
    import hashlib

    total = hashlib.sha256()
    for path, record in sorted(records):
        total.update(record + b"\0" + path + b"\0")
    return f"trust1:{total.hexdigest()}"


class _IntegrityWalk:
    """Reads a folder and everything below it, each entry from the descriptor of its folder."""

    def __init__(self, writer: EntryWriter | None, skipped: Collection[str]) -> None:
        self.writer, self.skipped = writer, skipped
        self.records: list[tuple[bytes, bytes]] = []
        self.bytes_left = MAX_DIGEST_BYTES

    def add_record(self, kind: str, path: str, mode: int, size: int = 0, digest: str = "-") -> None:
        if len(self.records) > MAX_SKILL_FILES:
            message = f"the skill has more than {MAX_SKILL_FILES:,} files, folders and links"
            raise SkillError(message, hint="remove files that the skill does not need")
        self.records.append((os.fsencode(path), integrity_record(kind, mode, size, digest)))

    # `path` is relative to the skill, for the record. The entry is opened by `name`, relative to the descriptor of its
    # folder; where the system has no such descriptors, `name` is the whole path and `dir_fd` is None.

    def add_folder(self, name: str, dir_fd: int | None, path: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise SkillError(f"the skill has more than {MAX_DEPTH} levels of folders", hint="use fewer levels")
        folder = os.open(name, FOLDER_FLAGS, dir_fd=dir_fd) if SUPPORTS_DIR_FD else name
        try:
            before = _stat(folder)
            self.add_record("d", path, before.st_mode)
            if self.writer is not None:
                self.writer.open_folder(path)
            with os.scandir(folder) as entries:
                inner_names = [entry.name for entry in islice(entries, MAX_SKILL_FILES + 1)]
            for inner in inner_names:
                if not path and inner in self.skipped:
                    continue
                self.add_entry(inner, folder, f"{path}/{inner}" if path else inner, depth)
            if not _is_unchanged(_stat(folder), before):
                raise SkillError(_CHANGED_MESSAGE, hint="try again")
            if self.writer is not None:
                self.writer.close_folder(path, before.st_mode)
        finally:
            if isinstance(folder, int):
                os.close(folder)

    def add_entry(self, name: str, folder: int | str, path: str, depth: int) -> None:
        name, dir_fd = (name, folder) if isinstance(folder, int) else (os.path.join(folder, name), None)
        try:
            status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                self.add_file(name, dir_fd, path, status)
            elif stat.S_ISLNK(status.st_mode):
                self.add_link(os.readlink(name, dir_fd=dir_fd), path, status.st_mode)
            elif stat.S_ISDIR(status.st_mode) and getattr(status, "st_reparse_tag", 0) != _JUNCTION:
                self.add_folder(name, dir_fd, path, depth + 1)
            else:
                message = f"{quoted(path, PATH_LIMIT)} is not a file, folder or link"
                raise SkillError(message, hint="remove it from the skill")
        except OSError as error:
            message = f"{quoted(path, PATH_LIMIT)} cannot be read: {describe_os_error(error)}"
            raise SkillError(message, hint="fix its permissions") from None

    def add_file(self, name: str, dir_fd: int | None, path: str, status: os.stat_result) -> None:
        import hashlib

        fd = os.open(name, READ_FLAGS, dir_fd=dir_fd)
        try:
            before = os.fstat(fd)
            if not os.path.samestat(before, status) or not stat.S_ISREG(before.st_mode):
                raise SkillError(_CHANGED_MESSAGE, hint="try again")
            content, size = hashlib.sha256(), 0
            write = None if self.writer is None else self.writer.open_file(path)
            while before.st_size <= self.bytes_left and (chunk := os.read(fd, 1 << 20)):
                content.update(chunk)
                if write is not None:
                    write(chunk)
                size += len(chunk)
                if size > self.bytes_left:
                    break
            if max(size, before.st_size) > self.bytes_left:
                message = f"the skill is larger than {MAX_DIGEST_BYTES // 1024 // 1024} MiB"
                raise SkillError(message, hint="remove files that the skill does not need")
            if not _is_unchanged(os.fstat(fd), before):
                raise SkillError(_CHANGED_MESSAGE, hint="try again")
        finally:
            os.close(fd)
        self.bytes_left -= size
        if self.writer is not None:
            self.writer.close_file(path, before.st_mode)
        self.add_record("f", path, before.st_mode, size, content.hexdigest())

    def add_link(self, target: str, path: str, mode: int) -> None:
        import hashlib

        check_link(path, target)
        if self.writer is not None:
            self.writer.add_link(path, target)
        data = os.fsencode(target)
        self.add_record("l", path, mode, len(data), hashlib.sha256(data).hexdigest())


def check_link(path: str, target: str) -> None:
    """Check that a link in a skill stays inside.

    Args:
        path: of the link, relative to the skill, with `/`.
        target: where it leads.

    Raises:
        SkillError: it leads out.
    """
    parts = [part for part in target.replace(os.sep, "/").split("/") if part not in ("", ".")]
    ups = next((index for index, part in enumerate(parts) if part != ".."), len(parts))
    if os.path.isabs(target) or os.path.splitdrive(target)[0] or ups > path.count("/"):
        message = f"the link {quoted(path, PATH_LIMIT)} leads out of the skill"
        raise SkillError(message, hint="put the file itself into the skill")
    # Each part below is a folder of the skill, or a link that this check has accepted: it cannot lead out.
    if ".." in parts[ups:]:
        message = f"the link {quoted(path, PATH_LIMIT)} has `..` after a folder name"
        raise SkillError(message, hint="write `..` only at the beginning of its target")


_JUNCTION = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1)
"""A junction of Windows: a link between folders that has the type of a folder."""


def _stat(folder: int | str) -> os.stat_result:
    return os.fstat(folder) if isinstance(folder, int) else os.lstat(folder)


def _is_unchanged(now: os.stat_result, before: os.stat_result) -> bool:
    return stat_fingerprint(now) == stat_fingerprint(before)
