"""Grade a run by code: what it printed, and the files that it left."""

from __future__ import annotations

import json
import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from prowess._internal.files import UnreadableError, read_file, skill_files
from prowess.sandbox import Limits, run
from prowess.testing import Case, decode_output, failures

from ._graders import python_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.sandbox import Result

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


def passes(graders: Sequence[Grader], result: Result, folder: str, skill: str) -> bool:
    """Return whether a run passes all of some graders.

    Args:
        graders: those of `code_graders`.
        result: of the program.
        folder: in which it worked. Links in it are not followed.
        skill: the path in it at which one arm has the skill: what is below it is no output.
    """
    output = decode_output(result.stdout)
    paths = [path for path, _ in skill_files(folder) if not path.startswith(f"{skill}/")]
    files = {path: os.path.join(folder, *path.split("/")) for path in paths}
    patterns: list[tuple[str, list[str], bool]] = []
    for grader in graders:
        subject, _, what = grader.kind.partition("-")
        wanted = not what.startswith("not-")
        what = what.removeprefix("not-")
        if grader.kind == "expected":
            case = Case(name="run", file="", command="", **grader.config)
            ok = not any(failures(case, result))
        elif grader.kind == "exit-success":
            ok = bool(output.strip())
        else:
            named = [file for path, file in files.items() if fnmatchcase(path, grader.path)]
            texts = [output] if subject == "output" else [_text_of(file) for file in named]
            if what == "matches":
                patterns.append((python_pattern(grader.text), texts, wanted))
                ok = bool(texts) or not wanted
            else:
                found = bool(named) if what == "exists" else any(grader.text in text for text in texts)
                ok = found is wanted
        if not ok:
            return False
    return _match_all(patterns, folder)


def _match_all(patterns: list[tuple[str, list[str], bool]], folder: str) -> bool:
    """Return whether each pattern is found, or not found, as it should be; one that takes too long fails."""
    if not patterns:
        return True
    data = json.dumps([(pattern, texts) for pattern, texts, _ in patterns])
    result = run(
        [sys.executable, "-I", "-S", "-c", _SEARCH],
        cwd=Path(folder),
        stdin=data.encode(),
        sandbox="none",
        trusted=True,
        limits=Limits(timeout=_PATTERN_SECONDS),
    )
    found = [line == b"1" for line in result.stdout.split()]
    return len(found) == len(patterns) and all(
        hit is wanted for hit, (_, _, wanted) in zip(found, patterns, strict=True)
    )


def _text_of(file: str) -> str:
    try:
        return decode_output(read_file(file, _MOST_FILE_BYTES))
    except UnreadableError:
        return ""
