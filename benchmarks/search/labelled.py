"""Read the skills and the labelled messages of this folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = ("short", "sentence", "long", "oblique")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSkill:
    """A skill to search."""

    name: str
    description: str
    body: str
    """Its headings and text, as Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledMessage:
    """A message, and the skills it needs."""

    kind: str
    text: str
    grades: dict[str, int]
    """Skill name to grade, 1 to 3."""

    @property
    def held_out(self) -> bool:
        """Whether no parameter may be chosen by this message."""
        return int(hashlib.sha256(self.text.encode()).hexdigest(), 16) % 2 == 1


def load_skills() -> tuple[LabelledSkill, ...]:
    """Return the skills of skills.txt."""
    skills = []
    for block in (HERE / "skills.txt").read_text(encoding="utf-8").strip().split("\n\n"):
        name, description, headings, *text = block.split("\n")
        lines = [f"## {heading}" for heading in headings.removeprefix("## ").split("; ")]
        skills.append(
            LabelledSkill(name=name.removeprefix("# "), description=description, body="\n\n".join([*lines, *text]))
        )
    return tuple(skills)


def load_published(folder: Path) -> tuple[LabelledSkill, ...]:
    """Return the published skills below a folder: each `SKILL.md`, of equal folder names the first.

    A name is a name of published.txt: the one in the front matter, with `_` for blanks.
    """
    from prowess.catalog import discover

    skills: dict[str, LabelledSkill] = {}
    roots = sorted({file.parent.parent for file in folder.rglob("SKILL.md")})
    for entry in discover(folder, home=HERE, skill_dirs=roots, cache=False).skills:
        body = Path(entry.real).read_text(encoding="utf-8", errors="replace").partition("\n---")[2]
        name = "_".join(entry.name.split())
        skills.setdefault(name, LabelledSkill(name=name, description=" ".join(entry.description.split()), body=body))
    return tuple(skills.values())


def load_messages(file: str = "queries.txt") -> tuple[LabelledMessage, ...]:
    """Return the messages of queries.txt, or of published.txt."""
    messages = []
    for line in (HERE / file).read_text(encoding="utf-8").splitlines():
        kind, rest = line.split(" | ", 1)
        text, labels = rest.rsplit(" | ", 1)
        pairs = (label.split(":") for label in labels.split())
        messages.append(LabelledMessage(kind=kind, text=text, grades={name: int(grade) for name, grade in pairs}))
    return tuple(messages)
