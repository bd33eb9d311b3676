"""Give a call the file of its script: a copy of the bytes that were there when the tool was made.

A script of a skill runs from a sealed copy of the skill. A script of the role itself runs from a sealed copy of the
folder it is in, or, right in the role's folder, from a copy of its file: the rest of that folder is what the role works
on, and changes.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prowess._internal.files import MAX_DIGEST_BYTES, read_up_to
from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.agent.sealed_skills import LoadedFolder

from ._paths import open_folder, open_regular_file, split_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.agent.policy import SealedSkill, ToolContext

__all__ = ["ReadyScript", "ScriptFile"]

_MAX_FIRST_LINE_BYTES = 1024
"""Bytes of a script's first line, which may name its interpreter."""


class ReadyScript(Frozen):
    """A script that can run now."""

    path: str
    first_bytes: bytes
    copy: str | None = None
    """The sealed copy of the folder that the script is in."""


class ScriptFile(Frozen):
    """Where the text of a script comes from."""

    name: str
    body: bytes | None = None
    """The text, if the configuration has it."""
    folder: str
    """The folder that `path` is relative to; absolute, without links."""
    path: str | None = None
    sealed: SealedSkill | None = None
    """What `folder` is checked and copied by."""
    file_digest: str | None = None
    """The SHA-256 of the file, without `sealed`."""

    @classmethod
    def load(cls, name: str, folder: str, path: str | None, body: str | None, context: ToolContext) -> ScriptFile:
        """Return the script as it is now.

        Args:
            name: of its tool.
            folder: of the skill or the role.
            path: of the file, relative to the folder.
            body: the text, instead of `path`.
            context: what its tool is made with.

        Raises:
            ToolFailedError: the file does not exist in the folder.
            ConfigError: the folder that it is in cannot be copied.
        """
        data = None if body is None else body.encode("utf-8", "replace")
        parts = [] if path is None else _split(path, folder)
        content = None if path is None else _read_file(folder, parts, path)
        sealed = context.sealed
        if context.skill is not None:
            sealed = sealed or LoadedFolder.load(folder)
        elif len(parts) > 1:
            folder = os.path.join(folder, *parts[:-1])
            parts, sealed = parts[-1:], LoadedFolder.load(folder)
        return cls(
            name=name,
            body=data,
            folder=folder,
            path="/".join(parts) if parts else None,
            sealed=sealed,
            file_digest=None if content is None else hashlib.sha256(content).hexdigest(),
        )

    @contextmanager
    def ready(self, scratch: str) -> Iterator[ReadyScript]:
        """Check the script, and yield what runs.

        Args:
            scratch: a new folder of the call.

        Raises:
            RefusedError: it changed, or its user does not trust it any more.
            ToolFailedError: it does not exist.
        """
        if self.sealed is None:
            yield self._write(scratch, self.body if self.path is None else self._unchanged_file())
            return
        with self.sealed.copy() as copy:
            if self.path is None:
                yield self._write(scratch, self.body).with_changes(copy=copy.folder)
                return
            parts = _split(self.path, copy.folder)
            head = _read_file(copy.folder, parts, self.path)[:_MAX_FIRST_LINE_BYTES]
            yield ReadyScript(path=os.path.join(copy.folder, *parts), first_bytes=head, copy=copy.folder)

    def _unchanged_file(self) -> bytes:
        path = self.path or ""
        content = _read_file(self.folder, _split(path, self.folder), path)
        if hashlib.sha256(content).hexdigest() != self.file_digest:
            message = f"{quoted(path)} has changed since the role was loaded: review it, then start the role again"
            raise RefusedError(message)
        return content

    def _write(self, scratch: str, content: bytes | None) -> ReadyScript:
        """Write the text into a folder of its own, in which nothing else is imported."""
        folder = os.path.join(scratch, "script")
        os.mkdir(folder, 0o700)
        path = os.path.join(folder, self.name if self.path is None else os.path.basename(self.path))
        with open(path, "xb") as file:
            file.write(content or b"")
        return ReadyScript(path=path, first_bytes=(content or b"")[:_MAX_FIRST_LINE_BYTES])


def _split(path: str, folder: str) -> list[str]:
    parts = split_path(path, folder)
    if not parts:
        raise ToolFailedError(f"{quoted(path)} is not a file")
    return parts


def _read_file(folder: str, parts: list[str], path: str) -> bytes:
    """Return the content of a file, opened without following a link.

    Raises:
        ToolFailedError: the file does not exist in the folder, or is too large.
    """
    with open_folder(folder, parts[:-1]) as fd, open_regular_file(fd, parts[-1], path) as (file_fd, _):
        content = read_up_to(file_fd, MAX_DIGEST_BYTES)
    if len(content) > MAX_DIGEST_BYTES:
        raise ToolFailedError(f"{quoted(path)} is larger than {MAX_DIGEST_BYTES // 1024 // 1024} MiB")
    return content
