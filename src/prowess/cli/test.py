"""prowess test: run the tests of skills."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.signals import signals_as_exception
from prowess._internal.text import neutral
from prowess.errors import ConfigError
from prowess.sandbox import remove_runtime_folder, stop
from prowess.testing import STATUSES, find_suites, run_suites

from ._color import STATUS_STYLES, paint
from ._commands import INTERRUPTED, OK, USAGE
from ._discovery import catalog_from_args
from ._options import add_discovery_options, add_json_option, add_sandbox_option, make_parser
from ._output import pluralize, print_findings, print_json, print_stderr, print_stdout
from ._progress import ProgressLine
from ._skills import reference_to
from ._write import require_folder_of, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.testing import CaseResult, SkillResult, Suite, TestReport

NO_TESTS = 5
"""Exit code if a named skill has no tests, as pytest has it for "no tests collected"."""
_EPILOG = """\
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


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("test", epilog=_EPILOG)
    result.add_argument("skills", metavar="SKILL", nargs="*", help="the name or the path of a skill")
    result.add_argument("--case", metavar="X", help="run only this case, given by its name or its file name")
    result.add_argument("--jobs", metavar="N", type=int, help="run N cases at once (default: one per processor)")
    result.add_argument("--junit", metavar="FILE", help="also write a JUnit XML report to this file")
    add_sandbox_option(result, "the commands of cases")
    result.add_argument("-x", "--exitfirst", action="store_true", help="stop after the first case that does not pass")
    result.add_argument("--list", action="store_true", help="list the cases without running them")
    add_json_option(result)
    add_discovery_options(result)
    return result


def run(args: Namespace) -> int:
    """Run the tests of skills."""
    jobs = args.jobs if args.jobs is not None else _cpu_count()
    if jobs < 1:
        raise ConfigError("`--jobs` must be 1 or more", hint="leave it out to use all processors")
    suites, untested = _select_suites(args)
    for path in untested:
        subject = f"{neutral(path)} has no tests" if args.skills else f"no skill in {neutral(path)} has tests"
        print_stderr(f"{subject}; add cases as `tests/cases/NAME.yaml`{'' if args.skills else ' to the folder of one'}")
    if args.list:
        return _list_cases(suites, args) or (NO_TESTS if untested else OK)
    junit = os.path.join(os.path.abspath(args.cwd or "."), args.junit) if args.junit else None
    if junit is not None:
        require_folder_of("--junit", junit)
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

        write_file(junit, junit_xml(report))
    if args.json:
        print_json(report.as_dict())
    else:
        _print_report(report)
    if report.interrupted:
        print_stderr("interrupted: cases that are not listed did not finish")
        return 128 + signals[0] if signals else INTERRUPTED
    return report.exit_code or (NO_TESTS if untested else OK)


def _cpu_count() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _select_suites(args: Namespace) -> tuple[list[Suite], list[str]]:
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


def _list_cases(suites: list[Suite], args: Namespace) -> int:
    """List cases, and return the exit code."""
    if args.json:
        rows = [
            {
                "name": suite.name,
                "path": suite.path,
                "cases": [
                    {"name": case.name, "file": case.file, "description": case.description} for case in suite.cases
                ],
                "findings": [item.as_dict() for item in suite.findings],
            }
            for suite in suites
        ]
        print_json({"skills": rows})
    else:
        for suite in suites:
            print_stdout(_heading(suite.name, suite.path))
            for case in suite.cases:
                print_stdout(f"  {case.name}  {neutral(case.description)}".rstrip())
            print_findings(suite.findings, indent="  ")
    return USAGE if any(suite.findings for suite in suites) else OK


def _heading(name: str, path: str) -> str:
    """Return the name and the path of a skill, once if it is only known by its path."""
    return neutral(path) if name == path else f"{neutral(name)}  {neutral(path)}"


def _print_report(report: TestReport) -> None:
    """Print the result of each case, and the counts."""
    for skill in report.skills:
        print_stdout(_heading(skill.name, skill.path))
        print_findings(skill.findings, indent="  ")
        printed: set[str] = set()
        for result in skill.cases:
            duration = f"  ({result.duration:.1f} s)" if result.duration >= _SLOW_CASE_SECONDS else ""
            print_stdout(
                f"  {paint(f'{result.status:<8}', STATUS_STYLES[result.status])}{neutral(result.case.name)}{duration}"
            )
            _print_failures(result, printed)
    counts = report.counts
    by_status = ", ".join(f"{counts[status]:,} {_STATUS_PHRASES[status]}" for status in STATUSES if counts[status])
    invalid = sum(bool(skill.findings) for skill in report.skills)
    print_stdout(f"{pluralize(counts['cases'], 'case')}{f': {by_status}' if by_status else ''}")
    if invalid:
        print_stderr(f"{pluralize(invalid, 'skill')} not tested: a test file is invalid")


_STATUS_PHRASES = {"passed": "passed", "failed": "failed", "error": "could not run", "timeout": "timed out"}


def _print_failures(result: CaseResult, printed: set[str]) -> None:
    for failure in result.failures:
        # A failure of the sandbox or the skill affects all its cases, so it is printed once.
        if failure.kind not in ("sandbox", "skill") or failure.message not in printed:
            print_stdout(f"    {failure.kind}: {neutral(failure.message)}")
        printed.add(failure.message)
    if result.status in ("failed", "timeout"):
        for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
            lines = text.rstrip("\n").split("\n") if text.strip() else []
            for line in lines[:_MAX_OUTPUT_LINES]:
                print_stdout(f"    {name} | {neutral(line[:_MAX_LINE_CHARS])}")
            if len(lines) > _MAX_OUTPUT_LINES:
                print_stdout(f"    {name} | ... and {pluralize(len(lines) - _MAX_OUTPUT_LINES, 'line')} more")


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
