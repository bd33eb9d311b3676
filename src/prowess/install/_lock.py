"""Read and write `skills-lock.json`: which skills are installed, from where, and what each file of them is.

The format is version 1 of the tool `skills` of Vercel, with one more key in each entry, `prowess`. That tool keeps
unknown keys of an entry until it writes the entry anew, and so does this module, of entries and of the file:

    {"version": 1, "skills": {"pdf": {"source": "anthropics/skills", "ref": "v1", "sourceType": "github",
      "skillPath": "skills/pdf/SKILL.md", "computedHash": HEX,
      "prowess": {"revision": COMMIT, "digest": "sha256:TREE", "files": {"SKILL.md": "100644 sha256:HEX"},
                  "hosts": ["claude-code"]}}}}

A lock that cannot be read is an error and never an empty lock: it would be written back without its skills.
"""

from __future__ import annotations

import json
import re

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import did_you_mean, neutral, quoted
from prowess.errors import ConfigError, SkillNotFoundError

from ._lock_values import EntryReader, LockValueError, check_depth, order_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

__all__ = [
    "LOCK_FILE",
    "MAX_LOCK_BYTES",
    "Lock",
    "LockedSkill",
    "folder_name",
    "parse_entry",
    "parse_lock",
    "read_lock",
]

LOCK_FILE = "skills-lock.json"
MAX_LOCK_BYTES = 32 * 1024 * 1024
"""A larger lock is refused."""
_MAX_NAMES = 10
"""The most names of skills in a hint."""
_VERSION = 1
_KEYS = {
    "source": "source",
    "sourceUrl": "source_url",
    "ref": "ref",
    "sourceType": "source_type",
    "skillPath": "skill_path",
    "computedHash": "computed_hash",
    "wellKnownDigest": "well_known_digest",
}
"""The keys of an entry that `skills` has too, in the order in which they are written, and the fields here."""
_OUR_KEYS = ("revision", "digest", "files", "hosts")


class LockedSkill(Frozen):
    """One installed skill."""

    name: str
    source: str
    """Where it came from, as `skills` writes it: `owner/repo`, a URL, or a path relative to the lock."""
    source_type: str
    """`github`, `gitlab`, `git`, `well-known`, `local` or `node_modules`, as in `skills`; or `oci` or `bucket`."""
    source_url: str | None = None
    ref: str | None = None
    """The branch or tag that was asked for."""
    skill_path: str | None = None
    """The path of its SKILL.md in the source."""
    computed_hash: str | None = None
    """What `computed_hash` returns for its folder in the source."""
    well_known_digest: str | None = None
    revision: str | None = None
    """The commit, or the digest of the manifest, that was installed."""
    tree_digest: str | None = None
    """The digest of all its files, as `Tree.digest` has it."""
    files: Mapping[str, str] = EMPTY
    """The path of each file, with its mode and digest: `100644 sha256:HEX`."""
    hosts: tuple[str, ...] = ()
    """The agents into whose folders it was installed; without any, it is in the folder that agents share."""
    other: Mapping[str, Any] = EMPTY
    """Keys of the entry that are not known here."""
    other_prowess: Mapping[str, Any] = EMPTY
    """Keys inside `prowess` that are not known here: those of a later version."""

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.name if self.tree_digest else folder_name(self.name)

    def to_entry(self) -> dict[str, Any]:
        """Return the entry of the lock, its keys in the order in which they are written."""
        entry = {key: value for key, field in _KEYS.items() if (value := getattr(self, field)) is not None}
        ours: dict[str, Any] = {"revision": self.revision, "digest": self.tree_digest}
        ours |= {"files": order_keys(self.files), "hosts": sorted(set(self.hosts))}
        ours = {key: value for key, value in ours.items() if value} | order_keys(self.other_prowess)
        return entry | order_keys(self.other) | ({"prowess": ours} if ours else {})


class Lock(Frozen):
    """The content of a lock."""

    skills: Mapping[str, LockedSkill] = EMPTY
    """By name, in the order of the file."""
    other: Mapping[str, Any] = EMPTY
    """Keys of the file that are not known here. `skills` drops them when it writes the file."""

    def with_skills(self, skills: Iterable[LockedSkill]) -> Lock:
        """Return a lock in which these skills are added, or replace those of the same names."""
        return self.with_changes(skills=order_keys({**self.skills, **{skill.name: skill for skill in skills}}))

    def without(self, names: Iterable[str]) -> Lock:
        """Return a lock without the skills of these names."""
        removed = set(names)
        return self.with_changes(skills={name: skill for name, skill in self.skills.items() if name not in removed})

    def select(self, names: Collection[str] = ()) -> list[LockedSkill]:
        """Return the skills of these names, in the order of the file; all without names.

        Raises:
            SkillNotFoundError: the lock has no skill of a name.
        """
        for name in names:
            if name not in self.skills:
                known = ", ".join(map(quoted, [*self.skills][:_MAX_NAMES]))
                otherwise = f"it has {known}" if known else "`prowess add SOURCE` installs skills and locks them"
                if len(self.skills) > _MAX_NAMES:
                    otherwise += f" and {len(self.skills) - _MAX_NAMES:,} more"
                hint = did_you_mean(name, self.skills, otherwise)
                raise SkillNotFoundError(f"the lock has no skill {quoted(name)}", hint=hint)
        return [skill for skill in self.skills.values() if not names or skill.name in names]

    def to_text(self) -> str:
        """Return the text of the file: the same for the same content, on every machine."""
        skills = order_keys({name: skill.to_entry() for name, skill in self.skills.items()})
        content = {"version": _VERSION, "skills": skills, **order_keys(self.other)}
        return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def folder_name(name: str) -> str:
    """Return the name of the folder that `skills` gives a skill: in lower case, with hyphens for other characters."""
    return re.sub(r"[^a-z0-9._]+", "-", name.lower()).lstrip(".-").rstrip(".-")[:255] or "unnamed-skill"


def read_lock(path: str) -> Lock:
    """Read a lock; if the file is missing, the lock is empty.

    Raises:
        ConfigError: it cannot be read, or is not a lock. The message begins with the path and the place in the file.
    """
    try:
        data = read_file(path, MAX_LOCK_BYTES)
    except UnreadableError as error:
        if error.code == "file-missing" and error.message == "no such file":
            return Lock()
        message = f"{neutral(path)}: the lock cannot be read: {error.message}"
        raise ConfigError(message, hint=_HINTS.get(error.code)) from None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError(f"{neutral(path)}:{line}: the lock is not UTF-8", hint=_RESTORE) from None
    return parse_lock(text, path)


_RESTORE = f"restore it, for example with `git checkout {LOCK_FILE}`"
_HINTS = {
    "file-too-large": _RESTORE,
    "file-is-link": "put the file itself there",
    "file-not-regular": "put a text file there",
    "file-unreadable": "fix its permissions",
}
_CONFLICT = re.compile(r"^(?:<{7}|>{7}|={7}|\|{7})(?: |\r?$)", re.MULTILINE)


def parse_lock(text: str, path: str = LOCK_FILE) -> Lock:
    """Return the lock in a text.

    Args:
        text: of the file.
        path: of the file, for messages.

    Raises:
        ConfigError: it is not a lock.
    """
    shown = neutral(path)
    try:
        content = json.loads(text, object_pairs_hook=_object_without_repetition, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        if conflict := _CONFLICT.search(text):
            import shlex

            line = text.count("\n", 0, conflict.start()) + 1
            message, hint = (
                "the lock has a conflict of git",
                f"resolve it, or take one side: `git checkout --ours {shlex.quote(shown)}`",
            )
            raise ConfigError(f"{shown}:{line}: {message}", hint=hint) from None
        place = f"{shown}:{error.lineno}:{error.colno}"
        raise ConfigError(f"{place}: the lock is not valid JSON: {error.msg}", hint=_RESTORE) from None
    except RecursionError:
        raise ConfigError(f"{shown}: the lock is nested too deeply", hint=_RESTORE) from None
    except ValueError as error:
        raise ConfigError(f"{shown}: the lock is not valid JSON: {error}", hint=_RESTORE) from None
    try:
        return _lock_from(content)
    except LockValueError as error:
        raise ConfigError(f"{shown}: {error.place}: {error}", hint=error.hint or _RESTORE) from None


def _object_without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set(found)
        for key, _ in pairs:
            if key not in seen:
                break
            seen.remove(key)
        raise ValueError(f"the key {quoted(key)} comes twice in one object")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _lock_from(content: Any) -> Lock:
    """Return the lock for the content of a file.

    Raises:
        LockValueError: a value is missing or invalid.
    """
    if not isinstance(content, dict):
        raise LockValueError("the whole file", "must be an object")
    check_depth(content)
    version = content.get("version")
    if isinstance(version, bool) or version != _VERSION:
        shown = quoted(json.dumps(version)) if "version" in content else "missing"
        hint = "update Prowess, or the tool that wrote the file" if isinstance(version, int) and version > 1 else None
        raise LockValueError("version", f"must be {_VERSION}, and is {shown}", hint)
    entries = content.get("skills")
    if not isinstance(entries, dict):
        raise LockValueError("skills", "must be an object" if "skills" in content else "is missing")
    skills = {name: parse_entry(name, entry) for name, entry in entries.items()}
    names: dict[str, str] = {}
    for skill in skills.values():
        if (first := names.setdefault(skill.folder.casefold(), skill.name)) != skill.name:
            problem = f"has the same folder as {quoted(first)}"
            raise LockValueError(f"skills.{quoted(skill.name)}", problem, "remove one of the two")
    other = {key: value for key, value in content.items() if key not in ("version", "skills")}
    return Lock(skills=order_keys(skills), other=other)


def parse_entry(name: str, entry: Any) -> LockedSkill:
    """Return the skill of an entry of a lock.

    Raises:
        LockValueError: a value is missing or invalid.
    """
    values = EntryReader.for_skill(name, entry)
    fields: dict[str, Any] = {field: values.text(key) for key, field in _KEYS.items()}
    for key in ("source", "sourceType"):
        if key not in entry:
            raise values.error(key, "is missing")
    values.check_source()
    ours = values.ours()
    return LockedSkill(
        name=name,
        **fields,
        revision=ours.text("revision"),
        tree_digest=ours.digest(),
        files=ours.files(),
        hosts=ours.hosts(),
        other={key: value for key, value in entry.items() if key not in _KEYS and key != "prowess"},
        other_prowess={key: value for key, value in ours.entry.items() if key not in _OUR_KEYS},
    )
