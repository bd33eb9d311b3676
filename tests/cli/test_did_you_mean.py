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

LONG = "a-name-of-sixty-four-characters-which-is-the-longest-one-allowed"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with skills, a case and a role, and a home in which one of them is mounted and one trusted."""
    top = tmp_path / "project"
    for name in ("release-notes", "csv-profile", LONG):
        skill(top / ".agents/skills" / name)
    (top / ".agents/skills/release-notes/report.md").write_text("Report.")
    cases = top / ".agents/skills/release-notes/tests/cases"
    cases.mkdir(parents=True)
    (cases / "first.yaml").write_text('name: first\ninput: {command: "true"}\nexpected: {exit-code: 0}\n')
    (top / "role.yaml").write_text("name: helper\nprompt: Hi.\nmodel: openai:gpt-4o\n")
    (top / "home").mkdir()
    monkeypatch.chdir(top)
    return top


UNKNOWN_NAMES = [
    (["chekc"], "prowess check"),
    (["LIST"], "prowess list"),
    (["--verison"], "prowess --version"),
    (["help", "chekc"], "prowess check"),
    (["why", "release-note"], "release-notes"),
    (["why", "Release_Nots"], "release-notes"),
    (["why", LONG[:-1]], LONG),
    (["why", "csvprofile", "--host", "codex"], "csv-profile"),
    (["show", "csv_profile"], "csv-profile"),
    (["activate", "release-note"], "release-notes"),
    (["read", "csv-profil", "report.md"], "csv-profile"),
    (["read", "release-notes", "reprot.md"], "report.md"),
    (["search", "realesenotes"], "release-notes"),
    (["test", "release-note"], "release-notes"),
    (["test", "release-notes", "--case", "frist"], "first"),
    (["test", "release-notes", "--sandbox", "bwarp"], "bwrap"),
    (["trust", "csv-profil"], "csv-profile"),
    (["trust", "--remove", "csv-profil"], "csv-profile"),
    (["mount", "csv-profil", "--to", "home"], "csv-profile"),
    (["mount", "--remove", "csv-profil", "--to", "home"], "csv-profile"),
    (["exec", "--skill", "csv-profil", "--", "true"], "csv-profile"),
    (["run", "role.yaml", "--sandbox", "bwarp", "-p", "Hi."], "bwrap"),
    (["prompt", "--level", "csv-profil=pin"], "csv-profile"),
    (["prompt", "--level", "csv-profile=pni"], "pin"),
    (["hosts", "codx"], "codex"),
    (["completion", "bsh"], "bash"),
]


@pytest.mark.parametrize(("arguments", "name"), UNKNOWN_NAMES, ids=lambda value: " ".join(value)[:40])
def test_a_misspelt_name_gets_a_suggestion(
    arguments: list[str], name: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is complete, so that it can be typed."""
    assert main(["trust", "csv-profile", "--yes"]) == 0
    assert main(["mount", "csv-profile", "--to", "home"]) == 0
    capsys.readouterr()
    assert main(arguments) == {"search": 0, "read": 2 if name != "report.md" else 1}.get(arguments[0], 2)
    assert f"\n\nhint: did you mean `{name}`" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["why", "zzzzzzzzzz"], ["zzzzzzzzzz"], ["hosts", "zzzzzzzzzz"]], ids=" ".join)
@pytest.mark.usefixtures("project")
def test_a_name_like_no_other_gets_none(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The hint says how to list the names."""
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert "did you mean" not in err
    assert "hint: " in err


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
