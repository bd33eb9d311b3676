"""On a terminal no line of a command is wider than that, unless one word of it is."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from prowess._internal.text import display_width
from prowess.cli import main
from support.files import write_file
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = (
    (),
    ("list",),
    ("list", "--rows"),
    ("list", "--all"),
    ("list", "--host", "codex"),
    ("list", "--host", "pi"),
    ("list", "--host", "copilot"),
    ("list", "--host", "opencode"),
    ("list", "--host", "claude-code"),
    ("why", "long-name-1"),
    ("why", "twice", "--host", "claude-code"),
    ("why", "nothing"),
    ("check",),
    ("check", "--full"),
    ("check", ".claude/skills"),
    ("inventory",),
    ("usage",),
    ("usage", "--unused"),
    ("show", "twice"),
    ("search", "words"),
    ("hosts",),
    ("hosts", "codex"),
    ("add", "./offered", "--dry-run"),
    ("add", "./offered", "a", "--dry-run"),
    ("add", "./offered"),
    ("add", "./nothing"),
    ("verify",),
    ("new", "Bad Name"),
    ("report",),
    ("mcp", "serve", "--dry-run"),
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with losses of many kinds, a home with six agents, and go there."""
    project = tmp_path.resolve() / "project"
    (project / ".git").mkdir(parents=True)
    for name in (".claude", ".codex", ".copilot", ".cursor", ".gemini", ".pi"):
        (tmp_path / "home" / name).mkdir(parents=True)
    words = "Use it for words that are many, and in one line. " * 4
    for number in range(12):
        skill(project / f".claude/skills/long-name-{number}", description=words)
        skill(project / f".github/skills/broken-{number}", description="words: of a kind", body=f"{words}[x](gone.md)")
    skill(project / ".agents/skills/twice", description=words, more="allowed-tools: [Read, Write]\n")
    skill(tmp_path / "home/.claude/skills/twice", description="Another one.")
    wide = "日本語の説明" * 30
    skill(project / ".agents/skills/odd", '"日本\\x1b[2J; rm -rf ~"', wide, body=f"{wide}[x](gone.md)")
    for name in "abcdefgh":
        skill(project / "offered" / name, description=words, body=f"{words}[x](gone.md)")
    write_file(project / "offered/a/scripts/run.sh", "#!/bin/sh\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    monkeypatch.chdir(project)
    return project


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.usefixtures("project")
def test_no_line_is_wider_than_the_terminal(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    main([*arguments])
    out, err = capsys.readouterr()
    lines = [line.rpartition("\x1b[K")[2].rpartition("\r")[2] for line in (*out.split("\n"), *err.split("\n"))]
    assert any(lines)
    for line in lines:
        if display_width(line) > 80:  # a path, a digest, or what someone copies
            longest = max(re.findall(r"`[^`]+`|'[^']+'|\S+", line), key=display_width)
            assert longest[0] == "`" or "/" in longest or "sha256:" in longest, line
            assert display_width(line) - display_width(longest) <= 40, line
