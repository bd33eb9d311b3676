"""Run the commands of a conversation on the terminal: `/help`, `/skills`, `/exit` and `/quit`.

A command is a line of its own. Any other line that begins with `/` and the name of a skill is a message that mentions
the skill, as in all sessions. A skill that is called like a command is mentioned as `$help`, or with text after it.
"""

from __future__ import annotations

import re

from prowess._internal.text import did_you_mean, quoted
from prowess.catalog import REACHABLE
from prowess.cli._output import Message, format_table, pluralize, print_error, print_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.agent import Conversation
    from prowess.catalog import Entry

CHAT_COMMANDS = {
    "help": "show what you can type",
    "skills": "list the skills, and which of them this conversation uses",
    "exit": "end the conversation; `/quit` and Ctrl-D do the same",
    "quit": "end the conversation",
}
"""The commands and what they do. A line that is `/` and one of these is never sent to the model."""

_SEND_HINT = "To send the line as it is, begin it with a blank"
_SLASH_WORD = re.compile(r"/(\w[\w.:@-]*)(?=\s|$)")
"""What could be a command at the beginning of a line; the path `/usr/bin` could not."""


def run_chat_command(line: str, conversation: Conversation) -> str:
    """Run a line if it is a command, and return what to do next: `send` it to the model, `exit`, or `ask` for another.

    Args:
        line: as typed.
        conversation: the conversation, whose skills can be mentioned.
    """
    match = _SLASH_WORD.match(line)
    if match is None:
        return "send"
    word, is_whole_line = match[1], not line[match.end() :].strip()
    if word in CHAT_COMMANDS and is_whole_line:
        return _run(word, conversation)
    session = conversation.session
    if session is not None and any(mention.start == 0 and mention.entry for mention in session.mentions(line)):
        return "send"
    if word in CHAT_COMMANDS:
        print_error(f"`/{word}` takes no text after it", _SEND_HINT)
        return "ask"
    names = [f"/{name}" for name in CHAT_COMMANDS]
    names += [mention_of(entry.name) for entry in reachable_skills(conversation)]
    hint = did_you_mean(f"/{word}", names, "`/help` shows what you can type.")
    print_error(f"no command or skill is called {quoted(word)}", f"{hint} {_SEND_HINT}")
    return "ask"


def reachable_skills(conversation: Conversation) -> Iterator[Entry]:
    """Yield the discovered skills that a message can mention."""
    if conversation.session is not None:
        yield from (entry for entry in conversation.session.catalog.skills if entry.state in REACHABLE)


def mention_of(name: str) -> str:
    """Return what to type to mention a skill."""
    return f"${name}" if name in CHAT_COMMANDS else f"/{name}"


def _run(word: str, conversation: Conversation) -> str:
    if word in ("exit", "quit"):
        return "exit"
    print_lines(_skills(conversation) if word == "skills" else _help(conversation))
    return "ask"


def _help(conversation: Conversation) -> Iterator[str]:
    for name, meaning in CHAT_COMMANDS.items():
        yield f"  /{name:<8}{meaning}"
    yield "  /NAME    use the skill NAME for this message; so do $NAME and @NAME"
    yield "  Ctrl-C stops an answer, Ctrl-D ends the conversation"
    for entry in reachable_skills(conversation):
        if entry.name in CHAT_COMMANDS:
            yield f"  the skill {quoted(entry.name)} is called like a command: type {mention_of(entry.name)}"


def _skills(conversation: Conversation) -> Iterator[str]:
    """Yield the skills of the role and those that can be mentioned; those in use are marked."""
    session = conversation.session
    active = set() if session is None else {record.path for record in session.ledger}
    rows = [(skill.name, "always", "named by the role") for skill in conversation.assembly.explicit]
    for entry in reachable_skills(conversation):
        in_use = "yes" if entry.path in active else ""
        rows.append((mention_of(entry.name), in_use, " ".join((entry.description or "").split())))
    if rows:
        yield from format_table([("SKILL", "IN USE", "DESCRIPTION"), *rows], styles={1: {"yes": "good"}})
    used = sum(bool(row[1]) for row in rows)
    yield Message(f"{pluralize(len(rows), 'skill')}, {used} in use" if rows else "the role has no skills")
