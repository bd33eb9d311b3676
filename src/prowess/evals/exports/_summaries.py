"""Write a summary: a table in Markdown, a line for a badge, and JUnit for CI systems."""

from __future__ import annotations

import json
import re

from prowess._internal.text import neutral

from ._results import WORDS, by_case, grader_name, result_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.evals._cases import Evals
    from prowess.evals._outcome import Outcome
    from prowess.evals._runs import Run

_COLORS = {"helps": "brightgreen", "harms": "red", "no-difference-shown": "lightgrey", "not-enough-runs": "yellow"}


def badge(evals: Evals, outcome: Outcome) -> bytes:
    """Return a line for a badge, as shields.io takes it from an endpoint (schema version 1)."""
    color = _COLORS[outcome.pairs.verdict]
    label = f"skill {neutral(evals.name)}"
    line = {"schemaVersion": 1, "label": label, "message": result_of(outcome), "color": color}
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def markdown(evals: Evals, outcome: Outcome, runs: Sequence[Run]) -> bytes:
    """Return the verdicts and the cases as two tables."""
    lines = [f"# {_cell(evals.name)}: {result_of(outcome)}", ""]
    lines += ["| | verdict | difference | from | to | won | lost | tied |", "|---|---|---:|---:|---:|---:|---:|---:|"]
    rows = [("passing, these cases", outcome.pairs, outcome.pairs.difference)]
    rows += [("passing, tasks like these", outcome.cases, outcome.cases.difference)]
    rows += [(name, measure.verdict, measure.difference) for name, measure in outcome.measures.items()]
    for name, verdict, found in rows:
        numbers = (
            ["", "", ""] if found is None else [f"{value:+.4g}" for value in (found.median, found.low, found.high)]
        )
        counts = (verdict.won, verdict.lost, verdict.tied)
        lines.append(f"| {name} | {WORDS[verdict.verdict]} | {' | '.join(numbers)} | {' | '.join(map(str, counts))} |")
    lines += [
        "",
        "| case | passes with it | passes without | won | lost | failed runs |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for result in by_case(evals.cases, runs):
        shares = [f"{passed} of {graded}" for passed, graded in zip(result.passed, result.graded, strict=True)]
        cells = (_cell(result.case.id), *shares, result.won, result.lost, result.failed)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    if outcome.constant:
        lines += ["", "The same in all runs of both arms, so they show nothing about the skill:", ""]
        for grade in outcome.constant:
            grader = evals.cases[grade.case].graders[grade.grader]
            lines.append(f"- {_cell(grade.id)}: {_cell(grader_name(grader))} {'passes' if grade.passed else 'fails'}")
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def junit(evals: Evals, outcome: Outcome, runs: Sequence[Run]) -> bytes:
    """Return a test for the verdict, which fails if the skill harms, and one for each case.

    A case fails if more of its pairs are lost than won, and is an error if no pair of it could be graded.
    """
    from prowess.testing import Case, CaseResult, Failure, SkillResult, TestReport, junit_xml

    def test(name: str, problem: str, status: str, text: str) -> CaseResult:
        failures = () if status == "passed" else (Failure(kind="eval", message=problem),)
        return CaseResult(case=Case(name=name, file="", command=""), status=status, failures=failures, stdout=text)

    harms = outcome.pairs.verdict == "harms"
    tests = [test("verdict", "the skill harms", "failed" if harms else "passed", result_of(outcome))]
    for result in by_case(evals.cases, runs):
        (with_it, without), (all_with, all_without) = result.passed, result.graded
        text = f"passes in {with_it} of {all_with} runs with the skill, and in {without} of {all_without} without it"
        if not all_with or not all_without:
            tests.append(test(result.case.id, "no pair of runs could be graded", "error", text))
        else:
            worse = result.lost > result.won
            tests.append(test(result.case.id, "worse with the skill", "failed" if worse else "passed", text))
    return junit_xml(
        TestReport(skills=(SkillResult(name=evals.name, path=evals.folder, cases=tuple(tests)),)), "prowess eval"
    )


def _cell(text: str) -> str:
    """Return a text for a cell of Markdown: nothing in it is a link, an image, HTML or the end of the cell."""
    return re.sub(r"([\\`*_{}\[\]()<>#|!~])", r"\\\1", neutral(" ".join(text.split())))
