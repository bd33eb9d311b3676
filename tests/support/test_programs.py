"""Tests without their programs: skipped, and named in the last line; with `CI=true` failed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.inner_pytest import run_pytest
from support.programs import summary

TESTS = Path(__file__).parents[1]
FILE = """
import pytest
from support.programs import require

@pytest.mark.parametrize("name", ["none", "bwrap"])
def test_in_a_sandbox(name, sandbox): ...

@pytest.fixture
def sandbox(name):
    if name == "bwrap":
        require(name)

@pytest.mark.needs("bwrap")
def test_in_another(): ...

def test_of_nothing(): ...

@pytest.mark.skip(reason="another reason")
def test_for_another_reason(): ...
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bwrap is of Linux")


@pytest.fixture
def without_bwrap(tmp_path: Path) -> str:
    """A `PATH` with all programs of this machine but bwrap and those that could install it."""
    (tmp_path / "bin").mkdir()
    for folder in os.get_exec_path():
        for path in Path(folder).glob("*"):
            link = tmp_path / "bin" / path.name
            if path.name not in ("bwrap", "apt-get", "dnf") and not link.is_symlink():
                link.symlink_to(path)
    return str(tmp_path / "bin")


def run(path: str, *arguments: str | Path, **more: str) -> tuple[int, list[str]]:
    """Run pytest; return its exit code and the lines it prints."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("CI", "PROWESS_SKIPPED")}
    env = {name: value for name, value in inherited.items() if "PYTEST" not in name}
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    done = run_pytest(
        "-q", "-p", "no:cacheprovider", *arguments, cwd=TESTS.parent, env={**env, **plugins, "PATH": path, **more}
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder of tests with the same conftest.py as ours."""
    folder = tmp_path / "tests"
    folder.mkdir()
    shutil.copy(TESTS / "conftest.py", folder)
    (tmp_path / "tools").symlink_to(TESTS.parent / "tools")  # which it uses
    (folder / "test_small.py").write_text(FILE, encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_tests_without_their_program_are_skipped_and_named_in_the_last_line(
    workers: str, small: Path, without_bwrap: str
) -> None:
    code, lines = run(without_bwrap, "-c", "pyproject.toml", "--rootdir", small.parent, "-n", workers, small)
    assert code == 0
    assert lines[-2].startswith("2 passed, 3 skipped")
    message = "install it with the package manager of this system"
    assert sorted(line[:12] for line in lines if "SKIPPED" in line) == ["SKIPPED [1] ", "SKIPPED [2] "]
    assert lines[-1] == f"2 tests (test_small.py) were skipped because bubblewrap is missing; {message}"


@pytest.mark.slow
def test_with_ci_true_they_fail_with_the_same_words(small: Path, without_bwrap: str) -> None:
    code, lines = run(without_bwrap, "-c", "pyproject.toml", "--rootdir", small.parent, small, CI="true")
    assert code == 1
    assert lines[-1].startswith("2 passed, 1 skipped, 2 errors")
    message = "Failed: bubblewrap is missing; install it with the package manager of this system"
    assert [line.partition(" - ")[2] for line in lines if line.startswith("ERROR ")] == [message, message]


@pytest.mark.slow
def test_several_runs_share_one_line(small: Path, without_bwrap: str, tmp_path: Path) -> None:
    """`make test` runs pytest in several environments."""
    file = tmp_path / "skipped"
    for workers in ("0", "2"):
        _, lines = run(
            without_bwrap,
            *("-c", "pyproject.toml", "--rootdir", small.parent, "-n", workers, small),
            PROWESS_SKIPPED=str(file),
        )
        assert lines[-1].startswith("2 passed, 3 skipped")
    done = subprocess.run(
        [sys.executable, TESTS / "support/programs.py", file],
        env={**os.environ, "PATH": without_bwrap},
        capture_output=True,
        text=True,
        check=True,
    )
    message = "install it with the package manager of this system"
    assert done.stdout == f"4 tests (test_small.py) were skipped because bubblewrap is missing; {message}\n"


@pytest.mark.slow
def test_our_own_tests_of_the_sandbox_are_skipped_without_it(without_bwrap: str) -> None:
    files = [TESTS / "sandbox/test_profiles.py", TESTS / "sandbox/test_run.py"]
    code, lines = run(without_bwrap, *files, "-k", "test_exit_codes or test_no_capability_is_left")
    assert code == 0
    assert lines[-2].startswith("5 passed, 6 skipped")
    names = "sandbox/test_profiles.py, sandbox/test_run.py"
    assert lines[-1].startswith(f"6 tests ({names}) were skipped because bubblewrap is missing; ")


@pytest.mark.slow
def test_nothing_is_added_if_nothing_is_missing(small: Path) -> None:
    (small / "test_small.py").write_text("def test_of_nothing(): ...\n", encoding="utf-8")
    code, lines = run(os.environ["PATH"], "-c", "pyproject.toml", "--rootdir", small.parent, small)
    assert (code, lines[-1][:8]) == (0, "1 passed")


def test_one_test_is_not_many() -> None:
    assert summary([("bwrap", "tests/a.py")]).startswith("1 test (a.py) was skipped because ")
