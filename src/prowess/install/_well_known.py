"""Fetch the skills that a site offers at `/.well-known/agent-skills/`, or as before at `/.well-known/skills/`.

The index is asked for below the path of the source, and never elsewhere: `https://host/team` does not give the skills
of the whole host. What an index names must be on the server of the index, also after redirects, and must have the
digest that the index gives.
"""

from __future__ import annotations

import hashlib
import os
import time
from urllib.parse import quote, unquote, urljoin

from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILE_BYTES, SKILL_FILE
from prowess._internal.fs import CREATE_FLAGS
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import InstallError, SkillNotFoundError
from prowess.sandbox import parse_http_url
from prowess.skill import load

from ._archive import unpack
from ._discovery import FOLDER, MAX_INDEX_BYTES, OLD_FOLDER, parse_index
from ._fetched import Fetched, FetchedSkill
from ._http import HttpSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ._discovery import IndexEntry
    from ._source import Source
    from ._store import OpenStore

__all__ = ["fetch"]

_SECONDS = 600.0
"""For everything that is fetched at once."""
_MAX_BYTES = 1 << 30
_MARK = "/.well-known/"
_KINDS = {b"\x1f\x8b": "tar.gz", b"PK": "zip"}
"""Archives by their first bytes: the type that a server gives is often too general."""


def fetch(
    source: Source,
    opened: OpenStore,
    *,
    only: Sequence[str] = (),
    revision: str | None = None,  # noqa: ARG001 - a site has only what it has now
    progress: Callable[[str], None] | None = None,
) -> Fetched:
    """Fetch the skills of a site.

    Args:
        source: the site, with the path to look below.
        opened: the store to fetch into.
        only: names of skills; without any, all are fetched.
        revision: is not used. A site cannot give what it had before, so a caller that wants what is in a lock compares
            the digests.
        progress: is called with what is being done.

    Raises:
        InstallError: the site cannot be reached, has no index, or breaks a rule.
        SkillNotFoundError: a wanted skill is missing.
    """
    with HttpSource(source.url) as server:
        site = _Site(server, source.url, opened.new_folder(), progress or _say_nothing)
        wanted = tuple(only) or ((source.skill,) if source.skill else ()) or site.named
        chosen = site.choose(wanted)
        skills = tuple(site.fetch(entry, number) for number, entry in enumerate(chosen))
    return Fetched(skills=skills, revision=_revision(skills))


def _say_nothing(_: str) -> None:
    pass


class _Site:
    """A site with an index of skills."""

    def __init__(self, server: HttpSource, url: str, folder: str, progress: Callable[[str], None]) -> None:
        self._server, self._folder, self._progress = server, folder, progress
        self._deadline = time.monotonic() + _SECONDS
        self._bytes_left = _MAX_BYTES
        base, mark, inner = url.partition(_MARK)
        self._base = base.rstrip("/")
        parts = inner.split("/")
        # `skills` writes the URL of a SKILL.md into its lock.
        self.named = (parts[1],) if mark and len(parts) > 1 and parts[1] not in ("", "index.json") else ()
        self._index_url, self._entries = self._find_index()

    def _find_index(self) -> tuple[str, tuple[IndexEntry, ...]]:
        for folder in (FOLDER, OLD_FOLDER):
            url = f"{self._base}/{folder}/index.json"
            self._progress(f"reading {url}")
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
        for name in wanted:
            where = quoted(self._index_url.partition("?")[0], PATH_LIMIT)
            if name not in entries:
                hint = f"it has {', '.join(map(quoted, sorted(entries)[:5]))}" if entries else None
                raise SkillNotFoundError(f"{where} has no skill {quoted(name)}", hint=hint)
            if entries[name].kind not in _FETCHED_AS:
                problem = f"has the skill {quoted(name)} as {entries[name].kind}, which is not known"
                raise InstallError(f"{where} {problem}", hint="update Prowess")
        chosen = [entries[name] for name in dict.fromkeys(wanted)] if wanted else []
        for entry in () if wanted else self._entries:
            if entry.kind in _FETCHED_AS:
                chosen.append(entry)
            else:
                self._progress(f"left out {quoted(entry.name)}: {entry.kind} is not known")
        if not chosen:
            raise InstallError(f"{quoted(self._index_url, PATH_LIMIT)} lists no skills")
        return chosen

    def fetch(self, entry: IndexEntry, number: int) -> FetchedSkill:
        """Fetch a skill into a folder of its own.

        Raises:
            InstallError: it breaks a rule, or is not what the index says.
        """
        self._progress(f"fetching {entry.name}")
        folder = os.path.join(self._folder, str(number))
        _make_folder(folder)
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
        try:
            with open(path, "rb") as file:
                kind = _KINDS.get(file.read(2))
                if kind is None:
                    raise self._invalid(entry, "is neither a .tar.gz nor a .zip")
                file.seek(0)
                unpack(file, kind, folder)
        except OSError as error:
            raise InstallError(f"cannot read a download: {describe_os_error(error)}") from None
        os.unlink(path)
        return digest

    def fetch_files(self, entry: IndexEntry, folder: str) -> str:
        """Fetch the files of a skill of the older version, and return the digest that `skills` writes for them."""
        base = f"{self._index_url.partition('?')[0].rpartition('/')[0]}/{entry.name}/"
        contents: dict[str, bytes] = {}
        left = MAX_DIGEST_BYTES
        for path in entry.files:
            target = os.path.join(folder, path)
            _make_folder(os.path.dirname(target))
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
        fd = _open_new(path)
        try:
            answer = self._server.request(
                "GET", url, limit=min(limit, self._bytes_left), deadline=self._deadline, into=fd
            )
        finally:
            os.close(fd)
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


def _revision(skills: Iterable[FetchedSkill]) -> str:
    """Return a digest over the digests of skills."""
    lines = sorted(f"{skill.name}\0{skill.extra['wellKnownDigest']}\0" for skill in skills)
    return f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"


def _make_folder(path: str) -> None:
    try:
        os.makedirs(path, 0o700, exist_ok=True)
    except OSError as error:
        raise _unwritable(error) from None


def _open_new(path: str) -> int:
    try:
        return os.open(path, CREATE_FLAGS, 0o644)
    except OSError as error:
        raise _unwritable(error) from None


def _unwritable(error: OSError) -> InstallError:
    return InstallError(f"cannot write a download: {describe_os_error(error)}", hint="make room on the disk")
