"""Keep what the folders of skills contain, and read a folder again when something in it has changed.

What was read is kept on disk too, so that a start reads no file again. A folder counts while the fingerprints of all
its files and folders are the same, which is compared for each request, or inotify has shown no change.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from time import monotonic

from prowess.catalog import KeptTable, fingerprint_paths

from ._content_watcher import ContentWatcher
from ._read_content import COLUMNS, ENTRY, Content, read_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["COLUMNS", "SkillContents"]

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
        for folder, row in (table.load(shared=[ENTRY]) if table is not None else {}).items():
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
