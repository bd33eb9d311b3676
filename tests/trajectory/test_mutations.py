"""Damaged records of every agent: no exception, and nothing but names, paths, counts and times."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from clients._reading import build_home
from prowess.filesystem import Question
from prowess.trajectory import RecordedSession, read_sessions, trajectory_of
from support.proofs import short_or_long
from support.recorded import calls, claude, gets_skill, offers, returns, says, types, uses
from trajectory import test_atif, test_codex, test_copilot, test_gemini_cli, test_pi, test_qwen_code

if TYPE_CHECKING:
    from pathlib import Path

RUNS = short_or_long(40, 1700)
"""Damaged files of each agent: 10,000 in the long form."""
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1e400,
    "",
    "\0",
    "\ud800",
    "x" * 5000,
    [],
    [[]],
    {},
    {"": None},
    ["skill"],
)
PDF = "/home/ada/.claude/skills/pdf"


def write_samples(top: Path) -> None:
    """Write a session of each agent in which skills are offered and used, each in a home of its own."""
    script = [calls("Bash", "t3", command=f"cd {PDF} && python3 fill.py"), returns("t3", "Exit code 3", error=True)]
    read = [calls("Read", "t2", file_path=f"{PDF}/a.md"), returns("t2", "x", result={"file": {"filePath": "a.md"}})]
    used = [*uses("pdf", PDF), types("csv"), gets_skill(PDF, None)]
    claude(top / "0", [says(), offers(pdf="x", csv=""), *used, *read, *script])
    for number, write in enumerate(
        (
            test_codex.test_version_0_90_has_calls_of_a_shell_only,
            test_codex.test_reading_skill_md_is_a_use_and_looking_for_it_is_not,
            test_copilot.test_a_skill_was_used_if_it_was_invoked,
            test_gemini_cli.test_a_skill_that_the_model_activated,
            test_qwen_code.test_a_skill_that_the_model_used,
            test_pi.test_reading_skill_md_is_a_use,
        ),
        1,
    ):
        write(top / str(number))


def damaged_value(value: Any, chance: random.Random) -> Any:
    """Return a JSON value with one part replaced by another value, removed, or repeated."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice([*value])
        if chance.random() < 0.1:
            return {other: item for other, item in value.items() if other != key}
        return {**value, key: damaged_value(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        number = chance.randrange(len(value))
        return [*value[:number], damaged_value(value[number], chance), *value[number + chance.randrange(2) :]]
    return chance.choice(VALUES)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes of a file with some records, or some bytes, changed."""
    lines = data.splitlines(keepends=True)
    for _ in range(chance.randrange(1, 4)):
        number = chance.randrange(len(lines))
        if chance.random() < 0.7:
            lines[number] = json.dumps(damaged_value(json.loads(data.splitlines()[number]), chance)).encode() + b"\n"
        elif lines[number]:
            at, piece = chance.randrange(len(lines[number])), chance.randbytes(chance.randrange(4))
            lines[number] = lines[number][:at] + piece + lines[number][at + chance.randrange(9) :]
    chance.shuffle(lines) if chance.random() < 0.1 else None
    return b"".join(lines)[: chance.randrange(len(data)) if chance.random() < 0.1 else None]


def is_plain(session: RecordedSession) -> bool:
    """Return whether a session has only values of the types that it promises."""
    texts = [session.agent, session.version, session.id, session.origin, session.cwd, session.first, session.last]
    for used in session.activations:
        texts += [used.id, used.name, used.by, used.time, used.path or ""]
    for file in session.files:
        texts += [file.id, file.path, file.time]
    for run in session.scripts:
        texts += [run.id, run.path, run.time]
    for offer in session.catalog or ():
        texts += [offer.name, offer.path or "", offer.description]
    return all(isinstance(text, str) for text in texts) and all(isinstance(run.exit, int) for run in session.scripts)


@pytest.mark.proof
def test_damaged_files_raise_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the cache, too: what was read of a file can be stored and loaded again."""
    monkeypatch.setenv("PROWESS_NO_CACHE", "1")
    write_samples(tmp_path)
    samples = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*.jsonl"))}
    questions = [Question.about(home, home) for home in tmp_path.iterdir()]
    assert len(samples) == len(questions) == 7
    assert all(session.activations for question in questions for session in read_sessions(question).sessions)
    for seed in range(RUNS):
        chance = random.Random(seed)  # noqa: S311 - to repeat it
        for path, data in samples.items():
            path.write_bytes(damaged(data, chance))
        for recording in map(read_sessions, questions):
            assert all(map(is_plain, recording.sessions)), seed
            assert recording.within(since="2026-11-20T10:00:02Z", project="/work") is not None
            for session in recording.sessions:
                json.dumps(trajectory_of(session))


@pytest.mark.proof
def test_damaged_databases_raise_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of opencode's records, and bytes of the file."""
    monkeypatch.setenv("PROWESS_NO_CACHE", "1")
    path = build_home("opencode", tmp_path / "home") / ".local/share/opencode/opencode.db"
    sample, question = path.read_bytes(), Question.about(tmp_path / "home", tmp_path / "home", env={})
    assert sum(len(session.activations) for session in read_sessions(question).sessions) > 5
    for seed in range(RUNS):
        chance = random.Random(seed)  # noqa: S311 - to repeat it
        path.write_bytes(sample)
        with closing(sqlite3.connect(path)) as database:
            for table in ("message", "part"):
                rows = database.execute(f"select id, data from {table} order by id").fetchall()  # noqa: S608
                for key, data in chance.sample(rows, 5):
                    value = json.dumps(damaged_value(json.loads(data), chance))
                    database.execute(f"update {table} set data = ? where id = ?", (value, key))  # noqa: S608
            database.commit()
        assert all(map(is_plain, read_sessions(question).sessions)), seed
        content = bytearray(sample)
        for _ in range(chance.randrange(1, 9)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content[: chance.randrange(len(content)) if chance.random() < 0.2 else None])
        assert all(map(is_plain, read_sessions(question).sessions)), seed


@pytest.mark.proof
def test_damaged_trajectories_raise_nothing(tmp_path: Path) -> None:
    inner = test_atif.trajectory("codex", test_atif.step("shell", {"command": f"cat {PDF}/SKILL.md"}, "x"))
    value = test_atif.trajectory(
        "claude-code",
        test_atif.step("Skill", {"skill": "pdf"}, f"Base directory for this skill: {PDF}"),
        {"source": "user", "extra": {"skill": {"id": "1", "name": "csv", "path": None}}},
        subagent_trajectories=[inner],
        final_metrics={"total_prompt_tokens": 1},
    )
    path = tmp_path / "x.json"
    for seed in range(RUNS):
        chance = random.Random(seed)  # noqa: S311 - to repeat it
        path.write_text(json.dumps(damaged_value(value, chance)), encoding="utf-8")
        recording = read_sessions(Question.about(tmp_path, tmp_path), agents=(), imports=[str(path)])
        assert all(map(is_plain, recording.sessions)), seed
