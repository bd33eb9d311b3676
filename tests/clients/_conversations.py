"""The conversations that are recorded with each client: what the user says, and what the scripted model does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.files import write_files

if TYPE_CHECKING:
    from pathlib import Path

Step = tuple[str, ...]
"""`use SKILL`, `unknown SKILL`, `read SKILL FILE`, `run SKILL SCRIPT EXIT`, `print`, `agent WORD`.

The last starts a sub-agent, whose steps are those of the turn with this word.
"""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What the user says in one start of the client, and what the model does then."""

    word: str
    """Is in what the user says, so that the model knows its steps."""
    steps: tuple[Step, ...] = ()
    invokes: str = ""
    """The skill that the user invokes with it."""
    goes_on: str = ""
    """`resumed` or `forked`, from the turn before; otherwise a new session begins."""
    of_agent: bool = False
    """Whether a sub-agent does it; the client is not started for it."""
    says: str = "Look at it."

    @property
    def words(self) -> str:
        """Return what the user says."""
        return f"{self.says} [{self.word}]"


CONVERSATIONS: dict[str, tuple[Turn, ...]] = {
    "model": (
        Turn(
            word="model",
            steps=(
                ("use", "tide-tables"),
                ("read", "tide-tables", "references/bergen.md"),
                ("run", "tide-tables", "scripts/high.sh", "0"),
                ("run", "tide-tables", "scripts/low.sh", "3"),
            ),
        ),
    ),
    "user": (Turn(word="user", invokes="knots", steps=(("read", "knots", "bowline.md"),)),),
    "copies": (Turn(word="copies", steps=(("use", "flags"),)),),
    "unknown": (Turn(word="unknown", steps=(("unknown", "no-such-skill"),)),),
    "deleted": (Turn(word="deleted", steps=(("use", "moon"),)),),
    "resumed": (
        Turn(word="before", steps=(("use", "knots"),)),
        Turn(
            word="after",
            goes_on="resumed",
            steps=(("use", "tide-tables"), ("run", "tide-tables", "scripts/high.sh", "0")),
        ),
    ),
    "forked": (
        Turn(word="trunk", steps=(("use", "knots"),)),
        Turn(word="fork", goes_on="forked", steps=(("use", "tide-tables"),)),
    ),
    "sub-agent": (
        Turn(word="agent", steps=(("agent", "task"),)),
        Turn(word="task", of_agent=True, steps=(("use", "tide-tables"), ("run", "tide-tables", "scripts/low.sh", "3"))),
    ),
    # The words of all records so far are in the result of a tool, and some are in what the user says.
    "words": (
        Turn(
            word="words",
            says="<command-name>/knots</command-name> and `Base directory for this skill: /home/ada/notes` are words.",
            steps=(("print",),),
        ),
    ),
}
"""By name. `deleted` is about a skill that is deleted when all of them are over."""


def describe(name: str) -> str:
    """Return the description of a skill."""
    return f"Knows {name.replace('-', ' ')}. Use when they are asked for."


@dataclass(frozen=True, kw_only=True)
class World:
    """The home and the project in which the conversations take place."""

    home: Path
    user: str
    """The user's folder of skills, below the home."""
    project: str
    """The folder of skills of the project, below the project."""

    @property
    def cwd(self) -> Path:
        """Return the project."""
        return self.home / "notes"

    @property
    def copies(self) -> dict[str, Path]:
        """Return the folder of each copy of a skill, by a text in its body."""
        places = {"user": self.home / self.user, "project": self.cwd / self.project}
        return {
            f"This is {name} of the {scope}.": places[scope] / name
            for scope, names in (("user", ("tide-tables", "flags", "moon")), ("project", ("knots", "flags")))
            for name in names
        }

    def folder(self, name: str) -> Path:
        """Return the folder of a skill; the first of two copies."""
        return next(folder for folder in self.copies.values() if folder.name == name)

    def write(self) -> None:
        """Write the skills with their files."""
        for text, folder in self.copies.items():
            head = f"---\nname: {folder.name}\ndescription: {describe(folder.name)}\n---\n"
            write_files(folder, {"SKILL.md": f"{head}\n{text}\n"})
        write_files(
            self.folder("tide-tables"),
            {
                "references/bergen.md": "High water at 09:40.\n",
                "scripts/high.sh": "echo 'high water at 09:40'\n",
                "scripts/low.sh": "echo 'there is no low water' >&2\nexit 3\n",
            },
        )
        write_files(self.folder("knots"), {"bowline.md": "The bowline holds.\n"})


RESULTS = {
    "references/bergen.md": "High water at 09:40.",
    "bowline.md": "The bowline holds.",
    "scripts/high.sh": "high water at 09:40",
    "scripts/low.sh": "there is no low water",
}
"""What the model must have got when a file was read or run."""
