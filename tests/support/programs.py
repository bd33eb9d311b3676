"""Programs that tests need and a machine may lack: bubblewrap, chromium, git, openssl, a registry, PostgreSQL, shells.

A test that needs one has the marker `needs`, or calls `require` where that depends on a parameter. Without the program
the test is skipped, and the run ends with one line that names these tests and the command to type. With `CI=true` the
test fails instead.

`make test` runs pytest in several environments. It collects what they skip in the file that `PROWESS_SKIPPED` names,
and prints the line once: `python tests/support/programs.py FILE`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["require", "works"]

SCRIPT = Path(__file__).parents[2] / "tools/system_packages.sh"
PROGRAMS = ("bwrap", "chromium", "docker-registry", "git", "openssl", "postgres", "skopeo", "socat", "zsh", "fish")
ENVIRON = dict(os.environ)
"""As the run began: a test may change `PATH`."""


@cache
def advice(*programs: str) -> str:
    """Return what is missing of some programs and the command to type, in one line; nothing if all is there."""
    if sys.platform == "win32":
        return ""
    command = ["sh", str(SCRIPT), "--advice", *programs]
    return subprocess.run(command, env=ENVIRON, capture_output=True, text=True, check=True).stdout.strip()


def works(program: str) -> bool:
    """Say whether a program is here and works."""
    return not advice(program)


def require(program: str) -> None:
    """Skip the test that calls this if a program is missing; with `CI=true` fail it."""
    reason = advice(program)
    if reason and ENVIRON.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    if reason:
        pytest.skip(reason)


def needed(report: pytest.TestReport | pytest.CollectReport) -> str | None:
    """Return the program whose absence is the reason why a test was skipped."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    return next((name for name in PROGRAMS if advice(name) and reason == f"Skipped: {advice(name)}"), None)


def summary(skipped: list[tuple[str, str]]) -> str:
    """Return one line about tests that were skipped.

    Args:
        skipped: of each the program it needs and its file.
    """
    tests = "1 test" if len(skipped) == 1 else f"{len(skipped)} tests"
    were = "was" if len(skipped) == 1 else "were"
    files = ", ".join(sorted({file.removeprefix("tests/") for _, file in skipped}))
    named = {program for program, _ in skipped}
    return f"{tests} ({files}) {were} skipped because {advice(*(name for name in PROGRAMS if name in named))}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        require(*marker.args)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give all tests that need one program the same place, so that pytest lists them in one line."""
    report = yield
    if report.skipped and (program := needed(report)):
        report.longrepr = (__file__, require.__code__.co_firstlineno, f"Skipped: {advice(program)}")
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """Print the line below all that pytest prints; the workers of pytest-xdist print nothing."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    skipped = [
        (program, report.nodeid.split("::")[0])
        for report in reporter.stats.get("skipped", ())
        if (program := needed(report))
    ]
    if file := ENVIRON.get("PROWESS_SKIPPED"):
        with open(file, "a", encoding="utf-8") as lines:
            lines.writelines(f"{program} {name}\n" for program, name in skipped)
    elif skipped:
        reporter.write_line(summary(skipped))


def main(file: str) -> None:
    """Print the line about what several runs of pytest skipped; nothing if that is nothing."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    skipped = [(program, name) for program, _, name in (line.partition(" ") for line in lines)]
    if skipped:
        print(summary(skipped))


if __name__ == "__main__":
    main(*sys.argv[1:])
