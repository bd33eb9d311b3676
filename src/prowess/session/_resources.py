"""Read the files of a skill, and nothing outside its folder.

Each part of a path is opened from the folder above it and no link is followed, so that nothing that a skill contains,
or that changes meanwhile, leads anywhere else.
"""

from __future__ import annotations

import errno
import os
import stat

from prowess._internal.files import real_path, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, describe_os_error, nearest_names, quoted
from prowess.errors import SkillFileError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.catalog import Entry

DEFAULT_LIMIT = 32 * 1024
"""Bytes that are read if no limit is given."""
MAX_LIMIT = 1024 * 1024
"""Bytes that are read at once at most."""
_MAX_PATH = 4096


_MAX_MEDIA = 4 * 1024 * 1024
"""Bytes of an image or a document; models accept not many more."""
_MEDIA_TYPES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
"""Of files that models accept, by their first bytes; that of WebP is not only at the start."""


class MediaFile(Frozen):
    """An image or a document."""

    name: str
    """Its path, with `/`; unsafe to show as it is."""
    media_type: str
    """`image/png`, `image/jpeg`, `image/gif`, `image/webp` or `application/pdf`."""
    data: bytes

    @property
    def is_image(self) -> bool:
        """Whether it is an image; otherwise it is a document."""
        return self.media_type.startswith("image/")


class FileText(Frozen):
    """A part of a text file."""

    path: str
    """Relative to the skill's folder, with `/`."""
    text: str
    """UTF-8; a byte that is not UTF-8 is shown as U+FFFD."""
    offset: int
    """Where the part begins in the file, in bytes."""
    size: int
    """Of the whole file, in bytes."""
    next_offset: int | None
    """Where the next part begins; `None` at the end of the file."""

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
    """Return the folder whose files belong to a skill, without links; `None` if it is a single file, or not a file.

    If its SKILL.md is a link, this is the folder that contains the link.
    """
    folder, file = os.path.split(entry.path)
    if file.lower() != "skill.md" or not os.path.isabs(folder):
        return None
    if os.path.basename(entry.real) != file or os.path.islink(entry.path):
        return real_path(folder)
    return os.path.dirname(entry.real)


def read_text(folder: str | None, path: str, *, offset: int = 0, limit: int | None = None) -> FileText:
    """Read a text file of a skill.

    Args:
        folder: of the skill, as `resource_folder` returns it.
        path: of the file, relative to the folder, with `/`.
        offset: the first byte to read.
        limit: bytes at most, `DEFAULT_LIMIT` if `None`; no more than `MAX_LIMIT` are read.

    Raises:
        SkillFileError: the path does not name a file inside the folder, or the file is not text; the hint names files
            with similar names.
    """
    if folder is None:
        raise SkillFileError("the skill has no files of its own", hint="it only has its instructions")
    parts = split_path(path)
    limit = _checked_limit(offset, limit)
    data, size = _read_part(folder, parts, path, offset, limit)
    return _part_as_text(data, "/".join(parts), offset, size)


def read_media(folder: str | None, path: str) -> MediaFile | None:
    """Read an image or a document of a skill; `None` if it is something else, or too large for a model.

    Raises:
        SkillFileError: as `read_text`.
    """
    if folder is None:
        return None
    parts = split_path(path)
    head, size = _read_part(folder, parts, path, 0, 16)
    is_webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    media_type = next(
        (known for start, known in _MEDIA_TYPES if head.startswith(start)), "image/webp" if is_webp else ""
    )
    if not media_type or size > _MAX_MEDIA:
        return None
    data, _ = _read_part(folder, parts, path, 0, _MAX_MEDIA)
    return MediaFile(name="/".join(parts), media_type=media_type, data=data)


def file_text(data: bytes, path: str, *, offset: int = 0, limit: int | None = None) -> FileText:
    """Return a part of the bytes of a text file, as `read_text` does.

    Raises:
        SkillFileError: the file is not text.
    """
    limit = _checked_limit(offset, limit)
    return _part_as_text(data[offset : offset + limit], path, offset, len(data))


def _checked_limit(offset: int, limit: int | None) -> int:
    limit = DEFAULT_LIMIT if limit is None else limit
    if offset < 0 or limit < 1:
        raise SkillFileError(
            "`offset` must be 0 or more and `limit` 1 or more", hint="leave them out to read from the start"
        )
    return min(limit, MAX_LIMIT)


def _part_as_text(data: bytes, path: str, offset: int, size: int) -> FileText:
    if b"\0" in data:
        raise SkillFileError(f"{quoted(path)} is not a text file ({size:,} bytes)", hint="read it with a script")
    if offset + len(data) < size:
        data = _without_cut_character(data)
    text, end = data.decode("utf-8", "replace"), offset + len(data)
    return FileText(
        path=path,
        text=text if offset else text.removeprefix("\ufeff"),
        offset=offset,
        size=size,
        next_offset=end if data and end < size else None,
    )


def split_path(path: str) -> list[str]:
    """Return the parts of a path inside a folder.

    Raises:
        SkillFileError: it leads out of the folder, or is not a path.
    """
    if not path or "\0" in path or len(path) > _MAX_PATH:
        raise SkillFileError(
            f"{quoted(path)} is not a valid path", hint="name a file of the skill, as in `references/api.md`"
        )
    on_windows = os.sep == "\\"
    posix = path.replace("\\", "/") if on_windows else path
    parts = [part for part in posix.split("/") if part not in ("", ".")]
    is_absolute = posix.startswith("/") or os.path.isabs(path) or (on_windows and ":" in path)
    if is_absolute or ".." in parts or not parts:
        raise SkillFileError(
            f"{quoted(path)} is not inside the skill's folder", hint="give a path relative to the skill's folder"
        )
    return parts


def _read_part(folder: str, parts: list[str], path: str, offset: int, limit: int) -> tuple[bytes, int]:
    """Return bytes of a file, and the size of the whole file.

    Raises:
        SkillFileError: the file is missing, not a regular file, behind a link, or cannot be read.
    """
    try:
        from prowess._internal.fs import READ_FLAGS, open_inside

        fd = open_inside(folder, parts, READ_FLAGS)
    except (OSError, ValueError) as error:
        raise open_error(folder, path, error) from None
    try:
        status, data = os.fstat(fd), b""
        if stat.S_ISREG(status.st_mode):
            os.lseek(fd, min(offset, status.st_size), os.SEEK_SET)
            data = os.read(fd, limit)
    except OSError as error:
        message = f"{quoted(path)} cannot be read: {describe_os_error(error)}"
        raise SkillFileError(message, hint="go on without it") from None
    finally:
        os.close(fd)
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise SkillFileError(f"{quoted(path)} is {kind}", hint=_file_names_hint(folder, path))
    return data, status.st_size


def _without_cut_character(data: bytes) -> bytes:
    """Return UTF-8 bytes without an incomplete character at the end."""
    if len(data) <= 4:
        return data
    start = next((n for n in range(1, 4) if data[-n] & 0xC0 != 0x80), 0)
    if not start or data[-start] < 0xC0:
        return data
    length = 2 if data[-start] < 0xE0 else 3 if data[-start] < 0xF0 else 4
    return data[:-start] if start < length else data


def open_error(folder: str, path: str, error: Exception) -> SkillFileError:
    from prowess._internal.inside import has_link

    number = error.errno if isinstance(error, OSError) else None
    if not os.path.isdir(folder):
        return SkillFileError("the skill's folder no longer exists", hint="go on without the skill")
    if os.path.islink(folder):
        message = "the skill's folder was replaced by a link; links are not followed"
        return SkillFileError(message, hint="go on without the skill")
    if number in (errno.ELOOP, errno.EMLINK) or (number == errno.ENOTDIR and has_link(folder, path)):
        return SkillFileError(
            f"{quoted(path)} is a link or behind one; links are not followed", hint=_file_names_hint(folder, path)
        )
    if number in (errno.EACCES, errno.EPERM):
        return SkillFileError(f"{quoted(path)} cannot be read: permission denied", hint="fix its permissions")
    if number == errno.ENXIO:
        return SkillFileError(f"{quoted(path)} is not a regular file", hint=_file_names_hint(folder, path))
    return SkillFileError(f"the skill has no file {quoted(path)}", hint=_file_names_hint(folder, path))


def _file_names_hint(folder: str, path: str) -> str:
    """Name the files with similar names, else the first ones; a hint is there to be typed, so long names are kept."""
    names = [name for name, _ in skill_files(folder)[:1000] if name != path]
    near = nearest_names(path[:200], names, cutoff=0.5, fold_case=False)
    if near:
        return "did you mean " + " or ".join(quoted(name, PATH_LIMIT) for name in near) + "?"
    if not names:
        return "the skill has no readable files"
    shown = ", ".join(quoted(name, PATH_LIMIT) for name in names[:8])
    return f"its files are {shown}{' and others' if len(names) > 8 else ''}"
