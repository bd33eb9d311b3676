"""Print one screen for `prowess` alone, if possible from the cache."""

from __future__ import annotations

import argparse

from ._arguments import chosen_hosts, print_for_question, question_from_args
from ._output import Result, terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.filesystem import Filesystem, Question


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

    return print_for_question(args, question_from_args(args), f"overview {hosts} {terminal_width()}", make)
