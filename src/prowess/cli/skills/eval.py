"""prowess eval: say whether the cases of a skill are sound, whether it would be found, and whether it helps."""

from __future__ import annotations

import argparse
import os
import shlex
from contextlib import ExitStack
from math import inf

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file, real_path
from prowess._internal.fs import CREATE_FLAGS, open_fd, write_all
from prowess._internal.signals import signals_as_exception
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import describe_os_error, neutral, quoted
from prowess.catalog import State
from prowess.checks import evaluate_path, find_skill_files
from prowess.cli._arguments import OptionalExtra, catalog_from_args
from prowess.cli._commands import FAILED, OK
from prowess.cli._files import place_to_write
from prowess.cli._output import Message, ProgressLine, Result, as_dicts, print_message
from prowess.cli._references import find_skill, reference_to
from prowess.errors import ConfigError, InstallError, ProwessError
from prowess.evals import (
    CLIENTS,
    DEFAULT_RUNS,
    Arms,
    Client,
    Command,
    Found,
    find_weaknesses,
    first_evals,
    judge_choices,
    judge_runs,
    make_plan,
    measure_power,
    neighbours_of,
    old_record,
    rank_skill,
    read_evals,
    read_record,
    rivals_of,
    run_pairs,
    shipped_crowd,
    usable_graders,
)
from prowess.sandbox import remove_runtime_folder, stop

from .evaluation.exports import Evaluated, check_exports, parse_export, write_exports
from .evaluation.judging import judging_notes, make_judging
from .evaluation.records import (
    GRADE,
    MERGE,
    check_record_options,
    compared,
    graded,
    merged,
    open_record,
    parse_shard,
    path_of,
    recorded_options,
    replayed,
)
from .evaluation.text import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.cli._parser import Arguments, Parser
    from prowess.evals import Agent, Evals, Plan, Recorded, Run
    from prowess.evals.judge import Judging
    from prowess.findings import Finding

EPILOG = f"""\
SKILL is a name as in `prowess activate`, or a path. Its cases are in `evals/`, in `eval.yaml` or in `tests/eval.yaml`,
in any of the forms that published skills have. `prowess eval init SKILL` writes a first file, evals/evals.json. Level 0
says what the cases cannot show; level 1 ranks the skill among others by `prowess search`, which is not what a model
does. The others are the skills that the agent sees and fifty descriptions that Prowess has, or with `--crowd` those in
a folder. Levels 0 and 1 run nothing. With `--model` a model, and with `--via` a program, runs in a fresh folder with
the files of the case and a home of its own, once with the skill in .agents/skills and once without it. CMD gets the
prompt on its standard input, its answer is its standard output, and an exit status other than 0 is a failed run.
Whether agents choose the skill follows from what the runs record, and whether it helps from pairs of runs that code
can grade, or with `--judge` a model. By default a plan has {DEFAULT_RUNS} pairs of each case."""
_INIT = "init"
_FIRST_FILE = "evals/evals.json"
_MOST_DESCRIPTION_BYTES = 64 * 1024
_MOST_RUNS = 1_000
_OF_RUNS = ("against", "all", "null", "open_ended", "max_runs", "max_time", "max_cost", "judge", "evaluator", "out")
"""Options that need an agent."""
_MOST_PAIRS = 10_000
"""Of a plan without an end."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument(
        "words",
        "SKILL",
        "the name or path of a skill; `init SKILL` writes its first cases, `grade DIR` grades recorded runs again, and "
        "`merge DIR...` joins recorded parts",
        nargs="*",
    )
    parser.value("--cases", "FILE", "read this file or folder of cases, instead of those of the skill")
    parser.value("--crowd", "DIR", "rank the skill among those in this folder")
    parser.value("--description", "FILE", "also rank it with the description in this text file, to compare both")
    parser.value(
        "--runs", "N", "plan N pairs of runs for each case (default: 3)", type=_parse_runs, default=DEFAULT_RUNS
    )
    parser.value("--model", "M", "run this model on each case, with the skill and without it; as in `prowess run`")
    parser.value("--via", "CMD", "the same with this command, or with an agent: `claude-code` or `codex`")
    parser.value("--seed", "N", "the seed of the plan (default: 0)", type=int, default=0)
    parser.flag(
        "--open-ended",
        "go on until a difference is shown or a limit is reached, whatever --runs is (with an agent, and a limit)",
    )
    parser.value(
        "--against",
        "REF",
        "compare with the skill in this folder, or as it was at this commit, branch or tag (with an agent)",
    )
    parser.flag("--all", "give both arms the other skills of the folder that the skill is in (with an agent)")
    parser.flag("--null", "compare the skill with itself, to see what chance does (with an agent)")
    parser.value("--max-runs", "N", "stop after N runs, of both arms together (with an agent)", type=_parse_max_runs)
    parser.value(
        "--max-time",
        "S",
        "stop after S seconds; a run cut off then does not count (with an agent)",
        type=_parse_amount,
    )
    parser.value("--max-cost", "X", "stop when the runs have cost X US dollars (with an agent)", type=_parse_amount)
    parser.value("--judge", "MODEL", "let this model judge what code cannot; of another family (with an agent)")
    parser.flag("--judge-same-family", "let a model judge that is of the family of the one that runs")
    parser.values("--evaluator", "FILE.py:NAME", "grade with this evaluator of `pydantic-evals` too (repeatable)")
    parser.value("--out", "DIR", "record the plan and each run in this new folder (with an agent)")
    parser.value("--resume", "DIR", "go on with the evaluation that is recorded in this folder")
    parser.value(
        "--replay",
        "DIR",
        "judge the runs that are recorded in this folder, or with SKILL the trajectories of another tool; nothing runs",
    )
    parser.value("--again", "DIR", "run the plan that is recorded in this folder with another agent, and compare")
    parser.value("--shard", "I/N", "run part I of N of the plan (with --out)", type=parse_shard)
    parser.values(
        "--export",
        "FORMAT=PATH",
        "also write agentskills, badge, html, inspect, json, junit, markdown or sarif to this path (repeatable)",
        type=parse_export,
    )
    parser.value(
        "--fail-on",
        "VERDICT",
        "exit with 1 if the verdict on the cases is `harms`, or with `not-shown` anything but `helps` (with an agent)",
        choices=("harms", "not-shown"),
    )
    parser.add_json()
    parser.discovery()


def run(args: Arguments) -> Result:
    """Evaluate a skill, judge recorded runs of it, or write its first cases.

    Raises:
        SkillNotFoundError: no such skill.
        ConfigError: a path does not exist, or the arguments contradict each other.
    """
    command = args.words[0] if len(args.words) > 1 else ""
    check_record_options(args, runs_nothing=command in (GRADE, MERGE) or (args.replay is not None and not args.words))
    if command in (GRADE, MERGE) or (args.replay is not None and not args.words):
        check_exports(args, runs=True, has_skill=False)
    if command == MERGE:
        return _judged(args, *merged(args))
    if command == GRADE:
        return _judged(args, *graded(args))
    if args.resume is not None:
        folder = path_of(args.resume)
        with old_record(folder):
            return _run_with_skill(recorded_options(args, folder, go_on=True))
    if args.again is not None:
        before = read_record(path_of(args.again))
        return _run_with_skill(recorded_options(args, before.folder, go_on=False), before)
    if args.replay is not None and not args.words:
        return _judged(args, *replayed(path_of(args.replay), None))
    if not args.words:
        raise ConfigError("missing argument: SKILL", hint="name a skill, or a recorded evaluation with `--replay`")
    return _run_with_skill(args)


def _judged(args: Arguments, plan: Plan, planned: Evals, runs: Sequence[Run], notes: Iterable[Message] = ()) -> Result:
    """Return what recorded runs show, without the skill."""
    result = _result(args, plan, planned, None, None, runs, os.getcwd())
    result.notes = notes
    return result


def _run_with_skill(args: Arguments, before: Recorded | None = None) -> Result:
    """Evaluate a skill, or write its first cases.

    Args:
        args: with the name of the skill.
        before: the same evaluation with another agent.

    Raises:
        SkillNotFoundError: no such skill.
        ConfigError: a path does not exist, or the arguments contradict each other.
    """
    is_init = args.words[0] == _INIT and len(args.words) > 1
    names = args.words[is_init:]
    if len(names) > 1:
        raise ConfigError(f"unexpected argument {quoted(names[1])}", hint="run `prowess eval` once for each skill")
    catalog = catalog_from_args(args, reference=names[0])
    skill = find_skill(catalog, names[0])
    if skill.scope == "remote":
        hint = "install it with `prowess add`, or name a folder"
        raise ConfigError(f"{quoted(skill.name)} is on a server, and has no folder", hint=hint)
    if is_init:
        return _write_first(skill, catalog)
    cases = None if args.cases is None else path_of(args.cases, catalog.cwd)
    if cases is not None and not os.path.exists(cases):
        raise ConfigError(f"`--cases`: no such file: {neutral(cases)}", hint="check the path")
    evals = read_evals(os.path.dirname(skill.real), cases)
    with ExitStack() as stack:
        return _evaluate(args, catalog, skill, evals, _other(args, evals, catalog.cwd, stack), before)


def _evaluate(
    args: Arguments, catalog: Catalog, skill: Entry, evals: Evals, other: str | None, before: Recorded | None
) -> Result:
    """Evaluate a skill.

    Raises:
        ConfigError: an option contradicts another one, or the cases.
    """
    arms = ("with", "without" if other is None else "with" if args.null else "against")
    agent = _agent(args)
    check_exports(args, runs=agent is not None or args.replay is not None, has_skill=True)
    judging = None if agent is None else make_judging(args, agent)
    if judging is not None and judging.evaluators is not None:
        evals = judging.evaluators.add_to(evals)
    planned, judge = evals, None if judging is None else judging.name
    if before is not None:
        planned = evals.with_changes(cases=tuple(case for case in evals.cases if case.id in before.plan.cases))
    elif agent is not None and not agent.says_steps:
        usable = tuple(case for case in evals.cases if usable_graders(case, judged=judge is not None))
        planned = evals.with_changes(cases=usable)
    is_new = args.open_ended and args.resume is None and before is None
    runs = _most_rounds(args, len(planned.cases)) if is_new else args.runs
    neighbours = neighbours_of(evals.folder) if args.all else []
    plan = make_plan(
        planned, runs, args.seed, arms, other, open_ended=args.open_ended, neighbours=neighbours, judge=judge
    )
    if before is not None and plan != before.plan:
        message = f"the skill or its cases are not those of {neutral(before.folder)} any more"
        raise ConfigError(message, hint="undo the change, or run both agents with `--out`")
    findings = (*evals.findings, *find_weaknesses(evals))
    found = _rank(args, catalog, skill, evals)
    done: Sequence[Run] | None = None
    notes: list[Message] = []
    if agent is not None:
        done = _run(args, agent, planned, plan, other, neighbours, catalog.cwd, judging)
    elif args.replay is not None:
        plan, planned, done, notes = replayed(path_of(args.replay), evals)
    result = _result(args, plan, planned, findings, found, done, catalog.cwd, judging, evals)
    result.notes = notes if judging is None else judging_notes(judging)
    return result if before is None or agent is None or done is None else compared(result, before, agent, done)


def _agent(args: Arguments) -> Agent | None:
    """Return what runs the cases, if anything does.

    Raises:
        ConfigError: there is no such model, or a package is missing.
    """
    if args.model is not None and args.via is not None:
        raise ConfigError("`--model` and `--via` exclude each other", hint="run one after the other")
    if args.model is None:
        return None if args.via is None else Client(args.via) if args.via in CLIENTS else Command(args.via)
    from prowess.evals import Model  # which loads asyncio

    with OptionalExtra():
        return Model(args.model)


def _other(args: Arguments, evals: Evals, cwd: str, stack: ExitStack) -> str | None:
    """Return the folder of the skill in the second arm, or `None` if that has no skill.

    Args:
        args: of the command line.
        evals: of the skill.
        cwd: the folder in which paths begin.
        stack: removes a folder that is only for this command.

    Raises:
        ConfigError: there is no skill, or the options contradict each other.
    """
    if args.via is None and args.model is None:
        for name in (*_OF_RUNS, "fail_on"):
            if getattr(args, name) not in (None, False, []) and not (name == "fail_on" and args.replay is not None):
                option = f"`--{name.replace('_', '-')}`"
                raise ConfigError(f"{option} needs `--model` or `--via`", hint="say what runs the cases")
    if args.null and args.against is not None:
        raise ConfigError("`--against` and `--null` exclude each other", hint="run one after the other")
    if args.null:
        return evals.folder
    if args.against is None:
        return None
    folder = path_of(args.against, cwd)
    if not os.path.lexists(folder):
        return _older_version(args.against, evals.folder, stack)
    if not os.path.isfile(os.path.join(folder, SKILL_FILE)):
        raise ConfigError(f"`--against`: no skill in {neutral(folder)}", hint="name the folder of a skill")
    print_message(f"`--against` is the folder {folder}")
    return folder


def _older_version(revision: str, folder: str, stack: ExitStack) -> str:
    """Return a new folder with a skill as it was at a commit.

    Raises:
        ConfigError: there is no such commit, or it does not have the skill.
    """
    from prowess.install.sources.git import write_version

    top = TemporaryDirectory("prowess-version-", temporary_directory_root())
    stack.callback(lambda: top.close())  # noqa: PLW0108 - it keeps the folder, which ends with its object
    version = os.path.join(top.path, os.path.basename(folder))
    try:
        commit = write_version(folder, revision, version)
    except InstallError as error:
        raise ConfigError(f"`--against`: no such folder, and {error}", hint=error.hint) from None
    print_message(f"`--against` is the commit {commit}")
    return version


def _most_rounds(args: Arguments, cases: int) -> int:
    """Return how many pairs of each case a plan without an end can have.

    Raises:
        ConfigError: it has no limit.
    """
    if args.max_runs is None and args.max_time is None and args.max_cost is None:
        raise ConfigError("`--open-ended` needs a limit", hint="add `--max-runs N`, `--max-time S` or `--max-cost X`")
    pairs = _MOST_PAIRS if args.max_runs is None else min(args.max_runs // 2, _MOST_PAIRS)
    return max(-(-pairs // max(cases, 1)), 1)


def _run(
    args: Arguments,
    agent: Agent,
    evals: Evals,
    plan: Plan,
    other: str | None,
    neighbours: Sequence[str],
    cwd: str,
    judging: Judging | None,
) -> tuple[Run, ...]:
    """Run an agent on the cases.

    Raises:
        ConfigError: the cases are invalid, or the agent cannot be evaluated with them.
    """
    if args.max_cost is not None and not agent.says_cost:
        message = f"what {quoted(agent.name)} costs is not known"
        raise ConfigError(message, hint="leave out `--max-cost`, and limit it with `--max-runs` or `--max-time`")
    if not evals.is_valid:
        raise ConfigError("a file of evals is invalid, so nothing runs", hint="`prowess check` shows the errors")
    if not evals.cases:
        hint = "add `expected`, or assertions with a type such as `contains` or `file-exists`, or use `--judge`"
        raise ConfigError("no case has a grader that needs no judge", hint=hint)
    if judging is not None:
        judging.check(has_limit=args.max_cost is not None)
    progress = None if args.json else ProgressLine()
    try:
        arms = Arms(
            evals, other, neighbours=neighbours, skills=agent.skills, host=agent.host, arguments=agent.arguments
        )
        with signals_as_exception(), open_record(args, agent, arms, plan, cwd) as record:
            return run_pairs(
                agent,
                arms,
                plan,
                record=record,
                most=args.max_runs,
                seconds=inf if args.max_time is None else args.max_time,
                cost=inf if args.max_cost is None else args.max_cost,
                progress=None if progress is None else lambda done, all_: progress.show(f"{done:,} of {all_:,} pairs"),
                judging=judging,
            )
    finally:
        # `__main__` ends the process with `os._exit`, which skips exit handlers.
        stop()
        remove_runtime_folder()
        if progress is not None:
            progress.clear()


def _rank(args: Arguments, catalog: Catalog, skill: Entry, evals: Evals) -> Found:
    """Return where the skill is, with its own description and that of `--description`.

    Raises:
        ConfigError: the folder or the file is missing, or there is nothing in it.
    """
    if args.crowd is None:
        seen = [entry for entry in catalog.skills if entry.state in (State.ACTIVE, State.DEFERRED)]
        others = (*seen, *shipped_crowd(skill))
    else:
        others = _crowd_of(os.path.join(catalog.cwd, os.path.expanduser(args.crowd)), catalog.host.name)
    ranks = rank_skill(skill, others, evals.cases)
    compared = None
    if args.description is not None:
        text = _description_at(os.path.join(catalog.cwd, os.path.expanduser(args.description)))
        compared = rank_skill(skill.with_changes(description=text), others, evals.cases)
    count = len({entry.real for entry in rivals_of(skill, others)})
    return Found(others=count, ranks=ranks, compared=compared)


def _crowd_of(folder: str, host: str) -> tuple[Entry, ...]:
    if not os.path.isdir(folder):
        raise ConfigError(f"`--crowd` is not a folder: {neutral(folder)}", hint="check the path")
    paths = find_skill_files(folder)[0]
    if not paths:
        raise ConfigError(f"`--crowd`: no skills in {neutral(folder)}", hint="name a folder that contains skills")
    return tuple(evaluate_path(path, host).with_changes(real=real_path(path)) for path in paths)


def _description_at(path: str) -> str:
    try:
        text = read_file(path, _MOST_DESCRIPTION_BYTES, follow=True).decode("utf-8-sig", "replace")
    except UnreadableError as error:
        message = error.message.replace(SKILL_FILE, "it")
        raise ConfigError(f"`--description`: {neutral(path)}: {message}", hint="name a text file") from None
    if not text.strip():
        raise ConfigError(f"`--description`: {neutral(path)} is empty", hint="write the new description into it")
    return " ".join(text.split())


def _parse_runs(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 4 and 0 < int(text) <= _MOST_RUNS):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {_MOST_RUNS:,}")
    return int(text)


def _parse_max_runs(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 2):
        raise argparse.ArgumentTypeError("must be a whole number from 2, the runs of one pair")
    return int(text)


def _parse_amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < inf:
        raise argparse.ArgumentTypeError("must be a number above 0")
    return amount


# ── output ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _result(
    args: Arguments,
    plan: Plan,
    planned: Evals,
    findings: tuple[Finding, ...] | None,
    found: Found | None,
    runs: Sequence[Run] | None,
    cwd: str,
    judging: Judging | None = None,
    skill: Evals | None = None,
) -> Result:
    """Return the levels, and export them: those that need runs, or the skill, are `null`."""
    outcome = None if runs is None else judge_runs(plan, runs)
    chosen = None if runs is None else judge_choices(planned.cases, runs)
    graded = len(plan.cases) - (0 if runs is None else len(plan.only_chosen))
    power = measure_power(graded, plan.runs, open_ended=plan.open_ended) if graded else None
    data = {
        "plan": plan.as_dict(),
        "sound": {
            "findings": None if findings is None else as_dicts(findings),
            "power": None if power is None else power.as_dict(),
        },
        "found": found and found.as_dict(),
        "chosen": chosen and chosen.as_dict(),
        "helps": outcome and outcome.as_dict(),
        "exposure": outcome and outcome.exposure(),
        "judge": outcome and ({**((judging and judging.as_dict()) or {}), **(outcome.judged() or {})} or None),
        "runs": {"done": outcome.done if outcome else 0, "failed": outcome.failed if outcome else 0},
    }
    verdict = outcome.pairs.verdict if outcome else "not-enough-runs"
    fails = verdict == "harms" or (verdict != "helps" and args.fail_on == "not-shown")
    text = lines(findings, power, found, outcome, chosen, cwd, planned)
    write_exports(args, Evaluated(data=data, evals=planned, runs=runs, outcome=outcome, findings=findings, skill=skill))
    return Result(data, text, FAILED if args.fail_on and fails else OK)


def _write_first(skill: Entry, catalog: Catalog) -> Result:
    """Write the first cases of a skill, unless it has a file of them.

    Raises:
        ProwessError: there is a file, or it cannot be written.
    """
    path = os.path.join(os.path.dirname(skill.real), *_FIRST_FILE.split("/"))
    if os.path.lexists(path):
        raise ProwessError(f"{neutral(path)} already exists", hint="edit it, or remove it first")
    real, _ = place_to_write("init", path, [catalog.cwd])
    name = skill.frontmatter_name or skill.folder
    try:
        os.makedirs(os.path.dirname(real), exist_ok=True)
        with open_fd(real, CREATE_FLAGS, 0o666) as fd:
            write_all(fd, first_evals(name).encode())
    except OSError as error:
        message = f"cannot write {neutral(path)}: {describe_os_error(error)}"
        raise ProwessError(message, hint="fix the permissions of its folder, or free disk space") from None
    shown = neutral(shlex.quote(reference_to(catalog, skill.name, os.path.dirname(skill.real), catalog.cwd)))
    again = f"replace its prompts with tasks of users, then run `prowess eval {shown}`"
    return Result({"name": name, "path": path}, (neutral(path), Message(again)))
