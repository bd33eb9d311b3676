"""Join the parts of an evaluation that ran on several machines, and write a record again with other grades."""

from __future__ import annotations

import json
import os

from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.errors import ConfigError

from ._plan import pairs_of
from ._record import make_folders, new_record, write_manifest, write_plan, write_synced
from ._recorded import CASES, RUNS, read_local, read_run_files, read_tree, run_name, time_digest
from ._runs import outcome_of
from ._statistics import is_shown_early

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._plan import Plan
    from ._recorded import Recorded
    from ._runs import Run


class Merged:
    """The runs of several parts, as one evaluation would have them.

    Args:
        parts: of one evaluation.

    Raises:
        ConfigError: they are of different evaluations, have a run twice, or a pair is in none of them.
    """

    def __init__(self, parts: Sequence[Recorded]) -> None:
        first = parts[0]
        places: dict[tuple[int, int], tuple[Recorded, Run]] = {}
        for part in parts:
            if part.plan != first.plan or part.agent != first.agent:
                message = f"{_shown(part)} is not of the evaluation in {_shown(first)}"
                raise ConfigError(message, hint="run all parts with the same skill, cases, options and agent")
            for run in part.runs:
                other, _ = places.setdefault((run.pair, run.arm), (part, run))
                if other is not part:
                    message = f"{_shown(part)} and {_shown(other)} have the same runs"
                    raise ConfigError(message, hint="name each part once")
        self.parts, self.plan = parts, first.plan
        self.runs: list[Run] = []
        self.folders: dict[tuple[int, int], str] = {}
        won = lost = 0
        for pair in pairs_of(first.plan):
            both = []
            for arm in pair.arms:
                if (pair.number, arm) not in places:
                    message = f"a run of case {quoted(first.plan.cases[pair.case])} (pair {pair.number}) is in no part"
                    raise ConfigError(message, hint=_missing(parts))
                part, run = places.pop((pair.number, arm))
                self.folders[pair.number, arm] = part.folder
                both.append(run)
            self.runs += both
            outcome = outcome_of(both)
            won, lost = won + (outcome == 1), lost + (outcome == -1)
            if outcome and is_shown_early(won, lost, open_ended=first.plan.open_ended):
                break
        self.dropped = len(places)
        """Runs after the end that one evaluation would have had."""

    def write(self, folder: str) -> None:
        """Write the record that one evaluation would have left.

        Raises:
            ConfigError: the folder is not empty, or cannot be written.
        """
        write_record(folder, self.parts[0], self.plan, self.folders)


def write_record(
    folder: str,
    source: Recorded,
    plan: Plan,
    folders: Mapping[tuple[int, int], str],
    grades: Mapping[tuple[int, int], Sequence[bool | None]] | None = None,
) -> None:
    """Write a record with the runs of others.

    Args:
        folder: new.
        source: a record of the same skill, cases and agent.
        plan: of the runs.
        folders: the record in which each run is, by its pair and arm.
        grades: other ones for each run.

    Raises:
        ConfigError: the folder is not empty, or cannot be written; or a record is damaged.
    """
    with new_record(folder, ()):
        try:
            make_folders(folder)
            for path, data in read_tree(source.folder, [CASES]).items():
                write_synced(os.path.join(folder, CASES, *path.split("/")), data)
            for (pair, arm), other in sorted(folders.items()):
                name = run_name(plan, pair, arm)
                files = read_run_files(other, name)
                if grades is not None:
                    value = {**json.loads(files["run.json"]), "grades": [*grades[pair, arm]]}
                    seconds = json.loads(files["time.json"])["seconds"]
                    files["run.json"] = json.dumps(value, indent=1).encode() + b"\n"
                    time = {"seconds": seconds, "sha256": time_digest(files["run.json"], seconds)}
                    files["time.json"] = json.dumps(time, indent=1).encode() + b"\n"
                for path, data in files.items():
                    write_synced(os.path.join(folder, RUNS, name, *path.split("/")), data)
            local = read_local(source.folder)
            for key in ("skill", "cases", "against"):
                if isinstance(local.get(key), str):
                    local[key] = os.path.relpath(os.path.join(source.folder, local[key]), folder)
            write_plan(folder, plan, source.agent, {**local, "shard": None})
            write_manifest(folder, plan, None)
        except OSError as error:
            message = f"cannot write {quoted(folder, PATH_LIMIT)}: {describe_os_error(error)}"
            raise ConfigError(message, hint="free disk space or name another folder with `--out`") from None


def _shown(part: Recorded) -> str:
    return quoted(part.folder, PATH_LIMIT)


def _missing(parts: Sequence[Recorded]) -> str:
    """Return which parts are missing, as far as the others say it."""
    found = {part.shard for part in parts if part.shard is not None}
    count = max((int(shard.partition("/")[2]) for shard in found), default=0)
    missing = [f"{number}/{count}" for number in range(1, count + 1) if f"{number}/{count}" not in found]
    if missing:
        return f"also name the folder of part {', '.join(missing[:10])}"
    return "let each part come to its end with `prowess eval --resume`"
