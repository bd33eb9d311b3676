"""Unpack archives that anyone may have made, and pack skills so that every machine writes the same bytes.

An archive contains files and folders, and nothing else: a link, a device, a path that leads out, two names that are one
on some systems, or more than the limits is an error. Of the modes only the right to execute is kept.

The bytes that `pack_skill` writes depend on the files and on zlib: another implementation of it (zlib-ng) may compress
in another way. The tar inside, and with it the digest of each file, is always the same.
"""

from __future__ import annotations

import os
import zlib

from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, open_fd, open_or_make_folder, write_all
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError

from ._archive_entry import Entry, Limits, bad_archive, refused_entry
from ._tar import gunzip, plain, read_tar
from ._tree import EXECUTABLE, check_paths, read_tree
from ._zip import read_zip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from ._tree import Tree

__all__ = ["Limits", "pack_skill", "unpack"]

_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
"""Without a name and a time, from no particular system, compressed as far as possible."""
_SECTOR = 512
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
    try:
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
    except OSError as error:
        raise InstallError(f"cannot unpack: {describe_os_error(error)}", hint="make room on the disk") from None


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


def pack_skill(folder: str, name: str) -> tuple[bytes, Tree]:
    """Pack a skill as tar with gzip: sorted, without owners and times, below a folder with its name.

    Args:
        folder: of the skill.
        name: of the folder in the archive; if empty, the files are not in a folder.

    Returns:
        The archive, and what it contains.

    Raises:
        InstallError: a file cannot be read or is not allowed (see `read_tree`), or is a link.
    """
    collector = _Collector()
    tree = read_tree(folder, collector)
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
