"""Find the files in which agents record their sessions, without reading them."""

from __future__ import annotations

import os
import stat

from prowess._internal.file_status import describe_file_type, ownership_problem
from prowess._internal.files import is_inside, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import describe_os_error
from prowess._internal.variable_paths import variable_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from prowess.filesystem import Question

_PLACES: dict[str, tuple[str, tuple[str, ...]]] = {
    "claude-code": ("$CLAUDE_CONFIG_DIR/projects|~/.claude/projects", ("*/*.jsonl", "*/*/subagents/*.jsonl")),
    "codex": ("$CODEX_HOME/sessions|~/.codex/sessions", ("*/*/*/rollout-*.jsonl",)),
    "copilot": ("$COPILOT_HOME/session-state|~/.copilot/session-state", ("*/events.jsonl",)),
    "gemini-cli": (
        "$GEMINI_CLI_HOME/.gemini/tmp|~/.gemini/tmp",
        ("*/chats/session-*.jsonl", "*/chats/session-*.json", "*/chats/*/*.jsonl"),
    ),
    "opencode": ("$XDG_DATA_HOME/opencode|~/.local/share/opencode", ("opencode.db",)),
    "pi": ("$PI_CODING_AGENT_DIR/sessions|~/.pi/agent/sessions", ("*/*.jsonl",)),
    "qwen-code": ("$QWEN_HOME/projects|~/.qwen/projects", ("*/chats/*.jsonl", "*/subagents/*/*.jsonl")),
}
"""Each agent with the folder of its sessions, and the patterns of the files there."""
AGENTS = tuple(_PLACES)
"""The agents whose sessions are read: the names of hosts, and with `_` of modules of this package."""


class Unreadable(Frozen):
    """A file that could not be read, or not all of it."""

    path: str
    reason: str


class UnreadableSessionError(Exception):
    """A file cannot be read; the text says why."""


def check_status(path: str, status: os.stat_result) -> None:
    """Check that a file may be read: a regular one, of this user or root.

    Raises:
        UnreadableSessionError: it may not.
    """
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableSessionError(f"it is {describe_file_type(status.st_mode)}")
    if ownership_problem(path, status, also=(0,)) == "owner":
        raise UnreadableSessionError("it belongs to another user")


def agents_with_sessions(question: Question) -> list[str]:
    """Return the agents that have recorded a session, without reading one."""
    return [agent for agent in AGENTS if next(session_files(agent, question, []), None)]


def session_files(agent: str, question: Question, unreadable: list[Unreadable]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files of an agent's sessions with their status; what cannot be read is added to `unreadable`."""
    path, patterns = _PLACES[agent]
    top = variable_path(path, question.variables, question.home)
    if os.path.isdir(top):
        yield from _walk(real_path(top), top, "", patterns, unreadable)


def _matches(name: str, pattern: str) -> bool:
    """Return whether a name has the beginning and the end of a pattern with at most one `*`."""
    start, star, end = pattern.partition("*")
    return name.startswith(start) and name.endswith(end) if star else name == pattern


def _walk(
    real: str, top: str, inner: str, patterns: Collection[str], unreadable: list[Unreadable]
) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files below a folder whose paths match one of the patterns, which have as many parts as the path."""
    folder = os.path.join(top, inner) if inner else top
    depth = inner.count(os.sep) + 1 if inner else 0
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        unreadable.append(Unreadable(path=folder, reason=describe_os_error(error)))
        return
    for entry in found:
        place = os.path.join(inner, entry.name)
        parts = [pattern.split("/") for pattern in patterns]
        left = [pattern for pattern in parts if len(pattern) > depth and _matches(entry.name, pattern[depth])]
        if not left:
            continue
        is_file = any(len(pattern) == depth + 1 for pattern in left)
        try:
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                if not is_inside(real_path(entry.path), real):
                    reason = "it is a link out of the folder of sessions"
                    unreadable.append(Unreadable(path=entry.path, reason=reason))
                continue  # what is in the folder is found in its own place
            if stat.S_ISDIR(status.st_mode):
                yield from _walk(real, top, place, patterns, unreadable) if len(left) > is_file else ()
                continue
            if is_file:
                check_status(entry.path, status)
                yield entry.path, status
        except (OSError, UnreadableSessionError) as error:
            reason = describe_os_error(error) if isinstance(error, OSError) else str(error)
            unreadable.append(Unreadable(path=entry.path, reason=reason))
