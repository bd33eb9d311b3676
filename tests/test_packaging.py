"""The wheel has what users need and nothing else; the sdist has what the tests need; the manual page is complete."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess import __version__
from prowess.cli._commands import COMMANDS
from prowess.cli._parser import command_parser
from prowess.findings import DOCS_URL

if TYPE_CHECKING:
    from email.message import Message

TOP = Path(__file__).parents[1]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

pytest.importorskip("hatchling", reason="of the development environment")


def build(source: Path, target: Path, kind: str) -> Path:
    """Build a wheel or an sdist and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (file,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(build(TOP, tmp_path_factory.mktemp("wheel"), "wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the unpacked sdist."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(TOP, folder, "sdist")) as archive:
        # Python 3.11.4 brought the argument, and 3.14 makes it the default.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safely)  # type: ignore[arg-type]  # noqa: S202 - it was built above
    return folder / f"prowess-{__version__}"


def source_files() -> set[str]:
    """Return the files below src/, without what Python and tools write there."""
    return {
        str(path.relative_to(TOP / "src"))
        for path in (TOP / "src/prowess").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def metadata(wheel: zipfile.ZipFile) -> Message:
    return BytesParser().parsebytes(wheel.read(f"prowess-{__version__}.dist-info/METADATA"))


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_no_others(wheel: zipfile.ZipFile) -> None:
    """Host files, the page of a report, the mark for type checkers; no tests. It adds the manual page."""
    names = {*wheel.namelist()}
    assert {name for name in names if name.startswith("prowess/")} == source_files()
    assert {"prowess/py.typed", "prowess/hosts/codex.toml", "prowess/report/page.html"} <= names
    others = {name for name in names if not name.startswith("prowess/")}
    assert {name.partition(".d")[2].partition("/")[2] for name in others} == {
        *("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"),
        "data/share/man/man1/prowess.1",
    }
    page = wheel.read(f"prowess-{__version__}.data/data/share/man/man1/prowess.1")
    assert page == (TOP / "docs/prowess.1").read_bytes()


TABLES = ("prowess/hosts/_tables.py", "prowess/hosts/_key_docs.py", "prowess/skill/_client_fields.py")


@pytest.mark.slow
def test_the_tables_of_hosts_are_made_by_a_build(wheel: zipfile.ZipFile, sdist: Path) -> None:
    """The wheel and the sdist have them; git does not."""
    for name in TABLES:
        assert wheel.read(name) == (sdist / "src" / name).read_bytes() == (TOP / "src" / name).read_bytes()
    ignored = (TOP / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {f"/src/{name}" for name in TABLES} <= {*ignored}
    if (TOP / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "src"], cwd=TOP, capture_output=True, text=True, check=True).stdout
        assert not {f"src/{name}" for name in TABLES} & {*listed.splitlines()}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a source tree as git has it, with nothing installed."""
    for name in ("src", "tools"):
        shutil.copytree(TOP / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in TABLES:
        (tmp_path / "src" / name).unlink()
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(TOP / name, tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["list"], ["check", "."], ["hosts"]], ids=" ".join)
def test_a_source_tree_without_tables_says_what_to_type(clone: Path, arguments: list[str]) -> None:
    """It was cloned and nothing is installed."""
    command = [sys.executable, "-m", "prowess", *arguments]
    env = {**os.environ, "PYTHONPATH": str(clone / "src")}
    done = subprocess.run(command, cwd=clone, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: this source tree has no tables of hosts yet\n\nhint: type `pip install --editable .`, or `make quick`\n"
    )


@pytest.mark.needs("make")
@pytest.mark.parametrize("task", ["demo", "quick", "test"])
def test_make_without_python_says_what_to_install(clone: Path, task: str) -> None:
    """Before anything else is installed."""
    # Below `make test`, a make says where it is.
    command = ["make", "--no-print-directory", "PYTHON=python3.none", task]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    first, *_ = done.stderr.splitlines()
    assert first.startswith("make: there is no python3.none; install Python 3.11 or newer ")


@pytest.mark.slow
@pytest.mark.needs("make")
def test_make_writes_the_tables_again_after_a_host_file_changed(clone: Path) -> None:
    """Every environment of the Makefile asks for them first."""
    table, command = f"src/{TABLES[0]}", ["make", f"PYTHON={sys.executable}", f"src/{TABLES[0]}"]
    subprocess.run(command, cwd=clone, check=True, capture_output=True)
    assert [(clone / "src" / name).read_bytes() for name in TABLES] == [
        (TOP / "src" / name).read_bytes() for name in TABLES
    ]
    file = clone / "src/prowess/hosts/amp.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('title = "', 'title = "New '), encoding="utf-8")
    later = (clone / table).stat().st_mtime + 1  # also where a file system counts whole seconds
    os.utime(file, (later, later))
    for environment in (".venv", ".venv-agent", ".venv-camel", ".venv-frameworks", ".venv-search"):
        ready = [*command[:2], "--dry-run", f"{environment}/.ready"]
        planned = subprocess.run(ready, cwd=clone, check=True, capture_output=True, text=True).stdout
        assert "tools/host_tables.py" in planned, environment
    subprocess.run(command, cwd=clone, check=True, capture_output=True)
    assert "'New Amp" in (clone / table).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_metadata_of_the_wheel(wheel: zipfile.ZipFile) -> None:
    """What a package index shows."""
    found = metadata(wheel)
    assert (found["Name"], found["Version"], found["License-Expression"]) == ("prowess", __version__, "Apache-2.0")
    assert found["Requires-Python"] == ">=3.11"
    assert found["Description-Content-Type"] == "text/markdown"
    requires = [value for value in found.get_all("Requires-Dist") or [] if "extra ==" not in value]
    assert requires == ["pyyaml>=6.0.1"]
    assert {*(found.get_all("Provides-Extra") or [])} == {*PROJECT["project"]["optional-dependencies"]}
    urls = dict(value.split(", ") for value in found.get_all("Project-URL") or [])
    assert urls["Documentation"] == DOCS_URL
    assert {"Homepage", "Source", "Issues", "Changelog"} <= {*urls}


def test_every_supported_python_has_a_classifier() -> None:
    """The same ones as in `make wheels`."""
    listed = [name.rpartition(" ")[2] for name in PROJECT["project"]["classifiers"] if ":: Python :: 3." in name]
    assert listed == [*PYTHONS]
    tool = (TOP / "tools/wheels.py").read_text(encoding="utf-8")
    assert f"VERSIONS = {PYTHONS}".replace("'", '"') in tool
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]


@pytest.mark.slow
def test_an_sdist_builds_the_same_wheel(sdist: Path, wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """A distributor builds from it."""
    again = zipfile.ZipFile(build(sdist, tmp_path, "wheel"))
    assert {name: again.read(name) for name in again.namelist()} == {
        name: wheel.read(name) for name in wheel.namelist()
    }


@pytest.mark.slow
def test_the_tests_run_from_the_sdist(sdist: Path) -> None:
    """It has all files that tests read, and a few of them pass there."""
    for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (TOP / name.strip("/")).exists(), name
        assert (sdist / name.strip("/")).exists(), name
    tests = ["tests/test_findings.py", "tests/cli/test_help.py"]
    temporary = f"--basetemp={sdist.parent}/tests"  # one that no other run of pytest removes meanwhile
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", temporary, *tests]
    env = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    done = subprocess.run(command, cwd=sdist, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


CONSUMER = """
from prowess import Catalog, Session, check, discover, render
from prowess.findings import Finding

def names(folder: str) -> list[str]:
    catalog: Catalog = discover(folder)
    findings: tuple[Finding, ...] = check(folder)
    session = Session(catalog)
    reveal_type(catalog.skills[0].name)
    reveal_type(render(catalog).text)
    return [entry.name for entry in catalog.skills] + [item.code for item in findings]
"""


@pytest.mark.slow
def test_a_typed_project_can_use_the_wheel(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """`mypy --strict` finds the types of the installed package, and no error in it."""
    pytest.importorskip("mypy", reason="of the development environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    wheel.extractall(packages)  # noqa: S202 - it was built above
    (tmp_path / "consumer.py").write_text(CONSUMER)
    interpreter = f"--python-executable={tmp_path / 'venv/bin/python'}"
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", interpreter, "consumer.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r'Revealed type is "(.*)"', done.stdout) == ["str", "str"]
    assert "Success: no issues found in 1 source file" in done.stdout


def test_the_manual_page_names_every_command_and_option() -> None:
    """It is made of the parsers; `tests/test_docs.py` checks that it is up to date."""
    page = (TOP / "docs/prowess.1").read_text(encoding="utf-8").replace("\\-", "-")
    for command in COMMANDS:
        section = page.split(f"\n.SS prowess {command}\n")[1].split("\n.S")[0]
        actions = command_parser(command)._actions
        options = [name for action in actions for name in action.option_strings if name != "--names"]
        assert [name for name in options if name not in section] == []


def test_the_manual_page_has_only_known_macros() -> None:
    """A line of text that begins with a dot would be lost; a backslash would be a command."""
    lines = (TOP / "docs/prowess.1").read_text(encoding="utf-8").splitlines()
    macros = {line.split()[0] for line in lines if line.startswith((".", "'"))}
    assert macros == {'.\\"', ".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".nf", ".fi"}
    escapes = {match for line in lines if line[:3] != '.\\"' for match in re.findall(r"\\(?:\(..|f.|.)", line)}
    assert escapes <= {"\\-", "\\e", "\\&", "\\(aq", "\\(ga", "\\fB", "\\fI", "\\fR"}
