"""Read a tar archive, perhaps compressed with gzip, as a stream: files and folders only, within limits.

The reader of the standard library understands more than a skill needs: links, devices, sparse files, headers that
contradict each other and that two programs read in two ways. Here all of these are errors.

    ustar, and the older format without a magic number
    pax           `path`; `size` must repeat that of the entry; headers for all entries may only have comments
    GNU           long names
"""

from __future__ import annotations

import zlib

from ._archive_entry import BLOCK, Entry, bad_archive, decode_name, refused_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from ._archive_entry import Limits

__all__ = ["gunzip", "plain", "read_tar"]

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
