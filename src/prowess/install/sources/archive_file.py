"""Read skills from a `.skill` or `.zip` file of this machine, and pack one.

    NAME.skill    a zip archive with everything below a folder `NAME/`, as skill creators of Claude write it
    NAME.zip      the same; its files may also be at the top, or it may have several skills

What is written is the same on every machine for the same files: sorted, with the date 1980-01-01, without folders and
extra fields, compressed by zlib with its usual level. A file that is published from a file of its kind is copied as it
is, so that its bytes and its digest stay.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from io import BytesIO

from prowess._internal.files import MAX_DIGEST_BYTES, SKILL_FILE, UnreadableError, read_file, real_path
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError
from prowess.install.archive import Limits, gunzip, read_tar, unpack
from prowess.lock import os_errors
from prowess.skill import is_portable_name, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ENDINGS = (".skill", ".zip")
_PREFIX = "prowess-archive-"
_DATE = (1980, 1, 1, 0, 0, 0)
"""The first date of a zip archive."""
_UNIX = 3


def has_archive_name(path: str) -> bool:
    """Return whether a path is called like an archive of skills."""
    return path.lower().endswith(ENDINGS)


def is_archive_file(path: str) -> bool:
    """Return whether a path is a file that is called like an archive of skills."""
    try:
        return has_archive_name(path) and stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def unpack_file(path: str, into: str, data: bytes | None = None) -> str:
    """Unpack an archive into a folder of its name, or of the skill if it has one without a folder, and return that.

    Args:
        path: of the archive; a link to it is followed.
        into: an empty folder that no other user can write to.
        data: what was read of it, if it was.

    Raises:
        InstallError: it cannot be read, is damaged, or contains something that is not allowed.
    """
    folder = os.path.join(into, os.path.basename(path).rpartition(".")[0].strip(". ") or "skill")
    with os_errors("cannot unpack", "make room on the disk"):
        os.mkdir(folder, 0o700)
    unpack(BytesIO(read_archive(path) if data is None else data), "zip", folder)
    name = load(os.path.join(folder, SKILL_FILE)).name if os.path.isfile(os.path.join(folder, SKILL_FILE)) else None
    if name is None or not is_portable_name(name):
        return folder
    # Its files are not in a folder, whose name would have to be that of the skill.
    with os_errors("cannot unpack", "make room on the disk"):
        os.rename(folder, os.path.join(into, name))
    return os.path.join(into, name)


def read_archive(path: str) -> bytes:
    """Return the bytes of an archive.

    Raises:
        InstallError: it cannot be read, or is larger than what a skill may contain.
    """
    try:
        return read_file(path, MAX_DIGEST_BYTES, follow=True)
    except UnreadableError as error:
        raise InstallError(f"{quoted(path, PATH_LIMIT)} cannot be read: {error.message}", hint=error.hint) from None


@contextmanager
def unpacked_archive(path: str, data: bytes | None = None) -> Iterator[str]:
    """Yield a folder with what an archive contains, which is removed at the end; the arguments as in `unpack_file`.

    Raises:
        InstallError: it cannot be read or unpacked.
    """
    with os_errors("cannot unpack", "make room on the disk"):
        temporary = TemporaryDirectory(_PREFIX, real_path(temporary_directory_root()))
    try:
        inside = os.path.join(temporary.path, "archive")
        os.mkdir(inside, 0o700)
        yield unpack_file(path, inside, data)
    finally:
        temporary.close()


def pack_zip(archive: bytes) -> bytes:
    """Return the files of a packed skill, a tar with gzip, as a zip archive."""
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    target, limits = BytesIO(), Limits()
    with ZipFile(target, "w", ZIP_DEFLATED) as written:
        for entry in read_tar(gunzip(BytesIO(archive), limits), limits):
            if entry.is_folder or entry.write_to is None:
                continue
            parts: list[bytes] = []
            entry.write_to(parts.append)
            info = ZipInfo(entry.path, _DATE)
            info.create_system, info.compress_type = _UNIX, ZIP_DEFLATED
            info.external_attr = (stat.S_IFREG | (0o755 if entry.is_executable else 0o644)) << 16
            written.writestr(info, b"".join(parts))
    return target.getvalue()
