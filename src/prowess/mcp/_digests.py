"""Compute the digests of files and the front matters of skills, and keep them while the files do not change."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time

from prowess._internal.file_status import SETTLE_NS, stat_fingerprint
from prowess._internal.files import MAX_DIGEST_BYTES, SKILL_FILE
from prowess._internal.fs import READ_FLAGS, open_inside
from prowess._internal.text import neutral
from prowess.errors import SkillError
from prowess.skill import YamlSyntaxError, core_mapping, load

from ._field_rules import FIELD_HINTS, field_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["FileDigests"]


class FileDigests:
    """The SHA-256 digests of files, kept while their status does not change, and front matters by the digest."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str, int]] = {}
        self._frontmatters: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def digest(self, folder: str, path: str) -> tuple[str, int]:
        """Return the digest and the size of a file.

        Raises:
            OSError: it cannot be read, or is not a regular file.
        """
        full = os.path.join(folder, path)
        known = self._known.get(full)
        if known is not None and stat_fingerprint(os.lstat(full)) == known[0]:
            return known[1:]
        fd = open_inside(folder, path.split("/"), READ_FLAGS)
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", full)
            sha256, size = hashlib.sha256(), 0
            while chunk := os.read(fd, 1 << 20):
                sha256.update(chunk)
                size += len(chunk)
                if size > MAX_DIGEST_BYTES:
                    raise OSError(errno.EFBIG, "too large", full)
            after = stat_fingerprint(os.fstat(fd))
        finally:
            os.close(fd)
        result = f"sha256:{sha256.hexdigest()}", size
        # What changed while it was read, or just before, is read again next time.
        if after == stat_fingerprint(status) and status.st_mtime_ns < time.time_ns() - SETTLE_NS:
            self._known[full] = (after, *result)
        return result

    def frontmatter(self, folder: str, digest: str) -> Mapping[str, Any]:
        """Return the front matter of a skill as JSON.

        Args:
            folder: of the skill.
            digest: that of its SKILL.md.

        Raises:
            SkillError: it is missing, or cannot be sent as JSON.
        """
        known = self._frontmatters.get(folder)
        if known is None or known[0] != digest:
            known = self._frontmatters[folder] = (digest, _frontmatter(os.path.join(folder, SKILL_FILE)))
        return known[1]


def _frontmatter(path: str) -> Mapping[str, Any]:
    """Return the front matter of a SKILL.md as JSON.

    Raises:
        SkillError: it is missing, cannot be sent as JSON, or has a field for which clients refuse the whole list.
    """
    document = load(path).document
    if document is None or document.frontmatter is None:
        raise SkillError("its SKILL.md cannot be read")
    try:
        frontmatter = core_mapping(document.frontmatter)
    except (YamlSyntaxError, ValueError, RecursionError) as error:
        raise SkillError(f"its front matter cannot be sent as JSON: {neutral(str(error)[:200])}") from None
    for field, problem in field_problems(frontmatter):
        raise SkillError(f"{problem}; {FIELD_HINTS[field]}")
    return frontmatter
