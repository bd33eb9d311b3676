"""pytest -> the cases of skills, each an item

Installed with Prowess, so `pytest` in a repository of skills runs their tests; so do `-k`, `--junitxml`, `-n` of
pytest-xdist and whatever else knows items. Nothing of Prowess is loaded before there is a file of cases.
"""

from __future__ import annotations

from fnmatch import fnmatch
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from ._cases import Case
    from ._expect import Failure
    from ._runner import SuiteRun

__all__: list[str] = []

_SUITE_RUNS = pytest.StashKey[dict[str, Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say what contains the commands."""
    group = parser.getgroup("prowess", "tests of skills")
    group.addoption(
        "--skill-sandbox",
        metavar="HOW",
        default="auto",
        choices=("auto", "bwrap", "seatbelt", "none"),
        help="what contains the commands of skills' tests: auto, bwrap, seatbelt or none (default: %(default)s)",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Look into the folders in which projects keep skills, hidden or called `build`; pytest would pass them by."""
    return False if _contains_cases(collection_path) and not _is_ignored(collection_path, config) else None


def _contains_cases(folder: Path) -> bool:
    """Say whether a folder is a skill that has cases, or a hidden one of a client with such below it."""
    if (folder / "tests/cases").is_dir():
        return (folder / "SKILL.md").is_file()
    if not folder.name.startswith("."):
        return False
    from prowess.hosts import TABLES

    roots = (root["path"] for table in TABLES.values() for root in table.get("roots", ()))
    kept = {path.split("/")[0] for path in roots if path.startswith(".")}
    return folder.name in kept and any(folder.rglob("tests/cases"))


def _is_ignored(folder: Path, config: pytest.Config) -> bool:
    """Say whether the user leaves a folder out, which pytest alone would see to."""
    ignored, globs = config.getoption("ignore") or (), config.getoption("ignore_glob") or ()
    top = config.invocation_params.dir
    return any(folder == Path(normpath(top / one)) for one in ignored) or any(
        fnmatch(str(folder), normpath(top / one)) for one in globs
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take `SKILL/tests/cases/NAME.yaml`, where `SKILL` holds a SKILL.md."""
    if file_path.suffix.lower() not in (".yaml", ".yml") or file_path.parent.name != "cases":
        return None
    from ._cases import skill_folder_of_cases

    folder = skill_folder_of_cases(str(file_path))
    if folder is None:
        return None
    collector: pytest.Collector = CaseFile.from_parent(parent, path=file_path, folder=folder)
    return collector


class CaseFile(pytest.File):
    """One file of `tests/cases`."""

    def __init__(self, *, folder: str, **more: Any) -> None:
        super().__init__(**more)
        self.folder = folder

    def collect(self) -> Iterator[pytest.Item]:
        """Yield its case.

        Raises:
            CollectError: something is wrong with the tests of its skill, of which then none is run.
        """
        run = _suite_run(self.config, self.folder)
        if run.suite.findings:
            raise self.CollectError("\n".join(_format_finding(item) for item in run.suite.findings))
        for case in run.suite.cases:
            if Path(case.file).name == self.path.name:
                yield CaseItem.from_parent(self, name=case.name, case=case, run=run)


def _suite_run(config: pytest.Config, folder: str) -> SuiteRun:
    """Read the tests of a skill once."""
    from ._cases import load_suite
    from ._runner import SuiteRun

    runs = config.stash.setdefault(_SUITE_RUNS, {})
    if folder not in runs:
        runs[folder] = SuiteRun(load_suite(folder), config.getoption("skill_sandbox"))
    run: SuiteRun = runs[folder]
    return run


def _format_finding(item: Any) -> str:
    place = ":".join(str(part) for part in (item.path, item.line, item.column) if part is not None)
    return f"{place}: {item.message}{f' (hint: {item.hint})' if item.hint else ''}"


class CaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, case: Case, run: SuiteRun, **more: Any) -> None:
        super().__init__(**more)
        self.case, self.suite_run = case, run

    def setup(self) -> None:
        """See that the case can be run; if not, it is an error, no failure."""
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
        """Say where the case stands."""
        return self.path, 0, f"{self.suite_run.suite.name}: {self.name}"


def _escape_output(text: str) -> str:
    """Make harmless what a stranger's command wrote: it acts on no terminal, and is no command to a CI system."""
    from prowess._internal.text import neutral

    lines = text.removesuffix("\n").split("\n")
    return "\n".join(f"| {neutral(line)}".replace("##[", "\\x23#[") for line in lines)


def _fail(failures: tuple[Failure, ...]) -> NoReturn:
    """Tell what is not as expected, without a traceback of ours."""
    pytest.fail("\n".join(f"{failure.kind}: {failure.message}" for failure in failures), pytrace=False)
