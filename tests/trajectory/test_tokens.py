"""How many tokens each agent recorded; each answer of the model counts once."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from clients._conversations import CONVERSATIONS
from clients._reading import SESSIONS, build_home, expected_sessions
from prowess.trajectory._recorder import Recorder
from support.recorded import claude, recording_of, says, session_of, write_lines
from trajectory.test_opencode import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.trajectory import RecordedSession
    from support.recorded import Records

ANSWERS = {
    # Four tools and the end.
    "model": 5,
    "user": 2,
    "copies": 2,
    "unknown": 2,
    "deleted": 2,
    # A tool and the end; after that two tools and the end.
    "resumed": 5,
    # A tool and the end, which the fork has again; after that a tool and the end.
    "forked": 4,
    # A tool, which is the sub-agent, and the end; in the sub-agent two tools and the end.
    "sub-agent": 5,
    "words": 2,
}
"""How often the scripted model answered in each conversation; it says of each answer that it took 1 token, and of what
it got that this was 1 as well."""
MORE = {("claude-code", "sub-agent"): 1, ("gemini-cli", "sub-agent"): 1, ("qwen-code", "sub-agent"): 1}
"""Claude Code and Qwen Code say when the sub-agent, which runs on its own, has ended, and the model answers to that; in
Gemini CLI a sub-agent ends with a tool."""


@pytest.mark.parametrize("client", sorted(folder.name for folder in SESSIONS.iterdir()))
def test_each_answer_of_the_recorded_sessions_counts_once(client: str, tmp_path: Path) -> None:
    """The recordings of Codex have but the first record of tokens: all others were left out."""
    name_of = {key: name for name, session in expected_sessions(client).items() for key in session["ids"]}
    found = {name_of[each.id]: each.tokens for each in recording_of(build_home(client, tmp_path / "home")).sessions}
    if client == "codex":
        numbers: dict[str, int | None] = {**dict.fromkeys(found), "model": 1}
    else:
        numbers = {name: ANSWERS[name] + MORE.get((client, name), 0) for name in found}
    assert {*found} == {*expected_sessions(client)}
    assert found == {name: tokens and sums(tokens, 0, tokens) for name, tokens in numbers.items()}


def test_the_answers_are_those_of_the_script() -> None:
    """One for each step, and one at the end of each turn."""
    assert {name: sum(len(turn.steps) + 1 for turn in turns) for name, turns in CONVERSATIONS.items()} == ANSWERS


def sums(got: int, cached: int, wrote: int) -> dict[str, int]:
    return {"input": got, "cached": cached, "output": wrote}


def claude_answer(key: str, wrote: int, **more: Any) -> dict[str, Any]:
    """Return the record of a part of an answer."""
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300}
    message = {"id": key, "role": "assistant", "content": [], "usage": {**usage, "output_tokens": wrote}}
    return {"type": "assistant", "requestId": "r", "message": message, **more}


def test_parts_of_an_answer_of_claude_code_are_one_answer(tmp_path: Path) -> None:
    """Each has the number of tokens so far."""
    claude(tmp_path, [says(), claude_answer("m1", 4), claude_answer("m1", 50), claude_answer("m2", 600)])
    assert session_of(tmp_path).tokens == sums(2 * 321, 2 * 300, 650)


def test_a_time_has_the_tokens_of_its_answers(tmp_path: Path) -> None:
    late = claude_answer("m2", 600, timestamp="2026-11-25T10:00:00Z")
    claude(tmp_path, [says(), claude_answer("m1", 50), late])
    (session,) = recording_of(tmp_path).within(since="2026-11-22T00:00:00Z").sessions
    assert session.tokens == sums(321, 300, 600)


def test_answers_of_two_sessions_may_have_the_same_identifiers(tmp_path: Path) -> None:
    """Servers of local models number the answers of each session alike."""
    for session, day in (("s1", 20), ("s2", 21)):
        claude(tmp_path, [says(), claude_answer("m1", 7, timestamp=f"2026-11-{day}T10:00:00Z")], session=session)
    assert [session.tokens for session in recording_of(tmp_path).sessions] == [sums(321, 300, 7)] * 2


def codex(home: Path, *records: dict[str, Any]) -> RecordedSession:
    """Return what is read of a session of Codex with some records."""
    start = {"type": "session_meta", "payload": {"id": "s1", "cwd": "/work", "cli_version": "0.169.0"}}
    timed = [{"timestamp": f"2026-11-20T10:00:{at:02}Z", **each} for at, each in enumerate((start, *records))]
    write_lines(home / ".codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-s1.jsonl", timed)
    return session_of(home)


def codex_usage(got: int, cached: int, wrote: int) -> dict[str, int]:
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")
    return dict(zip(names, (got, cached, wrote, wrote - 1, got + wrote), strict=True))


def codex_count(total: tuple[int, int, int], last: tuple[int, int, int]) -> dict[str, Any]:
    """Return the event with which Codex shows the tokens, again whenever a limit changes."""
    info = {"total_token_usage": codex_usage(*total), "last_token_usage": codex_usage(*last)}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info, "rate_limits": {}}}


def test_codex_has_a_record_for_each_answer_and_events_that_repeat_it(tmp_path: Path) -> None:
    def record(key: str, *counts: int) -> dict[str, Any]:
        usage = {"response_id": key, "usage": codex_usage(*counts), "thread_token_usage": codex_usage(900, 90, 9)}
        return {"type": "token_usage_record", "payload": usage}

    first, second = record("a1", 100, 40, 7), record("a2", 1000, 500, 20)
    counts = codex_count((100, 40, 7), (100, 40, 7)), codex_count((1100, 540, 27), (1000, 500, 20))
    session = codex(tmp_path, first, counts[0], second, counts[1], counts[1], second)
    assert session.tokens == sums(1100, 540, 27)


def test_codex_had_events_only_and_repeats_the_last_one(tmp_path: Path) -> None:
    """0.90.0. The first event of a session has no numbers yet."""
    empty = {"type": "event_msg", "payload": {"type": "token_count", "info": None, "rate_limits": {}}}
    counts = codex_count((100, 40, 7), (100, 40, 7)), codex_count((1100, 540, 27), (1000, 500, 20))
    assert codex(tmp_path, empty, counts[0], counts[0], counts[1], counts[1]).tokens == sums(1100, 540, 27)


def test_copilot_has_a_record_for_each_answer(tmp_path: Path) -> None:
    """The sums at the end repeat them."""
    usage = {"inputTokens": 100, "cacheReadTokens": 40, "outputTokens": 7}
    end = {"modelMetrics": {"m": {"usage": usage}}}
    records: Records = [
        {"type": "session.start", "data": {"context": {"cwd": "/work"}}},
        {"type": "session.usage_record", "id": "r1", "data": {"usage": usage}},
        {"type": "session.usage_record", "id": "r2", "data": {"usage": {**usage, "outputTokens": 50}}},
        {"type": "session.shutdown", "data": end},
    ]
    write_lines(tmp_path / ".copilot/session-state/s1/events.jsonl", records)
    assert session_of(tmp_path).tokens == sums(200, 80, 57)


def test_gemini_cli_writes_an_answer_again_and_has_thoughts_beside_it(tmp_path: Path) -> None:
    tokens = {"input": 100, "output": 7, "cached": 40, "thoughts": 20, "tool": 3, "total": 130}
    answer: dict[str, Any] = {
        "id": "m1",
        "timestamp": "2026-11-20T10:00:01Z",
        "type": "gemini",
        "content": "",
        "tokens": tokens,
    }
    records: Records = [{"sessionId": "s1", "projectHash": "0", "kind": "main"}, answer, {**answer, "toolCalls": []}]
    write_lines(tmp_path / ".gemini/tmp/notes/chats/session-1.jsonl", [*records, {"$set": {"messages": [answer]}}])
    assert session_of(tmp_path).tokens == sums(103, 40, 27)


@pytest.mark.parametrize(("total", "wrote"), [(107, 7), (127, 27), (None, 7)])
def test_qwen_code_has_thoughts_in_the_total_or_in_the_answer(tmp_path: Path, total: int | None, wrote: int) -> None:
    """That depends on the provider; a total of everything says which it was."""
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 7, "cachedContentTokenCount": 40, "thoughtsTokenCount": 5}
    answer = {"type": "assistant", "uuid": "u1", "usageMetadata": {**usage, "totalTokenCount": total}}
    write_lines(tmp_path / ".qwen/projects/-work/chats/s1.jsonl", [{"sessionId": "s1", "cwd": "/work", **answer}])
    assert session_of(tmp_path).tokens == sums(100, 40, wrote)


def test_pi_has_what_it_got_in_three_parts(tmp_path: Path) -> None:
    usage = {"input": 1, "cacheRead": 20, "cacheWrite": 300, "output": 7, "reasoning": 4, "totalTokens": 328}
    records: Records = [
        {"type": "session", "id": "s1", "cwd": "/work", "timestamp": "2026-11-20T10:00:00Z"},
        {"type": "message", "id": "a", "message": {"role": "user", "content": "Do it."}},
        {"type": "message", "id": "b", "message": {"role": "assistant", "content": [], "usage": usage}},
    ]
    write_lines(tmp_path / ".pi/agent/sessions/--work--/2026_s1.jsonl", records)
    assert session_of(tmp_path).tokens == sums(321, 20, 7)


def test_opencode_has_what_it_got_in_three_parts_and_thoughts_beside_the_answer(tmp_path: Path) -> None:
    """The message of a user has no tokens, whatever is in it."""
    (tmp_path / ".local/share/opencode").mkdir(parents=True)
    tokens = {"total": 333, "input": 1, "output": 7, "reasoning": 5, "cache": {"read": 20, "write": 300}}
    with closing(sqlite3.connect(tmp_path / ".local/share/opencode/opencode.db")) as database:
        database.executescript(TABLES)
        database.execute("insert into session values ('s1', null, '/work', '1.18.33', 1000, 1000)")
        for number, role in enumerate(("user", "assistant", "assistant")):
            data = json.dumps({"role": role, "tokens": tokens})
            database.execute("insert into message values (?, 's1', ?, ?)", (f"m{number}", 1000 + number, data))
        database.commit()
    assert session_of(tmp_path).tokens == sums(642, 40, 24)


@pytest.mark.parametrize("value", [True, -1, 10**30, 1.5, "7", None, [7], {"": 7}])
def test_an_invalid_number_of_tokens_is_zero(value: object) -> None:
    recorder = Recorder("codex", "s1", "/home/ada")
    recorder.has_messages = True
    recorder.answer("a1", got=[value, 2], cached=value, wrote=[value], total=value)
    session = recorder.session()
    assert session is not None
    assert session.tokens == sums(2, 0, 0)
