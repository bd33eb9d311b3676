"""Copy a skill so that what runs is what was checked: a sealed copy.

The integrity digest is computed from the same bytes, in the same step, that are written into the copy. So a check of
that digest is a check of the copy, and a change of the skill before, during or after the copy is noticed or has no
effect. The copy is in a new temporary folder that only its user can enter. It is read-only, and removed at the end, or
when the process that made it is gone. In a sandbox, which lets nothing write there, files keep the permissions of their
author for their owner: scripts copy files of their skill with their permissions, and then change the copies.

`__pycache__` counts for the digest and is not copied: Python would run a compiled file there in place of the source
that was reviewed.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, write_all
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import describe_os_error
from prowess.errors import SkillError

from ._integrity import read_integrity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_PREFIX = "prowess-sealed-"
_LEFT_OUT = "__pycache__"


class SealedCopy(Frozen):
    """A copy of a skill."""

    folder: str
    """Its path, absolute and without links; it has the name of the skill's folder."""
    digest: str
    """The integrity digest of what was copied."""


@contextmanager
def sealed_copy(
    folder: str, check: Callable[[str], None], *, compiled: bool = False, contained: bool = True
) -> Iterator[SealedCopy]:
    """Yield a sealed copy of a skill; remove it at the end.

    Args:
        folder: the skill's folder; a link to it is followed.
        check: gets the integrity digest of the copy; what it raises is raised, and the copy is removed.
        compiled: whether `__pycache__` is copied, too, for a copy that is only read.
        contained: whether what runs of it is in a sandbox; see `temporary_directory_root`.

    Raises:
        SkillError: the skill has no integrity digest (see `read_integrity`), or cannot be copied.
    """
    real = real_path(folder)
    try:
        temporary = TemporaryDirectory(_PREFIX, real_path(temporary_directory_root(contained=contained)))
    except OSError as error:
        raise _copy_error(error) from None
    writer = _CopyWriter(os.path.join(temporary.path, "copy", os.path.basename(real) or "skill"), compiled, contained)
    try:
        try:
            digest = read_integrity(real, writer).digest
        finally:
            writer.close()
        check(digest)
        yield SealedCopy(folder=writer.folder, digest=digest)
    finally:
        with suppress(OSError):  # what cannot be removed now is removed with the next temporary folder
            temporary.close()


class _CopyWriter:
    """Writes what is read of a skill into a new folder, read-only unless what runs is in a sandbox.

    Paths are safe here: no other user can enter the folder, and each path is written once.
    """

    def __init__(self, folder: str, compiled: bool, contained: bool) -> None:
        self.folder, self._compiled = folder, compiled
        self._permissions = 0o755 if contained else 0o555
        self._fd = -1

    def open_folder(self, path: str) -> None:
        if not self._is_left_out(path):
            _attempt(os.mkdir if path else os.makedirs, self._target(path), 0o700)

    def close_folder(self, path: str, mode: int) -> None:
        if not self._is_left_out(path):
            _attempt(os.chmod, self._target(path), (mode & self._permissions) | 0o500)

    def open_file(self, path: str) -> Callable[[bytes], None]:
        if self._is_left_out(path):
            return lambda _: None
        self._fd = _attempt(os.open, self._target(path), CREATE_FLAGS, 0o600)
        return self._write

    def _write(self, data: bytes) -> None:
        _attempt(write_all, self._fd, data)

    def close_file(self, path: str, mode: int) -> None:
        if self._is_left_out(path):
            return
        fd, self._fd = self._fd, -1
        os.close(fd)
        # Without set-user-ID: what a bit does depends on the owner, and the copy belongs to another user.
        _attempt(os.chmod, self._target(path), (mode & self._permissions) | 0o400)

    def add_link(self, path: str, target: str) -> None:
        if not self._is_left_out(path):
            _attempt(os.symlink, target, self._target(path))

    def close(self) -> None:
        """Close the file of a copy that was not completed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _is_left_out(self, path: str) -> bool:
        return not self._compiled and _LEFT_OUT in path and _LEFT_OUT in path.split("/")

    def _target(self, path: str) -> str:
        return os.path.join(self.folder, path) if path else self.folder


def _attempt(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the system.

    Raises:
        SkillError: it fails.
    """
    try:
        return call(*arguments)
    except OSError as error:
        raise _copy_error(error) from None


def _copy_error(error: OSError) -> SkillError:
    message = f"the skill cannot be copied: {describe_os_error(error)}"
    return SkillError(message, hint="check whether the disk is full, or set `TMPDIR` to a folder you may write to")
