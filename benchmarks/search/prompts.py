"""Rank skills for the prompts that their authors published with them, as level 1 of `prowess eval` does.

python benchmarks/search/prompts.py DIR    a clone, such as of `NVIDIA/skills`; nothing of it is copied

Of each skill with an eval: its prompts, among all skills of the clone; a prompt that several evals have counts once. A
prompt that expects a skill is right if that skill is first. A search nearly always finds something, so of the prompts
that expect no skill those without any result are counted.
"""

from __future__ import annotations

import argparse
import os
import sys

from prowess._internal.text import normalize_name
from prowess.catalog import State
from prowess.checks import evaluate_path, find_skill_files
from prowess.evals import read_evals
from prowess.evals._chosen import Share
from prowess.search import Index


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if there are no prompts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", help="a clone with skills and their evals")
    folder = parser.parse_args(arguments).folder
    entries = {path: evaluate_path(path, "prowess") for path in find_skill_files(folder)[0]}
    index = Index(tuple(entries.values()), cache=False, states=tuple(State))
    known = {normalize_name(entry.name) for entry in entries.values()}
    cases = [case for path in entries for case in read_evals(os.path.dirname(path)).cases]
    prompts = {(case.prompt.strip(), case.skill and normalize_name(case.skill)) for case in cases}
    expected = found = without = empty = unknown = 0
    for prompt, skill in prompts:
        best = index.best(prompt, 1)
        if skill is None:
            without, empty = without + 1, empty + (not best)
        elif skill not in known:
            unknown += 1
        else:
            expected += 1
            found += bool(best) and normalize_name(best[0].name) == skill
    print(f"{len(entries):,} skills, {expected:,} prompts that expect one of them, {without:,} that expect none")
    if unknown:
        print(f"left out: {unknown:,} prompts that expect another skill")
    if not expected:
        return 1
    low, high = Share(count=found, of=expected).interval
    share = f"{100 * found / expected:.1f} % ({found:,} of {expected:,})"
    print(f"Hit@1 {share}, from {100 * low:.1f} to {100 * high:.1f}")
    if without:
        print(f"nothing is found for {empty:,} of {without:,} prompts that expect none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
