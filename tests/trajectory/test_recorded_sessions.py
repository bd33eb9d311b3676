"""What is read of the sessions that real clients recorded is what was scripted for them, no more and no less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clients._reading import NAMES, SESSIONS, build_home, expected_sessions, scripted_rows
from support.recorded import recording_of

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.trajectory import RecordedSession


def rows_of(session: RecordedSession) -> list[str]:
    """Return what was read, in the form in which it is compared; a client offers skills of its own, too."""
    names = dict.fromkeys(offer.name for offer in session.catalog or () if offer.name in NAMES)
    return [
        *(["offered nothing"] if session.catalog is None else (f"offered {name}" for name in names)),
        *(f"{used.name} {used.by} {used.path} {used.time[:10]}" for used in session.activations),
        *(f"read {file.path} {file.time[:10]}" for file in session.files),
        *(f"run {script.path} {script.exit} {script.time[:10]}" for script in session.scripts),
    ]


@pytest.mark.parametrize("client", sorted(folder.name for folder in SESSIONS.iterdir()))
def test_every_act_is_found_and_no_other(client: str, tmp_path: Path) -> None:
    """Each conversation is one session, also if it was resumed or forked, or had a sub-agent."""
    recording = recording_of(build_home(client, tmp_path / "home"))
    assert recording.unreadable == ()
    found = {session.id: session for session in recording.sessions}
    expected = expected_sessions(client)
    read = {name: [found[key] for key in session["ids"] if key in found] for name, session in expected.items()}
    assert {name: len(sessions) for name, sessions in read.items()} == dict.fromkeys(expected, 1)
    assert len(found) == len(expected)
    for name, session in expected.items():
        assert sorted(rows_of(read[name][0])) == sorted(scripted_rows(session)), name
    assert {session.agent for session in recording.sessions} == {client}
    assert {session.cwd for session in recording.sessions} == {"/home/ada/notes"}
