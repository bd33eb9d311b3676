"""The runner of observe.py: asks, compares and records."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clients._answers import FOLDER, load_answers, save_answers
from clients._cells import Cells, cells, differing, merged, prowess_differs
from clients._probe import TOP, ClientError, Clients, Probe, Question
from clients._trees import HERE, Tree, TreeSource, all_trees, python_trees, run_module

if TYPE_CHECKING:
    from collections.abc import Sequence

MODULES = Path(os.environ.get("PROWESS_CLIENTS") or TOP / ".clients/node_modules")


def load_probes(folder: Path = HERE / "probes") -> dict[str, Probe]:
    """Return the probes by the name of their client."""
    probes = [run_module(file).PROBE for file in sorted(folder.glob("*.py")) if not file.name.startswith("_")]
    return {probe.client: probe for probe in probes}


def ask(probe: Probe, source: TreeSource, clients: Clients) -> tuple[Cells, list[str]]:
    """Ask a client about a tree as often as its probe says, each time about a fresh copy; return the cells.

    Raises:
        ClientError: the client did not answer.
    """
    runs: list[Cells] = []
    unknown: list[str] = []
    for _ in range(probe.asks):
        with tempfile.TemporaryDirectory(prefix="observe-", ignore_cleanup_errors=True) as folder:
            tree = build(probe, source, Path(folder))
            answer = probe.ask(question(tree, Path(folder).resolve() / "scratch"), clients)
            found, unknown = cells(tree, answer)
            runs.append(found)
    return merged(runs), unknown


def build(probe: Probe, source: TreeSource, folder: Path) -> Tree:
    """Write a tree for the client of a probe."""
    return source.build(folder.resolve() / "tree", probe.client, probe.project, probe.user)


def question(tree: Tree, scratch: Path) -> Question:
    """Return the question about a tree."""
    scratch.mkdir()
    return Question(home=tree.home, cwd=tree.cwd, scratch=scratch, args=tuple(tree.args), env=dict(tree.env))


def compare_with_prowess(probe: Probe, source: TreeSource, found: Cells) -> dict[str, str]:
    """Return by variant how Prowess differs from a client's cells of a tree."""
    with tempfile.TemporaryDirectory(prefix="observe-") as folder:
        return prowess_differs(build(probe, source, Path(folder)), probe.client, found)


def say(text: str) -> None:
    """Tell the user what happens."""
    print(text, file=sys.stderr, flush=True)


def observe(probe: Probe, trees: Sequence[TreeSource], clients: Clients, folder: Path, *, check: bool) -> list[Any]:
    """Ask one client about trees; return what differs from the record, from Prowess, or could not be asked."""
    record = load_answers(probe.client, folder)
    problems: list[dict[str, Any]] = []
    for number, source in enumerate(trees, 1):
        place = {"client": probe.client, "tree": source.name}
        say(f"{probe.client} {number}/{len(trees)} {source.name}")
        try:
            found, unknown = ask(probe, source, clients)
        except ClientError as error:
            problems.append({**place, "error": str(error)})
            continue
        problems += [{**place, "unknown": name} for name in unknown]
        for variant, problem in compare_with_prowess(probe, source, found).items():
            problems.append({**place, "variant": variant, "prowess": problem})
        if check:
            recorded = record["trees"].get(source.name)
            for variant, (old, new) in differing(recorded or {}, found).items():
                problems.append({**place, "variant": variant, "recorded": old, "now": new})
        else:
            record["trees"][source.name] = found
            record["version"] = clients.version(next(iter(probe.packages))) or probe.version
            record |= {"date": f"{datetime.now(UTC):%Y-%m-%d}", "project": probe.project, "user": probe.user}
            save_answers(record, folder)
    return problems


def main(argv: Sequence[str] | None = None) -> int:
    """Ask the clients about the trees; return 1 if something differs or could not be asked."""
    parser = argparse.ArgumentParser(description="Ask the real clients which skills they see.")
    parser.add_argument("trees", nargs="*", metavar="TREE", help="only these trees")
    parser.add_argument("--client", action="append", default=[], help="only this client")
    parser.add_argument("--check", action="store_true", help="compare with what is recorded, and write nothing")
    parser.add_argument("--trees", dest="folder", type=Path, metavar="DIR", help="ask about the trees of this folder")
    parser.add_argument("--json", action="store_true", help="print what differs as JSON")
    options = parser.parse_args(argv)
    probes = load_probes()
    known = all_trees() if options.folder is None else {s.name: s for s in python_trees(options.folder)}
    unknown = [*(set(options.client) - set(probes)), *(set(options.trees) - set(known))]
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    folder = FOLDER if options.folder is None else options.folder / "answers"
    problems: list[dict[str, Any]] = []
    for name, probe in probes.items():
        if options.client and name not in options.client:
            continue
        chosen = [s for s in known.values() if s.is_for(name) and (not options.trees or s.name in options.trees)]
        problems += observe(probe, chosen, Clients(MODULES), folder, check=options.check)
    for problem in problems:
        print(json.dumps(problem, ensure_ascii=False))
    return 1 if problems else 0
