"""`run_shell`: allowed programs run without a shell, in the sandbox and with limits."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import ConfigError
from support.growth import ends
from support.processes import processes_end
from support.tool_calls import failure_message, make_tool_context, require_sandbox, tools_by_name

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


def shell(folder: Path, **given: Any) -> Any:
    return tools_by_name("shell", make_tool_context(folder, **given.pop("around", {})), **given)["run_shell"]


def test_a_program_on_the_user_s_path_is_found(tmp_path: Path) -> None:
    """Relative folders on PATH are ignored."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mine").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "bin/mine").chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    for sandbox in ("none", require_sandbox()):
        about = {"env": {"PATH": f"/nowhere:{tmp_path}/bin"}, "sandbox": sandbox}
        assert shell(work, around=about).call(command="mine") == "exit code 0\nstdout:\nmine"
    tool = shell(tmp_path, around={"env": {"PATH": "bin"}})
    assert "command not found: `mine`" in failure_message(tool, command="mine")


def test_a_program_of_a_virtual_environment_runs_in_the_sandbox(tmp_path: Path) -> None:
    """It can read its environment, and nothing else in the folder around it."""
    import subprocess

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    (tmp_path / "secret").write_text("x")
    (tmp_path / "env/bin/tool").write_text(
        f"#!{tmp_path}/env/bin/python\nimport sys, os\nprint(sys.prefix, os.path.exists('{tmp_path}/secret'))\n"
    )
    (tmp_path / "env/bin/tool").chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    tool = shell(work, around={"env": {"PATH": f"{tmp_path}/env/bin"}, "sandbox": require_sandbox()})
    assert tool.call(command="tool") == f"exit code 0\nstdout:\n{tmp_path}/env False"


def test_a_program_runs_in_the_sandbox(tmp_path: Path) -> None:
    """It can read and write the working directory, and nothing else."""
    (tmp_path / "secret").write_text("the user's secret")
    work = tmp_path / "work"
    work.mkdir()
    tool = shell(work, around={"sandbox": require_sandbox()})
    assert tool.call(command="touch here") == "exit code 0\nno output"
    assert (work / "here").exists()
    assert "the user's secret" not in tool.call(command=f"cat {tmp_path}/secret")
    tool.call(command=f"touch {tmp_path}/there")
    assert not (tmp_path / "there").exists()


def test_a_working_directory_that_became_a_link_is_refused(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    tool = shell(tmp_path, working_dir="work")
    work.rmdir()
    work.symlink_to("/usr")
    assert failure_message(tool, command="ls").startswith(f"`{work}` has become a link")
    work.unlink()
    assert "does not exist" in failure_message(tool, command="ls")
    with pytest.raises(ConfigError, match="`working_dir`"):
        shell(tmp_path, working_dir="/")


def test_output_and_time_are_limited(tmp_path: Path) -> None:
    """No process remains."""
    with ends():
        tool = shell(tmp_path, timeout_seconds=0.4, max_output_bytes=2000)
        message = tool.call(command="yes 'no end'")
        assert message.startswith("stopped: it took longer than 0.4 seconds\nstdout:\nno end\n")
        assert message.endswith("are left out; ask for less]")
        assert len(message) < 2200
        code = "import os,time;os.fork() or os.setsid();time.sleep(600)"
        mark = f"mark-{time.monotonic_ns()}"
        assert tool.call(command=f'python3 -c "{code}" {mark}').startswith("stopped: it took longer")
        assert processes_end(mark)


def test_the_policy_limits_the_result(tmp_path: Path) -> None:
    """Regardless of the tool's configuration."""
    tool = shell(tmp_path, around={"policy": {"max_result_bytes": 3000}})
    message = tool.call(command="head -c 5000 /dev/zero")
    assert message.count("\\x00") == 1000
    assert "[the first 1,000 of 5,000 bytes; 4,000 are left out; ask for less]" in message


def test_without_a_sandbox_only_trusted_programs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if sys.platform != "linux":
        pytest.skip("bwrap is of Linux")
    assert "`bwrap` is not on PATH" in failure_message(shell(tmp_path, around={"sandbox": "auto"}), command="true")
    assert shell(tmp_path, around={"sandbox": "auto", "trusted": True}).call(command="true").startswith("exit code 0")


def test_a_call_needs_confirmation_unless_the_configuration_says_otherwise(tmp_path: Path) -> None:
    assert (shell(tmp_path).ask, shell(tmp_path, require_confirmation=False).ask) == (True, False)


def test_a_command_line_has_a_limit(tmp_path: Path) -> None:
    expected = "the command has 100,001 characters: the limit is 100,000; put long input into a file"
    assert failure_message(shell(tmp_path), command="a" * 100_001) == expected
