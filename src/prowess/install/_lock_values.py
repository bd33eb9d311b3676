"""Check the values of a lock, which any editor may have changed.

The names and paths of a lock become files and arguments of programs, so what leaves a folder, or looks like an option,
is an error.
"""

from __future__ import annotations

import re

from prowess._internal.text import hidden_characters, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    Item = TypeVar("Item")

__all__ = ["EntryReader", "LockValueError", "check_depth", "order_keys"]

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
