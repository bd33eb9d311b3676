"""What an eval cannot show, before anything runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.evals import _sound, find_weaknesses, measure_power, read_evals
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.findings import Finding

BODY = "Open the ledger and copy every amount above nine into the summary.\n\nThen print it."
TASKS = (
    "Sum the invoices of May",
    "Who owes us money?",
    "Close the year with all bookings",
    "Find the payment that is missing in bank.csv",
    "Split this bill among four people",
)
GOOD: list[dict[str, Any]] = [{"prompt": task, "assertions": [f"The answer is {len(task)}"]} for task in TASKS]
GOOD.append({"prompt": "Write a poem about money", "should_trigger": False})


def weaknesses(folder: Path, cases: list[dict[str, Any]], files: dict[str, str] | None = None) -> tuple[Finding, ...]:
    """Return the findings of level 0 for the cases of a skill."""
    skill(folder / "ledger", body=BODY)
    for name, text in {**(files or {}), "evals/evals.json": json.dumps({"evals": cases}, indent=1)}.items():
        (folder / "ledger" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "ledger" / name).write_text(text, encoding="utf-8")
    evals = read_evals(str(folder / "ledger"))
    assert evals.findings == ()
    return find_weaknesses(evals)


def with_case(**case: Any) -> list[dict[str, Any]]:
    return [*GOOD, {"prompt": "Print the tax of the last quarter", **case}]


def test_a_sound_eval_has_no_findings(tmp_path: Path) -> None:
    assert weaknesses(tmp_path, GOOD) == ()


WEAK = {
    "too few": (GOOD[-5:], "5 cases, so no verdict about other tasks is possible"),
    "none that must not": (
        [*GOOD[:-1], {"prompt": "Pay the rent"}],
        "no case is one in which the skill must not be used",
    ),
    "none that must": (
        [{**case, "should_trigger": False} for case in GOOD],
        "no case is one in which the skill must be used",
    ),
    "the same": ([*GOOD, {"prompt": "sum the  invoices of May"}], "case `7` has nearly the same prompt as `1`"),
    "alike": (
        [*GOOD, {"prompt": "Which payments are missing in the bank.csv? Find them"}],
        "case `7` has nearly the same prompt as `4`",
    ),
    "no grader": (with_case(expected_output="Nine"), "no grader looks at the expected output of `7`"),
    "vague": (with_case(assertions=["The response is good and helpful"]), "names nothing that can be observed"),
    "parroting": (
        with_case(assertions=["Will copy every amount above nine into the summary"]),
        "repeats words of the skill, so it tests parroting, not results",
    ),
    "answer": (
        with_case(files=["evals/tax.txt"], assertions=[{"type": "contains", "value": "1,234.56 euros"}]),
        "`evals/tax.txt` contains the answer `1,234.56 euros`",
    ),
}


@pytest.mark.parametrize("name", WEAK)
def test_each_weakness_is_one_finding(name: str, tmp_path: Path) -> None:
    """With a line of the file, and what to do."""
    cases, message = WEAK[name]
    (item,) = weaknesses(tmp_path, cases, {"evals/tax.txt": "due: 1,234.56 euros\n"})
    assert item.message.endswith(message)
    assert (item.code, item.path) == ("eval-unsound", str(tmp_path / "ledger/evals/evals.json"))
    assert item.line is not None
    assert item.hint


def test_files_of_cases_are_read_up_to_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the cases; and only if a grader has an answer that was not found yet."""
    answer = {"type": "contains", "value": "1,234.56 euros"}
    files = {f"evals/{name}.txt": "due: 1,234.56 euros\n" for name in "abc"}
    case = {"prompt": "Print the tax", "files": [*files], "assertions": [answer]}
    other = {"prompt": "Name each month of the year", "files": ["evals/b.txt"], "assertions": [answer]}
    unread = {"prompt": "Which bank is it?", "files": ["evals/c.txt"], "assertions": ["The answer is 9"]}
    cases, size = [*GOOD, unread, case, other], len("due: 1,234.56 euros\n")
    for budget, expected in ((2 * size, ["a", "b"]), (2 * size - 1, ["a"]), (size - 1, [])):
        monkeypatch.setattr(_sound, "_MOST_FIXTURES_BYTES", budget)
        found = [item.message for item in weaknesses(tmp_path / str(budget), cases, files)]
        assert found == [f"`evals/{name}.txt` contains the answer `1,234.56 euros`" for name in expected]


def test_what_is_observable_is_not_a_weakness(tmp_path: Path) -> None:
    """A grader may name a value, a file of another name, a short text, or the words of a prompt."""
    graders: list[Any] = [
        "The answer is 9",
        "summary.txt exists",
        "It says that every amount above nine is copied",
        {"type": "contains", "value": "euros"},
        {"type": "not_contains", "value": "1,234.56 euros"},
    ]
    assert weaknesses(tmp_path, with_case(assertions=graders, files=["evals/tax.txt"]), {"evals/tax.txt": "1"}) == ()


def test_a_skill_without_evals_is_a_weakness(tmp_path: Path) -> None:
    skill(tmp_path / "ledger")
    (item,) = find_weaknesses(read_evals(str(tmp_path / "ledger")))
    assert (item.message, item.path) == ("`ledger` has no evals", str(tmp_path / "ledger"))


def test_the_power_of_a_plan_is_one_sentence() -> None:
    assert measure_power(8, 3).sentence == (
        "8 cases with 3 runs are 24 pairs: an improvement from 50 % to 80 % is shown in 45 of 100 evaluations; "
        "60 pairs would show it in 89"
    )
    assert measure_power(1, 1).sentence.startswith("1 case with 1 run is 1 pair: ")
    large = measure_power(100, 10)
    assert large.sentence.endswith("is shown in 99 of 100 evaluations")
    assert large.as_dict()["compared"] is None
