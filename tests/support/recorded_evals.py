"""A skill with cases, an agent whose answers depend on what it gets, and what a record of both has on disk."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from prowess.evals import Arms, Command, Record, make_plan, new_record, read_evals, run_pairs
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

SKILL = ".agents/skills/greet"
AGENT = (
    "prompt=$(cat); number=$((PROWESS_RUN_SEED + ${prompt#Greet })); "
    f'echo "$prompt: $number" > out.txt; cat given.txt >> out.txt; rm -f gone.txt; echo "$number"; '
    f"if [ -d {SKILL} ] && [ $((number % 4)) -gt 0 ]; then echo good day; fi; [ $((number % 9)) -gt 0 ]"
)
"""With N the sum of the numbers of pair and case, it passes with the skill unless 4 divides N; if 9 does, it fails."""
LOCAL_FILES = ("local.json", "time.json")
"""What is not the same for the same runs."""


def greet(top: Path, count: int) -> Path:
    """Write a skill with some cases, and return its folder."""
    folder = top / "greet"
    skill(folder)
    files = [{"path": "given.txt", "content": "given\n"}, {"path": "gone.txt", "content": "x"}]
    assertions = [
        {"type": "contains", "value": "good day"},
        {"type": "file-matches", "path": "*.txt", "pattern": "^Greet [0-9]+: [0-9]+\ngiven$"},
        {"type": "file-not-exists", "path": "gone.txt"},
    ]
    cases = [{"prompt": f"Greet {number}", "files": files, "assertions": assertions} for number in range(count)]
    (folder / "evals").mkdir()
    (folder / "evals/evals.json").write_text(json.dumps({"evals": cases}), encoding="utf-8")
    return folder


def prowess(top: Path, *words: str, **more: Any) -> subprocess.Popen[str]:
    """Start `prowess eval` in a folder."""
    command = [sys.executable, "-m", "prowess", "eval", *words]
    return subprocess.Popen(command, cwd=top, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files of a record that are the same for the same runs."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in LOCAL_FILES
    }


def without_times(output: str) -> str:
    """Return what is printed about a record without what is said of the time."""
    if output.startswith("{"):
        data = json.loads(output)
        data["helps"]["measures"]["time"] = None
        return json.dumps(data)
    return re.sub(r"^  time: .*$", "", output, flags=re.MULTILINE)


def record(top: Path, folder: Path, *, runs: int = 2, most: int | None = None, command: str = AGENT) -> None:
    """Record an evaluation of the skill that `greet` wrote."""
    evals = read_evals(str(top / "greet"))
    plan, agent, arms = make_plan(evals, runs, 0), Command(command), Arms(evals)
    with new_record(str(folder), (evals.folder,)):
        kept = Record(str(folder), plan, agent, arms, None)
        kept.start({"skill": os.path.relpath(evals.folder, folder), "via": command})
        run_pairs(agent, arms, plan, record=kept, most=most)
        kept.finish()


def edit(path: Path, change: Any) -> None:
    """Change the JSON in a file."""
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")


def has_exited(pid: int) -> bool:
    """Return whether a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
