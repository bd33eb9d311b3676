"""Find the tests of skills and run them, several cases at once; results keep the order of the cases."""

from __future__ import annotations

import os
from collections import deque

from prowess._internal.files import SKILL_FILE
from prowess._internal.signals import deferred_signals
from prowess._internal.text import did_you_mean, quoted
from prowess.catalog import find_skill_files
from prowess.errors import ConfigError, SkillNotFoundError
from prowess.sandbox import CHOICES, stop

from ._cases import load_suite
from ._results import TestReport
from ._suite_run import SuiteRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._cases import Case, Suite
    from ._results import CaseResult, SkillResult

    Path = str | os.PathLike[str]
    Progress = Callable[[SkillResult, CaseResult], None]

__all__ = ["find_suites", "run_suites", "run_tests"]

_POLL_SECONDS = 0.05
"""How often the main thread checks for signals and reports progress."""
_MAX_OUTPUT_CHARS = 64 * 1024 * 1024
"""Characters of output that a run keeps; after that, only the first few of each case."""
_TRUNCATED_CHARS = 4_000


def run_tests(
    paths: Path | Iterable[Path] = ".",
    *,
    case: str | None = None,
    jobs: int = 1,
    sandbox: str = "auto",
    fail_fast: bool = False,
    progress: Progress | None = None,
) -> TestReport:
    """Run the tests of skills.

    Args:
        paths: folders of skills, or folders that contain skills.
        case: run only the cases with this name or file name.
        jobs: how many cases run at once.
        sandbox: one of `sandbox.CHOICES`.
        fail_fast: whether to stop after the first case that does not pass.
        progress: called with each result, in the caller's thread, within a twentieth of a second.

    Raises:
        SkillNotFoundError: no such path, or no such case.
        ConfigError: unknown sandbox.
    """
    path_list = [paths] if isinstance(paths, str | os.PathLike) else [*paths]
    suites = [suite for path in path_list for suite in find_suites(os.path.abspath(os.fspath(path)))]
    return run_suites(suites, case=case, jobs=jobs, sandbox=sandbox, fail_fast=fail_fast, progress=progress)


def find_suites(path: str) -> list[Suite]:
    """Return the tests of a skill, or of all skills below a folder. Skills without tests are left out.

    Raises:
        SkillNotFoundError: no such path.
    """
    files, _ = find_skill_files(path)
    suites = (load_suite(os.path.dirname(file)) for file in files if os.path.basename(file) == SKILL_FILE)
    return [suite for suite in suites if suite.cases or suite.findings]


def run_suites(
    suites: Iterable[Suite],
    *,
    case: str | None = None,
    jobs: int = 1,
    sandbox: str = "auto",
    fail_fast: bool = False,
    progress: Progress | None = None,
) -> TestReport:
    """Run loaded tests; otherwise like `run_tests`."""
    if sandbox not in CHOICES:
        hint = did_you_mean(sandbox, CHOICES, f"use one of {', '.join(CHOICES)}")
        raise ConfigError(f"unknown sandbox {quoted(sandbox)}", hint=hint)
    suites = [*{suite.path: suite for suite in suites}.values()]
    selected = {suite.path: suite.cases if case is None else suite.matching_cases(case) for suite in suites}
    if case is not None:
        _require_case(case, suites, selected)
        suites = [suite for suite in suites if selected[suite.path] or suite.findings]
    runs = [SuiteRun(suite, sandbox) for suite in suites]
    queue = [
        (suite_number, case_number, queued)
        for suite_number, suite in enumerate(suites)
        if not suite.findings
        for case_number, queued in enumerate(selected[suite.path])
    ]
    pool = _WorkerPool(runs, queue, fail_fast=fail_fast, progress=progress)
    interrupted = pool.run(jobs)
    skills = (
        suite_run.result(tuple(pool.results[key] for key in sorted(pool.results) if key[0] == number))
        for number, suite_run in enumerate(runs)
    )
    return TestReport(skills=tuple(skills), interrupted=interrupted)


def _require_case(case: str, suites: list[Suite], selected: dict[str, tuple[Case, ...]]) -> None:
    """Check that a suite has the case.

    Raises:
        SkillNotFoundError: none of them has it.
    """
    if any(selected.values()) or any(suite.findings for suite in suites):
        return
    names = (known.name for suite in suites for known in suite.cases)
    raise SkillNotFoundError(
        f"unknown case {quoted(case)}", hint=did_you_mean(case, names, "`prowess test --list` shows the cases")
    )


class _WorkerPool:
    """Threads that run cases from a queue.

    The calling thread only polls, so that Ctrl-C works at once. Workers do not wake it for each case, because that
    would take as long as a case does.
    """

    def __init__(
        self, runs: list[SuiteRun], queue: list[tuple[int, int, Case]], *, fail_fast: bool, progress: Progress | None
    ) -> None:
        self.results: dict[tuple[int, int], CaseResult] = {}
        """The number of a suite and of a case to its result."""
        self._suite_runs, self._queue = runs, deque(queue)
        self._fail_fast, self._progress = fail_fast, progress
        self._pending_progress: deque[tuple[SkillResult, CaseResult]] = deque()
        self._worker_errors: list[BaseException] = []
        self._stopped, self._output_chars = False, 0

    def run(self, jobs: int) -> bool:
        """Run all cases and return whether Ctrl-C interrupted them. No command runs after this returns or raises."""
        from threading import Thread

        workers = [Thread(target=self._run_queued, daemon=True) for _ in range(max(1, min(jobs, len(self._queue))))]
        with deferred_signals() as deliver_signals:
            try:
                for worker in workers:
                    worker.start()
                while any(worker.is_alive() for worker in workers):
                    deliver_signals()
                    next((worker for worker in workers if worker.is_alive()), workers[0]).join(_POLL_SECONDS)
                    self._report_progress()
                deliver_signals()
            except KeyboardInterrupt:
                return True
            finally:
                self._stopped = True
                self._queue.clear()
                # A worker may start its command after `stop`, so stop again until all workers have ended.
                while alive := [worker for worker in workers if worker.is_alive()]:
                    stop()
                    alive[0].join(_POLL_SECONDS)
        self._report_progress()
        for error in self._worker_errors:
            raise error
        return False

    def _run_queued(self) -> None:
        """Run cases until the queue is empty."""
        try:
            while not self._stopped:
                try:
                    suite_number, case_number, case = self._queue.popleft()
                except IndexError:
                    return
                result = self._suite_runs[suite_number].run(case)
                if self._was_stopped(result):
                    return
                self._output_chars += len(result.stdout) + len(result.stderr)
                if self._output_chars > _MAX_OUTPUT_CHARS:
                    result = result.with_changes(
                        stdout=result.stdout[:_TRUNCATED_CHARS], stderr=result.stderr[:_TRUNCATED_CHARS]
                    )
                self.results[suite_number, case_number] = result
                if self._progress is not None:
                    self._pending_progress.append((self._suite_runs[suite_number].result(), result))
                if self._fail_fast and result.status != "passed":
                    self._queue.clear()
        except BaseException as error:  # noqa: BLE001 - `run` raises it in the calling thread
            self._worker_errors.append(error)
            self._queue.clear()

    def _was_stopped(self, result: CaseResult) -> bool:
        """Return whether a case failed only because the run was stopped."""
        return self._stopped and any(failure.kind == "sandbox" for failure in result.failures)

    def _report_progress(self) -> None:
        while self._progress is not None and self._pending_progress:
            self._progress(*self._pending_progress.popleft())
