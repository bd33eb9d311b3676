"""Read a zip archive: files and folders only, within limits.

The list at the end of the archive is checked before any file is read: it must describe all of the archive and nothing
twice, since two programs could otherwise unpack different files.
"""

from __future__ import annotations

import os
import stat
import struct
from contextlib import contextmanager

from ._archive_entry import BLOCK, Entry, bad_archive, decode_name, refused_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO
    from zipfile import ZipFile, ZipInfo

    from ._archive_entry import Limits

__all__ = ["read_zip"]

_END = b"PK\x05\x06"
_END_SIZE = 22
_ZIP64_LOCATOR = b"PK\x06\x07"
_LOCATOR_SIZE = 20
_LOCAL_SIZE = 30
_RECORD_SIZE = 46
_MAX_COMMENT = 1 << 16
_UNIX = 3
_UTF8, _HAS_DESCRIPTOR, _ENCRYPTED = 0x800, 0x8, 0x1
_MAX_DESCRIPTOR = 24
"""Bytes of a record with sizes that may follow a file."""
_UNICODE_PATH = 0x7075


def read_zip(stream: BinaryIO, limits: Limits) -> Iterator[Entry]:
    """Yield the files and folders of an archive.

    Args:
        stream: the archive, which can be read anywhere.
        limits: of the archive.

    Raises:
        InstallError: it is damaged, breaks a rule or a limit.
    """
    from zipfile import ZipFile

    size, count = _check_end(stream, limits)
    with _errors():
        archive = ZipFile(stream)
    infos = archive.infolist()
    if len(infos) != count:
        raise bad_archive("its list has another length than its end says")
    with _errors():
        _check_places(stream, infos, archive.start_dir)
    unpacked = 0
    for info in infos:
        unpacked += info.file_size
        limits.check_ratio(size, unpacked)
    for info in infos:
        yield _entry(archive, info)


@contextmanager
def _errors() -> Iterator[None]:
    """Turn what the reader of the standard library raises for damaged archives into one error."""
    import zlib
    from zipfile import BadZipFile

    damaged = (BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error, struct.error)
    try:
        yield
    except (*damaged, OverflowError, LookupError):
        raise bad_archive("it is not a zip archive, or damaged") from None


def _check_end(stream: BinaryIO, limits: Limits) -> tuple[int, int]:
    """Check the last record, before the list that it describes is read; return the size of the archive and the list."""
    size = stream.seek(0, os.SEEK_END)
    start = max(0, size - _LOCATOR_SIZE - _END_SIZE - _MAX_COMMENT)
    stream.seek(start)
    tail = stream.read(size - start)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise bad_archive("it is not a zip archive, or other data follows it")
    disk, first_disk, here, count, list_size, list_start, comment = struct.unpack("<HHHHIIH", tail[at + 4 : at + 22])
    if at + _END_SIZE + comment != len(tail):
        raise bad_archive("other data follows it")
    if count > limits.entries or list_size > limits.entries * 512:
        raise bad_archive(f"it lists more than {limits.entries:,} files")
    if disk or first_disk or here != count or list_start + list_size != start + at or list_size < count * _RECORD_SIZE:
        raise bad_archive("other data precedes it, or it is one of several parts")
    # The standard library would read the list that this names, other programs only if the last record refers to it.
    if at >= _LOCATOR_SIZE and tail.startswith(_ZIP64_LOCATOR, at - _LOCATOR_SIZE):
        raise bad_archive("it has a second list of files")
    stream.seek(0)
    return size, count


def _check_places(stream: BinaryIO, infos: list[ZipInfo], start_of_list: int) -> None:
    """Check that each file has its own part of the archive, one after another, and nothing is between them.

    Programs that read an archive from its beginning would unpack what is between them, too.
    """
    end = may_follow = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise refused_entry(info.filename, "shares its content with another file")
        if info.header_offset > end + may_follow:
            raise bad_archive("it has data that its list does not name")
        stream.seek(info.header_offset + _LOCAL_SIZE - 4)
        name_size, extra_size = struct.unpack("<HH", stream.read(4))
        end = info.header_offset + _LOCAL_SIZE + name_size + extra_size + info.compress_size
        may_follow = _MAX_DESCRIPTOR if info.flag_bits & _HAS_DESCRIPTOR else 0
    if not end <= start_of_list <= end + may_follow:
        raise bad_archive("it is damaged, or has data that its list does not name")


def _entry(archive: ZipFile, info: ZipInfo) -> Entry:
    raw = info.orig_filename
    # Without the mark of UTF-8 the standard library decodes these bytes; `zip` and macOS write UTF-8 all the same.
    stored = raw.encode("utf-8" if info.flag_bits & _UTF8 else "cp437", "surrogateescape")
    if "\0" in raw or _second_name(info.extra) not in (None, stored):
        raise refused_entry(raw, "has two names")
    path, is_folder = decode_name(stored)
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFLNK:
        raise refused_entry(raw, "is a link")
    if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
        raise refused_entry(raw, "is neither a file nor a folder")
    if info.flag_bits & _ENCRYPTED:
        raise refused_entry(raw, "is encrypted")
    if info.compress_type not in (0, 8):
        raise refused_entry(raw, "is compressed in a way that other programs do not know")
    if is_folder:
        if info.file_size:
            raise refused_entry(raw, "is a folder with content")
        return Entry(path=path, is_folder=True)

    def write_to(write: Callable[[bytes], object]) -> None:
        size = 0
        with _errors():
            file = archive.open(info)
        while True:
            with _errors():
                block = file.read(BLOCK)
            if not block:
                break
            size += len(block)
            write(block)
        if size != info.file_size:
            raise bad_archive("it ends too early")

    return Entry(path=path, is_folder=False, is_executable=bool(mode & 0o100), size=info.file_size, write_to=write_to)


def _second_name(extra: bytes) -> bytes | None:
    """Return the name in Unicode among the extra fields, which only some programs use."""
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        if kind == _UNICODE_PATH:
            return extra[9 : 4 + size]  # after its version and a checksum
        extra = extra[4 + size :]
    return None
