"""prowess test: run the tests of skills."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.signals import signals_as_exception
from prowess._internal.text import neutral
from prowess.cli._arguments import catalog_from_args
from prowess.cli._commands import INTERRUPTED, OK, USAGE
from prowess.cli._files import require_folder_of, write_file
from prowess.cli._output import (
    STATUS_STYLES,
    Message,
    ProgressLine,
    Result,
    as_dicts,
    finding_lines,
    json_fields,
    paint,
    pluralize,
    print_stderr,
)
from prowess.cli._references import reference_to
from prowess.errors import ConfigError
from prowess.sandbox import remove_runtime_folder, stop
from prowess.testing import STATUSES, find_suites, run_suites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.cli._parser import Arguments, Parser
    from prowess.testing import CaseResult, SkillResult, Suite, TestReport

NO_TESTS = 5
"""Exit code if a named skill has no tests, as pytest has it for "no tests collected"."""
EPILOG = """\
SKILL is a name as in `prowess activate`, or a path: the folder of a skill, its SKILL.md, or a folder that contains
skills. By default all skills below the working directory are tested. Exit codes: 0 all cases passed; 1 a case failed,
timed out or could not run; 2 a test file is invalid, and no case of that skill runs; 5 a named skill has no tests."""
_END_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end the run early; the finished cases are reported."""
_MAX_OUTPUT_LINES = 20
"""Lines to print of each output of a case that did not pass."""
_MAX_LINE_CHARS = 500
_SLOW_CASE_SECONDS = 1.0
"""Cases that take longer are printed with their duration."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("skills", "SKILL", "the name or the path of a skill", nargs="*")
    parser.value("--case", "X", "run only this case, given by its name or its file name")
    parser.value("--jobs", "N", "run N cases at once (default: one per processor)", type=int)
    parser.value("--junit", "FILE", "also write a JUnit XML report to this file")
    parser.add_sandbox("the commands of cases")
    parser.flag("-x", "--exitfirst", "stop after the first case that does not pass")
    parser.flag("--list", "list the cases without running them")
    parser.add_json()
    parser.discovery()


def run(args: Arguments) -> Result:
    """Run the tests of skills."""
    jobs = args.jobs if args.jobs is not None else _cpu_count()
    if jobs < 1:
        raise ConfigError("`--jobs` must be 1 or more", hint="leave it out to use all processors")
    suites, untested = _select_suites(args)
    for path in untested:
        subject = f"{neutral(path)} has no tests" if args.skills else f"no skill in {neutral(path)} has tests"
        print_stderr(f"{subject}; add cases as `tests/cases/NAME.yaml`{'' if args.skills else ' to the folder of one'}")
    if args.list:
        return _cases(suites, NO_TESTS if untested else OK)
    junit = os.path.join(os.path.abspath(args.cwd or "."), args.junit) if args.junit else None
    if junit is not None:
        require_folder_of("--junit", junit, [args.cwd or "."])
    progress = None if args.json else _CaseProgress(sum(len(suite.cases) for suite in suites))
    with signals_as_exception(_END_SIGNALS, lambda _: KeyboardInterrupt(), first_only=True) as signals:
        try:
            report = run_suites(
                suites, case=args.case, jobs=jobs, sandbox=args.sandbox, fail_fast=args.exitfirst, progress=progress
            )
        finally:
            # `__main__` ends the process with `os._exit`, which skips exit handlers.
            stop()
            remove_runtime_folder()
            if progress is not None:
                progress.line.clear()
    if junit is not None:
        from prowess.testing import junit_xml

        write_file("--junit", junit, junit_xml(report), [args.cwd or "."])
    code = report.exit_code or (NO_TESTS if untested else OK)
    if report.interrupted:
        code = 128 + signals[0] if signals else INTERRUPTED
    notes = [Message("interrupted: cases that are not listed did not finish")] if report.interrupted else []
    return Result(report.as_dict, _report_lines(report), code, notes)


def _cpu_count() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _select_suites(args: Arguments) -> tuple[list[Suite], list[str]]:
    """Return the tests to run, and the paths of named skills without tests.

    Raises:
        SkillNotFoundError: no such skill.
    """
    cwd = os.path.abspath(args.cwd or ".")
    suites: list[Suite] = []
    untested: list[str] = []
    catalog = None
    if not args.skills:
        suites = find_suites(cwd)
        untested = [] if suites else [cwd]
    for text in args.skills:
        path = os.path.join(cwd, os.path.expanduser(text))
        if not (os.sep in text or text.startswith((".", "~")) or os.path.lexists(path)):
            catalog = catalog or catalog_from_args(args)
            path = os.path.dirname(real_path(catalog.resolve(text).path))
        named = find_suites(os.path.abspath(path))
        suites += named
        if not named:
            untested.append(path)
    if suites:
        catalog = catalog or catalog_from_args(args)
    # Each is printed as what every command that takes a skill finds it by.
    named_suites = (
        suite.with_changes(name=reference_to(catalog, suite.name, suite.path, cwd)) for suite in suites if catalog
    )
    return [*named_suites], untested


# ── output ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _cases(suites: list[Suite], code: int) -> Result:
    """Return the cases, with an exit code that a finding changes."""

    def text() -> Iterator[str]:
        for suite in suites:
            yield _heading(suite.name, suite.path)
            yield from (f"  {case.name}  {neutral(case.description)}".rstrip() for case in suite.cases)
            yield from finding_lines(suite.findings, indent="  ")

    rows = [
        {
            **json_fields(suite, "name path"),
            "cases": [json_fields(case, "name file description") for case in suite.cases],
            "findings": as_dicts(suite.findings),
        }
        for suite in suites
    ]
    return Result({"skills": rows}, text(), USAGE if any(suite.findings for suite in suites) else code)


def _heading(name: str, path: str) -> str:
    """Return the name and the path of a skill, once if it is only known by its path."""
    return neutral(path) if name == path else f"{neutral(name)}  {neutral(path)}"


def _report_lines(report: TestReport) -> Iterator[str]:
    """Yield the result of each case, and the counts."""
    for skill in report.skills:
        yield _heading(skill.name, skill.path)
        yield from finding_lines(skill.findings, indent="  ")
        printed: set[str] = set()
        for result in skill.cases:
            duration = f"  ({result.duration:.1f} s)" if result.duration >= _SLOW_CASE_SECONDS else ""
            yield f"  {paint(f'{result.status:<8}', STATUS_STYLES[result.status])}{neutral(result.case.name)}{duration}"
            yield from _failure_lines(result, printed)
    counts = report.counts
    by_status = ", ".join(f"{counts[status]:,} {_STATUS_PHRASES[status]}" for status in STATUSES if counts[status])
    invalid = sum(bool(skill.findings) for skill in report.skills)
    yield f"{pluralize(counts['cases'], 'case')}{f': {by_status}' if by_status else ''}"
    if invalid:
        yield Message(f"{pluralize(invalid, 'skill')} not tested: a test file is invalid")


_STATUS_PHRASES = {"passed": "passed", "failed": "failed", "error": "could not run", "timeout": "timed out"}


def _failure_lines(result: CaseResult, printed: set[str]) -> Iterator[str]:
    for failure in result.failures:
        # A failure of the sandbox or the skill affects all its cases, so it is printed once.
        if failure.kind not in ("sandbox", "skill") or failure.message not in printed:
            yield f"    {failure.kind}: {neutral(failure.message)}"
        printed.add(failure.message)
    if result.status in ("failed", "timeout"):
        for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
            lines = text.rstrip("\n").split("\n") if text.strip() else []
            yield from (f"    {name} | {neutral(line[:_MAX_LINE_CHARS])}" for line in lines[:_MAX_OUTPUT_LINES])
            if len(lines) > _MAX_OUTPUT_LINES:
                yield f"    {name} | ... and {pluralize(len(lines) - _MAX_OUTPUT_LINES, 'line')} more"


class _CaseProgress:
    """Counts the cases that have run, on a progress line."""

    def __init__(self, total: int) -> None:
        self.line = ProgressLine()
        self.total, self.done, self.failed = total, 0, 0

    def __call__(self, _skill: SkillResult, result: CaseResult) -> None:
        self.done += 1
        self.failed += result.status != "passed"
        failed = f", {self.failed:,} not passed" if self.failed else ""
        self.line.show(f"{self.done:,} of {pluralize(self.total, 'case')}{failed}")
