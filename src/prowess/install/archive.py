"""Read tar and zip archives within limits, and pack skills reproducibly.

Unpack archives that anyone may have made, and pack skills so that every machine writes the same bytes.

Read a tar archive, perhaps compressed with gzip, as a stream: files and folders only, within limits.

The reader of the standard library understands more than a skill needs: links, devices, sparse files, headers that
contradict each other and that two programs read in two ways. Here all of these are errors.

    ustar, and the older format without a magic number
    pax           `path`; `size` must repeat that of the entry; headers for all entries may only have comments
    GNU           long names

Read a zip archive: files and folders only, within limits.

The list at the end of the archive is checked before any file is read: it must describe all of the archive and nothing
twice, since two programs could otherwise unpack different files.

An archive contains files and folders, and nothing else: a link, a device, a path that leads out, two names that are one
on some systems, or more than the limits is an error. Of the modes only the right to execute is kept.

The bytes that `pack_skill` writes depend on the files and on zlib: another implementation of it (zlib-ng) may compress
in another way. The tar inside, and with it the digest of each file, is always the same.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from contextlib import contextmanager

from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, open_fd, open_or_make_folder, write_all
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError
from prowess.lock import EXECUTABLE, check_paths, os_errors, read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO
    from zipfile import ZipFile, ZipInfo

    from prowess.lock import Tree

__all__ = ["Limits", "pack_skill", "unpack"]


BLOCK = 1 << 16


class Limits(Frozen):
    """How much may come out of an archive."""

    entries: int = 2 * MAX_SKILL_FILES
    """Files, folders and everything else it lists."""
    size: int = MAX_DIGEST_BYTES
    """Bytes of all files."""
    ratio: int = 200
    """Bytes that come out of one byte of the archive; what is small may be more."""

    @property
    def unpacked(self) -> int:
        """Bytes that may be decompressed: the files, and a head for each."""
        return self.size + 1024 * (self.entries + 64)

    def check_ratio(self, packed: int, unpacked: int) -> None:
        """Check how much came out of how much.

        Raises:
            InstallError: it is too much.
        """
        if unpacked > self.unpacked:
            raise bad_archive(f"it contains more than {self.size:,} bytes")
        if unpacked > _SMALL and unpacked > packed * self.ratio:
            raise bad_archive(f"it is more than {self.ratio} times as large when unpacked")


_SMALL = 8 << 20


class Entry(Frozen):
    """A file or folder in an archive."""

    path: str
    """With `/`, without a `./` before it or a `/` at its end; empty for the folder that all are in."""
    is_folder: bool
    is_executable: bool = False
    size: int = 0
    write_to: Callable[[Callable[[bytes], object]], None] | None = None
    """Gives the content in blocks; called at once if at all, as the next entry follows in the stream."""


def bad_archive(problem: str) -> InstallError:
    """Return the error for an archive that is damaged or breaks a rule."""
    return InstallError(f"invalid archive: {problem}", hint="ask the author of the skill to publish it again")


def refused_entry(name: str, problem: str) -> InstallError:
    """Return the error for something in an archive that is not allowed."""
    return bad_archive(f"{quoted(name, PATH_LIMIT)} {problem}")


def decode_name(raw: bytes) -> tuple[str, bool]:
    """Return a path of an archive as text, and whether it ends like a folder's.

    Raises:
        InstallError: it is not UTF-8, or absolute.
    """
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise refused_entry(raw.decode("ascii", "backslashreplace"), "has a name that is not UTF-8") from None
    if name.startswith("/"):
        raise refused_entry(name, "is an absolute path")
    ends_like_folder = name.endswith("/") or name == "."
    name = name.removeprefix("./").removesuffix("/")
    return "" if name == "." else name, ends_like_folder


_SECTOR = 512
_ZEROS = bytes(_SECTOR)
_MAX_EXTENDED = 1 << 16
"""Bytes of a pax header or a long name."""
_KINDS = {
    b"1": "is a link",
    b"2": "is a link",
    b"3": "is a device",
    b"4": "is a device",
    b"6": "is a FIFO",
    b"S": "is a sparse file",
}


class _Reader:
    """Reads exact numbers of bytes from blocks of any size."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""

    def some(self, limit: int) -> bytes:
        """Return at least one byte, and none at the end."""
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return b""
            self._rest = block
        data, self._rest = self._rest[:limit], self._rest[limit:]
        return data

    def parts(self, size: int) -> Iterator[bytes]:
        """Yield exactly so many bytes."""
        while size > 0:
            part = self.some(size)
            if not part:
                raise bad_archive("it ends too early")
            size -= len(part)
            yield part

    def exactly(self, size: int) -> bytes:
        return b"".join(self.parts(size))


def plain(stream: BinaryIO, limits: Limits) -> Iterator[bytes]:
    """Yield the content of a stream in blocks."""
    size = 0
    while block := stream.read(BLOCK):
        size += len(block)
        limits.check_ratio(size, size)
        yield block


def gunzip(stream: BinaryIO, limits: Limits) -> Iterator[bytes]:
    """Yield the decompressed content of a stream in blocks; it may be compressed in several parts."""
    packed = unpacked = 0
    decoder = zlib.decompressobj(31)
    while data := stream.read(BLOCK):
        packed += len(data)
        block = b""
        while data or block:  # a full block may be followed by more that the decoder has already read
            if decoder.eof:
                decoder = zlib.decompressobj(31)
            try:
                block = decoder.decompress(data, BLOCK)
            except zlib.error:
                raise bad_archive("it is not compressed with gzip, or damaged, or other data follows it") from None
            unpacked += len(block)
            limits.check_ratio(packed, unpacked)
            yield block
            data = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
            if decoder.eof and not data:
                break
    if not decoder.eof:
        raise bad_archive("it ends too early")


def read_tar(blocks: Iterator[bytes], limits: Limits) -> Iterator[Entry]:
    """Yield the files and folders of an archive.

    Args:
        blocks: the archive, decompressed.
        limits: of the archive.

    Raises:
        InstallError: it is damaged, breaks a rule or a limit.
    """
    reader = _Reader(blocks)
    names: list[bytes] = []
    sizes: list[int] = []
    for _ in range(limits.entries):
        head = reader.exactly(_SECTOR)
        if head == _ZEROS:
            _check_end(reader, names)
            return
        size, kind = _parse_head(head)
        if kind in (b"x", b"g", b"L"):
            data = _read_extended(reader, size)
            pairs = [(b"path", data.rstrip(b"\0"))] if kind == b"L" else list(_parse_pax(data))
            names += [text for key, text in pairs if key == b"path"]
            sizes += [int(text) if text.isdigit() and len(text) < 20 else -1 for key, text in pairs if key == b"size"]
            if kind == b"g" and (names or sizes):
                raise bad_archive("it has a header that changes all files")
            continue
        names = names or [_plain_name(head)]
        if len(set(names)) > 1 or any(other != size for other in sizes):
            raise refused_entry(_shown(names[0]), "has two names or two sizes")
        yield from _read_entry(reader, head, kind, size, names[0])
        names, sizes = [], []
    raise bad_archive(f"it lists more than {limits.entries:,} files")


def _read_entry(reader: _Reader, head: bytes, kind: bytes, size: int, raw: bytes) -> Iterator[Entry]:
    """Yield an entry, and skip what the caller did not read of it."""
    path, ends_like_folder = decode_name(raw)
    is_folder = kind == b"5" or (kind in (b"\0", b"0") and ends_like_folder)
    if kind not in (b"0", b"\0", b"5"):
        raise refused_entry(_shown(raw), _KINDS.get(kind, "is neither a file nor a folder"))
    if is_folder and size:
        raise refused_entry(path, "is a folder with content")
    if is_folder:
        yield Entry(path=path, is_folder=True)
        return
    parts = reader.parts(size)

    def write_to(write: Callable[[bytes], object]) -> None:
        for part in parts:
            write(part)

    is_executable = bool(_parse_number(head[100:108], "mode") & 0o100)
    yield Entry(path=path, is_folder=False, is_executable=is_executable, size=size, write_to=write_to)
    for _ in parts:
        pass
    reader.exactly(-size % _SECTOR)


def _parse_head(head: bytes) -> tuple[int, bytes]:
    """Return the size and kind of an entry, whose checksum is right."""
    blank = head[:148] + b" " * 8 + head[156:]
    if _parse_number(head[148:156], "checksum") != sum(blank):
        raise bad_archive("it is not a tar archive, or damaged")
    return _parse_number(head[124:136], "size"), head[156:157]


def _parse_number(field: bytes, what: str) -> int:
    digits = field.rstrip(b" \0").lstrip(b" ")
    if digits.strip(b"01234567"):
        raise bad_archive(f"an entry has an invalid {what}")
    return int(digits or b"0", 8)


def _plain_name(head: bytes) -> bytes:
    """Return the name in a header without an extension."""
    name = head[:100].partition(b"\0")[0]
    prefix = head[345:500].partition(b"\0")[0] if head[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _read_extended(reader: _Reader, size: int) -> bytes:
    if size > _MAX_EXTENDED:
        raise bad_archive(f"it has a header of more than {_MAX_EXTENDED:,} bytes")
    data = reader.exactly(size)
    reader.exactly(-size % _SECTOR)
    return data


def _parse_pax(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a pax header: `LENGTH KEY=VALUE` and a newline each.

    Raises:
        InstallError: it has another form, or a key that a file of a skill has not.
    """
    while data:
        digits, blank, _ = data[:12].partition(b" ")
        length = int(digits) if blank and digits.isdigit() else 0
        record = data[len(digits) + 1 : length]
        key, equals, text = record[:-1].partition(b"=")
        if length > len(data) or not equals or not record.endswith(b"\n"):
            raise bad_archive("it has an invalid header")
        if key == b"linkpath" or key.startswith((b"GNU.sparse", b"SUN.")):
            raise bad_archive(f"it has the header {_shown(key)}, which is for links and sparse files")
        yield key, text
        data = data[length:]


def _check_end(reader: _Reader, names: list[bytes]) -> None:
    if names:
        raise bad_archive("it ends too early")
    while rest := reader.some(BLOCK):
        if rest.strip(b"\0"):
            raise bad_archive("other data follows it")


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


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

    size, count = _check_zip_end(stream, limits)
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


def _check_zip_end(stream: BinaryIO, limits: Limits) -> tuple[int, int]:
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


_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
"""Without a name and a time, from no particular system, compressed as far as possible."""
_MAX_NAME = 100
"""Bytes of a name in a header; a longer one needs a header of its own."""


def unpack(stream: BinaryIO, kind: str, into: str, limits: Limits | None = None) -> None:
    """Unpack an archive into a folder.

    Args:
        stream: the archive; a zip must be a file.
        kind: `tar`, `tar.gz` or `zip`.
        into: an empty folder that no other user can write to. After an error it may contain a part.
        limits: of the archive.

    Raises:
        InstallError: the archive is damaged, contains something that is not allowed, or more than the limits; or its
            files cannot be written.
    """
    limits = limits or Limits()
    if kind == "zip":
        entries = read_zip(stream, limits)
    else:
        entries = read_tar(gunzip(stream, limits) if kind == "tar.gz" else plain(stream, limits), limits)
    paths: list[str] = []
    with os_errors("cannot unpack", "make room on the disk"):
        with open_fd(into, FOLDER_FLAGS) as top:
            for entry in entries:
                if entry.path:
                    check_paths((entry.path,))
                elif not entry.is_folder:
                    raise bad_archive("a file has no name")
                _write(entry, top)
                if not entry.is_folder:
                    paths.append(entry.path)
        check_paths(paths)


def _write(entry: Entry, top: int) -> None:
    *folders, name = [*entry.path.split("/"), ""] if entry.is_folder else entry.path.split("/")
    fd = os.dup(top)
    try:
        for folder in filter(None, folders):
            inner, _ = open_or_make_folder(folder, fd)
            os.close(fd)
            fd = inner
        if entry.write_to is not None:
            with open_fd(name, CREATE_FLAGS, 0o777 if entry.is_executable else 0o666, dir_fd=fd) as file:
                entry.write_to(lambda block: write_all(file, block))
    except (FileExistsError, NotADirectoryError):
        raise refused_entry(entry.path, "is there twice, perhaps in other letters") from None
    finally:
        os.close(fd)


# ── packing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Collector:
    """Keeps what is read of a skill, so that exactly what was checked is packed."""

    def __init__(self) -> None:
        self.files: dict[str, list[bytes]] = {}

    def open_folder(self, path: str) -> None:
        pass

    def close_folder(self, path: str, mode: int) -> None:
        pass

    def open_file(self, path: str) -> Callable[[bytes], None]:
        return self.files.setdefault(path, []).append

    def close_file(self, path: str, mode: int) -> None:
        pass

    def add_link(self, path: str, target: str) -> None:  # noqa: ARG002
        raise InstallError(
            f"{quoted(path, PATH_LIMIT)} is a link, which an archive cannot contain",
            hint="replace it with a copy of the file that it leads to",
        )


def pack_skill(
    folder: str, name: str, check: Callable[[Mapping[str, bytes]], None] | None = None
) -> tuple[bytes, Tree]:
    """Pack a skill as tar with gzip: sorted, without owners and times, below a folder with its name.

    Args:
        folder: of the skill.
        name: of the folder in the archive; if empty, the files are not in a folder.
        check: gets the content of each file by its path, before it is packed; what it raises is raised.

    Returns:
        The archive, and what it contains.

    Raises:
        InstallError: a file cannot be read or is not allowed (see `read_tree`), or is a link.
    """
    collector = _Collector()
    tree = read_tree(folder, collector)
    if check is not None:
        check({path: b"".join(parts) for path, parts in collector.files.items()})
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    checksum = size = 0
    blocks = [_GZIP_HEAD]
    for block in _tar_blocks(tree, collector.files, name):
        checksum, size = zlib.crc32(block, checksum), size + len(block)
        blocks.append(compressor.compress(block))
    end = checksum.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")
    return b"".join([*blocks, compressor.flush(), end]), tree


def _tar_blocks(tree: Tree, contents: dict[str, list[bytes]], name: str) -> Iterator[bytes]:
    folders: set[str] = set()
    for file in tree.files:
        path = f"{name}/{file.path}" if name else file.path
        parts = path.split("/")[:-1]
        for count in range(1, len(parts) + 1):
            folder = "/".join(parts[:count]) + "/"
            if folder not in folders:
                folders.add(folder)
                yield from _tar_head(folder, "5", 0o755, 0)
        yield from _tar_head(path, "0", 0o755 if file.mode == EXECUTABLE else 0o644, file.size)
        yield from contents[file.path]
        yield bytes(-file.size % _SECTOR)
    yield bytes(2 * _SECTOR)


def _tar_head(path: str, kind: str, mode: int, size: int) -> Iterator[bytes]:
    """Yield the header of an entry, after one for its name if that is long or not ASCII."""
    raw = path.encode()
    if len(raw) > _MAX_NAME or not path.isascii():
        record = _pax_record(b"path", raw)
        yield from _tar_head("pax", "x", 0o644, len(record))
        yield record + bytes(-len(record) % _SECTOR)
        raw = raw.decode("ascii", "replace").replace("\ufffd", "_").encode()[:_MAX_NAME]
    numbers = b"%07o\0%07o\0%07o\0%011o\0%011o\0" % (mode, 0, 0, size, 0)
    start, end = raw.ljust(_MAX_NAME, b"\0") + numbers, kind.encode().ljust(101, b"\0") + b"ustar\x0000"
    end = end.ljust(_SECTOR - len(start) - 8, b"\0")
    yield start + b"%06o\0 " % (sum(start) + sum(end) + 8 * ord(" ")) + end


def _pax_record(key: bytes, text: bytes) -> bytes:
    """Return a record, whose length counts its own digits."""
    rest = b" %s=%s\n" % (key, text)
    size = len(rest) + len(str(len(rest) + len(str(len(rest)))))
    return b"%d%s" % (size, rest)
