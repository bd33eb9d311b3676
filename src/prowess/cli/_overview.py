"""Answer `prowess` alone on a terminal: how many skills, which agents, what each loses, and what to type next."""

from __future__ import annotations

import argparse
import os
import shlex

from prowess._internal.files import real_path, shorten_home
from prowess._internal.text import display_width, neutral
from prowess.filesystem import git_root
from prowess.find import find_repository_skills
from prowess.hosts import load_host
from prowess.visibility import compare, group_losses

from ._arguments import chosen_hosts
from ._commands import OK
from ._output import format_table, paint, pluralize, print_lines, terminal_width, truncate_or_pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.visibility import ComparedSkill, Comparison, LossGroup

_MAX_ROWS = 8
"""Agents that are listed; a terminal has 24 lines."""
_KIND_WORDS = {
    "text": "rejected",
    "field": "hidden by a field",
    "place": "in other folders",
    "name": "name taken",
    "trust": "not trusted",
    "setting": "switched off",
}
"""The kinds of losses in few words, so that three of them fit beside the counts of an agent."""


def run() -> int:
    """Print one screen about the working directory."""
    args = argparse.Namespace(all=False, host=None, cwd=None, home=None)
    hosts, note = chosen_hosts(args)
    # Outside a repository the working directory may be the home, with any number of folders.
    files = (
        [skill.path for skill in find_repository_skills(".").skills if not skill.inside]
        if git_root(real_path("."))
        else []
    )
    comparison = compare(".", hosts=hosts, files=files)
    print_lines(_format(comparison, note))
    return OK


def _format(comparison: Comparison, note: str | None) -> Iterator[str]:
    total = len(comparison.distinct)
    where = neutral(shorten_home(comparison.cwd, comparison.home))
    agents = pluralize(len(comparison.hosts), "agent")
    lost = {host: len(comparison.lost(host)) for host in comparison.hosts}
    worst = max(comparison.hosts, key=lambda host: lost[host])
    if not total:
        yield "No agent finds a skill from here."
    elif lost[worst]:
        # If all agents lose everything, none of them is the worst.
        is_alike = len(lost) > 1 and min(lost.values()) == total
        yield f"{_subject(lost[worst], total)} invisible to {f'all {agents}' if is_alike else load_host(worst).title}."
    else:
        what = "your skill" if total == 1 else f"all of your {total:,} skills"
        yield f"{agents[0].upper()}{agents[1:]} {'sees' if len(lost) == 1 else 'see'} {what}."
    counted = f"{pluralize(total, 'skill')}, {agents}, in {where}"
    yield truncate_or_pad(counted, min(display_width(counted), terminal_width()))
    if note:
        yield f"({note})"
    yield ""
    yield from _agent_lines(comparison)
    yield ""
    yield "Next:"
    commands = _next_commands(comparison)
    room = terminal_width() - 2
    # A long command is alone on its line, and moves the meanings of the others no further.
    fitting = [len(command) + 2 for command, meaning in commands if len(command) + 2 + len(meaning) <= room]
    width = max(fitting, default=0)
    for command, meaning in commands:
        if max(width, len(command) + 2) + len(meaning) > room:
            yield f"  {paint(command, 'command')}"
            yield f"      {meaning}"
        else:
            yield f"  {paint(truncate_or_pad(command, width), 'command')}{meaning}"
    yield ""
    yield "`prowess --help` lists all commands."


def _subject(lost: int, total: int) -> str:
    """Return the subject of the first line and its verb, in the words of a report."""
    if lost == total:
        return "Your skill is" if total == 1 else f"All {total:,} of your skills are"
    return f"{lost:,} of your {total:,} skills {'is' if lost == 1 else 'are'}"


def _agent_lines(comparison: Comparison) -> Iterator[str]:
    """Yield a line for each agent: how many skills it sees and loses, and why it loses most of these."""
    total = len(comparison.distinct)
    rows = [("AGENT", "SEES", "LOSES", "BECAUSE")]
    hosts = sorted(comparison.hosts, key=lambda host: -len(comparison.lost(host)))
    for host in hosts[:_MAX_ROWS]:
        lost = comparison.lost(host)
        rows.append((load_host(host).title, f"{total - len(lost):,}", f"{len(lost):,}", _reasons(comparison, host)))
    yield from format_table(rows)
    if len(hosts) > _MAX_ROWS:
        yield f"... and {len(hosts) - _MAX_ROWS} more; `prowess list` shows all"


def _reasons(comparison: Comparison, host: str) -> str:
    """Return why an agent loses skills, the most frequent reason first."""
    kinds = [loss.kind for skill in comparison.lost(host) if (loss := skill.views[host].loss) is not None]
    counted = sorted({*kinds}, key=lambda kind: (-kinds.count(kind), kind))
    return ", ".join(f"{kinds.count(kind):,} {_KIND_WORDS[kind]}" for kind in counted)


def _next_commands(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the three commands to type next, each with what it does."""
    if not comparison.distinct:
        return [
            ("prowess new my-skill", "create a skill where your agents look"),
            ("prowess inventory", "every SKILL.md below this folder, found or not"),
            ("prowess hosts", "the agents that Prowess knows, and their folders"),
        ]
    first = _largest_group(comparison)
    if first is None:
        return [
            ("prowess list", "each skill at each agent"),
            ("prowess check", "problems in these skills, and how to fix them"),
            (f"prowess show {_path(comparison)}", "one skill: its fields, files, sizes and tokens"),
        ]
    return [
        ("prowess check", "what each agent loses, and the command that fixes it"),
        ("prowess list", "each skill at each agent"),
        (f"prowess why {_argument(first.skills[0])}", "one of the lost skills, step by step"),
    ]


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
"""Characters of a name that a shell takes as they are."""


def _path(comparison: Comparison) -> str:
    """Return the path of a skill as an argument: its name would be looked for where `prowess` looks."""
    path = os.path.dirname(comparison.distinct[0].path)
    relative = os.path.relpath(path, comparison.cwd)
    return shlex.quote(neutral(path if relative.startswith(os.pardir) else relative))


def _argument(skill: ComparedSkill) -> str:
    """Return a skill's name as an argument of a command, or its path if the name would have to be quoted."""
    is_plain = bool(skill.name) and not set(skill.name) - _PLAIN and not skill.name.startswith("-")
    return skill.name if is_plain else shlex.quote(neutral(os.path.dirname(skill.path)))


def _largest_group(comparison: Comparison) -> LossGroup | None:
    return max(group_losses(comparison), key=lambda group: len(group.skills) * len(group.hosts), default=None)
