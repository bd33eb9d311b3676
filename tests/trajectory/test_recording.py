"""Which files of sessions are read, what counts once, and what is kept."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prowess.filesystem import Question
from prowess.trajectory import Recording, agents_with_sessions, project_of, utc_time
from prowess.trajectory._lines import MAX_LINE_BYTES, Lines
from support.recorded import claude, offers, recording_of, says, types, uses

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "an-unmistakable-word"
PDF = "/home/ada/.claude/skills/pdf"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of these tests."""
    monkeypatch.delenv("PROWESS_NO_CACHE", raising=False)
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_second_reading_reads_only_what_has_changed(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And returns the same."""
    home = tmp_path / "home"
    claude(home, [says(), offers(pdf="Does pdf."), *uses("pdf", PDF)])
    claude(home, [says()], session="s2")
    first = recording_of(home)
    read: list[str] = []

    def no_lines(lines: Lines) -> Iterator[bytes]:
        read.append(lines.path)
        return iter(())

    monkeypatch.setattr(Lines, "__iter__", no_lines)
    assert recording_of(home) == first
    assert read == []
    changed = claude(home, [says(), says()], session="s2")
    recording_of(home)
    assert read == [str(changed)]
    assert {path.stat().st_mode & 0o777 for path in kept.iterdir()} == {0o600}


def test_no_words_of_a_conversation_are_kept(tmp_path: Path, kept: Path) -> None:
    home = tmp_path / "home"
    records = [says(SECRET), offers(pdf=SECRET), *uses("pdf", PDF), types("pdf"), says(f"{SECRET} skill")]
    claude(home, records)
    assert SECRET not in repr(recording_of(home))
    (file,) = kept.iterdir()
    assert SECRET.encode() not in file.read_bytes()


def test_a_link_out_of_the_folder_a_fifo_and_a_folder_are_named(tmp_path: Path) -> None:
    claude(tmp_path / "home", [says()])
    projects = tmp_path / "home/.claude/projects/-work"
    other = claude(tmp_path / "other", [says()])
    (projects / "linked.jsonl").symlink_to(other)
    (projects / "again.jsonl").symlink_to("s1.jsonl")
    os.mkfifo(projects / "pipe.jsonl")
    (projects / "folder.jsonl").mkdir()
    recording = recording_of(tmp_path / "home")
    assert len(recording.sessions) == 1
    assert [(os.path.basename(item.path), item.reason) for item in recording.unreadable] == [
        ("linked.jsonl", "it is a link out of the folder of sessions"),
        ("pipe.jsonl", "it is a FIFO"),
    ]


def test_the_folder_of_sessions_may_be_a_link(tmp_path: Path) -> None:
    claude(tmp_path / "real", [says()])
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.claude").symlink_to(tmp_path / "real/.claude")
    assert len(recording_of(tmp_path / "home").sessions) == 1


def test_a_long_line_is_skipped_and_named(tmp_path: Path) -> None:
    path = claude(tmp_path, [says()])
    with path.open("ab") as file:
        file.write(b'{"type":"user","skill":"' + b"x" * (MAX_LINE_BYTES * 2) + b'"}\n')
    path.write_bytes(path.read_bytes() + claude(tmp_path / "x", [says(), *uses("pdf", PDF)]).read_bytes())
    recording = recording_of(tmp_path)
    assert len(recording.sessions[0].activations) == 1
    assert [item.reason for item in recording.unreadable] == ["1 line is longer than 8 MiB"]


def test_invalid_lines_are_named(tmp_path: Path) -> None:
    path = claude(tmp_path, [says()])
    path.write_bytes(path.read_bytes() + b'{"skill": \xff}\n[' * 2 + b'"skill"]\n' + path.read_bytes())
    assert [item.reason for item in recording_of(tmp_path).unreadable] == ["3 lines are invalid"]


def test_variables_move_the_folder(tmp_path: Path) -> None:
    claude(tmp_path, [says()])
    (tmp_path / ".claude").rename(tmp_path / "moved")
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}
    assert agents_with_sessions(Question.about(tmp_path, env=env)) == ["claude-code"]
    assert agents_with_sessions(Question.about(tmp_path, tmp_path, env=env)) == []


def test_sessions_of_a_time_have_what_was_done_in_it(tmp_path: Path) -> None:
    """A resumed session spans days."""
    late = [{**record, "timestamp": "2026-11-25T10:00:00Z"} for record in uses("csv", "/work/.claude/skills/csv", "t2")]
    claude(tmp_path, [says(), *uses("pdf", PDF), *late])
    recording = recording_of(tmp_path)
    assert names(recording.within(since="2026-11-01T00:00:00Z")) == ["pdf", "csv"]
    assert names(recording.within(since="2026-11-22T00:00:00Z")) == ["csv"]
    assert recording.within(since="2026-11-26T00:00:00Z").sessions == ()


def names(recording: Recording) -> list[str]:
    return [used.name for session in recording.sessions for used in session.activations]


def test_sessions_of_a_project_began_in_its_repository(tmp_path: Path) -> None:
    project = tmp_path.resolve() / "project"
    (project / ".git").mkdir(parents=True)
    (project / "inner").mkdir()
    (project / "module/.git").mkdir(parents=True)
    for number, folder in enumerate(("project", "project/inner", "project/gone", "project/module", "other")):
        claude(tmp_path, [says()], session=f"s{number}", cwd=str(tmp_path.resolve() / folder))
    within = recording_of(tmp_path).within(project=project_of(str(project / "inner")))
    assert [session.id for session in within.sessions] == ["s0", "s1", "s2"]


def test_calls_of_two_sessions_may_have_the_same_identifiers(tmp_path: Path) -> None:
    """Servers of local models number the calls of each session from 0 on."""
    for number, session in enumerate(("s1", "s2")):
        records = [says(), *uses("pdf", PDF, "call_0")]
        times = [{**record, "timestamp": f"2026-11-2{number}T10:00:00Z"} for record in records]
        claude(tmp_path, times, session=session)
    assert names(recording_of(tmp_path)) == ["pdf", "pdf"]


@pytest.mark.parametrize(
    ("value", "time"),
    [
        ("2026-11-20T10:00:00.123Z", "2026-11-20T10:00:00Z"),
        ("2026-11-20T10:00:00+02:00", "2026-11-20T08:00:00Z"),
        ("2026-11-20", "2026-11-20T00:00:00Z"),
        (1_763_632_800_000, "2025-11-20T10:00:00Z"),
        ("yesterday", ""),
        (1e300, ""),
        (float("nan"), ""),
        (True, ""),
        (None, ""),
        ("0001-01-01T00:00:00+10:00", ""),
        ("9999-12-31T23:59:59-10:00", ""),
    ],
)
def test_times_are_utc(value: object, time: str) -> None:
    assert utc_time(value) == time
