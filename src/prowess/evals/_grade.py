"""Grade a run by code: what it printed, and the files that it left."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path

from prowess._internal.files import UnreadableError, package_folder, read_file, real_path, skill_files
from prowess._internal.frozen import Frozen
from prowess.sandbox import Limits, Result, run
from prowess.testing import Case, decode_output, failures

from ._graders import is_about, python_pattern
from ._step_graders import bounds_of, calls_to, grade_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ._cases import Grader
    from ._place import Ran

_STEP_KINDS = ("tool-used", "tool-order", "skill-used", "limit")
_COMMAND_SECONDS = 120.0
MOST_FILE_BYTES = 1024 * 1024
"""Of one file that is graded; a longer one contains nothing."""
_PATTERN_SECONDS = 10.0
"""Of computing, for one pattern in the files of one run."""
_SEARCH = """
import itertools, json, re, signal, sys
seconds, items = json.load(sys.stdin)
def stop(*_): raise TimeoutError
has_timer = hasattr(signal, "setitimer")
if has_timer: signal.signal(signal.SIGVTALRM, stop)
for pattern, texts, most in items:
    try:
        if has_timer: signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        hits = (1 for text in texts if re.search(pattern, text))
        found = sum(itertools.islice(hits, most))
        if has_timer: signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except Exception: found = "-"
    print(found, flush=True)
"""
"""A program that searches patterns, as one of them may take longer than any run; it prints `-` for that one."""
_MOST_BATCH = 1_000
_MOST_BATCH_CHARS = 4 * 1024 * 1024
"""Patterns of all runs that one program searches, and the characters in which it does."""


def output_files(folder: str, skill: str = "") -> dict[str, str]:
    """Return the files that a run left: the path of each in its folder, with `/`, and its absolute path.

    Args:
        folder: in which it worked, a real path. Links in it are not followed; if there is a link in its place now, it
            has no files.
        skill: the path in it at which one arm has the skill: what is below it is no output.
    """
    if real_path(folder) != folder:
        return {}
    paths = [path for path, _ in skill_files(folder) if not (skill and path.startswith(f"{skill}/"))]
    return {path: os.path.join(folder, *path.split("/")) for path in paths}


def grade(
    graders: Sequence[Grader], ran: Ran, folder: str, skill: str = "", *, name: str = "", is_alone: bool = False
) -> tuple[bool | None, ...]:
    """Return whether a run passes each grader; `None` for one that code alone cannot decide.

    Args:
        graders: of the case.
        ran: the run.
        folder: in which it worked.
        skill: as for `output_files`.
        name: as for `grade_all`.
        is_alone: as for `grade_all`.
    """
    return next(grade_all([(graders, ran, output_files(folder, skill))], name=name, is_alone=is_alone))


def grade_all(
    runs: Iterable[tuple[Sequence[Grader], Ran, Mapping[str, str]]], *, name: str = "", is_alone: bool = False
) -> Iterator[tuple[bool | None, ...]]:
    """Yield for each run whether it passes each of its graders; one program searches the patterns of many runs.

    Args:
        runs: the graders of its case, what the run did, and its files as `output_files` returns them.
        name: of the skill that is evaluated.
        is_alone: whether only one arm has the skill: that it was used, or not, is then no result.
    """
    waiting: list[list[bool | None]] = []
    patterns: list[_Pattern] = []
    chars = 0
    for graders, ran, files in runs:
        grades, found = _grade_plainly(graders, ran, files, name, is_alone=is_alone)
        waiting.append(grades)
        patterns += found
        chars += sum(len(text) for pattern in found for text in pattern.texts)
        if len(patterns) >= _MOST_BATCH or chars >= _MOST_BATCH_CHARS or not patterns:
            _match_all(patterns)
            yield from map(tuple, waiting)
            waiting, patterns, chars = [], [], 0
    _match_all(patterns)
    yield from map(tuple, waiting)


class _Pattern(Frozen, kw_only=False):
    """A pattern that is searched in texts of a run."""

    grades: list[bool | None]
    """Of the run; the result is put there."""
    number: int
    """Its place in `grades`."""
    pattern: str
    texts: list[str]
    low: float
    high: float
    """In how many of the texts it must be found, at least and at most."""

    @property
    def most(self) -> int:
        """How many texts are enough to know that."""
        return int(self.low if self.high == inf else self.high + 1)


def _grade_plainly(
    graders: Sequence[Grader], ran: Ran, files: Mapping[str, str], name: str, *, is_alone: bool
) -> tuple[list[bool | None], list[_Pattern]]:
    """Return whether a run passes each grader, and the patterns that are still to be searched."""
    output = decode_output(ran.answer)
    grades: list[bool | None] = []
    patterns: list[_Pattern] = []
    for grader in graders:
        subject, _, what = grader.kind.partition("-")
        wanted = not what.startswith("not-")
        what = what.removeprefix("not-")
        ok: bool | None = None
        if grader.kind == "tool-used" and isinstance(grader.config.get("input_match"), str):
            if ran.steps is not None:
                pattern, (low, high) = python_pattern(grader.config["input_match"]), bounds_of(grader)
                texts = calls_to(grader, ran)
                patterns.append(_Pattern(grades, len(grades), pattern, texts, low, high))
        elif grader.kind in _STEP_KINDS:
            if not (is_alone and grader.kind == "skill-used" and is_about(grader, name)):
                ok = grade_steps(grader, ran, name)
        elif grader.kind == "expected":
            ok = not any(failures(Case(name="run", file="", command="", **grader.config), _result_of(ran)))
        elif grader.kind == "exit-success":
            ok = bool(output.strip())
        elif subject in ("output", "file"):
            named = [file for path, file in files.items() if fnmatchcase(path, grader.path)]
            texts = [output] if subject == "output" else [_text_of(file) for file in named]
            if what == "matches":
                ok = not wanted
                if texts:
                    bounds = (1, inf) if wanted else (0, 0)
                    patterns.append(_Pattern(grades, len(grades), python_pattern(grader.text), texts, *bounds))
            else:
                found = bool(named) if what == "exists" else any(grader.text in text for text in texts)
                ok = found is wanted
        grades.append(ok)
    return grades, patterns


def run_check(grader: Grader, folder: str, case: str) -> bool:
    """Return whether the command of a grader ends with 0, in the sandbox.

    Args:
        grader: with the command as its text, or the path of a script.
        folder: a copy of what a run left, in which it runs.
        case: the folder with a copy of the files of the case, which it may read.

    Raises:
        SandboxError: this machine has no sandbox.
    """
    line = grader.text or f'"$PROWESS_CASE"/{shlex.quote(grader.path)}'
    if not grader.text and grader.path.endswith((".py", ".sh")):
        line = f"{'python3' if grader.path.endswith('.py') else 'sh'} {line}"
    result = run(
        ["/bin/sh", "-c", line],
        cwd=Path(folder),
        env={"PROWESS_CASE": case},
        readable=[Path(case)],
        writable=[Path(folder)],
        limits=Limits(timeout=_COMMAND_SECONDS),
    )
    return result.exit_code == 0


def _result_of(ran: Ran) -> Result:
    """Return a run as what the checks of skill tests look at."""
    more = int(ran.is_cut)
    return Result(
        exit_code=0,
        timed_out=False,
        stdout=ran.answer,
        stderr=ran.errors,
        stdout_size=len(ran.answer) + more,
        stderr_size=len(ran.errors) + more,
        duration=ran.seconds,
        killed=0,
        backend="none",
    )


def _match_all(patterns: list[_Pattern]) -> None:
    """Grade each pattern: whether it is found, or not found, as it should be; one that takes too long fails."""
    while patterns:
        data = json.dumps([_PATTERN_SECONDS, [(item.pattern, item.texts, item.most) for item in patterns]])
        result = run(
            [sys.executable, "-I", "-S", "-c", _SEARCH],
            cwd=Path(package_folder()),
            stdin=data.encode(),
            sandbox="none",
            trusted=True,
            # Without a timer only the program itself can be ended. A busy machine takes longer than a pattern computes.
            limits=Limits(timeout=_PATTERN_SECONDS * (4 * (len(patterns) + 1) if hasattr(signal, "setitimer") else 1)),
        )
        found = result.stdout.split()[: len(patterns)]
        if len(found) < len(patterns):  # the program ended in the middle: that pattern fails, the others are searched
            found.append(b"-")
        for item, word in zip(patterns, found, strict=False):
            item.grades[item.number] = word != b"-" and item.low <= int(word) <= item.high
        patterns = patterns[len(found) :]


def _text_of(file: str) -> str:
    try:
        return decode_output(read_file(file, MOST_FILE_BYTES))
    except UnreadableError:
        return ""
