"""Hold a conversation on the terminal: line editing, completion, streamed answers, tool calls, a status bar."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from typing import TYPE_CHECKING, Any

from prowess._internal.installer import missing_extra
from prowess._internal.text import neutral
from prowess.cli._commands import OK
from prowess.cli._output import (
    discard_typed_input,
    note,
    paint,
    pluralize,
    print_stderr,
    print_untrusted_chunk,
    terminal_width,
    truncate_or_pad,
)
from prowess.errors import ConfigError

from ._chat_commands import CHAT_COMMANDS, mention_of, reachable_skills, run_chat_command
from ._questions import ALLOW_QUESTION, describe_call, is_yes

try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.input.typeahead import clear_typeahead
    from prompt_toolkit.patch_stdout import patch_stdout
except ImportError as error:
    raise ImportError(missing_extra("prompt_toolkit", "agent", "`prowess run -i`")) from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prowess.agent import Conversation, RoleReloader, ToolCall, Turn

_HELP = "type a message; `/NAME` uses a skill, `/help` lists the commands, Ctrl-C stops an answer, Ctrl-D exits"
_MAX_ARGUMENT_CHARS = 40
"""Characters of an argument in the line of a tool call."""


class _SlashCompleter(Completer):  # type: ignore[misc, unused-ignore]
    """Completes commands and the names of skills after a `/`."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def get_completions(self, document: Any, complete_event: Any) -> Iterator[Any]:  # noqa: ARG002
        word = document.get_word_before_cursor(WORD=True)
        if not word.startswith("/"):
            return
        if document.text_before_cursor == word:  # a command is at the beginning of a line
            for name, meaning in CHAT_COMMANDS.items():
                if name.startswith(word[1:]):
                    yield Completion(f"/{name}", start_position=-len(word), display_meta=meaning)
        for entry in reachable_skills(self._conversation):
            if entry.name.startswith(word[1:]):
                description = neutral(entry.description or "")[:80]
                yield Completion(neutral(mention_of(entry.name)), start_position=-len(word), display_meta=description)


class _StatusBar:
    """The status bar below the input line: model, tokens, active skills."""

    def __init__(self, conversation: Conversation, model: str) -> None:
        self._conversation, self._model, self.tokens = conversation, model, 0

    def __call__(self) -> str:
        session = self._conversation.session
        active = [] if session is None else [record.name for record in session.ledger]
        skills = f" · skills: {', '.join(map(neutral, active))}" if active else ""
        return f" {neutral(self._model)} · {self.tokens:,} tokens{skills} "


def chat(conversation: Conversation, reloader: RoleReloader, model: str, *, yes: bool = False) -> int:
    """Hold a conversation until the user ends it, and return the exit code.

    Args:
        conversation: the conversation, without messages.
        reloader: provides the role for each turn.
        model: the name of the model.
        yes: whether tool calls are allowed without asking.

    Raises:
        ConfigError: standard input or output is not a terminal.
    """
    if any(stream is None or not stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise ConfigError("`-i` needs a terminal", hint="send one prompt with `-p`, or one per line with `--daemon`")
    return asyncio.run(_chat_loop(conversation, reloader, model, yes))


async def _chat_loop(conversation: Conversation, reloader: RoleReloader, model: str, yes: bool) -> int:
    status = _StatusBar(conversation, model)
    lines: PromptSession[str] = PromptSession(completer=_SlashCompleter(conversation), bottom_toolbar=status)
    if not yes:
        conversation.confirm = _confirm_call
    print_stderr(f"{neutral(conversation.assembly.role.name)}: {_HELP}")
    printed_notes: set[str] = set()
    while True:
        try:
            with patch_stdout(raw=True):
                prompt = await lines.prompt_async("> ")
        except EOFError:
            return OK
        except KeyboardInterrupt:
            continue
        if not prompt.strip():
            continue
        conversation.update_assembly(reloader.current())
        action = run_chat_command(prompt, conversation)
        if action == "exit":
            return OK
        if action == "ask":
            continue
        turn = await _ask_interruptibly(conversation, prompt)
        if turn is None:
            print_stderr("\nstopped")
            continue
        sys.stdout.write("\n")
        status.tokens += turn.usage.get("total_tokens", 0)
        for text in turn.notes:
            if text not in printed_notes:
                print_stderr(note(text))
        printed_notes.update(turn.notes)
        if turn.error is not None:
            print_stderr(f"error: {neutral(turn.error)}")


class _AnswerPrinter:
    """Prints an answer as it arrives, and a line for each tool call that has ended."""

    def __init__(self) -> None:
        self._in_line = False

    def print_text(self, text: str) -> None:
        print_untrusted_chunk(text)
        self._in_line = not text.endswith("\n")

    def print_call(self, call: ToolCall) -> None:
        if self._in_line:
            print_untrusted_chunk("\n")
            self._in_line = False
        line = truncate_or_pad(_describe_ended_call(call), terminal_width()).rstrip()
        print_stderr(paint(line, "dim", sys.stderr))


def _describe_ended_call(call: ToolCall) -> str:
    """Return the line about a tool call: its name, the beginning of each argument, and its result or error."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {"": call.arguments}
    shown = ", ".join(f"{name}={_shorten(value)}" if name else _shorten(value) for name, value in arguments.items())
    outcome = f"error: {call.error}" if call.error else pluralize(len(call.result or ""), "character")
    return neutral(f"  {call.tool}({shown}): {outcome}")


def _shorten(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_ARGUMENT_CHARS else f"{text[:_MAX_ARGUMENT_CHARS]}…"


async def _ask_interruptibly(conversation: Conversation, prompt: str) -> Turn | None:
    """Return the turn for a prompt, or `None` if the user stopped it with Ctrl-C."""
    answer = _AnswerPrinter()
    task = asyncio.create_task(conversation.ask(prompt, on_text=answer.print_text, on_call=answer.print_call))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        from prowess.sandbox import stop

        stop()
        return None
    finally:
        loop.remove_signal_handler(signal.SIGINT)


async def _confirm_call(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Ask on the terminal whether a tool call is allowed."""
    question = PromptSession[str]()
    clear_typeahead(question.input)
    discard_typed_input()
    print_stderr(f"\n{describe_call(tool, arguments)}")
    try:
        answer = await question.prompt_async(f"{ALLOW_QUESTION} ")
    except (EOFError, KeyboardInterrupt):
        return False
    return is_yes(answer)
