"""Session files of any size, of another user, half written, and with times and names that no agent writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clients._reading import build_home
from support.project_commands import run_in
from support.proofs import short_or_long
from support.recorded import claude, recording_of, says, session_of, uses
from support.users import MALLORY, only_root
from test_bad_input import UNSEEN

if TYPE_CHECKING:
    from pathlib import Path

PDF = "/home/ada/.claude/skills/pdf"
HOLE = short_or_long(50_000_000, 2_000_000_000)
"""Bytes of one line, in a file that needs no space on the disk."""
READ = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))
from prowess.filesystem import Question
from prowess.trajectory import read_sessions
recording = read_sessions(Question.about(sys.argv[1], sys.argv[1], env={}))
used = sum(len(session.activations) for session in recording.sessions)
print(json.dumps([used, sorted({item.reason for item in recording.unreadable})]))
"""


def read_with_little_memory(home: Path) -> list[object]:
    """Return how many activations a process with 200 MiB finds, and what it cannot read."""
    env = {"PROWESS_NO_CACHE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    argv = [sys.executable, "-c", READ, str(home)]
    found: list[object] = json.loads(subprocess.run(argv, env=env, capture_output=True, check=True).stdout)
    return found


@pytest.mark.proof
@pytest.mark.parametrize("client", ["claude-code", "codex", "copilot", "gemini-cli", "pi", "qwen-code"])
def test_a_file_of_any_size_is_read_with_little_memory(client: str, tmp_path: Path) -> None:
    """What is before and after a line of 2 GB counts."""
    home = build_home(client, tmp_path / "home")
    used = sum(len(session.activations) for session in recording_of(home).sessions)
    path = max(home.rglob("*.jsonl"), key=lambda path: path.read_bytes().count(b"skill"))
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(len(data) + HOLE)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + data)
    assert read_with_little_memory(home) == [used, ["1 line is longer than 8 MiB"]]


@pytest.mark.proof
def test_a_file_that_is_one_object_has_a_limit(tmp_path: Path) -> None:
    """Old versions of Gemini CLI wrote such files, and ATIF is one."""
    home = build_home("gemini-cli", tmp_path / "home")
    used = sum(len(session.activations) for session in recording_of(home).sessions)
    with (home / ".gemini/tmp/notes/chats/session-old.json").open("wb") as file:
        file.write(b'{"messages": [\n')
        for _ in range(HOLE // 1_000_000):
            file.seek(999_999, os.SEEK_CUR)
            file.write(b"\n")
    found = read_with_little_memory(home)
    too_large = "it is larger than 64 MiB" if HOLE > 64 << 20 else "it is not JSON"
    assert found == [used, [too_large]]


@only_root
def test_a_file_of_another_user_is_named(tmp_path: Path) -> None:
    claude(tmp_path, [says(), *uses("pdf", PDF)])
    other = claude(tmp_path, [says(), *uses("csv", PDF)], session="s2")
    os.chown(other, MALLORY, -1)
    recording = recording_of(tmp_path)
    assert [session.id for session in recording.sessions] == ["s1"]
    assert [(item.path, item.reason) for item in recording.unreadable] == [(str(other), "it belongs to another user")]


def test_a_file_that_is_being_written_is_read_up_to_its_last_whole_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest counts as soon as it is there, also with a cache."""
    monkeypatch.delenv("PROWESS_NO_CACHE", raising=False)
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    path = claude(tmp_path, [says(), *uses("pdf", PDF)])
    data = path.read_bytes()
    counts = []
    for end in range(0, len(data) + 1, 7):
        path.write_bytes(data[:end])
        recording = recording_of(tmp_path)
        assert recording.unreadable == ()
        counts.append(sum(len(session.activations) for session in recording.sessions))
    path.write_bytes(data)
    assert counts == sorted(counts)
    assert len(session_of(tmp_path).activations) == 1


def test_times_may_be_in_any_order_and_in_the_future(tmp_path: Path) -> None:
    """A session lasts from the first to the last of them, and a time that is invalid is unknown."""
    times = ["2026-11-20T10:00:00Z", "9999-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "then", "2026-11-19T10:00:00Z"]
    records = [says(), *uses("pdf", PDF), *uses("csv", PDF, "t2")]
    claude(tmp_path, [{**record, "timestamp": time} for record, time in zip(records, [*times, *times], strict=False)])
    session = session_of(tmp_path)
    assert (session.first, session.last) == ("1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
    assert {used.name for used in session.activations} == {"pdf", "csv"}
    (late,) = recording_of(tmp_path).within(since="2990-01-01T00:00:00Z").sessions
    assert late.id == "s1"


def test_names_with_escapes_reach_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path.resolve() / "project"
    (project / ".git").mkdir(parents=True)
    name = "red\x1b[31m\u202e\ud800\r\nnext"
    claude(tmp_path / "home", [says(), *uses(name, f"/gone/{name}")], cwd=str(project))
    for option in ("--since=2026-01-01", "--unused", "--json"):
        assert run_in("usage", project, "--since", "2026-01-01", option) == 0
        shown = capsys.readouterr()
        assert "red" in shown.out or option == "--unused"
        assert UNSEEN.search(shown.out + shown.err) is None
