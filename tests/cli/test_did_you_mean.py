"""Every message about an unknown name suggests the most similar one that exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess._internal.text import did_you_mean, nearest_names
from prowess.cli import main
from prowess.cli._commands import COMMANDS
from prowess.cli._parser import command_parser
from support.skills import skill

if TYPE_CHECKING:
    from argparse import Action
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to a project with a skill; `cases/cli/unknown-names.md` has the misspelt names of skills and commands."""
    skill(tmp_path / "project/.agents/skills/csv-profile")
    monkeypatch.chdir(tmp_path / "project")


def actions(*commands: str) -> Iterator[tuple[str, Action]]:
    """Yield the options and arguments of some commands, by default all."""
    for command in commands or COMMANDS:
        for action in command_parser(command)._actions:
            yield command, action


OPTIONS = [
    (command, max(action.option_strings, key=len))
    for command, action in actions()
    if action.nargs != 0 and len(max(action.option_strings, key=len, default="")) > len("--to")
]
CHOICES = [
    (command, max(action.option_strings, key=len), str(choice))
    for command, action in actions()
    for choice in action.choices or ()
    if action.option_strings and len(str(choice)) > 3
]
HOSTS = [command for command, action in actions() if action.dest == "host" and command != "exec"]


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids="".join)
def test_a_misspelt_option_gets_a_suggestion(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of each command."""
    misspelt = option[:-2] + option[-1] + option[-2] + "x"
    needed = [
        argument
        for _, action in actions(command)
        if (action.required if action.option_strings else action.nargs in (None, "+"))
        for argument in [*action.option_strings[:1], *([*action.choices][:1] if action.choices else ["x"])]
    ]
    groups = command_parser(command)._mutually_exclusive_groups
    one_of = [
        argument for group in groups if group.required for argument in (group._group_actions[0].option_strings[0], "x")
    ]
    assert main([command, *needed, *one_of, misspelt]) == 2
    assert f"error: unknown option `{misspelt}`\n\nhint: did you mean `{option}`?" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "option", "choice"), CHOICES, ids=" ".join)
def test_a_misspelt_value_gets_a_suggestion(
    command: str, option: str, choice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each option that takes some words."""
    assert main([command, option, choice[:-1]]) == 2
    assert capsys.readouterr().err == (
        f"error: `{option}` cannot be '{choice[:-1]}'\n\nhint: did you mean `{choice}`?\n"
    )


@pytest.mark.parametrize("command", HOSTS)
@pytest.mark.usefixtures("project")
def test_a_misspelt_agent_gets_a_suggestion(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In each command with `--host`."""
    argument = {
        "list": [],
        "prompt": [],
        "init": [],
        "check": [],
        "inventory": [],
        "usage": [],
        "report": ["-o", "report.html"],
        "read": ["csv-profile", "report.md"],
        "mount": ["csv-profile", "--to", "home"],
        "mcp": ["serve"],
        "add": ["./x"],
        "new": ["x-ray"],
    }.get(command, ["csv-profile"])
    assert main([command, *argument, "--host", "claude-cod"]) == 2
    assert capsys.readouterr().err.endswith("hint: did you mean `claude-code`?\n")


def test_a_suggestion_shows_no_control_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It may be the name of any skill."""
    skill(tmp_path / ".agents/skills/red", '"red-\\x1b[31m-name"')
    assert main(["why", "red-[31m-name", "--host", "prowess", "--cwd", str(tmp_path)]) == 2
    assert "hint: did you mean `red-\\x1b[31m-name`?" in capsys.readouterr().err


def test_case_does_not_count() -> None:
    """The suggestion has the case of the name that exists."""
    assert nearest_names("CODEX", ["codex", "Copilot"]) == ["codex"]
    assert did_you_mean("coplot", ["codex", "Copilot"], "") == "did you mean `Copilot`?"
