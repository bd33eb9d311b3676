"""Read the record of an evaluation. Anyone may have written it: a file that does not match its digest is an error."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256

from prowess._internal.files import is_inside, read_up_to, real_path, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.fs import open_inside
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError

from ._place import Ran
from ._plan import pairs_of, read_plan
from ._runs import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ._cases import Evals
    from ._plan import Pair, Plan

PLAN_FILE, LOCAL_FILE, MANIFEST_FILE = "plan.json", "local.json", "manifest.json"
CASES, RUNS = "cases", "runs"
RUN_FIELDS: dict[str, tuple[type, ...]] = {
    "failure": (str,),
    "is_cut": (bool,),
    "offered": (bool, type(None)),
    "used": (bool, type(None)),
    "tokens": (int, type(None)),
    "cost": (float, int, type(None)),
}
"""Attributes of a `Ran` that are in `run.json` as they are, and their types."""
_MOST_JSON = 64 * 1024 * 1024
_MOST_FILE = 1024 * 1024
_MOST_OF_A_RUN = 1e12
"""Seconds, tokens or US dollars; with more, sums are no longer exact."""
_is_shard = re.compile(r"[0-9]{1,5}/[0-9]{1,5}").fullmatch
_BROKEN = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
"""What JSON with another structure raises."""


class Recorded(Frozen):
    """An evaluation that has ended."""

    folder: str
    plan: Plan
    evals: Evals
    """Its cases."""
    agent: Mapping[str, str]
    """The `name` and `version`."""
    runs: tuple[Run, ...]
    """In the order of the plan, without answers and steps."""
    shard: str | None
    """The part of the plan that it has, as in `2/8`; `None` if it has all of it."""
    whole: frozenset[tuple[int, int]]
    """The pair and arm of each run whose answer and files were kept as they were."""


def run_name(plan: Plan, pair: int, arm: int) -> str:
    """Return the name of the folder of a run."""
    name = plan.arms[arm]
    # Both arms of `--null` have one name.
    return f"{pair:05}-{name}-again" if arm and name == plan.arms[0] else f"{pair:05}-{name}"


def time_digest(data: bytes, seconds: float) -> str:
    """Return the checksum of `time.json`, which belongs to one `run.json`."""
    return sha256(data + json.dumps(seconds).encode()).hexdigest()


def final_answer(steps: Sequence[Mapping[str, Any]]) -> str:
    """Return the last message of an agent in some steps of ATIF; empty without one."""
    for step in reversed(steps):
        message = step.get("message")
        if step.get("source") == "agent" and isinstance(message, str) and message:
            return message
    return ""


def is_record(folder: str) -> bool:
    """Return whether a folder has a record of Prowess, or what is left of one."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in (PLAN_FILE, LOCAL_FILE, MANIFEST_FILE))


def read_record(folder: str) -> Recorded:
    """Return an evaluation that has ended, after all of its files were compared with their digests.

    Args:
        folder: absolute.

    Raises:
        ConfigError: it is damaged, changed, unfinished, or of another version.
    """
    if not os.path.isdir(folder):
        raise ConfigError(f"no such folder: {quoted(folder, PATH_LIMIT)}", hint="check the path")
    plan, evals, agent, plan_digest = read_plan_file(folder)
    if not os.path.lexists(os.path.join(folder, MANIFEST_FILE)):
        message = f"the evaluation in {quoted(folder, PATH_LIMIT)} has not ended: {MANIFEST_FILE} is missing"
        raise ConfigError(message, hint="go on with it by `prowess eval --resume`")
    manifest, _ = _read_json(folder, [MANIFEST_FILE])
    try:
        files, shard = {**manifest["files"]}, manifest["shard"]
        is_valid = manifest["plan"] == plan.digest and (shard is None or bool(_is_shard(shard)))
    except _BROKEN:
        is_valid = False
    if not is_valid:
        raise _damaged(folder, MANIFEST_FILE)
    if files.pop(PLAN_FILE, None) != plan_digest:
        raise _damaged(folder, PLAN_FILE)
    runs: list[Run] = []
    whole = set()
    for pair in pairs_of(plan):
        for arm in sorted(pair.arms):
            name = f"{RUNS}/{run_name(plan, pair.number, arm)}/run.json"
            if name in files:
                run, is_whole = read_one(folder, plan, pair, arm, files.pop(name))
                if len(run.grades) != (0 if run.ran.failure else len(evals.cases[run.case].graders)):
                    raise _damaged(folder, name)
                runs.append(run)
                whole |= {(pair.number, arm)} if is_whole else set()
    for path, digest in files.items():
        if not path.startswith(f"{CASES}/") or _digest(folder, path.split("/")) != digest:
            raise _damaged(folder, path)
    if len(_names(folder)) != len(runs):
        raise _damaged(folder, RUNS)
    return Recorded(
        folder=folder, plan=plan, evals=evals, agent=agent, runs=tuple(runs), shard=shard, whole=frozenset(whole)
    )


def read_plan_file(folder: str) -> tuple[Plan, Evals, dict[str, str], str]:
    """Return the plan of a record, its cases, the agent, and the SHA-256 of its file.

    Raises:
        ConfigError: it is damaged, missing, or of another version.
    """
    if not os.path.lexists(os.path.join(folder, PLAN_FILE)):
        raise ConfigError(f"{quoted(folder, PATH_LIMIT)} has no {PLAN_FILE}", hint="name a folder of `--out`")
    value, data = _read_json(folder, [PLAN_FILE])
    try:
        plan, evals = read_plan(json.dumps(value["plan"], sort_keys=True))
        agent = {name: value["agent"][name] for name in ("name", "version")}
        is_valid = plan.digest == value["digest"] and all(type(text) is str for text in agent.values())
    except ValueError as error:
        raise ConfigError(
            f"{quoted(os.path.join(folder, PLAN_FILE), PATH_LIMIT)}: {error}", hint="run the evaluation again"
        ) from None
    except _BROKEN:
        is_valid = False
    if not is_valid:
        raise _damaged(folder, PLAN_FILE)
    return plan, evals, agent, sha256(data).hexdigest()


def read_one(folder: str, plan: Plan, pair: Pair, arm: int, digest: str | None = None) -> tuple[Run, bool]:
    """Return a run without its answer and its steps, and whether it was kept as it was.

    Args:
        folder: of the record.
        plan: of it.
        pair: in the plan.
        arm: of the pair.
        digest: of `run.json`, from the manifest.

    Raises:
        ConfigError: a file of it is damaged.
    """
    parts = [RUNS, run_name(plan, pair.number, arm)]
    value, data = _read_json(folder, [*parts, "run.json"], digest)
    time, _ = _read_json(folder, [*parts, "time.json"])
    digests: dict[str, object] = {}
    try:
        known = {name: value[name] for name in RUN_FIELDS}
        grades, is_whole, seconds = tuple(value["grades"]), value["whole"], float(time["seconds"])
        asked_twice, agreed = value["judged_twice"]
        digests["trajectory.json"] = value["trajectory"]
        digests |= {f"files/{path}": digest for path, digest in value["files"].items() if digest is not None}
        is_valid = (
            all(type(known[name]) in kinds for name, kinds in RUN_FIELDS.items())
            and all(0 <= (known[name] or 0) < _MOST_OF_A_RUN for name in ("tokens", "cost"))
            and all(type(grade) in (bool, type(None)) for grade in grades)
            and type(asked_twice) is type(agreed) is int
            and 0 <= agreed <= asked_twice
            and (value["pair"], value["case"], value["arm"]) == (pair.number, plan.cases[pair.case], plan.arms[arm])
            and type(is_whole) is bool
        )
        is_timed = time["sha256"] == time_digest(data, seconds) and 0 <= seconds < _MOST_OF_A_RUN
    except _BROKEN:
        is_valid = is_timed = False
    if not is_valid or not is_timed:
        raise _damaged(folder, *parts, "run.json" if not is_valid else "time.json")
    for path, expected in digests.items():
        if _digest(folder, [*parts, *path.split("/")]) != expected:
            raise _damaged(folder, *parts, path)
    ran = Ran(**known, seconds=seconds)
    run = Run(pair=pair.number, case=pair.case, arm=arm, ran=ran, grades=grades)
    return run.with_changes(asked_twice=asked_twice, agreed=agreed), is_whole


def read_results(recorded: Recorded) -> Iterator[tuple[Ran, dict[str, str]]]:
    """Yield for each run what the agent answered and did, and its files as `output_files` returns them.

    Raises:
        ConfigError: a file of it is damaged.
    """
    top = real_path(recorded.folder)
    for run in recorded.runs:
        parts = [RUNS, run_name(recorded.plan, run.pair, run.arm)]
        value, _ = _read_json(recorded.folder, [*parts, "run.json"])
        trajectory, _ = _read_json(recorded.folder, [*parts, "trajectory.json"])
        try:
            steps = [dict(step) for step in trajectory["steps"]]
            answer = final_answer(steps) if value["answer"] is None else value["answer"]
            ran = run.ran.with_changes(
                answer=answer.encode("utf-8", "replace"),
                errors=value["errors"].encode("utf-8", "replace"),
                steps=tuple(steps[1:]) if value["has_steps"] is True else None,
            )
            places = {path: [*parts, "files"] for path in value["files"]}
            places |= {path: [CASES, str(run.case)] for path in value["unchanged"]}
            found = {path: os.path.join(top, *place, *path.split("/")) for path, place in sorted(places.items())}
            files = {path: file for path, file in found.items() if is_inside(real_path(file), top)}
        except _BROKEN:
            raise _damaged(recorded.folder, *parts, "run.json") from None
        yield ran, files


def read_run_files(folder: str, name: str) -> dict[str, bytes]:
    """Return the files of a run by their paths.

    Raises:
        ConfigError: one is missing or too large.
    """
    parts = [RUNS, name]
    value, data = _read_json(folder, [*parts, "run.json"])
    paths = ["trajectory.json", "time.json"]
    paths += (f"files/{path}" for path, digest in dict(value.get("files", {})).items() if digest is not None)
    return {"run.json": data} | {path: _read(folder, [*parts, *path.split("/")], _MOST_JSON) for path in paths}


def read_tree(folder: str, parts: list[str]) -> dict[str, bytes]:
    """Return the files below a folder of a record by their paths.

    Raises:
        ConfigError: one is a link or too large.
    """
    paths = [path for path, _ in skill_files(os.path.join(folder, *parts))]
    return {path: _read(folder, [*parts, *path.split("/")], _MOST_FILE * 2) for path in paths}


def read_local(folder: str) -> dict[str, Any]:
    """Return what a record says of this machine; nothing if it was made on another one.

    It has a command that runs, so its content counts only if the folder was not copied or unpacked.

    Raises:
        ConfigError: the evaluation has not begun.
    """
    if not os.path.lexists(os.path.join(folder, LOCAL_FILE)):
        message = f"no evaluation has begun in {quoted(folder, PATH_LIMIT)}"
        raise ConfigError(message, hint="start it with `--out`")
    value, _ = _read_json(folder, [LOCAL_FILE])
    try:
        status = os.stat(os.path.join(folder, PLAN_FILE), follow_symlinks=False)
    except OSError:
        raise _damaged(folder, PLAN_FILE) from None
    return value if value.get("made") == [status.st_ino, status.st_ctime_ns] else {}


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(os.path.join(folder, RUNS))
    except OSError:
        return []


def _read_json(folder: str, parts: list[str], digest: str | None = None) -> tuple[dict[str, Any], bytes]:
    """Return the object in a file, and the bytes of the file.

    Raises:
        ConfigError: it is invalid, or does not have the digest.
    """
    data = _read(folder, parts, _MOST_JSON)
    try:
        value = json.loads(data)
        if isinstance(value, dict) and (digest is None or sha256(data).hexdigest() == digest):
            return value, data
    except (ValueError, RecursionError):
        pass
    raise _damaged(folder, *parts)


def _digest(folder: str, parts: list[str]) -> str:
    limit = _MOST_JSON if parts[-1] == "trajectory.json" else _MOST_FILE * 2
    return sha256(_read(folder, parts, limit)).hexdigest()


def _read(folder: str, parts: Iterable[str], limit: int) -> bytes:
    """Return the content of a file, through no link.

    Raises:
        ConfigError: it is missing, too large, or something else.
    """
    names = [*parts]
    try:
        if "" in names or "." in names or ".." in names:
            raise _damaged(folder, *names)
        fd = open_inside(folder, names)
        try:
            data = read_up_to(fd, limit)
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        raise error if isinstance(error, ConfigError) else _damaged(folder, *names) from None
    if len(data) > limit:
        raise _damaged(folder, *names)
    return data


def _damaged(folder: str, *parts: str) -> ConfigError:
    message = f"{quoted(os.path.join(folder, *parts), PATH_LIMIT)} is damaged, or was changed after it was recorded"
    return ConfigError(message, hint="no verdict follows from it: copy the record again, or run the evaluation again")
