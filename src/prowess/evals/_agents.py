"""Run an agent once: what it is asked, where it works, and what is known of the run afterwards.

An agent is anything with the attributes and the method of `Agent`. `Command` is a program of the user's.
"""

from __future__ import annotations

import os
from math import inf
from pathlib import Path

from prowess._internal.files import MAX_SKILL_FILES
from prowess._internal.text import neutral
from prowess.sandbox import Limits, run

from ._place import SKILLS, Ran
from ._steps import with_trajectory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from ._place import Place

    class Agent(Protocol):
        """What runs the cases."""

        name: str
        """As in the manifest of a record."""
        version: str
        """Of the agent or the model; empty if it is unknown."""
        skills: str
        """Where it looks for skills, relative to its folder."""
        host: str
        """By whose rules it finds them."""
        arguments: tuple[str, ...]
        """With which it is started, as far as they change what it finds."""

        says_steps: bool
        """Whether it says what it did, so that cases run that show only whether the skill is chosen."""
        says_cost: bool
        """Whether it may say what a run costs."""

        def run(self, place: Place, prompt: str, number: int, seconds: float, cost: float = inf) -> Ran:
            """Run it on a prompt; whatever goes wrong is the failure of the run.

            Args:
                place: its folder, with the files of the case and the skill of the arm, and its home.
                prompt: of the case.
                number: of the pair, from 0.
                seconds: after which it must have ended, with all its processes.
                cost: US dollars; a run that costs more must end then.
            """
else:
    Agent = object  # the package exports it

TRAJECTORY = "PROWESS_RUN_TRAJECTORY"
"""The variable with the path of the file in which a program may write what it did, in ATIF."""
MOST_REASON = 500
"""Characters of a failure."""
RUN_SECONDS = 600.0
MOST_RUN_BYTES = 1024 * 1024 * 1024
MOST_RUN_FILES = MAX_SKILL_FILES - 1
"""Files and folders of a run, in its folder and in its home: all of them are listed to be graded."""


class Command:
    """A program that gets a prompt on its standard input and answers on its standard output.

    Args:
        command: for `/bin/sh -c`.
    """

    version = ""
    skills, host = SKILLS, "prowess"
    arguments: tuple[str, ...] = ()
    says_cost = True

    def __init__(self, command: str) -> None:
        self.name = command
        self.says_steps = TRAJECTORY in command

    def run(self, place: Place, prompt: str, number: int, seconds: float, cost: float = inf) -> Ran:  # noqa: ARG002 - it is said afterwards
        """Run the program; an exit status other than 0 is a failed run."""
        env = {"PROWESS_RUN_SEED": str(number), TRAJECTORY: place.trajectory}
        return with_trajectory(run_program(["/bin/sh", "-c", self.name], place, prompt, seconds, env), place)


def run_program(argv: list[str], place: Place, prompt: str, seconds: float, env: Mapping[str, str]) -> Ran:
    """Run a program in the folder of a run until it ends; no process of it is left then.

    Args:
        argv: the program and its arguments.
        place: of the run.
        prompt: for its standard input.
        seconds: that it may take; never more than ten minutes.
        env: variables, beside `PATH` of this process and `HOME`.
    """
    result = run(
        [Path(argv[0]), *argv[1:]],
        cwd=Path(place.work),
        stdin=prompt.encode(),
        sandbox="none",
        trusted=True,
        scratch=Path(place.home),
        # git must not find a repository that this folder is in by chance.
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CEILING_DIRECTORIES": os.path.dirname(place.work),
            **env,
        },
        writable=[*map(Path, place.folders)],
        limits=Limits(
            timeout=min(seconds, RUN_SECONDS),
            memory=None,
            folder_size=MOST_RUN_BYTES,
            folder_files=MOST_RUN_FILES,
        ),
    )
    failure = ""
    if result.out_of_space:
        failure = "it wrote too many files, or too large ones"
    elif result.timed_out or result.exit_code:
        lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
        ended = "it took too long" if result.timed_out else f"it ended with {result.exit_code}"
        failure = neutral(lines[-1])[:MOST_REASON] if lines else ended
    return Ran(
        failure=failure,
        answer=result.stdout,
        errors=result.stderr,
        is_cut=result.stdout_size > len(result.stdout) or result.stderr_size > len(result.stderr),
        seconds=result.duration,
    )
