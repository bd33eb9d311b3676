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


def load_messages() -> tuple[LabelledMessage, ...]:
    """Return the messages of queries.txt."""
    messages = []
    for line in (HERE / "queries.txt").read_text(encoding="utf-8").splitlines():
        kind, rest = line.split(" | ", 1)
        text, labels = rest.rsplit(" | ", 1)
        pairs = (label.split(":") for label in labels.split())
        messages.append(LabelledMessage(kind=kind, text=text, grades={name: int(grade) for name, grade in pairs}))
    return tuple(messages)
