"""No name, path or description reaches a terminal with its control characters, whichever command prints it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mutations import output
from prowess._internal.text import hidden_characters
from support.trees import write_repository

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

EVIL = "\x1b[2J\x07\u202eX\u200b\x9b31m"
"""Clears a screen, rings, turns the direction of what follows, is invisible, and colours in one character of C1."""
HOSTS = ("--host", "claude-code", "--host", "codex")
COMMANDS = [
    [],
    ["list"],
    ["list", "--rows", "--digest", *HOSTS],
    ["list", "--host", "codex"],
    ["list", "--host", "claude-code"],
    ["list", "--skill-dir", f"lib{EVIL}"],
    ["list", "--json"],
    ["why", "evil"],
    ["why", f"NAME{EVIL}"],
    ["why", f".agents/skills/name{EVIL}"],
    ["why", "taken", *HOSTS],
    ["check"],
    ["check", "--full", *HOSTS],
    ["check", f"lib{EVIL}"],
    ["check", "--format", "github"],
    ["check", "--format", "gitlab"],
    ["check", "--format", "sarif"],
    ["check", "--json"],
    ["check", "--fix"],
    ["usage"],
    ["usage", "--unused"],
    ["inventory"],
    ["inventory", f"lib{EVIL}"],
    ["report", "-o", f"page{EVIL}.html"],
    ["search", "evil"],
    ["prompt"],
    ["show", f".agents/skills/name{EVIL}"],
    ["show", "evil"],
    ["validate", f"lib{EVIL}"],
    ["hosts", f"codex{EVIL}"],
    ["add", f"./lib{EVIL}", "--yes"],
    ["add", f"./lib{EVIL}", f"a{EVIL}", "--yes"],
    ["add", f"./lib{EVIL}"],
    ["add", "./vendor", "--yes"],
    ["add", "./missing" + EVIL, "--yes"],
    ["install"],
    ["new", f"n{EVIL}"],
    ["new", "fine", "--description", f"Reads {EVIL}."],
    ["init", f"dir{EVIL}"],
    ["init"],
    ["mount", f"lib{EVIL}/name{EVIL}", "--to", "out"],
    ["mount", f"lib{EVIL}/plain", "--to", f"out{EVIL}", "--no-validate"],
    ["mount", f".agents/skills/name{EVIL}", "--project", "--host", "claude-code"],
    ["update", "--yes"],
    ["update", f"n{EVIL}", "--yes"],
    ["verify"],
    ["remove", f"n{EVIL}", "--yes"],
    ["remove", "evil", "--yes"],
    ["trust", f"n{EVIL}"],
    ["lock", f"lib{EVIL}"],
    ["exec", f"n{EVIL}", "x"],
    ["activate", f"NAME{EVIL}"],
    ["read", f"NAME{EVIL}", f"x{EVIL}"],
    ["test", f"lib{EVIL}"],
    ["mcp", "serve", "--dry-run"],
    ["index", f"lib{EVIL}", "-o", "site"],
    ["usage"],
]
LOCKED = {"source": "./vendor", "sourceType": "local", "computedHash": "0" * 64}
LOCKS: dict[str, Any] = {
    "no lock": {},
    "name": {f"n{EVIL}": {**LOCKED, "source": f"./lib{EVIL}"}},
    "source": {"evil": {**LOCKED, "source": f"o{EVIL}/r", "sourceType": "github"}},
    "folder": {"evil": {**LOCKED, "skillPath": f"x{EVIL}/SKILL.md"}},
}
READ_A_LOCK = ("", "list", "check", "why", "add", "install", "update", "verify", "remove", "mount")
CASES = [
    pytest.param(command, lock, id=f"{lock}: {' '.join(command)!a}")
    for lock in LOCKS
    for command in COMMANDS
    if lock == "no lock" or "".join(command[:1]) in READ_A_LOCK
]


def write(file: Path, name: str, description: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {json.dumps(name)}\ndescription: {json.dumps(description)}\n---\nDo {EVIL}.\n")


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose folders, skills, plugins and packages have such names."""
    project, home = tmp_path.resolve() / f"project{EVIL}", tmp_path.resolve() / "home"
    write_repository(project / ".git")
    for folder in (".claude", ".codex", ".copilot"):
        (home / folder).mkdir(parents=True)
    for place in (".agents/skills", ".claude/skills", f"lib{EVIL}", f"packages/p{EVIL}/.claude/skills"):
        write(project / place / f"name{EVIL}" / "SKILL.md", f"NAME{EVIL}", f"Reads {EVIL}.")
        write(project / place / "plain" / "SKILL.md", "plain", f"Reads {place}{EVIL}.")
    write(project / ".agents/skills/evil/SKILL.md", "evil", f"Use when: {EVIL}")
    write(project / ".agents/skills/taken/SKILL.md", "taken", f"One {EVIL}")
    write(home / ".agents/skills/taken/SKILL.md", "taken", f"Two {EVIL}")
    (project / f".agents/skills/low{EVIL}").mkdir()
    (project / f".agents/skills/low{EVIL}/skill.md").write_text("---\nname: low\ndescription: Low.\n---\n")
    (project / f".agents/skills/bad{EVIL}").mkdir()
    (project / f".agents/skills/bad{EVIL}/SKILL.md").write_text(f"---\nname: [{EVIL}\n{EVIL}: {EVIL}\n---\n")
    (project / f".claude/skills/link{EVIL}").symlink_to(f"/nowhere{EVIL}")
    plugin = project / f"plugins/p{EVIL}"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin/plugin.json").write_text(json.dumps({"name": f"p{EVIL}", "description": EVIL}))
    write(plugin / f"skills/s{EVIL}/SKILL.md", f"s{EVIL}", EVIL)
    (project / ".claude-plugin").mkdir()
    market = {"name": f"m{EVIL}", "plugins": [{"name": f"q{EVIL}", "source": f"./plugins/p{EVIL}"}]}
    (project / ".claude-plugin/marketplace.json").write_text(json.dumps(market))
    write(project / f".prowess/packages/k{EVIL}/skills/k/SKILL.md", f"k{EVIL}", EVIL)
    (project / ".claude/settings.json").write_text(json.dumps({f"x{EVIL}": EVIL, "enabledPlugins": {f"p{EVIL}": 1}}))
    write(project / f"vendor/v{EVIL}/SKILL.md", "v", f"Reads {EVIL}.")
    write(project / "vendor/w/SKILL.md", "w", f"Reads {EVIL}.")
    record = {"version": 1, "skills": [{"name": f"n{EVIL}", "source": f"/x{EVIL}", "seal": EVIL}]}
    (project / ".agents/.prowess-skills.json").write_text(json.dumps(record))
    monkeypatch.chdir(project)
    return project


def settings(project: Path) -> Mapping[str, str]:
    top = project.parent
    return {
        "HOME": str(top / "home"),
        "PROWESS_DATA_DIR": str(top / "data"),
        "PROWESS_NO_CACHE": "1",
        "NO_COLOR": "1",
        "PROWESS_SKILL_DIR": "",
    }


@pytest.mark.parametrize(("command", "lock"), CASES)
def test_no_control_character_is_printed(command: list[str], lock: str, evil: Path) -> None:
    """Neither in words nor in data: in JSON they are escaped, and a report is written to its file."""
    if LOCKS[lock]:
        (evil / "skills-lock.json").write_text(json.dumps({"version": 1, "skills": LOCKS[lock]}))
    result = output(command, settings(evil))
    shown = result.out.decode() + result.words
    assert shown
    assert "Traceback" not in shown
    assert "is a bug" not in shown
    assert hidden_characters(shown) == []
