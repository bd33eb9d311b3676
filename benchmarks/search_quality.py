"""Find out which skill a message finds: read what `make search` has measured, and look into blocks of a catalog."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from generate import SKILLS
from prowess import discover
from prowess.prompt import render
from prowess.search import Index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labelled import LabelledMessage

    from bench import Bench
    from prowess.catalog import Catalog

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs/search.md"
BEGIN, END = "<!-- figures: make search -->", "<!-- end of figures -->"
ROW = "messages, held-out part"
BLOCK_CHARACTERS = 4_000
HARDER = {"long", "oblique"}
"""Kinds of messages that are harder than others."""


def measure_search(bench: Bench) -> Iterator[dict[str, Any]]:
    """Return the figures of docs/search.md, and how often the right skill is in a block."""
    engines = read_quality(PAGE)
    yield {"engines": engines}
    yield {"engines": engines, "block": measure_blocks(bench.folder / "labelled")}


def read_quality(page: Path) -> dict[str, list[float]]:
    """Return Hit@1 and NDCG@10 of each engine on the held-out part of the labelled messages, in percent."""
    table = page.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    figures = next((row for row in rows if row[0].startswith(ROW)), [])
    engines = {}
    for name, cell in zip(rows[0] if rows else (), figures, strict=False):
        pair = re.fullmatch(r"([\d.]+) ± [\d.]+ / ([\d.]+) ± [\d.]+", cell)
        if pair:
            engines[name] = [float(pair[1]), float(pair[2])]
    return engines


def measure_blocks(folder: Path) -> dict[str, Any]:
    """Count for how many messages of the held-out part a block contains a skill of the best grade, in percent."""
    sys.path.append(str(TOP / "benchmarks/search"))
    from labelled import load_messages, load_skills

    skills = load_skills()
    for skill in skills:
        file = folder / SKILLS / skill.name / "SKILL.md"
        file.parent.mkdir(parents=True)
        description = skill.description.replace("'", "''")
        file.write_text(f"---\nname: {skill.name}\ndescription: '{description}'\n---\n{skill.body}\n", encoding="utf-8")
    (folder / "home").mkdir()
    catalog = discover(folder, home=folder / "home", env={}, cache=False)
    messages = [message for message in load_messages() if message.held_out]
    harder = [message for message in messages if message.kind in HARDER]
    return {
        "characters": BLOCK_CHARACTERS,
        "skills": len(skills),
        "messages": len(messages),
        "plain": _share(catalog, messages, use_message=False),
        "by message": _share(catalog, messages, use_message=True),
        "harder messages": len(harder),
        "harder, plain": _share(catalog, harder, use_message=False),
        "harder, by message": _share(catalog, harder, use_message=True),
    }


def _share(catalog: Catalog, messages: list[LabelledMessage], *, use_message: bool) -> float:
    index = Index(catalog.skills, catalog.readers, cache=False)

    def is_shown(message: LabelledMessage) -> bool:
        query = message.text if use_message else None
        shown = render(catalog, budget=BLOCK_CHARACTERS, query=query, index=index).shown
        best = max(message.grades.values())
        return any(message.grades.get(name) == best for name in shown)

    return round(100 * mean(map(is_shown, messages)), 1)
