"""Evaluations of a skill that helps by a known amount, and of one that does nothing."""

from __future__ import annotations

import json
import os
from collections import Counter
from math import inf
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.evals import Arms, Ran, judge_runs, make_plan, read_evals, run_pairs
from support.proofs import short_or_long

if TYPE_CHECKING:
    from prowess.evals._place import Place

GOOD = "Say good day."
BODIES = {"helps": GOOD, "no-difference-shown": "Be kind."}
"""What each skill says, by the right verdict."""


class Scripted:
    """An agent in this process: it reads the skill if it has one, and follows it in 70 runs of 100.

    Without what the skill says it greets well in 30 of 100, and with a skill that says something else, too.
    """

    name, version = "scripted", "1"
    skills, host = ".agents/skills", "prowess"
    arguments: tuple[str, ...] = ()
    says_steps = says_cost = False

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def run(self, place: Place, prompt: str, number: int, seconds: float, cost: float = inf) -> Ran:
        """Answer to a prompt, the same each time."""
        del seconds, cost
        file = Path(place.work, ".agents/skills/greet/SKILL.md")
        has_words = file.exists() and GOOD in file.read_text(encoding="utf-8")
        share = 0.7 if has_words else 0.3
        random = Random(f"{self._seed} {number} {file.exists()} {prompt}")  # noqa: S311 - a simulation
        return Ran(answer=b"good day" if random.random() < share else b"hi", seconds=1.0, tokens=100 + has_words)


def write_skill(top: Path, body: str) -> Path:
    """Write a skill with ten cases."""
    folder = top / "greet"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: greet\ndescription: Greets people.\n---\n{body}\n", encoding="utf-8")
    cases = [
        {"id": name, "prompt": f"Greet {name}", "assertions": [{"type": "contains", "value": "good day"}]}
        for name in ("Ada", "Bob", "Carl", "Dora", "Emil", "Fay", "Gus", "Hal", "Ida", "Jan")
    ]
    (folder / "evals/evals.json").write_text(json.dumps({"evals": cases}), encoding="utf-8")
    return folder


@pytest.mark.proof
@pytest.mark.parametrize("right", BODIES)
def test_sixty_pairs_give_the_right_verdict(right: str, tmp_path: Path) -> None:
    """In at least 95 of 100 evaluations, and a wrong one in at most 3; the short form has five of them."""
    evals = read_evals(str(write_skill(tmp_path, BODIES[right])))
    arms = Arms(evals)
    verdicts: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    total = short_or_long(5, 100)
    for seed in range(total):
        plan = make_plan(evals, 6, seed)
        outcome = judge_runs(plan, run_pairs(Scripted(seed), arms, plan))
        assert (outcome.planned, outcome.failed) == (60, 0)
        verdicts[outcome.pairs.verdict] += 1
        tokens[outcome.measures["tokens"].verdict.verdict] += 1
    assert verdicts[right] >= 0.95 * total, verdicts
    assert sum(verdicts[word] for word in ("helps", "harms") if word != right) <= 0.03 * total
    # The one that helps needs one token more in each run, which is shown as well.
    assert tokens == {"harms" if right == "helps" else "not-enough-runs": total}


@pytest.mark.parametrize("right", BODIES)
def test_a_whole_evaluation_by_the_command_line(
    right: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same agent as a program: seven of ten runs pass with what the skill says, and three without it."""
    write_skill(tmp_path, BODIES[right])
    monkeypatch.chdir(tmp_path)
    program = (
        f"limit=3; grep -qs '{GOOD}' .agents/skills/greet/SKILL.md && limit=7; place=$PROWESS_RUN_SEED;"
        " test -d .agents && place=$((place * 7 + 3));"
        " if [ $((place % 10)) -lt $limit ]; then echo good day; else echo hi; fi"
    )
    assert main(["eval", "./greet", "--runs", "6", "--via", program, "--json"]) == 0
    data: Any = json.loads(capsys.readouterr().out)
    assert data["helps"]["on_these_cases"] == right
    assert data["runs"]["failed"] == 0
    # One arm of the skill that does nothing wins where the other one loses, and the whole plan runs.
    pairs = data["helps"]["pairs"]
    assert (pairs["won"] == pairs["lost"]) is (right != "helps")
    assert (data["runs"]["done"] == 120) is (right != "helps")
    assert os.listdir(tmp_path) == ["greet"]
