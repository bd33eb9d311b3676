"""Show as text what `prowess eval` found."""

from __future__ import annotations

from prowess._internal.text import neutral, quoted
from prowess.cli._output import Message, finding_lines, format_table, pluralize, wrap_for_terminal
from prowess.evals import least_cases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.evals import Chosen, Difference, Evals, Found, Measure, Outcome, Power, Rank
    from prowess.findings import Finding


_MOST_CONSTANT = 10
"""Graders that are the same in all runs, of which each has a line."""
_UNITS = {"score": "{:+z.2f}", "tokens": "{:+z,.0f}", "time": "{:+z,.2f} s", "cost": "{:+z,.4f} USD"}


def lines(
    findings: tuple[Finding, ...] | None,
    power: Power | None,
    found: Found | None,
    outcome: Outcome | None,
    chosen: Chosen | None,
    cwd: str,
    planned: Evals,
) -> Iterator[str]:
    """Yield what each level found.

    Args:
        findings: of level 0; `None` without the skill, as `found`.
        power: of the plan; `None` without cases.
        found: of level 1.
        outcome: of the runs, if there are some.
        chosen: how often the skill was used; `None` if that is not known.
        cwd: the directory that paths are relative to.
        planned: the cases of the plan.
    """
    if findings is not None and found is not None:
        yield from _lines_of_skill(findings, power, found, chosen, cwd)
        if power is None and chosen is None:
            return
        yield from () if outcome is None else [""]
    if outcome is None:
        yield Message("not measured: whether agents choose it, and whether the result is better with it")
        return
    yield from _chosen_lines(outcome, chosen)
    yield from _verdict_lines(outcome, planned)
    if chosen is None:
        yield Message("not measured: whether agents choose it, which a command does not say")


def _lines_of_skill(
    findings: tuple[Finding, ...], power: Power | None, found: Found, chosen: Chosen | None, cwd: str
) -> Iterator[str]:
    yield from finding_lines(findings, base=cwd)
    if power is None:
        yield Message("no cases")
        return
    if findings:
        yield ""
    yield f"sound: {pluralize(len(findings), 'finding') if findings else 'no findings'}"
    yield from wrap_for_terminal(f"  {power.sentence}", "    ")
    if (left_out := len(found.ranks) - power.cases) > 0:
        what = "" if chosen is None else ", run with the skill alone to see whether it is chosen"
        yield f"  left out: {pluralize(left_out, 'case')} that code alone cannot grade{what}"
    yield f"found: among {pluralize(found.others, 'other skill')}, by `prowess search`"
    yield from _counts("", found.ranks)
    if found.compared is not None:
        yield from _counts("with the other description ", found.compared)
    wrong = [rank for rank in found.ranks if not rank.is_right]
    if wrong:
        rows = [("CASE", "SHOULD", "RANK", "CONFUSED WITH", "WORDS THAT BOTH CLAIM")]
        rows += [
            (
                rank.case.id,
                "use it" if rank.case.triggers else "not use it",
                str(rank.rank or "-"),
                rank.rival or "-",
                ", ".join(rank.words),
            )
            for rank in wrong
        ]
        yield ""
        yield from format_table(rows)


def _chosen_lines(outcome: Outcome, chosen: Chosen | None) -> Iterator[str]:
    """Yield how often the skill was there, shown and used, so that "never used" is not "used without effect"."""
    if chosen is None:
        return
    yield "chosen: used in " + " and in ".join(
        f"{used:,} of {pluralize(runs, 'run')} that {should}"
        for used, runs, should in (
            (chosen.used, chosen.should, "should use it"),
            (chosen.used_wrongly, chosen.should_not, "should not"),
        )
        if runs
    )
    for name, share in (("precision", chosen.precision), ("recall", chosen.recall)):
        if share is not None:
            low, high = share.interval
            yield f"  {name} {share.count / share.of * 100:.0f} %, from {low * 100:.0f} to {high * 100:.0f}"
    counts = {"installed": outcome.installed, "offered": outcome.offered, "used": outcome.used}
    yield "  " + ", ".join(f"{word} in {count:,}" for word, count in counts.items() if count is not None)


_VERDICTS = {
    "helps": "it helps",
    "harms": "it harms",
    "no-difference-shown": "no difference shown",
    "not-enough-runs": "not enough runs",
}


def _verdict_lines(outcome: Outcome, planned: Evals) -> Iterator[str]:
    """Yield the verdicts, each with what it rests on."""
    pairs, cases = outcome.pairs, outcome.cases
    words = _VERDICTS[pairs.verdict]
    if pairs.difference is not None and pairs.verdict == "no-difference-shown":
        words = f"no difference larger than {pairs.difference.largest * 100:.0f} points shown"
    yield f"on these cases: {words}" + (f" (about {pairs.more:,} more pairs)" if pairs.more else "")
    counts = f"{pairs.won:,} won, {pairs.lost:,} lost, {pairs.tied:,} tied"
    of_all = "" if outcome.open_ended else f" of {outcome.planned:,}"
    yield f"  {pluralize(pairs.won + pairs.lost + pairs.tied, 'pair')}{of_all}: {counts}"
    if pairs.difference is not None:
        yield f"  passes more often by {_points(pairs.difference)}"
    words = _VERDICTS[cases.verdict]
    if cases.difference is not None and cases.verdict == "no-difference-shown":
        words = f"no difference larger than {cases.difference.largest * 100:.0f} points shown"
    elif cases.verdict == "not-enough-runs":
        words = f"not enough cases ({least_cases(1, open_ended=outcome.open_ended)} must differ)"
    yield f"on tasks like these: {words}"
    counts = f"{cases.won:,} better, {cases.lost:,} worse, {cases.tied:,} equal"
    yield f"  {pluralize(cases.won + cases.lost + cases.tied, 'case')}: {counts}"
    if difference := cases.difference:
        yield f"  passes more often by {_points(difference)}"
    if outcome.measures:
        yield "beside passing, each case once:"
    for name, measure in outcome.measures.items():
        least = least_cases(len(outcome.measures), open_ended=outcome.open_ended)
        yield f"  {name}: {_measure_line(name, measure, least)}"
    yield from _constant_lines(outcome, planned)
    if outcome.judge is not None:
        agreed = f"{outcome.agreed:,} of {outcome.asked_twice:,}" if outcome.asked_twice else "not known"
        yield f"judge: {neutral(outcome.judge)}, agreement with itself: {agreed}"
    if outcome.neighbours:
        yield f"in both arms: {pluralize(outcome.neighbours, 'other skill')} of the same folder"
    if outcome.failed:
        yield Message(f"{pluralize(outcome.failed, 'run')} failed; the first: {neutral(outcome.first_failure)}")


def _points(difference: Difference) -> str:
    low, middle, high = (difference.low, difference.median, difference.high)
    return f"{middle * 100:+.0f} points, from {low * 100:+.0f} to {high * 100:+.0f}"


def _measure_line(name: str, measure: Measure, least: int) -> str:
    verdict, difference, unit = measure.verdict.verdict, measure.difference, _UNITS[name]
    words = _VERDICTS[verdict]
    if verdict == "not-enough-runs":
        words = f"not enough cases ({least} must differ)"
    if difference is None:
        return words
    if verdict == "no-difference-shown":
        words = f"no difference larger than {unit.format(difference.largest).removeprefix('+')} shown"
    ends = f"from {unit.format(difference.low)} to {unit.format(difference.high)}"
    medians = " and ".join(unit.format(value).removeprefix("+") for value in measure.medians)
    return f"{words}; {unit.format(difference.median)} a run, {ends} (medians {medians})"


def _constant_lines(outcome: Outcome, planned: Evals) -> Iterator[str]:
    """Name the graders that are the same in all runs of both arms."""
    if outcome.constant:
        yield "the same in all runs of both arms, so they show nothing about the skill:"
    for grade in outcome.constant[:_MOST_CONSTANT]:
        grader = planned.cases[grade.case].graders[grade.grader]
        what = quoted(grader.text or grader.path or grader.kind)
        yield f"  {neutral(grade.id)}: {what} {'passes' if grade.passed else 'fails'} in {pluralize(grade.runs, 'run')}"
    if len(outcome.constant) > _MOST_CONSTANT:
        yield f"  ... and {len(outcome.constant) - _MOST_CONSTANT:,} more"


def _counts(which: str, ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield how often the skill is first: where it should be, and where it should not."""
    must = [rank for rank in ranks if rank.case.triggers]
    must_not = [rank for rank in ranks if not rank.case.triggers]
    if must:
        first = sum(rank.is_right for rank in must)
        yield f"  {which}first for {first} of {pluralize(len(must), 'prompt')} that should use it"
    if must_not:
        first = sum(not rank.is_right for rank in must_not)
        yield f"  {which}first for {first} of {pluralize(len(must_not), 'prompt')} that should not"
