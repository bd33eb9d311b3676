"""Fetch the skills of a site, and write the index and files that offer skills.

Parse and write the index of a site that offers skills: `/.well-known/agent-skills/index.json`.

Version 0.2.0 of "Agent Skills Discovery via Well-Known URIs" names one artifact for each skill, a file or an archive,
with its digest:

    {"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": [
      {"name": "pdf", "type": "skill-md", "description": "...", "url": "pdf/SKILL.md", "digest": "sha256:HEX"}]}

Version 0.1.0, at `/.well-known/skills/index.json`, has no `$schema`, and lists the files of each skill without digests:

    {"skills": [{"name": "pdf", "description": "...", "files": ["SKILL.md", "scripts/run.sh"]}]}

Fetch the skills that a site offers at `/.well-known/agent-skills/`, or as before at `/.well-known/skills/`.

The index is asked for below the path of the source, and never elsewhere: `https://host/team` does not give the skills
of the whole host. What an index names must be on the server of the index, also after redirects, and must have the
digest that the index gives.

Write the static files with which any web server offers skills, as `/.well-known/agent-skills/` of a site.

    OUT/.well-known/agent-skills/index.json
    OUT/.well-known/agent-skills/NAME/SKILL.md     a skill that is one file
    OUT/.well-known/agent-skills/NAME.tar.gz       any other

The same skills give the same bytes. The folder is replaced in one step, and only if everything in it is what its own
index names, so that no file of anyone else is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from urllib.parse import quote, unquote, urljoin

from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILE_BYTES, SKILL_FILE, UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, exchange_names, open_fd, remove_tree
from prowess._internal.inside import OutsideError, real_output_path
from prowess._internal.locked import lock_fd
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError
from prowess.install.archive import pack_skill, unpack
from prowess.lock import FILE, check_paths, os_errors, parse_strict_json
from prowess.net import HttpSource, parse_http_url
from prowess.skill import MAX_DESCRIPTION, is_portable_name, load

from ._fetched import Fetched, FetchedSkill, check_wanted, digest_of, digest_of_lines, write_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from ._fetched import Wanted

__all__ = ["IndexedSkill", "fetch", "index_skills"]


FOLDER, OLD_FOLDER = ".well-known/agent-skills", ".well-known/skills"
MAX_INDEX_BYTES = 8 << 20
_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_MAX_SKILLS = 10_000
_MAX_CONTAINERS = 200_000
"""Objects and arrays in an index: each takes far more memory than its two characters."""
_MAX_URL = 2_000
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}").fullmatch
_TYPES = ("skill-md", "archive")


class IndexEntry(Frozen):
    """A skill in an index."""

    name: str
    kind: str
    """`skill-md` or `archive`; `files` for version 0.1.0. Another one is of a later version, and cannot be fetched."""
    description: str = ""
    url: str = ""
    """Of the artifact, as the index has it."""
    digest: str = ""
    """Of the artifact; empty in version 0.1.0."""
    files: tuple[str, ...] = ()
    """Paths in version 0.1.0."""


def parse_index(data: bytes, place: str) -> tuple[IndexEntry, ...]:
    """Return the skills of an index.

    Args:
        data: of the file.
        place: its URL, for messages.

    Raises:
        InstallError: it is not an index, of another version, too large, or one of its entries breaks a rule.
    """
    content = _parse_json(data, place)
    schema = content.get("$schema")
    if schema not in (None, _SCHEMA):
        hint = "a later version of Prowess may know it"
        raise InstallError(f"{_shown(place)} has the schema {quoted(str(schema), PATH_LIMIT)}, not 0.2.0", hint=hint)
    skills = content.get("skills")
    if not isinstance(skills, list) or not all(isinstance(entry, dict) for entry in skills):
        raise InstallError(f"{_shown(place)} has no list `skills`", hint="ask the owner of the site")
    if len(skills) > _MAX_SKILLS:
        raise InstallError(f"{_shown(place)} lists more than {_MAX_SKILLS:,} skills", hint="ask for a smaller index")
    parse = _parse_old_entry if schema is None else _parse_entry
    found: dict[str, IndexEntry] = {}
    for entry in skills:
        name = entry.get("name")
        if not isinstance(name, str) or not is_portable_name(name):
            raise _invalid(place, str(name), "has an invalid name")
        if name in found:
            raise _invalid(place, name, "comes twice")
        found[name] = parse(name, entry, place)
    return tuple(found.values())


def write_index(entries: Iterable[IndexEntry]) -> bytes:
    """Return an index of version 0.2.0: the same for the same entries, in any order."""
    skills = [
        {"name": entry.name, "type": entry.kind, "description": entry.description, "url": entry.url}
        | {"digest": entry.digest}
        for entry in sorted(entries, key=lambda entry: entry.name)
    ]
    text = json.dumps({"$schema": _SCHEMA, "skills": skills}, ensure_ascii=False, indent=2, allow_nan=False)
    return f"{text}\n".encode()


def _parse_json(data: bytes, place: str) -> dict[str, Any]:
    if len(data) > MAX_INDEX_BYTES or data.count(b"{") + data.count(b"[") > _MAX_CONTAINERS:
        raise InstallError(f"{_shown(place)} is too large", hint="ask for a smaller index")
    try:
        content = parse_strict_json(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else _reason(error)
        raise InstallError(f"{_shown(place)} is not JSON: {reason}", hint="ask the owner of the site") from None
    if not isinstance(content, dict):
        raise InstallError(f"{_shown(place)} has no list `skills`", hint="ask the owner of the site")
    return content


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} in line {error.lineno}, column {error.colno}"
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _parse_entry(name: str, entry: dict[str, Any], place: str) -> IndexEntry:
    kind, url, digest = entry.get("type"), entry.get("url"), entry.get("digest")
    if not isinstance(kind, str):
        raise _invalid(place, name, "has no `type`")
    if kind not in _TYPES:
        return IndexEntry(name=name, kind=f"the type {quoted(kind)}")
    if not isinstance(url, str) or not 0 < len(url) <= _MAX_URL:
        raise _invalid(place, name, "has no `url`")
    if not isinstance(digest, str) or not _DIGEST(digest):
        raise _invalid(place, name, "has no `digest` of the form `sha256:HEX`")
    return IndexEntry(name=name, kind=kind, description=str(entry.get("description", "")), url=url, digest=digest)


def _parse_old_entry(name: str, entry: dict[str, Any], place: str) -> IndexEntry:
    files = entry.get("files")
    if not isinstance(files, list) or SKILL_FILE not in files or not all(isinstance(path, str) for path in files):
        raise _invalid(place, name, f"lists no `{SKILL_FILE}`")
    try:
        check_paths(files)
    except InstallError as error:
        raise _invalid(place, name, f"lists a file that is refused: {error}") from None
    return IndexEntry(name=name, kind="files", files=tuple(sorted(files)))


def _invalid(place: str, name: str, problem: str) -> InstallError:
    return InstallError(f"{_shown(place)}: the skill {quoted(name)} {problem}", hint="ask the owner of the site")


def _shown(place: str) -> str:
    return quoted(place, PATH_LIMIT)


_SECONDS = 600.0
"""For everything that is fetched at once."""
_MAX_BYTES = 1 << 30
_MARK = "/.well-known/"
_KINDS = {b"\x1f\x8b": "tar.gz", b"PK": "zip"}
"""Archives by their first bytes: the type that a server gives is often too general."""


def fetch(wanted: Wanted) -> Fetched:
    """Fetch the skills of a site.

    Raises:
        InstallError: the site cannot be reached, has no index, or breaks a rule.
        SkillNotFoundError: a wanted skill is missing.
    """
    with HttpSource(wanted.source.url) as server:
        site = _Site(server, wanted)
        chosen = site.choose(wanted.names or site.named)
        skills = tuple(site.fetch(entry, number) for number, entry in enumerate(chosen))
    revision = digest_of_lines(f"{skill.name}\0{skill.extra['wellKnownDigest']}\0" for skill in skills)
    return Fetched(skills=skills, revision=revision)


class _Site:
    """A site with an index of skills."""

    def __init__(self, server: HttpSource, wanted: Wanted) -> None:
        self._server, self._folder, self._tell = server, wanted.opened.new_folder(), wanted.tell
        self._deadline = time.monotonic() + _SECONDS
        self._bytes_left = _MAX_BYTES
        base, mark, inner = wanted.source.url.partition(_MARK)
        self._base = base.rstrip("/")
        parts = inner.split("/")
        # `skills` writes the URL of a SKILL.md into its lock.
        self.named = (parts[1],) if mark and len(parts) > 1 and parts[1] not in ("", "index.json") else ()
        self._index_url, self._entries = self._find_index()

    def _find_index(self) -> tuple[str, tuple[IndexEntry, ...]]:
        for folder in (FOLDER, OLD_FOLDER):
            url = f"{self._base}/{folder}/index.json"
            self._tell(f"reading {url}")
            answer = self._server.request("GET", url, limit=MAX_INDEX_BYTES, deadline=self._deadline)
            # Some sites answer with a page where a file is missing.
            is_page = answer.headers.get("content-type", "").lower().startswith("text/html")
            if answer.status == 200 and not is_page:
                return answer.url.text, parse_index(answer.body, answer.url.shown)
            if answer.status not in (200, 404, 410):
                raise InstallError(f"{quoted(url, PATH_LIMIT)} answers with the HTTP status {answer.status}")
        hint = f"the site needs a file {FOLDER}/index.json, as `prowess index` writes it"
        raise InstallError(f"{quoted(self._base, PATH_LIMIT)} offers no skills", hint=hint)

    def choose(self, wanted: Sequence[str]) -> list[IndexEntry]:
        """Return the entries of skills, of all without names.

        Raises:
            InstallError: one cannot be fetched, or the list is empty.
            SkillNotFoundError: one is missing.
        """
        entries = {entry.name: entry for entry in self._entries}
        where = quoted(self._index_url.partition("?")[0], PATH_LIMIT)
        check_wanted(wanted, entries, where)
        for name in wanted:
            if entries[name].kind not in _FETCHED_AS:
                problem = f"has the skill {quoted(name)} as {entries[name].kind}, which is not known"
                raise InstallError(f"{where} {problem}", hint="update Prowess")
        chosen = [entries[name] for name in dict.fromkeys(wanted)] if wanted else []
        for entry in () if wanted else self._entries:
            if entry.kind in _FETCHED_AS:
                chosen.append(entry)
            else:
                self._tell(f"left out {quoted(entry.name)}: {entry.kind} is not known")
        if not chosen:
            raise InstallError(f"{quoted(self._index_url, PATH_LIMIT)} lists no skills")
        return chosen

    def fetch(self, entry: IndexEntry, number: int) -> FetchedSkill:
        """Fetch a skill into a folder of its own.

        Raises:
            InstallError: it breaks a rule, or is not what the index says.
        """
        self._tell(f"fetching {entry.name}")
        folder = os.path.join(self._folder, str(number))
        digest = _FETCHED_AS[entry.kind](self, entry, folder)
        skill = load(os.path.join(folder, SKILL_FILE))
        if skill.name != entry.name:
            has = "has no name" if skill.name is None else f"is called {quoted(skill.name)} there"
            raise self._invalid(entry, f"{has} in its {SKILL_FILE}" if skill.name is None else has)
        return FetchedSkill(name=entry.name, path=entry.name, folder=folder, extra={"wellKnownDigest": digest})

    def fetch_file(self, entry: IndexEntry, folder: str) -> str:
        """Fetch a skill that is one SKILL.md, and return the digest of it."""
        digest = self._download(self._artifact_url(entry), os.path.join(folder, SKILL_FILE), MAX_SKILL_FILE_BYTES)
        return self._check_digest(entry, digest)

    def fetch_archive(self, entry: IndexEntry, folder: str) -> str:
        """Fetch and unpack an archive, and return the digest of it."""
        path = f"{folder}.archive"
        digest = self._check_digest(entry, self._download(self._artifact_url(entry), path, MAX_DIGEST_BYTES))
        with write_errors():
            os.mkdir(folder, 0o700)
            with open(path, "rb") as file:
                kind = _KINDS.get(file.read(2))
                if kind is None:
                    raise self._invalid(entry, "is neither a .tar.gz nor a .zip")
                file.seek(0)
                unpack(file, kind, folder)
            os.unlink(path)
        return digest

    def fetch_files(self, entry: IndexEntry, folder: str) -> str:
        """Fetch the files of a skill of the older version, and return the digest that `skills` writes for them."""
        base = f"{self._index_url.partition('?')[0].rpartition('/')[0]}/{entry.name}/"
        contents: dict[str, bytes] = {}
        left = MAX_DIGEST_BYTES
        for path in entry.files:
            target = os.path.join(folder, path)
            self._download(f"{base}{quote(path)}", target, left)
            with open(target, "rb") as file:
                contents[path] = file.read()
            left -= len(contents[path])
        return _digest_of_files(contents)

    def _artifact_url(self, entry: IndexEntry) -> str:
        """Return the URL of an artifact.

        Raises:
            InstallError: it is invalid, or on another server.
        """
        try:
            target = parse_http_url(urljoin(self._index_url, entry.url))
        except ValueError:
            raise self._invalid(entry, f"has an invalid URL {quoted(entry.url)}") from None
        if ".." in unquote(entry.url).replace("\\", "/").split("/"):
            raise self._invalid(entry, f"has a URL with `..`: {quoted(entry.url)}")
        if target.origin != self._server.url.origin:
            raise self._invalid(entry, f"is on another host, {quoted(target.host)}, which is refused")
        return target.text

    def _download(self, url: str, path: str, limit: int) -> str:
        """Download a file, and return its digest."""
        with write_errors():
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            with open_fd(path, CREATE_FLAGS, 0o644) as fd:
                limit = min(limit, self._bytes_left)
                answer = self._server.request("GET", url, limit=limit, deadline=self._deadline, into=fd)
        if answer.status != 200:
            raise InstallError(f"{quoted(answer.url.shown, PATH_LIMIT)} answers with the HTTP status {answer.status}")
        self._bytes_left -= answer.size
        return f"sha256:{answer.sha256}"

    def _check_digest(self, entry: IndexEntry, digest: str) -> str:
        if digest != entry.digest:
            hint = "the site may have changed just now: run the command again, or ask its owner"
            raise self._invalid(entry, "does not have the digest of the index", hint)
        return digest

    def _invalid(self, entry: IndexEntry, problem: str, hint: str = "ask the owner of the site") -> InstallError:
        where = quoted(self._index_url.partition("?")[0], PATH_LIMIT)
        return InstallError(f"{where}: the skill {quoted(entry.name)} {problem}", hint=hint)


_FETCHED_AS = {"skill-md": _Site.fetch_file, "archive": _Site.fetch_archive, "files": _Site.fetch_files}


def _digest_of_files(contents: dict[str, bytes]) -> str:
    """Return what `skills` writes as `wellKnownDigest` for a skill whose files have no digests."""
    total = hashlib.sha256()
    for path in sorted(contents, key=lambda path: path.encode("utf-16-be")):
        data = contents[path]
        if path == SKILL_FILE:  # that tool reads it as text
            data = data.decode("utf-8", "replace").removeprefix("\ufeff").encode()
        total.update(path.encode() + b"\0" + data + b"\0")
    return f"sha256:{total.hexdigest()}"


_INDEX = "index.json"
_TEMPORARY = ".prowess-index-"
_IS_TEMPORARY = re.compile(rf"{re.escape(_TEMPORARY)}[a-z0-9_]{{8}}(?:-old)?").fullmatch


class IndexedSkill(Frozen):
    """A skill that an index offers."""

    name: str
    kind: str
    """`skill-md` or `archive`."""
    folder: str
    """From which it was read."""
    path: str
    """Of its artifact, below the folder of the index."""
    digest: str
    """`sha256:` and the SHA-256 of the artifact."""
    size: int
    """Bytes of the artifact."""


def index_skills(
    folders: Iterable[str], out: str, *, progress: Callable[[int], None] | None = None
) -> tuple[IndexedSkill, ...]:
    """Write the files with which a web server offers skills, in place of what an earlier call wrote.

    Args:
        folders: of the skills.
        out: the root folder of the site; created if it is missing.
        progress: is called with the number of skills that are written.

    Raises:
        InstallError: a skill cannot be offered, two have one name, the files cannot be written, or files of others
            are where they belong. Then nothing has changed.
    """
    folders = tuple(folders)
    try:
        real_output_path(os.path.join(out, FOLDER), folders)
    except OutsideError as error:
        raise InstallError(f"nothing was written: {error}", hint="name the folder to which the link leads") from None
    target = os.path.join(out, FOLDER)
    parent = os.path.dirname(target)
    with _writing(parent):
        os.makedirs(parent, exist_ok=True)
        parent_fd = os.open(parent, FOLDER_FLAGS)
    try:
        with _writing(target):
            lock_fd(parent_fd)
            _remove_leftovers(parent)
            _check_ours(target)
            temporary = tempfile.mkdtemp(prefix=_TEMPORARY, dir=parent)
            try:
                skills = _write_skills(folders, temporary, progress)
                _check_ours(target)
                _put_into_place(parent_fd, os.path.basename(temporary), os.path.basename(target))
            finally:
                remove_tree(temporary)
    finally:
        os.close(parent_fd)
    return skills


def _write_skills(
    folders: Iterable[str], into: str, progress: Callable[[int], None] | None
) -> tuple[IndexedSkill, ...]:
    found: dict[str, IndexedSkill] = {}
    entries: list[IndexEntry] = []
    for folder in folders:
        skill, description, data = _read_skill(folder)
        name = skill.name
        if name in found:
            both = f"{quoted(found[name].folder, PATH_LIMIT)} and {quoted(folder, PATH_LIMIT)}"
            raise InstallError(f"two skills have the name {quoted(name)}: {both}", hint="rename one of them")
        found[name] = skill
        entries.append(
            IndexEntry(name=name, kind=skill.kind, description=description, url=skill.path, digest=skill.digest)
        )
        _write_file(os.path.join(into, skill.path), data)
        if progress is not None:
            progress(len(found))
    _write_file(os.path.join(into, _INDEX), write_index(entries))
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(into, 0o777 & ~umask)  # a temporary folder is private, and a web server must read this one
    return tuple(found[name] for name in sorted(found))


def _read_skill(folder: str) -> tuple[IndexedSkill, str, bytes]:
    """Return a skill, its description, and its artifact.

    Raises:
        InstallError: it cannot be offered.
    """
    skill = load(os.path.join(folder, SKILL_FILE))
    shown = quoted(folder, PATH_LIMIT)
    if skill.name is None or not is_portable_name(skill.name):
        hint = "use small letters, digits and single hyphens"
        raise InstallError(f"the skill in {shown} has no name that an index can have", hint=hint)
    length = len((skill.description or "").encode("utf-16-le", "surrogatepass")) // 2
    if not 0 < length <= MAX_DESCRIPTION:
        hint = f"describe it in 1 to {MAX_DESCRIPTION:,} characters"
        raise InstallError(f"the skill in {shown} has no description that an index can have", hint=hint)
    data, tree = pack_skill(folder, "")
    kind, path = "archive", f"{skill.name}.tar.gz"
    if [(file.path, file.mode) for file in tree.files] == [(SKILL_FILE, FILE)]:
        kind, path, data = "skill-md", f"{skill.name}/{SKILL_FILE}", _read_file(os.path.join(folder, SKILL_FILE))
    indexed = IndexedSkill(name=skill.name, kind=kind, folder=folder, path=path, digest=digest_of(data), size=len(data))
    return indexed, skill.description or "", data


def _check_ours(target: str) -> None:
    """Check that an earlier call wrote everything in a folder, or that it does not exist.

    Raises:
        InstallError: there is something else.
    """
    if not os.path.lexists(target):
        return
    hint = "move it away, or name another folder"
    if os.path.islink(target) or not os.path.isdir(target):
        raise InstallError(f"{quoted(target, PATH_LIMIT)} is not a folder", hint=hint)
    found = set()
    for top, folders, names in os.walk(target):
        links = [name for name in folders if os.path.islink(os.path.join(top, name))]
        found |= {os.path.relpath(os.path.join(top, name), target) for name in (*names, *links)}
    known = set()
    if _INDEX in found:
        try:
            known = {entry.url for entry in parse_index(_read_file(os.path.join(target, _INDEX)), _INDEX)} | {_INDEX}
        except InstallError:
            known = set()
    if others := sorted(found - known):
        problem = f"has {quoted(others[0], PATH_LIMIT)}, which `prowess index` did not write"
        raise InstallError(f"{quoted(target, PATH_LIMIT)} {problem}", hint=hint)


def _put_into_place(parent_fd: int, new: str, name: str) -> None:
    """Rename a folder, and give one that had its name the other's name.

    Raises:
        OSError: it failed.
    """
    try:
        os.rename(new, name, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)  # nothing, or an empty folder, is there
    except OSError:
        if exchange_names(parent_fd, new, parent_fd, name):
            return
        old = f"{new}-old"
        os.rename(name, old, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)
        os.rename(new, name, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)
        os.rename(old, new, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)


def _remove_leftovers(parent: str) -> None:
    """Remove what killed processes left; no other one works here."""
    for name in filter(_IS_TEMPORARY, os.listdir(parent)):
        remove_tree(os.path.join(parent, name))


def _read_file(path: str) -> bytes:
    try:
        return read_file(path, limit=MAX_INDEX_BYTES)
    except UnreadableError as error:
        raise InstallError(f"{quoted(path, PATH_LIMIT)} cannot be read: {error.message}", hint=error.hint) from None


def _write_file(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "xb") as file:
        file.write(data)


def _writing(path: str) -> AbstractContextManager[None]:
    return os_errors(f"cannot write {quoted(path, PATH_LIMIT)}", "name another folder")
