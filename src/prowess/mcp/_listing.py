"""Turn what a server of MCP lists into entries of a catalog, and findings about what it should not list."""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.catalog import Entry, State
from prowess.findings import finding
from prowess.skill import Requirements, Skill

from ._messages import ServerFailedError, UnreachableError
from ._remote_skill import InvalidEntryError, parse_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.findings import Finding

    from ._connection import Connection
    from ._remote_skill import RemoteSkill

__all__ = ["Listing", "describe_server", "make_entries", "read_listing", "remote_path"]

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
    try:
        for rows, current in connection.list_skills():
            seconds = min(seconds, current)
            for row in rows:
                try:
                    _add(skills, parse_entry(row))
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
    return Listing(
        skills=tuple(skills.values()),
        entries=make_entries([*skills.values()], label),
        findings=tuple(findings),
        seconds=seconds,
        is_complete=complete,
    )


def _add(skills: dict[str, RemoteSkill], skill: RemoteSkill) -> None:
    """Add a skill by its URI.

    Raises:
        InvalidEntryError: it is there already.
    """
    if skill.uri in skills:
        raise InvalidEntryError("it is listed twice")
    skills[skill.uri] = skill


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
