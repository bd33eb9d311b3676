"""`prowess usage --unused`: the lines that turn skills off do so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.catalog import discover
from prowess.trajectory import AGENTS
from support.project_commands import run_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = {
    "claude-code": ".claude/skills",
    "codex": ".codex/skills",
    "copilot": ".copilot/skills",
    "gemini-cli": ".gemini/skills",
    "opencode": ".config/opencode/skills",
    "pi": ".pi/agent/skills",
    "qwen-code": ".qwen/skills",
}


@pytest.mark.parametrize("host", AGENTS)
def test_the_lines_turn_the_skills_off(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the file that is named, which does not exist yet; another skill stays on."""
    project, home = tmp_path.resolve() / "project", tmp_path.resolve() / "home"
    (project / ".git").mkdir(parents=True)
    for name in ("one", "two"):
        skill(home / FOLDERS[host] / name)
    assert run_in("usage", project, "one", "--unused", "--host", host) == 0
    out, _ = capsys.readouterr()
    place, _, lines = out.partition("  to turn it off, add to ~/")[2].partition(":\n")
    file = home / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(line.removeprefix("    ") for line in lines.splitlines(keepends=True)))
    states = {entry.name: str(entry.state) for entry in discover(project, host, home=home).skills}
    assert states.pop("one") != "active"
    assert states == {"two": "active"}
