"""Compare what Prowess reads of recorded sessions with what was scripted."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from clients._trees import HERE
from prowess.filesystem import Question
from prowess.trajectory import read_sessions
from support.files import write_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SESSIONS = HERE / "sessions"
"""What each client recorded: `CLIENT/home`, and `CLIENT/expected/CONVERSATION.json`."""
NAMES = {"flags", "knots", "moon", "no-such-skill", "tide-tables"}
"""The skills of the conversations; a client has others of its own."""


def expected_sessions(client: str, folder: Path = SESSIONS) -> dict[str, Any]:
    """Return what was scripted, by the names of the conversations."""
    return {
        file.stem: json.loads(file.read_text("utf-8")) for file in sorted((folder / client / "expected").glob("*.json"))
    }


def differences(client: str, home: Path, expected: Mapping[str, Any]) -> dict[str, str]:
    """Return how what Prowess reads differs, by conversation; names of other sessions and files begin with `-`.

    Args:
        client: whose sessions.
        home: the home that they are in.
        expected: what was scripted.
    """
    recording = read_sessions(Question.about(home, home, env={}), agents=[client])
    wrong = {f"- {problem.path}": problem.reason for problem in recording.unreadable}
    of_name = {identifier: name for name, session in expected.items() for identifier in session["ids"]}
    read: dict[str, list[str]] = {name: [] for name in expected}
    for session in recording.sessions:
        rows = read.setdefault(of_name.get(session.id, f"- {session.id}"), [])
        rows += [_row(item.name, item.by, item.path, item.time) for item in session.activations]
        rows += [_row("read", item.path, item.time) for item in session.files]
        rows += [_row("run", item.path, item.exit, item.time) for item in session.scripts]
        names = {offer.name for offer in session.catalog or ()}
        rows += ["offered nothing"] if session.catalog is None else (f"offered {name}" for name in NAMES & names)
    for name, rows in read.items():
        wanted = scripted_rows(expected[name]) if name in expected else []
        missing = sorted(set(wanted) - set(rows))
        more = [row for row in rows if row not in wanted or rows.count(row) > 1]
        if missing or more or name not in expected:
            wrong[name] = f"missing {missing}, and not scripted {more}"
    return wrong


def scripted_rows(session: Mapping[str, Any]) -> list[str]:
    """Return what was scripted for a conversation, in the form in which it is compared."""
    offered = session["offered"]
    return [
        *(["offered nothing"] if offered is None else (f"offered {name}" for name in offered)),
        *(_row(item["name"], item["by"], item["path"], item["day"]) for item in session["activations"]),
        *(_row("read", item["path"], item["day"]) for item in session["files"]),
        *(_row("run", item["path"], item["exit"], item["day"]) for item in session["scripts"]),
    ]


def _row(*values: object) -> str:
    """Return an act as text: its time counts by the day, since the client is started once a day."""
    *first, time = values
    return " ".join(map(str, [*first, str(time)[:10]]))


def build_home(client: str, home: Path, folder: Path = SESSIONS) -> Path:
    """Write the home that a client recorded, and return it; a database is built from its statements."""
    shutil.copytree(folder / client / "home", home)
    for statements in home.rglob("*.sql"):
        with closing(sqlite3.connect(statements.with_suffix(".db"))) as database:
            database.executescript(statements.read_text("utf-8"))
        statements.unlink()
    return home


def save_sessions(client: str, files: Mapping[str, str], expected: Mapping[str, Any], folder: Path = SESSIONS) -> None:
    """Write what a client recorded, and what was scripted, instead of what is there."""
    shutil.rmtree(folder / client, ignore_errors=True)
    write_files(folder / client / "home", files)
    texts = {f"{name}.json": json.dumps(session, indent=1) + "\n" for name, session in expected.items()}
    write_files(folder / client / "expected", texts)
