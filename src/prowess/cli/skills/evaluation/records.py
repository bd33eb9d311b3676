"""Say for `prowess eval` where runs are recorded, and with which options a recorded evaluation goes on."""

from __future__ import annotations

import argparse
import os
import shlex
from contextlib import ExitStack, contextmanager

from prowess._internal.text import neutral, quoted
from prowess.cli._files import place_to_write
from prowess.cli._output import Message, Result, format_table, pluralize
from prowess.errors import ConfigError
from prowess.evals import (
    DEFAULT_RUNS,
    Merged,
    Record,
    is_record,
    judge_runs,
    new_record,
    read_evals,
    read_foreign,
    read_local,
    read_plan_file,
    read_record,
    regrade,
    write_record,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from prowess.cli._parser import Arguments
    from prowess.evals import Agent, Arms, Evals, Plan, Recorded, Run

_JUDGING = ("judge", "judge_same_family", "evaluator")
KEPT_OPTIONS = ("via", "model", "max_runs", "max_time", "max_cost", *_JUDGING)
"""With which a recorded evaluation goes on, beside those that its plan says."""


_OF_PLAN = ("against", "all", "null", "open_ended", "shard", *KEPT_OPTIONS)
_NOT_FOR_RECORDS = (*_OF_PLAN, "crowd", "description", "resume", "again")
"""Options that count only where something runs, or is ranked."""
MERGE, GRADE = "merge", "grade"


def path_of(path: str, cwd: str = "") -> str:
    """Return the absolute path that a user means; by default it begins in the working directory."""
    return os.path.abspath(os.path.join(cwd, os.path.expanduser(path)))


def parse_shard(text: str) -> tuple[int, int]:
    """Return which part of a plan runs, and of how many: `2/8`."""
    part, slash, parts = text.partition("/")
    is_number = all(number.isascii() and number.isdigit() and len(number) < 6 for number in (part, parts))
    if not slash or not is_number or not 0 < int(part) <= int(parts):
        raise argparse.ArgumentTypeError("must be a part and the number of parts, such as 2/8")
    return int(part), int(parts)


def check_record_options(args: Arguments, *, runs_nothing: bool) -> None:
    """Check that the options about records do not contradict each other, or what is done.

    Raises:
        ConfigError: they do.
    """
    if sum(option is not None for option in (args.resume, args.replay, args.again)) > 1:
        raise ConfigError("`--resume`, `--replay` and `--again` exclude each other", hint="use one of them")
    if args.out is not None and (args.resume or args.replay):
        option = "resume" if args.resume else "replay"
        raise ConfigError(f"`--out` and `--{option}` exclude each other", hint="leave `--out` out")
    if runs_nothing:
        for name in _NOT_FOR_RECORDS:
            if getattr(args, name) not in (None, False, []):
                message = f"`--{name.replace('_', '-')}` cannot be used here, where nothing runs"
                raise ConfigError(message, hint="leave it out")
        return
    if args.shard is not None and args.out is None and args.resume is None:
        hint = "name a folder for this part; `prowess eval merge` joins the parts"
        raise ConfigError("`--shard` needs `--out`", hint=hint)


def recorded_options(args: Arguments, folder: str, *, go_on: bool) -> Arguments:
    """Return the arguments with what a record says: its skill, its cases and its plan.

    Args:
        args: of the command line, which count more where both say something.
        folder: of the record; absolute.
        go_on: whether its agent, its limits and its part of the plan count too.

    Raises:
        ConfigError: the record is damaged, or does not say enough.
    """
    plan = read_plan_file(folder)[0]
    local = read_local(folder)
    values = vars(args) | {"runs": plan.runs, "seed": plan.seed, "null": plan.arms[0] == plan.arms[1]}
    values |= {"open_ended": plan.open_ended, "all": plan.neighbours > 0}
    if args.runs not in (DEFAULT_RUNS, plan.runs) or args.seed not in (0, plan.seed) or args.null > values["null"]:
        raise ConfigError("the plan of a record cannot change", hint="leave out `--runs`, `--seed` and `--null`")
    paths = {
        name: os.path.join(folder, local[name])
        for name in ("skill", "cases", "against")
        if isinstance(local.get(name), str) and local[name]
    }
    if "against" in paths and not os.path.isdir(paths["against"]):
        paths["against"] = local["against"]
    values["words"] = args.words or [paths["skill"]] if "skill" in paths else args.words
    for name in ("cases", "against"):
        values[name] = paths.get(name) if values[name] is None else values[name]
    for name in (*KEPT_OPTIONS, "shard") if go_on else _JUDGING:
        values[name] = values[name] if values[name] not in (None, False, []) else local.get(name)
    if not values["words"] or values["via"] is values["model"] is None:
        option = "resume" if go_on else "again"
        if local and go_on:
            raise ConfigError("the command has a secret, so it is not recorded", hint="name it again with `--via`")
        if local:
            raise ConfigError("`--again` needs another agent", hint="name it with `--model` or `--via`")
        message = f"{neutral(folder)} was copied or unpacked, so its command does not run"
        raise ConfigError(message, hint=f"name skill and command: `prowess eval SKILL --{option} DIR --via CMD`")
    return argparse.Namespace(**values)


@contextmanager
def open_record(args: Arguments, agent: Agent, arms: Arms, plan: Plan, cwd: str) -> Iterator[Record | None]:
    """Yield where the runs are kept, if the options name a folder; at the end of the block the record is complete.

    Args:
        args: of the command line. With `--resume`, the caller has locked the folder.
        agent: that runs.
        arms: what it gets.
        plan: of the runs.
        cwd: the folder in which other paths of the command line begin.

    Raises:
        ConfigError: the folder cannot be used.
    """
    if args.out is None and args.resume is None:
        yield None
        return
    shard = None if args.shard is None else (args.shard[0], args.shard[1])
    with ExitStack() as stack:
        if args.resume is not None:
            folder = path_of(args.resume)
            record = Record(folder, plan, agent, arms, shard)
            record.check()
        else:
            folder, _ = place_to_write("--out", path_of(args.out), [cwd])
            against = None if args.against is None else path_of(args.against, cwd)
            paths = {"skill": arms.evals.folder}
            if against is not None and os.path.isdir(against):
                paths["against"] = against
            stack.enter_context(new_record(folder, tuple(paths.values())))
            if args.cases is not None:
                paths["cases"] = path_of(args.cases, cwd)
            record = Record(folder, plan, agent, arms, shard)
            local = {name: os.path.relpath(path, folder) for name, path in paths.items()}
            kept = {name: getattr(args, name) for name in KEPT_OPTIONS}
            record.start({"against": args.against, **local, **kept, "shard": shard})
        try:
            yield record
        except KeyboardInterrupt:
            Message(f"go on with `prowess eval --resume {neutral(shlex.quote(os.path.relpath(folder)))}`").print()
            raise
        record.finish()


def replayed(folder: str, evals: Evals | None) -> tuple[Plan, Evals, Sequence[Run], list[Message]]:
    """Return the runs in a folder: those of a record, or the trajectories of another tool.

    Args:
        folder: absolute.
        evals: the cases of the skill, which the trajectories of others need.

    Raises:
        ConfigError: a record is damaged, or there are no trajectories of the cases.
    """
    if is_record(folder) or not os.path.isdir(folder):
        recorded = read_record(folder)
        if evals is not None and evals.name != recorded.evals.name:
            message = (
                f"{neutral(folder)} has an evaluation of {quoted(recorded.evals.name)}, not of {quoted(evals.name)}"
            )
            raise ConfigError(message, hint="leave out the skill, or name that one")
        return recorded.plan, recorded.evals, recorded.runs, []
    if evals is None:
        message = f"{neutral(folder)} is no record of Prowess, so it does not say what the cases are"
        raise ConfigError(message, hint="name the skill too: `prowess eval SKILL --replay DIR`")
    found = read_foreign(folder, evals)
    left_out = [f"{pluralize(count, 'run')} {why}" for why, count in found.left_out.items()]
    if not found.evals.cases:
        message = f"no trajectory in {neutral(folder)} is of a case of {quoted(evals.name)}"
        raise ConfigError(message, hint="; ".join(left_out) or "name a folder with files of ATIF, or results.jsonl")
    notes = [Message(f"{pluralize(found.found, 'run')} found")]
    notes += (Message(f"left out: {text}") for text in left_out)
    if missing := len(evals.cases) - len(found.evals.cases):
        notes.append(Message(f"left out: {pluralize(missing, 'case')} without a trajectory"))
    return found.plan, found.evals, found.runs, notes


def merged(args: Arguments) -> tuple[Plan, Evals, Sequence[Run], list[Message]]:
    """Join the parts of an evaluation into one record.

    Raises:
        ConfigError: they do not belong together, or the record cannot be written.
    """
    if args.out is None:
        raise ConfigError("`prowess eval merge` needs `--out`", hint="name a new folder for all parts together")
    parts = Merged([read_record(path_of(word)) for word in args.words[1:]])
    folder, _ = place_to_write("--out", path_of(args.out))
    parts.write(folder)
    notes = []
    if parts.dropped:
        text = f"left out {pluralize(parts.dropped, 'run')} after the pair at which one evaluation would have ended"
        notes.append(Message(text))
    return parts.plan, parts.parts[0].evals, parts.runs, notes


def graded(args: Arguments) -> tuple[Plan, Evals, Sequence[Run], list[Message]]:
    """Grade the runs of a record again.

    Raises:
        ConfigError: the record or the cases cannot be used.
    """
    if len(args.words) > 2:
        raise ConfigError(f"unexpected argument {quoted(args.words[2])}", hint="grade one record at a time")
    recorded = read_record(path_of(args.words[1]))
    cases = None
    if args.cases is not None:
        path = path_of(args.cases)
        if not os.path.exists(path):
            raise ConfigError(f"`--cases`: no such file: {neutral(path)}", hint="check the path")
        skill = read_local(recorded.folder).get("skill")
        folder = os.path.dirname(path) if skill is None else os.path.join(recorded.folder, skill)
        evals = read_evals(folder, path, recorded.evals.name)
        if not evals.is_valid:
            hint = f"`prowess eval SKILL --cases {neutral(shlex.quote(args.cases))}` shows the errors"
            raise ConfigError("a file of evals is invalid", hint=hint)
        cases = evals.cases
    found = regrade(recorded, cases)
    if args.out is not None:
        grades = {(run.pair, run.arm): run.grades for run in found.runs}
        folder, _ = place_to_write("--out", path_of(args.out))
        write_record(folder, recorded, found.plan, dict.fromkeys(grades, recorded.folder), grades)
    notes = [Message(f"{pluralize(found.changed, 'run')} of {len(found.runs):,} graded otherwise than before")]
    if found.partial:
        text = f"{pluralize(found.partial, 'run')} not kept as a whole: a grader that is the same keeps its grade there"
        notes.append(Message(text))
    if found.missing:
        text = f"{pluralize(len(found.missing), 'case')} not in the file, or with another prompt: their graders stay"
        notes.append(Message(text))
    return found.plan, found.evals, found.runs, notes


def compared(result: Result, before: Recorded, agent: Agent, runs: Sequence[Run]) -> Result:
    """Return the result of `--again` with what the other agent had shown, and whether the skill is still needed."""
    old, outcome = judge_runs(before.plan, before.runs), judge_runs(before.plan, runs)
    needed = _STILL_NEEDED[outcome.pairs.verdict]
    about = {"agent": before.agent["name"], "helps": old.as_dict(), "still_needed": needed}
    rows = [("AGENT", "ON THESE CASES", "WON", "LOST", "TIED")]
    for name, found in ((before.agent["name"], old), (agent.name, outcome)):
        pairs = found.pairs
        rows.append((name, pairs.verdict, f"{pairs.won:,}", f"{pairs.lost:,}", f"{pairs.tied:,}"))
    as_dict: Any = result.as_dict
    text = (*result.text, "", *format_table(rows), f"still needed: {needed.replace('-', ' ')}")
    return Result({**as_dict, "before": about}, text, result.code)


_STILL_NEEDED = {"helps": "yes", "harms": "no", "no-difference-shown": "no", "not-enough-runs": "not-shown"}
