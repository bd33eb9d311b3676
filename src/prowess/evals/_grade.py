"""Grade a run by code: what it printed, and the files that it left."""

from __future__ import annotations

import json
import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from prowess._internal.files import UnreadableError, read_file, skill_files
from prowess.sandbox import Limits, Result, run
from prowess.testing import Case, decode_output, failures

from ._graders import python_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._agents import Ran
    from ._cases import EvalCase, Grader

_CODE_KINDS = ("output-", "file-", "exit-success", "expected")
_MOST_FILE_BYTES = 1024 * 1024
"""Of one file that is graded; a longer one contains nothing."""
_PATTERN_SECONDS = 10.0
_SEARCH = "import json,re,sys\nfor p,ts in json.load(sys.stdin): print(int(any(re.search(p,t) for t in ts)),flush=True)"
"""A program that searches patterns: one of them may take longer than any run, and then only this program ends."""


def code_graders(case: EvalCase) -> tuple[Grader, ...]:
    """Return the graders of a case that need neither a judge nor the steps of a run."""
    return tuple(grader for grader in case.graders if grader.kind.startswith(_CODE_KINDS))


def grade(graders: Sequence[Grader], ran: Ran, folder: str, skill: str = "") -> tuple[bool | None, ...]:
    """Return whether a run passes each grader; `None` for one that code alone cannot decide.

    Args:
        graders: of the case.
        ran: the run.
        folder: in which it worked. Links in it are not followed.
        skill: the path in it at which one arm has the skill: what is below it is no output.
    """
    output = decode_output(ran.answer)
    paths = [path for path, _ in skill_files(folder) if not (skill and path.startswith(f"{skill}/"))]
    files = {path: os.path.join(folder, *path.split("/")) for path in paths}
    grades: list[bool | None] = []
    patterns: list[tuple[int, str, list[str], bool]] = []
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
                    patterns.append((len(grades), python_pattern(grader.text), texts, wanted))
            else:
                found = bool(named) if what == "exists" else any(grader.text in text for text in texts)
                ok = found is wanted
        grades.append(ok)
    for (number, *_), found in zip(patterns, _match_all(patterns, folder), strict=True):
        grades[number] = found
    return tuple(grades)


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


def _match_all(patterns: list[tuple[int, str, list[str], bool]], folder: str) -> list[bool]:
    """Return for each pattern whether it is found, or not found, as it should be; one that takes too long fails."""
    if not patterns:
        return []
    data = json.dumps([(pattern, texts) for _, pattern, texts, _ in patterns])
    result = run(
        [sys.executable, "-I", "-S", "-c", _SEARCH],
        cwd=Path(folder),
        stdin=data.encode(),
        sandbox="none",
        trusted=True,
        limits=Limits(timeout=_PATTERN_SECONDS),
    )
    found = [line == b"1" for line in result.stdout.split()][: len(patterns)]
    hits = [hit is wanted for hit, (*_, wanted) in zip(found, patterns, strict=False)]
    return hits + [False] * (len(patterns) - len(hits))


def _text_of(file: str) -> str:
    try:
        return decode_output(read_file(file, _MOST_FILE_BYTES))
    except UnreadableError:
        return ""
