"""a conversation + a terminal -> a talk: line editing, completion of skills, answers as they come, a status line

`/NAME` names a skill, as in any message; Ctrl-C ends an answer, Ctrl-D the talk.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from typing import TYPE_CHECKING, Any

from prowess._internal.text import neutral, quoted
from prowess.adapters import missing_extra
from prowess.catalog import State
from prowess.cli._options import print_stderr, print_untrusted_chunk
from prowess.errors import ConfigError

try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.patch_stdout import patch_stdout
except ImportError as error:
    raise ImportError(missing_extra("prompt_toolkit", "agent")) from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prowess.agent.conversation import Conversation, Turn
    from prowess.agent.reload import RoleReloader

__all__ = ["chat"]

_SELECTABLE_STATES = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)
_HELP = "type what you want to say; `/NAME` names a skill, Ctrl-C ends an answer, Ctrl-D the talk"


class _SkillCompleter(Completer):  # type: ignore[misc, unused-ignore]
    """Completes `/NAME` at the beginning of a word."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def get_completions(self, document: Any, complete_event: Any) -> Iterator[Any]:  # noqa: ARG002
        word = document.get_word_before_cursor(WORD=True)
        session = self._conversation.session
        if not word.startswith("/") or session is None:
            return
        for entry in session.catalog.skills:
            if entry.state in _SELECTABLE_STATES and entry.name.startswith(word[1:]):
                words = neutral(entry.description or "")[:80]
                yield Completion(f"/{neutral(entry.name)}", start_position=-len(word), display_meta=words)


class _StatusBar:
    """What stands below the line that is typed."""

    def __init__(self, conversation: Conversation, model: str) -> None:
        self._conversation, self._model, self.tokens = conversation, model, 0

    def __call__(self) -> str:
        session = self._conversation.session
        active = [] if session is None else [record.name for record in session.ledger]
        skills = f" · skills: {', '.join(map(neutral, active))}" if active else ""
        return f" {neutral(self._model)} · {self.tokens:,} tokens{skills} "


def chat(conversation: Conversation, reloader: RoleReloader, model: str, *, yes: bool = False) -> int:
    """Talk until the user has enough, and return the exit code.

    Args:
        conversation: to begin with.
        reloader: what each turn takes the role from.
        model: what it is called.
        yes: whether nobody is asked before a call.

    Raises:
        ConfigError: there is no terminal.
    """
    if any(stream is None or not stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise ConfigError("`-i` needs a terminal", hint="say one thing with `-p`, or lines with `--daemon`")
    return asyncio.run(_chat_loop(conversation, reloader, model, yes))


async def _chat_loop(conversation: Conversation, reloader: RoleReloader, model: str, yes: bool) -> int:
    status = _StatusBar(conversation, model)
    lines: PromptSession[str] = PromptSession(completer=_SkillCompleter(conversation), bottom_toolbar=status)
    if not yes:
        conversation.confirm = _confirm_call
    print_stderr(f"{neutral(conversation.assembly.role.name)}: {_HELP}")
    told: set[str] = set()
    while True:
        try:
            with patch_stdout(raw=True):
                said = await lines.prompt_async("> ")
        except EOFError:
            return 0
        except KeyboardInterrupt:
            continue
        if not said.strip():
            continue
        conversation.update_assembly(reloader.current())
        turn = await _ask_interruptibly(conversation, said)
        if turn is None:
            print_stderr("\nended")
            continue
        sys.stdout.write("\n")
        status.tokens += turn.usage.get("total_tokens", 0)
        for note in turn.notes:
            if note not in told:
                print_stderr(f"note: {neutral(note)}")
        told.update(turn.notes)
        if turn.error is not None:
            print_stderr(f"error: {neutral(turn.error)}")


async def _ask_interruptibly(conversation: Conversation, said: str) -> Turn | None:
    """Return what came of what was said; None where the user ended it."""
    task = asyncio.create_task(conversation.ask(said, on_text=print_untrusted_chunk))
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
    """Ask on the terminal before a call."""
    print_stderr(f"\n{quoted(tool)} wants to be called with {neutral(json.dumps(dict(arguments), ensure_ascii=False))}")
    try:
        answer = await PromptSession[str]().prompt_async("allow it? [y/N] ")
    except (EOFError, KeyboardInterrupt):
        return False
    return answer.strip().lower() in ("y", "yes")
