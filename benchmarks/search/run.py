"""Ask Prowess and other engines which skill a message needs, and write the figures into docs/search.md.

python benchmarks/search/run.py            all messages; writes the table
python benchmarks/search/run.py --tuning   only the messages that parameters may be chosen by; writes nothing
"""

from __future__ import annotations

import argparse
import sys
from math import log2
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from engines import ENGINES, SHOWN, stuffed_skills
from labelled import KINDS, LabelledMessage, load_messages, load_skills

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines import Engine

PAGE = Path(__file__).resolve().parents[2] / "docs/search.md"
BEGIN, END = "<!-- figures: make search -->\n", "<!-- end of figures -->\n"


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


def rows(names: Sequence[str], *, tuning_only: bool) -> list[list[str]]:
    """Return the table: an engine a line."""
    skills, messages = load_skills(), load_messages()
    parts = {
        "tuning part": [message for message in messages if not message.held_out],
        "held-out part": [message for message in messages if message.held_out],
    } | {kind: [message for message in messages if message.kind == kind] for kind in KINDS}
    if tuning_only:
        parts = {"tuning part": parts["tuning part"]}
    table = [["", *(f"{part} ({len(part_messages)})" for part, part_messages in parts.items()), "stuffed first"]]
    for name in names:
        try:
            engine, stuffed = ENGINES[name](skills), ENGINES[name]([*skills, *stuffed_skills(skills)])
        except ImportError as error:
            print(f"left out: {name}: {error}", file=sys.stderr)
            continue
        figures = [judge(engine, part) for part in parts.values()]
        won = sum(bool(found) and found[0].startswith("universal-") for found in (stuffed(m.text) for m in messages))
        table.append([name, *(f"{hit:.1f} / {ndcg:.1f}" for hit, ndcg in figures), str(won)])
        print(" | ".join(table[-1]), file=sys.stderr)
    return table


def write_page(table: list[list[str]]) -> None:
    """Replace the figures in docs/search.md."""
    table.insert(1, ["---"] * len(table[0]))
    text = "".join(f"| {' | '.join(line)} |\n" for line in table)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuning", action="store_true", help="judge by the tuning part only, and write nothing")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="only this one (repeatable)")
    arguments = parser.parse_args()
    table = rows(arguments.engine or list(ENGINES), tuning_only=arguments.tuning)
    if not arguments.tuning and not arguments.engine:
        write_page(table)


if __name__ == "__main__":
    main()
