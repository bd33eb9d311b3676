"""The command line of observe.py: one process for each client, in namespaces of its own."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clients._answers import FOLDER
from clients._ask import Observer, Problem
from clients._built import BuiltTree, built_trees
from clients._places import INSIDE, is_inside, namespaces, switch_loopback_on
from clients._probe import TOP, Clients, Probe
from clients._trees import HERE, TreeSource, all_trees, document_trees, python_trees, run_module
from clients._usage import observe_usage, recorder_file

if TYPE_CHECKING:
    from collections.abc import Sequence

INSTALLED = tuple(
    Path(folder)
    for folder in (os.environ.get("PROWESS_CLIENTS") or f"{TOP}/.clients/node_modules:{TOP}/.clients/python").split(":")
)
"""The folders of the installed clients."""


def load_probes(folder: Path = HERE / "probes") -> dict[str, Probe]:
    """Return the probes of a folder by the name of their client."""
    probes = [run_module(file).PROBE for file in sorted(folder.glob("*.py")) if not file.name.startswith("_")]
    return {probe.client: probe for probe in probes}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    result = argparse.ArgumentParser(prog="observe.py", description="Ask the real clients which skills they see.")
    result.add_argument("names", nargs="*", metavar="TREE", help="only these trees")
    result.add_argument("--client", action="append", default=[], help="only this client; can be given several times")
    result.add_argument("--check", action="store_true", help="write nothing: compare with what is recorded")
    result.add_argument("--trees", type=Path, metavar="DIR", help="ask about the trees of this folder")
    result.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="ask so many clients at a time")
    result.add_argument("--usage", action="store_true", help="record the sessions of conversations, and read them")
    result.add_argument("--json", action="store_true", help="print what differs as JSON")
    result.add_argument("--probes", type=Path, default=HERE / "probes", help="the folder of the probes")
    result.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return result


def chosen_trees(options: argparse.Namespace, clients: list[str]) -> list[TreeSource | BuiltTree]:
    """Return the trees that the command line is about."""
    if options.trees is None:
        found: list[TreeSource | BuiltTree] = list(all_trees().values())
    else:
        found = [*document_trees(options.trees), *python_trees(options.trees), *built_trees(options.trees, clients)]
    names = {source.name for source in found}
    if unknown := sorted(set(options.names) - names):
        raise SystemExit(f"observe.py: there is no tree {', '.join(unknown)}")
    if not found:
        raise SystemExit(
            f"observe.py: {options.trees} has no document with a tree, no Python file and no manifest.json"
        )
    return [source for source in found if not options.names or source.name in options.names]


def end_with_input() -> None:
    """End this process, with all of its namespace, when the process at the other end of its input has ended."""
    os.read(0, 1)
    os._exit(1)


def work(options: argparse.Namespace, probe: Probe, trees: list[TreeSource | BuiltTree]) -> None:
    """Ask one client in this process; print a line of JSON for each problem, and one about what was asked."""
    if is_inside():
        switch_loopback_on()
    if options.usage:
        problems, asked = observe_usage(probe, Clients(INSTALLED, seconds=240), check=options.check)
        for problem in problems:
            print(json.dumps({"problem": problem}), flush=True)
        print(json.dumps({"asked": asked}), flush=True)
        return
    folder = FOLDER if options.trees is None else options.trees / "answers"
    all_recorded = options.trees is None
    observer = Observer(probe, Clients(INSTALLED), folder, check=options.check, all_recorded=all_recorded)
    for problem in observer.observe([source for source in trees if source.is_for(probe.client)]):
        print(json.dumps({"problem": problem}), flush=True)
    asked = {"trees": observer.trees, "cells": observer.files, "differing": observer.differing}
    print(json.dumps({"asked": {"client": probe.client, "version": observer.version(), **asked}}), flush=True)


def run_worker(options: argparse.Namespace, client: str, argv: Sequence[str]) -> tuple[list[Problem], dict[str, Any]]:
    """Ask one client in a process of its own; print and return its problems, and return what was asked."""
    prefix = namespaces()
    command = [*prefix, sys.executable, str(HERE / "observe.py"), *argv, "--worker", "--client", client]
    env = {**os.environ, INSIDE: "1" if prefix else "0"}
    problems: list[Problem] = []
    asked: dict[str, Any] = {"client": client}
    # The worker reads this pipe and ends when it closes, so it ends with this process, however that ends.
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said = json.loads(line)
            asked = said.get("asked", asked)
            if "problem" in said:
                problems.append(said["problem"])
                if not options.json:
                    print(sentence(said["problem"]), flush=True)
    if process.returncode:
        problems.append({"client": client, "error": f"the observer ended with status {process.returncode}"})
    return problems, asked


def sentence(problem: Problem) -> str:
    """Return a problem as one line; texts of skills are in JSON's form, so they cannot look like another line."""
    place = " ".join(
        json.dumps(problem[key]) if key == "variant" else problem[key]
        for key in ("client", "tree", "variant")
        if key in problem
    )
    if "unknown" in problem:
        return f"{place}: a skill of no file of the tree: {json.dumps(problem['unknown'])}"
    if "prowess" in problem:
        return f"{place}: Prowess differs: {json.dumps(problem['prowess'])[1:-1]}"
    if "now" in problem:
        return f"{place}: recorded {_cell(problem['recorded'])}; now {_cell(problem['now'])}"
    return f"{place}: {problem['error']}"


def _cell(cell: dict[str, Any] | None) -> str:
    return "not seen" if cell is None else json.dumps(cell)


def main(argv: Sequence[str] | None = None) -> int:
    """Ask the clients about the trees; return 1 if something differs or was not answered.

    Where the answers are recorded, only what was not answered counts.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    options = parser().parse_args(given)
    probes = load_probes(options.probes)
    if unknown := sorted(set(options.client) - set(probes)):
        raise SystemExit(f"observe.py: there is no probe for {', '.join(unknown)}; there are: {', '.join(probes)}")
    trees = chosen_trees(options, list(probes))
    if options.worker:
        threading.Thread(target=end_with_input, daemon=True).start()
        work(options, probes[options.client[-1]], trees)
        return 0
    if not namespaces():
        print("observe.py: `unshare` does not work here, so a client might use the network", file=sys.stderr)
    names = [name for name in probes if not options.client or name in options.client]
    if options.usage:
        names = [name for name in names if recorder_file(name).exists()]
    with ThreadPoolExecutor(max(options.jobs, 1)) as pool:
        results = list(pool.map(lambda name: run_worker(options, name, given), names))
    problems = [problem for found, _ in results for problem in found]
    if options.json:
        print(json.dumps({"asked": [asked for _, asked in results], "problems": problems}, indent=1))
    for _, asked in results:
        what = "{cells} acts in {trees} conversations" if options.usage else "{cells} cells in {trees} trees"
        line = f"{{client}} {{version}}: {what}, {{differing}} differ" if len(asked) > 1 else "{client}: -"
        print(line.format_map(asked), file=sys.stderr)
    counted = problems if options.check else [problem for problem in problems if "error" in problem]
    return 1 if counted else 0
