"""a skill's folder + a path inside it -> text

Reads one file of a skill and nothing else: each part of the path is opened from the one before it and no link is
followed, so that nothing a skill holds, or puts there meanwhile, leads anywhere else.
"""

from __future__ import annotations

import os
import stat

from prowess._internal.files import skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.text import describe_os_error, nearest_names, quoted
from prowess.errors import SkillFileError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.catalog import Entry

__all__ = ["DEFAULT_LIMIT", "MAX_LIMIT", "FileText", "resource_folder", "read_text"]

DEFAULT_LIMIT = 32 * 1024
"""Bytes that are read where nobody says how many."""
MAX_LIMIT = 1024 * 1024
"""Bytes that are read at most at once."""
_MAX_PATH = 4096
_MAX_HINT_PATH = 200
"""Characters of a path in a hint, which is to be typed."""
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLDER_FLAGS = _FLAGS | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE_FLAGS = _FLAGS | getattr(os, "O_NOFOLLOW", 0)
_HAS_DIR_FD = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


class FileText(Frozen):
    """A part of a file."""

    path: str
    """Relative to the skill's folder, with `/`."""
    text: str
    """UTF-8; a byte that is not is shown as U+FFFD."""
    offset: int
    """Where it begins in the file, in bytes."""
    size: int
    """Of the whole file, in bytes."""
    next_offset: int | None
    """Where to read on; None at the end of the file."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `read --json`."""
        return {
            "path": self.path,
            "text": self.text,
            "offset": self.offset,
            "size": self.size,
            "next_offset": self.next_offset,
        }


def resource_folder(entry: Entry) -> str | None:
    """Return the folder whose files belong to a skill, without links; None for a single file among others, or no file.

    Where its SKILL.md is a link, the folder is the one that the link lies in.
    """
    folder, file = os.path.split(entry.path)
    if file.lower() != "skill.md" or not os.path.isabs(folder):
        return None
    if os.path.basename(entry.real) != file or os.path.islink(entry.path):
        return os.path.realpath(folder)
    return os.path.dirname(entry.real)


def read_text(folder: str | None, path: str, *, offset: int = 0, limit: int | None = None) -> FileText:
    """Read a text file of a skill.

    Args:
        folder: the skill's, as `files_of` returns it.
        path: of the file, relative to the folder, with `/`.
        offset: the first byte to read.
        limit: bytes at most, `DEFAULT_LIMIT` if None; no more than `MAX_LIMIT` are read.

    Raises:
        SkillFileError: the path does not name a file inside the folder, or it is no text; the hint names files that are
            called almost so.
    """
    if folder is None:
        raise SkillFileError("the skill has no files of its own", hint="all there is of it are its instructions")
    parts = _split_path(path)
    limit = DEFAULT_LIMIT if limit is None else limit
    if offset < 0 or limit < 1:
        raise SkillFileError(
            "`offset` must be 0 or more and `limit` 1 or more", hint="leave them out to read from the top"
        )
    fd = _open_inside(folder, parts, path)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise SkillFileError(f"{quoted(path)} is {kind}", hint=_file_names_hint(folder, path))
        os.lseek(fd, min(offset, status.st_size), os.SEEK_SET)
        data = os.read(fd, min(limit, MAX_LIMIT))
    except OSError as error:
        if isinstance(error, SkillFileError):
            raise
        raise SkillFileError(
            f"{quoted(path)} cannot be read: {describe_os_error(error)}", hint="go on without it"
        ) from None
    finally:
        os.close(fd)
    end = offset + len(data)
    if b"\0" in data:
        size = f"{status.st_size:,} bytes"
        raise SkillFileError(f"{quoted(path)} is not a text file ({size})", hint="a script of the skill may read it")
    if end < status.st_size and len(data) > 4:
        # The part ends where a character ends.
        cut = next((n for n in range(1, 4) if data[-n] & 0xC0 != 0x80), 0)
        if cut and data[-cut] >= 0xC0 and cut < (2 if data[-cut] < 0xE0 else 3 if data[-cut] < 0xF0 else 4):
            data, end = data[:-cut], end - cut
    text = data.decode("utf-8", "replace")
    return FileText(
        path="/".join(parts),
        text=text.removeprefix("\ufeff") if not offset else text,
        offset=offset,
        size=status.st_size,
        next_offset=end if end < status.st_size and data else None,
    )


def _split_path(path: str) -> list[str]:
    """Take a path apart.

    Raises:
        SkillFileError: it leads out of the folder, or is none.
    """
    if not path or "\0" in path or len(path) > _MAX_PATH:
        raise SkillFileError(f"{quoted(path)} is no path", hint="name a file of the skill, as in `references/api.md`")
    plain = path.replace("\\", "/") if os.sep == "\\" else path
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    if plain.startswith("/") or os.path.isabs(path) or ".." in parts or not parts or (os.sep == "\\" and ":" in path):
        raise SkillFileError(
            f"{quoted(path)} does not lie in the skill's folder",
            hint="only files inside the folder can be read; name one relative to it",
        )
    return parts


def _open_inside(folder: str, parts: list[str], path: str) -> int:
    """Open a file part by part.

    Raises:
        SkillFileError: there is none, or a link is on the way.
    """
    if not _HAS_DIR_FD:
        at = folder
        for part in parts:
            at = os.path.join(at, part)
            if os.path.islink(at):
                raise SkillFileError(
                    f"{quoted(path)} is a link, which is not followed", hint=_file_names_hint(folder, path)
                )
        try:
            return os.open(at, _FILE_FLAGS)
        except (OSError, ValueError) as error:
            raise _open_error(folder, path, error) from None
    fd = -1
    try:
        fd = os.open(folder, _FOLDER_FLAGS)
        for number, part in enumerate(parts):
            inner = os.open(part, _FILE_FLAGS if number == len(parts) - 1 else _FOLDER_FLAGS, dir_fd=fd)
            os.close(fd)
            fd = inner
    except (OSError, ValueError) as error:
        if fd >= 0:
            os.close(fd)
        raise _open_error(folder, path, error) from None
    return fd


def _open_error(folder: str, path: str, error: Exception) -> SkillFileError:
    import errno

    number = error.errno if isinstance(error, OSError) else None
    if not os.path.isdir(folder):
        return SkillFileError("the skill's folder is gone", hint="go on without the skill")
    if number in (errno.ELOOP, errno.EMLINK) or (number == errno.ENOTDIR and _has_link(folder, path)):
        return SkillFileError(
            f"{quoted(path)} is a link, or lies behind one, which is not followed", hint=_file_names_hint(folder, path)
        )
    if number in (errno.EACCES, errno.EPERM):
        return SkillFileError(f"{quoted(path)} may not be read", hint="mend its permissions")
    if number == errno.ENXIO:
        return SkillFileError(f"{quoted(path)} is not a regular file", hint=_file_names_hint(folder, path))
    return SkillFileError(f"the skill has no file {quoted(path)}", hint=_file_names_hint(folder, path))


def _has_link(folder: str, path: str) -> bool:
    at = folder
    for part in path.split("/"):
        at = os.path.join(at, part)
        if os.path.islink(at):
            return True
    return False


def _file_names_hint(folder: str, path: str) -> str:
    """Name files that are called almost as what was asked for, else the first ones."""
    names = [name for name, _ in skill_files(folder)[:1000]]
    near = nearest_names(path[:200], names, cutoff=0.5)
    if near:
        return "did you mean " + " or ".join(quoted(name, _MAX_HINT_PATH) for name in near) + "?"
    if not names:
        return "no file of it can be seen"
    shown = ", ".join(quoted(name, _MAX_HINT_PATH) for name in names[:8])
    return f"its files are {shown}{' and others' if len(names) > 8 else ''}"
