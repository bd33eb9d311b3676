"""Make for `prowess eval` what grades runs beside code, and say what is known of it."""

from __future__ import annotations

from prowess._internal.text import neutral, quoted
from prowess.cli._arguments import OptionalExtra
from prowess.cli._output import Message, pluralize
from prowess.errors import ConfigError
from prowess.evals import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.cli._parser import Arguments
    from prowess.evals import Agent
    from prowess.evals.judge import Judging


def make_judging(args: Arguments, agent: Agent) -> Judging | None:
    """Return what grades runs beside code, if the user names it.

    Raises:
        ConfigError: there is no such model or evaluator, or the judge is of the family of the model that runs.
    """
    if args.judge is None and not args.evaluator:
        return None
    from prowess.evals.judge import Evaluators, Judging, ModelAsk, family_of

    evaluators = Evaluators(args.evaluator) if args.evaluator else None
    if args.judge is None:
        return Judging(None, evaluators)
    with OptionalExtra():
        ask = ModelAsk(args.judge)
    family = family_of(ask.name)
    if not isinstance(agent, Command) and family == family_of(agent.name) and not args.judge_same_family:
        message = f"the judge {quoted(ask.name)} is of the same family as {quoted(agent.name)}: {family}"
        hint = "name another model for `--judge`; `--judge-same-family` allows it"
        raise ConfigError(message, hint=hint)
    return Judging(ask, evaluators)


def judging_notes(judging: Judging) -> Iterator[Message]:
    """Yield what went wrong with a judge or an evaluator, and what the judge cost."""
    judge, evaluators = judging.judge, judging.evaluators
    if judge is not None:
        if judge.undecided:
            all_ = judge.judgments + judge.undecided
            yield Message(f"the judge gave no valid answer for {judge.undecided:,} of {all_:,} judgments")
        if judge.changed:
            text = f"{pluralize(judge.changed, 'comparison')} changed with the order, and count as ties"
            yield Message(text)
        cost = judging.cost
        yield Message(f"the judge cost {'an unknown amount' if cost is None else f'{cost:,.4f} USD'}")
    if evaluators is not None and evaluators.failures:
        failed = pluralize(evaluators.failures, "time")
        yield Message(f"an evaluator failed {failed}; the first: {neutral(evaluators.problem)}")
