"""Keep an evaluation in a folder while it runs, so that it can go on after a crash and be replayed anywhere.

    plan.json            the plan, its digest, and the agent
    cases/3/PATH         the files of a case, as its runs found them
    runs/00012-with/     one run; it is written beside and renamed, so it is whole or it is missing
        trajectory.json  what the agent was asked and did (ATIF 1.7)
        run.json         what is known of it, the grades, and the SHA-256 of the other files
        files/PATH       what it wrote or changed
        time.json        the seconds that it took
    local.json           where skill and cases are on this machine, and the options with which it goes on
    manifest.json        at its end: the SHA-256 of what is above

The same runs leave the same bytes, except in `time.json` and `local.json`. Secrets are removed before they are written.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager, suppress
from hashlib import sha256

from prowess._internal.files import UnreadableError, is_inside, read_file, real_path
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, atomic_replace, open_fd, remove_tree, write_all
from prowess._internal.locked import locked
from prowess._internal.signals import deferred_signals
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.capabilities import remove_secrets
from prowess.errors import ConfigError
from prowess.isolation import secret_values

from ._grade import MOST_FILE_BYTES, output_files
from ._plan import pairs_of
from ._recorded import (
    CASES,
    LOCAL_FILE,
    MANIFEST_FILE,
    PLAN_FILE,
    RUN_FIELDS,
    RUNS,
    final_answer,
    read_local,
    read_one,
    read_plan_file,
    run_name,
    time_digest,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ._agents import Agent
    from ._arms import Arms
    from ._cases import EvalCase
    from ._place import Place, Ran
    from ._plan import Plan
    from ._runs import Run

_MOST_FILES = 1_000
_MOST_BYTES = 16 * 1024 * 1024
"""Of the files of one run that are kept."""
_MOST_PATH = 1_000
"""Bytes of the path of one."""
_MOST_STEPS_BYTES = 32 * 1024 * 1024
_DEPTH = 100
"""Levels of a value in the steps of an agent."""


class Record:
    """The folder of an evaluation that is running.

    Args:
        folder: of the record; absolute, and locked by `new_record` or `old_record`.
        plan: of the runs.
        agent: that runs.
        arms: what it gets.
        shard: which part of the plan runs, and of how many.
    """

    def __init__(self, folder: str, plan: Plan, agent: Agent, arms: Arms, shard: tuple[int, int] | None) -> None:
        self.folder, self.plan, self.shard = folder, plan, shard
        self._agent, self._arms = agent, arms
        secrets = secret_values(os.environ)
        self._secrets = tuple(sorted(secrets, key=lambda secret: (-len(secret), secret)))
        self._pairs = pairs_of(plan)
        self._case_files: list[dict[str, bytes]] = []
        self._changed_cases: set[int] = set()
        """Cases with a file that is not kept as it was."""
        for number, case in enumerate(arms.evals.cases):
            given = arms.files_of(case)
            kept = {path: self._clean(data, path) for path, data in given.items() if len(data) <= MOST_FILE_BYTES}
            self._case_files.append({path: data for path, data in kept.items() if data is not None})
            if self._case_files[number] != given:
                self._changed_cases.add(number)

    def start(self, local: Mapping[str, object]) -> None:
        """Write what is known before the first run; with `local.json` the evaluation has begun.

        Args:
            local: what `--resume` needs on this machine; a text with a secret is left out.

        Raises:
            ConfigError: it cannot be written, or a case has a secret of this machine.
        """
        if self._clean(self.plan.content.encode(), known_only=True) != self.plan.content.encode():
            message = "a case has the value of an environment variable that is a secret, so nothing is recorded"
            raise ConfigError(message, hint="remove it from the cases")
        with self._writing():
            self._remove_remnants()
            make_folders(self.folder)
            for number, files in enumerate(self._case_files):
                for path, data in files.items():
                    write_synced(os.path.join(self.folder, CASES, str(number), *path.split("/")), data)
            about = {
                name: None if isinstance(value, str) and self._clean_text(value) != value else value
                for name, value in local.items()
            }
            write_plan(self.folder, self.plan, self._about_agent(), about)

    def check(self) -> None:
        """Check that the plan and the agent are those of the folder, and remove what a killed process left.

        Raises:
            ConfigError: they are others.
        """
        plan, _, agent, _ = read_plan_file(self.folder)
        if plan != self.plan:
            message = f"the skill or its cases are not those of {quoted(self.folder, PATH_LIMIT)} any more"
            raise ConfigError(message, hint="start another evaluation with `--out`, or undo the change")
        if agent != self._about_agent():
            message = f"{quoted(self.folder, PATH_LIMIT)} is of another agent: {neutral(agent['name'])}"
            raise ConfigError(message, hint="start another evaluation with `--out`")
        with self._writing():
            self._remove_remnants()
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, MANIFEST_FILE))

    def _remove_remnants(self) -> None:
        """Remove what a killed process was writing."""
        with suppress(FileNotFoundError):
            for name in os.listdir(os.path.join(self.folder, RUNS)):
                if name.startswith("."):
                    remove_tree(os.path.join(self.folder, RUNS, name))
        for name in os.listdir(self.folder):
            if _is_remnant(name):
                os.unlink(os.path.join(self.folder, name))

    def get(self, pair: int, arm: int) -> Run | None:
        """Return a run that is finished already, without its answer and its steps.

        Raises:
            ConfigError: it is damaged.
        """
        if not os.path.isdir(os.path.join(self.folder, RUNS, run_name(self.plan, pair, arm))):
            return None
        try:
            return read_one(self.folder, self.plan, self._pairs[pair], arm)[0]
        except ConfigError as error:
            raise ConfigError(str(error), hint="remove the folder of this run, and `--resume` runs it again") from None

    def drop_half(self, pair: int) -> None:
        """Remove the only run of a pair of two: the files with which the other one would be compared are gone.

        Raises:
            ConfigError: it cannot be removed.
        """
        arms = self._pairs[pair].arms
        paths = [os.path.join(self.folder, RUNS, run_name(self.plan, pair, arm)) for arm in arms]
        found = [path for path in paths if os.path.isdir(path)]
        if 0 < len(found) < len(paths):
            with self._writing():
                for path in found:
                    folder, name = os.path.split(path)
                    os.rename(path, os.path.join(folder, f".{name}"))
                    remove_tree(os.path.join(folder, f".{name}"))

    def add(self, run: Run, place: Place) -> Run:
        """Keep a run that has ended, with the files in its folder, and return it as `get` does.

        Raises:
            ConfigError: it cannot be written.
        """
        name = run_name(self.plan, run.pair, run.arm)
        staged = os.path.join(self.folder, RUNS, f".{name}")
        with deferred_signals(), self._writing():
            remove_tree(staged)
            os.mkdir(staged)
            case = self._arms.evals.cases[run.case]
            files, is_whole = self._add_files(staged, run, case, place)
            trajectory, answer, is_kept = self._trajectory(name, case, run.ran)
            errors = self._clean_text(run.ran.errors.decode("utf-8", "replace"))
            known = {field: getattr(run.ran, field) for field in RUN_FIELDS}
            known["failure"] = failure = self._clean_text(run.ran.failure)
            is_whole = is_whole and is_kept and errors.encode() == run.ran.errors
            about = {
                "pair": run.pair,
                "case": case.id,
                "arm": self.plan.arms[run.arm],
                **known,
                "answer": answer,
                "has_steps": run.ran.steps is not None,
                "errors": errors,
                "grades": run.grades,
                "judged_twice": [run.asked_twice, run.agreed],
                "whole": is_whole,
                "trajectory": sha256(trajectory).hexdigest(),
                **files,
            }
            data = _json(about)
            write_synced(os.path.join(staged, "trajectory.json"), trajectory)
            write_synced(os.path.join(staged, "run.json"), data)
            time = {"seconds": run.ran.seconds, "sha256": time_digest(data, run.ran.seconds)}
            write_synced(os.path.join(staged, "time.json"), _json(time))
            _sync_folder(staged)
            os.rename(staged, os.path.join(self.folder, RUNS, name))
            _sync_folder(os.path.join(self.folder, RUNS))
        return run.with_changes(ran=run.ran.with_changes(failure=failure, answer=b"", errors=b"", steps=None))

    def finish(self) -> None:
        """Write the manifest: now the record can be replayed.

        Raises:
            ConfigError: it cannot be written.
        """
        with deferred_signals(), self._writing():
            write_manifest(self.folder, self.plan, self.shard)

    def _add_files(self, folder: str, run: Run, case: EvalCase, place: Place) -> tuple[dict[str, object], bool]:
        """Write the files that a run left; return what `run.json` says of them, and whether all of that is kept."""
        given = self._arms.files_of(case)
        kept: dict[str, str | None] = {}
        unchanged: list[str] = []
        is_whole, count, size = run.case not in self._changed_cases, 0, 0
        for path, source in output_files(place.work, self._arms.hidden_folder).items():
            try:
                data = read_file(source, max(MOST_FILE_BYTES, len(given.get(path, b""))))
            except UnreadableError:
                data = None
            if data is not None and given.get(path) == data:
                unchanged.append(path)
                continue
            cleaned = None
            if data is not None and len(data) <= MOST_FILE_BYTES and len(os.fsencode(path)) <= _MOST_PATH:
                cleaned = self._clean(data, path)
            if cleaned is not None and (count >= _MOST_FILES or size + len(cleaned) > _MOST_BYTES):
                cleaned = None
            is_whole = is_whole and cleaned is not None and cleaned == data
            kept[path] = None
            if cleaned is not None:
                count, size = count + 1, size + len(cleaned)
                kept[path] = sha256(cleaned).hexdigest()
                write_synced(os.path.join(folder, "files", *path.split("/")), cleaned)
        return {"files": kept, "unchanged": unchanged}, is_whole

    def _trajectory(self, name: str, case: EvalCase, ran: Ran) -> tuple[bytes, str | None, bool]:
        """Return the trajectory of a run, its answer if that is not in it, and whether all is kept as it is."""
        from prowess.trajectory import message_step

        answer = ran.answer.decode("utf-8", "replace")
        cleaned = self._clean_text(answer)
        steps = [message_step("user", case.prompt, "")]
        last = message_step("agent", cleaned, "")
        if ran.steps is None:
            steps.append(last)
        else:
            steps += (self._clean_value(step) for step in ran.steps)
        data = self._trajectory_file(name, steps)
        is_whole = cleaned == answer and (ran.steps is None or [*ran.steps] == steps[1:])
        if len(data) > _MOST_STEPS_BYTES:
            steps, is_whole = [steps[0], last], False
            data = self._trajectory_file(name, steps)
        return data, None if final_answer(steps) == cleaned else cleaned, is_whole

    def _trajectory_file(self, name: str, steps: list[dict[str, Any]]) -> bytes:
        from prowess.trajectory import VERSION

        head = {
            "schema_version": VERSION,
            "session_id": f"{self.plan.digest[7:19]}-{name}",
            "agent": {**self._about_agent(), "version": self._agent.version or "unknown"},
        }
        lines = (_line({"step_id": 0} | step | {"step_id": number}) for number, step in enumerate(steps, 1))
        return _line(head)[:-1] + b', "steps": [\n' + b",\n".join(lines) + b"\n]}\n"

    def _about_agent(self) -> dict[str, str]:
        return {name: self._clean_text(getattr(self._agent, name)) for name in ("name", "version")}

    def _clean(self, data: bytes, path: str = "", *, known_only: bool = False) -> bytes | None:
        if not known_only:
            return remove_secrets(data, path, self._secrets)
        for secret in self._secrets:
            data = data.replace(secret, b"")
        return data

    def _clean_text(self, text: str) -> str:
        cleaned = self._clean(text.encode("utf-8", "replace"))
        return "[removed: it has a secret]" if cleaned is None else cleaned.decode("utf-8", "replace")

    def _clean_value(self, value: Any, depth: int = 0) -> Any:
        """Return a value of JSON without secrets in its texts."""
        if isinstance(value, str):
            return self._clean_text(value)
        if depth > _DEPTH:
            return "[removed: too deep]"
        if isinstance(value, dict):
            return {self._clean_text(str(key)): self._clean_value(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean_value(item, depth + 1) for item in value]
        return value

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = f"cannot write the record {quoted(self.folder, PATH_LIMIT)}: {describe_os_error(error)}"
            raise ConfigError(message, hint="free disk space or fix its permissions, then use `--resume`") from None


@contextmanager
def new_record(folder: str, sources: tuple[str, ...]) -> Iterator[None]:
    """Make a folder for a record and lock it for the block.

    Args:
        folder: absolute; it may exist if no run is in it.
        sources: the folders of the skills, which must not contain it.

    Raises:
        ConfigError: the folder has something else, or another process uses it.
    """
    for source in sources:
        if is_inside(real_path(folder), real_path(source)):
            message = f"the record would be in the skill: {quoted(folder, PATH_LIMIT)}"
            raise ConfigError(message, hint="name a folder outside of it with `--out`")
    try:
        os.makedirs(folder, exist_ok=True)
        with _locked(folder):
            names = [name for name in os.listdir(folder) if not _is_remnant(name)]
            if LOCAL_FILE in names or not {CASES, RUNS, PLAN_FILE}.issuperset(names):
                hint = f"go on with it by `prowess eval --resume {neutral(os.path.relpath(folder))}`"
                hint = hint if LOCAL_FILE in names else "name a new folder"
                raise ConfigError(f"`--out`: {neutral(folder)} is not empty", hint=hint)
            yield
    except OSError as error:
        message = f"`--out`: cannot use {neutral(folder)}: {describe_os_error(error)}"
        raise ConfigError(message, hint="name a new folder") from None


@contextmanager
def old_record(folder: str) -> Iterator[dict[str, Any]]:
    """Lock the folder of a record for the block, and yield what it says of this machine; see `read_local`.

    Raises:
        ConfigError: it is no record, or another process uses it.
    """
    if not os.path.isdir(folder):
        raise ConfigError(f"no such folder: {neutral(folder)}", hint="check the path")
    try:
        with _locked(folder):
            yield read_local(folder)
    except OSError as error:
        message = f"cannot use {neutral(folder)}: {describe_os_error(error)}"
        raise ConfigError(message, hint="fix its permissions") from None


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    with locked(folder, wait=False) as is_locked:
        if not is_locked:
            message = f"another evaluation is running in {neutral(folder)}"
            raise ConfigError(message, hint="wait for it, or name another folder with `--out`")
        yield


def make_folders(folder: str) -> None:
    """Make the folders of a record, without what a start that was killed left in them.

    Raises:
        OSError: they cannot be made.
    """
    for name in (CASES, RUNS):
        remove_tree(os.path.join(folder, name))
        os.mkdir(os.path.join(folder, name))


def write_plan(folder: str, plan: Plan, agent: Mapping[str, str], local: Mapping[str, object]) -> None:
    """Write the plan of a record, and what it says of this machine.

    Raises:
        OSError: it cannot be written.
    """
    about = {"digest": plan.digest, "agent": dict(agent), "plan": json.loads(plan.content)}
    _replace(folder, PLAN_FILE, _json(about))
    status = os.stat(os.path.join(folder, PLAN_FILE))
    _replace(folder, LOCAL_FILE, _json({**local, "made": [status.st_ino, status.st_ctime_ns]}))


def write_manifest(folder: str, plan: Plan, shard: tuple[int, int] | None) -> None:
    """Write the manifest of a record: the SHA-256 of its files. Those of a run are in its `run.json`.

    Raises:
        OSError: a file cannot be read or written.
    """
    names = [PLAN_FILE, *(f"{RUNS}/{name}/run.json" for name in os.listdir(os.path.join(folder, RUNS)))]
    for inner, _, found in os.walk(os.path.join(folder, CASES)):
        names += (os.path.relpath(os.path.join(inner, name), folder).replace(os.sep, "/") for name in found)
    digests = {}
    for name in sorted(names):
        with open(os.path.join(folder, name), "rb") as file:
            digests[name] = sha256(file.read()).hexdigest()
    content = json.loads(plan.content)
    about = {
        "plan": plan.digest,
        "skill": content["skill"],
        "shard": None if shard is None else f"{shard[0]}/{shard[1]}",
        "files": digests,
    }
    _replace(folder, MANIFEST_FILE, _json(about))


def _replace(folder: str, name: str, data: bytes) -> None:
    atomic_replace(os.path.join(folder, name), data, mode=0o666)
    _sync_folder(folder)


_is_remnant = re.compile(r"\.[a-z.]+\.[0-9a-f]{16}\.tmp").fullmatch
"""The name of a file that a killed process has not renamed yet."""


def write_synced(path: str, data: bytes) -> None:
    """Write a new file, and its folder if that is missing, and wait until the file has reached the disk.

    Raises:
        OSError: it cannot be written.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open_fd(path, CREATE_FLAGS, 0o666) as fd:
        write_all(fd, data)
        os.fsync(fd)


def _sync_folder(path: str) -> None:
    with open_fd(path, FOLDER_FLAGS) as fd:
        os.fsync(fd)


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace")
