"""Print one screen for `prowess` alone, if possible from the cache."""

from __future__ import annotations

import argparse

from ._arguments import chosen_hosts, print_for_question, question_from_args
from ._output import Result, join_words, print_lines, terminal_width, wrap_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.filesystem import Filesystem, Question

_MAX_AGENTS = 3
"""Agents with sessions that are named."""


def run() -> int:
    """Print one screen about the working directory."""
    # The discovery options of other commands, at their defaults.
    args = argparse.Namespace(
        all=False, host=None, cwd=None, home=None, json=False, no_cache=False, skill_dir=[], role=None, client_arg=[]
    )
    hosts, note = chosen_hosts(args)

    def make(question: Question, filesystem: Filesystem) -> Result:
        from ._first_screen import first_screen

        return Result(None, first_screen(question, filesystem, hosts, note))

    question = question_from_args(args)
    code = print_for_question(args, question, f"overview {hosts} {terminal_width()}", make)
    from prowess.trajectory import agents_with_sessions

    # Beside what is kept: sessions change all the time, and the screen with them.
    if found := agents_with_sessions(question):
        from prowess.hosts import load_host

        agents = join_words([load_host(name).title for name in found[:_MAX_AGENTS]])
        more = " and others" if len(found) > _MAX_AGENTS else ""
        print_lines(wrap_for_terminal(f"`prowess usage` counts which skills {agents}{more} used.", "  "))
    return code
