"""A month of seven agents in two projects, counted by hand from what was scripted for the recorded sessions.

It is not the home of a person: real clients recorded the sessions, and those of two agents are there twice.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from clients._conversations import World
from clients._reading import SESSIONS, build_home
from prowess.cli import main
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

Counts = tuple[int, int, int, int, int]
"""Uses by the model and by the user, files read, scripts run, and those of them that failed."""

FULL: dict[str, Counts] = {
    # model, resumed, forked and sub-agent; a file and two scripts, one in resumed, and one that fails in sub-agent.
    "tide-tables": (4, 0, 1, 4, 2),
    # resumed and forked, and by the user, where the model reads a file of it.
    "knots": (2, 1, 1, 0, 0),
    "flags": (1, 0, 0, 0, 0),
    "moon": (1, 0, 0, 0, 0),
}
NO_FORK: dict[str, Counts] = {**FULL, "tide-tables": (3, 0, 1, 4, 2), "knots": (1, 0, 0, 0, 0)}
"""Without the conversations `forked` and `user`."""
BY_HAND: dict[str, tuple[int, dict[str, Counts]]] = {
    "claude-code": (9, FULL),
    "codex": (9, FULL),
    "copilot": (7, NO_FORK),
    "gemini-cli": (7, NO_FORK),
    "opencode": (9, FULL),
    "pi": (8, {**FULL, "tide-tables": (3, 0, 1, 3, 1)}),  # without `sub-agent`
    "qwen-code": (9, FULL),
}
"""The sessions of each agent in the first project, and what was done with each skill in them."""
TOKENS = {
    "claude-code": 30,
    "codex": 1,  # only the first answer has them in what was kept
    "copilot": 23,
    "gemini-cli": 24,
    "opencode": 29,
    "pi": 24,
    "qwen-code": 30,
}
"""The answers of the model in these sessions, each of which took 1 token and got 1: `test_tokens.py` has those of each
conversation."""
TWICE = ("claude-code", "codex")
"""The agents that were also used in the second project, for the same things."""
FOLDERS = {
    "claude-code": (".claude/skills", ".claude/skills"),
    "codex": (".agents/skills", ".agents/skills"),
    "copilot": (".copilot/skills", ".github/skills"),
    "gemini-cli": (".gemini/skills", ".gemini/skills"),
    "opencode": (".config/opencode/skills", ".opencode/skills"),
    "pi": (".pi/agent/skills", ".pi/skills"),
    "qwen-code": (".qwen/skills", ".qwen/skills"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which all agents were used."""
    top = tmp_path.resolve()
    home = top / "home"
    for client, (user, project) in FOLDERS.items():
        World(home=home, user=user, project=project).write()
        shutil.rmtree(home / user / "moon")
        add_sessions(client, home, top / f"{client}-notes", {})
    for client in TWICE:
        changes = {"/home/ada/notes": f"{home}/boats", "-0000-000000000000": "-0000-000000000001", "T09:": "T10:"}
        add_sessions(client, home, top / f"{client}-boats", changes)
    shutil.copytree(home / "notes", home / "boats")
    for name in ("notes", "boats"):
        (home / name / ".git").mkdir()
    return home


def add_sessions(client: str, home: Path, folder: Path, changes: dict[str, str]) -> None:
    """Add the recorded sessions of a client to a home, with some texts replaced."""
    shutil.copytree(SESSIONS / client, folder / client)
    changes = {**changes, "/home/ada": str(home)}
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file():
            text, name = path.read_text("utf-8"), path.name
            for old, new in changes.items():
                text, name = text.replace(old, new), name.replace(old, new)
            path.write_text(text, encoding="utf-8")
            path.rename(path.with_name(name))
        elif "-0000-000000000000" in path.name and changes.get("-0000-000000000000"):
            path.rename(path.with_name(path.name.replace("-0000-000000000000", "-0000-000000000001")))
    build_home(client, folder / "home", folder)
    shutil.copytree(folder / "home", home, dirs_exist_ok=True)


def counted(rows: list[dict[str, Any]]) -> dict[str, dict[str, Counts]]:
    """Return what was done with each skill by each agent; rows of copies of a name are added up."""
    names = ("used_by_model", "used_by_user", "files_read", "scripts_run", "scripts_failed")
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["used"]:
            of_agent = found.setdefault(row["host"], {})
            before = of_agent.get(row["name"], (0,) * 5)
            of_agent[row["name"]] = tuple(old + row[name] for old, name in zip(before, names, strict=True))
    return found


def usage(home: Path, project: str, *options: str) -> None:
    """Run the command in a project, for sessions of the month."""
    where = ("--cwd", str(home / project), "--home", str(home))
    assert main(["usage", "--since", "2026-11-01", *options, *where]) == 0


@pytest.mark.parametrize("project", ["notes", "boats", "all"])
def test_a_month_is_counted_as_by_hand(home: Path, project: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each session in its project, and all of them with `--all-projects`."""
    options = ("--all-projects",) if project == "all" else ()
    times = {"notes": dict.fromkeys(BY_HAND, 1), "boats": dict.fromkeys(TWICE, 1)}.get(project) or {
        agent: 1 + (agent in TWICE) for agent in BY_HAND
    }
    usage(home, "notes" if project == "all" else project, "--json", *options)
    shown = json.loads(capsys.readouterr().out)
    assert shown["sessions"] == {agent: BY_HAND[agent][0] * count for agent, count in times.items()}
    assert shown["tokens"] == {
        agent: {"input": TOKENS[agent] * count, "cached": 0, "output": TOKENS[agent] * count}
        for agent, count in times.items()
    }
    assert counted(shown["skills"]) == {
        agent: {name: tuple(each * count for each in counts) for name, counts in BY_HAND[agent][1].items()}
        for agent, count in times.items()
    }
    assert shown["unreadable"] == []


def test_copies_are_one_skill_and_new_ones_were_not_offered(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first line counts as `prowess list` does: two copies of `flags` differ; the one that is gone is one more."""
    for number in range(3):
        skill(home / f".claude/skills/new-{number}")
    usage(home, "notes", "--host", "claude-code")
    first = capsys.readouterr().out.partition("\n")[0]
    assert first == "4 of 8 skills were used since 2026-11-01; 1 is not seen; 3 are in no session so far."
    usage(home, "notes", "--host", "claude-code", "--unused")
    assert "  seen, and in no session so far:\n    new-0 " in capsys.readouterr().out
