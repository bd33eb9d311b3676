"""Read the folder of a skill: the digests of its files, its front matter, and what lists of skills say of it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import time
from urllib.parse import quote

from prowess._internal.file_status import SETTLE_NS
from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES, SKILL_FILE, skill_files
from prowess._internal.fs import READ_FLAGS, open_inside
from prowess._internal.text import describe_os_error, neutral, quoted
from prowess.catalog import FINGERPRINT_BYTES, fingerprint, newest_time
from prowess.errors import SkillError
from prowess.skill import YamlSyntaxError, core_mapping, load

from ._field_rules import FIELD_HINTS, field_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["COLUMNS", "ENTRY", "Content", "encode_json", "read_content", "uri_path"]

_SAFE = "/~!$&'()*+,;=:@"
"""Characters that a path in a URI need not escape (RFC 3986, `pchar`)."""
COLUMNS, ENTRY = 5, 1
"""The values of a row, and the number of the largest of them."""
_KnownFiles = dict[str, tuple[bytes, str, int]]
"""The fingerprint, the digest and the size of files, by path."""


class Content:
    """The folder of a skill as it was at one moment. Slots, because there are thousands.

    Args:
        folder: of the skill.
        top: the path of the skill in the name space of the server.
        entry: what a list says of it, as JSON; empty if it cannot be listed.
        problem: why it cannot be listed; empty if it has another name by now.
        names: the paths in it, relative to it and separated by NUL: first itself, an empty one, then its folders and
            its files.
        fingerprints: those of the paths.
        is_settled: whether any later change shows in the fingerprints.
    """

    __slots__ = ("entry", "fingerprints", "folder", "is_settled", "names", "problem", "top", "watches")

    def __init__(
        self,
        folder: str,
        top: str,
        entry: bytes | memoryview,
        problem: str,
        names: bytes,
        fingerprints: bytes,
        *,
        is_settled: bool,
    ) -> None:
        self.folder, self.top, self.entry, self.problem = folder, top, entry, problem
        self.names, self.fingerprints, self.is_settled = names, fingerprints, is_settled
        self.watches: tuple[int, ...] | None = None
        """Of its paths, if each later change is seen; empty if there cannot be any."""

    def paths(self) -> list[str]:
        """Return the paths of its fingerprints."""
        folder = self.folder
        return [f"{folder}/{name}" if name else folder for name in os.fsdecode(self.names).split("\0")]

    def row(self) -> tuple[bytes | memoryview, ...]:
        """Return what `from_row` takes."""
        return os.fsencode(self.top), self.entry, self.problem.encode(), self.names, self.fingerprints

    @classmethod
    def from_row(cls, folder: str, row: tuple[bytes | memoryview, ...]) -> Content:
        """Return the content of a folder that `row` wrote.

        Raises:
            ValueError: it did not.
        """
        top, entry, problem, names, fingerprints = bytes(row[0]), row[1], *map(bytes, row[2:])
        if len(fingerprints) != (names.count(b"\0") + 1) * FINGERPRINT_BYTES or names[:1].strip(b"\0"):
            raise ValueError("wrong number of fingerprints")
        return cls(folder, os.fsdecode(top), entry, problem.decode(), names, fingerprints, is_settled=True)

    def known_files(self) -> _KnownFiles:
        """Return what is known of its files; nothing if a change may not show."""
        if not self.entry or not self.is_settled:
            return {}
        resources = json.loads(bytes(self.entry))["resources"]
        names = os.fsdecode(self.names).split("\0")[-len(resources) :]
        start = len(self.fingerprints) - len(names) * FINGERPRINT_BYTES
        states = (
            self.fingerprints[at : at + FINGERPRINT_BYTES]
            for at in range(start, len(self.fingerprints), FINGERPRINT_BYTES)
        )
        return {
            name: (state, resource["digest"], resource["size"])
            for name, state, resource in zip(names, states, resources, strict=True)
        }


def read_content(folder: str, top: str, before: Content | None = None) -> Content:
    """Read the folder of a skill.

    Args:
        folder: of the skill.
        top: its path in the name space of the server.
        before: what the folder contained; files that did not change since are not read again.
    """
    started = time.time_ns()
    folders: list[str] = []
    files = [path for path, _ in skill_files(folder, folders=folders)]
    known = before.known_files() if before is not None and before.folder == folder else {}
    states: list[bytes] = []
    entry, problem = b"", ""
    try:
        entry = _read_entry(folder, top, folders, files, known, states)
    except SkillError as error:
        problem = str(error)
    inner = [path[len(folder) + 1 :] for path in folders if path]
    fingerprints = b"".join(states)
    # A folder that could not be listed is an empty text: no fingerprint shows what becomes of it.
    is_whole = len(states) == len(folders) + len(files) and all(states) and all(folders)
    is_settled = is_whole and newest_time(fingerprints) <= started - SETTLE_NS
    if is_settled:
        # If a folder above was renamed meanwhile, these are the fingerprints of another folder than the one listed.
        listed_again: list[str] = []
        is_settled = [path for path, _ in skill_files(folder, folders=listed_again)] == files
        is_settled &= listed_again == folders
    names = os.fsencode("\0".join([*inner, *files]))
    return Content(folder, top, entry, problem, names, fingerprints, is_settled=is_settled)


def _read_entry(
    folder: str, top: str, folders: Sequence[str], files: Sequence[str], known: _KnownFiles, states: list[bytes]
) -> bytes:
    """Return what a list says of a skill; empty if it has another name by now. `states` gets fingerprints.

    Raises:
        SkillError: it cannot be listed.
    """
    if len(files) >= MAX_SKILL_FILES:
        raise SkillError(f"it has {MAX_SKILL_FILES:,} files or more")
    if SKILL_FILE not in files:
        raise SkillError("its SKILL.md is missing, or a link")
    try:
        states += [fingerprint(os.lstat(path)) for path in folders if path]
    except OSError as error:
        raise SkillError(f"it cannot be read: {describe_os_error(error)}") from None
    resources = []
    for path in files:
        state, digest, size = _file(folder, path, known)
        states.append(state)
        resources.append({"uri": f"skill://{top}/{uri_path(path)}", "digest": digest, "size": size})
    frontmatter = _frontmatter(os.path.join(folder, SKILL_FILE))
    if frontmatter["name"] != top.rpartition("/")[2]:
        return b""
    return encode_json({"uri": f"skill://{top}/{SKILL_FILE}", "frontmatter": frontmatter, "resources": resources})


def uri_path(path: str) -> str:
    """Return a path as it is in a URI."""
    return quote(os.fsencode(path.replace(os.sep, "/")), safe=_SAFE)


def encode_json(value: Any) -> bytes:
    """Return a value as JSON.

    Raises:
        SkillError: JSON has no such value.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        raise SkillError(f"its front matter cannot be sent as JSON: {neutral(str(error)[:200])}") from None


def _file(folder: str, path: str, known: _KnownFiles) -> tuple[bytes, str, int]:
    """Return the fingerprint, the digest and the size of a file.

    Raises:
        SkillError: it cannot be read, or is not a regular file.
    """
    try:
        if path in known and fingerprint(os.lstat(os.path.join(folder, path))) == known[path][0]:
            return known[path]
        return _read_file(folder, path)
    except (OSError, ValueError) as error:
        reason = describe_os_error(error) if isinstance(error, OSError) else "invalid path"
        raise SkillError(f"its file {quoted(path)} cannot be read: {reason}") from None


def _read_file(folder: str, path: str) -> tuple[bytes, str, int]:
    """Return the fingerprint, the digest and the size of a file that is read now.

    Raises:
        OSError: it cannot be read, or is not a regular file.
        ValueError: its path is invalid.
    """
    fd = open_inside(folder, path.split("/"), READ_FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        sha256, size = hashlib.sha256(), 0
        while chunk := os.read(fd, 1 << 20):
            sha256.update(chunk)
            size += len(chunk)
            if size > MAX_DIGEST_BYTES:
                raise OSError(errno.EFBIG, "too large", path)
        return fingerprint(os.fstat(fd)), f"sha256:{sha256.hexdigest()}", size
    finally:
        os.close(fd)


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
