"""Decide whether a difference between two arms is shown, and how likely a plan shows one.

A pair is one run with the skill and one without it, of the same case; it is won, lost or tied. Of an error of 5 %, 4
are for an exact sign test at the planned end, and 1 for stopping early, by a test that holds however often one looks:
a mixture martingale over the share of won pairs, a Bayes factor for a uniform prior (Ville's inequality; Robbins,
"Statistical methods related to the law of the iterated logarithm", 1970). Exact tests count with whole numbers.

Passing is the claim for which runs are planned, and has all of this error. What is measured beside it (score, tokens,
time, cost) is looked at together, with an error of its own that is corrected for their number (Holm, "A simple
sequentially rejective multiple test procedure", 1979): one of them can say that a skill costs more, and none of them
that it helps with its task. FDA, "Multiple Endpoints in Clinical Trials" (2022), calls them primary and secondary.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, fsum, lcm, lgamma, log, sqrt
from random import Random

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HELPS, HARMS = "helps", "harms"
NO_DIFFERENCE, NOT_ENOUGH = "no-difference-shown", "not-enough-runs"
ERROR = Fraction(5, 100)
"""The highest chance of `helps` or `harms` if the skill changes nothing."""
_EARLY_ERROR = Fraction(1, 100)
_END_ERROR = ERROR - _EARLY_ERROR
MIN_CASES = 6
"""Cases that must differ for a verdict about other tasks: with five, no outcome has a chance below 5 %."""
BEFORE, AFTER = 0.5, 0.8
"""The improvement that a plan should show: from passing half of the runs to passing four of five."""
ENOUGH = 0.8
"""The chance to show it from which on a plan is large enough to say that no such difference was shown."""
COMPARED_PAIRS = 60
"""The plan that a smaller one is compared with."""
_MOST_COMPUTED = 150
"""Pairs up to which a chance is computed; with more it is above 99.9 %."""
_RESAMPLES = 2000
_MOST_RESAMPLED = 500
"""Cases of which a mean is resampled; that of more has the normal distribution."""
_MOST_SUMS = 300_000
"""Sums of signed differences that are counted, in all steps together; of more, signs are sampled."""
_SAMPLES = 9_999
_Z = 1.959964
"""Of a two-sided interval of 95 %."""


class Difference(Frozen):
    """How much more often runs with the skill pass, from -1 to 1; or the same for scores."""

    median: float
    low: float
    high: float
    """`low` and `high` are the ends of an interval of 95 %."""

    @property
    def largest(self) -> float:
        """The largest difference, in any direction, that the runs do not exclude."""
        return max(abs(self.low), abs(self.high))

    def negated(self) -> Difference:
        """Return the difference in the other direction."""
        return Difference(median=-self.median, low=-self.high, high=-self.low)

    def as_dict(self) -> dict[str, float]:
        """Return it in the shape of `--json`."""
        return {"median": round(self.median, 4), "low": round(self.low, 4), "high": round(self.high, 4)}


class Verdict(Frozen):
    """What some runs show."""

    verdict: str
    """`helps`, `harms`, `no-difference-shown` or `not-enough-runs`."""
    won: int = 0
    lost: int = 0
    tied: int = 0
    """`won`, `lost` and `tied` count pairs, or cases by their mean."""
    difference: Difference | None = None
    """`None` without runs."""
    stopped_after: int | None = None
    """Pairs after which the difference was shown, before the planned end."""
    more: int = 0
    """About how many more pairs are needed, for `not-enough-runs`."""


# ── pairs of runs ────────────────────────────────────────────────────────────────────────────────────────────────────


def sign_test(won: int, lost: int) -> Fraction:
    """Return the chance of a result at least as one-sided, in any direction, if both are equally likely."""
    decided, most = won + lost, max(won, lost)
    ways = tail = comb(decided, most)
    for count in range(most, decided):
        ways = ways * (decided - count) // (count + 1)
        tail += ways
    return min(Fraction(2 * tail, 1 << decided), Fraction(1))


def log_evidence(won: int, lost: int) -> float:
    """Return the logarithm of the martingale: the evidence against both being equally likely, so far."""
    decided = won + lost
    return decided * log(2) + lgamma(won + 1) + lgamma(lost + 1) - lgamma(decided + 2)


def is_shown_early(won: int, lost: int, *, open_ended: bool = False) -> bool:
    """Return whether a difference is shown so far, by the test that holds however often one looks."""
    return log_evidence(won, lost) >= log(1 / (ERROR if open_ended else _EARLY_ERROR))


@lru_cache(maxsize=1 << 12)
def _least_winning(decided: int, error: Fraction) -> int:
    """Return how many decided pairs one arm must win for the exact test; more than all of them if none is enough."""
    least = decided + 1
    while least * 2 > decided and sign_test(least - 1, decided - least + 1) <= error:
        least -= 1
    return least


def judge_pairs(outcomes: Iterable[int], planned: int, *, open_ended: bool = False) -> Verdict:
    """Return the verdict on these cases.

    Args:
        outcomes: of the pairs, in the order of the plan: above zero is won by the arm with the skill, below zero lost.
        planned: how many pairs the plan has.
        open_ended: whether the plan has no end: then all of the error is for stopping early.
    """
    won = lost = tied = 0
    stopped: int | None = None
    for outcome in outcomes:
        won, lost, tied = won + (outcome > 0), lost + (outcome < 0), tied + (not outcome)
        if stopped is None and outcome and is_shown_early(won, lost, open_ended=open_ended):
            stopped, verdict = won + lost + tied, HELPS if won > lost else HARMS
    pairs = won + lost + tied
    enough = enough_pairs(open_ended=open_ended)
    if stopped is None:
        is_ended = pairs >= planned and not open_ended
        if is_ended and sign_test(won, lost) <= _END_ERROR:
            verdict = HELPS if won > lost else HARMS
        else:
            verdict = NO_DIFFERENCE if (is_ended or open_ended) and pairs >= enough else NOT_ENOUGH
    return Verdict(
        verdict=verdict,
        won=won,
        lost=lost,
        tied=tied,
        difference=paired_difference(won, lost, tied),
        stopped_after=stopped if stopped is not None and stopped < planned else None,
        more=max(enough, 0 if open_ended else planned) - pairs if verdict == NOT_ENOUGH else 0,
    )


def paired_difference(won: int, lost: int, tied: int) -> Difference | None:
    """Return the difference of the shares that pass, with an interval (Bonett and Price, 2012: one pair more each)."""
    pairs = won + lost + tied
    if not pairs:
        return None
    more, fewer = (won + 1) / (pairs + 2), (lost + 1) / (pairs + 2)
    middle, half = more - fewer, _Z * sqrt((more + fewer - (more - fewer) ** 2) / (pairs + 2))
    return Difference(median=(won - lost) / pairs, low=max(middle - half, -1.0), high=min(middle + half, 1.0))


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def chance_shown(pairs: int, before: float = BEFORE, after: float = AFTER, *, open_ended: bool = False) -> float:
    """Return the chance that a plan shows an improvement, by the rule of `judge_pairs`.

    Args:
        pairs: of the plan.
        before: the share of runs without the skill that pass.
        after: the share with it; a pair's two runs are independent.
        open_ended: whether the plan has no end; then the chance to stop within so many pairs.
    """
    pairs = min(pairs, _MOST_COMPUTED)
    gained, lost = after * (1 - before), before * (1 - after)
    decided_share = gained + lost
    if not decided_share:
        return 0.0
    chance, stopped = 0.0, 0.0
    threshold = log(1 / (ERROR if open_ended else _EARLY_ERROR))
    share = gained / decided_share
    going: dict[int, float] = {0: 1.0}  # won pairs to the chance of not having stopped
    for decided in range(pairs + 1):
        if decided:
            following: dict[int, float] = {}
            for won, weight in going.items():
                following[won + 1] = following.get(won + 1, 0.0) + weight * share
                following[won] = following.get(won, 0.0) + weight * (1 - share)
            going = {}
            for won, weight in following.items():
                if log_evidence(won, decided - won) < threshold:
                    going[won] = weight
                elif won * 2 > decided:
                    stopped += weight
        least = _least_winning(decided, _END_ERROR)
        at_end = sum(weight for won, weight in going.items() if won >= least and won * 2 > decided and not open_ended)
        chance += _binomial(pairs, decided, decided_share) * (stopped + at_end)
    return chance


def _binomial(count: int, hits: int, share: float) -> float:
    if share >= 1:
        return float(hits == count)
    logarithm = lgamma(count + 1) - lgamma(hits + 1) - lgamma(count - hits + 1)
    return exp(logarithm + hits * log(share) + (count - hits) * log(1 - share))


@lru_cache(maxsize=2)
def enough_pairs(*, open_ended: bool = False) -> int:
    """Return from how many pairs on a plan shows the improvement from `BEFORE` to `AFTER` with a chance of `ENOUGH`."""
    pairs = 1
    while chance_shown(pairs, open_ended=open_ended) < ENOUGH:
        pairs += 1
    return pairs


# ── cases ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def sign_flip_test(differences: Sequence[Fraction]) -> Fraction:
    """Return the chance of a sum at least as far from zero, if each difference had its sign by chance.

    It is exact if all differences are equally large, or few sums are possible. Else it is that of a sample of signs,
    the same on every machine, in which the observed signs count as one more.
    """
    scale = lcm(*(value.denominator for value in differences))
    steps = [abs(int(value * scale)) for value in differences if value]
    if len({*steps}) == 1:
        won = sum(value > 0 for value in differences)
        return sign_test(won, len(steps) - won)
    observed = abs(int(sum(differences) * scale))
    sums: Counter[int] = Counter({0: 1})
    counted = 0
    for step in steps:
        counted += 2 * len(sums)
        if counted > _MOST_SUMS:
            return _sampled_test(Counter(steps), observed)
        following: Counter[int] = Counter()
        for total, ways in sums.items():
            following[total + step] += ways
            following[total - step] += ways
        sums = following
    return Fraction(sum(ways for total, ways in sums.items() if abs(total) >= observed), 1 << len(steps))


def _sampled_test(steps: Counter[int], observed: int) -> Fraction:
    random, hits = Random(0), 0  # noqa: S311 - the same on every machine
    # Of several steps of one length, only how many go up matters.
    several = [(step, count) for step, count in steps.items() if count > 1]
    single = [step for step, count in steps.items() if count == 1]
    tables = [_sums_of(single[start : start + 8]) for start in range(0, len(single), 8)]
    for _ in range(_SAMPLES):
        total = sum(step * (2 * random.getrandbits(count).bit_count() - count) for step, count in several)
        total += sum(table[signs] for table, signs in zip(tables, random.randbytes(len(tables)), strict=True))
        hits += abs(total) >= observed
    return Fraction(hits + 1, _SAMPLES + 1)


def _sums_of(steps: Sequence[int]) -> list[int]:
    """Return the sum of eight steps or fewer for each byte, whose bits are their signs."""
    sums = [0]
    for place in range(8):
        step = steps[place] if place < len(steps) else 0
        sums = [total - step for total in sums] + [total + step for total in sums]
    return sums


def judge_cases(differences: Sequence[Fraction], seed: int, *, open_ended: bool = False) -> Verdict:
    """Return the verdict on tasks like these: a case is one observation, the mean of its pairs.

    Args:
        differences: one for each case: how much better its runs with the skill are, in the mean.
        seed: of the interval, which is a bootstrap by case.
        open_ended: whether the plan has no end.
    """
    return _describe_cases(differences, seed, case_verdict(differences, open_ended=open_ended))


def _describe_cases(differences: Sequence[Fraction], seed: int, verdict: str) -> Verdict:
    won, lost = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    return Verdict(
        verdict=verdict,
        won=won,
        lost=lost,
        tied=len(differences) - won - lost,
        difference=bootstrap(differences, seed) if differences else None,
    )


def case_verdict(differences: Sequence[Fraction], *, open_ended: bool = False) -> str:
    """Return the word of `judge_cases`."""
    if sign_flip_test(differences) <= _case_error(open_ended=open_ended):
        return HELPS if sum(differences) > 0 else HARMS
    enough = least_cases(1, open_ended=open_ended)
    return NO_DIFFERENCE if sum(map(bool, differences)) >= enough else NOT_ENOUGH


def _case_error(*, open_ended: bool) -> Fraction:
    """Return the error of the test over cases: what stopping by the pairs leaves, as cases are looked at then too."""
    return _EARLY_ERROR if open_ended else _END_ERROR


def judge_measures(
    measures: Mapping[str, Sequence[Fraction]], seed: int, *, open_ended: bool = False
) -> dict[str, Verdict]:
    """Return the verdicts on what is measured beside passing.

    Args:
        measures: by name, of each case how much better its runs with the skill are, in the mean.
        seed: of the intervals.
        open_ended: whether the plan has no end.
    """
    words = measure_verdicts(measures, open_ended=open_ended)
    return {name: _describe_cases(values, seed, words[name]) for name, values in measures.items()}


def measure_verdicts(measures: Mapping[str, Sequence[Fraction]], *, open_ended: bool = False) -> dict[str, str]:
    """Return the words of `judge_measures`, corrected for their number as Holm did."""
    error, enough = _case_error(open_ended=open_ended), least_cases(len(measures), open_ended=open_ended)
    chances = {name: sign_flip_test(values) for name, values in measures.items()}
    words: dict[str, str] = {}
    corrected = Fraction(0)
    for place, name in enumerate(sorted(chances, key=lambda name: chances[name])):
        values = measures[name]
        corrected = max(corrected, chances[name] * (len(chances) - place))
        if corrected <= error:
            words[name] = HELPS if sum(values) > 0 else HARMS
        else:
            words[name] = NO_DIFFERENCE if sum(map(bool, values)) >= enough else NOT_ENOUGH
    return words


def least_cases(measures: int, *, open_ended: bool = False) -> int:
    """Return how many cases must differ so that one of several measures can be shown, if they all agree."""
    cases = MIN_CASES
    while sign_test(cases, 0) * measures > _case_error(open_ended=open_ended):
        cases += 1
    return cases


def bootstrap(values: Sequence[Fraction], seed: int) -> Difference:
    """Return the mean of some values with an interval: the same on every machine."""
    plain, random = [float(value) for value in values], Random(seed)  # noqa: S311 - the same on every machine
    if len(plain) > _MOST_RESAMPLED:
        middle = fsum(plain) / len(plain)
        variance = fsum((value - middle) ** 2 for value in plain) / (len(plain) - 1)
        half = _Z * sqrt(variance / len(plain))
        return Difference(median=middle, low=middle - half, high=middle + half)
    means = sorted(sum(random.choices(plain, k=len(plain))) / len(plain) for _ in range(_RESAMPLES))
    cut = int(_RESAMPLES * float(ERROR) / 2)
    return Difference(median=means[_RESAMPLES // 2], low=means[cut], high=means[-cut - 1])
