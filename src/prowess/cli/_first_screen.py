"""Answer `prowess` alone: how many skills, which agents, what each sees, and what to type next."""

from __future__ import annotations

import os
import shlex

from prowess._internal.files import display_path, shorten_home
from prowess._internal.text import display_width, neutral
from prowess.catalog import catalog_for
from prowess.filesystem import git_root
from prowess.find import find_repository_skills
from prowess.hosts import DEFAULT_HOST, load_host
from prowess.visibility import (
    LOCK_INVALID,
    NOT_INSTALLED,
    Kind,
    compare,
    describe_others,
    describe_unsearched,
    find_offer,
    has_errors,
    headline,
    misnamed_files,
    mount_argument,
)

from ._losses import untrusting_note
from ._output import (
    ProgressLine,
    format_table,
    paint,
    pluralize,
    terminal_width,
    truncate_or_pad,
    wrap_for_terminal,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prowess.filesystem import Filesystem, Question
    from prowess.find import RepositorySkill
    from prowess.visibility import ComparedSkill, Comparison, Offer

    Counts = Mapping[str, Mapping[Kind, int]]
    """How many skills of each kind each agent has."""

_MAX_ROWS = 8
"""Agents that are listed; a terminal has 24 lines."""


def first_screen(question: Question, filesystem: Filesystem, hosts: Sequence[str], note: str | None) -> Iterator[str]:
    """Yield the lines of the first screen.

    Args:
        question: where the agents are started.
        filesystem: what was read so far.
        hosts: the agents.
        note: about how they were chosen.
    """
    progress = ProgressLine()
    progress.show("reading skills")  # the first count may take longer than a user waits without a sign
    own = catalog_for(question, DEFAULT_HOST, filesystem=filesystem, cache=False)
    files = [*(entry.path for entry in own.skills), *misnamed_files({DEFAULT_HOST: own})]
    found: Sequence[RepositorySkill] = ()
    # Outside a repository the working directory may be the home, with any number of folders.
    if git_root(question.cwd, filesystem=filesystem):
        found = find_repository_skills(question.cwd, progress=progress.show_folders, filesystem=filesystem).skills
    files += [skill.path for skill in found if not skill.inside]
    comparison = compare(
        question, hosts=hosts, files=files, cache=False, filesystem=filesystem, progress=progress.show_skills
    )
    progress.clear()
    yield from _format(comparison, found, note)


def _format(comparison: Comparison, found: Sequence[RepositorySkill], note: str | None) -> Iterator[str]:
    where = neutral(shorten_home(comparison.cwd, comparison.home))
    offer, more = find_offer(comparison, found), None
    if offer is not None and offer.counted is not None:
        comparison = offer.counted
        more, offer = (None, offer) if offer.is_all else (offer, None)
    total, counts = len(comparison.distinct), comparison.kinds
    yield f"{offer.sentence if offer is not None else headline(counts, total, installed=note is None)}."
    counted = f"{pluralize(total, 'skill')}, {pluralize(len(comparison.hosts), 'agent')}, in {where}"
    yield truncate_or_pad(counted, min(display_width(counted), terminal_width()))
    if comparison.unsearched:
        yield f"({describe_unsearched(comparison)})"
    if old := sum(skill.outdated is not None for skill in comparison.skills):
        copies = "1 mounted copy is" if old == 1 else f"{old:,} mounted copies are"
        yield f"({copies} older than the source; `prowess check` has the command)"
    if more is not None:
        command, what = add_command(more)
        yield from wrap_for_terminal(f"({more.sentence}; `{command}` installs {what})", "  ")
    if note:
        yield f"({note})"
    yield from _lock_lines(comparison)
    yield ""
    yield from agent_lines(counts)
    yield ""
    yield "Next:"
    commands = _next_commands(comparison, offer)
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


def _lock_lines(comparison: Comparison) -> Iterator[str]:
    """Yield which locks are invalid, and what the locks name and what is not there."""
    for item in comparison.findings:
        if item.code == LOCK_INVALID:
            path = neutral(display_path(item.path or "", comparison.cwd, comparison.home))
            yield from wrap_for_terminal(f"({path}: {neutral(item.message)}; {neutral(item.hint or '')})", "  ")
    found = [item for item in comparison.findings if item.code == NOT_INSTALLED]
    if len(found) == 1:
        yield from wrap_for_terminal(f"({neutral(found[0].message)}; {neutral(found[0].hint or '')} installs it)", "  ")
    elif found:
        text = f"({len(found):,} skills of the lock are not installed; `prowess install` installs them)"
        yield from wrap_for_terminal(text, "  ")


def agent_lines(counts: Counts) -> Iterator[str]:
    """Yield a line for each agent: how many skills its model sees, and what it is with the others."""
    seen = {host: kinds.get(Kind.SEEN, 0) for host, kinds in counts.items()}
    rows = [("AGENT", "SEES", "THE OTHERS")]
    hosts = sorted(counts, key=lambda host: seen[host])
    rows += [(load_host(host).title, f"{seen[host]:,}", describe_others(counts[host])) for host in hosts[:_MAX_ROWS]]
    yield from format_table(rows)
    if len(hosts) > _MAX_ROWS:
        yield f"... and {len(hosts) - _MAX_ROWS} more; `prowess list` shows all"
    yield from untrusting_note({host: counts[host] for host in hosts})


def _next_commands(comparison: Comparison, offer: Offer | None) -> list[tuple[str, str]]:
    """Return the three commands to type next, each with what it does."""
    if not comparison.distinct:
        if any(item.code == NOT_INSTALLED for item in comparison.findings):
            return [
                ("prowess install", "install the skills of the lock"),
                ("prowess verify", "compare what is installed with the lock"),
                ("prowess inventory", "every SKILL.md below this folder, found or not"),
            ]
        return [
            ("prowess new my-skill", "create a skill where your agents look"),
            ("prowess inventory", "every SKILL.md below this folder, found or not"),
            ("prowess add SOURCE", "install skills of others for these agents"),
        ]
    if offer is not None:
        command, what = add_command(offer)
        return [
            ("prowess inventory", "what it offers, place by place"),
            ("prowess check", "problems in these skills, and how to fix them"),
            (command, f"install {what} here, for the agents that you use"),
        ]
    lost = [skill for skill in comparison.distinct if skill.losers]
    if not lost:
        return [
            ("prowess list", "each skill at each agent"),
            ("prowess check", "problems in these skills, and how to fix them"),
            (
                f"prowess show {_path(comparison)}",
                "one skill: its fields, files, sizes and tokens",
            ),
        ]
    most = max(lost, key=lambda skill: len(skill.losers))
    return [
        ("prowess check", "what each agent loses, and the command that fixes it"),
        ("prowess list", "each skill at each agent"),
        (f"prowess why {_argument(most)}", "one of the lost skills, step by step"),
    ]


def add_command(offer: Offer) -> tuple[str, str]:
    """Return the command that installs skills of the repository, and what it installs.

    That is one with a plain name and without errors, or else all.
    """
    name = next((skill.name for skill in offer.skills if _is_plain(skill.name) and not has_errors(skill)), None)
    if name is None:
        return "prowess add .", "them"
    return f"prowess add . {name}", "one of them"


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
"""Characters of a name that a shell takes as they are."""


def _is_plain(name: str) -> bool:
    return bool(name) and not set(name) - _PLAIN and not name.startswith("-")


def _argument(skill: ComparedSkill) -> str:
    """Return a skill's name as an argument of a command, or its path if the name would have to be quoted."""
    return skill.name if _is_plain(skill.name) else shlex.quote(neutral(os.path.dirname(skill.path)))


def _path(comparison: Comparison) -> str:
    """Return the path of a skill as an argument: its name would be looked for where `prowess` looks."""
    return mount_argument(os.path.dirname(comparison.distinct[0].path), comparison.cwd)
