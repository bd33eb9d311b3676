"""Hold the results of cases: per case, per skill, and of a whole run."""

from __future__ import annotations

from collections import Counter

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.findings import Finding

    from ._cases import Case
    from ._expect import Failure

__all__ = ["STATUSES", "CaseResult", "SkillResult", "TestReport"]

STATUSES = ("passed", "failed", "error", "timeout")
"""The statuses of a case: `failed` if an expectation is not met, `error` if the case could not run."""


class CaseResult(Frozen):
    """The result of one case."""

    case: Case
    status: str
    """One of `STATUSES`."""
    duration: float = 0.0
    """Seconds that its command took."""
    exit_code: int | None = None
    """`None` if the command did not end on its own."""
    failures: tuple[Failure, ...] = ()
    stdout: str = ""
    """At most the first 1 MiB, less if the cases of a run write very much; invalid UTF-8 is shown as U+FFFD."""
    stderr: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return it as in `test --json`."""
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
    """The results of the cases of one skill."""

    name: str
    path: str
    """The skill's folder, absolute."""
    cases: tuple[CaseResult, ...] = ()
    """The cases that ran; empty if there are findings."""
    findings: tuple[Finding, ...] = ()
    """Problems in the test files."""

    def as_dict(self) -> dict[str, object]:
        """Return it as in `test --json`."""
        return {
            "name": self.name,
            "path": self.path,
            "cases": [case.as_dict() for case in self.cases],
            "findings": [item.as_dict() for item in self.findings],
        }


class TestReport(Frozen):
    """The results of a run."""

    __test__ = False  # pytest collects classes whose name begins with `Test`

    skills: tuple[SkillResult, ...] = ()
    interrupted: bool = False
    """Whether the run was interrupted before all cases had run."""

    @property
    def counts(self) -> dict[str, int]:
        """The number of skills, of cases that ran, and of cases with each status."""
        statuses = Counter(case.status for skill in self.skills for case in skill.cases)
        by_status = {status: statuses[status] for status in STATUSES}
        return {"skills": len(self.skills), "cases": statuses.total(), **by_status}

    @property
    def exit_code(self) -> int:
        """0 if all cases passed, 1 if one did not, 2 if a test file is invalid."""
        if any(skill.findings for skill in self.skills):
            return 2
        return int(any(case.status != "passed" for skill in self.skills for case in skill.cases))

    def as_dict(self) -> dict[str, object]:
        """Return it as in `test --json`."""
        skills = [skill.as_dict() for skill in self.skills]
        return {"skills": skills, "interrupted": self.interrupted, "counts": self.counts}
