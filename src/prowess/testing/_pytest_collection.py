"""Collect the cases of skills in pytest, and keep pytest's own collection out of every folder that is a skill.

pytest imports what it collects: test modules, `__init__.py`, and each `conftest.py` on the way. In a skill these are
untrusted programs. So a folder of a skill is collected by `SkillFolder`, which yields nothing but cases.
"""

from __future__ import annotations

import os
import sys
from fnmatch import fnmatch
from os.path import normpath
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.text import PATH_LIMIT, neutral, normalize_name, quoted

from ._cases import skill_folder_of_cases

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import NoReturn

    from ._cases import Case
    from ._expect import Failure
    from ._runner import SuiteRun

_NAME = normalize_name(SKILL_FILE)


class SkillFolders:
    """The folders that are skills, remembered for one run."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}

    def skill_of(self, path: str | os.PathLike[str]) -> str | None:
        """Return the skill that contains a file or folder, or `None`.

        A folder is a skill if it contains anything called SKILL.md, in any case; the file itself is not read. A path
        belongs to a skill also if it is a link into one.
        """
        shown = os.path.abspath(os.fspath(path))
        return self._containing_skill(shown) or self._containing_skill(real_path(shown))

    def _containing_skill(self, path: str) -> str | None:
        if path not in self._known:
            parent = os.path.dirname(path)
            if _has_skill_file(path):
                self._known[path] = path
            else:
                self._known[path] = self._containing_skill(parent) if parent != path else None
        return self._known[path]


def _has_skill_file(folder: str) -> bool:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):  # a folder that cannot be listed may still be entered
        return os.path.lexists(os.path.join(folder, SKILL_FILE))
    return any(normalize_name(name) == _NAME for name in names if len(name) < 32)


_SUITE_RUNS = pytest.StashKey[dict[str, Any]]()


# ── the items ───────────────────────────────────────────────────────────────────────────────────────────────────────


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
    from ._runner import SuiteRun

    runs = config.stash.setdefault(_SUITE_RUNS, {})
    if folder not in runs:
        runs[folder] = SuiteRun(load_suite(folder), config.getoption("skill_sandbox") or "auto")
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
    from prowess._internal.text import escape_ci_marks, neutral

    lines = text.removesuffix("\n").split("\n")
    return "\n".join(f"| {escape_ci_marks(neutral(line))}" for line in lines)


def _fail(failures: tuple[Failure, ...]) -> NoReturn:
    """Report failures without a traceback."""
    pytest.fail("\n".join(f"{failure.kind}: {failure.message}" for failure in failures), pytrace=False)


_FOLDERS = pytest.StashKey[SkillFolders]()
_OWN_FOLDERS = pytest.StashKey[set[Path]]()
"""Hidden folders of agents, which pytest would skip."""


# ── before pytest imports anything of a project ──────────────────────────────────────────────────────────────────────


def start(config: pytest.Config) -> None:
    """Keep pytest from importing a `conftest.py` of a skill.

    Raises:
        UsageError: pytest's settings come from a skill, or this version of pytest is not supported.
    """
    folders = config.stash[_FOLDERS] = SkillFolders()
    config.stash[_OWN_FOLDERS] = set()
    cwd = os.getcwd()
    if folders.skill_of(cwd) is not None:  # `python -m pytest` lets Python import modules from there
        sys.path[:] = [entry for entry in sys.path if entry not in ("", cwd)]
    manager: Any = config.pluginmanager
    if not (hasattr(pytest, "Directory") and hasattr(manager, "_importconftest")):
        raise pytest.UsageError(f"Prowess does not support pytest {pytest.__version__}; use `prowess test`")
    skill = folders.skill_of(config.inipath) if config.inipath is not None else None
    if skill is not None:
        raise pytest.UsageError(
            f"the settings {neutral(str(config.inipath))} belong to a skill, and pytest has loaded them already; "
            f"use `prowess test {neutral(skill)}`, or name the settings of your project with `-c FILE`"
        )
    import_conftest = manager._importconftest  # noqa: SLF001 - pytest has no public way to refuse a conftest.py
    own_folders = config.stash[_OWN_FOLDERS]

    def import_conftest_of_project(path: Path, *arguments: Any, **options: Any) -> ModuleType:
        if folders.skill_of(path) is None and own_folders.isdisjoint(path.parents):
            module: ModuleType = import_conftest(path, *arguments, **options)
            return module
        return ModuleType("conftest")

    manager._importconftest = import_conftest_of_project  # noqa: SLF001


def check_arguments(config: pytest.Config) -> None:
    """Refuse arguments for which pytest would import a file of a skill, or which select nothing.

    Raises:
        UsageError: an argument is a file or module of a skill, and not a case; or settings switch the sandbox off.
    """
    _check_sandbox(config)
    folders = config.stash[_FOLDERS]
    for argument in config.args:
        name = argument.split("::")[0].partition("[")[0]
        path = os.path.join(config.invocation_params.dir, name)
        skill = None
        if os.path.lexists(path):
            if not os.path.isdir(path) and skill_folder_of_cases(path) is None:
                skill = folders.skill_of(path)
        elif config.getoption("pyargs"):
            skill = _skill_of_module(name, folders)
        if skill is not None:
            raise pytest.UsageError(
                f"{quoted(name, PATH_LIMIT)} belongs to the skill {neutral(skill)}; of a skill, pytest collects "
                f"only `tests/cases/*.yaml`, and imports nothing; use `prowess test {neutral(skill)}`"
            )


def _check_sandbox(config: pytest.Config) -> None:
    """Refuse `--skill-sandbox=none` that was not typed: no file of a project decides that.

    Raises:
        UsageError: it comes from `addopts`, or from a plugin of the project.
    """
    if config.getoption("skill_sandbox") != "none" or hasattr(config, "workerinput"):
        return
    typed = (*config.invocation_params.args, *os.environ.get("PYTEST_ADDOPTS", "").split())
    if not any(str(word).startswith("--skill-sandbox") for word in typed):
        raise pytest.UsageError(
            "`--skill-sandbox=none` must be typed: settings of a project cannot switch the sandbox off; "
            "type it, or set it in PYTEST_ADDOPTS"
        )


def _skill_of_module(name: str, folders: SkillFolders) -> str | None:
    """Return the skill in which Python would find a module, or a package that contains it; nothing is imported."""
    locations = [entry or os.curdir for entry in sys.path]
    for part in name.split("."):
        found = [os.path.join(location, part) for location in locations]
        files = [file for path in found for file in (path, f"{path}.py") if os.path.lexists(file)]
        for file in files:
            skill = folders.skill_of(file)
            if skill is not None:
                return skill
        locations = files
    return None


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say so if the whole project is a skill, whose Python tests are not collected."""
    skill = config.stash[_FOLDERS].skill_of(config.rootpath)
    return None if skill is None else f"prowess: {neutral(skill)} is a skill, so only cases are collected"


# ── collecting ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.hookimpl(tryfirst=True)
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect from folders that pytest skips by default: skills called `build`, and hidden folders of agents."""
    if not collection_path.is_dir() or not _is_skipped_by_name(collection_path, config):
        return None
    if _is_ignored(collection_path, config):
        return None
    if _has_cases(collection_path):
        return False
    if _is_agent_folder(collection_path) and any(map(_has_cases, _folders_below(collection_path))):
        config.stash[_OWN_FOLDERS].add(collection_path)
        return False
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the folder of a skill, or of an agent's skills."""
    config = parent.config
    folders = config.stash[_FOLDERS]
    is_skill = isinstance(parent, SkillFolder) or path in config.stash[_OWN_FOLDERS] or folders.skill_of(path)
    # Python would import what this link leads to with every module beside it.
    if is_skill or folders.skill_of(path / "__init__.py"):
        folder: pytest.Collector = SkillFolder.from_parent(parent, path=path)
        return folder
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Drop what pytest or another plugin makes of a file of a skill."""
    collectors = yield
    if isinstance(parent, SkillFolder) or parent.config.stash[_FOLDERS].skill_of(file_path):
        return list(_case_files(file_path, parent))
    return collectors


def _case_files(path: Path, parent: pytest.Collector) -> Iterator[pytest.Collector]:
    folder = None if path.is_symlink() else skill_folder_of_cases(str(path))
    if folder is not None and not path.name.startswith("."):
        yield CaseFile.from_parent(parent, path=path, folder=folder)


class SkillFolder(pytest.Directory):
    """A folder of a skill, or a hidden folder that contains skills. It yields cases and folders, and follows no link.

    pytest loads the `conftest.py` files above it, which belong to the project.
    """

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the case files of this folder and the folders in it."""
        with os.scandir(self.path) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                if self.session.isinitpath(path, with_parents=True) or not self._is_ignored(path):
                    yield SkillFolder.from_parent(self, path=path)
            elif entry.is_file(follow_symlinks=False) and (self.session.isinitpath(path) or not self._is_ignored(path)):
                yield from _case_files(path, self)

    def _is_ignored(self, path: Path) -> bool:
        return bool(self.ihook.pytest_ignore_collect(collection_path=path, config=self.config))


def _has_cases(folder: Path) -> bool:
    return (folder / "tests/cases").is_dir() and (folder / "SKILL.md").is_file()


def _folders_below(folder: Path) -> Iterator[Path]:
    for path, _, _ in os.walk(folder):
        yield Path(path)


def _is_agent_folder(folder: Path) -> bool:
    """Return whether agents keep skills in a folder with this hidden name."""
    if not folder.name.startswith("."):
        return False
    from prowess.hosts import TABLES

    root_paths = (root.get("path", "") for table in TABLES.values() for root in table.get("roots", ()))
    return folder.name in {path.split("/")[0] for path in root_paths if path.startswith(".")}


def _is_skipped_by_name(folder: Path, config: pytest.Config) -> bool:
    """Return whether pytest skips a folder because of its name, or because it looks like a virtual environment."""
    patterns = config.getini("norecursedirs")
    return any(fnmatch(folder.name if os.sep not in name else str(folder), name) for name in patterns)


def _is_ignored(folder: Path, config: pytest.Config) -> bool:
    """Return whether the user ignores a folder; pytest checks this only if no plugin decides."""
    ignored, globs = config.getoption("ignore") or (), config.getoption("ignore_glob") or ()
    start_folder = config.invocation_params.dir
    return any(folder == Path(normpath(start_folder / path)) for path in ignored) or any(
        fnmatch(str(folder), normpath(start_folder / glob)) for glob in globs
    )
