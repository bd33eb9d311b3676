"""a folder -> a seal over every byte, name, permission and link in it

    seal   = "trust1:" SHA256HEX of all records, sorted by path
    record = kind " " mode " " size " " SHA256HEX NUL path NUL ; kind: f file, d folder, l link

Bytes are read anew each time: no time stamp and no cache has a say. Whoever can write into the folder may do so while
it is read, so each thing is opened from the descriptor of the folder it was seen in, never through a link, and looked
at again afterwards.
"""

from __future__ import annotations

import os
import stat
from itertools import islice

from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES
from prowess._internal.frozen import Frozen
from prowess._internal.text import describe_os_error, quoted
from prowess.errors import SkillError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "MAX_DEPTH",
    "FolderIntegrity",
    "read_integrity",
    "integrity_record",
    "integrity_digest",
    "digest_of_records",
]

MAX_DEPTH = 64
"""Levels of folders in one skill: each is held open while what lies below it is read."""

# Windows has none of these; there paths stand in for descriptors.
_NOFOLLOW_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_NOFOLLOW_FLAGS |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
_DIRECTORY_FLAG = getattr(os, "O_DIRECTORY", 0)
_HAS_DIR_FD = bool(
    _DIRECTORY_FLAG and hasattr(os, "O_NOFOLLOW") and {os.open, os.stat, os.readlink} <= os.supports_dir_fd
) and (os.scandir in os.supports_fd)
_CHANGED_MESSAGE = "it changed while it was read"


class FolderIntegrity(Frozen):
    """A folder as it was when all of it was read."""

    digest: str
    scripts: tuple[str, ...]
    """What may be run: all in `scripts/`, links too, and every executable file; paths with `/`, sorted."""


def integrity_digest(folder: str) -> str | None:
    """Return the seal of all that is in a folder, or None where `look` has a reason not to."""
    try:
        return read_integrity(folder).digest
    except SkillError:
        return None


def read_integrity(folder: str) -> FolderIntegrity:
    """Read all of a folder, following no link inside it, and seal it.

    A link is recorded with its target. One that leads out has its bytes elsewhere, so nothing could be sealed: its
    target must be relative, with `..` only at its beginning, and not above the folder.

    Raises:
        SkillError: something cannot be read, changed meanwhile, leads out or is neither file, folder nor link; or there
            is more than `files.MAX_SKILL_FILES` and `files.MAX_DIGEST_BYTES` allow.
    """
    walk = _IntegrityWalk()
    try:
        walk.add_folder(os.path.realpath(folder), None, "", 0)
    except (OSError, ValueError) as error:
        raise SkillError(
            f"its folder cannot be read: {describe_os_error(error)}", hint="mend its permissions"
        ) from None
    return FolderIntegrity(digest=digest_of_records(walk.records), scripts=tuple(sorted(walk.scripts, key=os.fsencode)))


def integrity_record(kind: str, mode: int, size: int = 0, digest: str = "-") -> bytes:
    """Return what a seal says of one thing: `digest` is the SHA-256 of its bytes in hexadecimal."""
    return f"{kind} {stat.S_IMODE(mode):04o} {size} {digest}".encode()


def digest_of_records(records: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the seal of a folder of which the path of each thing, its own being empty, and the record are known."""
    import hashlib

    whole = hashlib.sha256()
    for path, said in sorted(records):
        whole.update(said + b"\0" + path + b"\0")
    return f"trust1:{whole.hexdigest()}"


class _IntegrityWalk:
    """Reads a folder and all below it, each from the descriptor of the one above."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes]] = []
        self.scripts: list[str] = []
        self.bytes_left = MAX_DIGEST_BYTES

    def add_record(self, kind: str, path: str, mode: int, size: int = 0, digest: str = "-") -> None:
        if len(self.records) > MAX_SKILL_FILES:
            words = f"it holds more than {MAX_SKILL_FILES:,} files, folders and links"
            raise SkillError(words, hint="leave out what the skill does not need")
        self.records.append((os.fsencode(path), integrity_record(kind, mode, size, digest)))
        if kind != "d" and (path.startswith("scripts/") or (kind == "f" and mode & 0o111)):
            self.scripts.append(path)

    def add_folder(self, place: str, above: int | None, path: str, depth: int) -> None:
        """Take in a folder: `place` is seen from the descriptor `above`, if there is one."""
        if depth > MAX_DEPTH:
            raise SkillError(f"it has folders more than {MAX_DEPTH} levels deep", hint="make it flatter")
        inner = os.open(place, os.O_RDONLY | _DIRECTORY_FLAG | _NOFOLLOW_FLAGS, dir_fd=above) if _HAS_DIR_FD else place
        try:
            before = _stat(inner)
            self.add_record("d", path, before.st_mode)
            with os.scandir(inner) as entries:
                names = [entry.name for entry in islice(entries, MAX_SKILL_FILES + 1)]
            for name in names:
                self.add_entry(name, inner, f"{path}/{name}" if path else name, depth)
            if not _is_unchanged(_stat(inner), before):
                raise SkillError(_CHANGED_MESSAGE, hint="try again")
        finally:
            if isinstance(inner, int):
                os.close(inner)

    def add_entry(self, name: str, above: int | str, path: str, depth: int) -> None:
        """Take in whatever has a name."""
        place, at = (name, above) if isinstance(above, int) else (os.path.join(above, name), None)
        try:
            status = os.stat(place, dir_fd=at, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                self.add_file(place, at, path, status)
            elif stat.S_ISLNK(status.st_mode):
                self.add_link(os.readlink(place, dir_fd=at), path, status.st_mode)
            elif stat.S_ISDIR(status.st_mode) and getattr(status, "st_reparse_tag", 0) != _JUNCTION:
                self.add_folder(place, at, path, depth + 1)
            else:
                words = f"{quoted(path, 200)} is neither a file, a folder nor a link"
                raise SkillError(words, hint="remove it from the skill")
        except OSError as error:
            words = f"{quoted(path, 200)} cannot be read: {describe_os_error(error)}"
            raise SkillError(words, hint="mend its permissions") from None

    def add_file(self, place: str, at: int | None, path: str, seen: os.stat_result) -> None:
        import hashlib

        fd = os.open(place, os.O_RDONLY | _NOFOLLOW_FLAGS, dir_fd=at)
        try:
            before = os.fstat(fd)
            if not os.path.samestat(before, seen) or not stat.S_ISREG(before.st_mode):
                raise SkillError(_CHANGED_MESSAGE, hint="try again")
            content, size = hashlib.sha256(), 0
            while before.st_size <= self.bytes_left and (chunk := os.read(fd, 1 << 20)):
                content.update(chunk)
                size += len(chunk)
                if size > self.bytes_left:
                    break
            if max(size, before.st_size) > self.bytes_left:
                words = f"it is larger than {MAX_DIGEST_BYTES // 1024 // 1024} MiB"
                raise SkillError(words, hint="leave out what the skill does not need")
            if not _is_unchanged(os.fstat(fd), before):
                raise SkillError(_CHANGED_MESSAGE, hint="try again")
        finally:
            os.close(fd)
        self.bytes_left -= size
        self.add_record("f", path, before.st_mode, size, content.hexdigest())

    def add_link(self, target: str, path: str, mode: int) -> None:
        import hashlib

        parts = [part for part in target.replace(os.sep, "/").split("/") if part not in ("", ".")]
        ups = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
        if os.path.isabs(target) or os.path.splitdrive(target)[0] or ups > path.count("/"):
            raise SkillError(
                f"the link {quoted(path, 200)} leads out of the skill", hint="put the file itself into the skill"
            )
        # Every name on the way down is a folder of the skill, or a link of which the same was asked: so none leads out.
        if ".." in parts[ups:]:
            words = f"the link {quoted(path, 200)} leads down and up again"
            raise SkillError(words, hint="write its target with `..` only at the beginning")
        data = os.fsencode(target)
        self.add_record("l", path, mode, len(data), hashlib.sha256(data).hexdigest())


_JUNCTION = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1)
"""Windows' other link between folders, which looks like a folder."""


def _stat(folder: int | str) -> os.stat_result:
    return os.fstat(folder) if isinstance(folder, int) else os.lstat(folder)


def _is_unchanged(one: os.stat_result, other: os.stat_result) -> bool:
    """Say whether nothing happened between two looks at the same file."""
    names = ("st_dev", "st_ino", "st_mode", "st_size", "st_mtime_ns", "st_ctime_ns")
    return all(getattr(one, name) == getattr(other, name) for name in names)
