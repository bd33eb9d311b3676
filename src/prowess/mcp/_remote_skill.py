"""Check what a server of MCP says of a skill: each value by its rule, so that no path leads anywhere else."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from urllib.parse import unquote

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.skill import is_portable_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

MAX_FILES, MAX_BYTES = 512, 16 * 1024 * 1024
"""Files and bytes of a skill that every client accepts, and Prowess at most."""
_URI = re.compile(r"([a-z][a-z0-9+.-]{0,31})://([\x21-\x7e]{1,2000})").fullmatch
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}").fullmatch
_SEGMENT = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%-]{1,400}").fullmatch
_MAX_FRONTMATTER = 64 * 1024
_MAX_SEGMENT_BYTES = 255


class InvalidEntryError(ValueError):
    """The entry of a skill breaks a rule; the text is a reason, safe to show."""


class RemoteFile(Frozen):
    """A file of a skill, as its server describes it."""

    uri: str
    path: str
    """Relative to the skill's folder, with `/`."""
    digest: str
    """`sha256:` and 64 hexadecimal digits."""
    size: int


class RemoteSkill(Frozen):
    """A skill as its server describes it."""

    uri: str
    """Of its SKILL.md."""
    name: str
    place: str
    """The path of its folder on the server: what is between the scheme and the file."""
    frontmatter: Mapping[str, Any]
    files: tuple[RemoteFile, ...] | None
    """Sorted by path; `None` if the server makes the content when it is read, so that nothing can be verified."""

    @property
    def digest(self) -> str | None:
        """The digest of what the server describes: another one if any file or the front matter changes."""
        if self.files is None:
            return None
        rows = [self.uri, self.frontmatter, *([file.path, file.digest, file.size] for file in self.files)]
        return f"sha256:{hashlib.sha256(_canonical(rows).encode()).hexdigest()}"

    def find(self, path: str) -> RemoteFile | None:
        """Return the file with a path."""
        return next((file for file in self.files or () if file.path == path), None)


def parse_entry(entry: object) -> RemoteSkill:
    """Return the skill that an entry of `skills/list` or `skills/get` describes.

    Raises:
        InvalidEntryError: it breaks a rule of SEP-2640, or a limit.
    """
    if not isinstance(entry, dict):
        raise InvalidEntryError("it is not an object")
    uri, frontmatter = entry.get("uri"), entry.get("frontmatter")
    place = _place(uri)
    if not isinstance(frontmatter, dict):
        raise InvalidEntryError("its front matter is not an object")
    try:
        # A text that is not Unicode could not be shown.
        too_long = len(json.dumps(frontmatter, ensure_ascii=False, allow_nan=False).encode()) > _MAX_FRONTMATTER
    except (ValueError, RecursionError):
        raise InvalidEntryError("its front matter is invalid") from None
    if too_long:
        raise InvalidEntryError(f"its front matter has more than {_MAX_FRONTMATTER:,} bytes")
    name, description = frontmatter.get("name"), frontmatter.get("description")
    if not isinstance(name, str) or not is_portable_name(name):
        raise InvalidEntryError(f"its name breaks the rules of agentskills.io: {quoted(str(name))}")
    if place.rpartition("/")[2] != name:
        raise InvalidEntryError("its name is not the last folder of its URI")
    if not isinstance(description, str) or not description.strip():
        raise InvalidEntryError("it has no description")
    resources = entry.get("resources")
    files = None if resources == "dynamic" else _files(str(uri), resources)
    return RemoteSkill(uri=str(uri), name=name, place=place, frontmatter=frontmatter, files=files)


def _place(uri: object) -> str:
    """Return the path of the skill that the URI of a SKILL.md is in."""
    match = _URI(uri) if isinstance(uri, str) else None
    place, slash, file = match[2].rpartition("/") if match else ("", "", "")
    if file != "SKILL.md" or not slash:
        raise InvalidEntryError("its URI is not that of a SKILL.md")
    if any(not _SEGMENT(part) or unquote(part) in (".", "..") for part in place.split("/")):
        raise InvalidEntryError("its URI has an invalid part")
    return place


def _files(uri: str, resources: object) -> tuple[RemoteFile, ...]:
    if not isinstance(resources, list):
        raise InvalidEntryError("its list of files is invalid")
    if len(resources) > MAX_FILES:
        raise InvalidEntryError(f"it has more than {MAX_FILES} files")
    top = uri.removesuffix("SKILL.md")
    files = sorted((_file(top, row) for row in resources), key=lambda file: file.path)
    if sum(file.size for file in files) > MAX_BYTES:
        raise InvalidEntryError(f"it has more than {MAX_BYTES // 1024 // 1024} MiB")
    if not any(file.uri == uri for file in files):
        raise InvalidEntryError("its list of files lacks its SKILL.md")
    # No two files may be the same one on any system, and none may be the folder of another.
    keys = [unicodedata.normalize("NFC", file.path).casefold() for file in files]
    folders = {key[:at] for key in keys for at, character in enumerate(key) if character == "/"}
    if len({*keys}) != len(keys) or folders & {*keys}:
        raise InvalidEntryError("two of its files have the same path")
    return tuple(files)


def _file(top: str, row: object) -> RemoteFile:
    if not isinstance(row, dict):
        raise InvalidEntryError("its list of files is invalid")
    uri, digest, size = row.get("uri"), row.get("digest"), row.get("size")
    if not isinstance(uri, str) or not _URI(uri) or not uri.startswith(top):
        raise InvalidEntryError("one of its files is not in its folder")
    if not isinstance(digest, str) or not _DIGEST(digest):
        raise InvalidEntryError("one of its files has an invalid digest")
    if type(size) is not int or size < 0:
        raise InvalidEntryError("one of its files has an invalid size")
    parts = [_file_name(part) for part in uri[len(top) :].split("/")]
    return RemoteFile(uri=uri, path="/".join(parts), digest=digest, size=size)


def _file_name(part: str) -> str:
    """Return a part of a URI as the name of a file or folder."""
    try:
        name = unquote(part, errors="strict") if _SEGMENT(part) else ""
        is_short = len(name.encode()) <= _MAX_SEGMENT_BYTES
    except UnicodeError:
        name, is_short = "", False
    if name in ("", ".", "..") or not is_short or "/" in name or "\\" in name or not name.isprintable():
        raise InvalidEntryError("one of its files has an invalid path")
    return name


def same_json(one: object, other: object) -> bool:
    """Return whether two values are the same in JSON: `1` and `1.0` are, `1` and `true` are not."""
    try:
        return _canonical(_plain_numbers(one)) == _canonical(_plain_numbers(other))
    except (ValueError, RecursionError):
        return False


def _plain_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=dict)


_MAX_CHARACTERS = {"name": 64, "description": 1024, "compatibility": 500}
FIELD_HINTS: Mapping[str, str] = {
    "name": "write a text of at most 64 characters",
    "description": "write a text of 1 to 1,024 characters",
    "license": "write a text, or remove it",
    "compatibility": "write a text of 1 to 500 characters, or remove it",
    "metadata": 'write texts, as in `version: "1.0"`, since some clients fail on the whole list otherwise',
}
"""What to do about each field that breaks a rule."""


def field_problems(frontmatter: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each field that breaks a rule, with the reason.

    Args:
        frontmatter: with the types of JSON.
    """
    for field, most in _MAX_CHARACTERS.items():
        value = frontmatter.get(field)
        if field == "compatibility" and field not in frontmatter:
            continue
        if not isinstance(value, str):
            yield field, f"its `{field}` is not text"
        elif not value.strip():
            yield field, f"its `{field}` is empty"
        elif len(value) > most:
            yield field, f"its `{field}` has more than {most:,} characters"
    # Clients accept a license without a value, but none that is not text.
    if not isinstance(frontmatter.get("license"), str | None):
        yield "license", "its `license` is not text"
    metadata = frontmatter.get("metadata", {})
    if not isinstance(metadata, dict):
        yield "metadata", "its `metadata` is not a map"
    elif not all(isinstance(value, str) for value in metadata.values()):
        yield "metadata", "its `metadata` has a value that is not text"


_MAX_SHOWN_BYTES = 1 << 60
"""A sum of sizes can have more digits than Python prints."""


def directories(skill: RemoteSkill) -> dict[str, set[str]]:
    """Return the directories of a skill, each with the URIs that it must contain."""
    top = skill.uri.removesuffix("/SKILL.md")
    found: dict[str, set[str]] = {top: set()}
    for file in skill.files or ():
        child = file.uri
        while child != top:
            parent = child.rpartition("/")[0]
            found.setdefault(parent, set()).add(child)
            child = parent
    return found


def entry_problems(entry: object) -> Iterator[tuple[str, str]]:
    """Yield the rules that an entry breaks besides those that make it invalid for every host."""
    if not isinstance(entry, dict):
        return
    if entry.get("resources") == "dynamic":
        yield "dynamic", "it has no list of files"
    if is_large(entry):
        count, size = _measure(entry)
        files = "file" if count == 1 else "files"
        yield "limit", f"it has {count:,} {files} of {size:,} bytes; the limits are {MAX_FILES} and {MAX_BYTES:,}"
    frontmatter = entry.get("frontmatter")
    if not isinstance(frontmatter, dict):
        return
    for field, problem in field_problems(frontmatter):
        # Without a name or a description the entry is invalid, and `entry` says so.
        if field != "name" and (field != "description" or "characters" in problem):
            yield field, problem


def _measure(entry: Mapping[str, Any]) -> tuple[int, int]:
    rows = entry.get("resources")
    rows = rows if isinstance(rows, list) else []
    sizes = [row.get("size") for row in rows if isinstance(row, dict)]
    return len(rows), min(sum(size for size in sizes if type(size) is int and size > 0), _MAX_SHOWN_BYTES)


def is_large(entry: object) -> bool:
    count, size = _measure(entry) if isinstance(entry, dict) else (0, 0)
    return count > MAX_FILES or size > MAX_BYTES


def sorted_files(entry: object) -> object:
    """Return an entry with its files in the order of their URIs."""
    if not isinstance(entry, dict) or not isinstance(entry.get("resources"), list):
        return entry
    return {**entry, "resources": sorted(entry["resources"], key=repr)}
