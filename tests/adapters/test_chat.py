"""`prowess run -i` on a pseudo-terminal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.openai_server import SLOW, ModelServer
from support.role_folder import RoleFolder, Terminal
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

ASKS = "tools:\n- type: filesystem\n  read_only: false\n  require_confirmation: true\n"
CTRL_C, CTRL_D = "\x03", "\x04"


class Chat:
    """Chats with a role on a terminal, one after the other."""

    def __init__(self, top: Path) -> None:
        self.top, self.folder = top, RoleFolder(top)
        self._terminals: list[Terminal] = []

    def start(self, *steps: Any, model: str | None = None, options: Sequence[str] = ()) -> None:
        script = self.folder.write_script(*steps)
        self._terminals.append(Terminal(self.folder, "-i", "--model", model or script, *options))
        self.read_until(" 0 tokens")

    def type(self, text: str) -> None:
        self._terminals[-1].type(text)

    def read_until(self, words: str) -> str:
        return self._terminals[-1].read_until(words)

    def wait(self) -> int:
        return self._terminals[-1].wait()

    def end(self) -> int:
        """End the chat with Ctrl-D, and return its exit code."""
        self.type(CTRL_D)
        return self.wait()

    def close(self) -> None:
        for terminal in self._terminals:
            terminal.close()


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    made = Chat(tmp_path.resolve())
    yield made
    made.close()


def test_skill_names_are_completed_and_active_skills_are_shown(chat: Chat) -> None:
    """InitRunner: `run role.yaml -i`; tokens and skills in the status line, and Ctrl-D ends it well."""
    skill(chat.top / "skills/tides")
    chat.start({"call": "activate_skill", "with": {"name": "tides"}}, {"say": "It is high."}, {"say": "Low."})
    chat.type("/ti")
    chat.read_until("/tides  Does tides.")
    chat.type("\t")
    chat.read_until("/tides")
    chat.type(" now?\r")
    assert "It is high." in chat.read_until("tokens · skills: tides")
    chat.type("And then?\r")
    assert "Low." in chat.read_until("tokens · skills: tides")
    assert chat.end() == 0


def test_ctrl_c_ends_an_answer_and_not_the_chat(chat: Chat) -> None:
    """The request to the server is cancelled, and the next prompt is answered."""
    with ModelServer(SLOW, "Calm.") as server:
        chat.start(model=server.model)
        chat.type("How is the sea?\r")
        chat.read_until("word word")
        chat.type(CTRL_C)
        chat.read_until("stopped")
        chat.read_until(" 0 tokens")
        chat.type("Again?\r")
        chat.read_until("Calm.")
        chat.read_until(" 110 tokens")
        assert chat.end() == 0
        assert server.client_disconnected.wait(5)


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False)])
def test_the_user_confirms_a_call(chat: Chat, answer: str, written: bool) -> None:
    """The question shows the tool and its arguments."""
    chat.folder.write_role(ASKS)
    chat.start({"call": "write_file", "with": {"path": "new.txt", "content": "x"}}, {"say": "Done."})
    chat.type("Write it.\r")
    assert 'the model wants to call `write_file` with {"path": "new.txt", "content": "x"}' in chat.read_until(
        "allow it? [y/N]"
    )
    chat.type(f"{answer}\r")
    chat.read_until("Done.")
    chat.read_until("tokens")
    assert chat.end() == 0
    assert (chat.top / "new.txt").exists() is written


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("", False)])
def test_what_was_typed_before_a_call_is_confirmed_is_no_answer(chat: Chat, answer: str, written: bool) -> None:
    """Keys that came with the message are kept by prompt_toolkit for the next line."""
    chat.folder.write_role(ASKS)
    chat.start({"call": "write_file", "with": {"path": "new.txt", "content": "x"}}, {"say": "Done."})
    chat.type("Write it.\ry\ry")
    chat.read_until("allow it? [y/N]")
    chat.type(f"{answer}\r")
    chat.read_until("Done.")
    chat.read_until("tokens")
    assert chat.end() == 0
    assert (chat.top / "new.txt").exists() is written


def test_the_chat_goes_on_after_an_error(chat: Chat) -> None:
    """It shows the error, and which tools are not offered."""
    tools = "tools:\n- type: filesystem\n  root_path: ../..\n"
    skill(chat.top / "skills/tides", more=tools)
    with ModelServer([("activate_skill", {"name": "tides"})], 401, "Calm.") as server:
        chat.start(model=server.model)
        chat.type("How is the sea?\r")
        text = chat.read_until("error: ")
        assert "note: a tool of `tides` is not offered: `tools[0]`: `root_path`" in text
        chat.read_until("tokens")
        chat.type("Again?\r")
        text = chat.read_until("Calm.")
        text += chat.read_until("tokens")
        assert "note: " not in text
        assert chat.end() == 0


def test_commands_are_run_and_not_sent(chat: Chat) -> None:
    """`/help`, `/skills`, an unknown one and `/exit`; the model is never asked."""
    skill(chat.top / "skills/tides")
    with ModelServer("Calm.") as server:
        chat.start(model=server.model)
        chat.type("/help\r")
        assert "/skills" in chat.read_until("Ctrl-D ends the conversation")
        chat.read_until(" 0 tokens")
        chat.type("/skills\r")
        assert "/tides" in chat.read_until("1 skill, 0 in use")
        chat.read_until(" 0 tokens")
        chat.type("/hlep\r")
        chat.read_until("did you mean `/help`?")
        chat.read_until(" 0 tokens")
        chat.type("/exit\r")
        assert chat.wait() == 0
        assert server.requests == []


def test_a_skill_is_in_use_after_it_was_mentioned(chat: Chat) -> None:
    """`/NAME` mentions a skill; `/skills` then shows that it is in use."""
    skill(chat.top / "skills/tides")
    chat.start({"say": "It is high."})
    chat.type("/tides now?\r")
    assert "It is high." in chat.read_until("tokens · skills: tides")
    chat.type("/skills\r")
    assert re.search(r"/tides\s+yes", chat.read_until("1 skill, 1 in use"))
    chat.read_until("tokens · skills: tides")
    assert chat.end() == 0


def test_tool_calls_are_shown_as_they_happen(chat: Chat) -> None:
    """One line each: short arguments, and the size of the result or the error. None of it can touch the terminal."""
    chat.folder.write_role("tools:\n- type: filesystem\n  read_only: true\n")
    (chat.top / "notes.txt").write_text("x" * 1234)
    long = "y" * 500 + ".txt"
    chat.start(
        {"call": "read_file", "with": {"path": "notes.txt"}},
        {"call": "read_file", "with": {"path": "no\x1b]0;title\x07\n/../red.txt"}},
        {"call": "read_file", "with": {"path": long}},
        {"say": "Done."},
    )
    chat.type("Read them.\r")
    text = chat.read_until("Done.").replace("\r", "")
    assert re.search(r'^  read_file\(path="notes.txt"\): 1,2\d\d characters$', text, re.MULTILINE)
    assert re.search(r"^  read_file\(path=\"no\\u001b\]0;title\\u0007\\n/../red.txt\"\): error: ", text, re.MULTILINE)
    assert "y" * 60 not in text.split("Read them.")[-1].split("Done.")[0].split("error:")[0]
    assert "\x07" not in text
    chat.read_until("tokens")
    assert chat.end() == 0


@pytest.mark.slow
def test_a_stored_conversation_goes_on_in_the_next_chat(chat: Chat) -> None:
    """With its active skills, after an answer that was stopped, too."""
    options = ["--store", "sqlite:///chats.db", "--conversation", "trip"]
    skill(chat.top / "skills/tides")
    activate = {"call": "activate_skill", "with": {"name": "tides"}}
    with ModelServer(SLOW) as server:
        chat.start(activate, {"say": "First."}, options=options)
        chat.type("hi\r")
        chat.read_until("First.")
        chat.read_until("skills: tides")
        assert chat.end() == 0
        chat.start(model=server.model, options=options)
        chat.type("stop this\r")
        chat.read_until("word word")
        chat.type(CTRL_C)
        chat.read_until("stopped")
        chat.read_until(" 0 tokens")
        assert chat.end() == 0
    chat.start(activate, {"say": "First."}, {"say": "Second."}, options=options)
    chat.type("again\r")
    chat.read_until("Second.")
    chat.read_until("skills: tides")
    assert chat.end() == 0
