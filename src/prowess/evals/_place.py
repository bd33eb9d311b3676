"""Say where one run takes place, and what is known of it afterwards."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

PREFIX = "prowess-eval-"
SKILLS = ".agents/skills"
"""Where an agent finds the skills of its arm by default, in the folder in which it starts."""


class Place:
    """A fresh folder to work in, and a home beside it; both are removed at the end."""

    work: str
    home: str
    folders: tuple[str, ...]
    """All in which the agent may write: also one for temporary files, and that of `trajectory`."""
    trajectory: str
    """The path at which an agent may write what it did, in ATIF: outside of its folder and its home."""
    name: str = ""
    skill: str = ""
    """The name and the folder, absolute, of the skill that is evaluated."""
    has_skill: bool = True
    """Whether the arm has it."""

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory(PREFIX, temporary_directory_root(contained=False))
        names, top = ("work", "home", "tmp", "steps"), real_path(self._folder.path)
        self.folders = tuple(os.path.join(top, name) for name in names)
        self.work, self.home, _, steps = self.folders
        # Agents look for skills and instructions above their folder as far as its repository goes: only to here.
        for path in (*self.folders, os.path.join(top, ".git")):
            os.mkdir(path, 0o700)
        self.trajectory = os.path.join(steps, "trajectory.json")
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.close()


class Ran(Frozen):
    """What an agent did in one run; what is not known is `None`."""

    failure: str = ""
    """Why the run failed: it is no result then, and no failed case."""
    answer: bytes = b""
    """Its beginning, if it is long."""
    errors: bytes = b""
    """What a program wrote to stderr."""
    is_cut: bool = False
    """Whether `answer` or `errors` is only the beginning."""
    steps: tuple[Mapping[str, Any], ...] | None = None
    """The steps of ATIF 1.7, without the prompt."""
    offered: bool | None = None
    """Whether the model was shown that there is the skill."""
    used: bool | None = None
    """Whether the model loaded the skill."""
    tokens: int | None = None
    """That the model read and wrote, together."""
    cost: float | None = None
    """In US dollars."""
    seconds: float = 0.0
    """That it took."""
