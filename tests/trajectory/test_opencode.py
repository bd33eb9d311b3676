"""What the database of opencode says of skills."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from prowess.trajectory import Activation
from support.recorded import recording_of, session_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PDF = "/home/ada/.config/opencode/skills/pdf"
TABLES = """
create table session (id text, parent_id text, directory text, version text, time_created int, time_updated int);
create table message (id text, session_id text, time_created int, data text);
create table part (id text, session_id text, message_id text, time_created int, data text);
"""
NOW = 1_795_168_800_000
"""2026-11-20, 10:00."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A database with a session and its sub-agent, opened by a client that is running."""
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "opencode.db")) as opened:
        opened.execute("pragma journal_mode=wal")
        opened.executescript(TABLES)
        for key, parent in (("s1", None), ("s2", "s1"), ("empty", None)):
            opened.execute("insert into session values (?, ?, '/work', '1.18.33', ?, ?)", (key, parent, NOW, NOW))
        for key, session, role in (("m1", "s1", "user"), ("m2", "s1", "assistant"), ("m3", "s2", "assistant")):
            opened.execute("insert into message values (?, ?, ?, ?)", (key, session, NOW, json.dumps({"role": role})))
        opened.commit()
        yield opened


def add(database: sqlite3.Connection, key: str, part: dict[str, Any], message: str = "m2") -> None:
    session = "s2" if message == "m3" else "s1"
    database.execute("insert into part values (?, ?, ?, ?, ?)", (key, session, message, NOW + 1000, json.dumps(part)))
    database.commit()


def tool(which: str, key: str, metadata: dict[str, Any], status: str = "completed", **given: Any) -> dict[str, Any]:
    state = {"status": status, "input": given, "metadata": metadata, "time": {"start": NOW + 2000}}
    return {"type": "tool", "tool": which, "callID": key, "state": state}


def test_a_skill_that_the_model_used(tmp_path: Path, database: sqlite3.Connection) -> None:
    """It is in the log of a client that is running; what failed or still runs does not count."""
    add(database, "p1", tool("skill", "c1", {"name": "pdf", "dir": PDF}, name="pdf"))
    add(database, "p2", tool("skill", "c2", {}, "error", name="unknown"))
    add(database, "p3", tool("skill", "c3", {}, "running", name="pdf"))
    add(database, "p4", tool("skill", "c4", {"name": "csv", "dir": "/work/.opencode/skills/csv"}), "m3")
    session = session_of(tmp_path)
    assert (session.agent, session.id, session.version, session.cwd) == ("opencode", "s1", "1.18.33", "/work")
    assert session.catalog is None
    assert session.activations == (
        Activation(id="c1", name="pdf", path=f"{PDF}/SKILL.md", by="model", time="2026-11-20T10:00:02Z"),
        Activation(
            id="c4", name="csv", path="/work/.opencode/skills/csv/SKILL.md", by="model", time="2026-11-20T10:00:02Z"
        ),
    )


def test_a_skill_that_the_user_called(tmp_path: Path, database: sqlite3.Connection) -> None:
    """Not one that an answer or the words of a tool have."""
    text = f"Do it well.\n\nBase directory for this skill: {PDF}\nRelative paths in this skill are below it.\na.pdf"
    add(database, "p1", {"type": "text", "text": text}, "m1")
    add(database, "p2", {"type": "text", "text": text}, "m2")
    add(database, "p3", tool("bash", "c1", {"exit": 0, "output": text}, command="cat skill"))
    (used,) = session_of(tmp_path).activations
    assert (used.name, used.path, used.by) == ("pdf", f"{PDF}/SKILL.md", "user")


def test_a_fork_counts_once(tmp_path: Path, database: sqlite3.Connection) -> None:
    """It has copies of the messages, with other identifiers and the same times."""
    text = f"Base directory for this skill: {PDF}\nRelative paths in this skill are below it.\na.pdf"
    used = tool("skill", "c1", {"name": "csv", "dir": "/work/csv"})
    add(database, "p1", {"type": "text", "text": text}, "m1")
    add(database, "p2", used)
    database.execute("insert into session values ('s3', null, '/work', '1.18.33', ?, ?)", (NOW + 9000, NOW + 9000))
    for key, role in (("m4", "user"), ("m5", "assistant")):
        database.execute("insert into message values (?, 's3', ?, ?)", (key, NOW, json.dumps({"role": role})))
    for key, message, part in (("p3", "m4", {"type": "text", "text": text}), ("p4", "m5", used)):
        row = (key, message, NOW + 9000, json.dumps(part))
        database.execute("insert into part values (?, 's3', ?, ?, ?)", row)
    database.commit()
    session = session_of(tmp_path)
    assert sorted((item.name, item.by) for item in session.activations) == [("csv", "model"), ("pdf", "user")]


def test_files_and_scripts(tmp_path: Path, database: sqlite3.Connection) -> None:
    add(database, "p1", tool("read", "c1", {}, filePath=f"{PDF}/forms.md"))
    add(database, "p2", tool("bash", "c2", {"exit": 3}, command=f"python3 {PDF}/fill.py"))
    session = session_of(tmp_path)
    assert [file.path for file in session.files] == [f"{PDF}/forms.md"]
    assert [(script.path, script.exit) for script in session.scripts] == [(f"{PDF}/fill.py", 3)]


def test_a_database_is_read_without_a_trace(tmp_path: Path, database: sqlite3.Connection) -> None:
    """SQLite would leave two files beside one that no client has open."""
    add(database, "p1", tool("skill", "c1", {"name": "pdf", "dir": PDF}, name="pdf"))
    database.close()
    folder = tmp_path / ".local/share/opencode"
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert [*before] == ["opencode.db"]
    assert len(session_of(tmp_path).activations) == 1
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + b"x" * 4000, b"no database at all"])
def test_a_file_that_is_no_database_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    recording = recording_of(tmp_path)
    assert recording.sessions == ()
    assert [os.path.basename(item.path) for item in recording.unreadable] == ["opencode.db"]


def test_values_of_other_types_are_left_out(tmp_path: Path, database: sqlite3.Connection) -> None:
    for key, data in enumerate((b"skill \xff", "skill [", '"skill"', 1, None)):
        database.execute("insert into part values (?, 's1', 'm1', 'x', ?)", (key, data))
    database.execute("insert into session values (7, 8, 9, 10, 'skill', 11.5)")
    database.execute("insert into session values (8, cast(x'f9' as text), cast(x'f9' as text), 'x', 1, 2)")
    database.commit()
    assert session_of(tmp_path).activations == ()
