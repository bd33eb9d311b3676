"""`prowess list`: the skills of one agent, or the matrix."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess._internal.text import display_width
from prowess.cli import _output as tables, main
from prowess.hosts import host_names, raw_value
from support.project_commands import json_in, run_in
from support.skills import skill
from support.trees import write_repository
from support.unreadable_links import refuse_to_read

if TYPE_CHECKING:
    from pathlib import Path

STATES = ("active", "user-only", "deferred", "shadowed", "disabled", "untrusted", "rejected")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create four project skills: one `user-only`, one rejected by some hosts, one also a user skill."""
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    monkeypatch.setenv("PATH", "")
    top = tmp_path / "project"
    write_repository(top / ".git")
    skill(top / ".agents/skills/csv")
    skill(top / ".agents/skills/deploy", more="disable-model-invocation: true\n")
    skill(top / ".agents/skills/release", description="Use when: a release is due")
    skill(top / ".claude/skills/pdf")
    skill(tmp_path / "home/.claude/skills/pdf", description="The user's own.")
    return top


run = partial(run_in, "list")
data = partial(json_in, "list")


# ── one agent ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", host_names())
def test_states_add_up(host: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To what was found, which is as many skills as there are objects."""
    shown = data(project, "--host", host, capsys=capsys)
    counts = shown["counts"]
    assert tuple(counts) == ("found", *STATES)
    assert sum(counts[state] for state in STATES) == counts["found"] == len(shown["skills"])


# ── the matrix ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_the_matrix_of_all_agents_fits_the_terminal(
    columns: int, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In several blocks, which have all agents."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(project, "--all") == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns
    headings = [
        heading.removesuffix("*")
        for line in out.splitlines()
        if line.startswith("SKILL")
        for heading in line.split()[1:]
    ]
    assert len(headings) == len(host_names())
    assert [
        pair
        for pair in zip(headings, host_names(), strict=True)
        if pair[0] not in (pair[1], raw_value(pair[1], "short"))
    ] == []


# ── where to look ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", [".agents", ".agents/skills", ".agents/skills/pdf", "named"])
@pytest.mark.parametrize("hosts", [[], ["--host", "prowess"]])
def test_a_link_that_cannot_be_read_is_no_bug(
    place: str, hosts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `/proc/1/root`: its target exists, but only the system may know where."""
    for folder in ("target", "p/.git"):
        (tmp_path / folder).mkdir(parents=True)
    link = tmp_path / "p" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "target")
    refuse_to_read(link, monkeypatch)
    arguments = ["--skill-dir", str(tmp_path / "p/named"), "--cwd", str(tmp_path / "p"), "--home", str(tmp_path)]
    if place != "named":
        arguments = arguments[2:]
    assert main(["list", *hosts, *arguments]) == 0
    assert "bug" not in capsys.readouterr().err


# ── what does not show, does not fit, cannot be written ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_last_column_fills_the_terminal(
    width: int, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """But at least twenty cells."""
    skill(project / ".agents/skills/csv", description="word " * 60)
    monkeypatch.setattr(tables, "terminal_width", lambda *_: width)
    assert run(project, "--host", "codex") == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines[0].index("WHY")
    assert {line[:start] for line in lines} == {line[:start] for line in lines if len(line) > start}
    assert len(lines[1]) == max(width, start + 20)
    assert lines[1].endswith("…")


@pytest.mark.parametrize("columns", ["20", "60", "150"])
def test_the_width_comes_from_the_terminal(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least sixty; a hundred if stdout is not a terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    assert tables.terminal_width() == 100
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert tables.terminal_width() == max(int(columns), 60)


@pytest.mark.parametrize("columns", ["", "0", "-5", "wide", "65536", "9" * 20, "9" * 5000])
def test_an_invalid_columns_variable_is_ignored(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is 100 if the system does not know it either."""

    def unknown(_: int) -> os.terminal_size:
        raise OSError

    for size, width in ((lambda _: os.terminal_size((72, 24)), 72), (unknown, 100)):
        # Undone at once: pytest, too, asks for the width.
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", columns)
            patch.setattr(sys.stdout, "isatty", lambda: True)
            patch.setattr(os, "get_terminal_size", size)
            found = tables.terminal_width()
        assert found == width


@pytest.mark.parametrize(
    ("text", "width", "fitted"),
    [
        ("abc", 5, "abc  "),
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日… "),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)
def test_cells_are_cut_and_padded(text: str, width: int, fitted: str) -> None:
    """By what a terminal shows: wide characters take two cells, combining ones none."""
    assert tables.truncate_or_pad(text, width) == fitted
    assert display_width(fitted) == width
