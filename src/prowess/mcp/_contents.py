"""Keep what the folders of skills contain, and read a folder again when something in it has changed.

What was read is kept on disk too, so that a start reads no file again. A folder counts while the fingerprints of all
its files and folders are the same, which is compared for each request, or inotify has shown no change.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import struct
import time
from contextlib import suppress
from threading import Lock
from time import monotonic
from urllib.parse import quote

from prowess._internal.file_status import SETTLE_NS
from prowess._internal.files import MAX_DIGEST_BYTES, MAX_SKILL_FILES, SKILL_FILE, skill_files
from prowess._internal.fs import READ_FLAGS, open_inside
from prowess._internal.inotify import FILE_EVENTS, FOLDER_EVENTS, OVERFLOW, PLACE, REMOVED, Inotify
from prowess._internal.text import describe_os_error, neutral, quoted
from prowess.errors import SkillError
from prowess.filesystem import FINGERPRINT_BYTES, fingerprint, fingerprint_paths, newest_time
from prowess.skill import YamlSyntaxError, core_mapping, load

from ._remote_skill import FIELD_HINTS, field_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from prowess.cache import KeptTable

_MOST_OLD = 1000
"""Folders that are known beyond twice those that are served."""
_WATCHED_AT_ONCE = 200
"""Folders; between them requests are answered."""
_STORE_SECONDS = 30
"""Between two times that all is written to disk."""


class SkillContents:
    """What folders contain. Any number of threads may share one.

    Args:
        table: where it is kept on disk; nowhere by default.
        watcher: shows what changes.
    """

    def __init__(self, table: KeptTable | None = None, watcher: ContentWatcher | None = None) -> None:
        self._table, self._watcher = table, watcher or ContentWatcher()
        self._lock = Lock()
        self._known: dict[str, Content] = {}
        self._is_new = False
        """Whether something is known that is not on disk."""
        self._is_watched = False
        """Whether all that is known is watched, as far as that is possible."""
        self._store_after = 0.0
        for folder, row in (table.load() if table is not None else {}).items():
            with suppress(ValueError):
                self._known[folder] = Content.from_row(folder, row)

    def current(self, skills: Sequence[tuple[str, str]]) -> list[Content]:
        """Return what folders contain now.

        Args:
            skills: the path of each in the name space of the server, and its folder.
        """
        with self._lock:
            self._take_changes()
            known = [self._known.get(folder) for _, folder in skills]
            unchanged = self._unchanged([content for content in known if content is not None and not content.watches])
        found = []
        for (top, folder), content in zip(skills, known, strict=True):
            if content is None or content.top != top or not (content.watches or id(content) in unchanged):
                content = self._read(top, folder, content)
            found.append(content)
        return found

    def known(self, folder: str) -> Content | None:
        """Return what a folder contained when it was read."""
        return self._known.get(folder)

    def _read(self, top: str, folder: str, before: Content | None) -> Content:
        content = read_content(folder, top, before)
        with self._lock:
            if (replaced := self._known.get(folder)) is not None:
                self._watcher.forget(replaced)
            self._known[folder] = content
            self._is_new |= content.is_settled
            self._is_watched &= not content.is_settled
        return content

    def _take_changes(self) -> None:
        changed = self._watcher.changed()
        if changed is None:
            for content in self._known.values():
                content.watches = None
        self._is_watched &= changed is not None and not changed

    def _unchanged(self, contents: Sequence[Content]) -> set[int]:
        """Return those whose files and folders have the same fingerprints, by their addresses."""
        contents = [content for content in contents if content.is_settled]
        if _are_unchanged(contents):  # in one call, since nearly always nothing has changed
            return {*map(id, contents)}
        return {id(content) for content in contents if _are_unchanged([content])}

    def watch(self, folders: Sequence[str]) -> None:
        """Watch folders whose content is known, but for those in which something changed a moment ago."""
        if self._is_watched:
            return
        self._is_watched = True
        for at in range(0, len(folders), _WATCHED_AT_ONCE):
            with self._lock:
                self._watch_some(folders[at : at + _WATCHED_AT_ONCE])

    def _watch_some(self, folders: Sequence[str]) -> None:
        self._take_changes()
        chosen = []
        for folder in folders:
            content = self._known.get(folder)
            if content is not None and content.watches is None and content.is_settled:
                self._watcher.watch(content)
                chosen.append(content)
        # After that, because each change from then on is an event.
        unchanged = self._unchanged(chosen)
        for content in chosen:
            if id(content) not in unchanged:
                self._watcher.forget(content)

    def store(self, folders: Collection[str], *, now: bool = False) -> None:
        """Keep what is known on disk, if something is new. Never raises.

        Args:
            folders: those that are served; others are forgotten if they are many.
            now: even if that was done a moment ago.
        """
        with self._lock:
            if len(self._known) > 2 * len(folders) + _MOST_OLD:
                self._forget_others({*folders})
            if self._table is None or not self._is_new or (monotonic() < self._store_after and not now):
                return
            self._is_new, self._store_after = False, monotonic() + _STORE_SECONDS
            rows = {content.folder: content.row() for content in self._known.values() if content.is_settled}
            self._table.store(rows)

    def _forget_others(self, folders: set[str]) -> None:
        for content in [content for content in self._known.values() if content.folder not in folders]:
            self._watcher.forget(content)
            del self._known[content.folder]


def _are_unchanged(contents: Sequence[Content]) -> bool:
    paths = [path for content in contents for path in content.paths()]
    try:
        return fingerprint_paths(paths) == b"".join([content.fingerprints for content in contents])
    except (OSError, ValueError, OverflowError):
        return False


_LIMIT = "/proc/sys/fs/inotify/max_user_watches"


class ContentWatcher:
    """Watches the folders of skills. For one thread at a time.

    Args:
        most: watches at most; by default half of those that the user may have.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = _limit() // 2 if most is None else most
        self._inotify: Inotify | None = None
        self._owner = 0
        self._clear()

    def _clear(self) -> None:
        self._contents: dict[int, Content | list[Content]] = {}
        """What each watch is for; a folder can be in two skills, and a file have a name in each."""
        self._above: dict[str, int] = {}
        """The watches of the folders on the way to skills."""
        self._above_numbers: set[int] = set()

    def _open(self) -> bool:
        """Return whether there is a queue, and open it if it is missing, or belongs to the process that forked."""
        if self._owner != os.getpid():
            self.close()
            self._owner = os.getpid()
            with suppress(OSError):
                self._inotify = Inotify()
        return self._inotify is not None

    def close(self) -> None:
        """Close what is open. `watch` opens it again."""
        self._owner = 0
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None
        self._clear()

    def changed(self) -> list[Content] | None:
        """Return what has changed since the last call, which is not watched any more; `None` if it can be everything.

        In the latter case nothing is watched any more.
        """
        if self._inotify is None:
            return []
        if self._owner != os.getpid():
            self.close()
            return None
        found: dict[int, Content] = {}
        for number, mask, _ in self._inotify.events():
            if mask & OVERFLOW or (number in self._above_numbers and mask & (PLACE | REMOVED)):
                self.close()
                return None
            known = self._contents.get(number, [])
            for content in known if isinstance(known, list) else [known]:
                found[id(content)] = content
        for content in found.values():
            self.forget(content)
        return [*found.values()]

    def watch(self, content: Content) -> tuple[int, ...]:
        """Watch all paths of a folder from now on, and return the watches; none if one of them cannot be watched."""
        content.watches = ()
        numbers = struct.unpack(f"{len(content.fingerprints) // 8}q", content.fingerprints)
        paths = content.paths()
        if not self._open() or len(self._contents) + len(paths) > self._most:
            return ()
        watches: list[int] = []
        try:
            self._watch_above(os.path.dirname(content.folder))
            for path, mode, device in zip(paths, numbers[::6], numbers[2::6], strict=True):
                watches.append(self._watch(path, FOLDER_EVENTS if stat.S_ISDIR(mode) else FILE_EVENTS, mode, device))
                self._add(watches[-1], content)
        except (OSError, ValueError):
            content.watches = tuple(watches)
            self.forget(content)
            content.watches = ()
            return ()
        content.watches = tuple(watches)
        return content.watches

    def _add(self, number: int, content: Content) -> None:
        known = self._contents.setdefault(number, content)
        if isinstance(known, list):
            known.append(content)
        elif known is not content:
            self._contents[number] = [known, content]

    def _watch_above(self, folder: str) -> None:
        """Watch a folder and those above it: a skill is elsewhere if one of them is renamed.

        Raises:
            OSError: one of them cannot be watched.
        """
        folders: list[str] = []
        while folder not in self._above and folder not in folders:
            folders.append(folder)
            folder = os.path.dirname(folder)
        # The outermost first: otherwise a rename in between would leave a watch on another folder than the one inside.
        watches = {path: self._watch(path, PLACE, stat.S_IFDIR, os.stat(path).st_dev) for path in reversed(folders)}
        self._above |= watches  # at the end: of a known folder, all above are known too
        self._above_numbers.update(watches.values())

    def _watch(self, path: str, events: int, mode: int, device: int) -> int:
        """Return the watch of a path.

        Raises:
            OSError: there cannot be one.
        """
        if self._inotify is None:
            raise OSError("no inotify")
        return self._inotify.watch(path, events, (mode, device))

    def forget(self, content: Content) -> None:
        """Stop watching a folder."""
        for number in content.watches or ():
            known = self._contents.get(number)
            if isinstance(known, list):
                known[:] = [other for other in known if other is not content]
            if known is content or not known:
                self._contents.pop(number, None)
                if self._inotify is not None and number not in self._above_numbers:
                    self._inotify.forget(number)
        content.watches = None


def _limit() -> int:
    """Return how many watches the user may have."""
    with suppress(OSError, ValueError), open(_LIMIT, "rb") as stream:
        return int(stream.read())
    return 8192


_SAFE = "/~!$&'()*+,;=:@"
"""Characters that a path in a URI need not escape (RFC 3986, `pchar`)."""

_KnownFiles = dict[str, tuple[bytes, str, int]]
"""The fingerprint, the digest and the size of files, by path."""


class Content:
    """The folder of a skill as it was at one moment. Slots, because there are thousands.

    Args:
        folder: of the skill.
        top: the path of the skill in the name space of the server.
        entry: what a list says of it, as JSON; empty if it cannot be listed.
        problem: why it cannot be listed; empty if it has another name by now.
        names: the paths in it, relative to it and separated by NUL: first itself, an empty one, then its folders and
            its files.
        fingerprints: those of the paths.
        is_settled: whether any later change shows in the fingerprints.
    """

    __slots__ = ("entry", "fingerprints", "folder", "is_settled", "names", "problem", "top", "watches")

    def __init__(
        self,
        folder: str,
        top: str,
        entry: bytes | memoryview,
        problem: str,
        names: bytes,
        fingerprints: bytes,
        *,
        is_settled: bool,
    ) -> None:
        self.folder, self.top, self.entry, self.problem = folder, top, entry, problem
        self.names, self.fingerprints, self.is_settled = names, fingerprints, is_settled
        self.watches: tuple[int, ...] | None = None
        """Of its paths, if each later change is seen; empty if there cannot be any."""

    def paths(self) -> list[str]:
        """Return the paths of its fingerprints."""
        folder = self.folder
        return [f"{folder}/{name}" if name else folder for name in os.fsdecode(self.names).split("\0")]

    def row(self) -> tuple[bytes | memoryview, ...]:
        """Return what `from_row` takes."""
        return os.fsencode(self.top), self.entry, self.problem.encode(), self.names, self.fingerprints

    @classmethod
    def from_row(cls, folder: str, row: tuple[bytes | memoryview, ...]) -> Content:
        """Return the content of a folder that `row` wrote.

        Raises:
            ValueError: it did not.
        """
        top, entry, problem, names, fingerprints = bytes(row[0]), row[1], *map(bytes, row[2:])
        if len(fingerprints) != (names.count(b"\0") + 1) * FINGERPRINT_BYTES or names[:1].strip(b"\0"):
            raise ValueError("wrong number of fingerprints")
        return cls(folder, os.fsdecode(top), entry, problem.decode(), names, fingerprints, is_settled=True)

    def known_files(self) -> _KnownFiles:
        """Return what is known of its files; nothing if a change may not show."""
        if not self.entry or not self.is_settled:
            return {}
        resources = json.loads(bytes(self.entry))["resources"]
        names = os.fsdecode(self.names).split("\0")[-len(resources) :]
        start = len(self.fingerprints) - len(names) * FINGERPRINT_BYTES
        states = (
            self.fingerprints[at : at + FINGERPRINT_BYTES]
            for at in range(start, len(self.fingerprints), FINGERPRINT_BYTES)
        )
        return {
            name: (state, resource["digest"], resource["size"])
            for name, state, resource in zip(names, states, resources, strict=True)
        }


def read_content(folder: str, top: str, before: Content | None = None) -> Content:
    """Read the folder of a skill.

    Args:
        folder: of the skill.
        top: its path in the name space of the server.
        before: what the folder contained; files that did not change since are not read again.
    """
    started = time.time_ns()
    folders: list[str] = []
    files = [path for path, _ in skill_files(folder, folders=folders)]
    known = before.known_files() if before is not None and before.folder == folder else {}
    states: list[bytes] = []
    entry, problem = b"", ""
    try:
        entry = _read_entry(folder, top, folders, files, known, states)
    except SkillError as error:
        problem = str(error)
    inner = [path[len(folder) + 1 :] for path in folders if path]
    fingerprints = b"".join(states)
    # A folder that could not be listed is an empty text: no fingerprint shows what becomes of it.
    is_whole = len(states) == len(folders) + len(files) and all(states) and all(folders)
    is_settled = is_whole and newest_time(fingerprints) <= started - SETTLE_NS
    if is_settled:
        # If a folder above was renamed meanwhile, these are the fingerprints of another folder than the one listed.
        listed_again: list[str] = []
        is_settled = [path for path, _ in skill_files(folder, folders=listed_again)] == files
        is_settled &= listed_again == folders
    names = os.fsencode("\0".join([*inner, *files]))
    return Content(folder, top, entry, problem, names, fingerprints, is_settled=is_settled)


def _read_entry(
    folder: str, top: str, folders: Sequence[str], files: Sequence[str], known: _KnownFiles, states: list[bytes]
) -> bytes:
    """Return what a list says of a skill; empty if it has another name by now. `states` gets fingerprints.

    Raises:
        SkillError: it cannot be listed.
    """
    if len(files) >= MAX_SKILL_FILES:
        raise SkillError(f"it has {MAX_SKILL_FILES:,} files or more")
    if SKILL_FILE not in files:
        raise SkillError("its SKILL.md is missing, or a link")
    try:
        states += [fingerprint(os.lstat(path)) for path in folders if path]
    except OSError as error:
        raise SkillError(f"it cannot be read: {describe_os_error(error)}") from None
    resources = []
    for path in files:
        state, digest, size = _file(folder, path, known)
        states.append(state)
        resources.append({"uri": f"skill://{top}/{uri_path(path)}", "digest": digest, "size": size})
    frontmatter = read_frontmatter(os.path.join(folder, SKILL_FILE))
    if frontmatter["name"] != top.rpartition("/")[2]:
        return b""
    return encode_json({"uri": f"skill://{top}/{SKILL_FILE}", "frontmatter": frontmatter, "resources": resources})


def uri_path(path: str) -> str:
    """Return a path as it is in a URI."""
    return quote(os.fsencode(path.replace(os.sep, "/")), safe=_SAFE)


def encode_json(value: Any) -> bytes:
    """Return a value as JSON.

    Raises:
        SkillError: JSON has no such value.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        raise SkillError(f"its front matter cannot be sent as JSON: {neutral(str(error)[:200])}") from None


def _file(folder: str, path: str, known: _KnownFiles) -> tuple[bytes, str, int]:
    """Return the fingerprint, the digest and the size of a file.

    Raises:
        SkillError: it cannot be read, or is not a regular file.
    """
    try:
        if path in known and fingerprint(os.lstat(os.path.join(folder, path))) == known[path][0]:
            return known[path]
        return _read_file(folder, path)
    except (OSError, ValueError) as error:
        reason = describe_os_error(error) if isinstance(error, OSError) else "invalid path"
        raise SkillError(f"its file {quoted(path)} cannot be read: {reason}") from None


def _read_file(folder: str, path: str) -> tuple[bytes, str, int]:
    """Return the fingerprint, the digest and the size of a file that is read now.

    Raises:
        OSError: it cannot be read, or is not a regular file.
        ValueError: its path is invalid.
    """
    fd = open_inside(folder, path.split("/"), READ_FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        sha256, size = hashlib.sha256(), 0
        while chunk := os.read(fd, 1 << 20):
            sha256.update(chunk)
            size += len(chunk)
            if size > MAX_DIGEST_BYTES:
                raise OSError(errno.EFBIG, "too large", path)
        return fingerprint(os.fstat(fd)), f"sha256:{sha256.hexdigest()}", size
    finally:
        os.close(fd)


def read_frontmatter(path: str) -> Mapping[str, Any]:
    """Return the front matter of a SKILL.md as JSON.

    Raises:
        SkillError: it is missing, cannot be sent as JSON, or has a field for which clients refuse the whole list.
    """
    document = load(path).document
    if document is None or document.frontmatter is None:
        raise SkillError("its SKILL.md cannot be read")
    try:
        frontmatter = core_mapping(document.frontmatter, finite=True)
    except (YamlSyntaxError, ValueError, RecursionError) as error:
        raise SkillError(f"its front matter cannot be sent as JSON: {neutral(str(error)[:200])}") from None
    for field, problem in field_problems(frontmatter):
        raise SkillError(f"{problem}; {FIELD_HINTS[field]}")
    return frontmatter
