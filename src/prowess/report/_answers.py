"""Write what recorded runs of an eval show, with both answers of each pair side by side."""

from __future__ import annotations

from itertools import groupby

from prowess.evals import exports

from ._page import template
from ._texts import NAME_LIMIT, PATH_LIMIT, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from prowess.evals import Difference, EvalCase, Outcome, Ran, Recorded, Run, Verdict

_MOST_PAIRS = 200
_MOST_CHARS, _MOST_LINES = 20_000, 1_000
"""Of one answer."""
_UNITS = {"score": "{:+z.2f}", "tokens": "{:+z,.0f}", "time": "{:+z,.2f} s", "cost": "{:+z,.4f} USD"}


def render_answers(recorded: Recorded, outcome: Outcome, results: Iterable[tuple[Ran, Mapping[str, str]]]) -> str:
    """Return a page with the verdicts and the answers of both arms. The same record gives the same text.

    Args:
        recorded: the record.
        outcome: of its runs.
        results: what each of its runs answered, and its files.

    Raises:
        ImportError: the extra `report` is not installed; the message says how to install it.
    """
    pairs = list(_pairs(recorded, results))
    count = len({run.pair for run in recorded.runs})
    agent = one_line(recorded.agent["name"], PATH_LIMIT)
    page = {
        "headline": f"{one_line(recorded.evals.name, NAME_LIMIT)}: {exports.WORDS[outcome.pairs.verdict]}",
        "summary": f"On these cases: {exports.result_of(outcome)}. The agent is {agent}.",
        "rows": list(_rows(outcome)),
        "pairs": pairs,
        "more": f"These are the first {len(pairs):,} of {count:,} pairs." if len(pairs) < count else "",
    }
    text: str = template("answers.html", "page.css", "answers.css").render(page=page)
    return text


def _rows(outcome: Outcome) -> Iterator[dict[str, str]]:
    points = "{:+z.0f} points"
    yield _row("passing, on these cases", outcome.pairs, outcome.pairs.difference, points, 100)
    yield _row("passing, on tasks like these", outcome.cases, outcome.cases.difference, points, 100)
    for name, measure in outcome.measures.items():
        yield _row(name, measure.verdict, measure.difference, _UNITS[name])


def _row(name: str, verdict: Verdict, difference: Difference | None, unit: str, scale: int = 1) -> dict[str, str]:
    row = {"name": name, "verdict": exports.WORDS[verdict.verdict], "difference": "", "interval": ""}
    if difference is None:
        return row
    low, middle, high = (unit.format(value * scale) for value in (difference.low, difference.median, difference.high))
    return {**row, "difference": middle, "interval": f"{low} to {high}"}


def _pairs(recorded: Recorded, results: Iterable[tuple[Ran, Mapping[str, str]]]) -> Iterator[dict[str, Any]]:
    both = zip(recorded.runs, results, strict=True)
    for number, (_, items) in enumerate(groupby(both, key=lambda item: item[0].pair)):
        if number == _MOST_PAIRS:
            return
        runs = sorted(items, key=lambda item: item[0].arm)
        case = recorded.evals.cases[runs[0][0].case]
        passed = [run.passed for run, _ in runs]
        words = {True: "passes", False: "fails", None: "not graded"}
        titles = ["with the skill", "without it" if recorded.plan.is_alone else "with the other version"]
        yield {
            "case": one_line(case.id, NAME_LIMIT),
            "prompt": one_line(case.prompt, PATH_LIMIT),
            "outcome": ", ".join(f"{words[ok]} {title}" for ok, title in zip(passed, titles, strict=False)),
            "sides": [_side(titles[run.arm], run, ran, files, case) for run, (ran, files) in runs],
        }


def _side(title: str, run: Run, ran: Ran, files: Mapping[str, str], case: EvalCase) -> dict[str, Any]:
    from prowess.testing import decode_output

    answer = f"The run failed: {ran.failure}" if ran.failure else decode_output(ran.answer)
    lines = answer[:_MOST_CHARS].splitlines()[:_MOST_LINES]
    if len("\n".join(lines)) < len(answer.rstrip("\r\n")):
        lines.append("…")
    words = {True: "passes", False: "fails"}
    return {
        "title": title,
        "lines": lines,
        "grades": [
            {
                "name": one_line(exports.grader_name(grader), PATH_LIMIT),
                "word": words[grade],
                "look": "yes" if grade else "no",
            }
            for grader, grade in zip(case.graders, run.grades, strict=False)
            if grade is not None
        ],
        "files": one_line(", ".join(files), PATH_LIMIT),
    }
