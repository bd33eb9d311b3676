"""Describe the files of a skill for a lock: paths, modes, digests, and the hash of the tool `skills`.

    tree digest = "sha256:" SHA256HEX of the lines MODE SP SHA256HEX SP PATH NUL, sorted by path

A mode is one that git knows: 100644, 100755 (executable) or 120000 (a link, whose digest is that of its target). So a
checkout of git, an archive and a bucket with the same skill have the same digest, whatever the umask. Empty folders
do not count.

Read the files of an installed skill as a lock describes them, as fast as possible.

Each file costs four system calls: it is opened from the descriptor of its folder, so that no link is followed, and read
at once. Only files that are expected are read.

Compute the hash that the tool `skills` of Vercel writes into its lock for the folder of a skill.

It is the SHA-256 over the path and the bytes of each regular file, one after the other; folders named `.git` or
`node_modules` do not count, and links neither. That tool sorts the paths with JavaScript's `localeCompare`, which means
by the root collation of Unicode for most languages. Of it, this module knows the order of printable ASCII: characters
are compared without case first, punctuation before digits before letters; then `a` is before `A`. Another character
makes no difference if two paths differ before it. Otherwise the order is unknown, and so is the hash.

Note the files of a skill while they are written, so that nothing needs to be read again for its digests.

The notes are what `read_tree` and `computed_hash` would return. Nothing is noted where that is not certain: for names
that a file system may change, and for skills that are too large, which `read_tree` refuses with a reason.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from contextlib import suppress
from functools import cmp_to_key, partial
from hashlib import sha256
from itertools import islice

from prowess._internal.file_status import shared_bits
from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES, read_up_to
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, READ_FLAGS, open_fd, write_all
from prowess._internal.hashes import sha256_for
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError, SkillError
from prowess.skill import MAX_DEPTH, read_integrity

from ._os_errors import os_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any

    from prowess.skill import EntryWriter

FILE, EXECUTABLE, LINK = "100644", "100755", "120000"
"""The modes of files, as git writes them."""
_MAX_PATH = 1024
_MAX_PART = 255
"""Bytes of a path, and of one name in it."""
_GIT_FOLDERS = (".git", "git~1")
"""The folder, and its short name on Windows."""
_DEVICES = {
    "aux",
    "con",
    "conin$",
    "conout$",
    "nul",
    "prn",
    *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)),
}
"""What Windows reads as a device, whatever follows after a dot; as `_fold` returns it, so `COM²` is `com2`."""


class TreeFile(Frozen):
    """A file or link of a skill."""

    path: str
    """Relative to the folder of the skill, with `/`."""
    mode: str
    size: int
    """Bytes; of a link those of its target."""
    sha256: str
    """In hexadecimal; of a link that of its target."""


class Tree(Frozen):
    """All files and links of a skill."""

    files: tuple[TreeFile, ...]
    """Sorted by the bytes of their paths."""

    @property
    def digest(self) -> str:
        """The tree digest."""
        return tree_digest((file.path, file.mode, file.sha256) for file in self.files)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def tree_digest(files: Iterable[tuple[str, str, str]]) -> str:
    """Return the tree digest of files, each with path, mode and SHA-256, in any order."""
    import hashlib

    lines = sorted((os.fsencode(path), f"{mode} {sha256} ".encode()) for path, mode, sha256 in files)
    return f"sha256:{hashlib.sha256(b''.join(start + path + bytes(1) for path, start in lines)).hexdigest()}"


def read_tree(folder: str, writer: EntryWriter | None = None, *, skipped: Collection[str] = ()) -> Tree:
    """Read all files of a skill.

    Args:
        folder: of the skill.
        writer: gets everything that is read, for a copy of exactly these bytes.
        skipped: what is left out at the top of the skill.

    Raises:
        InstallError: a file cannot be read or is not allowed: a device, a link that leads out, a name that other
            systems do not know or do not tell apart; or there are too many or too large files.
    """
    try:
        records = read_integrity(folder, writer, skipped).records
    except InstallError:
        raise
    except SkillError as error:
        raise InstallError(str(error), hint=error.hint) from None
    files: list[TreeFile] = []
    for raw_path, record in records:
        kind, mode, size, sha256 = record.decode("ascii").split(" ")
        if kind != "d":
            git_mode = LINK if kind == "l" else EXECUTABLE if int(mode, 8) & 0o100 else FILE
            files.append(TreeFile(path=os.fsdecode(raw_path), mode=git_mode, size=int(size), sha256=sha256))
    files.sort(key=lambda file: os.fsencode(file.path))
    check_paths(file.path for file in files)
    return Tree(files=tuple(files))


def copy_tree(folder: str, into_fd: int, name: str, *, skipped: Collection[str] = ()) -> Tree:
    """Copy a skill, and return its files: exactly what was written.

    Args:
        folder: of the skill.
        into_fd: a descriptor of the folder to copy into; no other user can write to it.
        name: of the copy, which must not exist.
        skipped: what is left out at the top of the skill.

    Raises:
        InstallError: as `read_tree` does, or the copy cannot be written; a part of it may exist.
    """
    writer = _CopyWriter(into_fd, name)
    try:
        return read_tree(folder, writer, skipped=skipped)
    finally:
        writer.close()


_write_errors = partial(os_errors, "cannot copy the skill", "make room on the disk")
"""It is the copy that failed, not the source."""


class _CopyWriter:
    """Gets what `read_tree` reads, and writes it.

    Args:
        into_fd: a descriptor of the folder to write into.
        name: of the new folder in it.
    """

    def __init__(self, into_fd: int, name: str) -> None:
        self._into_fd, self._name = into_fd, name
        self._fd = -1
        self._shared = shared_bits()

    def _target(self, path: str) -> str:
        return f"{self._name}/{path}" if path else self._name

    def open_folder(self, path: str) -> None:
        with _write_errors():
            os.mkdir(self._target(path), 0o755 | self._shared, dir_fd=self._into_fd)

    def close_folder(self, path: str, mode: int) -> None:  # noqa: ARG002
        with suppress(OSError):  # an empty folder is not part of a skill: neither git nor a digest knows it
            os.rmdir(self._target(path), dir_fd=self._into_fd)

    def open_file(self, path: str) -> Callable[[bytes], None]:
        with _write_errors():
            self._fd = os.open(self._target(path), CREATE_FLAGS, 0o644 | self._shared, dir_fd=self._into_fd)
        return self._write

    def _write(self, data: bytes) -> None:
        with _write_errors():
            write_all(self._fd, data)

    def close_file(self, path: str, mode: int) -> None:  # noqa: ARG002
        with _write_errors():
            if mode & 0o100:
                given = os.fstat(self._fd).st_mode
                os.fchmod(self._fd, given | (given & 0o444) >> 2)  # executable for those who can read it
            self.close()

    def add_link(self, path: str, target: str) -> None:
        with _write_errors():
            os.symlink(target, self._target(path), dir_fd=self._into_fd)

    def close(self) -> None:
        """Close the file of a copy that was not completed."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def check_paths(paths: Iterable[str]) -> None:
    """Check that the paths of a skill's files name the same files on every system, inside the folder of the skill.

    Raises:
        InstallError: a path leads out, is too long or not text, or two paths are one on some systems; or there are too
            many.
    """
    known: dict[str, str] = {}
    """The path of each folded one; of folders too."""
    files: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        if len(files) >= MAX_SKILL_FILES:
            hint = "remove files that the skill does not need"
            raise InstallError(f"the skill has more than {MAX_SKILL_FILES:,} files", hint=hint)
        _check_path(path)
        if path in files:
            raise _refused(path, "is there twice", "give each file once")
        files.add(path)
        parts = path.split("/")
        above = ["/".join(parts[:count]) for count in range(1, len(parts))]
        folders.update(above)
        for part in (*above, path):
            other = known.setdefault(_fold(part), part)
            if other != part:
                problem = f"and {quoted(other, PATH_LIMIT)} are one name on other systems"
                raise _refused(part, problem, "rename one of them")
    for path in files & folders:
        raise _refused(path, "is a file and a folder", "rename one of them")


def _check_path(path: str) -> None:
    problem = None
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise _refused(path, "has a name that is not UTF-8", "rename it") from None
    parts = path.split("/")
    if not path or "" in parts or "." in parts or ".." in parts:
        problem = "is not a path inside the skill"
    elif size > _MAX_PATH or len(parts) > MAX_DEPTH or any(len(part.encode()) > _MAX_PART for part in parts):
        problem = "is too long"
    elif "\\" in path or _has_control_characters(path):
        problem = "has a backslash or control character in its name"
    elif any(map(_is_special, parts)):
        problem = "has a name that another system reads as something else"
    if problem is not None:
        raise _refused(path, problem, "rename it, or ask the author of the skill to")


def _has_control_characters(path: str) -> bool:
    if path.isascii() and path.isprintable():
        return False
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in path)


def _is_special(name: str) -> bool:
    """Return whether a name is git's own folder, or is read as another file or a device by Windows."""
    folded = _fold(name)
    is_device = folded.partition(".")[0].rstrip(" ") in _DEVICES
    return folded in _GIT_FOLDERS or is_device or name.endswith((".", " ")) or ":" in name


def _fold(name: str) -> str:
    """Return a name as systems compare it that ignore case, the form of characters, and invisible ones."""
    if name.isascii():
        return name.casefold()
    visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold()


def _refused(path: str, problem: str, hint: str) -> InstallError:
    return InstallError(f"{quoted(path, PATH_LIMIT)} {problem}", hint=hint)


_MAX_LEVELS = 64
_TYPE_MASK, _REGULAR = 0o170000, stat.S_IFREG
_UNUSUAL_BITS = 0o7022


def read_files(
    folder_fd: int, expected: Mapping[str, str], unusual: dict[str, os.stat_result] | None = None
) -> dict[str, str]:
    """Return what is in an open folder: each path, with its mode and digest as in a lock.

    Files that are not expected have a mode alone, and what cannot be read has words that say why. Folders do not count.

    Args:
        folder_fd: a descriptor of the folder.
        expected: the paths of the lock.
        unusual: gets the status of each file, folder (the open one with an empty path) and link that another user owns,
            that not only its owner can write to, or, for files, that has another bit than those for access.
    """
    return _Reader(expected, {} if unusual is None else unusual).read(folder_fd)


class _Reader:
    """One run of `read_files`."""

    def __init__(self, expected: Mapping[str, str], unusual: dict[str, os.stat_result]) -> None:
        from hashlib import sha256

        self.sha256: Callable[[bytes], Any] = sha256
        self.expected, self.unusual, self.user = expected, unusual, os.geteuid()
        self.found: dict[str, str] = {}
        self.bytes_left = MAX_DIGEST_BYTES
        self.entries_left = MAX_SKILL_FILES

    def read(self, folder_fd: int) -> dict[str, str]:
        self._read_folder(folder_fd, "", _MAX_LEVELS)
        return self.found

    def _note(self, path: str, status: os.stat_result, bits: int) -> None:
        if status.st_mode & bits or status.st_uid != self.user:
            self.unusual[path] = status

    def _note_entry(self, path: str, entry: os.DirEntry[str], bits: int) -> None:
        with suppress(OSError):  # removed meanwhile
            self._note(path, entry.stat(follow_symlinks=False), bits)

    def _read_folder(self, folder_fd: int, prefix: str, depth: int) -> None:
        self._note(prefix[:-1], os.fstat(folder_fd), 0o022)  # new folders in one may get its set-group-ID bit
        with os.scandir(folder_fd) as listed:
            entries = list(islice(listed, self.entries_left + 1))
        self.entries_left -= len(entries)
        if self.entries_left < 0:
            self.found[prefix] = f"more than {MAX_SKILL_FILES:,} files"
            return
        expected, found, open_file, read_file = self.expected, self.found, os.open, self._read_file
        for entry in entries:
            name = entry.name
            path = prefix + name
            if entry.is_file(follow_symlinks=False):
                if path not in expected:
                    found[path] = "100644"
                    self._note_entry(path, entry, _UNUSUAL_BITS)
                    continue
                try:
                    fd = open_file(name, READ_FLAGS, dir_fd=folder_fd)
                except OSError as error:
                    found[path] = _words(error)
                    continue
                try:
                    found[path] = read_file(fd, path)
                except OSError as error:
                    found[path] = _words(error)
                finally:
                    os.close(fd)
            elif entry.is_dir(follow_symlinks=False):
                self._read_inner(folder_fd, name, path, depth)
            elif entry.is_symlink():
                found[path] = self._read_link(folder_fd, name)
                self._note_entry(path, entry, 0)
            else:
                found[path] = "a device, socket or FIFO"

    def _read_inner(self, folder_fd: int, name: str, path: str, depth: int) -> None:
        if depth == 0:
            self.found[path] = f"more than {_MAX_LEVELS} levels of folders"
            return
        try:
            fd = os.open(name, FOLDER_FLAGS, dir_fd=folder_fd)
        except OSError as error:
            self.found[path] = _words(error)
            return
        try:
            self._read_folder(fd, f"{path}/", depth - 1)
        except OSError as error:
            self.found[path] = _words(error)
        finally:
            os.close(fd)

    def _read_link(self, folder_fd: int, name: str) -> str:
        try:
            target = os.readlink(name, dir_fd=folder_fd)
        except OSError as error:
            return _words(error)
        return f"120000 sha256:{self.sha256(os.fsencode(target)).hexdigest()}"

    def _read_file(self, fd: int, path: str) -> str:
        """Return the mode and digest of an open file.

        Raises:
            OSError: it cannot be read.
        """
        status = os.fstat(fd)
        mode, size = status.st_mode, status.st_size
        if mode & _TYPE_MASK != _REGULAR:
            return "a device, socket or FIFO"
        self._note(path, status, _UNUSUAL_BITS)
        if size > self.bytes_left:
            return "more bytes than a skill can have"
        data = os.read(fd, size + 1)
        if len(data) != size:  # it changes now
            data += read_up_to(fd, self.bytes_left)
        self.bytes_left -= len(data)
        return f"{'100755' if mode & 0o100 else '100644'} sha256:{self.sha256(data).hexdigest()}"


def _words(error: OSError) -> str:
    return f"unreadable: {(error.strerror or 'it cannot be opened').lower()}"


# Characters in the order of the root collation (Unicode 16, CLDR 46); capital letters follow the others of their kind.
_ORDER = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
_PRIMARY = {ord(char): chr(_ORDER.index(char.lower()) + 32) for char in _ORDER}
SKIPPED_FOLDERS = (".git", "node_modules")
_UNKNOWN_ORDER = "the order in which `skills` hashes its files is unknown, because of characters in their names"
_TOO_LARGE = "it is larger than a skill can be"


class NotComparableError(Exception):
    """The hash of a folder is unknown; the message says why."""


class HashedFolder(Frozen):
    """The hash of a folder, and what it covers."""

    digest: str
    """In hexadecimal."""
    paths: frozenset[str]
    """Of the files that were hashed."""


def computed_hash(folder: str) -> str | None:
    """Return the hash that `skills` computes for the folder of a skill.

    `None` if it is unknown: because of characters in the names of its files, or because it is too large for a skill.

    Raises:
        OSError: a file cannot be read.
    """
    fd = os.open(folder, FOLDER_FLAGS)
    try:
        return hash_open_folder(fd).digest
    except NotComparableError:
        return None
    finally:
        os.close(fd)


def hash_of_everything(folder: str) -> str | None:
    """Return the hash of a folder in which it covers everything; `None` if it does not, is unknown or cannot be read.

    Links, and what is in folders named `.git` or `node_modules`, may be the work of a user that the hash does not show.
    """
    try:
        with open_fd(folder, FOLDER_FLAGS) as fd:
            hashed = hash_open_folder(fd)
            return hashed.digest if hashed.paths >= read_files(fd, {}).keys() else None
    except (OSError, NotComparableError):
        return None


def hash_open_folder(folder_fd: int) -> HashedFolder:
    """Return the hash for an open folder.

    Raises:
        NotComparableError: the order of two files is unknown, or the folder is too large for a skill.
        OSError: a file cannot be read.
    """
    reader = _HashReader()
    reader.read(folder_fd, "", _MAX_LEVELS)
    files = reader.files
    digest = sha256_for(sum(map(len, files.values())))()
    for path in sort_as_skills_does(files):
        digest.update(path.encode())
        digest.update(files[path])
    return HashedFolder(digest=digest.hexdigest(), paths=frozenset(files))


def sort_as_skills_does(paths: Iterable[str]) -> list[str]:
    """Return paths in the order in which `skills` hashes them.

    Raises:
        NotComparableError: the order of two of them is unknown.
    """
    found = sorted(paths)
    # `skills` takes a backslash for a slash, and cannot read what is not UTF-8.
    if any("\\" in path or _is_not_utf_8(path) for path in found):
        raise NotComparableError(_UNKNOWN_ORDER)
    if all(path.isascii() and path.isprintable() for path in found):
        return sorted(found, key=_ascii_key)
    return sorted(found, key=cmp_to_key(_compare))


def _ascii_key(path: str) -> tuple[str, str]:
    # Where two paths differ only in case, the small letter comes first: its code is the larger one.
    return path.translate(_PRIMARY), path.swapcase()


def _is_not_utf_8(path: str) -> bool:
    return not path.isascii() and any("\ud800" <= char <= "\udfff" for char in path)


def _compare(first: str, second: str) -> int:
    """Compare two paths.

    Raises:
        NotComparableError: they do not differ before a character that is not printable ASCII.
    """
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if not (_is_known(one) and _is_known(other)):
            raise NotComparableError(_UNKNOWN_ORDER)
        if _PRIMARY[ord(one)] != _PRIMARY[ord(other)]:
            # The next character may be an accent of this one, or one letter together with it.
            if all(index + 1 == len(path) or _is_known(path[index + 1]) for path in (first, second)):
                return -1 if _PRIMARY[ord(one)] < _PRIMARY[ord(other)] else 1
            raise NotComparableError(_UNKNOWN_ORDER)
    if all(map(_is_known, first)) and all(map(_is_known, second)):
        return -1 if _ascii_key(first) < _ascii_key(second) else 1
    raise NotComparableError(_UNKNOWN_ORDER)


def _is_known(char: str) -> bool:
    return ord(char) in _PRIMARY


class _HashReader:
    """Reads the regular files of a folder, as many as a skill can have."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._bytes_left = MAX_DIGEST_BYTES
        self._entries_left = MAX_SKILL_FILES

    def read(self, folder_fd: int, prefix: str, depth: int) -> None:
        """Read an open folder and those below.

        Raises:
            NotComparableError: there are too many or too large files.
            OSError: one cannot be read.
        """
        with os.scandir(folder_fd) as found:
            entries = list(islice(found, self._entries_left + 1))
        self._entries_left -= len(entries)
        if self._entries_left < 0 or depth < 0:
            raise NotComparableError(_TOO_LARGE)
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and entry.name not in SKIPPED_FOLDERS:
                fd = os.open(entry.name, FOLDER_FLAGS, dir_fd=folder_fd)
                try:
                    self.read(fd, f"{prefix}{entry.name}/", depth - 1)
                finally:
                    os.close(fd)
            elif not is_folder and entry.is_file(follow_symlinks=False):
                fd = os.open(entry.name, READ_FLAGS, dir_fd=folder_fd)
                try:
                    data = self.files[prefix + entry.name] = read_up_to(fd, self._bytes_left)
                finally:
                    os.close(fd)
                self._bytes_left -= len(data)
                if self._bytes_left < 0:
                    raise NotComparableError(_TOO_LARGE)


class WrittenFiles:
    """Notes the files of one skill.

    Args:
        files: the paths of all regular files.
        links: those of all links.
        folders: those of all folders, without the skill's own.
    """

    def __init__(self, files: Iterable[str], links: Iterable[str], folders: Iterable[str]) -> None:
        files, links = sorted(files), sorted(links)
        paths = [*files, *links]
        self._is_certain = all(map(str.isascii, paths)) and len(paths) + len([*folders]) < MAX_SKILL_FILES
        try:
            self.order = [*sort_as_skills_does(files), *links]
            """All paths, in the order in which they must be written: no file is written through a link."""
        except NotComparableError:
            self.order, self._is_certain = paths, False
        self._files: list[TreeFile] = []
        self._hash = sha256()

    def add_file(self, path: str, data: bytes, permissions: int) -> None:
        """Note a file that was written, with the permissions that the file system gave it."""
        mode = EXECUTABLE if permissions & 0o100 else FILE
        self._files.append(TreeFile(path=path, mode=mode, size=len(data), sha256=sha256(data).hexdigest()))
        if not any(f"{folder}/" in f"/{path}" for folder in _SKIPPED):
            self._hash.update(path.encode())
            self._hash.update(data)

    def add_link(self, path: str, target: bytes) -> None:
        """Note a link that was written."""
        self._files.append(TreeFile(path=path, mode=LINK, size=len(target), sha256=sha256(target).hexdigest()))

    def notes(self) -> tuple[Tree, str] | None:
        """Return what was written, and its computed hash, or `None` if it must be read to know that."""
        tree = Tree(files=tuple(sorted(self._files, key=lambda file: os.fsencode(file.path))))
        is_whole = len(self._files) == len(self.order) and tree.size <= MAX_DIGEST_BYTES
        return (tree, self._hash.hexdigest()) if self._is_certain and is_whole else None


_SKIPPED = tuple(f"/{name}" for name in SKIPPED_FOLDERS)
