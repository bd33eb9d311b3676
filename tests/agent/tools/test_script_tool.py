"""Scripts as tools: arguments in their environment, and files only from their own folder."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.processes import processes_end
from support.tool_calls import failure_message, make_tool_context, require_sandbox, tools_by_name

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


def script(**given: Any) -> dict[str, Any]:
    """Return the configuration of a script, with defaults."""
    base = {"name": "hello", "description": "", "path": None, "body": None, "interpreter": None}
    return {**base, "parameters": (), "timeout_seconds": None, **given}


def scripts(folder: Path, *configs: dict[str, Any], **given: Any) -> dict[str, Any]:
    return tools_by_name("script", make_tool_context(folder, **given.pop("around", {})), scripts=configs, **given)


def test_a_skill_s_script_can_read_its_skill_and_not_write_to_it(tmp_path: Path) -> None:
    """It starts in the sealed copy; its scratch folder is new each time."""
    skill, role = tmp_path / "skill", tmp_path / "role"
    (skill / "scripts").mkdir(parents=True)
    role.mkdir()
    (role / "secret").write_text("the role's secret")
    (skill / "data").write_text("data\n")
    text = (
        f"#!/bin/sh\npwd; cat data; echo x > $TMPDIR/y && ls $TMPDIR\ntouch z 2>/dev/null || echo no\ncat {role}/secret"
    )
    (skill / "scripts/run").write_text(text)
    about = {"skill": str(skill), "sandbox": require_sandbox()}
    tool = scripts(role, script(path="scripts/run"), around=about)["hello"]
    message = tool.call()
    first, _, rest = message.removeprefix("exit code 1\nstdout:\n").partition("\n")
    assert Path(first).name == "skill"
    assert not first.startswith(str(tmp_path))
    assert rest.startswith("data\ny\nno\nstderr:\n")
    assert "the role's secret" not in message
    assert not (skill / "z").exists()


def test_without_a_sandbox_an_untrusted_skill_s_script_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if sys.platform != "linux":
        pytest.skip("bwrap is of Linux")
    about = {"skill": str(tmp_path), "sandbox": "auto"}
    assert "bwrap" in failure_message(scripts(tmp_path, script(body="echo hi"), around=about)["hello"])
    trusted = scripts(tmp_path, script(body="echo hi"), around={**about, "trusted": True})["hello"]
    assert trusted.call() == "exit code 0\nstdout:\nhi"


def test_a_script_that_became_a_link_is_not_run(tmp_path: Path) -> None:
    """It is checked before each run."""
    (tmp_path / "a").write_text("echo a")
    tool = scripts(tmp_path, script(path="a"))["hello"]
    assert tool.call() == "exit code 0\nstdout:\na"
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("/bin/sh")
    assert failure_message(tool).startswith("`a` is a link")


def test_output_and_time_are_limited(tmp_path: Path) -> None:
    """The script's own time limit comes first, and no process remains."""
    mark = f"mark-{time.monotonic_ns()}"
    body = f"python3 -c 'import os,time; os.setsid(); time.sleep(600)' {mark} & yes"
    tool = scripts(tmp_path, script(body=body, timeout_seconds=0.4), max_output_bytes=1000)["hello"]
    message = tool.call()
    assert message.startswith("stopped: it took longer than 0.4 seconds\nstdout:\ny\n")
    assert message.endswith("are left out; ask for less]")
    assert processes_end(mark)


def test_a_script_is_described_to_the_model(tmp_path: Path) -> None:
    """A value has a limit, since the system has one."""
    parameters = ({"name": "who", "description": "Whom.", "required": True, "default": ""},)
    tool = scripts(tmp_path, script(body="true", description="Greet.", parameters=parameters))["hello"]
    assert (tool.description, tool.ask, tool.kind) == ("Greet.", False, "script")
    assert tool.parameters["required"] == ["who"]
    assert failure_message(tool, who="x" * 100_001) == "`who` is longer than 100,000 bytes; give a shorter value"
