"""Describe the files of a skill so that any machine can compare them: paths, modes and digests.

    tree digest = "sha256:" SHA256HEX of the lines MODE SP SHA256HEX SP PATH NUL, sorted by path

A mode is one that git knows: 100644, 100755 (executable) or 120000 (a link, whose digest is that of its target). So a
checkout of git, an archive and a bucket with the same skill have the same digest, whatever the umask. Empty folders
do not count.
"""

from __future__ import annotations

import os
import unicodedata

from prowess._internal.files import MAX_SKILL_FILES
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError, SkillError
from prowess.skill import MAX_DEPTH, read_integrity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.skill import EntryWriter

__all__ = ["EXECUTABLE", "FILE", "LINK", "Tree", "TreeFile", "check_paths", "read_tree", "tree_digest"]

FILE, EXECUTABLE, LINK = "100644", "100755", "120000"
"""The modes of files, as git writes them."""
_MAX_PATH = 1024
_MAX_PART = 255
"""Bytes of a path, and of one name in it."""
_GIT_FOLDERS = (".git", "git~1")
"""The folder, and its short name on Windows."""
_DEVICES = {"aux", "con", "nul", "prn", *(f"{name}{number}" for name in ("com", "lpt") for number in range(1, 10))}


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


def read_tree(folder: str, writer: EntryWriter | None = None) -> Tree:
    """Read all files of a skill.

    Args:
        folder: of the skill.
        writer: gets everything that is read, for a copy of exactly these bytes.

    Raises:
        InstallError: a file cannot be read or is not allowed: a device, a link that leads out, a name that other
            systems do not know or do not tell apart; or there are too many or too large files.
    """
    try:
        records = read_integrity(folder, writer).records
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
    return folded in _GIT_FOLDERS or folded.split(".")[0] in _DEVICES or name.endswith((".", " ")) or ":" in name


def _fold(name: str) -> str:
    """Return a name as systems compare it that ignore case, the form of characters, and invisible ones."""
    if name.isascii():
        return name.casefold()
    visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold()


def _refused(path: str, problem: str, hint: str) -> InstallError:
    return InstallError(f"{quoted(path, PATH_LIMIT)} {problem}", hint=hint)
