"""The statistics of an evaluation: what is shown, and how often that is wrong."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import cycle, product
from random import Random

import pytest

from prowess.evals._statistics import (
    BEFORE,
    ENOUGH,
    HARMS,
    HELPS,
    NO_DIFFERENCE,
    NOT_ENOUGH,
    Verdict,
    _sampled_test,
    bootstrap,
    case_verdict,
    chance_shown,
    enough_pairs,
    is_shown_early,
    judge_cases,
    judge_pairs,
    least_cases,
    measure_verdicts,
    paired_difference,
    sign_flip_test,
    sign_test,
)
from support.proofs import short_or_long

SHOWN = (HELPS, HARMS)


@pytest.mark.parametrize("decided", range(9))
def test_the_sign_test_counts_all_outcomes(decided: int) -> None:
    """Compared with all ways in which coins can fall."""
    for won in range(decided + 1):
        ways = [sum(coins) for coins in product((0, 1), repeat=decided)]
        extreme = [heads for heads in ways if max(heads, decided - heads) >= max(won, decided - won)]
        assert sign_test(won, decided - won) == Fraction(len(extreme), len(ways))


def test_the_sign_flip_test_counts_all_signs() -> None:
    """Compared with all signs of values with different denominators."""
    values = [Fraction(1, 3), Fraction(-1, 2), Fraction(2, 3), Fraction(0), Fraction(1), Fraction(1, 4)]
    sums = [
        sum((sign * value for sign, value in zip(signs, values, strict=True)), Fraction())
        for signs in product((1, -1), repeat=len(values))
    ]
    extreme = [total for total in sums if abs(total) >= abs(sum(values, Fraction()))]
    assert sign_flip_test(values) == Fraction(len(extreme), len(sums))


def test_with_many_possible_sums_signs_are_sampled() -> None:
    """Cases with different numbers of pairs have too many sums to count; memory and time are bounded."""
    ones = [Fraction(1)] * 40
    primes = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197)
    small = [Fraction(1, prime**4) for prime in primes]  # too small to change which sums are far from zero
    for lost, verdict in ((8, HELPS), (13, HELPS), (14, NO_DIFFERENCE), (20, NO_DIFFERENCE)):
        values = ones[lost:] + [-one for one in ones[:lost]]
        exact = float(sign_test(40 - lost, lost))
        # The signs of the small ones decide between equal sums of the large ones.
        assert float(sign_test(41 - lost, lost - 1)) - 0.02 < float(sign_flip_test(values + small)) <= exact + 0.02
        assert sign_flip_test(values) == sign_test(40 - lost, lost)
        assert case_verdict(values) == verdict
    assert sign_flip_test(values + small) == sign_flip_test(values + small)
    assert case_verdict([Fraction(1, prime) for prime in primes] * 500) == HELPS


def test_sampled_signs_are_as_those_that_are_counted() -> None:
    """Of steps that all differ, of equal ones, and of both."""
    random = Random(5)  # noqa: S311 - a simulation
    for steps in ([random.randint(1, 99) for _ in range(15)], [3] * 15, [*range(1, 11), 7, 7, 7]):
        values = [Fraction(step) * random.choice((-1, 1, 1)) for step in steps]
        exact = float(sign_flip_test(values))
        sampled = float(_sampled_test(Counter(steps), abs(int(sum(values)))))
        assert abs(sampled - exact) < 0.015


def test_many_cases_are_judged_quickly_and_alike() -> None:
    """Beyond 500 cases the interval is that of the normal distribution: as wide as that of a bootstrap."""
    random = Random(6)  # noqa: S311 - a simulation
    values = [Fraction(random.randint(-50, 70)) for _ in range(501)]
    many, few = bootstrap(values, 0), bootstrap(values[:-1], 0)
    for name in ("median", "low", "high"):
        assert abs(getattr(many, name) - getattr(few, name)) < 0.4


def test_the_sign_test_of_many_pairs_ends() -> None:
    """It is the normal distribution for many pairs: 1.96 deviations have a chance of 5 %."""
    half, deviation = 10_000, 5_000**0.5  # of 20,000 pairs
    for deviations, chance in ((1.96, 0.05), (2.576, 0.01)):
        won = round(half + deviations * deviation)
        assert abs(float(sign_test(won, 2 * half - won)) - chance) < 0.001


def test_a_difference_is_shown_before_the_end_if_it_is_large() -> None:
    """Eleven pairs in a row have the odds 2^11 / 12, above 100; ten have 2^10 / 11, below."""
    early = judge_pairs([1] * 11, 60)
    assert (early.verdict, early.stopped_after, early.won) == (HELPS, 11, 11)
    assert judge_pairs([-1] * 11, 60).verdict == HARMS
    assert judge_pairs([1] * 10, 60).verdict == NOT_ENOUGH
    # Without a planned end, all of the error is for this test: 2^8 / 9 is above 20.
    assert judge_pairs([1] * 8, 60, open_ended=True).verdict == HELPS
    assert judge_pairs([1] * 7, 60, open_ended=True).verdict == NOT_ENOUGH


def test_what_was_shown_stays_shown() -> None:
    """A run that goes on after the verdict does not change it."""
    verdict = judge_pairs([1] * 11 + [-1] * 20, 60)
    assert (verdict.verdict, verdict.stopped_after) == (HELPS, 11)


def test_the_exact_test_waits_for_the_planned_end() -> None:
    assert sign_test(6, 0) == Fraction(2, 64)  # below 4 %
    assert judge_pairs([1] * 6, 6).verdict == HELPS
    assert judge_pairs([1] * 6, 7).verdict == NOT_ENOUGH


def test_fewer_than_six_decided_pairs_show_nothing() -> None:
    """Whatever they are, and however many are tied."""
    for won in range(6):
        verdict = judge_pairs([1] * won + [0] * (30 - won), 30)
        assert verdict.verdict not in SHOWN


def test_a_small_plan_says_how_many_more_runs_are_needed() -> None:
    verdict = judge_pairs([1, 0, -1] * 8, 24)
    assert (verdict.verdict, verdict.more) == (NOT_ENOUGH, enough_pairs() - 24)
    assert judge_pairs([0, 0, 1], 60).more == 57


def test_a_plan_that_is_large_enough_says_what_it_excludes() -> None:
    verdict = judge_pairs([0] * 54 + [1, -1] * 3, 60)
    assert verdict.verdict == NO_DIFFERENCE
    assert verdict.difference is not None
    assert 0 < verdict.difference.largest < 0.15


def test_cases_are_the_unit_for_other_tasks() -> None:
    """Fewer than six that differ show nothing, and ties are ties."""
    one = Fraction(1)
    assert judge_cases([one] * 5 + [Fraction(0)] * 20, 1).verdict == NOT_ENOUGH
    assert judge_cases([one] * 6, 1).verdict == HELPS
    assert judge_cases([-one] * 6, 1).verdict == HARMS
    assert judge_cases([one] * 3 + [-one] * 3, 1).verdict == NO_DIFFERENCE
    assert judge_cases([one, -one, Fraction(0)], 1).with_changes(difference=None) == Verdict(
        verdict=NOT_ENOUGH, won=1, lost=1, tied=1
    )
    assert judge_cases([], 1).difference is None
    assert judge_pairs([], 6).difference is None


def test_the_power_is_that_of_the_rule() -> None:
    """The figures that a plan prints, compared with as many evaluations as give them to two digits."""
    assert round(chance_shown(24), 2) == 0.45
    assert round(chance_shown(60), 2) == 0.89
    assert round(chance_shown(60, 0.3, 0.7), 2) == 0.99
    assert chance_shown(0) == 0
    assert chance_shown(10**9) > 0.999
    assert chance_shown(enough_pairs() - 1) < ENOUGH <= chance_shown(enough_pairs())
    random = Random(7)  # noqa: S311 - a simulation
    shown = sum(judge_pairs(_pairs(random, 24, BEFORE, 0.8), 24).verdict == HELPS for _ in range(4000))
    assert abs(shown / 4000 - chance_shown(24)) < 0.03  # four standard deviations


def test_an_interval_contains_the_difference() -> None:
    """Of each result, and of 95 % of the samples."""
    for won, lost, tied in product(range(0, 40, 7), repeat=3):
        interval = paired_difference(won, lost, tied)
        if interval is not None:
            assert -1 <= interval.low <= interval.median <= interval.high <= 1
    random = Random(11)  # noqa: S311 - a simulation
    missed = 0
    for _ in range(2000):
        outcomes = _pairs(random, 40, 0.5, 0.7)
        interval = paired_difference(outcomes.count(1), outcomes.count(-1), outcomes.count(0))
        assert interval is not None
        missed += not interval.low <= 0.2 <= interval.high
    assert missed / 2000 < 0.07


def test_several_measures_are_corrected_for_their_number() -> None:
    """As Holm did: the smallest chance counts four times, the next one three times."""
    ten, eight, six = [Fraction(1)] * 10, [Fraction(1)] * 8, [Fraction(1)] * 6
    assert least_cases(1) == 6  # 2 of 64 are 3.1 %
    assert least_cases(4) == 8  # 4 times 2 of 256 are 3.1 %
    assert measure_verdicts({"a": six, "b": ten}) == {"a": HELPS, "b": HELPS}  # 2 times 0.2 %, then 3.1 %
    assert measure_verdicts({"a": six, "b": six}) == {"a": NOT_ENOUGH, "b": NOT_ENOUGH}  # 2 times 3.1 %
    tied = {name: [Fraction(1), Fraction(-1)] * 5 for name in "cd"}
    words = measure_verdicts({"a": eight, "b": six, **tied})
    assert words == {"a": HELPS, "b": NOT_ENOUGH, "c": NO_DIFFERENCE, "d": NO_DIFFERENCE}


def test_a_plan_without_an_end_says_what_it_excludes() -> None:
    """Once there are as many pairs as show an improvement; the exact test has no end to wait for."""
    enough = enough_pairs(open_ended=True)
    assert chance_shown(enough, open_ended=True) >= ENOUGH > chance_shown(enough - 1, open_ended=True)
    pairs = [1, 0, -1] * enough
    assert judge_pairs(pairs[:enough], 10_000, open_ended=True).verdict == NO_DIFFERENCE
    early = judge_pairs(pairs[: enough - 1], 10_000, open_ended=True)
    assert (early.verdict, early.more) == (NOT_ENOUGH, 1)
    assert judge_pairs([1] * 6, 6, open_ended=True).verdict == NOT_ENOUGH


def test_a_bootstrap_is_the_same_on_every_machine() -> None:
    """The generator of Python is specified: the same seed gives the same interval."""
    values = [Fraction(number, 3) for number in (1, 2, -1, 3, 0, 2, 1)]
    first = bootstrap(values, 5)
    assert first == bootstrap(values, 5)
    assert first.low < first.median < first.high


def _pairs(random: Random, count: int, before: float, after: float, errs: float = 0.0) -> list[int]:
    """Return outcomes of pairs; a judge that errs reports a run as the opposite."""

    def passes(rate: float) -> bool:
        return (random.random() < rate) != (random.random() < errs)

    return [passes(after) - passes(before) for _ in range(count)]


def _null(random: Random) -> list[tuple[int, int]]:
    """Return the pairs of an evaluation without an effect, as the case and the outcome, in the order of a plan."""
    cases, runs = random.randint(1, 30), random.randint(1, 10)
    errs = random.choice((0.0, 0.2))
    rates = [random.uniform(0.05, 0.95) for _ in range(cases)]
    order = [case for _ in range(runs) for case in random.sample(range(cases), cases)]
    return [(case, _pairs(random, 1, rates[case], rates[case], errs)[0]) for case in order]


def _until_shown(pairs: list[tuple[int, int]], *, open_ended: bool) -> list[tuple[int, int]]:
    """Return the pairs that run: those until the first sign of a difference."""
    won = lost = 0
    for number, (_, outcome) in enumerate(pairs, 1):
        won, lost = won + (outcome > 0), lost + (outcome < 0)
        if outcome and is_shown_early(won, lost, open_ended=open_ended):
            return pairs[:number]
    return pairs


def _means(pairs: list[tuple[int, int]]) -> list[Fraction]:
    found: dict[int, list[int]] = {}
    for case, outcome in pairs:
        found.setdefault(case, []).append(outcome)
    return [Fraction(sum(values), len(values)) for values in found.values()]


@pytest.mark.proof
@pytest.mark.parametrize("open_ended", [False, True])
def test_without_an_effect_at_most_one_verdict_of_twenty_is_wrong(open_ended: bool) -> None:
    """For any number of cases and runs, any pass rates, and a judge that errs; looked at after each pair, too.

    Beside passing there are four measures without an effect, of which one is passing again: any wrong verdict on one
    of them counts.
    """
    random, total = Random(2026), short_or_long(1_000, 10_000)  # noqa: S311 - a simulation
    wrong_pairs = wrong_cases = wrong_measures = 0
    for _ in range(total):
        planned = _null(random)
        pairs = _until_shown(planned, open_ended=open_ended)
        verdict = judge_pairs((outcome for _, outcome in pairs), len(planned), open_ended=open_ended)
        wrong_pairs += verdict.verdict in SHOWN
        means = _means(pairs)
        wrong_cases += case_verdict(means, open_ended=open_ended) in SHOWN
        noise = {f"noise {n}": [Fraction(random.choice((-3, -2, -1, 1, 2, 3))) for _ in means] for n in range(3)}
        words = measure_verdicts({"score": means, **noise}, open_ended=open_ended)
        wrong_measures += any(word in SHOWN for word in words.values())
    assert wrong_pairs / total <= 0.05
    assert wrong_cases / total <= 0.05
    assert wrong_measures / total <= 0.05


@pytest.mark.proof
def test_an_evaluation_without_an_end_errs_no_more_the_longer_it_runs() -> None:
    """A thousand pairs that are looked at one by one, and the cases when that stops."""
    random, total = Random(11), short_or_long(300, 4_000)  # noqa: S311 - a simulation
    wrong_pairs = wrong_cases = 0
    for _ in range(total):
        cases = random.randint(6, 30)
        pairs = list(zip(cycle(range(cases)), _pairs(random, 1_000, 0.5, 0.5), strict=False))
        ran = _until_shown(pairs, open_ended=True)
        wrong_pairs += len(ran) < len(pairs)
        wrong_cases += case_verdict(_means(ran), open_ended=True) in SHOWN
    assert wrong_pairs / total <= 0.05
    assert wrong_cases / total <= 0.05


@pytest.mark.proof
def test_the_right_verdict_with_sixty_pairs() -> None:
    """A skill that moves 30 % to 70 %, and one that does nothing: 95 of 100 right, at most 3 wrong."""
    random, total = Random(35), short_or_long(500, 4_000)  # noqa: S311 - a simulation
    for before, after, right in ((0.3, 0.7, HELPS), (0.7, 0.3, HARMS), (0.5, 0.5, NO_DIFFERENCE)):
        verdicts = [judge_pairs(_pairs(random, 60, before, after), 60).verdict for _ in range(total)]
        assert verdicts.count(right) / total >= 0.95, (before, after)
        wrong = sum(verdict in SHOWN and verdict != right for verdict in verdicts)
        assert wrong / total <= 0.03, (before, after)


def test_the_sign_test_looked_at_after_each_pair_would_be_wrong() -> None:
    """The reason for the martingale: a test that may stop at the first sign errs twice as often as it says."""
    random, total = Random(3), 1_000  # noqa: S311 - a simulation
    naive = ours = 0
    for _ in range(total):
        pairs = _pairs(random, 60, 0.5, 0.5)
        won = lost = 0
        signs = False
        for outcome in pairs:
            won, lost = won + (outcome > 0), lost + (outcome < 0)
            signs = signs or sign_test(won, lost) <= Fraction(5, 100)
        naive += signs
        ours += judge_pairs(pairs, 60).verdict in SHOWN
    assert naive / total > 0.08
    assert ours / total <= 0.05
