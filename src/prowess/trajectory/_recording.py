"""Find the files in which agents record their sessions, read those that have changed, and count each act once.

What was read of a file is kept in the user's cache as long as its size, its times and its place stay the same.
"""

from __future__ import annotations

import marshal
import os
import sys

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess.cache import KeptTable
from prowess.filesystem import git_root

from ._lines import Lines
from ._places import AGENTS, Unreadable, UnreadableSessionError, session_files
from ._recorder import Recorder
from ._session import RecordedSession, utc_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from prowess.filesystem import Question

_SLACK = 24 * 3600
"""Seconds that a file may be older than the records in it: clocks differ."""


class Recording(Frozen):
    """The sessions that were recorded, each once, with its sub-agents in it."""

    sessions: tuple[RecordedSession, ...]
    """By agent, then in the order of time."""
    unreadable: tuple[Unreadable, ...] = ()
    unread: int = 0
    """Files that were left out because all of them are too large to be read now."""

    def within(self, *, since: str = "", project: str | None = None) -> Recording:
        """Return the sessions of a time and a project, and what was done in them in that time.

        Args:
            since: ISO 8601, UTC; empty for all.
            project: a git root, or a folder that is in no repository; `None` for all.
        """
        roots: dict[str, str] = {}
        found = []
        for session in self.sessions:
            if session.last < since:
                continue
            if project is not None:
                if session.cwd not in roots:
                    roots[session.cwd] = project_of(session.cwd) if session.cwd else ""
                if roots[session.cwd] != project:
                    continue
            if session.first < since:
                session = session.with_changes(
                    activations=tuple(item for item in session.activations if item.time >= since),
                    files=tuple(item for item in session.files if item.time >= since),
                    scripts=tuple(item for item in session.scripts if item.time >= since),
                    answers=tuple(answer for answer in session.answers if answer[1] >= since),
                )
            found.append(session)
        return self.with_changes(sessions=tuple(found))


def project_of(folder: str) -> str:
    """Return the git root of a folder, or the folder itself if it is in no repository; it need not exist any more."""
    folder = real_path(folder)
    return git_root(folder) or folder


def read_sessions(
    question: Question,
    *,
    agents: Iterable[str] = AGENTS,
    since: str = "",
    imports: Iterable[str] = (),
    max_bytes: int | None = None,
    cache: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Recording:
    """Return what agents have recorded.

    Args:
        question: whose sessions, by its home and its variables.
        agents: their names.
        since: sessions that ended before this time may be left out; ISO 8601, UTC.
        imports: paths of trajectories, and of folders with some.
        max_bytes: of new files of an agent; if they have more, none of them is read.
        cache: whether what was read is kept; not for a home that is removed.
        progress: is called with the number of files read so far, and of all files to read.
    """
    sessions: list[RecordedSession] = []
    unreadable: list[Unreadable] = []
    unread = 0
    for agent in agents:
        table = KeptTable(("sessions", agent, question.home))
        kept, rows = table.load() if cache else {}, dict[str, tuple[bytes, ...]]()
        waiting, size = [], 0
        for path, status in session_files(agent, question, unreadable):
            if since and utc_time((status.st_mtime + _SLACK) * 1000) < since:
                if path in kept:
                    rows[path] = kept[path]
                continue
            state = repr([_state(status), _state_of_log(path)]).encode()
            if (row := kept.get(path)) is not None and row[0] == state:
                rows[path] = row
            else:
                waiting.append((path, state))
                size += status.st_size
        if max_bytes is not None and size > max_bytes:
            unread += len(waiting)
            waiting.clear()
        is_new = bool(waiting) or len(rows) != len(kept)
        for number, (path, state) in enumerate(waiting):
            if progress is not None:
                progress(number, len(waiting))
            rows[path] = state, marshal.dumps(read_file_of(agent, path, question.home))
        for path, (_, data) in rows.items():
            found, problem = marshal.loads(data)  # noqa: S302 - the user's own file, and this Python has written it
            sessions += map(RecordedSession.from_row, found)
            unreadable += [Unreadable(path=path, reason=problem)] if problem else []
        if is_new and cache:
            table.store(rows)
    for path in _trajectories(imports):
        try:
            sessions += _module("atif").read_all(path, question.home)
        except UnreadableSessionError as error:
            unreadable.append(Unreadable(path=path, reason=str(error)))
    return Recording(sessions=tuple(_merge(sessions)), unreadable=tuple(unreadable), unread=unread)


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_dev, status.st_size, status.st_mtime_ns


def _state_of_log(path: str) -> tuple[int, ...]:
    """Return the state of the log of a database, which has its newest rows."""
    try:
        return _state(os.lstat(f"{path}-wal")) if path.endswith(".db") else ()
    except OSError:
        return ()


def _module(agent: str) -> Any:
    """Return the module of an agent: `folder`, `PATTERNS`, `session_id` and `read`."""
    name = f"{__package__}.{agent.replace('-', '_')}"
    __import__(name)
    return sys.modules[name]


def read_file_of(agent: str, path: str, home: str) -> tuple[list[tuple[object, ...]], str | None]:
    """Return the sessions of a file as rows, and what could not be read of it."""
    module = _module(agent)
    try:
        if hasattr(module, "read_all"):
            return [session.as_row() for session in module.read_all(path, home)], None
        lines = Lines(path)
        recorder = Recorder(agent, module.session_id(path), home)
        module.read(lines, recorder)
    except UnreadableSessionError as error:
        return [], str(error)
    session = recorder.session()
    return [] if session is None else [session.as_row()], lines.problem()


def _trajectories(paths: Iterable[str]) -> Iterator[str]:
    """Yield the files that are named, and those with trajectories in folders that are."""
    for path in paths:
        if not os.path.isdir(path):
            yield os.path.abspath(path)
        for folder, _, names in os.walk(path):
            yield from sorted(os.path.abspath(os.path.join(folder, name)) for name in names if name.endswith(".json"))


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _merge(parts: Iterable[RecordedSession]) -> list[RecordedSession]:
    """Return the sessions of all files: a copy of a session and a sub-agent belong to the session, and all count once.

    Args:
        parts: what is in the files.
    """
    order = sorted(parts, key=lambda part: (part.agent, part.parent is not None, part.first, part.id))
    merged: dict[tuple[str, str], RecordedSession] = {}
    origins: dict[tuple[str, str], str] = {}
    for part in order:
        root = part.parent or part.id
        if part.origin and part.parent is None:
            root = origins.setdefault((part.agent, part.origin), root)
        origins.setdefault((part.agent, f"session {part.id}"), root)
        root = origins.get((part.agent, f"session {root}"), root)
        known = merged.get((part.agent, root))
        merged[part.agent, root] = part.with_changes(id=root, parent=None) if known is None else _joined(known, part)
    seen: set[tuple[str, ...]] = set()
    result = []
    for session in merged.values():
        kept: dict[str, tuple[Any, ...]] = {}
        for name in ("activations", "files", "scripts"):
            items: list[Any] = []
            for item in getattr(session, name):
                # A copy in a fork has the same time; servers of local models number the calls of each session alike.
                path = getattr(item, "path", "") if name != "activations" else ""
                key = session.agent, name, item.id, item.time, path
                if key not in seen:
                    seen.add(key)
                    items.append(item)
            kept[name] = tuple(items)
        answers = {each[:2]: each for each in sorted(session.answers) if (session.agent, *each[:2]) not in seen}
        seen.update((session.agent, *key) for key in answers)
        kept["answers"] = tuple(answers.values())
        result.append(session.with_changes(**kept))
    return result


def _joined(known: RecordedSession, part: RecordedSession) -> RecordedSession:
    """Return a session with what another file has of it."""
    catalogs = [each.catalog for each in (known, part) if each.catalog is not None]
    return known.with_changes(
        first=min(filter(None, (known.first, part.first)), default=""),
        last=max(known.last, part.last),
        catalog=tuple(dict.fromkeys(item for catalog in catalogs for item in catalog)) if catalogs else None,
        activations=known.activations + part.activations,
        files=known.files + part.files,
        scripts=known.scripts + part.scripts,
        answers=known.answers + part.answers,
        skipped=known.skipped + part.skipped,
    )
