"""Do one task of a conversation with Prowess and print what it cost, measured inside the process.

    python benchmarks/measure_task.py TASK PROJECT

What a task needs first (the catalog, imports) is prepared and not measured. The output is JSON, as that of
measure_reader.py: `skills` is the number of results, and `work` the processor seconds.
"""

from __future__ import annotations

import json
import sys
from statistics import median
from time import process_time
from typing import TYPE_CHECKING

from generate import SkillWriter
from measure_reader import peak_memory

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT_CHARACTERS = 1_000_000
TURNS = 50
QUERIES = (
    "extract tables from an invoice",
    "pdf",
    "release notes",
    "Which of our dashboards still use the old metric, and who owns them?",
    "compare two schemas and write a migration that keeps the data of every table",
    (
        "my build fails since this morning with an error in the config, which did not change. The log says a token "
        "is missing, but the token is there, and on my machine it works. Can you look at the pipeline and the commits?"
    ),
    "translate the meeting notes",
    "kernel image prompt",
    "review this contract before the meeting",
    "plan next sprint with the team",
)


def mentions(project: str, kind: str) -> tuple[int, float]:
    """Find the mentions of 1,000 skills in a text of a million characters."""
    from prowess import discover
    from prowess.session import find_mentions

    skills = discover(project).skills
    names = [skill.name for skill in skills]
    if kind == "markdown":
        writer = SkillWriter(0)
        parts = [f"{writer.text(10_000)}\nUse ${name} and the {name} skill.\n" for name in names[:100]]
    elif kind == "mentions":
        parts = [f"${name} /{name} @{name} " for name in names] * 50
    else:
        parts = ["`a` `"] * (TEXT_CHARACTERS // 6)
    text = "".join(parts)[:TEXT_CHARACTERS].ljust(TEXT_CHARACTERS)
    find_mentions(f"${names[0]}", skills)
    start = process_time()
    found = find_mentions(text, skills)
    return len(found), process_time() - start


def search(project: str, when: str) -> tuple[int, float]:
    """Search the skills of a project: the first query of a process, or the median of later ones."""
    from prowess import discover
    from prowess.search import Index

    catalog = discover(project)
    skills = catalog.skills
    index = Index(skills, catalog.readers)
    start = process_time()
    results = len(index.search(QUERIES[0]))
    if when == "first":
        return results, process_time() - start
    seconds = []
    for query in QUERIES:
        start = process_time()
        results += len(index.search(query))
        seconds.append(process_time() - start)
    return results, median(seconds)


def turn(project: str, kind: str) -> tuple[int, float]:
    """Bring the catalog of a conversation up to date for a turn in which nothing changed."""
    import prowess.catalog
    from prowess.session import Session

    latest: Callable[[], prowess.catalog.Catalog]
    if kind == "live":
        if not hasattr(prowess.catalog, "LiveCatalog"):
            sys.exit("this version of Prowess has no catalog that is kept up to date")
        latest = prowess.catalog.LiveCatalog(project).current
    else:

        def latest() -> prowess.catalog.Catalog:
            return prowess.catalog.discover(project)

    session = Session(latest())
    seconds = []
    for _ in range(TURNS):
        start = process_time()
        session.update(latest())
        session.inject("please look at this again")
        seconds.append(process_time() - start)
    return len(session.catalog.skills), median(seconds)


TASKS = {"mentions": mentions, "search": search, "turn": turn}


def main() -> None:
    """Run the command line."""
    task, kind, project = sys.argv[1:]
    results, work = TASKS[task](project, kind)
    print(json.dumps({"skills": results, "work": work, "peak": peak_memory()}))


if __name__ == "__main__":
    main()
