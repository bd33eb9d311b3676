"""pytest imports no file of a skill, wherever the skill is and however pytest is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.files import write_file
from support.inner_pytest import run_pytest
from support.suites import write_suite

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet"),
]
SOURCE = Path(__file__).parents[2] / "src"
PYTHON_FILES = (
    *("conftest.py", "__init__.py", "test_top.py", "setup.py", "tests/conftest.py", "tests/__init__.py"),
    *("tests/test_evil.py", "tests/cases/__init__.py", "tests/cases/conftest.py", "tests/cases/test_x.py"),
    *("deep/er/test_deep.py", "deep/conftest.py", "test_inner/conftest.py", "evilplug.py", "helper_test.py"),
)


def evil_skill(folder: Path, canary: Path, *, settings: bool = False) -> Path:
    """Write a skill with a case, in which every Python file writes to a canary when it is imported."""
    write_suite(folder, {"x": "true"})
    code = f"open({str(canary)!r}, 'a').write(__file__ + '\\n')\ndef test_it(): pass\n"
    for name in PYTHON_FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code)
    (folder / "test_doc.txt").write_text(f">>> _ = open({str(canary)!r}, 'a').write('doctest')\n")
    if settings:
        for name, section in (("pytest.ini", "pytest"), ("setup.cfg", "tool:pytest"), ("tox.ini", "pytest")):
            (folder / name).write_text(f"[{section}]\naddopts = -p evilplug\npythonpath = .\n")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a test of its own."""
    top = tmp_path / "project"
    write_file(top / "tests/test_own.py", "def test_own(): pass\n")
    (top / "pytest.ini").write_text("[pytest]\n")
    return top


def run(
    cwd: Path, *arguments: str | Path, on: tuple[str, ...] = ("-p", "prowess"), **env: str
) -> subprocess.CompletedProcess[str]:
    """Run pytest without the plugins of other packages."""
    variables = {name: os.environ[name] for name in ("PATH", "HOME", "PROWESS_CACHE_DIR", "PROWESS_CONFIG_DIR")}
    variables |= {"PYTHONPATH": str(SOURCE), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    sandbox = ("--skill-sandbox=none",) if on else ()
    return run_pytest("-q", *sandbox, "-p", "no:cacheprovider", *on, *arguments, cwd=cwd, env=variables | env)


def imported(canary: Path) -> list[str]:
    return canary.read_text().split() if canary.exists() else []


PLACES = ("skills/evil", ".claude/skills/evil", ".hidden/deep/evil", "test_evil", "tests/evil", "src/pkg/evil", "build")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--import-mode=importlib",),
        ("--doctest-modules", "--doctest-glob=*.txt", "-o", "python_files=*"),
        ("-o", "norecursedirs=", "-o", "testpaths=skills/evil/tests tests"),
        ("--confcutdir=skills/evil/tests", "-o", "python_files=*.py"),
        ("--rootdir=skills/evil", "--collect-only"),
        ("--keep-duplicates", "--collect-in-virtualenv", "."),
    ],
    ids=lambda row: " ".join(row) or "plain",
)
def test_a_run_of_the_project_imports_nothing_of_its_skills(arguments: tuple[str, ...], project: Path) -> None:
    canary = project.parent / "canary"
    for place in PLACES:
        evil_skill(project / place, canary, settings=True)
    done = run(project, *arguments)
    assert imported(canary) == []
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout or "::" in done.stdout


@pytest.mark.parametrize("place", [".claude/skills/evil", ".hidden/deep/evil", "test_evil"])
@pytest.mark.parametrize("argument", ["{}", "{}/..", "{}/tests", "{}/tests/cases/x.yaml::x"])
def test_naming_a_skill_runs_only_its_cases(place: str, argument: str, project: Path) -> None:
    canary = project.parent / "canary"
    evil_skill(project / place, canary)
    done = run(project, argument.format(place), "-o", "python_files=*")
    assert imported(canary) == []
    assert "passed" in done.stdout, done.stdout + done.stderr


def test_starting_inside_a_skill_runs_only_its_cases(project: Path) -> None:
    canary = project.parent / "canary"
    folder = evil_skill(project / "skills/evil", canary)
    for inner in (".", "tests", "tests/cases"):
        (folder / inner / "yaml.py").write_text((folder / "conftest.py").read_text())
        assert "1 passed" in run(folder / inner).stdout
    assert "1 passed" in run(project, "-c", project / "pytest.ini", "--rootdir", folder, folder).stdout
    assert imported(canary) == []


def test_a_project_that_is_a_skill_is_named_in_the_header(project: Path) -> None:
    """Its Python tests are not left out silently."""
    (project / "SKILL.md").touch()
    (project / "pytest.ini").unlink()
    done = run(project, "-v")
    assert f"prowess: {project} is a skill, so only cases are collected" in done.stdout
    assert "passed" not in done.stdout


@pytest.mark.parametrize(
    "argument", ["tests/test_evil.py", "tests/test_evil.py::test_it", "conftest.py", "test_doc.txt"]
)
def test_another_file_of_a_skill_is_refused(argument: str, project: Path) -> None:
    canary = project.parent / "canary"
    folder = evil_skill(project / "skills/evil", canary)
    done = run(project, f"skills/evil/{argument}")
    assert (done.returncode, imported(canary)) == (4, [])
    assert f"use `prowess test {folder}`" in done.stderr


@pytest.mark.parametrize("name", ["skills.evil.tests.test_evil", "skills.evil", "evil.tests"])
def test_a_module_of_a_skill_is_refused_by_name(name: str, project: Path) -> None:
    """Python would import the packages that contain it, to find it."""
    canary = project.parent / "canary"
    evil_skill(project / "skills/evil", canary)
    (project / "skills/__init__.py").touch()
    done = run(project, "--pyargs", name, PYTHONPATH=f"{SOURCE}:{project}:{project}/skills")
    assert (done.returncode, imported(canary)) == (4, [])
    assert "belongs to the skill" in done.stderr


@pytest.mark.parametrize("arguments", [("skills/evil",), ("-c", "skills/evil/pytest.ini"), ("skills/evil/tests",)])
def test_settings_of_a_skill_end_the_run(arguments: tuple[str, ...], project: Path) -> None:
    """No plugin can stop what they load; but pytest says so and runs nothing."""
    canary = project.parent / "canary"
    folder = evil_skill(project / "skills/evil", canary, settings=True)
    (folder / "evilplug.py").write_text("")
    done = run(project, *arguments)
    assert (done.returncode, imported(canary)) == (4, [])
    assert "belong to a skill" in done.stderr
    assert f"prowess test {folder}" in done.stderr


def _dangling(folder: Path) -> None:
    (folder / "SKILL.md").symlink_to("nowhere")


SKILL_FILES: dict[str, Callable[[Path], object]] = {
    "a dangling link": _dangling,
    "a FIFO": lambda folder: os.mkfifo(folder / "SKILL.md"),
    "a folder": lambda folder: (folder / "SKILL.md").mkdir(),
    "lower case": lambda folder: (folder / "skill.md").touch(),
    "mixed case": lambda folder: (folder / "Skill.MD").touch(),
}


@pytest.mark.parametrize("kind", SKILL_FILES)
def test_a_skill_is_recognised_by_any_skill_file(kind: str, project: Path) -> None:
    canary = project.parent / "canary"
    folder = evil_skill(project / "skills/evil", canary)
    (folder / "SKILL.md").unlink()
    SKILL_FILES[kind](folder)
    assert "1 passed" in run(project).stdout
    run(project, "skills/evil")
    assert imported(canary) == []


def test_links_into_a_skill_are_not_imported(project: Path) -> None:
    """A folder, a test file, a `conftest.py` and an `__init__.py` that are links; and a link to a skill elsewhere."""
    canary = project.parent / "canary"
    outside = evil_skill(project.parent / "outside/evil", canary)
    (project / "tests/linked").symlink_to(outside / "tests")
    (project / "tests/test_linked.py").symlink_to(outside / "tests/test_evil.py")
    (project / "sub").mkdir()
    (project / "sub/conftest.py").symlink_to(outside / "conftest.py")
    (project / "sub/test_sub.py").write_text("def test_sub(): pass\n")
    (project / "skills").mkdir()
    (project / "skills/linked").symlink_to(outside)
    (project / "pkg").mkdir()
    (project / "pkg/__init__.py").symlink_to(outside / "__init__.py")
    (project / "pkg/test_pkg.py").write_text("def test_pkg(): pass\n")
    assert "3 passed" in (done := run(project)).stdout, done.stdout
    assert run(project, "tests/test_linked.py").returncode == 4
    run(project, "pkg/test_pkg.py")
    run(project, "tests/linked")
    run(project, "skills/linked")
    assert imported(canary) == []


def test_nested_skills_are_not_imported(project: Path) -> None:
    """Not even the `conftest.py` of a folder between the two."""
    canary = project.parent / "canary"
    folder = evil_skill(project / "skills/evil", canary)
    evil_skill(folder / "deep/inner", canary)
    assert "3 passed" in run(project).stdout
    assert "1 passed" in run(project, "skills/evil/deep/inner").stdout
    assert imported(canary) == []


@pytest.mark.parametrize(
    ("on", "name", "text"),
    [
        (("-p", "prowess.testing.plugin", "-o", "prowess_skills=true"), "pytest.ini", "[pytest]\n"),
        (("-p", "prowess.testing.plugin"), "pytest.ini", "[pytest]\nprowess_skills = true\n"),
        (("-p", "prowess"), "pytest.ini", "[pytest]\n"),
        ((), "pytest.ini", "[pytest]\naddopts = -p prowess\n"),
    ],
    ids=["-o", "ini", "-p", "addopts"],
)
def test_each_switch_works(on: tuple[str, ...], name: str, text: str, project: Path) -> None:
    canary = project.parent / "canary"
    evil_skill(project / "skills/evil", canary)
    (project / name).write_text(text)
    assert "2 passed" in (done := run(project, on=on)).stdout, done.stdout + done.stderr
    assert imported(canary) == []


SETTINGS = {
    "pytest.ini": "[pytest]\nprowess_skills = true\n",
    "tox.ini": "[pytest]\nprowess_skills = true\n",
    "setup.cfg": "[tool:pytest]\nprowess_skills = true\n",
    "pyproject.toml": "[tool.pytest.ini_options]\nprowess_skills = true\n",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_installed_plugin_is_switched_on_by_settings(name: str, project: Path, installed: dict[str, str]) -> None:
    """By the entry point, without a name on the command line."""
    canary = project.parent / "canary"
    evil_skill(project / "skills/evil", canary)
    (project / "pytest.ini").unlink()
    (project / name).write_text(SETTINGS[name])
    done = run(project, on=(), **installed)
    assert "2 passed" in done.stdout or "sandbox" in done.stdout, done.stdout + done.stderr
    assert imported(canary) == []


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment in which Prowess is the only package with a pytest plugin."""
    metadata = tmp_path / "site/prowess-0.1.0.dist-info"
    write_file(metadata / "METADATA", "Metadata-Version: 2.1\nName: prowess\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[pytest11]\nprowess = prowess.testing.plugin\n")
    return {"PYTHONPATH": f"{SOURCE}:{tmp_path}/site", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}


def test_an_installed_plugin_does_nothing_until_it_is_switched_on(project: Path, installed: dict[str, str]) -> None:
    """Pytest collects what it would without Prowess, and nothing but the plugin itself is imported."""
    write_suite(project / "skills/pdf", {"a": "true"})
    (project / "skills/pdf/test_it.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    loaded = {name for name in sys.modules if name.split('.')[0] in ('prowess', 'yaml')}\n"
        "    print(sorted(loaded))\n"
        "    assert loaded <= {'prowess', 'prowess._internal', 'prowess._internal.lazy', 'prowess.testing',\n"
        "                      'prowess.testing.plugin'}\n"
    )
    with_plugin = run(project, "-rA", on=(), **installed)
    assert "2 passed" in with_plugin.stdout, with_plugin.stdout
    ids = [run(project, "--collect-only", on=(), **env).stdout.split("\n\n")[0] for env in (installed, {})]
    assert ids[0] == ids[1]


def test_the_processes_of_xdist_import_nothing(project: Path) -> None:
    """They start with the settings of the project, and load `conftest.py` files of their own."""
    canary = project.parent / "canary"
    for place in ("skills/evil", "test_evil"):
        evil_skill(project / place, canary)
    done = run(project, "-p", "xdist.plugin", "-n", "2", on=("-p", "prowess"))
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    assert imported(canary) == []


def test_hooks_of_the_project_reach_cases(project: Path) -> None:
    """A `conftest.py` above a skill belongs to the project."""
    canary: Any = project.parent / "canary"
    evil_skill(project / "skills/evil", canary)
    (project / "conftest.py").write_text("def pytest_runtest_setup(item): print('SETUP', item.nodeid)\n")
    done = run(project, "-rA")
    assert "SETUP skills/evil/tests/cases/x.yaml::x" in done.stdout
    assert imported(canary) == []


def test_failed_cases_run_first_next_time(project: Path) -> None:
    """`--lf` finds a case by its stable id."""
    write_suite(project / "skills/pdf", {"a": "true", "b": "false"})
    assert "1 failed, 2 passed" in run(project, "-p", "cacheprovider").stdout
    done = run(project, "-p", "cacheprovider", "--lf")
    assert "1 failed" in done.stdout
    assert "passed" not in done.stdout


@pytest.mark.parametrize("words", ["--skill-sandbox=none", "--skill-sandbox none"])
def test_settings_of_a_project_do_not_switch_the_sandbox_off(words: str, project: Path) -> None:
    """Only who starts pytest does."""
    write_suite(project / "skills/pdf", {"x": f"touch {project}/ran"})
    (project / "pytest.ini").write_text(f"[pytest]\naddopts = -p prowess {words}\n")
    done = run(project, on=())
    assert done.returncode == 4
    assert "settings of a project cannot switch the sandbox off" in done.stderr
    assert not (project / "ran").exists()
    assert run(project, on=(), PYTEST_ADDOPTS="--skill-sandbox=none").returncode == 0
    assert run(project, "--skill-sandbox", "none", on=()).returncode == 0
    assert (project / "ran").exists()
