"""Where temporary folders are, and that they are removed even if their process was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from support.commands import SOURCE
from support.suites import require_backend

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import os, sys
from pathlib import Path
from prowess import Scripts, Session, Trust, discover
from prowess.sandbox import run
from prowess.testing import run_tests
from support.suites import write_suite
from support.tool_calls import make_tool_context, tools_by_name

folder = Path("/home/ada/project/.agents/skills/pdf")
folder.mkdir(parents=True)
(folder / "SKILL.md").write_text("---\\nname: pdf\\ndescription: Reads PDF files.\\n---\\n")
(folder / "x.sh").write_text('pwd; echo $HOME; cd "$(dirname "$0")/.."; pwd')
trust = Trust()
session = Session(discover("/home/ada/project"), trust=trust)
session.activate("pdf")
trust.allow(session.catalog.resolve("pdf"))
tools = {tool.name: tool for tool in session.tools(scripts=Scripts(sandbox=sys.argv[1]))}
print(tools["run_skill_script"].call(skill="pdf", script="x.sh"))
report = run_tests(write_suite(Path("/home/ada/tested"), {"a": "pwd; echo $HOME"}), sandbox=sys.argv[1])
print(report.skills[0].cases[0].stdout)
print(run(["/bin/sh", "-c", "echo $HOME"], cwd="/usr", sandbox=sys.argv[1]).stdout.decode())
context = make_tool_context(Path("/home/ada"), sandbox=sys.argv[1])
print(tools_by_name("python", context)["run_python"].call(code="import os; print(os.getcwd())"))
"""


@pytest.mark.needs("bwrap")
@pytest.mark.skipif(sys.platform != "linux", reason="bwrap is of Linux")
def test_what_runs_without_a_sandbox_is_not_below_a_folder_of_all_users() -> None:
    """Scripts, cases, tools and the home of commands: Node.js, git and others read files in the folders above."""
    require_backend("bwrap")
    python = dict.fromkeys((sys.prefix, sys.base_prefix, str(SOURCE), str(SOURCE.parent / "tests")))
    words = ["--perms", "1777", "--tmpfs", "/tmp", "--dir", "/home/ada", "--ro-bind", "/usr", "/usr"]
    for path in ("/bin", "/lib", "/lib64", "/sbin"):
        words += ("--symlink", f"usr{path}", path) if os.path.islink(path) else ("--ro-bind-try", path, path)
    for path in python:
        words += ("--ro-bind", path, path)
    env = {"HOME": "/home/ada", "PATH": os.environ["PATH"], "PYTHONPATH": f"{SOURCE}:{SOURCE.parent / 'tests'}"}
    line = ["bwrap", "--unshare-pid", *words, "--proc", "/proc", "--dev", "/dev", "--chdir", "/home/ada"]
    done = subprocess.run(
        [*line, sys.executable, "-c", PROGRAM, "none"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    paths = [line for line in done.stdout.splitlines() if line.startswith("/")]
    assert len(paths) == 7, done.stdout
    assert [path for path in paths if not path.startswith("/home/ada/.cache/prowess/temporary/prowess-")] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such folder")
@pytest.mark.parametrize("name", ["package.json", "node_modules", ".env", ".git"])
def test_a_folder_above_which_another_user_has_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Where no folder is only this user's: here `/tmp` is above all of them."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    assert temporary_directory_root(contained=False) == str(tmp_path / "temporary")
    if os.geteuid() == 0:
        os.chown(tmp_path / name, 54321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(PermissionError, match="a file of another user is above it") as caught:
        temporary_directory_root(contained=False)
    assert caught.value.filename == str(tmp_path / name)
    assert temporary_directory_root() == str(tmp_path / "temporary")


def test_only_names_that_a_process_gives_are_removed(tmp_path: Path) -> None:
    """Another folder may begin with the same word."""
    names = ("prowess-x-notes", "prowess-x-ABCDEFGH", "prowess-x-12345678.old", "prowess-x-abc", "prowess-x-abcd1234")
    for name in names:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    TemporaryDirectory("prowess-x-", str(tmp_path)).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[:-1])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no umask")
def test_each_level_of_a_private_folder_is_for_its_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the umask is."""
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "above/cache"))
    monkeypatch.setenv("TMPDIR", "/tmp")
    monkeypatch.setattr("tempfile.tempdir", None)
    old = os.umask(0)
    try:
        temporary_directory_root(contained=False)
    finally:
        os.umask(old)
    made = [tmp_path / "above", tmp_path / "above/cache", tmp_path / "above/cache/temporary"]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3
