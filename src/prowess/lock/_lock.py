"""Read and write `skills-lock.json`: which skills are installed, from where, and what each file of them is.

The names and paths of a lock become files and arguments of programs, so what leaves a folder, or looks like an option,
is an error.

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
import os
import re

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import did_you_mean, hidden_characters, neutral, quoted, quoted_list
from prowess.errors import ConfigError, SkillNotFoundError

from ._project import LOCK_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any, TypeVar

    Item = TypeVar("Item")

_MAX_DEPTH = 50
_MAX_TEXT = 4096
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_FILE_VALUE = r"(?:100644|100755|120000) sha256:[0-9a-f]{64}"
_FILE_VALUES = re.compile(rf"(?:{_FILE_VALUE}\n)*")
# Several paths, each ended by NUL: an empty part, `.`, `..` or `.git`, a backslash, or a control character.
_BAD_PATH = re.compile(r"(?:^|[/\0])(?:\.{0,2}|\.[gG][iI][tT])[/\0]|[\\\x01-\x1f\x7f]")
_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_ON_GITHUB = re.compile(r"(?:(?:https|ssh)://)?(?:[^/@]*@)?github\.com[/:]")
_GIT_TYPES = ("github", "gitlab", "git")


class LockValueError(Exception):
    """A value of a lock is invalid."""

    def __init__(self, place: str, problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.place, self.hint = place, hint


def order_keys(mapping: Mapping[str, Item]) -> dict[str, Item]:
    """Return a mapping in the order in which JavaScript writes sorted keys.

    They are sorted by UTF-16 code units; but keys that are indexes of an array come first, as in every object.
    """
    return {key: mapping[key] for key in sorted(mapping, key=_key_order)}


def _key_order(key: str) -> tuple[int, str | bytes]:
    if key[:1].isdigit() and _ARRAY_INDEX.fullmatch(key) and int(key) < 0xFFFFFFFF:
        return int(key), ""
    # The order of code points differs only for characters that have two code units.
    return 0xFFFFFFFF, key.encode("utf-16-be", "surrogatepass")


def check_depth(value: Any) -> None:
    """Check that a value can be written again.

    Raises:
        LockValueError: it is nested too deeply, or contains half of a surrogate pair or an infinite number.
    """
    level = [value]
    for _ in range(_MAX_DEPTH):
        texts = [item for item in level if isinstance(item, str)]
        texts += [key for item in level if isinstance(item, dict) for key in item]
        if any(not text.isascii() and re.search("[\ud800-\udfff]", text) for text in texts):
            raise LockValueError("the whole file", "contains half of a surrogate pair")
        if any(isinstance(item, float) and item in (float("inf"), -float("inf")) for item in level):
            raise LockValueError("the whole file", "contains a number that is too large")
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise LockValueError("the whole file", "is nested too deeply")


class EntryReader:
    """The values of one entry, or of the object `prowess` in it."""

    def __init__(self, place: str, entry: Any) -> None:
        """Check the type.

        Raises:
            LockValueError: the entry is not an object.
        """
        self.place = place
        if not isinstance(entry, dict):
            raise LockValueError(place, "must be an object")
        self.entry: dict[str, Any] = entry

    @classmethod
    def for_skill(cls, name: str, entry: Any) -> EntryReader:
        """Return the values of the entry of a skill.

        Raises:
            LockValueError: its name cannot be that of a folder, or the entry is not an object.
        """
        place = f"skills.{quoted(name)}"
        is_path = "/" in name or "\\" in name or name in ("", ".", "..", "__proto__")
        if is_path or len(name) > 255 or hidden_characters(name) or "\n" in name or "\t" in name:
            raise LockValueError(place, "is not the name of a skill", "remove the entry")
        return cls(place, entry)

    def error(self, key: str, problem: str, hint: str | None = None) -> LockValueError:
        """Return the error for the value of a key."""
        return LockValueError(f"{self.place}.{key}", problem, hint)

    def text(self, key: str) -> str | None:
        """Return a text, or `None` if it is missing.

        Raises:
            LockValueError: it is something else, or cannot be a URL, path or digest.
        """
        value = self.entry.get(key)
        if value is None and key not in self.entry:
            return None
        if not isinstance(value, str):
            raise self.error(key, "must be a text")
        if not value or len(value) > _MAX_TEXT or hidden_characters(value) or "\n" in value or "\t" in value:
            raise self.error(key, f"must be a text of one line, and is {quoted(value)}")
        if value.startswith("-"):
            raise self.error(key, f"must not begin with a hyphen, and is {quoted(value)}")
        if key == "skillPath" and _BAD_PATH.search(f"{value}\0"):
            raise self.error(key, f"must be a path inside the source, and is {quoted(value)}")
        return value

    def check_source(self) -> None:
        """Check that `sourceUrl` leads to `source`, which is what people read.

        Raises:
            LockValueError: it leads elsewhere.
        """
        source, url, kind = (str(self.entry.get(key, "")) for key in ("source", "sourceUrl", "sourceType"))
        if not url:
            return
        if kind == "well-known":
            address = re.sub(r"^[a-z]+://(?:[^/?#]*@)?|[/?#].*$", "", url.lower())
            hosts = {address, address.partition(":")[0]}
            hosts |= {host.removeprefix("www.") for host in hosts}
            leads_there = source.lower().removeprefix("wellknown/") in hosts
        elif kind in _GIT_TYPES:
            short, long = (text.lower().removesuffix("/").removesuffix(".git") for text in (source, url))
            leads_there = short == long or (":" not in short and long.endswith((f"/{short}", f":{short}")))
            if kind == "github" and not _ON_GITHUB.match(long):
                leads_there = short == long and ":" not in short
        else:
            return
        if not leads_there:
            problem = f"is {quoted(url)}, which is not {quoted(source)}"
            raise self.error("sourceUrl", problem, "correct the two, or install the skill again")

    def ours(self) -> EntryReader:
        """Return the object `prowess` of the entry, empty if it is missing.

        Raises:
            LockValueError: it is not an object.
        """
        return EntryReader(f"{self.place}.prowess", self.entry.get("prowess", {}))

    def digest(self) -> str | None:
        """Return the digest of the files, or `None`.

        Raises:
            LockValueError: it is not one, or the list of files is missing.
        """
        digest = self.text("digest")
        if digest is not None and not _DIGEST.fullmatch(digest):
            raise self.error("digest", f"must be `sha256:` and 64 digits, and is {quoted(digest)}")
        if (digest is None) == bool(self.entry.get("files")):
            raise self.error("files" if digest else "digest", "is missing")
        return digest

    def files(self) -> Mapping[str, str]:
        """Return the files of the skill.

        Raises:
            LockValueError: a path leaves the folder, or a value is no mode and digest.
        """
        files = self.entry.get("files", {})
        if not isinstance(files, dict):
            raise self.error("files", "must be an object")
        if not all(isinstance(value, str) for value in files.values()):
            raise self.error("files", "must contain texts")
        # One search for all files, since a lock may have ten thousand.
        paths, values = "".join(f"{path}\0" for path in files), "".join(f"{value}\n" for value in files.values())
        if paths.count("\0") > len(files) or _BAD_PATH.search(paths):
            bad = next(path for path in files if "\0" in path or _BAD_PATH.search(f"{path}\0"))
            raise self.error("files", f"contains {quoted(bad)}, which is not the path of a file inside the skill")
        if values.count("\n") > len(files) or not _FILE_VALUES.fullmatch(values):
            bad = next(path for path, value in files.items() if not re.fullmatch(_FILE_VALUE, value))
            raise self.error("files", f"has no mode and digest for {quoted(bad)}")
        return files

    def hosts(self) -> tuple[str, ...]:
        """Return the agents.

        Raises:
            LockValueError: it is not a list of names.
        """
        hosts = self.entry.get("hosts", [])
        if not isinstance(hosts, list) or not all(
            isinstance(host, str) and re.fullmatch(r"[a-z0-9][a-z0-9@._-]{0,99}", host) for host in hosts
        ):
            raise self.error("hosts", "must be a list of agents")
        return tuple(hosts)


LINK_KEY = "link"
"""The key inside `prowess` of an entry whose skill is installed as a link."""
SOURCE_KINDS = {
    "github": "git",
    "gitlab": "git",
    "git": "git",
    "oci": "oci",
    "bucket": "bucket",
    "well-known": "well-known",
    "local": "folder",
}
"""The kind of source for each `sourceType` of a lock."""
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

    @property
    def is_link(self) -> bool:
        """Whether it is installed as a link."""
        return bool(self.other_prowess.get(LINK_KEY))

    def source_text(self, folder: str, *, inside: bool = False) -> str:
        """Return its source as an argument of `prowess add`; anyone may have written the lock.

        Args:
            folder: the folder of the lock, absolute.
            inside: whether to name the folder of a repository of git in which the skill is, too.
        """
        if self.source_type == "local":
            return os.path.normpath(os.path.join(folder, self.source))
        url, ref = self.source_url or self.source, self.ref or ""
        if self.source_type == "oci":
            return f"{url}{'@' if ref.startswith('sha256:') else ':' if ref else ''}{ref}"
        if self.source_type == "git" and "://" in url and not url.endswith(".git"):
            url = f"git+{url}" if not url.startswith("ssh://") else url
        parent = os.path.dirname(os.path.dirname(self.skill_path or ""))
        if inside and parent and SOURCE_KINDS.get(self.source_type) == "git":
            url = f"{url}:{parent}"
        return f"{url}#{ref}" if ref else url

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
                known = quoted_list([*self.skills], _MAX_NAMES)
                otherwise = f"it has {known}" if known else "`prowess add SOURCE` installs skills and locks them"
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


def read_lock(path: str, read: Callable[[str, int], bytes] = read_file) -> Lock:
    """Read a lock; if the file is missing, the lock is empty.

    Args:
        path: of the lock.
        read: returns the bytes of a file of at most so many.

    Raises:
        ConfigError: it cannot be read, or is not a lock. The message begins with the path and the place in the file.
    """
    try:
        data = read(path, MAX_LOCK_BYTES)
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
        content = parse_strict_json(text)
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


def parse_strict_json(text: str) -> Any:
    """Return the value of a JSON text that is the same for every reader.

    Raises:
        ValueError: it is not JSON, a key comes twice in one object, or a number is not one of JSON.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=_object_without_repetition, parse_constant=_refuse_constant)


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
