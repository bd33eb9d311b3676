"""Measure `prowess usage` on sessions of several agents: the first time, and when nothing has changed."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tables import format_range, measured_by, paragraph, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench import Bench

SESSIONS, SIZE, ROUNDS = 1_000, 1_000_000, 3
FIRST, AGAIN = "the first time", "nothing has changed"
RECORDED = Path(__file__).resolve().parents[1] / "tests/clients/sessions"
CALL = {"type": "tool_use", "id": "other", "name": "Read", "input": {"file_path": "a.py"}}
FILLERS: Mapping[str, Sequence[tuple[int, dict[str, Any]]]] = {
    "claude-code": (
        (60_000, {"type": "attachment", "attachment": {"type": "prompt_snapshot", "content": "TEXT"}}),
        (1_000, {"type": "assistant", "message": {"content": [{"type": "text", "text": "TEXT"}, CALL]}}),
        (8_000, {"type": "user", "message": {"content": [{"type": "tool_result", "content": "TEXT"}]}}),
    ),
    "codex": (
        (15_000, {"type": "world_state", "payload": {"text": "TEXT"}}),
        (4_000, {"type": "event_msg", "payload": {"type": "item_completed", "item": {"output": "TEXT"}}}),
        (4_000, {"type": "response_item", "payload": {"type": "custom_tool_call_output", "output": "TEXT"}}),
    ),
    "copilot": (
        (6_000, {"type": "tool.execution_complete", "data": {"success": True, "result": {"content": "TEXT"}}}),
        (500, {"type": "assistant.message", "data": {"content": "TEXT"}}),
    ),
    "gemini-cli": (
        (500, {"id": "other", "type": "gemini", "content": "TEXT"}),
        (4_000, {"id": "other", "type": "user", "content": [{"functionResponse": {"response": {"output": "TEXT"}}}]}),
    ),
    "pi": (
        (300, {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": "TEXT"}]}}),
        (4_000, {"type": "message", "message": {"role": "toolResult", "content": [{"type": "text", "text": "TEXT"}]}}),
    ),
    "qwen-code": (
        (500, {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"text": "TEXT"}}),
        (4_000, {"type": "tool_result", "message": {"parts": [{"functionResponse": {"response": "TEXT"}}]}}),
    ),
}
"""Records without a skill, of about the sizes that they have in real sessions, by agent."""


def write_sessions(home: Path, count: int, size: int, seed: int) -> int:
    """Write sessions: one that a real client recorded, with other records between its own; return the bytes."""
    chance = random.Random(seed)  # noqa: S311 - not a secret
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(3000)]
    words += ["skills"]  # the word is in other texts too
    texts = {length: _text(words, length, chance) for fillers in FILLERS.values() for length, _ in fillers}
    originals = {agent: _recorded_session(RECORDED / agent) for agent in FILLERS}
    total = 0
    for number, agent in zip(range(count), cycle(FILLERS), strict=False):
        path, lines = originals[agent]
        zeros, own = "-0000-0000-0000-000000000000", f"-0000-0000-0000-{number + 1:012}"  # of identifiers
        fillers = cycle([_line(record, texts[length]) for length, record in FILLERS[agent]])
        out, length = [], 0
        for index, line in enumerate(lines, 1):
            # A session with the times of another one would be a fork.
            out.append(line.replace(zeros, own).replace("T09:00:0", f"T{number // 60:02}:{number % 60:02}:0"))
            length += len(out[-1])
            while length < size * index // len(lines):
                out.append(next(fillers))
                length += len(out[-1])
        place = path.replace(zeros, own)
        file = home / (place if place != path else path.replace(".jsonl", f"{number}.jsonl"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(out), encoding="utf-8")
        total += file.stat().st_size
    return total


def _text(words: Sequence[str], length: int, chance: random.Random) -> str:
    return " ".join(chance.choices(words, k=length // 6))[:length]


def _line(record: Mapping[str, Any], text: str) -> str:
    return json.dumps(record, separators=(",", ":")).replace("TEXT", text) + "\n"


def _recorded_session(folder: Path) -> tuple[str, list[str]]:
    """Return the path, below its home, of a session of two days in which skills were used, and its lines."""
    key = json.loads((folder / "expected/resumed.json").read_text("utf-8"))["ids"][0]
    home = folder / "home"
    file = next(path for path in sorted(home.rglob("*.jsonl")) if key[:8] in str(path.relative_to(home)))
    return str(file.relative_to(home)), file.read_text("utf-8").splitlines(keepends=True)


def measure_usage(bench: Bench, count: int = SESSIONS, size: int = SIZE) -> Iterator[dict[str, Any]]:
    """Measure the whole command in turns: with an empty cache, and again."""
    top = bench.folder / "usage"
    total = write_sessions(top / "home", count, size, bench.seed)
    (top / "project").mkdir()
    environment = {**bench.environment, "PROWESS_CACHE_DIR": str(top / "cache")}
    where = ("--home", str(top / "home"), "--cwd", str(top / "project"))
    command = [sys.executable, "-I", "-m", "prowess", "usage", "--all-projects", "--since", "2020-01-01", *where]
    runs: dict[str, dict[str, list[float]]] = {name: {"processor": [], "peak": []} for name in (FIRST, AGAIN)}
    for _ in range(min(bench.rounds, ROUNDS)):
        shutil.rmtree(top / "cache", ignore_errors=True)
        for name in (FIRST, AGAIN):
            for kind, value in _cost(command, environment).items():
                runs[name][kind].append(value)
    bench.remove(top)
    yield {"sessions": count, "bytes": total, "agents": [*FILLERS], "runs": runs}


def _cost(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    """Return the processor seconds of a command, which must succeed, and its most memory in bytes."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise RuntimeError(f"`prowess usage` failed with exit code {process.returncode}")
    return {"processor": round(usage.ru_utime + usage.ru_stime, 6), "peak": usage.ru_maxrss * 1024}


def usage_section(usage: Mapping[str, Any]) -> Iterable[str]:
    """Return the table of `prowess usage`."""
    yield "## Count which skills were used\n"
    yield paragraph(
        f"`prowess usage` of {usage['sessions']:,} sessions, {usage['bytes'] / 1e6:,.0f} MB in all, as many of each of "
        f"{len(usage['agents'])} agents: sessions that real clients recorded, with records of other tools between "
        "theirs, of the sizes that these have in real sessions. The whole command, in turns with an empty cache and "
        "with the one that it has left; medians, lowest and highest in brackets."
    )
    yield ""
    rows = [
        [name, format_range(cost["processor"]), f"{max(cost['peak']) / 1e6:.0f} MB"]
        for name, cost in usage["runs"].items()
    ]
    yield from table(["", "processor time", "most memory"], rows, right=(1, 2))
    yield measured_by("usage", usage)
    yield ""
