"""Read the sessions of opencode (1.18.33), which are in one database."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from urllib.parse import quote

from prowess._internal.files import SKILL_FILE

from ._lines import MAX_LINE_BYTES, at, parse_object, text_at
from ._places import UnreadableSessionError, check_status
from ._recorder import Recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._session import RecordedSession

_SESSIONS = "select id, parent_id, directory, version, time_created, time_updated from session"
_SPOKEN = "select session_id, min(time_created) from message group by session_id"
_ANSWERS = """
select session_id, time_created, cast(data as blob) from message
where instr(data, '"tokens"') and length(data) < ? order by time_created
"""
_PARTS = """
select part.session_id, part.id, part.time_created, cast(part.data as blob), cast(message.data as blob),
message.time_created
from part left join message on message.id = part.message_id
where instr(part.data, 'skill') and length(part.data) < ? order by part.time_created
"""
_find_base = re.compile(r"^Base directory for this skill: (.+)\n+Relative paths in this skill", re.MULTILINE).search


def read_all(path: str, home: str) -> list[RecordedSession]:
    """Return the sessions of a database, which is not changed.

    Raises:
        UnreadableSessionError: it cannot be read.
    """
    check_status(path, os.lstat(path))
    log = f"{path}-wal"
    if os.path.lexists(log):
        check_status(log, os.lstat(log))
    # Without a log there is nothing to share with a client, and SQLite would leave new files beside the database.
    mode = "mode=ro" if os.path.exists(log) and os.path.getsize(log) else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?{mode}", uri=True, timeout=1)) as database:
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            return _read_database(database, home)
    except (sqlite3.Error, OverflowError) as error:
        raise UnreadableSessionError(f"SQLite: {error}") from None
    except UnicodeDecodeError:  # in the message of an error
        raise UnreadableSessionError("SQLite: the database is damaged") from None


def _read_database(database: sqlite3.Connection, home: str) -> list[RecordedSession]:
    spoken = dict(database.execute(_SPOKEN))
    recorders: dict[Any, Recorder] = {}
    for key, parent, directory, version, created, updated in database.execute(_SESSIONS):
        recorder = recorders[key] = Recorder("opencode", str(key), home)
        recorder.set_once(cwd=directory, version=version, parent=parent)
        recorder.at(created)
        recorder.at(updated)
        recorder.has_messages = key in spoken
        # A fork copies messages with new identifiers, but with the times of the old ones.
        recorder.origin = f"{recorder.cwd} {spoken.get(key)}"
    for session, key, created, data, message, said in database.execute(_PARTS, (MAX_LINE_BYTES,)):
        if session in recorders and isinstance(data, bytes):
            recorder = recorders[session]
            is_user = at(parse_object(message) if isinstance(message, bytes) else None, "role") == "user"
            recorder.at(said if is_user else created)
            key = f"{recorder.origin} {said}" if is_user else str(key)
            _read_part(key, parse_object(data), recorder, is_user=is_user)
    for session, created, data in database.execute(_ANSWERS, (MAX_LINE_BYTES,)):
        if session in recorders and isinstance(data, bytes):
            _read_answer(created, parse_object(data), recorders[session])
    return [found for recorder in recorders.values() if (found := recorder.session()) is not None]


def _read_answer(created: object, message: Any, recorder: Recorder) -> None:
    if at(message, "role") == "assistant" and isinstance(tokens := at(message, "tokens"), dict):
        recorder.at(created)
        got = tokens.get("input"), at(tokens, "cache", "read"), at(tokens, "cache", "write")
        recorder.answer(
            f"{recorder.origin} {created}",
            got=got,
            cached=got[1],
            wrote=[tokens.get("output")],
            total=tokens.get("total"),
        )


def _read_part(key: str, part: Any, recorder: Recorder, *, is_user: bool) -> None:
    if at(part, "type") == "text":
        if is_user and (match := _find_base(text_at(part, "text"))):
            path = os.path.join(match[1].strip(), SKILL_FILE)
            recorder.activate(f"{key} {path}", None, path, "user")
    elif at(part, "type") == "tool" and at(part, "state", "status") == "completed":
        state, tool = at(part, "state"), at(part, "tool")
        key = text_at(part, "callID") or key
        recorder.at(at(state, "time", "start"))
        if tool == "skill":
            base = text_at(state, "metadata", "dir")
            name = at(state, "metadata", "name") or at(state, "input", "name")
            recorder.activate(key, name, os.path.join(base, SKILL_FILE) if base else None, "model")
        elif tool == "read":
            recorder.read(key, at(state, "input", "filePath"))
        elif tool == "bash":
            recorder.run(
                key, at(state, "input", "command"), at(state, "metadata", "exit"), at(state, "input", "workdir")
            )
