"""cases -> results

Every case runs in a fresh copy of its skill and a contained process; several may run at once, and the order of the
results is that of the cases.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from time import perf_counter

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.signals import deferred_signals
from prowess._internal.text import nearest_names, quoted
from prowess.catalog import evaluate_path, find_skill_files
from prowess.errors import ConfigError, SandboxError, SkillError, SkillNotFoundError
from prowess.sandbox import CHOICES, Limits, Result, find_backend, run, stop
from prowess.session import Trust

from ._cases import Case, Suite, load_suite
from ._expect import Failure, decode_output, failures
from ._workspace import fixture_error, scan_contents, workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prowess.findings import Finding
    from prowess.sandbox import Backend

    from ._workspace import SkillContents

    Path = str | os.PathLike[str]
    Progress = Callable[["SkillResult", "CaseResult"], None]

__all__ = ["STATUSES", "CaseResult", "SkillResult", "SuiteRun", "TestReport", "run_suites", "run_tests", "find_suites"]

STATUSES = ("passed", "failed", "error", "timeout")
"""What becomes of a case: as expected; not so; it could not be run; its time was up."""


class CaseResult(Frozen):
    """What became of one case."""

    case: Case
    status: str
    """One of `STATUSES`."""
    duration: float = 0.0
    """Seconds of its command."""
    exit_code: int | None = None
    """None where it did not end by itself."""
    failures: tuple[Failure, ...] = ()
    stdout: str = ""
    """Its beginning, of at most 1 MiB, and less once all cases wrote much; what is not UTF-8 is shown as U+FFFD."""
    stderr: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `test --json`."""
        return {
            "name": self.case.name,
            "file": self.case.file,
            "status": self.status,
            "duration": round(self.duration, 6),
            "exit_code": self.exit_code,
            "failures": [failure.as_dict() for failure in self.failures],
            "stdout": self.stdout,
            "stderr": self.stderr,
        }


class SkillResult(Frozen):
    """What became of the cases of one skill."""

    name: str
    path: str
    """Its folder, absolute."""
    cases: tuple[CaseResult, ...] = ()
    """Those that ran; none where anything is wrong with one."""
    findings: tuple[Finding, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `test --json`."""
        return {
            "name": self.name,
            "path": self.path,
            "cases": [case.as_dict() for case in self.cases],
            "findings": [item.as_dict() for item in self.findings],
        }


class TestReport(Frozen):
    """What became of all cases."""

    __test__ = False  # pytest takes every class of such a name for tests

    skills: tuple[SkillResult, ...] = ()
    interrupted: bool = False
    """Whether cases were left out because the run was broken off."""

    @property
    def counts(self) -> dict[str, int]:
        """How many skills there are, how many cases ran, and how many there are of each status."""
        found = Counter(case.status for skill in self.skills for case in skill.cases)
        return {"skills": len(self.skills), "cases": found.total(), **{status: found[status] for status in STATUSES}}

    @property
    def exit_code(self) -> int:
        """0 where all passed, 1 where a case did not, 2 where a file of the tests is wrong."""
        if any(skill.findings for skill in self.skills):
            return 2
        return int(any(case.status != "passed" for skill in self.skills for case in skill.cases))

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `test --json`."""
        skills = [skill.as_dict() for skill in self.skills]
        return {"skills": skills, "interrupted": self.interrupted, "counts": self.counts}


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
        paths: skills' folders, or folders above them.
        case: a case's name, or its file's; of other cases none is run.
        jobs: how many run at once.
        sandbox: one of `sandbox.CHOICES`.
        fail_fast: whether none is begun any more once one has not passed.
        progress: called with each result, in the caller's thread, a twentieth of a second later at most.

    Raises:
        SkillNotFoundError: there is no such path, or no such case.
        ConfigError: there is no such sandbox.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else [*paths]
    suites = [suite for path in given for suite in find_suites(os.path.abspath(os.fspath(path)))]
    return run_suites(suites, case=case, jobs=jobs, sandbox=sandbox, fail_fast=fail_fast, progress=progress)


def find_suites(path: str) -> list[Suite]:
    """Return the tests of a skill, or of all skills below a folder; those without any are left out.

    Raises:
        SkillNotFoundError: there is no such path.
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
    """Run tests that were read; the rest is as in `run_tests`."""
    if sandbox not in CHOICES:
        near = nearest_names(sandbox, CHOICES)
        hint = f"did you mean `{near[0]}`?" if near else f"choose one of {', '.join(CHOICES)}"
        raise ConfigError(f"unknown sandbox {quoted(sandbox)}", hint=hint)
    suites = [*{suite.path: suite for suite in suites}.values()]
    chosen = {suite.path: suite.cases if case is None else suite.matching_cases(case) for suite in suites}
    if case is not None:
        _require_case(case, suites, chosen)
        suites = [suite for suite in suites if chosen[suite.path] or suite.findings]
    work = [SuiteRun(suite, sandbox) for suite in suites]
    waiting = [
        (at, number, one)
        for at, suite in enumerate(suites)
        if not suite.findings
        for number, one in enumerate(chosen[suite.path])
    ]
    hands = _WorkerPool(work, waiting, fail_fast=fail_fast, progress=progress)
    interrupted = hands.run(jobs)
    done = hands.results
    skills = (work[at].result(tuple(done[key] for key in sorted(done) if key[0] == at)) for at in range(len(work)))
    return TestReport(skills=tuple(skills), interrupted=interrupted)


class _WorkerPool:
    """Threads that run cases, each taking the next one that waits.

    Whoever called only waits, so that Ctrl-C is heard at once; nobody wakes it for each case, for that would cost as
    much as a case does.
    """

    def __init__(
        self, work: list[SuiteRun], waiting: list[tuple[int, int, Case]], *, fail_fast: bool, progress: Progress | None
    ) -> None:
        self.results: dict[tuple[int, int], CaseResult] = {}
        self._suite_runs, self._queue = work, deque(waiting)
        self._fail_fast, self._progress = fail_fast, progress
        self._pending_progress: deque[tuple[SkillResult, CaseResult]] = deque()
        self._worker_errors: list[BaseException] = []
        self._stopped, self._output_chars = False, 0

    def run(self, jobs: int) -> bool:
        """Run all cases; say whether that was broken off. Whatever happens, nothing runs when this is left."""
        from threading import Thread

        hands = [Thread(target=self._run_queued, daemon=True) for _ in range(max(1, min(jobs, len(self._queue))))]
        with deferred_signals() as answer:
            try:
                for hand in hands:
                    hand.start()
                while any(hand.is_alive() for hand in hands):
                    answer()
                    next((hand for hand in hands if hand.is_alive()), hands[0]).join(_POLL_SECONDS)
                    self._report_progress()
                answer()
            except KeyboardInterrupt:
                return True
            finally:
                self._stopped = True
                self._queue.clear()
                # One that was just about to start a command when all were stopped has it running now.
                while alive := [hand for hand in hands if hand.is_alive()]:
                    stop()
                    alive[0].join(_POLL_SECONDS)
        self._report_progress()
        for bug in self._worker_errors:
            raise bug
        return False

    def _run_queued(self) -> None:
        """Run cases until none waits."""
        try:
            while not self._stopped:
                try:
                    at, number, case = self._queue.popleft()
                except IndexError:
                    return
                result = self._suite_runs[at].run(case)
                if self._was_stopped(result):
                    return
                self._output_chars += len(result.stdout) + len(result.stderr)
                if self._output_chars > _MAX_OUTPUT_CHARS:
                    result = result.with_changes(
                        stdout=result.stdout[:_TRUNCATED_CHARS], stderr=result.stderr[:_TRUNCATED_CHARS]
                    )
                self.results[at, number] = result
                if self._progress is not None:
                    self._pending_progress.append((self._suite_runs[at].result(), result))
                if self._fail_fast and result.status != "passed":
                    self._queue.clear()
        except BaseException as error:  # noqa: BLE001 - it is raised where somebody can see it
            self._worker_errors.append(error)
            self._queue.clear()

    def _was_stopped(self, result: CaseResult) -> bool:
        """Say whether a result is what became of a case by being stopped."""
        return self._stopped and any(failure.kind == "sandbox" for failure in result.failures)

    def _report_progress(self) -> None:
        while self._progress is not None and self._pending_progress:
            self._progress(*self._pending_progress.popleft())


_POLL_SECONDS = 0.05
"""Seconds after which whoever waits looks whether a signal came."""
_MAX_OUTPUT_CHARS = 64 * 1024 * 1024
"""Characters of what all cases wrote; beyond that only the first few of each are kept."""
_TRUNCATED_CHARS = 4_000


def _require_case(case: str, suites: list[Suite], chosen: dict[str, tuple[Case, ...]]) -> None:
    """See that a case is there.

    Raises:
        SkillNotFoundError: it is not.
    """
    if any(chosen.values()) or any(suite.findings for suite in suites):
        return
    near = nearest_names(case, (one.name for suite in suites for one in suite.cases))
    hint = f"did you mean {quoted(near[0])}?" if near else "`prowess test --list` shows the cases"
    raise SkillNotFoundError(f"there is no case {quoted(case)}", hint=hint)


class SuiteRun:
    """The tests of one skill, while they run."""

    def __init__(self, suite: Suite, sandbox: str) -> None:
        self.suite = suite
        self._sandbox = sandbox
        self._backend: Backend | Failure | None = None
        self._contents: SkillContents | Failure | None = None

    def result(self, cases: tuple[CaseResult, ...] = ()) -> SkillResult:
        """Return what became of the skill's cases."""
        suite = self.suite
        return SkillResult(name=suite.name, path=suite.path, cases=cases, findings=suite.findings)

    def _choose_backend(self) -> Backend | Failure:
        """Return what contains the commands of this skill, or why nothing does; it is looked for once."""
        if self._backend is None:
            try:
                self._backend = find_backend(self._sandbox)
            except SandboxError as error:
                if self._sandbox == "auto" and self._is_trusted():
                    self._backend = find_backend("auto", trusted=True)
                else:
                    self._backend = _failure_from_error("sandbox", error)
        return self._backend

    def _is_trusted(self) -> bool:
        entry = evaluate_path(os.path.join(self.suite.path, SKILL_FILE), "prowess").with_changes(scope="extra")
        return Trust().allows(entry)

    def blocking_failure(self, case: Case) -> Failure | None:
        """Return why a case cannot be run; None where it can."""
        ready = self._prepare(case)
        return ready if isinstance(ready, Failure) else None

    def _prepare(self, case: Case) -> tuple[Backend, SkillContents] | Failure:
        chosen, found = self._choose_backend(), self._scan_skill()
        if isinstance(chosen, Failure):
            return chosen
        if isinstance(found, Failure):
            return found
        problems = (fixture_error(found, path) for path in case.files)
        words = next((problem for problem in problems if problem is not None), None)
        return (chosen, found) if words is None else Failure(kind="files", message=words)

    def _scan_skill(self) -> SkillContents | Failure:
        """Return what is copied of the skill, or why it cannot be; it is looked at once."""
        if self._contents is None:
            try:
                self._contents = scan_contents(self.suite.path)
            except SkillError as error:
                self._contents = _failure_from_error("skill", error)
        return self._contents

    def run(self, case: Case) -> CaseResult:
        """Run one case."""
        begun = perf_counter()
        ready = self._prepare(case)
        if isinstance(ready, Failure):
            failure = ready
        else:
            try:
                return self._run(case, *ready)
            except SandboxError as error:
                failure = _failure_from_error("sandbox", error)
            except SkillError as error:
                failure = _failure_from_error("skill", error)
        return CaseResult(case=case, status="error", duration=perf_counter() - begun, failures=(failure,))

    def _run(self, case: Case, chosen: Backend, found: SkillContents) -> CaseResult:
        with workspace(found) as (scratch, copy):
            result = run(
                ["/bin/sh", "-c", case.command],
                cwd=copy,
                env=self.suite.env,
                stdin=None if case.stdin is None else case.stdin.encode("utf-8", "surrogateescape"),
                limits=Limits(timeout=self.suite.timeout),
                # Behind walls as without: a copy is there to be worked in.
                writable=(copy,),
                scratch=scratch,
                sandbox=chosen,
            )
        return _case_result(case, result, self.suite.timeout)


def _failure_from_error(kind: str, error: SkillError | SandboxError) -> Failure:
    return Failure(kind=kind, message=f"{error}{f' ({error.hint})' if error.hint else ''}")


def _case_result(case: Case, result: Result, timeout: float) -> CaseResult:
    """Compare what a command did with what is expected."""
    if result.timed_out:
        status = "timeout"
        words = f"its time was up after {timeout:g} s, and it was ended with all it had started"
        found: tuple[Failure, ...] = (Failure(kind="timeout", message=words),)
    else:
        found = tuple(failures(case, result))
        status = "failed" if found else "passed"
    return CaseResult(
        case=case,
        status=status,
        duration=result.duration,
        exit_code=result.exit_code,
        failures=found,
        stdout=decode_output(result.stdout),
        stderr=decode_output(result.stderr),
    )
