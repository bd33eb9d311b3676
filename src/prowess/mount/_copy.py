"""Copy a measured skill into a folder.

Every file and folder is opened from the descriptor of the folder that contains it, never through a link, and only if it
is still what was measured. No more bytes are read than were measured, plus one.
"""

from __future__ import annotations

import os

from prowess._internal.file_status import stat_fingerprint
from prowess._internal.files import MAX_SKILL_TOTAL_BYTES
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, READ_FLAGS, open_fd, write_all
from prowess._internal.text import describe_os_error
from prowess.errors import SkillMountError
from prowess.skill import digest_of_records, integrity_record

from ._measure import changed_error, hint_for, open_unchanged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ._measure import MeasuredFolder, MeasuredTree

__all__ = ["CopyResult", "copy_tree"]

_CHUNK_BYTES = 1 << 20


class CopyResult(Frozen):
    """What a copy contains."""

    files: int
    size: int
    """Bytes."""
    digest: str
    """As `files.skill_digest` computes it."""
    integrity: str
    """As `skill.integrity_digest` computes it."""


def copy_tree(tree: MeasuredTree, into_fd: int, name: str, overrides: Mapping[str, bytes] = EMPTY) -> CopyResult:
    """Copy a skill as it was measured.

    Files keep their execute bits; only their owner may write to the copies.

    Args:
        tree: the skill, without problems.
        into_fd: a descriptor of the folder to copy into.
        name: the name of the copy, which must not exist yet.
        overrides: files with another content than in the source: path in the copy to content.

    Raises:
        SkillMountError: something changed since it was measured, or cannot be read or written; a part of the copy may
            exist.
    """
    copier = _Copier(tree.names, overrides)
    # Links on the way to a single file are the user's own, also if they lead to the folder that contains it.
    flags = FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0) if tree.names else FOLDER_FLAGS
    try:
        with open_fd(tree.source_folder, flags) as fd:
            if not tree.names and stat_fingerprint(os.fstat(fd)) != stat_fingerprint(tree.top.status):
                raise changed_error("")
            copier.copy_folder(tree.top, fd, into_fd, name, "")
    except SkillMountError:
        raise
    except OSError as error:
        raise SkillMountError(f"cannot copy the skill: {describe_os_error(error)}", hint=hint_for(error)) from None
    return copier.result()


class _Copier:
    """Copies one folder after the other, and computes the digests of what it copies."""

    def __init__(self, names: Mapping[str, str], overrides: Mapping[str, bytes]) -> None:
        import hashlib

        self.hash = hashlib.sha256
        self.names, self.overrides = names, overrides
        self.integrity_records: list[tuple[bytes, bytes]] = []
        self.file_digests: list[tuple[bytes, str]] = []
        self.size = 0

    def result(self) -> CopyResult:
        digest = self.hash()
        for path, file_digest in sorted(self.file_digests):
            digest.update(path + b"\0" + file_digest.encode() + b"\n")
        return CopyResult(
            files=len(self.file_digests),
            size=self.size,
            digest=f"sha256:{digest.hexdigest()}",
            integrity=digest_of_records(self.integrity_records),
        )

    def copy_folder(self, measured: MeasuredFolder, fd: int, parent_fd: int, name: str, path: str) -> None:
        """Copy an open folder into a new one."""
        mode = measured.status.st_mode & 0o755 | 0o700
        os.mkdir(name, 0o700, dir_fd=parent_fd)
        with open_fd(name, FOLDER_FLAGS, dir_fd=parent_fd) as into_fd:
            for file, status in measured.files:
                new_name = self.names.get(file, file) if not path else file
                self.copy_file(file, new_name, status, fd, into_fd, f"{path}/{new_name}" if path else new_name)
            for inner, inner_measured in measured.folders:
                with open_unchanged(inner, fd, inner_measured.status, FOLDER_FLAGS) as inner_fd:
                    self.copy_folder(inner_measured, inner_fd, into_fd, inner, f"{path}/{inner}" if path else inner)
            os.fchmod(into_fd, mode)
        self.integrity_records.append((os.fsencode(path), integrity_record("d", mode)))

    def copy_file(self, name: str, new_name: str, measured: os.stat_result, fd: int, into_fd: int, path: str) -> None:
        """Copy a file from one open folder into another."""
        mode = measured.st_mode & 0o755 | 0o400
        content = self.hash()
        with open_unchanged(name, fd, measured, READ_FLAGS) as source_fd:
            with open_fd(new_name, CREATE_FLAGS, dir_fd=into_fd) as copy_fd:
                size = 0
                for data in self._chunks(source_fd, measured.st_size, path):
                    size += len(data)
                    if self.size + size > MAX_SKILL_TOTAL_BYTES:
                        hint = "remove files that the skill does not need"
                        raise SkillMountError("the skill is larger than 10 MiB", hint=hint)
                    content.update(data)
                    write_all(copy_fd, data)
                os.fchmod(copy_fd, mode)
            if stat_fingerprint(os.fstat(source_fd)) != stat_fingerprint(measured):
                raise changed_error(path)
        self.size += size
        encoded_path, digest = os.fsencode(path), content.hexdigest()
        self.file_digests.append((encoded_path, digest))
        self.integrity_records.append((encoded_path, integrity_record("f", mode, size, digest)))

    def _chunks(self, fd: int, size: int, path: str) -> Iterator[bytes]:
        """Yield the content of a file, or its override."""
        if path in self.overrides:
            yield self.overrides[path]
            return
        # Reading one byte more than was measured shows a file that has grown, and ends with a short read otherwise.
        left = size + 1
        while left > 0 and (data := os.read(fd, min(left, _CHUNK_BYTES))):
            is_short = len(data) < min(left, _CHUNK_BYTES)
            left -= len(data)
            yield data
            if left == 1 and is_short:
                return
        if left != 1:
            raise changed_error(path)
