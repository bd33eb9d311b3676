"""Ask Prowess and other engines which skill a message needs, and write the figures into docs/search.md.

python benchmarks/search/run.py            all messages; writes the table
python benchmarks/search/run.py --tuning   only the messages that parameters may be chosen by; writes nothing
python benchmarks/search/run.py --published DIR
                                           the messages of published.txt, over the skills that their authors published
"""

from __future__ import annotations

import argparse
import sys
from math import log2
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from engines import ENGINES, Prowess, shortened_block, stuffed_skills
from labelled import KINDS, load_messages, load_published, load_skills

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engines import Engine
    from labelled import LabelledMessage, LabelledSkill

SHOWN = 10
PAGE = Path(__file__).resolve().parents[2] / "docs/search.md"
END = "<!-- end of figures -->\n"


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


def block_share(engine: Engine, skills: Mapping[str, LabelledSkill], messages: Sequence[LabelledMessage]) -> float:
    """Return for how many messages, in percent, a right skill is in a block of 4,000 characters."""
    blocks = (
        engine.block(message.text) if isinstance(engine, Prowess) else shortened_block(engine(message.text), skills)
        for message in messages
    )
    return 100 * mean(
        any(message.grades.get(name) == max(message.grades.values()) for name in block)
        for message, block in zip(messages, blocks, strict=True)
    )


def rows(
    names: Sequence[str],
    skills: Sequence[LabelledSkill],
    messages: Sequence[LabelledMessage],
    *,
    tuning_only: bool,
) -> list[list[str]]:
    """Return the table: an engine a line."""
    parts = {
        "tuning part": [message for message in messages if not message.held_out],
        "held-out part": [message for message in messages if message.held_out],
    } | {kind: [message for message in messages if message.kind == kind] for kind in KINDS}
    if tuning_only:
        parts = {"tuning part": parts["tuning part"]}
        messages = parts["tuning part"]
    by_name = {skill.name: skill for skill in skills}
    columns = [f"{part} ({len(part_messages)})" for part, part_messages in parts.items()]
    table = [["", *columns, "in the block", "stuffed first"]]
    for name in names:
        try:
            engine, stuffed = ENGINES[name](skills), ENGINES[name]([*skills, *stuffed_skills(skills)])
        except ImportError as error:
            print(f"left out: {name}: {error}", file=sys.stderr)
            continue
        figures = [judge(engine, part) for part in parts.values()]
        won = sum(bool(found) and found[0].startswith("universal-") for found in (stuffed(m.text) for m in messages))
        share = block_share(engine, by_name, messages)
        table.append([name, *(f"{hit:.1f} / {ndcg:.1f}" for hit, ndcg in figures), f"{share:.1f}", str(won)])
        print(" | ".join(table[-1]), file=sys.stderr)
    return table


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
    parser.add_argument("--tuning", action="store_true", help="judge by the tuning part only, and write nothing")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="only this one (repeatable)")
    parser.add_argument("--published", metavar="DIR", type=Path, help="search the published skills in this folder")
    arguments = parser.parse_args()
    if arguments.published:
        title, skills, messages = "published", load_published(arguments.published), load_messages("published.txt")
    else:
        title, skills, messages = "make search", load_skills(), load_messages()
    table = rows(arguments.engine or list(ENGINES), skills, messages, tuning_only=arguments.tuning)
    if not arguments.tuning and not arguments.engine:
        write_page(table, title)


if __name__ == "__main__":
    main()
