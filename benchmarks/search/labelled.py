"""Read the skills and the labelled messages of this folder."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def load_prompts(folder: Path) -> tuple[LabelledMessage, ...]:
    """Return the prompts of the evals of the published skills below a folder, each for the skill that it evaluates."""
    from prowess.evals import read_evals

    grades: dict[str, dict[str, int]] = {}
    for file in sorted(folder.rglob("SKILL.md")):
        evals = read_evals(str(file.parent))
        for case in evals.cases:
            if case.triggers and (text := " ".join(case.prompt.split())):
                grades.setdefault(text, {})["_".join(evals.name.split())] = 3
    return tuple(LabelledMessage(kind="prompt", text=text, grades=found) for text, found in grades.items())


def with_wrong_letters(messages: Sequence[LabelledMessage]) -> tuple[LabelledMessage, ...]:
    """Return messages with a wrong letter in their longest word: left out, doubled, replaced, or in the wrong place."""
    return tuple(replace(message, text=_misspell(message.text)) for message in messages)


def _misspell(text: str) -> str:
    word = max(re.findall(r"(?<![a-z])[a-z]{5,}", text), key=len, default="")
    if not word:
        return text
    number = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    at = 1 + number % (len(word) - 2)
    wrong = (
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + ("x" if word[at] != "x" else "y") + word[at + 1 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    )[number // 1000 % 4]
    return re.sub(rf"(?<![a-z]){word}(?![a-z])", wrong, text, count=1)


def load_messages(file: str = "queries.txt") -> tuple[LabelledMessage, ...]:
    """Return the messages of a file of this folder."""
    messages = []
    for line in (HERE / file).read_text(encoding="utf-8").splitlines():
        kind, rest = line.split(" | ", 1)
        text, labels = rest.rsplit(" | ", 1)
        pairs = (label.split(":") for label in labels.split())
        messages.append(LabelledMessage(kind=kind, text=text, grades={name: int(grade) for name, grade in pairs}))
    return tuple(messages)
