"""Run the cases of one skill, each in a sandbox and in a fresh copy of the skill."""

from __future__ import annotations

import os
from contextlib import contextmanager
from time import perf_counter

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import quoted
from prowess.catalog import evaluate_path
from prowess.errors import SandboxError, SkillError
from prowess.sandbox import Limits, Result, find_backend, run
from prowess.session import Trust

from ._cases import load_suite
from ._expect import Failure, decode_output, failures
from ._results import CaseResult, SkillResult
from ._workspace import fixture_error, scan_contents, workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.catalog import Entry
    from prowess.sandbox import Backend

    from ._cases import Case, Suite
    from ._workspace import SkillContents

__all__ = ["SuiteRun"]


class SuiteRun:
    """A run of the tests of one skill."""

    def __init__(self, suite: Suite, sandbox: str) -> None:
        self.suite = suite
        self._sandbox = sandbox
        self._backend: Backend | Failure | None = None
        self._runs_on_trust = False
        self._contents: SkillContents | Failure | None = None

    def result(self, cases: tuple[CaseResult, ...] = ()) -> SkillResult:
        """Return the result of the skill, with the results of its cases."""
        suite = self.suite
        return SkillResult(name=suite.name, path=suite.path, cases=cases, findings=suite.findings)

    def blocking_failure(self, case: Case) -> Failure | None:
        """Return why a case cannot run, or `None` if it can."""
        prepared = self._prepare(case)
        return prepared if isinstance(prepared, Failure) else None

    def run(self, case: Case) -> CaseResult:
        """Run one case."""
        start = perf_counter()
        prepared = self._prepare(case)
        if isinstance(prepared, Failure):
            failure = prepared
        else:
            try:
                backend, contents = prepared
                if not self._runs_on_trust:
                    return self._run_command(case, backend, contents)
                with self._trusted_contents(case) as trusted:
                    return self._run_command(case, backend, trusted)
            except SandboxError as error:
                failure = _failure_from_error("sandbox", error)
            except SkillError as error:
                failure = _failure_from_error("skill", error)
        return CaseResult(case=case, status="error", duration=perf_counter() - start, failures=(failure,))

    def _prepare(self, case: Case) -> tuple[Backend, SkillContents] | Failure:
        """Return what a case needs to run, or why it cannot run."""
        backend, contents = self._choose_backend(), self._scan_skill()
        if isinstance(backend, Failure):
            return backend
        if isinstance(contents, Failure):
            return contents
        problems = (fixture_error(contents, path) for path in case.files)
        message = next((problem for problem in problems if problem is not None), None)
        return (backend, contents) if message is None else Failure(kind="files", message=message)

    def _choose_backend(self) -> Backend | Failure:
        """Return the sandbox for the commands of this skill, or why no sandbox is available. It is chosen once."""
        if self._backend is None:
            try:
                self._backend = find_backend(self._sandbox)
            except SandboxError as error:
                if self._sandbox == "auto" and Trust().allows(self._entry()):
                    self._runs_on_trust = True
                    self._backend = find_backend("auto", trusted=True)
                else:
                    self._backend = _failure_from_error("sandbox", error)
        return self._backend

    def _entry(self) -> Entry:
        return evaluate_path(os.path.join(self.suite.path, SKILL_FILE), "prowess").with_changes(scope="extra")

    @contextmanager
    def _trusted_contents(self, case: Case) -> Iterator[SkillContents]:
        """Yield the files of a sealed copy of the skill, for a case that runs without a sandbox because of trust.

        Raises:
            SkillError: the user does not trust the skill any more, or the case is not part of what they trust.
        """
        with Trust().sealed_copy(self._entry()) as copy:
            trusted = load_suite(copy.folder)
            if trusted.findings or case not in trusted.cases or trusted.env != self.suite.env:
                message = f"{quoted(case.file)} changed while the tests were running"
                raise SkillError(message, hint="run the tests again when nothing writes to the skill")
            yield scan_contents(copy.folder)

    def _scan_skill(self) -> SkillContents | Failure:
        """Return the files of the skill, or why they cannot be copied. They are listed once."""
        if self._contents is None:
            try:
                self._contents = scan_contents(self.suite.path)
            except SkillError as error:
                self._contents = _failure_from_error("skill", error)
        return self._contents

    def _run_command(self, case: Case, backend: Backend, contents: SkillContents) -> CaseResult:
        with workspace(contents) as (scratch, copy):
            result = run(
                ["/bin/sh", "-c", case.command],
                cwd=copy,
                env=self.suite.env,
                stdin=None if case.stdin is None else case.stdin.encode("utf-8", "surrogateescape"),
                limits=Limits(timeout=self.suite.timeout),
                # The copy is writable with any sandbox, as it is without one.
                writable=(copy,),
                scratch=scratch,
                sandbox=backend,
                # Nothing but the copy can be seen, which contains no socket: those it makes are its own.
                unix_sockets=(),
            )
        return _case_result(case, result, self.suite.timeout)


def _failure_from_error(kind: str, error: SkillError | SandboxError) -> Failure:
    return Failure(kind=kind, message=f"{error}{f' ({error.hint})' if error.hint else ''}")


def _case_result(case: Case, result: Result, timeout: float) -> CaseResult:
    """Compare the result of a command with what its case expects."""
    if result.timed_out:
        status = "timeout"
        message = f"timed out after {timeout:g} s; the command and all its processes were ended"
        case_failures: tuple[Failure, ...] = (Failure(kind="timeout", message=message),)
    else:
        case_failures = tuple(failures(case, result))
        status = "failed" if case_failures else "passed"
        if case_failures and result.out_of_memory:
            message = f"it used more than the {Limits().memory or 0:,} bytes of memory that a case may use"
            case_failures = (Failure(kind="memory", message=message), *case_failures)
    return CaseResult(
        case=case,
        status=status,
        duration=result.duration,
        exit_code=result.exit_code,
        failures=case_failures,
        stdout=decode_output(result.stdout),
        stderr=decode_output(result.stderr),
    )
