"""Read the skills of a server of MCP, as SEP-2640 says: `McpSkillProvider`.

Listing reads metadata alone. A file is fetched when it is needed, and its size, its digest and the front matter are
compared with the listing before anything of it is used.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
import weakref
from contextlib import contextmanager

from prowess._internal.files import MAX_SKILL_FILE_BYTES, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, open_fd, write_all
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess._internal.user_dirs import cache_folder
from prowess.catalog import Entry, State
from prowess.errors import ActivationError, ConfigError, SkillError, SkillFileError
from prowess.findings import Severity, finding
from prowess.skill import Requirements, Skill, YamlSyntaxError, core_mapping, from_document, parse_frontmatter

from ._cache import FileCache, has_digest
from ._connection import Connection
from ._http_client import HttpClient
from ._messages import ServerFailedError, UnreachableError
from ._remote_skill import InvalidEntryError, parse_entry, same_json
from ._stdio_client import StdioClient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Self

    from prowess.findings import Finding

    from ._remote_skill import RemoteFile, RemoteSkill

__all__ = [
    "Listing",
    "McpSkillProvider",
    "copied_files",
    "describe_server",
    "make_entries",
    "read_listing",
    "remote_path",
]

_LABEL = re.compile(r"[a-z0-9](-?[a-z0-9]){0,31}").fullmatch
_MAX_HELD = 1000
"""Skills whose listing is kept after a newer one, because a conversation may still use them."""
_LISTED_SECONDS = 60.0
"""How long a list of `list_once` is used at least."""
_REFRESH_HINT = "list the skills again, and decide anew whether to use it"


class McpSkillProvider:
    """The skills of one server, for `discover(cwd, providers=[...])`. Their names are `LABEL:NAME`.

    Args:
        label: the user's own name for the server: lower-case letters, digits and single hyphens.
        command: the command that starts the server, which talks over its standard input and output.
        url: the URL of the server, in place of a command.
        env: further variables for the command.
        cwd: the working directory of the command; by default the user's home.
        token: sent to the URL as bearer token.
        allow_private: whether the host of the URL may be a name in your own network.
        timeout: seconds for each answer.
        cache: the folder in which fetched files are kept; by default one in the user's cache folder.

    Raises:
        ConfigError: an argument is invalid.
    """

    def __init__(
        self,
        label: str,
        *,
        command: Sequence[str] | None = None,
        url: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        token: str | None = None,
        allow_private: bool = False,
        timeout: float = 30.0,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        if not _LABEL(label):
            hint = "use lower-case letters, digits and single hyphens, at most 32"
            raise ConfigError(f"invalid label of a server: {quoted(label)}", hint=hint)
        if (command is None) == (url is None) or isinstance(command, str):
            message = f"the server {quoted(label)} needs either a command, as a list, or a URL"
            raise ConfigError(message, hint="give `command=[...]` or `url=...`")
        if not 0 < timeout < 3600:
            raise ConfigError(f"invalid timeout of the server {quoted(label)}", hint="give seconds above 0")
        self.label = label
        self.findings: tuple[Finding, ...] = ()
        """What the last listing could not use."""
        self._transport: StdioClient | HttpClient
        if command is not None:
            if not command:
                raise ConfigError(f"the command of the server {quoted(label)} is empty", hint="name a program")
            self._transport = StdioClient(command, env or {}, os.fspath(cwd or os.path.expanduser("~")))
        else:
            self._transport = HttpClient(str(url), token, allow_private=allow_private)
        self._connection = Connection(self._transport, timeout)
        folder = cache_folder(os.environ) if cache is None else os.fspath(cache)
        self._cache = FileCache(folder and os.path.join(folder, "mcp", label))
        self._listed: tuple[Entry, ...] = ()
        self._was_complete = False
        self._current_until = 0.0
        self._skills: dict[str, RemoteSkill] = {}
        """By the path of the entry, as they were listed last."""
        self._held: dict[str, RemoteSkill] = {}
        """Skills that were read, by digest."""
        self._prepare()

    def _prepare(self) -> None:
        self._lock = threading.RLock()
        self._finalizer = weakref.finalize(self, self._connection.close)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_finalizer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; it is made again when it is needed."""
        self._connection.close()

    @property
    def origin(self) -> str:
        """The server in messages."""
        return describe_server(self.label)

    # ── listing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def list(self, cwd: str) -> Sequence[Entry]:
        """Return the skills that the server lists; no file is fetched.

        A server that fails has no skills, or those of its last listing, and a finding says why. The listing is asked
        for again after the time that the server says, an hour at most.
        """
        del cwd
        with self._lock:
            if time.monotonic() >= self._current_until:
                self._list_now()
            return self._listed

    def refresh(self, cwd: str) -> None:
        """Forget the listing, so that the next `list` asks the server."""
        del cwd
        with self._lock:
            self._current_until = 0.0

    def list_once(self, cwd: str, until: float) -> None:
        """List the skills, and end the connection; `list` returns them for a minute, also if the server failed.

        Args:
            cwd: as for `list`.
            until: when the list has to be there, on the clock `time.monotonic`.
        """
        with self._lock:
            self._connection.until = until
            try:
                self.list(cwd)
            finally:
                self._connection.until = math.inf
            self._current_until = max(self._current_until, time.monotonic() + _LISTED_SECONDS)
            self.close()

    def find(self, uri: str) -> Entry:
        """Return the skill with the URI of its SKILL.md, whether the server lists it or not.

        Raises:
            SkillError: the server does not serve it, or describes it in an invalid way.
        """
        try:
            skill = parse_entry(self._connection.get_skill(uri))
            problem = "" if skill.uri == uri else "it answered with another skill"
        except (ServerFailedError, InvalidEntryError) as error:
            problem = str(error)
        if problem:
            message = f"{self.origin} has no skill {quoted(uri, PATH_LIMIT)} that can be used: {problem}"
            raise SkillError(message, hint="check the URI")
        with self._lock:
            (entry,) = make_entries([skill], self.label)
            self._skills[entry.path] = skill
        return entry

    def _list_now(self) -> None:
        listing = read_listing(self._connection, self.label)
        self.findings = listing.findings
        # What a server that fails has sent so far does not replace all that it listed before.
        if listing.is_complete or not self._was_complete:
            self._was_complete = listing.is_complete
            self._listed = listing.entries
            self._skills = {entry.path: skill for entry, skill in zip(listing.entries, listing.skills, strict=True)}
        self._current_until = time.monotonic() + listing.seconds

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self, skill: Entry, /) -> Skill:
        """Fetch the SKILL.md of a listed skill, and return the skill if it is what was listed.

        Raises:
            ActivationError: the server failed, or the skill is not what was listed.
        """
        remote = self._remote(skill)
        file = remote.find("SKILL.md")
        try:
            if file is not None:
                data = self._fetch(skill, remote, file)
            else:
                data = self._connection.read_resource(remote.uri, MAX_SKILL_FILE_BYTES)
        except ServerFailedError as error:
            raise self._read_error(skill, str(error)) from None
        except SkillFileError as error:
            raise ActivationError(str(error), hint=error.hint) from None
        return self._parse(skill, remote, data)

    def _parse(self, skill: Entry, remote: RemoteSkill, data: bytes) -> Skill:
        """Return the skill in a SKILL.md if its front matter is what was listed.

        Raises:
            ActivationError: it is not.
        """
        if len(data) > MAX_SKILL_FILE_BYTES:
            raise self._read_error(skill, f"its SKILL.md has more than {MAX_SKILL_FILE_BYTES:,} bytes")
        document = parse_frontmatter(data, skill.path)
        parsed = from_document(document, skill.path)
        problem = next((item.message for item in parsed.findings if item.severity is Severity.ERROR), None)
        try:
            found = core_mapping(document.frontmatter or "")
        except (YamlSyntaxError, ValueError, RecursionError) as error:
            raise self._read_error(skill, f"its front matter is invalid: {neutral(problem or str(error))}") from None
        if not same_json(found, remote.frontmatter):
            reason = "its front matter is not the one that was listed"
            raise self._read_error(skill, reason, hint=_REFRESH_HINT)
        self._hold(remote)
        # What a server writes there would be permissions on this machine.
        return parsed.with_changes(allowed_tools=())

    def note(self, skill: Entry) -> str:
        """Return a sentence for the model that says where a skill is from."""
        if self._remote(skill).files is None:
            return f"this skill is made by {self.origin} whenever it is read; it is unverified and has no files"
        return (
            f"this skill and its files come from {self.origin}, not from this machine or its user; "
            "its files are read with read_skill_file"
        )

    def files(self, skill: Entry) -> tuple[tuple[str, int], ...]:
        """Return the paths and sizes of a skill's files, as they were listed; nothing if it has no list of files.

        Raises:
            ActivationError: the skill changed since it was listed.
        """
        return tuple((file.path, file.size) for file in self._remote(skill).files or ())

    def read_file(self, skill: Entry, path: str) -> bytes:
        """Fetch one file of a skill, and return it if it is what was listed.

        Raises:
            SkillFileError: the server failed, or the file is not listed, or is not what was listed.
            ActivationError: the skill changed since it was listed.
        """
        remote = self._remote(skill)
        file = remote.find(path)
        if file is None:
            hint = "the server makes this skill when it is read; it only has its instructions"
            raise SkillFileError(
                f"the skill {quoted(skill.name)} has no file {quoted(path)}",
                hint=hint if remote.files is None else "read one of the files that the skill lists",
            )
        try:
            data = self._fetch(skill, remote, file)
        except ServerFailedError as error:
            message = f"{quoted(path)} of {quoted(skill.name)} cannot be read: {self.origin}: {error}"
            raise SkillFileError(message, hint="go on without it, or try again later") from None
        if path == "SKILL.md":
            self._parse(skill, remote, data)
        return data

    @contextmanager
    def copy(self, skill: Entry) -> Iterator[str]:
        """Fetch all files of a skill, and yield a folder with them that is removed at the end.

        Raises:
            SkillError: a file cannot be fetched or written, or is not what was listed.
        """
        remote = self._remote(skill)
        if remote.files is None:
            message = (
                f"the skill {quoted(skill.name)} is made by its server when it is read, so it is never run or trusted"
            )
            raise SkillError(message, hint="ask for a server that lists its files")
        files = ((file.path, self.read_file(skill, file.path)) for file in remote.files)
        with copied_files(remote.name, files) as folder:
            yield folder

    def _remote(self, entry: Entry) -> RemoteSkill:
        """Return what the server said of a skill when it was listed.

        Raises:
            ActivationError: the listing has changed since, and the skill was not used before.
        """
        with self._lock:
            remote = self._held.get(entry.digest or "") or self._skills.get(entry.path)
        if remote is None or remote.digest != entry.digest or remote_path(self.label, remote.uri) != entry.path:
            raise self._read_error(entry, "it has changed since it was listed", hint=_REFRESH_HINT)
        return remote

    def _hold(self, remote: RemoteSkill) -> None:
        if remote.digest is not None:
            with self._lock:
                self._held.pop(remote.digest, None)
                self._held[remote.digest] = remote
                for oldest in [*self._held][:-_MAX_HELD]:
                    del self._held[oldest]

    def _fetch(self, entry: Entry, remote: RemoteSkill, file: RemoteFile) -> bytes:
        """Return the bytes of a file if they are what was listed.

        Raises:
            ServerFailedError: the server failed.
            SkillFileError: they are not.
        """
        data = self._cache.read(remote.uri, file.digest, file.size)
        if data is not None:
            return data
        data = self._connection.read_resource(file.uri, file.size)
        problem = ""
        if len(data) != file.size:
            problem = f"it has {len(data):,} bytes, and {file.size:,} were listed"
        elif not has_digest(data, file.digest):
            problem = "its digest is not the one that was listed"
        if problem:
            message = (
                f"{quoted(file.path)} of the skill {quoted(entry.name)} has changed since it was listed: {problem}"
            )
            raise SkillFileError(message, hint=_REFRESH_HINT)
        self._cache.write(remote.uri, file.digest, data)
        return data

    def _read_error(
        self, entry: Entry, reason: str, hint: str = "go on without it, or try again later"
    ) -> ActivationError:
        return ActivationError(
            f"the skill {quoted(entry.name)} of {self.origin} cannot be read now: {reason}", hint=hint
        )


_MAX_INVALID = 100
"""Findings about invalid entries."""
_MAINTAINER_HINT = "tell who maintains the server; `prowess mcp check` shows what is wrong with it"


class Listing(Frozen):
    """What a server lists."""

    skills: tuple[RemoteSkill, ...]
    entries: tuple[Entry, ...]
    """The same skills as a catalog has them."""
    findings: tuple[Finding, ...]
    seconds: float
    """For how long it is current."""
    is_complete: bool
    """Whether the server did not fail."""


def read_listing(connection: Connection, label: str) -> Listing:
    """Ask a server for its skills. Never raises: findings say what failed and what is left out."""
    skills: dict[str, RemoteSkill] = {}
    findings: list[Finding] = []
    left_out, seconds, complete = 0, 3600.0, False
    ambiguous: set[str] = set()
    try:
        for rows, current in connection.list_skills():
            seconds = min(seconds, current)
            for row in rows:
                try:
                    _add(skills, parse_entry(row), ambiguous)
                except InvalidEntryError as error:
                    left_out += 1
                    if left_out <= _MAX_INVALID:
                        message = f"a skill is left out: {error}"
                        findings.append(_finding("server-skill", label, message, _uri(row)))
        complete = True
    except ServerFailedError as error:
        seconds = 0.0
        hint = "check that the server runs" if isinstance(error, UnreachableError) else _MAINTAINER_HINT
        findings.append(_finding("server-failed", label, f"its skills cannot be listed: {error}", hint=hint))
    if left_out > _MAX_INVALID:
        findings.append(_finding("server-skill", label, f"{left_out - _MAX_INVALID:,} more skills are left out"))
    for uri in ambiguous:
        del skills[uri]
    return Listing(
        skills=tuple(skills.values()),
        entries=make_entries([*skills.values()], label),
        findings=tuple(findings),
        seconds=seconds,
        is_complete=complete,
    )


def _add(skills: dict[str, RemoteSkill], skill: RemoteSkill, ambiguous: set[str]) -> None:
    """Add a skill by its URI; `ambiguous` gets the URI of one that is described in two ways.

    Raises:
        InvalidEntryError: it is there already.
    """
    if (known := skills.setdefault(skill.uri, skill)) is not skill:
        if known == skill:
            raise InvalidEntryError("it is listed twice")
        ambiguous.add(skill.uri)
        raise InvalidEntryError("it is listed twice, in two ways")


def _uri(row: object) -> str:
    uri = row.get("uri") if isinstance(row, dict) else None
    return uri[:200] if isinstance(uri, str) else ""


def _finding(code: str, label: str, message: str, uri: str = "", hint: str = _MAINTAINER_HINT) -> Finding:
    return finding(code, f"{describe_server(label)}: {message}", path=remote_path(label, uri), hint=hint)


def describe_server(label: str) -> str:
    """Return a server as messages name it."""
    return f"the MCP server {quoted(label)}"


def remote_path(label: str, uri: str) -> str:
    """Return the path of a remote skill in a catalog: its identity is the user's label for the server, and its URI."""
    return f"mcp://{label}/{uri}"


def make_entries(skills: Sequence[RemoteSkill], label: str) -> tuple[Entry, ...]:
    """Return an entry for each skill; of skills with one name each has its place on the server in its name."""
    counts: dict[str, int] = {}
    for skill in skills:
        counts[skill.name] = counts.get(skill.name, 0) + 1
    names = (skill.name if counts[skill.name] == 1 else skill.place for skill in skills)
    return tuple(_entry(skill, label, f"{label}:{name}") for skill, name in zip(skills, names, strict=True))


def _entry(skill: RemoteSkill, label: str, name: str) -> Entry:
    description, path = str(skill.frontmatter["description"]), remote_path(label, skill.uri)
    hidden = skill.frontmatter.get("disable-model-invocation") is True
    return Entry(
        name=name,
        frontmatter_name=skill.name,
        folder=skill.name,
        description=description,
        path=path,
        real=path,
        scope="remote",
        root=remote_path(label, ""),
        namespace=label,
        state=State.USER_ONLY if hidden else State.ACTIVE,
        reason="its author hides it from the model" if hidden else None,
        rule="provider",
        digest=skill.digest,
        requirements=Requirements(),
        findings=(),
        skill=Skill(name=skill.name, description=description, disable_model_invocation=hidden, path=path),
    )


_PREFIX = "prowess-remote-"


@contextmanager
def copied_files(name: str, files: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Yield a folder with files; it is removed at the end.

    Args:
        name: of the folder.
        files: verified paths, relative to the folder, and bytes.

    Raises:
        SkillError: a file cannot be written. What `files` raises is raised too.
    """
    try:
        temporary = TemporaryDirectory(_PREFIX, real_path(temporary_directory_root()))
    except OSError as error:
        raise _copy_error(name, error) from None
    try:
        folder = os.path.join(temporary.path, "copy", name)
        for path, data in files:
            try:
                _write(os.path.join(folder, *path.split("/")), data)
            except OSError as error:
                raise _copy_error(name, error) from None
        yield folder
    finally:
        temporary.close()


def _write(path: str, data: bytes) -> None:
    """Write a new file. A protocol of texts has no permissions: what begins like a program may be started."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    with open_fd(path, CREATE_FLAGS, 0o700 if data.startswith(b"#!") else 0o600) as fd:
        write_all(fd, data)


def _copy_error(name: str, error: OSError) -> SkillError:
    message = f"the skill {quoted(name)} cannot be copied: {describe_os_error(error)}"
    return SkillError(message, hint="check whether the disk is full, or set `TMPDIR` to a folder you may write to")
