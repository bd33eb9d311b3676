"""prowess test -> the cases of skills, run and told"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from prowess._internal.text import neutral
from prowess.cli import INTERRUPTED, OK, USAGE
from prowess.cli._options import (
    add_discovery_options,
    catalog_from_args,
    format_finding,
    make_parser,
    pluralize,
    print_json,
    print_stderr,
    print_stdout,
)
from prowess.errors import ConfigError
from prowess.sandbox import CHOICES, remove_runtime_folder, stop
from prowess.testing import STATUSES, find_suites, run_suites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from prowess.testing import CaseResult, SkillResult, Suite, TestReport

NO_TESTS = 5
"""Exit code where a skill that was named has no tests; pytest has the same for "no tests collected"."""
_EPILOG = """\
SKILL is a name as `prowess activate` takes it, or a path: a skill's folder, its SKILL.md, or a folder above skills.
Without any, all skills below the working directory are tested. Each case runs in a fresh copy of its skill, contained.
Exit codes: 0 all passed; 1 a case failed, could not be run, or its time was up; 2 a file of the tests is wrong, then
nothing of that skill is run; 5 a skill that was named has no tests."""
_MAX_OUTPUT_LINES = 20
"""Lines of each output that are shown of a case that did not pass."""
_MAX_LINE_CHARS = 500
_SLOW_CASE_SECONDS = 1.0
"""Seconds from which on it is told how long a case took."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("test", epilog=_EPILOG)
    result.add_argument("skills", metavar="SKILL", nargs="*", help="a name or a path")
    result.add_argument("--case", metavar="X", help="only this case: its name, or its file with or without ending")
    result.add_argument("--jobs", metavar="N", type=int, help="cases at once (default: one for each processor)")
    result.add_argument("--junit", metavar="FILE", help="also write the report as JUnit's XML")
    result.add_argument(
        "--sandbox",
        metavar="HOW",
        default="auto",
        help=f"what contains the commands: {', '.join(CHOICES)} (default: %(default)s)",
    )
    result.add_argument("-x", "--exitfirst", action="store_true", help="begin no further case once one has not passed")
    result.add_argument("--list", action="store_true", help="list the cases and run none")
    result.add_argument("--json", action="store_true", help="print JSON")
    add_discovery_options(result)
    return result


def run(args: Namespace) -> int:
    """Run the tests of skills."""
    jobs = args.jobs if args.jobs is not None else _cpu_count()
    if jobs < 1:
        raise ConfigError("`--jobs` must be 1 or more", hint="leave it out for one for each processor")
    suites, without = _select_suites(args)
    for path in without:
        print_stderr(f"{neutral(path)} has no tests: put cases into `tests/cases`, one in each `NAME.yaml`")
    if args.list:
        return _list_cases(suites, args) or (NO_TESTS if without else OK)
    junit = os.path.join(os.path.abspath(args.cwd or "."), args.junit) if args.junit else None
    if junit is not None and not os.path.isdir(os.path.dirname(junit)):
        raise ConfigError(f"`--junit`: there is no folder {neutral(os.path.dirname(junit))}", hint="make it first")
    progress = None if args.json or not sys.stderr.isatty() else _Progress(sum(len(suite.cases) for suite in suites))
    with _signals_as_interrupt() as signals:
        try:
            report = run_suites(
                suites, case=args.case, jobs=jobs, sandbox=args.sandbox, fail_fast=args.exitfirst, progress=progress
            )
        finally:
            # The command line ends its process without Python's own end, where this would be done otherwise.
            stop()
            remove_runtime_folder()
            if progress is not None:
                progress.clear()
    if junit is not None:
        from prowess.testing import junit_xml

        _write_report(junit, junit_xml(report))
    if args.json:
        print_json(report.as_dict())
    else:
        _print_report(report)
    if report.interrupted:
        print_stderr("interrupted: the cases that are not listed did not run to their end")
        return 128 + signals[0] if signals else INTERRUPTED
    return report.exit_code or (NO_TESTS if without else OK)


@contextmanager
def _signals_as_interrupt() -> Iterator[list[int]]:
    """Let a request to end be heard as Ctrl-C is, so that what has finished is told; yield those that came.

    Only the first breaks off what is done: whoever types Ctrl-C twice must not keep us from tidying up.
    """
    import signal

    came: list[int] = []

    def note(number: int, _: object) -> None:
        came.append(number)
        if len(came) == 1:
            raise KeyboardInterrupt

    before = {}
    try:
        for number in (getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, note)
    except ValueError:
        pass  # only the main thread gets signals
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_report(file: str, data: bytes) -> None:
    """Write a report.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        with open(file, "wb") as into:
            into.write(data)
    except OSError as error:
        words = f"the report cannot be written: {neutral(file)}: {(error.strerror or 'unknown').lower()}"
        raise ConfigError(words, hint="name another file") from None


def _cpu_count() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _select_suites(args: Namespace) -> tuple[list[Suite], list[str]]:
    """Return the tests that are meant, and the skills that were named and have none.

    Raises:
        SkillNotFoundError: there is no such skill.
    """
    cwd = os.path.abspath(args.cwd or ".")
    if not args.skills:
        found = find_suites(cwd)
        return found, [] if found else [cwd]
    suites: list[Suite] = []
    without: list[str] = []
    catalog = None
    for text in args.skills:
        path = os.path.join(cwd, os.path.expanduser(text))
        if not (os.sep in text or text.startswith((".", "~")) or os.path.lexists(path)):
            catalog = catalog or catalog_from_args(args)
            path = os.path.dirname(os.path.realpath(catalog.resolve(text).path))
        found = find_suites(os.path.abspath(path))
        suites += found
        if not found:
            without.append(path)
    return suites, without


# ── telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────


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
            print_stdout(f"{neutral(suite.name)}  {neutral(suite.path)}")
            for case in suite.cases:
                print_stdout(f"  {case.name}  {neutral(case.description)}".rstrip())
            _print_findings(suite)
    return USAGE if any(suite.findings for suite in suites) else OK


def _print_findings(skill: Suite | SkillResult) -> None:
    for item in skill.findings:
        for line in format_finding(item):
            print_stdout(f"  {line}")


def _print_report(report: TestReport) -> None:
    """Print what became of each case, and how many of each there are."""
    for skill in report.skills:
        print_stdout(f"{neutral(skill.name)}  {neutral(skill.path)}")
        _print_findings(skill)
        said: set[str] = set()
        for result in skill.cases:
            took = f"  ({result.duration:.1f} s)" if result.duration >= _SLOW_CASE_SECONDS else ""
            print_stdout(f"  {result.status:<8}{neutral(result.case.name)}{took}")
            _print_failures(result, said)
    counts = report.counts
    each = ", ".join(f"{counts[status]:,} {_STATUS_PHRASES[status]}" for status in STATUSES if counts[status])
    wrong = sum(bool(skill.findings) for skill in report.skills)
    print_stdout(f"{pluralize(counts['cases'], 'case')}{f': {each}' if each else ''}")
    if wrong:
        print_stderr(f"{pluralize(wrong, 'skill')} not tested: a file of the tests is wrong")


_STATUS_PHRASES = {"passed": "passed", "failed": "failed", "error": "could not be run", "timeout": "took too long"}


def _print_failures(result: CaseResult, said: set[str]) -> None:
    for failure in result.failures:
        # What keeps all cases of a skill from running is told once.
        if failure.kind not in ("sandbox", "skill") or failure.message not in said:
            print_stdout(f"    {failure.kind}: {neutral(failure.message)}")
        said.add(failure.message)
    if result.status in ("failed", "timeout"):
        for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
            lines = text.rstrip("\n").split("\n") if text.strip() else []
            for line in lines[:_MAX_OUTPUT_LINES]:
                print_stdout(f"    {name} | {neutral(line[:_MAX_LINE_CHARS])}")
            if len(lines) > _MAX_OUTPUT_LINES:
                print_stdout(f"    {name} | ... and {pluralize(len(lines) - _MAX_OUTPUT_LINES, 'line')} more")


class _Progress:
    """Tells on a terminal how far the run is, on one line that is written over."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.failed = total, 0, 0

    def __call__(self, _skill: SkillResult, result: CaseResult) -> None:
        self.done += 1
        self.failed += result.status != "passed"
        words = f"{self.done:,} of {pluralize(self.total, 'case')}" + (
            f", {self.failed:,} not passed" if self.failed else ""
        )
        sys.stderr.write(f"\r\x1b[K{words}")
        sys.stderr.flush()

    def clear(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
