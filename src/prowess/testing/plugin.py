"""Let pytest run the cases of skills, each as a test item.

pytest loads this plugin when Prowess is installed, so `pytest` in a repository of skills runs their tests, with `-k`,
`--junitxml`, `-n` of pytest-xdist and all other options for items. Prowess itself is loaded with the first case file.
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
    from ._suite_run import SuiteRun

__all__: list[str] = []

_SUITE_RUNS = pytest.StashKey[dict[str, Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--skill-sandbox`."""
    group = parser.getgroup("prowess", "tests of skills")
    group.addoption(
        "--skill-sandbox",
        metavar="KIND",
        default="auto",
        choices=("auto", "bwrap", "seatbelt", "none"),
        help="the sandbox for the tests of skills: auto, bwrap, seatbelt or none (default: %(default)s)",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect from folders of skills that pytest skips by default, because they are hidden or called `build`."""
    return False if _contains_cases(collection_path) and not _is_ignored(collection_path, config) else None


def _contains_cases(folder: Path) -> bool:
    """Return whether a folder is a skill with cases, or a hidden folder of an agent that contains such a skill."""
    if (folder / "tests/cases").is_dir():
        return (folder / "SKILL.md").is_file()
    if not folder.name.startswith("."):
        return False
    from prowess.hosts import TABLES

    root_paths = (root["path"] for table in TABLES.values() for root in table.get("roots", ()))
    agent_folders = {path.split("/")[0] for path in root_paths if path.startswith(".")}
    return folder.name in agent_folders and any(folder.rglob("tests/cases"))


def _is_ignored(folder: Path, config: pytest.Config) -> bool:
    """Return whether the user ignores a folder; pytest checks this only if no plugin decides."""
    ignored, globs = config.getoption("ignore") or (), config.getoption("ignore_glob") or ()
    start = config.invocation_params.dir
    return any(folder == Path(normpath(start / path)) for path in ignored) or any(
        fnmatch(str(folder), normpath(start / glob)) for glob in globs
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect `SKILL/tests/cases/NAME.yaml` if `SKILL` contains a SKILL.md."""
    if file_path.suffix.lower() not in (".yaml", ".yml") or file_path.parent.name != "cases":
        return None
    from ._cases import skill_folder_of_cases

    folder = skill_folder_of_cases(str(file_path))
    if folder is None:
        return None
    collector: pytest.Collector = CaseFile.from_parent(parent, path=file_path, folder=folder)
    return collector


class CaseFile(pytest.File):
    """A file in `tests/cases`."""

    def __init__(self, *, folder: str, **options: Any) -> None:
        super().__init__(**options)
        self.folder = folder

    def collect(self) -> Iterator[pytest.Item]:
        """Yield its case.

        Raises:
            CollectError: a test file of the skill is invalid; then no case of the skill runs.
        """
        run = _suite_run(self.config, self.folder)
        if run.suite.findings:
            from prowess.findings import format_findings

            raise self.CollectError(format_findings(run.suite.findings))
        for case in run.suite.cases:
            if Path(case.file).name == self.path.name:
                yield CaseItem.from_parent(self, name=case.name, case=case, run=run)


def _suite_run(config: pytest.Config, folder: str) -> SuiteRun:
    """Return the run of a skill's tests, loaded once."""
    from ._cases import load_suite
    from ._suite_run import SuiteRun

    runs = config.stash.setdefault(_SUITE_RUNS, {})
    if folder not in runs:
        runs[folder] = SuiteRun(load_suite(folder), config.getoption("skill_sandbox"))
    run: SuiteRun = runs[folder]
    return run


class CaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, case: Case, run: SuiteRun, **options: Any) -> None:
        super().__init__(**options)
        self.case, self.suite_run = case, run

    def setup(self) -> None:
        """Check that the case can run; pytest reports it as an error, not as a failure, if not."""
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
        """Return the place of the case."""
        return self.path, 0, f"{self.suite_run.suite.name}: {self.name}"


def _escape_output(text: str) -> str:
    """Escape untrusted output, so that it neither controls a terminal nor commands a CI system."""
    from prowess._internal.text import neutral

    lines = text.removesuffix("\n").split("\n")
    return "\n".join(f"| {neutral(line)}".replace("##[", "\\x23#[") for line in lines)


def _fail(failures: tuple[Failure, ...]) -> NoReturn:
    """Report failures without a traceback."""
    pytest.fail("\n".join(f"{failure.kind}: {failure.message}" for failure in failures), pytrace=False)
