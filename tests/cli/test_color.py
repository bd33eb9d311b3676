"""Colour: when it is printed, that it says nothing of its own, and that no skill can add any."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.cli._commands import COMMANDS
from prowess.cli._output import STATUS_STYLES, choose_color, format_table, has_color, paint, print_error
from prowess.testing import STATUSES
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEQUENCE = re.compile(r"\x1b\[(?:1;31|33|36|32|1|2)m|\x1b\[0m")
"""The escape sequences that Prowess prints."""
RED = "\\x1b[31mred"
"""In a YAML text in quotes: an escape sequence."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _auto(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TERM", "xterm")
    choose_color("auto")
    yield
    choose_color("auto")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose skills try to colour the terminal in all their fields, and with their folder."""
    top = tmp_path / "project"
    skills = top / ".agents/skills"
    skill(skills / "pdf")
    skill(skills / "bad", description='""')
    folder = skills / "esc\x1b[31mfolder"
    skill(folder, f'"{RED}"', f'"{RED} [31m \x9b31m"', more=f'license: "{RED}"\nx-{RED}: 1\nallowed-tools: "{RED}"\n')
    (skills / "csv/tests").mkdir(parents=True)
    skill(skills / "csv", body="Red: \x1b[31m and \x9b31m.")
    return top


@pytest.mark.parametrize(
    ("environ", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": "0"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, True),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, False, True),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, False, True),
    ],
    ids=str,
)
def test_variables_decide_about_colour(
    environ: dict[str, str], terminal: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As no-color.org and force-color.org say; NO_COLOR wins over FORCE_COLOR, as in Python itself."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if terminal else io.StringIO()
    assert has_color(stream) is expected
    assert (paint("x", "error", stream) != "x") is expected
    for choice in ("always", "never"):
        choose_color(choice)
        assert has_color(stream) is (choice == "always")


def test_a_closed_stream_gets_no_colour() -> None:
    """A process may start without stderr."""
    assert has_color(None) is False


def test_text_without_a_style_is_not_painted() -> None:
    """An empty text gets no sequence either."""
    choose_color("always")
    assert (paint("x", None), paint("", "error")) == ("x", "")


def test_every_status_has_a_style() -> None:
    """A new one must get one."""
    assert set(STATUS_STYLES) == {*STATUSES}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And says which values it takes."""
    assert main([command, "--help"]) == 0
    assert "--color WHEN" in capsys.readouterr().out
    assert main([command, "--color", "red"]) == 2
    assert capsys.readouterr().err == ("error: `--color` cannot be 'red'\n\nhint: use one of auto, always, never\n")


def test_help_is_never_painted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Python 3.14 would do that."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    for arguments in (["--help"], ["list", "--help"]):
        assert main(arguments) == 0
        assert "\x1b" not in capsys.readouterr().out


def test_the_option_counts_for_errors_in_later_options(capsys: pytest.CaptureFixture[str]) -> None:
    """It is applied when it is read, and for one command line only."""
    assert main(["list", "--color=always", "--nothing"]) == 2
    assert capsys.readouterr().err.startswith("\x1b[1;31merror:\x1b[0m unknown option")
    assert main(["list", "--nothing"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_errors_and_hints_are_painted(capsys: pytest.CaptureFixture[str]) -> None:
    """The word, and in a hint what to type."""
    choose_color("always")
    print_error("it failed: error: again", "run `prowess list` or `prowess why`")
    assert capsys.readouterr().err == (
        "\x1b[1;31merror:\x1b[0m it failed: error: again\n\n"
        "\x1b[32mhint:\x1b[0m run \x1b[1m`prowess list`\x1b[0m or \x1b[1m`prowess why`\x1b[0m\n"
    )


def test_painted_tables_keep_their_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """Sequences take no room, and a cut cell is not painted."""
    rows = [("NAME", "STATE", "WHY"), ("pdf", "active", "it wins"), ("csv", "rejected", "no name")]
    plain = format_table(rows)
    choose_color("always")
    painted = format_table(rows, styles={1: {"active": "good", "rejected": "error"}})
    assert painted[1] == "pdf   \x1b[32mactive\x1b[0m    it wins"
    assert [SEQUENCE.sub("", line) for line in painted] == plain


COMMAND_LINES = [
    ["list"],
    ["list", "--host", "codex"],
    ["list", "--host", "prowess", "--digest"],
    ["why", "pdf"],
    ["why", "csv"],
    ["why", "\x1b[31mred"],
    ["show", "csv"],
    ["show", ".agents/skills/esc\x1b[31mfolder"],
    ["check"],
    ["check", "--host", "codex", "--host", "claude-code"],
    ["check", "--policy", "spec", "--strict"],
    ["check", "--format", "github"],
    ["check", "--format", "sarif"],
    ["check", "--json"],
    ["search", "red"],
    ["prompt"],
    ["activate", "csv"],
    ["read", "csv", "SKILL.md"],
    ["hosts"],
    ["hosts", "codex"],
    ["test"],
    ["trust", "--list"],
    ["validate", "csv"],
    ["new", "\x1b[31mred"],
    ["nothing\x1b[31m"],
]


@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_colour_says_nothing_of_its_own(
    arguments: list[str], project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the sequences that Prowess prints, the output is the same as without colour, and has no other ones."""
    monkeypatch.chdir(project)
    results = []
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv(variable, "1")
        choose_color("auto")
        code = main(arguments)
        captured = capsys.readouterr()
        results.append((code, captured.out, captured.err))
    (code, out, err), (painted_code, painted_out, painted_err) = results
    assert "\x1b" not in out + err
    assert "\x9b" not in out + err
    assert (painted_code, SEQUENCE.sub("", painted_out), SEQUENCE.sub("", painted_err)) == (code, out, err)


@pytest.mark.parametrize(
    "arguments", [["check", "--format", "github"], ["check", "--format", "sarif"], ["list", "--json"]]
)
def test_formats_for_programs_are_never_painted(
    arguments: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even with `--color always`."""
    assert main([*arguments, "--color", "always", "--cwd", str(project)]) in (0, 1)
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.slow
def test_only_a_terminal_gets_colour(project: Path) -> None:
    """Of two streams, each decides for itself."""
    command = [sys.executable, "-m", "prowess", "check", "--cwd", str(project), "--home", str(project)]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        assert process.stdout is not None
        assert b"\x1b" not in process.stdout.read()
    os.close(ours)
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        data = b""
        with suppress(OSError):  # the end of a terminal is an error
            while part := os.read(ours, 4096):
                data += part
        assert b"\x1b[0m" in data
        assert process.stderr is not None
        assert b"\x1b" not in process.stderr.read()
    os.close(ours)
