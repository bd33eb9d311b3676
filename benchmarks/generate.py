"""Generate a project with any number of skills of realistic size.

    python benchmarks/generate.py DIR N [--seed S]

The sizes follow published collections: SKILL.md of 1.5 to 61 KB, median 9, 90th percentile 25; descriptions of about
330 characters; 30 % with scripts, 35 % with references, 30 % with nested metadata. Sizes and shares are exact for any
number of skills; the seed decides which skill gets which. Every random choice comes from `Random.random()`, whose
sequence Python promises to keep, so the same seed gives the same bytes.

All skills are valid under the specification and use only what every peer accepts, so that no reader stops early or
reports more than another: no `allowed-tools` (agno requires a list, the specification a string), and only strings in
`metadata`.

The skills are in `DIR/.agents/skills`, or another folder of the project for agents that do not read this one.
`DIR/.agent/skills` is a link to it for openskills, which looks nowhere else. An empty `DIR/.git` marks the root of the
project.
"""

from __future__ import annotations

import argparse
import math
import sys
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

SKILLS = ".agents/skills"
LINKS = {".agent/skills": SKILLS}
"""More skills folders, and the folders of the project they link to."""

SIZES = ((0.0, 1_500), (0.1, 3_300), (0.5, 9_000), (0.9, 25_000), (1.0, 61_000))
"""Share of the skills, and the size in bytes that their SKILL.md stays below; logarithmic in between."""
DESCRIPTION = (150, 510)
"""Shortest and longest description in characters, evenly distributed."""
SCRIPTS, REFERENCES, METADATA = 0.30, 0.35, 0.30

VERBS = "audit build chart check clean compare convert debug deploy draft explain extract fill fix format".split()
VERBS += "generate index inspect lint measure merge migrate monitor plan profile publish refactor release".split()
VERBS += "render review schedule search split summarize sync test trace translate validate write".split()
NOUNS = "api archive budget calendar changelog cluster commit config contract csv dashboard dataset".split()
NOUNS += "dependency diagram email form image incident invoice issue json kernel latex log meeting metric".split()
NOUNS += "model notebook package pdf pipeline prompt query report schema script slide sql table ticket".split()
NOUNS += "token video wiki".split()
KINDS = "advisor assistant basics checklist expert flow guide helper notes rules steps toolkit".split()
FILLER_WORDS = (
    "the a each every this one with from into before after when where only never first last same other next".split()
)
FILLER_WORDS += (
    "file folder line value field result output input error warning user team reviewer version branch page".split()
)
FILLER_WORDS += (
    "read write open keep drop move copy compare count list name mark explain repeat stop ask confirm show".split()
)
FILLER_WORDS += (
    "short long empty missing broken valid exact plain shared local remote recent stable public own several".split()
)


class StableRandom(Random):
    """A random generator whose numbers are the same on every Python."""

    def pick(self, values: Sequence[T]) -> T:
        """Return one of the values."""
        return values[int(self.random() * len(values))]

    def number_between(self, low: int, high: int) -> int:
        """Return a number from low to high, both included."""
        return low + int(self.random() * (high - low + 1))

    def shuffled(self, values: Sequence[T]) -> list[T]:
        """Return the values in a random order."""
        keys = [self.random() for _ in values]
        return [values[index] for index in sorted(range(len(values)), key=keys.__getitem__)]

    def share_of(self, number: int, share: float) -> list[bool]:
        """Return booleans in a random order, of which a share is true."""
        return self.shuffled([index < round(number * share) for index in range(number)])


def skill_size_at(share: float) -> int:
    """Return the size in bytes that this share of all SKILL.md files stays below."""
    for (left, low), (right, high) in pairwise(SIZES):
        if share <= right:
            part = (share - left) / (right - left)
            return round(math.exp(math.log(low) + part * (math.log(high) - math.log(low))))
    return SIZES[-1][1]


class SkillWriter:
    """Write the text of skills, from paragraphs that are made once and used again."""

    def __init__(self, seed: int) -> None:
        self.dice = StableRandom(seed)
        self.sentences = [self.sentence() for _ in range(400)]
        self.paragraphs = [" ".join(self.dice.pick(self.sentences) for _ in range(4)) + "\n" for _ in range(300)]
        self.paragraphs += ["".join(f"- {self.dice.pick(self.sentences)}\n" for _ in range(5)) for _ in range(100)]
        self.paragraphs += [f"```python\n{self.code(8)}```\n" for _ in range(60)]
        self.paragraphs += [
            f"| field | meaning |\n|---|---|\n{''.join(self.row() for _ in range(4))}" for _ in range(20)
        ]
        self.paragraphs += ["## Über Grenzen hinweg — naïve cases, 数据 and “quotes”\n"]

    def sentence(self) -> str:
        """Return a sentence of random words."""
        dice = self.dice
        words = [dice.pick(FILLER_WORDS if dice.random() < 0.7 else NOUNS) for _ in range(dice.number_between(7, 18))]
        return " ".join(words).capitalize() + "."

    def row(self) -> str:
        """Return a row of a table."""
        return f"| `{self.dice.pick(NOUNS)}` | {self.dice.pick(self.sentences)} |\n"

    def code(self, lines: int) -> str:
        """Return lines of Python."""
        names = [self.dice.pick(NOUNS) for _ in range(lines)]
        return "".join(f"{name} = load({name!r}, retries={len(name)})\n" for name in names)

    def text(self, size: int) -> str:
        """Return Markdown of a size in bytes."""
        parts: list[str] = []
        length = 0
        while length < size:
            heading = self.dice.random() < 0.2
            part = f"## {self.dice.pick(self.sentences)[:-1]}\n" if heading else self.dice.pick(self.paragraphs)
            parts.append(part)
            length += len(part.encode()) + 1
        data = "\n".join(parts).encode()[: size - 1]
        return data.decode(errors="ignore").ljust(size - 1, ".")[: size - 1] + "\n"

    def description(self) -> str:
        """Return a description of the usual length, at times with a colon or a dash that is not ASCII."""
        dice = self.dice
        size = dice.number_between(*DESCRIPTION)
        text = ""
        while len(text) < size:
            text += dice.pick(self.sentences) + " "
        text = text[: size - 1].rstrip(" .") + "."
        kind = dice.random()
        if kind < 0.1:
            text = text.replace(" the ", " — the ", 1)
        elif kind < 0.25:
            text = text.replace(". ", ". Use when: ", 1)
        return text

    def front_matter(self, name: str, *, metadata: bool) -> str:
        """Return the front matter of a skill."""
        dice = self.dice
        description = self.description()
        form = dice.random()
        if form < 0.08:
            words = description.split(" ")
            lines = [" ".join(words[at : at + 14]) for at in range(0, len(words), 14)]
            written = ">-\n  " + "\n  ".join(lines)
        elif ": " in description or form < 0.2:
            written = f'"{description}"'
        else:
            written = description
        lines = [f"name: {name}", f"description: {written}"]
        if dice.random() < 0.3:
            lines.append(f"license: {dice.pick(('MIT', 'Apache-2.0', 'Proprietary. LICENSE.txt has complete terms'))}")
        if dice.random() < 0.1:
            lines.append(f"compatibility: Needs {dice.pick(NOUNS)} and network access")
        if metadata:
            version = f"{dice.number_between(0, 3)}.{dice.number_between(0, 9)}"
            lines += ["metadata:", f"  author: {dice.pick(NOUNS)}-team", f'  version: "{version}"']
            lines += [f"  category: {dice.pick(NOUNS)}"] * (dice.random() < 0.5)
        return "\n".join(("---", *lines, "---", "", ""))

    def names(self, number: int) -> list[str]:
        """Return unique names for skills."""
        combinations = [f"{verb}-{noun}-{kind}" for verb in VERBS for noun in NOUNS for kind in KINDS]
        rounds = -(-number // len(combinations))
        return [
            name if not turn else f"{name}-{turn}"
            for turn in range(rounds)
            for name in self.dice.shuffled(combinations)
        ][:number]


def generate(folder: Path, number: int, seed: int = 0, where: str = SKILLS) -> None:
    """Write a project with skills.

    Args:
        folder: the project; created if missing.
        number: the number of skills.
        seed: the seed of all random choices.
        where: the folder of the skills in the project.

    Raises:
        FileExistsError: the project has skills already.
    """
    writer = SkillWriter(seed)
    dice = writer.dice
    skills = folder / where
    skills.mkdir(parents=True)
    (folder / ".git").mkdir()
    for link, target in LINKS.items():
        if target == where:
            (folder / link).parent.mkdir(parents=True)
            (folder / link).symlink_to(f"../{target}", target_is_directory=True)
    sizes = dice.shuffled([skill_size_at((index + 0.5) / number) for index in range(number)])
    shares = [dice.share_of(number, share) for share in (SCRIPTS, REFERENCES, METADATA)]
    for name, size, scripts, references, metadata in zip(writer.names(number), sizes, *shares, strict=True):
        skill = skills / name
        skill.mkdir()
        head = writer.front_matter(name, metadata=metadata)
        head += f"# {name.replace('-', ' ').capitalize()}\n\n"
        (skill / "SKILL.md").write_bytes((head + writer.text(max(2, size - len(head.encode())))).encode()[:size])
        if scripts:
            (skill / "scripts").mkdir()
            for index in range(dice.number_between(1, 3)):
                (skill / f"scripts/step_{index}.py").write_bytes(writer.code(dice.number_between(20, 80)).encode())
        if references:
            (skill / "references").mkdir()
            for index in range(dice.number_between(1, 4)):
                (skill / f"references/part-{index}.md").write_bytes(
                    writer.text(dice.number_between(1_000, 9_000)).encode()
                )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write a project with generated skills.", allow_abbrev=False)
    parser.add_argument("folder", metavar="DIR", type=Path, help="the project; must not have skills yet")
    parser.add_argument("number", metavar="N", type=int, help="number of skills")
    parser.add_argument(
        "--seed", metavar="S", type=int, default=0, help="seed; another one gives other skills (default: 0)"
    )
    arguments = parser.parse_args()
    if arguments.number < 1:
        parser.error("N must be 1 or more")
    try:
        generate(arguments.folder, arguments.number, arguments.seed)
    except FileExistsError:
        sys.exit(f"`{arguments.folder}` has skills already\n\nhint: remove it, or name another folder")


if __name__ == "__main__":
    main()
