"""The commands of `prowess run -i`; `tests/adapters/test_chat.py` types them into a terminal."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from prowess import Session, discover
from prowess.cli.agents._chat_commands import CHAT_COMMANDS, run_chat_command
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def conversation(tmp_path: Path) -> Any:
    """A conversation whose role names one skill and finds four, two of them called like commands."""
    for name in ("tides", "help", "exit"):
        skill(tmp_path / ".agents/skills" / name)
    skill(tmp_path / ".agents/skills/deploy", more="disable-model-invocation: true\n")
    skill(tmp_path / ".agents/skills/red", '"red\\x1b[31m"', '"\\x1b[31mred\\nline"')
    session = Session(discover(tmp_path, home=tmp_path / "home"))
    return SimpleNamespace(session=session, assembly=SimpleNamespace(explicit=(SimpleNamespace(name="own"),)))


@pytest.mark.parametrize(
    "line",
    [
        "Hello",
        "/tides",
        "/tides now?",
        "/deploy",
        "/help me",
        "/exit the building",
        " /help",
        "  /nothing",
        "/usr/bin/env is a path",
        "what does /help do?",
        "$help",
        "/",
        "/ help",
        "//help",
        "/-x",
    ],
)
def test_messages_are_sent(line: str, conversation: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A skill that is called like a command is reached with text after it, or with another sign."""
    assert run_chat_command(line, conversation) == "send"
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("line", ["/exit", "/quit", "/exit  ", "/quit\t"])
def test_the_conversation_is_ended(line: str, conversation: Any) -> None:
    """Also if a skill is called `exit`."""
    assert run_chat_command(line, conversation) == "exit"


def test_help_lists_commands_and_how_to_reach_skills_of_their_names(
    conversation: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command has a line."""
    assert run_chat_command("/help", conversation) == "ask"
    out = capsys.readouterr().out
    assert all(f"\n  /{name}" in f"\n{out}" for name in CHAT_COMMANDS)
    assert "the skill `help` is called like a command: type $help" in out
    assert "the skill `exit` is called like a command: type $exit" in out


def test_a_skill_called_like_a_command_is_mentioned_with_a_dollar_sign(conversation: Any) -> None:
    """What `/help` says is true."""
    for name in ("help", "exit"):
        for line in (f"${name}", f"/{name} now", f" /{name}", f"use the {name} skill"):
            assert run_chat_command(line, conversation) == "send"
            (mention,) = conversation.session.mentions(line)
            assert mention.entry.name == name


def test_skills_are_listed_with_those_in_use(conversation: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that the role names are always in use; what a skill says cannot touch the terminal."""
    conversation.session.activate("tides")
    assert run_chat_command("/skills", conversation) == "ask"
    out, err = capsys.readouterr()
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert rows["own"] == ["always", "named", "by", "the", "role"]
    assert rows["/tides"][:3] == ["yes", "Does", "tides."]
    assert rows["/deploy"][:2] == ["Does", "deploy."]
    assert {"$help", "$exit"} <= {*rows}
    assert "\x1b" not in out
    assert err == "6 skills, 2 in use\n"


def test_a_role_without_skills(capsys: pytest.CaptureFixture[str]) -> None:
    """It says so, and commands still work."""
    conversation: Any = SimpleNamespace(session=None, assembly=SimpleNamespace(explicit=()))
    assert run_chat_command("/skills", conversation) == "ask"
    assert capsys.readouterr() == ("", "the role has no skills\n")
    assert run_chat_command("/help", conversation) == "ask"
    assert run_chat_command("/nothing", conversation) == "ask"
    assert run_chat_command("hello", conversation) == "send"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/hlep", "no command or skill is called `hlep`\n\nhint: did you mean `/help`?"),
        ("/tide now?", "no command or skill is called `tide`\n\nhint: did you mean `/tides`?"),
        ("/exti", "no command or skill is called `exti`\n\nhint: did you mean `/exit`?"),
        ("/zzzzzzzzz", "no command or skill is called `zzzzzzzzz`\n\nhint: `/help` shows what you can type."),
        ("/skills please", "`/skills` takes no text after it\n\nhint:"),
    ],
)
def test_an_unknown_command_is_not_sent(
    line: str, message: str, conversation: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """It gets a suggestion, and the way to send the line all the same."""
    assert run_chat_command(line, conversation) == "ask"
    assert capsys.readouterr() == (
        "",
        f"error: {message} To send the line as it is, begin it with a blank\n",
    )
