"""`prowess`: exit codes and last words of the command line as a whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import prowess
from prowess.cli import main
from prowess.cli._commands import COMMANDS
from prowess.cli.skills import hosts as command
from prowess.errors import ConfigError
from support.growth import END

if TYPE_CHECKING:
    from collections.abc import Callable


FULL = Path("/dev/full")


def failing(error: BaseException) -> Callable[[object], int]:
    def run(args: object) -> int:
        raise error

    return run


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """And without a word."""
    monkeypatch.setattr(command, "run", failing(KeyboardInterrupt()))
    assert main(["hosts"]) == 130
    assert capsys.readouterr() == ("", "")


def test_an_internal_error_is_reported_as_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its name, and how to see more; under PROWESS_DEBUG the traceback itself."""
    monkeypatch.delenv("PROWESS_DEBUG", raising=False)
    monkeypatch.setattr(command, "run", failing(ZeroDivisionError("one by none")))
    assert main(["hosts"]) == 3
    assert capsys.readouterr() == (
        "",
        """\
error: this is a bug in Prowess: ZeroDivisionError: one by none

hint: set PROWESS_DEBUG=1 to see the traceback, and please report it
""",
    )
    monkeypatch.setenv("PROWESS_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["hosts"])


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("lst", "did you mean `prowess list`?"),
        ("zzz", "`prowess --help` lists all commands"),
        ("-x", "`prowess --help` lists all commands"),
        ("", "`prowess --help` lists all commands"),
    ],
)
def test_an_unknown_command_is_wrong_use(words: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the most similar command."""
    assert main([words]) == 2
    assert capsys.readouterr() == ("", f"error: unknown command `{words}`\n\nhint: {hint}\n")


@pytest.mark.parametrize(
    "arguments", [["{}"], ["list", "--host", "{}"], ["list", "--{}"], ["hosts", "{}"], ["prompt", "--level", "x={}"]]
)
def test_a_hostile_argument_cannot_touch_the_terminal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters are escaped."""
    assert main([argument.format("a\x1b[2J\u202e") for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "a\\x1b[2J\\u202e" in err
    assert not {"\x1b", "\u202e"} & set(err)


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_is_printed(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, on stdout."""
    assert main([option]) == 0
    assert capsys.readouterr() == (f"prowess {prowess.__version__}\n", "")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is full")
@pytest.mark.parametrize("name", COMMANDS)
def test_output_that_cannot_be_written_is_never_a_success(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For every command, also with `--help`."""
    with FULL.open("w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main([name, "--help"]) == 1
    assert capsys.readouterr().err == "error: cannot write the output: No space left on device\n"


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is full")
def test_messages_are_printed_even_if_data_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is printed, then the write error; no traceback."""

    def run(args: object) -> int:
        print("data")
        raise ConfigError("this is wrong")

    monkeypatch.setattr(command, "run", run)
    with FULL.open("w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(["hosts"]) == 1
    assert capsys.readouterr().err == (
        "error: this is wrong\nerror: cannot write the output: No space left on device\n"
    )


SHADOWS = ("yaml", "json", "re", "tempfile", "argparse", "hashlib", "__future__", "sqlalchemy", "lib/yaml")
"""Modules that Prowess uses, or whose absence it reports, and that Python does not load before it."""


@pytest.fixture
def shadowed(tmp_path: Path) -> Path:
    """A project with modules of its own, each of which ends the process with 77, and a link to it beside it."""
    project = tmp_path / "top/project"
    (project / "sub/lib").mkdir(parents=True)
    (project / "lib").mkdir()
    (project / ".git").mkdir()
    for folder in (project, project / "sub", project.parent):
        for name in SHADOWS:
            if (folder / name).parent.is_dir():
                (folder / f"{name}.py").write_text("raise SystemExit(77)\n")
    skill = project / ".agents/skills/pdf/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: pdf\ndescription: >-\n  Reads PDF.\n---\nRead it.\n")
    (tmp_path / "link").symlink_to(project)
    return project


def run_in(folder: Path, command: list[str], path: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env |= {"PYTHONPATH": path, "PROWESS_NO_CACHE": "1", **more}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


TYPED = (
    "list --json --host prowess", "check", "show pdf", "search pdf", "prompt", "hosts codex", "index . -o",
    "add ./nothing", "store gc --dry-run", "mount pdf", "run none.yaml -p x", "validate none.yaml", "trust --list",
)  # fmt: skip


@pytest.mark.parametrize("command", TYPED)
def test_no_command_imports_a_module_of_the_working_directory(shadowed: Path, command: str) -> None:
    """A project may have a `yaml.py` of its own: neither `python -m prowess` nor an empty `PYTHONPATH` loads it."""
    source, data = str(Path(prowess.__file__).parents[1]), str(shadowed.parents[1] / "data")
    for path in (source, f"{source}{os.pathsep}", f"{os.pathsep}{source}"):
        done = run_in(shadowed, [sys.executable, "-m", "prowess", *command.split()], path, PROWESS_DATA_DIR=data)
        assert done.returncode in (0, 1, 2), (path, done)
    done = run_in(shadowed, [sys.executable, "-m", "prowess", *command.split()], source, PYTHONSAFEPATH="1")
    assert done.returncode in (0, 1, 2), done


@pytest.mark.parametrize(
    "path", ["", ".", "{top}/project", "{top}/project/", "../project", "lib", "./lib", "{top}/project/sub/..",
             "{link}", "{link}/lib", "{top}", "..", "{top}/project/lib", ":::", "nothing::"],
)  # fmt: skip
@pytest.mark.parametrize("folder", [".", "sub"])
def test_no_spelling_of_pythonpath_loads_a_module_of_the_working_directory(
    shadowed: Path, path: str, folder: str
) -> None:
    """The folder of Prowess itself may be there, too; the installed command has the same rule."""
    path = path.format(top=shadowed.parent, link=shadowed.parents[1] / "link")
    source = str(Path(prowess.__file__).parents[1])
    arguments = ["show", "pdf", "--json"]
    for start in (["-m", "prowess"], ["-c", ENTRY_POINT]):
        done = run_in(shadowed / folder, [sys.executable, *start, *arguments], f"{path}{os.pathsep}{source}")
        assert done.returncode == 0, done


ENTRY_POINT = "import sys; sys.path.pop(0); from prowess.__main__ import run; run()"
"""What the installed command does. Python puts the folder of the command first, and here an empty part."""


def test_pythonpath_may_name_folders_elsewhere_and_that_of_prowess(tmp_path: Path) -> None:
    """`PYTHONPATH=src` in a source tree, and a folder with further packages."""
    (tmp_path / "more").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "more/sqlalchemy.py").write_text("")
    source = Path(prowess.__file__).parents[1]
    code = "import prowess.__main__, sqlalchemy, yaml; print(sqlalchemy.__file__)"
    done = run_in(tmp_path / "work", [sys.executable, "-c", code], f"{tmp_path / 'more'}{os.pathsep}{source}")
    assert done.stdout == f"{tmp_path / 'more/sqlalchemy.py'}\n", done.stderr
    for folder, path in ((source, "."), (source, ""), (source.parent, source.name), (source / "prowess", "..")):
        done = run_in(folder, [sys.executable, "-m", "prowess", "--version"], path)
        assert done.stdout == f"prowess {prowess.__version__}\n", done.stderr


@pytest.mark.parametrize(
    ("seconds_later", "folder", "error"),
    [
        (1, "src", "error: the tables of hosts are older than the host files of this source tree\n"),
        (-1, "src", "error: this is a bug in Prowess: TypeError: "),
        (1, "site-packages/python/src", "error: this is a bug in Prowess: TypeError: "),
    ],
)
def test_old_tables_of_a_source_tree_are_named(tmp_path: Path, seconds_later: int, folder: str, error: str) -> None:
    """After `git pull` tables may have keys that no class knows; an installation's file times say nothing."""
    source = Path(prowess.__file__).parent
    package = tmp_path / folder / "prowess"
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/host_tables.py").touch()
    tables = package / "hosts/_tables.py"
    tables.write_text(tables.read_text("utf-8") + "\nTABLES['codex']['removed_key'] = True\n", "utf-8")
    made = tables.stat().st_mtime_ns
    for path in (tmp_path / "tools/host_tables.py", *(package / "hosts").glob("*.toml")):
        os.utime(path, ns=(made, made + seconds_later * 10**9))
    env = {key: value for key, value in os.environ.items() if key != "PROWESS_DEBUG"}
    done = subprocess.run(
        [sys.executable, "-m", "prowess", "hosts", "codex"],
        env={**env, "PYTHONPATH": str(tmp_path / folder), "HOME": str(tmp_path)},
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=END,
    )  # fmt: skip
    assert done.stderr.startswith(error), done.stderr
