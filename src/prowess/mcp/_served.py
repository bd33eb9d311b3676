"""Turn a catalog into what a server of MCP serves: entries of skills, and files with digests.

The rules are those of SEP-2640 (`specification/stable/skills.mdx`, 2026-07-28). A skill that they do not allow is left
out, with a reason, because other clients fail on the whole list.
"""

from __future__ import annotations

import json
import os
import re
import stat
from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import unquote

from prowess._internal.files import MAX_DIGEST_BYTES, SKILL_FILE, read_up_to, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.fs import READ_FLAGS, open_inside
from prowess._internal.inside import has_link
from prowess._internal.text import describe_os_error, quoted
from prowess.catalog import REACHABLE
from prowess.errors import SkillError, SkillFileError
from prowess.findings import finding
from prowess.session import resource_folder
from prowess.skill import is_portable_name

from ._contents import SkillContents, read_frontmatter, uri_path
from ._remote_skill import MAX_BYTES, MAX_FILES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from prowess.catalog import Catalog, Entry
    from prowess.findings import Finding

    from ._contents import Content

_CHECKED_EARLY = 1000
_find_sizes = re.compile(rb'"size":(\d{1,15})').findall
"""Find the sizes of the files in an entry, without the time that parsing it takes."""


class ServedFile(Frozen):
    """A file of a skill."""

    uri: str
    folder: str
    """Of its skill; absolute and without links."""
    path: str
    """Relative to the folder, with `/`."""

    def read(self) -> bytes:
        """Return its bytes as they are now; no link is followed.

        Raises:
            SkillFileError: it cannot be read.
        """
        try:
            fd = open_inside(self.folder, self.path.split("/"), READ_FLAGS)
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise SkillFileError(f"{quoted(self.path)} is not a file")
                data = read_up_to(fd, MAX_DIGEST_BYTES)
            finally:
                os.close(fd)
        except (OSError, ValueError) as error:
            raise SkillFileError(f"{quoted(self.path)} cannot be read: {_reason(error)}") from None
        if len(data) > MAX_DIGEST_BYTES:
            raise SkillFileError(f"{quoted(self.path)} is larger than {MAX_DIGEST_BYTES:,} bytes")
        return data


class ServedSkill(Frozen):
    """A skill with what an entry of `skills/list` says of it, as it was at one moment."""

    uri: str
    """Of its SKILL.md."""
    frontmatter: Mapping[str, Any]
    files: tuple[tuple[ServedFile, str, int], ...]
    """Its files, each with digest and size."""

    @property
    def top(self) -> str:
        """Its path in the name space of the server."""
        return self.uri.removeprefix("skill://").removesuffix(f"/{SKILL_FILE}")

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the skill in `skills/list` and `skills/get`."""
        resources = [{"uri": file.uri, "digest": digest, "size": size} for file, digest, size in self.files]
        return {"uri": self.uri, "frontmatter": dict(self.frontmatter), "resources": resources}


INDEX_URI = "skill://index.json"
"""Of the list of skills for clients of an earlier draft of SEP-2640, such as Microsoft's Agent Framework."""
_INDEX_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_MANIFEST = "/_manifest"
"""The end of the URI of a skill's list of files, which FastMCP asks for."""


class ServedCatalog:
    """What is served of a catalog; files are looked up when they are asked for.

    Args:
        catalog: the skills.
        contents: what is known of folders, kept from one catalog to the next.
        only: names of the skills to serve; by default all.
        tags: serve skills with one of these tags in `metadata.tags`; by default all.
    """

    def __init__(
        self,
        catalog: Catalog,
        contents: SkillContents | None = None,
        only: frozenset[str] = frozenset(),
        tags: frozenset[str] = frozenset(),
    ) -> None:
        self.catalog, self._only, self._tags = catalog, only, tags
        self._contents = SkillContents() if contents is None else contents
        self.left_out: list[tuple[Entry, str]] = []
        """Skills that cannot be served, with the reason."""
        self.problems: dict[str, str] = {}
        """Why skills were left out when they were asked for, by their paths in the name space."""
        served = []
        for entry in catalog.skills:
            if entry.state in REACHABLE and self.is_chosen(entry):
                folder = _folder(entry)
                if folder is not None and (known := self._contents.known(folder)) is not None:
                    folder = known.folder  # one text instead of two
                problem = _problem(entry, folder)
                if problem is None:
                    served.append((entry, folder or ""))
                else:
                    self.left_out.append((entry, problem))
        self._folders = dict(sorted(_assign_paths(served).items()))
        """The folder of each skill by its path in the name space."""
        self._tops = [*self._folders]
        self._longest_top = max(map(len, self._tops), default=0)

    def is_chosen(self, entry: Entry) -> bool:
        """Return whether a skill is among those to serve."""
        if self._only and entry.name not in self._only:
            return False
        return not self._tags or not self._tags.isdisjoint(_tags(entry))

    @property
    def uris(self) -> list[str]:
        """The URIs of the skills, sorted by path."""
        return [f"skill://{top}/{SKILL_FILE}" for top in self._folders]

    @property
    def folders(self) -> Collection[str]:
        """The folders of the skills."""
        return self._folders.values()

    def large(self) -> Iterable[tuple[str, str]]:
        """Yield the names of skills that hosts may decline, and their size in words; as far as they are known."""
        for top, folder in self._folders.items():
            known = self._contents.known(folder)
            if known is None:
                sizes = [size for _, size in skill_files(folder)]
            else:
                sizes = [*map(int, _find_sizes(known.entry))]
                if _is_large(sizes):  # fields of the front matter may be among them
                    sizes = [file["size"] for file in json.loads(bytes(known.entry))["resources"]]
            if _is_large(sizes):
                yield top.rpartition("/")[2], f"{len(sizes):,} files and {sum(sizes):,} bytes"

    def early_problems(self) -> dict[str, str]:
        """Return why skills cannot be listed, by their paths, without reading the files of those that are not known.

        Of these, the front matter of the first thousand is read.
        """
        known = [(top, folder) for top, folder in self._folders.items() if self._contents.known(folder) is not None]
        found = {content.top: content.problem for content in self._contents.current(known) if content.problem}
        others = (item for item in self._folders.items() if self._contents.known(item[1]) is None)
        for top, folder in islice(others, _CHECKED_EARLY):
            try:
                read_frontmatter(os.path.join(folder, SKILL_FILE))
            except SkillError as error:
                found[top] = str(error)
        return found

    def page_json(self, after: str | None, limit: int) -> tuple[bytes, str | None]:
        """Return the entries that follow a skill, at most so many, and the path of the last one if there are more.

        The entries are a list as JSON. A skill that cannot be read now is left out.
        """
        contents, last = self._page(after, limit)
        return b"[" + b",".join([content.entry for content in contents]) + b"]", last

    def page(self, after: str | None, limit: int) -> tuple[list[ServedSkill], str | None]:
        """Return the skills of a page as `page_json` does."""
        contents, last = self._page(after, limit)
        return [*map(_served_skill, contents)], last

    def _page(self, after: str | None, limit: int) -> tuple[list[Content], str | None]:
        start = 0 if after is None else bisect_right(self._tops, after)
        chosen = [(top, self._folders[top]) for top in self._tops[start : start + limit]]
        contents = self._contents.current(chosen)
        for content in contents:
            if content.problem:
                self.problems[content.top] = content.problem
        last = chosen[-1][0] if start + limit < len(self._tops) else None
        return [content for content in contents if content.entry], last

    def skill(self, uri: str) -> ServedSkill | None:
        """Return the skill with this SKILL.md as it is now, or `None` if none is served there."""
        content = self._content(uri)
        return None if content is None else _served_skill(content)

    def skill_json(self, uri: str) -> bytes | None:
        """Return the entry of the skill with this SKILL.md as JSON; `None` if none is served there."""
        content = self._content(uri)
        return None if content is None else bytes(content.entry)

    def _content(self, uri: str) -> Content | None:
        top = uri.removeprefix("skill://").removesuffix(f"/{SKILL_FILE}")
        if uri != f"skill://{top}/{SKILL_FILE}" or top not in self._folders:
            return None
        (content,) = self._contents.current([(top, self._folders[top])])
        if content.problem:
            self.problems[top] = content.problem
        return content if content.entry else None

    def document(self, uri: str) -> dict[str, Any] | None:
        """Return the list of skills, or of the files of one, that older clients read as a resource of this URI."""
        if uri == INDEX_URI:
            return {"$schema": _INDEX_SCHEMA, "skills": [*map(_index_entry, self.page(None, len(self._tops) + 1)[0])]}
        top = uri.removesuffix(_MANIFEST)
        skill = self.skill(f"{top}/{SKILL_FILE}") if top != uri else None
        if skill is None:
            return None
        files = [{"path": file.path, "size": size, "hash": digest} for file, digest, size in skill.files]
        if any(file["path"] == _MANIFEST[1:] for file in files):  # one of its own
            return None
        return {"skill": skill.frontmatter["name"], "files": files}

    def file(self, uri: str) -> ServedFile | None:
        """Return the file with this URI, which may be missing; `None` if no skill can have it."""
        place = None if uri.endswith("/") else self._place(uri)
        return None if place is None or not place[1] else ServedFile(uri=uri, folder=place[0], path=place[1])

    def children(self, uri: str) -> dict[str, str | None] | None:
        """Return the files in a directory by URI, each with its path in the skill, and directories with `None`.

        `None` if it is not a directory of a skill.
        """
        place = self._place(f"{uri}/") if not uri.endswith("/") else None
        if place is None:
            return None
        folder, inner = place
        prefix = f"{inner}/" if inner else ""
        children: dict[str, str | None] = {}
        for path, _ in skill_files(folder):
            if path.startswith(prefix):
                name, _, rest = path[len(prefix) :].partition("/")
                children[f"{uri}/{uri_path(name)}"] = None if rest else path
        exists = children or not inner or os.path.isdir(os.path.join(folder, inner))
        return children if exists and not has_link(folder, inner) else None

    def _place(self, uri: str) -> tuple[str, str] | None:
        """Return the folder of the innermost skill that a URI is in, and the path in it."""
        if not uri.startswith("skill://"):
            return None
        inner = uri.removeprefix("skill://")
        end, at = 0, inner.find("/")
        while 0 < at <= self._longest_top:  # a client may send a megabyte of `/`
            end = at if inner[:at] in self._folders else end
            at = inner.find("/", at + 1)
        if not end:
            return None
        rest = inner[end + 1 :]
        path = unquote(rest, errors="surrogateescape")
        parts = path.rstrip("/").split("/")
        # Each file has one URI: what is escaped in another way is not served.
        is_canonical = uri_path(path) == rest and not {"", ".", ".."} & {*parts[:-1], parts[-1] or "x"}
        return (self._folders[inner[:end]], path.rstrip("/")) if is_canonical and "\0" not in path else None


def _is_large(sizes: Collection[int]) -> bool:
    return len(sizes) > MAX_FILES or sum(sizes) > MAX_BYTES


def _tags(entry: Entry) -> frozenset[str]:
    """Return the tags of a skill: a list, or a text with commas."""
    tags = entry.skill.metadata.get("tags")
    parts = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list | tuple) else ()
    return frozenset(part.strip() for part in parts if isinstance(part, str))


def _folder(entry: Entry) -> str | None:
    """Return the folder of a skill as `resource_folder` does, without a look at the disk if its path has no links."""
    if entry.real == entry.path and os.path.basename(entry.path) == SKILL_FILE:
        return os.path.dirname(entry.path)
    return resource_folder(entry)


def _problem(entry: Entry, folder: str | None) -> str | None:
    """Return why a skill cannot be served, as far as the catalog tells."""
    if folder is None:
        return "it has no folder of its own"
    if os.path.basename(entry.path) != SKILL_FILE or (entry.real != entry.path and os.path.islink(entry.path)):
        return "its SKILL.md is a link, or has another name"
    if not is_portable_name(entry.frontmatter_name or ""):
        return "its name breaks the rules of agentskills.io"
    return None if entry.description.strip() else "it has no description"


def _assign_paths(skills: Sequence[tuple[Entry, str]]) -> dict[str, str]:
    """Return the folders of skills by their path in the name space of the server; the last part is the name.

    A skill inside the folder of another one is below that one's path, if its folder has its name. Of skills with one
    name, all but the first get a number in front.
    """
    by_folder: dict[str, str] = {}
    folders: dict[str, str] = {}
    outer_skills: dict[str, str | None] = {}

    def outer_skill(folder: str) -> str | None:
        """Return the innermost folder of a skill that a folder is in; those come first, so it is known."""
        if folder not in outer_skills:
            above = os.path.dirname(folder)
            outer_skills[folder] = folder if folder in by_folder else outer_skill(above) if above != folder else None
        return outer_skills[folder]

    for entry, folder in sorted(skills, key=lambda item: item[1]):
        name = top = entry.frontmatter_name or ""
        parent, _, last = folder.rpartition(os.sep)
        outer = outer_skill(parent or os.sep)
        if outer is not None and last == name:
            top = f"{by_folder[outer]}/{uri_path(os.path.relpath(folder, outer))}"
        number = 2
        while top in folders:
            top, number = f"{number}/{name}", number + 1
        by_folder[folder], folders[top] = top, folder
    return folders


def _index_entry(skill: ServedSkill) -> dict[str, str]:
    digest = next(digest for file, digest, _ in skill.files if file.path == SKILL_FILE)
    fields = {name: str(skill.frontmatter[name]) for name in ("name", "description")}
    return {**fields, "type": "skill-md", "url": skill.uri, "digest": digest}


def _served_skill(content: Content) -> ServedSkill:
    entry = json.loads(bytes(content.entry))
    names = os.fsdecode(content.names).split("\0")[-len(entry["resources"]) :]
    files = tuple(
        (ServedFile(uri=file["uri"], folder=content.folder, path=path), file["digest"], file["size"])
        for path, file in zip(names, entry["resources"], strict=True)
    )
    return ServedSkill(uri=entry["uri"], frontmatter=entry["frontmatter"], files=files)


def _reason(error: Exception) -> str:
    return describe_os_error(error) if isinstance(error, OSError) else "invalid path"


_LEFT_OUT_HINT = "change its front matter or its files; until then only clients that use tools get it"
_LARGE_HINT = f"make it smaller or split it: clients may decline more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB"


def served_skills(served: ServedCatalog) -> tuple[list[tuple[ServedSkill, str]], list[Finding]]:
    """Return the skills that are served, each with the path of its SKILL.md, and findings. All files are read."""
    skills, _ = served.page(None, len(served.folders) + 1)
    paths = {uri: os.path.join(folder, SKILL_FILE) for uri, folder in zip(served.uris, served.folders, strict=True)}
    return [(skill, paths[skill.uri]) for skill in skills], [*_findings(served, skills, paths)]


def _findings(served: ServedCatalog, skills: list[ServedSkill], paths: dict[str, str]) -> Iterator[Finding]:
    for entry, reason in served.left_out:
        yield _left_out(entry.name, reason, entry.path)
    for top, reason in sorted(served.problems.items()):
        yield _left_out(top.rpartition("/")[2], reason, paths[f"skill://{top}/{SKILL_FILE}"])
    for skill in skills:
        count, size = len(skill.files), sum(size for _, _, size in skill.files)
        if count > MAX_FILES or size > MAX_BYTES:
            message = f"{quoted(str(skill.frontmatter['name']))} has {count:,} files and {size:,} bytes"
            yield finding("mcp-large", message, path=paths[skill.uri], hint=_LARGE_HINT)


def _left_out(name: str, reason: str, path: str) -> Finding:
    return finding("mcp-left-out", f"{quoted(name)} is not served: {reason}", path=path, hint=_LEFT_OUT_HINT)
