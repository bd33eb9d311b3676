"""Report the cases of skills as items of pytest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from ._cases import Case
    from ._expect import Failure
    from ._suite_run import SuiteRun

__all__ = ["CaseFile"]

_SUITE_RUNS = pytest.StashKey[dict[str, Any]]()


class CaseFile(pytest.File):
    """A file in `tests/cases`."""

    def __init__(self, *, folder: str, **options: Any) -> None:
        super().__init__(**options)
        self.folder = folder

    def collect(self) -> Iterator[pytest.Item]:
        """Yield its case.

        Raises:
            CollectError: a test file of the skill is invalid; then no case of the skill runs.
        """
        run = _suite_run(self.config, self.folder)
        if run.suite.findings:
            from prowess.findings import format_findings

            raise self.CollectError(format_findings(run.suite.findings))
        for case in run.suite.cases:
            if Path(case.file).name == self.path.name:
                yield CaseItem.from_parent(self, name=case.name, case=case, run=run)


def _suite_run(config: pytest.Config, folder: str) -> SuiteRun:
    """Return the run of a skill's tests, loaded once."""
    from ._cases import load_suite
    from ._suite_run import SuiteRun

    runs = config.stash.setdefault(_SUITE_RUNS, {})
    if folder not in runs:
        runs[folder] = SuiteRun(load_suite(folder), config.getoption("skill_sandbox") or "auto")
    run: SuiteRun = runs[folder]
    return run


class CaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, case: Case, run: SuiteRun, **options: Any) -> None:
        super().__init__(**options)
        self.case, self.suite_run = case, run

    def setup(self) -> None:
        """Check that the case can run; pytest reports it as an error, not as a failure, if not."""
        failure = self.suite_run.blocking_failure(self.case)
        if failure is not None:
            _fail((failure,))

    def runtest(self) -> None:
        """Run the case."""
        result = self.suite_run.run(self.case)
        for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
            if text:
                self.add_report_section("call", name, _escape_output(text))
        if result.status != "passed":
            _fail(result.failures)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the case."""
        return self.path, 0, f"{self.suite_run.suite.name}: {self.name}"


def _escape_output(text: str) -> str:
    """Escape untrusted output, so that it neither controls a terminal nor commands a CI system."""
    from prowess._internal.text import escape_ci_marks, neutral

    lines = text.removesuffix("\n").split("\n")
    return "\n".join(f"| {escape_ci_marks(neutral(line))}" for line in lines)


def _fail(failures: tuple[Failure, ...]) -> NoReturn:
    """Report failures without a traceback."""
    pytest.fail("\n".join(f"{failure.kind}: {failure.message}" for failure in failures), pytrace=False)
