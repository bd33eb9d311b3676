"""cases -> results

Every case runs in a fresh copy of its skill and a contained process; several may run at once, and the order of the
results is that of the cases.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from time import perf_counter

from prowess._frozen import Frozen
from prowess.check import judged, skills_below
from prowess.errors import ConfigError, SandboxError, SkillError, SkillNotFoundError
from prowess.files import SKILL_FILE
from prowess.held import held
from prowess.sandbox import CHOICES, Limits, Result, backend, run, stop
from prowess.text import near_names, quoted
from prowess.trust import Trust

from .case import Case, Suite, load_suite
from .expect import Failure, failures, normalised
from .workplace import contents, fixture_problem, workplace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prowess.findings import Finding
    from prowess.sandbox import Backend

    from .workplace import Contents

    Path = str | os.PathLike[str]
    Progress = Callable[["SkillResult", "CaseResult"], None]

__all__ = ["STATUSES", "CaseResult", "SkillResult", "SuiteRun", "TestReport", "run_suites", "run_tests", "suites_in"]

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
    suites = [suite for path in given for suite in suites_in(os.path.abspath(os.fspath(path)))]
    return run_suites(suites, case=case, jobs=jobs, sandbox=sandbox, fail_fast=fail_fast, progress=progress)


def suites_in(path: str) -> list[Suite]:
    """Return the tests of a skill, or of all skills below a folder; those without any are left out.

    Raises:
        SkillNotFoundError: there is no such path.
    """
    files, _ = skills_below(path)
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
        near = near_names(sandbox, CHOICES)
        hint = f"did you mean `{near[0]}`?" if near else f"choose one of {', '.join(CHOICES)}"
        raise ConfigError(f"there is no sandbox {quoted(sandbox)}", hint=hint)
    suites = [*{suite.path: suite for suite in suites}.values()]
    chosen = {suite.path: suite.cases if case is None else suite.chosen(case) for suite in suites}
    if case is not None:
        _refuse_unknown(case, suites, chosen)
        suites = [suite for suite in suites if chosen[suite.path] or suite.findings]
    work = [SuiteRun(suite, sandbox) for suite in suites]
    waiting = [
        (at, number, one)
        for at, suite in enumerate(suites)
        if not suite.findings
        for number, one in enumerate(chosen[suite.path])
    ]
    hands = _Hands(work, waiting, fail_fast=fail_fast, progress=progress)
    interrupted = hands.run(jobs)
    done = hands.done
    skills = (work[at].result(tuple(done[key] for key in sorted(done) if key[0] == at)) for at in range(len(work)))
    return TestReport(skills=tuple(skills), interrupted=interrupted)


class _Hands:
    """Threads that run cases, each taking the next one that waits.

    Whoever called only waits, so that Ctrl-C is heard at once; nobody wakes it for each case, for that would cost as
    much as a case does.
    """

    def __init__(
        self, work: list[SuiteRun], waiting: list[tuple[int, int, Case]], *, fail_fast: bool, progress: Progress | None
    ) -> None:
        self.done: dict[tuple[int, int], CaseResult] = {}
        self._work, self._waiting = work, deque(waiting)
        self._fail_fast, self._progress = fail_fast, progress
        self._news: deque[tuple[SkillResult, CaseResult]] = deque()
        self._bugs: list[BaseException] = []
        self._stopped, self._kept = False, 0

    def run(self, jobs: int) -> bool:
        """Run all cases; say whether that was broken off. Whatever happens, nothing runs when this is left."""
        from threading import Thread

        hands = [Thread(target=self._serve, daemon=True) for _ in range(max(1, min(jobs, len(self._waiting))))]
        with held() as answer:
            try:
                for hand in hands:
                    hand.start()
                while any(hand.is_alive() for hand in hands):
                    answer()
                    next((hand for hand in hands if hand.is_alive()), hands[0]).join(_LOOK)
                    self._tell()
                answer()
            except KeyboardInterrupt:
                return True
            finally:
                self._stopped = True
                self._waiting.clear()
                # One that was just about to start a command when all were stopped has it running now.
                while alive := [hand for hand in hands if hand.is_alive()]:
                    stop()
                    alive[0].join(_LOOK)
        self._tell()
        for bug in self._bugs:
            raise bug
        return False

    def _serve(self) -> None:
        """Run cases until none waits."""
        try:
            while not self._stopped:
                try:
                    at, number, case = self._waiting.popleft()
                except IndexError:
                    return
                result = self._work[at].run(case)
                if self._was_stopped(result):
                    return
                self._kept += len(result.stdout) + len(result.stderr)
                if self._kept > _KEPT:
                    result = result.but(stdout=result.stdout[:_LITTLE], stderr=result.stderr[:_LITTLE])
                self.done[at, number] = result
                if self._progress is not None:
                    self._news.append((self._work[at].result(), result))
                if self._fail_fast and result.status != "passed":
                    self._waiting.clear()
        except BaseException as error:  # noqa: BLE001 - it is raised where somebody can see it
            self._bugs.append(error)
            self._waiting.clear()

    def _was_stopped(self, result: CaseResult) -> bool:
        """Say whether a result is what became of a case by being stopped."""
        return self._stopped and any(failure.kind == "sandbox" for failure in result.failures)

    def _tell(self) -> None:
        while self._progress is not None and self._news:
            self._progress(*self._news.popleft())


_LOOK = 0.05
"""Seconds after which whoever waits looks whether a signal came."""
_KEPT = 64 * 1024 * 1024
"""Characters of what all cases wrote; beyond that only the first few of each are kept."""
_LITTLE = 4_000


def _refuse_unknown(case: str, suites: list[Suite], chosen: dict[str, tuple[Case, ...]]) -> None:
    """See that a case is there.

    Raises:
        SkillNotFoundError: it is not.
    """
    if any(chosen.values()) or any(suite.findings for suite in suites):
        return
    near = near_names(case, (one.name for suite in suites for one in suite.cases))
    hint = f"did you mean {quoted(near[0])}?" if near else "`prowess test --list` shows the cases"
    raise SkillNotFoundError(f"there is no case {quoted(case)}", hint=hint)


class SuiteRun:
    """The tests of one skill, while they run."""

    def __init__(self, suite: Suite, sandbox: str) -> None:
        self.suite = suite
        self._sandbox = sandbox
        self._backend: Backend | Failure | None = None
        self._contents: Contents | Failure | None = None

    def result(self, cases: tuple[CaseResult, ...] = ()) -> SkillResult:
        """Return what became of the skill's cases."""
        suite = self.suite
        return SkillResult(name=suite.name, path=suite.path, cases=cases, findings=suite.findings)

    def _contained(self) -> Backend | Failure:
        """Return what contains the commands of this skill, or why nothing does; it is looked for once."""
        if self._backend is None:
            try:
                self._backend = backend(self._sandbox)
            except SandboxError as error:
                if self._sandbox == "auto" and self._is_trusted():
                    self._backend = backend("auto", trusted=True)
                else:
                    self._backend = _failure("sandbox", error)
        return self._backend

    def _is_trusted(self) -> bool:
        entry = judged(os.path.join(self.suite.path, SKILL_FILE), "prowess").but(scope="extra")
        return Trust().allows(entry)

    def why_not(self, case: Case) -> Failure | None:
        """Return why a case cannot be run; None where it can."""
        ready = self._ready(case)
        return ready if isinstance(ready, Failure) else None

    def _ready(self, case: Case) -> tuple[Backend, Contents] | Failure:
        chosen, found = self._contained(), self._found()
        if isinstance(chosen, Failure):
            return chosen
        if isinstance(found, Failure):
            return found
        problems = (fixture_problem(found, path) for path in case.files)
        words = next((problem for problem in problems if problem is not None), None)
        return (chosen, found) if words is None else Failure(kind="files", message=words)

    def _found(self) -> Contents | Failure:
        """Return what is copied of the skill, or why it cannot be; it is looked at once."""
        if self._contents is None:
            try:
                self._contents = contents(self.suite.path)
            except SkillError as error:
                self._contents = _failure("skill", error)
        return self._contents

    def run(self, case: Case) -> CaseResult:
        """Run one case."""
        begun = perf_counter()
        ready = self._ready(case)
        if isinstance(ready, Failure):
            failure = ready
        else:
            try:
                return self._run(case, *ready)
            except SandboxError as error:
                failure = _failure("sandbox", error)
            except SkillError as error:
                failure = _failure("skill", error)
        return CaseResult(case=case, status="error", duration=perf_counter() - begun, failures=(failure,))

    def _run(self, case: Case, chosen: Backend, found: Contents) -> CaseResult:
        with workplace(found) as (scratch, copy):
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
        return _judged(case, result, self.suite.timeout)


def _failure(kind: str, error: SkillError | SandboxError) -> Failure:
    return Failure(kind=kind, message=f"{error}{f' ({error.hint})' if error.hint else ''}")


def _judged(case: Case, result: Result, timeout: float) -> CaseResult:
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
        stdout=normalised(result.stdout),
        stderr=normalised(result.stderr),
    )
