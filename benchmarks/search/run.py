"""Ask Prowess and other engines which skill a message needs, and write the figures into docs/search.md.

python benchmarks/search/run.py            the skills of this folder; writes the first table
python benchmarks/search/run.py --published DIR
                                           the skills that their authors published; writes the second table
python benchmarks/search/run.py --nvidia DIR
                                           the skills of NVIDIA, with the prompts of their evals; writes the third table
python benchmarks/search/run.py --tuning   only the messages that parameters may be chosen by; writes nothing
"""

from __future__ import annotations

import argparse
import sys
from math import log2
from pathlib import Path
from random import Random
from statistics import mean
from typing import TYPE_CHECKING

from engines import ENGINES, Prowess, shortened_block, stuffed_skills
from labelled import KINDS, load_messages, load_prompts, load_published, load_skills, with_wrong_letters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engines import Engine
    from labelled import LabelledMessage, LabelledSkill

SHOWN = 10
BLOCKS = (4_000, 16_000)
PAGE = Path(__file__).resolve().parents[2] / "docs/search.md"
END = "<!-- end of figures -->\n"
_SAMPLES = 1_000


def hit_at_1(message: LabelledMessage, names: Sequence[str]) -> float:
    """Return 1 if the first result has the best grade, else 0."""
    return float(bool(names) and message.grades.get(names[0]) == max(message.grades.values()))


def ndcg_at_10(message: LabelledMessage, names: Sequence[str]) -> float:
    """Return the gain of the results, discounted by their place, as a share of the best possible."""

    def gain(grades: Sequence[int]) -> float:
        return sum((2**grade - 1) / log2(place + 2) for place, grade in enumerate(grades[:SHOWN]))

    found = gain([message.grades.get(name, 0) for name in names])
    return found / gain(sorted(message.grades.values(), reverse=True))


def judge(engine: Engine, messages: Sequence[LabelledMessage]) -> tuple[float, float]:
    """Return Hit@1 and NDCG@10 in percent."""
    results = [(message, engine(message.text)) for message in messages]
    return (
        100 * mean(hit_at_1(message, names) for message, names in results),
        100 * mean(ndcg_at_10(message, names) for message, names in results),
    )


def with_interval(values: Sequence[float]) -> str:
    """Return the mean of some shares in percent, and half the width of its 95 % interval, by drawing messages anew."""
    draw = Random(0)  # noqa: S311 - the same figures each time
    means = sorted(mean(draw.choices(values, k=len(values))) for _ in range(_SAMPLES))
    width = means[int(0.975 * _SAMPLES)] - means[int(0.025 * _SAMPLES)]
    return f"{100 * mean(values):.1f} ± {50 * width:.1f}"


def quality(engine: Engine, messages: Sequence[LabelledMessage]) -> str:
    """Return Hit@1 and NDCG@10 with their intervals."""
    results = [(message, engine(message.text)) for message in messages]
    return " / ".join(
        with_interval([measure(message, names) for message, names in results]) for measure in (hit_at_1, ndcg_at_10)
    )


def block_share(
    engine: Engine, skills: Mapping[str, LabelledSkill], messages: Sequence[LabelledMessage], budget: int
) -> str:
    """Return for how many messages a right skill is in a block of so many characters."""
    blocks = (
        engine.block(message.text, budget)
        if isinstance(engine, Prowess)
        else shortened_block(engine(message.text), skills, budget)
        for message in messages
    )
    return with_interval(
        [
            float(any(message.grades.get(name) == max(message.grades.values()) for name in block))
            for message, block in zip(messages, blocks, strict=True)
        ]
    )


def in_parts(name: str, messages: Sequence[LabelledMessage]) -> dict[str, Sequence[LabelledMessage]]:
    """Return the two parts of some messages."""
    return {
        f"{name}, tuning part": [message for message in messages if not message.held_out],
        f"{name}, held-out part": [message for message in messages if message.held_out],
    }


def own_sets() -> dict[str, Sequence[LabelledMessage]]:
    """Return the messages for the skills of this folder."""
    messages = load_messages()
    return {
        **in_parts("messages", messages),
        **in_parts("written from bodies", load_messages("from_bodies.txt")),
        **{kind: [message for message in messages if message.kind == kind] for kind in KINDS},
        "a wrong letter": with_wrong_letters(messages),
        "other languages": load_messages("languages.txt"),
    }


def published_sets() -> dict[str, Sequence[LabelledMessage]]:
    """Return the messages for published skills."""
    messages = load_messages("published.txt")
    return {
        **in_parts("messages", messages),
        **in_parts("written from bodies", load_messages("published_bodies.txt")),
        **{kind: [message for message in messages if message.kind == kind] for kind in KINDS},
    }


def table_of(
    names: Sequence[str],
    skills: Sequence[LabelledSkill],
    sets: Mapping[str, Sequence[LabelledMessage]],
    stuffed: Sequence[LabelledSkill] = (),
) -> list[list[str]]:
    """Return the table: a set of messages a line, an engine a column."""
    asked = [message for name, messages in sets.items() if "part" in name for message in messages]
    by_name = {skill.name: skill for skill in skills}
    titles = [f"{name} ({len(messages)})" for name, messages in sets.items()]
    titles += [f"in a block of {budget:,} characters ({len(asked)})" for budget in BLOCKS]
    columns = {"": [*titles, *(["stuffed skill first"] if stuffed else [])]}
    for name in names:
        try:
            engine = ENGINES[name](skills)
        except ImportError as error:
            print(f"left out: {name}: {error}", file=sys.stderr)
            continue
        column = [quality(engine, messages) for messages in sets.values()]
        column += [block_share(engine, by_name, asked, budget) for budget in BLOCKS]
        if stuffed:
            crowded = ENGINES[name]([*skills, *stuffed])
            first = [(crowded(message.text) or [""])[0] for message in asked]
            column.append(str(sum(found.startswith("universal-") for found in first)))
        columns[name] = column
        print(name, *column, sep=" | ", file=sys.stderr)
    return [[*columns], *map(list, zip(*columns.values(), strict=True))]


def write_page(table: list[list[str]], title: str) -> None:
    """Replace a table in docs/search.md."""
    table.insert(1, ["---"] * len(table[0]))
    text = "".join(f"| {' | '.join(line)} |\n" for line in table)
    begin = f"<!-- figures: {title} -->\n"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    PAGE.write_text(f"{before}{begin}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuning", action="store_true", help="judge by the tuning parts only, and write nothing")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="only this one (repeatable)")
    parser.add_argument("--published", metavar="DIR", type=Path, help="search the published skills in this folder")
    parser.add_argument("--nvidia", metavar="DIR", type=Path, help="search the skills in this clone of NVIDIA/skills")
    arguments = parser.parse_args()
    stuffed: Sequence[LabelledSkill] = ()
    if arguments.published:
        title, skills, sets = "published", load_published(arguments.published), published_sets()
    elif arguments.nvidia:
        title, skills = "nvidia", load_published(arguments.nvidia)
        sets = in_parts("prompts", load_prompts(arguments.nvidia))
    else:
        title, skills, sets = "make search", load_skills(), own_sets()
        stuffed = stuffed_skills(skills)
    if arguments.tuning:
        sets = {name: [item for item in messages if not item.held_out] for name, messages in sets.items()}
        sets = {name: messages for name, messages in sets.items() if messages}
    table = table_of(arguments.engine or list(ENGINES), skills, sets, stuffed)
    if not arguments.tuning and not arguments.engine:
        write_page(table, title)


if __name__ == "__main__":
    main()
