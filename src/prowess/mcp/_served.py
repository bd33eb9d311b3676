"""Turn a catalog into what a server of MCP serves: entries of skills, and files with digests.

The rules are those of SEP-2640 (`specification/stable/skills.mdx`, 2026-07-28). A skill that they do not allow is left
out, with a reason, because other clients fail on the whole list.
"""

from __future__ import annotations

import hashlib
import os
import stat
from bisect import bisect_right
from urllib.parse import quote

from prowess._internal.file_status import stat_fingerprint
from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES, read_up_to, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.fs import READ_FLAGS, open_inside
from prowess._internal.text import describe_os_error, neutral, quoted
from prowess.catalog import REACHABLE
from prowess.errors import SkillError, SkillFileError
from prowess.session import resource_folder
from prowess.skill import YamlSyntaxError, core_mapping, is_portable_name, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from prowess.catalog import Catalog, Entry

__all__ = ["MAX_BYTES", "MAX_FILES", "Digests", "ServedCatalog", "ServedFile", "ServedSkill"]

MAX_FILES, MAX_BYTES = 512, 16 * 1024 * 1024
"""Files and bytes of a skill that every host accepts."""
_SAFE = "/~!$&'()*+,;=:@"
"""Characters that a path in a URI need not escape (RFC 3986, `pchar`)."""


class ServedFile(Frozen):
    """A file of a skill."""

    uri: str
    folder: str
    """Of its skill; absolute and without links."""
    path: str
    """Relative to the folder, with `/`."""
    digest: str
    size: int

    def read(self) -> bytes:
        """Return its bytes as they are now; no link is followed.

        Raises:
            SkillFileError: it cannot be read any more.
        """
        try:
            fd = open_inside(self.folder, self.path.split("/"), READ_FLAGS)
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise SkillFileError(f"{quoted(self.path)} is not a file any more")
                data = read_up_to(fd, MAX_DIGEST_BYTES)
            finally:
                os.close(fd)
        except (OSError, ValueError) as error:
            reason = describe_os_error(error) if isinstance(error, OSError) else "invalid path"
            raise SkillFileError(f"{quoted(self.path)} cannot be read: {reason}") from None
        if len(data) > MAX_DIGEST_BYTES:
            raise SkillFileError(f"{quoted(self.path)} is larger than {MAX_DIGEST_BYTES:,} bytes")
        return data


class ServedSkill(Frozen):
    """A skill with what an entry of `skills/list` says of it."""

    uri: str
    """Of its SKILL.md."""
    entry: Entry
    frontmatter: Mapping[str, Any]
    files: tuple[ServedFile, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the skill in `skills/list` and `skills/get`."""
        resources = [{"uri": file.uri, "digest": file.digest, "size": file.size} for file in self.files]
        return {"uri": self.uri, "frontmatter": dict(self.frontmatter), "resources": resources}

    @property
    def is_large(self) -> bool:
        """Whether hosts may decline it for its size."""
        return len(self.files) > MAX_FILES or sum(file.size for file in self.files) > MAX_BYTES


class Digests:
    """The SHA-256 digests of files, kept while their status does not change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str, int]] = {}

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
                raise OSError(None, "not a regular file", full)
            sha256, size = hashlib.sha256(), 0
            while chunk := os.read(fd, 1 << 20):
                sha256.update(chunk)
                size += len(chunk)
                if size > MAX_DIGEST_BYTES:
                    raise OSError(None, "too large", full)
            # A file that changes meanwhile has the digest of what was read, and is read again next time.
            after = stat_fingerprint(os.fstat(fd))
        finally:
            os.close(fd)
        result = f"sha256:{sha256.hexdigest()}", size
        if after == stat_fingerprint(status):
            self._known[full] = (after, *result)
        return result


class ServedCatalog:
    """What is served of a catalog.

    Args:
        catalog: the skills.
        digests: those of files, kept from one catalog to the next.
        only: names of the skills to serve; by default all.
    """

    def __init__(self, catalog: Catalog, digests: Digests, only: frozenset[str] = frozenset()) -> None:
        self.catalog = catalog
        self.left_out: list[tuple[Entry, str]] = []
        """Skills that cannot be served, with the reason."""
        self.skills: dict[str, ServedSkill] = {}
        """Skills by the URI of their SKILL.md, sorted."""
        self.files: dict[str, ServedFile] = {}
        self.folders: dict[str, dict[str, ServedFile | None]] = {}
        """The children of each directory by its URI: a file, or `None` for a directory."""
        served = []
        for entry in catalog.skills:
            if entry.state in REACHABLE and (not only or entry.name in only):
                try:
                    served.append((entry, *_read_skill(entry)))
                except SkillError as error:
                    self.left_out.append((entry, str(error)))
        tops = _assign_paths(served)
        for (entry, folder, frontmatter), top in sorted(zip(served, tops, strict=True), key=lambda item: item[1]):
            try:
                files = tuple(_served_files(top, folder, digests))
            except SkillError as error:
                self.left_out.append((entry, str(error)))
                continue
            skill = ServedSkill(uri=f"skill://{top}/SKILL.md", entry=entry, frontmatter=frontmatter, files=files)
            self.skills[skill.uri] = skill
            self._add_files(f"skill://{top}", files)

    def page(self, after: str | None, limit: int) -> tuple[Sequence[ServedSkill], str | None]:
        """Return the skills that follow a URI, at most so many, and the last URI if there are more."""
        uris = [*self.skills]
        start = 0 if after is None else bisect_right(uris, after)
        chosen = uris[start : start + limit]
        return [self.skills[uri] for uri in chosen], chosen[-1] if start + limit < len(uris) else None

    def _add_files(self, top: str, files: Iterable[ServedFile]) -> None:
        self.folders.setdefault(top, {})
        for file in files:
            self.files[file.uri] = file
            child, value = file.uri, file
            parent = child.rpartition("/")[0]
            self.folders.setdefault(parent, {})[child] = value
            while parent != top:
                child, parent = parent, parent.rpartition("/")[0]
                self.folders.setdefault(parent, {}).setdefault(child, None)


def _read_skill(entry: Entry) -> tuple[str, dict[str, Any]]:
    """Return the folder of a skill and its front matter.

    Raises:
        SkillError: it cannot be served.
    """
    folder = resource_folder(entry)
    if folder is None or not os.path.isdir(folder):
        raise SkillError("it has no folder of its own")
    document = load(os.path.join(folder, "SKILL.md")).document
    if document is None or document.frontmatter is None:
        raise SkillError("its SKILL.md cannot be read")
    try:
        frontmatter = core_mapping(document.frontmatter)
    except (YamlSyntaxError, ValueError, RecursionError) as error:
        raise SkillError(f"its front matter cannot be sent as JSON: {neutral(str(error)[:200])}") from None
    name, description = frontmatter.get("name"), frontmatter.get("description")
    if not isinstance(name, str) or not is_portable_name(name):
        raise SkillError("its name breaks the rules of agentskills.io")
    if not isinstance(description, str) or not description.strip():
        raise SkillError("it has no description")
    return folder, frontmatter


def _assign_paths(skills: Sequence[tuple[Entry, str, Mapping[str, Any]]]) -> list[str]:
    """Return the path of each skill in the name space of the server; the last part is its name.

    A skill inside the folder of another one is below that one's path, if its folder has its name. Of skills with one
    name, all but the first get a number in front.
    """
    by_folder: dict[str, str] = {}
    taken: set[str] = set()
    tops = dict[int, str]()
    for index, (_, folder, frontmatter) in sorted(enumerate(skills), key=lambda item: item[1][1]):
        name = str(frontmatter["name"])
        outer = folder
        top = name
        while (outer := os.path.dirname(outer)) not in (folder, os.path.dirname(outer)):
            if outer in by_folder and os.path.basename(folder) == name:
                top = f"{by_folder[outer]}/{_uri_path(os.path.relpath(folder, outer))}"
                break
        number = 2
        while top in taken:
            top, number = f"{number}/{name}", number + 1
        taken.add(top)
        by_folder[folder] = tops[index] = top
    return [tops[index] for index in range(len(skills))]


def _served_files(top: str, folder: str, digests: Digests) -> Iterable[ServedFile]:
    """Yield all regular files of a skill, its SKILL.md included.

    Raises:
        SkillError: a file cannot be read, or there are too many.
    """
    names = [path for path, _ in skill_files(folder)]
    if len(names) >= MAX_SKILL_FILES:
        raise SkillError(f"it has {MAX_SKILL_FILES:,} files or more")
    if "SKILL.md" not in names:
        raise SkillError("its SKILL.md is a link, or has another name")
    for path in names:
        try:
            digest, size = digests.digest(folder, path)
        except (OSError, ValueError) as error:
            reason = describe_os_error(error) if isinstance(error, OSError) else "invalid path"
            raise SkillError(f"its file {quoted(path)} cannot be read: {reason}") from None
        yield ServedFile(uri=f"skill://{top}/{_uri_path(path)}", folder=folder, path=path, digest=digest, size=size)


def _uri_path(path: str) -> str:
    return quote(os.fsencode(path.replace(os.sep, "/")), safe=_SAFE)
