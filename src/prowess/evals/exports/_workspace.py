"""Write recorded runs in the layout of a workspace of agentskills and of the skill `skill-creator`.

    benchmark.json                         all runs, and their means
    eval-1/eval_metadata.json              the case
    eval-1/with_skill/run-1/grading.json   what each grader says
                            timing.json    tokens and seconds
                            outputs/       the answer in answer.md, and the files
    eval-1/without_skill/...               `old_skill` with `--against`

Source: agentskills.io, "Evaluating skill output quality"; anthropics/skills, skill-creator, references/schemas.md (July
2026). The former calls the list in grading.json `assertion_results`, the latter `expectations`: it has both.
"""

from __future__ import annotations

import json
from statistics import mean, stdev

from prowess._internal.files import UnreadableError, read_file
from prowess.testing import decode_output

from ._results import grader_name, result_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from prowess.evals._cases import EvalCase, Grader
    from prowess.evals._outcome import Outcome
    from prowess.evals._place import Ran
    from prowess.evals._recorded import Recorded
    from prowess.evals._runs import Run

_MOST_FILE_BYTES = 2 * 1024 * 1024
"""Of one file, as in a record."""


def workspace_files(
    recorded: Recorded, outcome: Outcome, results: Iterable[tuple[Ran, Mapping[str, str]]]
) -> Iterator[tuple[str, bytes]]:
    """Yield the path of each file of a workspace, and its content.

    Args:
        recorded: the record.
        outcome: of its runs.
        results: what each of its runs answered, and its files, as `read_results` yields them.
    """
    plan, cases = recorded.plan, recorded.evals.cases
    arms = ("with_skill", "without_skill" if plan.is_alone else "old_skill")
    if plan.arms[0] == plan.arms[1]:
        arms = ("with_skill", "with_skill_again")
    counts: dict[tuple[int, int], int] = {}
    entries: list[dict[str, Any]] = []
    for number, case in enumerate(cases, 1):
        about = {
            "eval_id": number,
            "eval_name": case.id,
            "prompt": case.prompt,
            "assertions": [grader_name(grader) for grader in case.graders],
        }
        yield f"eval-{number}/eval_metadata.json", _json(about)
    for run, (ran, files) in zip(recorded.runs, results, strict=True):
        if ran.failure:  # not a result: the layout has no place for it
            continue
        count = counts[run.case, run.arm] = counts.get((run.case, run.arm), 0) + 1
        folder = f"eval-{run.case + 1}/{arms[run.arm]}/run-{count}"
        grading = _grading(run, cases[run.case], ran, plan.judge)
        yield f"{folder}/grading.json", _json(grading)
        yield f"{folder}/timing.json", _json(_timing(ran))
        yield f"{folder}/outputs/answer.md", ran.answer
        for path, file in files.items():
            if path != "answer.md" and not {"", ".", ".."}.intersection(path.split("/")):
                try:
                    yield f"{folder}/outputs/{path}", read_file(file, _MOST_FILE_BYTES)
                except UnreadableError:
                    continue
        result = {**grading["summary"], "time_seconds": ran.seconds, "tokens": ran.tokens or 0}
        calls = {name: grading["execution_metrics"][f"total_{name}"] for name in ("tool_calls",)}
        entries.append(
            {
                "eval_id": run.case + 1,
                "eval_name": cases[run.case].id,
                "configuration": arms[run.arm],
                "run_number": count,
                "result": {**result, **calls, "errors": 0},
                "expectations": grading["expectations"],
                "notes": [],
            }
        )
    summary = {arm: _summary([entry["result"] for entry in entries if entry["configuration"] == arm]) for arm in arms}
    notes = [f"Prowess: {result_of(outcome)}"]
    notes += [f"{outcome.failed} runs failed and are left out"] if outcome.failed else []
    benchmark = {
        "metadata": {
            "skill_name": recorded.evals.name,
            "executor_model": recorded.agent["name"],
            "analyzer_model": plan.judge or "",
            "evals_run": [*range(1, len(cases) + 1)],
            "runs_per_configuration": plan.runs,
        },
        "runs": entries,
        "run_summary": {**summary, "delta": _delta(summary[arms[0]], summary[arms[1]])},
        "notes": notes,
    }
    yield "benchmark.json", _json(benchmark)


def _grading(run: Run, case: EvalCase, ran: Ran, judge: str | None) -> dict[str, Any]:
    found = [
        {"text": grader_name(grader), "passed": grade, "evidence": _evidence(grader, judge)}
        for grader, grade in zip(case.graders, run.grades, strict=False)
        if grade is not None
    ]
    passed = sum(bool(item["passed"]) for item in found)
    steps = [step for step in ran.steps or () if isinstance(step.get("tool_calls"), list)]
    return {
        "expectations": found,
        "assertion_results": found,
        "summary": {
            "passed": passed,
            "failed": len(found) - passed,
            "total": len(found),
            "pass_rate": round(passed / len(found), 4) if found else 0.0,
        },
        "execution_metrics": {
            "total_tool_calls": sum(len(step["tool_calls"]) for step in steps),
            "total_steps": len(ran.steps or ()),
            "errors_encountered": 0,
            "output_chars": len(decode_output(ran.answer)),
        },
        "timing": {"executor_duration_seconds": ran.seconds, "total_duration_seconds": ran.seconds},
    }


def _evidence(grader: Grader, judge: str | None) -> str:
    by_judge = judge is not None and grader.kind in ("judge", "compare")
    return f"decided by {judge}" if by_judge else f"decided by code: {grader.kind}"


def _timing(ran: Ran) -> dict[str, Any]:
    known = {} if ran.tokens is None else {"total_tokens": ran.tokens}
    return {**known, "duration_ms": round(ran.seconds * 1000), "total_duration_seconds": ran.seconds}


def _summary(results: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return mean, deviation, least and most of each measure; zeros without runs, as that format has it."""
    summary = {}
    for name in ("pass_rate", "time_seconds", "tokens"):
        values = [float(result[name]) for result in results] or [0.0]
        deviation = stdev(values) if len(values) > 1 else 0.0
        numbers = {"mean": mean(values), "stddev": deviation, "min": min(values), "max": max(values)}
        summary[name] = {key: round(value, 4) for key, value in numbers.items()}
    return summary


def _delta(first: dict[str, dict[str, float]], second: dict[str, dict[str, float]]) -> dict[str, str]:
    digits = {"pass_rate": 2, "time_seconds": 1, "tokens": 0}
    return {name: f"{first[name]['mean'] - second[name]['mean']:+.{count}f}" for name, count in digits.items()}


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=True).encode() + b"\n"
