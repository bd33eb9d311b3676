"""`run_python`: code runs in a sandboxed process with limits."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import ConfigError
from support.processes import processes_end
from support.tool_calls import failure_message, make_tool_context, require_sandbox, tools_by_name

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


def python(folder: Path, **given: Any) -> Any:
    return tools_by_name("python", make_tool_context(folder, **given.pop("around", {})), **given)["run_python"]


def test_code_runs_in_this_python(tmp_path: Path) -> None:
    """It needs confirmation unless the configuration says otherwise."""
    tool = python(tmp_path)
    assert (tool.ask, python(tmp_path, require_confirmation=False).ask) == (True, False)
    assert tool.call(code="import sys; print(sys.version_info[:2]); print('å')") == (
        f"exit code 0\nstdout:\n{sys.version_info[:2]}\nå"
    )
    assert tool.call(code="") == "exit code 0\nno output"
    assert "SyntaxError" in tool.call(code="print(")
    assert tool.call(code="raise SystemExit(4)") == "exit code 4\nno output"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Seatbelt has no list of Unix sockets")
def test_code_that_sees_no_folder_can_use_every_way_to_start_processes(tmp_path: Path) -> None:
    """Some of them make Unix sockets. In a folder of the user there could be others.

    Their helper processes end after the code; on a busy machine they are stopped, and the answer says so.
    """
    code = """
import multiprocessing, socket
if __name__ == "__main__":
    with multiprocessing.get_context("forkserver").Pool(1) as pool: print(pool.map(abs, [-1]))
    with multiprocessing.Manager() as manager: print(dict(manager.dict(a=1)))
"""
    tool = python(tmp_path, around={"sandbox": require_sandbox()})
    status, _, rest = tool.call(code=code).partition("\n")
    assert (status.partition(";")[0], rest) == ("exit code 0", "stdout:\n[1]\n{'a': 1}")
    in_folder = python(tmp_path, working_dir=".", around={"sandbox": require_sandbox()})
    assert "Address family not supported" in in_folder.call(code="import socket; socket.socket(socket.AF_UNIX)")


def test_code_runs_in_the_sandbox(tmp_path: Path) -> None:
    """It can read its folder and write to its home; it has network access only if allowed."""
    (tmp_path / "secret").write_text("the user's secret")
    work = tmp_path / "work"
    work.mkdir()
    (work / "data.csv").write_text("a,b\n")
    (work / "json.py").write_text("print('planted')")
    code = f"""
import json, os, socket
print(open("data.csv").read().strip())
open(os.path.expanduser("~/x"), "w").write("x")
for path, mode in (("y", "w"), ("{tmp_path}/secret", "r")):
    try: open(path, mode); print("open", path)
    except OSError as error: print(type(error).__name__)
print([name for _, name in socket.if_nameindex()])
"""
    tool = python(tmp_path, working_dir="work", around={"sandbox": require_sandbox()})
    assert tool.call(code=code) == "exit code 0\nstdout:\na,b\nOSError\nFileNotFoundError\n['lo']"
    assert sorted(os.listdir(work)) == ["data.csv", "json.py"]
    assert "no such file" in python(tmp_path, around={"sandbox": require_sandbox()}).call(
        code=f"import os\ntry: open('{tmp_path}/secret')\nexcept OSError as e: print(e.strerror.lower())"
    )


def test_each_call_starts_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No files or processes remain."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    mark = f"mark-{time.monotonic_ns()}"
    code = (
        "import subprocess, sys\nopen('left', 'w')\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)', '{mark}'])\nprint('done')"
    )
    output = python(tmp_path).call(code=code)
    assert output == "exit code 0; processes it left running were stopped (1)\nstdout:\ndone"
    assert processes_end(mark)
    assert [name for name in os.listdir(tmp_path) if name.startswith("prowess-tool")] == []


def test_output_and_time_are_limited(tmp_path: Path) -> None:
    tool = python(tmp_path, timeout_seconds=0.4, max_output_bytes=1000)
    output = tool.call(code="while True: print('å' * 7, end='')")
    assert output.startswith("stopped: it took longer than 0.4 seconds\nstdout:\nååå")
    assert "are left out; ask for less]" in output
    assert "\ufffd" not in output
    assert "[the first 1,000 of 3,000 bytes; 2,000 are left out" in tool.call(code="print('a' * 2999)")


@pytest.mark.parametrize(
    "given", [{}, {"code": 1}, {"code": "a\0b"}, {"code": "'\ud800'"}, {"codes": ""}, {"code": "#" * 1_000_001}]
)
def test_invalid_arguments_are_a_failed_tool_call(given: dict[str, Any], tmp_path: Path) -> None:
    failure_message(python(tmp_path), **given)


def test_the_policy_limits_the_working_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="`working_dir`: `/` is outside"):
        python(tmp_path, working_dir="/")
