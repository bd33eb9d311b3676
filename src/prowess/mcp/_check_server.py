"""Check what a server of MCP serves against the rules of SEP-2640, for the authors of servers."""

from __future__ import annotations

from contextlib import suppress

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.skill import YamlSyntaxError, core_mapping, parse_frontmatter

from ._cache import has_digest
from ._connection import EXTENSION, MODERN, Connection
from ._http_client import HttpClient
from ._messages import NoServerError, RpcError, ServerFailedError, UnreachableError
from ._remote_skill import (
    FIELD_HINTS,
    InvalidEntryError,
    directories,
    entry_problems,
    is_large,
    parse_entry,
    same_json,
    sorted_files,
)
from ._stdio_client import StdioClient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._remote_skill import RemoteSkill

_INVALID_PARAMS = -32602
_MAX_FINDINGS = 200
_READ_BYTES = 64 << 20
"""Bytes of files that are read at most."""
_MAX_DIRECTORIES, _MAX_PAGES = 1000, 100
"""Directories that are read at most, and pages of each."""
_MAX_SHOWN = 300
"""Characters of a URI."""
_RULES: Mapping[str, tuple[str, str]] = {
    "answer": ("error", "implement the method as SEP-2640 describes it"),
    "capability": ("error", "declare the capability `resources`, which serves the files of skills"),
    "connection": ("error", "check the URL or the command, its token, and that the server runs"),
    "caching": ("error", "add `ttlMs` and `cacheScope` to the result"),
    "digest": ("error", "list the size and the SHA-256 digest of exactly the bytes that `resources/read` returns"),
    "directory": ("error", "answer `resources/directory/read` for each directory of a skill with its direct children"),
    "duplicate": ("error", "list each skill once"),
    "dynamic": ("warning", "list files with digests if you can: hosts cannot verify this skill, and may decline it"),
    "entry": ("error", "correct the entry: hosts do not load a skill with an invalid one"),
    "frontmatter": ("error", "send the front matter of the SKILL.md as it is, with the types of YAML 1.2"),
    "get": ("error", "answer `skills/get` with the same entry as `skills/list`"),
    "limit": ("warning", "make the skill smaller or split it: hosts may decline it"),
    "name": ("warning", "give each skill a name of its own"),
    "protocol": ("error", "name a program or a URL that speaks the protocol; over HTTP its path is often `/mcp`"),
    "unknown": ("error", f"answer with the error {_INVALID_PARAMS} (invalid params)"),
    **{field: ("error", hint) for field, hint in FIELD_HINTS.items() if field != "name"},
}
"""The level of each rule, and what to do."""


class ServerFinding(Frozen):
    """A rule that a server breaks."""

    level: str
    """`error` or `warning`."""
    rule: str
    skill: str | None = None
    """The URI of the skill."""
    message: str
    hint: str


class ServerReport(Frozen):
    """What a server offers, and the rules that it breaks."""

    version: str | None = None
    """Of the protocol; `None` if there is no connection."""
    era: str | None = None
    """`modern` (2026-07-28) or `older`."""
    capabilities: tuple[str, ...] = ()
    directories: bool = False
    """Whether clients can list the directories of skills."""
    skills: int = 0
    files: int = 0
    size: int = 0
    """Bytes of all files."""
    verified: int = 0
    """Files whose size and digest were compared."""
    findings: tuple[ServerFinding, ...] = ()


def check_server(
    *,
    command: Sequence[str] = (),
    cwd: str = "/",
    url: str | None = None,
    token: str | None = None,
    allow_private: bool = False,
    timeout: float = 30.0,
) -> ServerReport:
    """Ask a server for its skills and their files, and return the rules of SEP-2640 that it breaks.

    At most 64 MiB of files are read.

    Args:
        command: the program and arguments that start it, if there is no URL.
        cwd: where it starts.
        url: of a server over streamable HTTP.
        token: sent to the URL as bearer token.
        allow_private: whether the host of the URL may be a name in your own network.
        timeout: seconds for each answer.

    Raises:
        ConfigError: the URL or the token is invalid.
    """
    transport: HttpClient | StdioClient = StdioClient(command, {}, cwd)
    if url is not None:
        transport = HttpClient(url, token, allow_private=allow_private)
    connection = Connection(transport, timeout)
    try:
        return _Check(connection).run()
    finally:
        connection.close()


class _Check:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._findings: list[ServerFinding] = []
        self._read = self._verified = 0
        self._capabilities: Mapping[str, Any] = {}
        self._listed: list[object] = []
        self._by_uri: dict[str, object] = {}
        self._skills: list[RemoteSkill] = []

    def _add(self, rule: str, message: str, skill: str | None = None) -> None:
        if len(self._findings) < _MAX_FINDINGS:
            level, hint = _RULES[rule]
            shown = None if skill is None else neutral(skill[:_MAX_SHOWN])
            finding = ServerFinding(level=level, rule=rule, skill=shown, message=neutral(message), hint=hint)
            self._findings.append(finding)

    def run(self) -> ServerReport:
        """Ask for everything, in the order in which clients do."""
        try:
            self._capabilities = self._connection.open()
            if not isinstance(self._capabilities.get("resources"), dict):
                self._add("capability", "it declares skills without `resources`")
            with suppress(RpcError):  # the next line reports it
                self._ask("skills/list")
            for page, _ in self._connection.list_skills():
                self._listed += page
            self._check_entries()
            for skill in self._skills:
                self._check_get(skill)
                self._check_files(skill)
            self._check_unknown("skills/get", "skill://no-such-skill/SKILL.md")
            if self._settings().get("directoryRead") is True:
                self._check_directories()
        except NoServerError as error:
            self._add("protocol", f"it is not a server of MCP: {error}")
        except UnreachableError as error:
            self._add("connection", str(error))
        except ServerFailedError as error:
            self._add("answer", str(error))
        return self._report()

    def _settings(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self._capabilities["extensions"][EXTENSION]
        return settings

    def _report(self) -> ServerReport:
        version = self._connection.version
        files = [file for skill in self._skills for file in skill.files or ()]
        return ServerReport(
            version=version,
            era=None if version is None else "modern" if version == MODERN else "older",
            capabilities=tuple(sorted(neutral(str(name)) for name in self._capabilities)),
            directories=bool(self._capabilities) and self._settings().get("directoryRead") is True,
            skills=len(self._listed),
            files=len(files),
            size=sum(file.size for file in files),
            verified=self._verified,
            findings=tuple(self._findings),
        )

    def _ask(self, method: str, **params: Any) -> Any:
        """Return a result, which must say for how long it is current.

        Raises:
            RpcError: the server answered with an error.
            ServerFailedError: it did not answer by the rules.
        """
        result = self._connection.ask(method, params)
        age, scope = result.get("ttlMs"), result.get("cacheScope")
        if self._connection.version == MODERN and (type(age) not in (int, float) or scope not in ("public", "private")):
            self._add("caching", f"the result of {quoted(method)} lacks them")
        return result

    # ── entries ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _check_entries(self) -> None:
        names: dict[str, str] = {}
        for entry in self._listed:
            uri = entry.get("uri") if isinstance(entry, dict) else None
            shown = uri if isinstance(uri, str) else None
            if shown is not None:
                if shown in self._by_uri:
                    self._add("duplicate", "it is listed more than once", shown)
                    continue
                self._by_uri[shown] = entry
            for rule, message in entry_problems(entry):
                self._add(rule, message, shown)
            try:
                skill = parse_entry(entry)
            except InvalidEntryError as error:
                if not is_large(entry):
                    self._add("entry", str(error), shown)
                continue
            if (other := names.setdefault(skill.name, skill.uri)) != skill.uri:
                self._add("name", f"it has the name of {quoted(other)}", skill.uri)
            self._skills.append(skill)

    def _check_get(self, skill: RemoteSkill) -> None:
        try:
            entry = self._ask("skills/get", uri=skill.uri).get("skill")
        except RpcError as error:
            self._add("get", str(error), skill.uri)
            return
        if not same_json(sorted_files(entry), sorted_files(self._by_uri[skill.uri])):
            self._add("get", "the entry is not the one that is listed", skill.uri)

    def _check_unknown(self, method: str, uri: str) -> None:
        try:
            self._connection.ask(method, {"uri": uri})
        except RpcError as error:
            if error.code != _INVALID_PARAMS:
                self._add("unknown", f"{quoted(method)} of an unknown URI has another error: {error}")
        else:
            self._add("unknown", f"{quoted(method)} of an unknown URI has a result")

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _check_files(self, skill: RemoteSkill) -> None:
        """Compare the bytes of files with their entries, and the front matter with that of the SKILL.md."""
        for file in skill.files or ():
            if self._read + file.size > _READ_BYTES:
                continue
            self._read += file.size
            try:
                data = self._connection.read_resource(file.uri, file.size)
            except ServerFailedError as error:
                self._add("digest", f"{quoted(file.path)}: {error}", skill.uri)
                continue
            self._verified += 1
            if len(data) != file.size:
                self._add("digest", f"{quoted(file.path)} has {len(data):,} bytes, not {file.size:,}", skill.uri)
            elif not has_digest(data, file.digest):
                self._add("digest", f"{quoted(file.path)} has another digest", skill.uri)
            elif file.uri == skill.uri:
                self._check_frontmatter(skill, data)

    def _check_frontmatter(self, skill: RemoteSkill, data: bytes) -> None:
        try:
            found = core_mapping(parse_frontmatter(data, "SKILL.md").frontmatter or "")
        except (YamlSyntaxError, ValueError, RecursionError):
            self._add("frontmatter", "the front matter of the SKILL.md is invalid", skill.uri)
            return
        keys = sorted({*found} | {*skill.frontmatter}, key=str)
        for key in keys:
            if not same_json([found.get(key), key in found], [skill.frontmatter.get(key), key in skill.frontmatter]):
                self._add("frontmatter", f"{quoted(str(key))} is not as in the SKILL.md", skill.uri)

    def _check_directories(self) -> None:
        """Compare the directories of skills with the files of their entries."""
        asked = 0
        for skill in self._skills:
            for folder, expected in directories(skill).items():
                if asked == _MAX_DIRECTORIES:
                    return
                asked += 1
                try:
                    missing = expected - self._children(folder)
                except RpcError as error:
                    self._add("directory", f"{quoted(folder)}: {error}", skill.uri)
                    break
                if missing:
                    self._add("directory", f"{quoted(folder)} lacks {quoted(min(missing))}", skill.uri)
        for skill in self._skills[:1]:
            self._check_unknown("resources/directory/read", skill.uri)

    def _children(self, folder: str) -> set[str]:
        """Return the URIs in a directory, of all its pages.

        Raises:
            RpcError: the server answered with an error.
            ServerFailedError: it did not answer by the rules.
        """
        found: set[str] = set()
        cursors: set[str] = set()
        more: dict[str, str] = {}
        for _ in range(_MAX_PAGES):
            result = self._ask("resources/directory/read", uri=folder, **more)
            rows = result.get("resources")
            if not isinstance(rows, list):
                raise ServerFailedError(f"the list of the directory {quoted(folder)} is invalid")
            found.update(row["uri"] for row in rows if isinstance(row, dict) and isinstance(row.get("uri"), str))
            cursor = result.get("nextCursor")
            if cursor is None:
                return found
            if not isinstance(cursor, str) or cursor in cursors:
                break
            cursors.add(cursor)
            more = {"cursor": cursor}
        raise ServerFailedError(f"the list of the directory {quoted(folder)} has no end, or an invalid cursor")
