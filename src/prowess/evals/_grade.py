"""Grade a run by code: what it printed, and the files that it left."""

from __future__ import annotations

import json
import os
import signal
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from prowess._internal.files import UnreadableError, package_folder, read_file, skill_files
from prowess._internal.frozen import Frozen
from prowess.sandbox import Limits, Result, run
from prowess.testing import Case, decode_output, failures

from ._graders import python_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ._agents import Ran
    from ._cases import EvalCase, Grader

_CODE_KINDS = ("output-", "file-", "exit-success", "expected")
_MOST_FILE_BYTES = 1024 * 1024
"""Of one file that is graded; a longer one contains nothing."""
_PATTERN_SECONDS = 10.0
"""Of computing, for one pattern in the files of one run."""
_SEARCH = """
import json, re, signal, sys
seconds, items = json.load(sys.stdin)
def stop(*_): raise TimeoutError
has_timer = hasattr(signal, "setitimer")
if has_timer: signal.signal(signal.SIGVTALRM, stop)
for pattern, texts in items:
    try:
        if has_timer: signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        found = int(any(re.search(pattern, text) for text in texts))
        if has_timer: signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except Exception: found = "-"
    print(found, flush=True)
"""
"""A program that searches patterns, as one of them may take longer than any run; it prints `-` for that one."""
_MOST_BATCH = 1_000
_MOST_BATCH_CHARS = 4 * 1024 * 1024
"""Patterns of all runs that one program searches, and the characters in which it does."""


def code_graders(case: EvalCase) -> tuple[Grader, ...]:
    """Return the graders of a case that need neither a judge nor the steps of a run."""
    return tuple(grader for grader in case.graders if grader.kind.startswith(_CODE_KINDS))


def output_files(folder: str, skill: str = "") -> dict[str, str]:
    """Return the files that a run left: the path of each in its folder, with `/`, and its absolute path.

    Args:
        folder: in which it worked. Links in it are not followed.
        skill: the path in it at which one arm has the skill: what is below it is no output.
    """
    paths = [path for path, _ in skill_files(folder) if not (skill and path.startswith(f"{skill}/"))]
    return {path: os.path.join(folder, *path.split("/")) for path in paths}


def grade(graders: Sequence[Grader], ran: Ran, folder: str, skill: str = "") -> tuple[bool | None, ...]:
    """Return whether a run passes each grader; `None` for one that code alone cannot decide.

    Args:
        graders: of the case.
        ran: the run.
        folder: in which it worked.
        skill: as for `output_files`.
    """
    return next(grade_all([(graders, ran, output_files(folder, skill))]))


def grade_all(
    runs: Iterable[tuple[Sequence[Grader], Ran, Mapping[str, str]]],
) -> Iterator[tuple[bool | None, ...]]:
    """Yield for each run whether it passes each of its graders; one program searches the patterns of many runs.

    Args:
        runs: the graders of its case, what the run did, and its files as `output_files` returns them.
    """
    waiting: list[list[bool | None]] = []
    patterns: list[_Pattern] = []
    chars = 0
    for graders, ran, files in runs:
        grades, found = _grade_plainly(graders, ran, files)
        waiting.append(grades)
        patterns += found
        chars += sum(len(text) for pattern in found for text in pattern.texts)
        if len(patterns) >= _MOST_BATCH or chars >= _MOST_BATCH_CHARS or not patterns:
            _match_all(patterns)
            yield from map(tuple, waiting)
            waiting, patterns, chars = [], [], 0
    _match_all(patterns)
    yield from map(tuple, waiting)


class _Pattern(Frozen):
    """A pattern that is searched in texts of a run."""

    grades: list[bool | None]
    """Of the run; the result is put there."""
    number: int
    """Its place in `grades`."""
    pattern: str
    texts: list[str]
    wanted: bool


def _grade_plainly(
    graders: Sequence[Grader], ran: Ran, files: Mapping[str, str]
) -> tuple[list[bool | None], list[_Pattern]]:
    """Return whether a run passes each grader, and the patterns that are still to be searched."""
    output = decode_output(ran.answer)
    grades: list[bool | None] = []
    patterns: list[_Pattern] = []
    for grader in graders:
        subject, _, what = grader.kind.partition("-")
        wanted = not what.startswith("not-")
        what = what.removeprefix("not-")
        ok: bool | None
        if not grader.kind.startswith(_CODE_KINDS):
            ok = None
        elif grader.kind == "expected":
            ok = not any(failures(Case(name="run", file="", command="", **grader.config), _result_of(ran)))
        elif grader.kind == "exit-success":
            ok = bool(output.strip())
        else:
            named = [file for path, file in files.items() if fnmatchcase(path, grader.path)]
            texts = [output] if subject == "output" else [_text_of(file) for file in named]
            if what == "matches":
                ok = not wanted
                if texts:
                    pattern = python_pattern(grader.text)
                    patterns.append(
                        _Pattern(grades=grades, number=len(grades), pattern=pattern, texts=texts, wanted=wanted)
                    )
            else:
                found = bool(named) if what == "exists" else any(grader.text in text for text in texts)
                ok = found is wanted
        grades.append(ok)
    return grades, patterns


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
        data = json.dumps([_PATTERN_SECONDS, [(item.pattern, item.texts) for item in patterns]])
        result = run(
            [sys.executable, "-I", "-S", "-c", _SEARCH],
            cwd=Path(package_folder()),
            stdin=data.encode(),
            sandbox="none",
            trusted=True,
            # Without a timer only the program itself can be ended.
            limits=Limits(timeout=_PATTERN_SECONDS * (len(patterns) + 1 if hasattr(signal, "setitimer") else 1)),
        )
        found = result.stdout.split()[: len(patterns)]
        if len(found) < len(patterns):  # the program ended in the middle: that pattern fails, the others are searched
            found.append(b"-")
        for item, word in zip(patterns, found, strict=False):
            item.grades[item.number] = word == (b"1" if item.wanted else b"0")
        patterns = patterns[len(found) :]


def _text_of(file: str) -> str:
    try:
        return decode_output(read_file(file, _MOST_FILE_BYTES))
    except UnreadableError:
        return ""
