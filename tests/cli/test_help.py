"""Help pages: the same everywhere, and the same in docs/help.md."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from prowess.cli import main
from prowess.cli._commands import COMMANDS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_help_page_is_up_to_date() -> None:
    """docs/help.md is what the commands print."""
    page = runpy.run_path(str(DOCS / "generate.py"))["help_page"]()
    assert (DOCS / "help.md").read_text(encoding="utf-8") == page, "run make docs"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_through_a_pipe_does_not_depend_on_the_terminal(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A narrow terminal gets the same lines as a wide one, none longer than 100 characters."""
    pages = []
    for width in ("40", "300"):
        monkeypatch.setenv("COLUMNS", width)
        assert main([command, "--help"]) == 0
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1]
    assert max(map(len, pages[0].splitlines())) <= 120


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the same characters but for blanks and line ends."""
    assert main([command, "--help"]) == 0
    whole = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main([command, "--help"]) == 0
    fitted = capsys.readouterr().out
    assert max(map(len, fitted.splitlines())) <= 80
    assert "".join(fitted.split()) == "".join(whole.split())


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"]])
def test_help_names_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """In groups, and first those to begin with; no line is wider than a terminal."""
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert all(out.count(f"\n  {command} ") == 1 for command in COMMANDS if command not in ("check", "add"))
    heads = ["begin with", "see", "check", "use", "share", "build", "maintain", "less often"]
    assert [line[:-1] for line in out.splitlines() if line.endswith(":")] == heads
    assert max(map(len, out.splitlines())) <= 80


def test_help_of_a_command_has_two_spellings(capsys: pytest.CaptureFixture[str]) -> None:
    """`prowess help check` is `prowess check --help`."""
    main(["help", "check"])
    first = capsys.readouterr().out
    main(["check", "--help"])
    assert capsys.readouterr().out == first


def test_help_as_a_process() -> None:
    """Help goes to stdout and ends with 0."""
    command = [sys.executable, "-m", "prowess", "check", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "20"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: prowess check [-h]")
