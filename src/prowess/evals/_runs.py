"""Run a program of the user's on the cases, with the skill and without it, and judge the pairs: level 3."""

from __future__ import annotations

import os
from fractions import Fraction
from math import inf
from pathlib import Path
from random import Random
from time import monotonic

from prowess._internal.files import MAX_SKILL_FILES, UnreadableError, read_file, real_path, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import PATH_LIMIT, describe_os_error, normalize_name, quoted
from prowess.catalog import discover
from prowess.errors import ConfigError
from prowess.sandbox import Limits, run
from prowess.skill import is_portable_name

from ._grade import code_graders, passes
from ._statistics import judge_cases, judge_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from ._cases import EvalCase, Evals
    from ._statistics import Verdict

    _Files = Mapping[str, tuple[bytes, bool]]

PREFIX = "prowess-eval-"
_SKILLS = ".agents/skills"
"""Where the program finds the skills of its arm, in the folder in which it starts."""
_HIDDEN = ("evals/", "eval.yaml", "eval.yml", "tests/eval.yaml", "tests/eval.yml")
"""What of a skill no run sees: its own cases; neither does it see the files that were read."""
_MOST_BYTES = 64 * 1024 * 1024
_RUN_SECONDS = 600.0
_MOST_RUN_BYTES = 1024 * 1024 * 1024
_MOST_RUN_FILES = MAX_SKILL_FILES - 1
"""Files and folders of a run, in its folder and in its home: all of them are listed to be graded."""


class Outcome(Frozen):
    """What some runs show."""

    pairs: Verdict
    """The verdict on these cases."""
    cases: Verdict
    """The verdict on tasks like these."""
    planned: int
    done: int
    """Runs that ended and were graded, of both arms."""
    installed: int
    """Those of them that had the skill."""
    failed: int
    first_failure: str = ""
    """The last line that the first failed run wrote to stderr, or how it ended."""

    def as_dict(self) -> dict[str, object]:
        """Return the verdicts in the shape of `helps` in `--json`."""
        difference = self.pairs.difference
        return {
            "on_these_cases": self.pairs.verdict,
            "on_tasks_like_these": self.cases.verdict,
            "pairs": {"won": self.pairs.won, "lost": self.pairs.lost, "tied": self.pairs.tied},
            "difference": None if difference is None else difference.as_dict(),
            "more": self.pairs.more,
        }


class Program:
    """A program that gets a prompt on its standard input and answers on its standard output.

    The skill and the files of all cases are read when this is made, so that no run changes what another one gets.

    Args:
        command: for `/bin/sh -c`.
        evals: the cases.
        other: the folder of the skill that the second arm has: an older version, or the same one to test chance. By
            default the second arm has no skill.

    Raises:
        ConfigError: a file cannot be read, the files are too large, a case brings a skill, or the arms do not differ.
    """

    def __init__(self, command: str, evals: Evals, other: str | None = None) -> None:
        self.command, self.evals, self.is_null = command, evals, other == evals.folder
        self._bytes = 0
        tops = [real_path(top) for top in (evals.folder, other) if top is not None]
        self._case_files = {os.path.relpath(real_path(file), top) for file in evals.files for top in tops}
        self._arms = (self._read_skill(evals.folder), None if other is None else self._read_skill(other))
        if self._arms[0] == self._arms[1] and not self.is_null:
            hint = "name another version; `--null` runs the same one twice, to test chance"
            raise ConfigError("the files of both versions are the same", hint=hint)
        self._fixtures = {
            id(case): {  # two files may have the same ids
                fixture.path: (self._read(fixture.source) if fixture.source else fixture.text.encode(), False)
                for fixture in case.fixtures
            }
            for case in evals.cases
        }
        self._check_arms()

    def _read_skill(self, folder: str) -> _Files:
        """Return the files of a skill that a run sees, and whether each may be executed."""
        paths = {name: os.path.join(folder, *name.split("/")) for name, _ in skill_files(folder)}
        return {
            name: (self._read(path), os.access(path, os.X_OK))
            for name, path in paths.items()
            if not name.startswith(_HIDDEN) and name not in self._case_files
        }

    def _read(self, path: str) -> bytes:
        try:
            data = read_file(path, _MOST_BYTES)
        except UnreadableError as error:
            message = f"{quoted(path, PATH_LIMIT)} cannot be read: {error.message}"
            raise ConfigError(message, hint="a file of a case must be a regular file") from None
        self._bytes += len(data)
        if self._bytes > _MOST_BYTES:
            raise ConfigError("the skill and the files of its cases have more than 64 MiB", hint="use smaller files")
        return data

    def _check_arms(self) -> None:
        """Predict what the program finds in each arm.

        Raises:
            ConfigError: the skill is not what an agent would load, or the arm without it has it too.
        """
        without_files = [case for case in self.evals.cases if not case.fixtures]
        # All cases without files have the same folder.
        for case in [*without_files[:1], *(case for case in self.evals.cases if case.fixtures)]:
            for is_first in (False, True):
                with _Folder() as folder:
                    self._fill(folder, case, is_first=is_first)
                    catalog = discover(folder.work, home=folder.home, cache=False)
                    own = normalize_name(self.evals.name)
                    seen = [entry for entry in catalog.skills if normalize_name(entry.name) == own]
                    active = [entry.real for entry in seen if entry.state == "active"]
                    place = os.path.join(real_path(folder.work), *_SKILLS.split("/"), self._name, "")
                    if self._arms[not is_first] is None:
                        if seen:
                            message = f"without the skill, {quoted(self.evals.name)} is found in {quoted(seen[0].root)}"
                            hint = f"remove it there, or from the files of case {quoted(case.id)}"
                            raise ConfigError(message, hint=hint)
                    elif not any(real.startswith(place) for real in active):
                        reason = f": {seen[0].state}, {seen[0].reason}" if seen else ""
                        message = f"an agent would not load {quoted(self.evals.name)}{reason}"
                        raise ConfigError(message, hint="`prowess check` says why")

    @property
    def _name(self) -> str:
        """The name of the folder that the skill is copied to."""
        name = self.evals.name
        return name if is_portable_name(name) else os.path.basename(self.evals.folder)

    def _fill(self, folder: _Folder, case: EvalCase, *, is_first: bool) -> None:
        """Write the files of a case, and the skill that the arm has."""
        try:
            _write(folder.work, self._fixtures[id(case)])
            _write(os.path.join(folder.work, *_SKILLS.split("/"), self._name), self._arms[not is_first] or {})
        except (OSError, ValueError) as error:
            message = f"the files of case {quoted(case.id)} cannot be written: {describe_os_error(error)}"
            raise ConfigError(
                message, hint="give each file a path of its own, which is not the folder of another"
            ) from None

    def run(
        self, case: EvalCase, number: int, *, is_first: bool, seconds: float = _RUN_SECONDS
    ) -> tuple[bool | None, str]:
        """Return whether a run passes, or `None` and why if it failed."""
        with _Folder() as folder:
            self._fill(folder, case, is_first=is_first)
            result = run(
                ["/bin/sh", "-c", self.command],
                cwd=Path(folder.work),
                stdin=case.prompt.encode(),
                sandbox="none",
                trusted=True,
                scratch=Path(folder.home),
                env={"PATH": os.environ.get("PATH", os.defpath), "PROWESS_RUN_SEED": str(number)},
                writable=[Path(folder.work), Path(folder.home)],
                limits=Limits(
                    timeout=min(seconds, _RUN_SECONDS), folder_size=_MOST_RUN_BYTES, folder_files=_MOST_RUN_FILES
                ),
            )
            if result.out_of_space:
                return None, "it wrote too many files, or too large ones"
            if result.timed_out or result.exit_code:
                lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
                ended = "it took too long" if result.timed_out else f"it ended with {result.exit_code}"
                return None, lines[-1] if lines else ended
            return passes(code_graders(case), result, folder.work, f"{_SKILLS}/{self._name}"), ""


class _Folder:
    """A fresh folder to work in, and a home beside it."""

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory(PREFIX, temporary_directory_root(contained=False))
        self.work, self.home = (os.path.join(self._folder.path, name) for name in ("work", "home"))
        for path in (self.work, self.home):
            os.mkdir(path, 0o700)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.close()


def _write(top: str, files: _Files) -> None:
    for name, (data, is_executable) in files.items():
        path = os.path.join(top, *name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(data)
        if is_executable:
            os.chmod(path, 0o700)


def run_pairs(
    program: Program,
    runs: int,
    seed: int,
    *,
    most: int | None = None,
    seconds: float = inf,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Run each case with the skill and without it, in an order from a seed, until the plan ends or a verdict is shown.

    Args:
        program: what is run.
        runs: pairs for each case.
        seed: of the order.
        most: runs at most, of both arms together.
        seconds: for all runs; what runs then is ended, and its pair does not count.
        progress: is called with the pairs that have run, and those of the plan.

    Raises:
        ConfigError: no case can be graded by code.
    """
    cases = [case for case in program.evals.cases if code_graders(case)]
    if not cases:
        hint = "add `expected`, or assertions with a type such as `contains` or `file-exists`"
        raise ConfigError("no case has a grader that needs no judge", hint=hint)
    random = Random(seed)  # noqa: S311 - the order is the same on every machine
    plan: list[tuple[int, EvalCase]] = []
    for _ in range(runs):
        round_of_cases = list(enumerate(cases))
        random.shuffle(round_of_cases)
        plan += round_of_cases
    outcomes: list[int] = []
    by_case: dict[int, list[int]] = {}
    done = installed = failed = 0
    first_failure, end, is_ended = "", monotonic() + seconds, False
    for number, (index, case) in enumerate(plan):
        if most is not None and done + failed + 2 > most:
            break
        arms = [True, False]
        random.shuffle(arms)
        passed: dict[bool, bool | None] = {}
        for is_first in arms:
            left = end - monotonic()
            if left > 0:
                passed[is_first], why = program.run(case, number, is_first=is_first, seconds=left)
                first_failure = first_failure or why
        if monotonic() >= end:
            break
        done += sum(value is not None for value in passed.values())
        installed += passed[True] is not None
        failed += sum(value is None for value in passed.values())
        if None not in passed.values():
            outcome = int(bool(passed[True])) - int(bool(passed[False]))
            outcomes.append(outcome)
            by_case.setdefault(index, []).append(outcome)
        if progress is not None:
            progress(number + 1, len(plan))
        if judge_pairs(outcomes, len(plan)).stopped_after is not None:
            break
    else:
        is_ended = True
    return Outcome(
        # At the end of the plan, pairs with a failed run are left out of it.
        pairs=judge_pairs(outcomes, len(outcomes) if is_ended else len(plan)),
        cases=judge_cases(_means(by_case), seed),
        planned=len(plan),
        done=done,
        installed=installed,
        failed=failed,
        first_failure=first_failure,
    )


def _means(by_case: Mapping[int, Sequence[int]]) -> list[Fraction]:
    return [Fraction(sum(values), len(values)) for values in by_case.values()]
