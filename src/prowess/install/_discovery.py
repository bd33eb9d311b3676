"""Parse and write the index of a site that offers skills: `/.well-known/agent-skills/index.json`.

Version 0.2.0 of "Agent Skills Discovery via Well-Known URIs" names one artifact for each skill, a file or an archive,
with its digest:

    {"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": [
      {"name": "pdf", "type": "skill-md", "description": "...", "url": "pdf/SKILL.md", "digest": "sha256:HEX"}]}

Version 0.1.0, at `/.well-known/skills/index.json`, has no `$schema`, and lists the files of each skill without digests:

    {"skills": [{"name": "pdf", "description": "...", "files": ["SKILL.md", "scripts/run.sh"]}]}
"""

from __future__ import annotations

import json
import re

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import InstallError
from prowess.skill import is_portable_name

from ._tree import check_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["FOLDER", "MAX_INDEX_BYTES", "OLD_FOLDER", "IndexEntry", "parse_index", "write_index"]

FOLDER, OLD_FOLDER = ".well-known/agent-skills", ".well-known/skills"
MAX_INDEX_BYTES = 8 << 20
_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_MAX_SKILLS = 10_000
_MAX_CONTAINERS = 200_000
"""Objects and arrays in an index: each takes far more memory than its two characters."""
_MAX_URL = 2_000
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}").fullmatch
_KINDS = ("skill-md", "archive")


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
        content = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_object_without_repetition, parse_constant=_refuse_constant
        )
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


def _object_without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice in one object")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _parse_entry(name: str, entry: dict[str, Any], place: str) -> IndexEntry:
    kind, url, digest = entry.get("type"), entry.get("url"), entry.get("digest")
    if not isinstance(kind, str):
        raise _invalid(place, name, "has no `type`")
    if kind not in _KINDS:
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
