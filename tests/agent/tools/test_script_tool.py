"""Scripts as tools: arguments in their environment, and files only from their own folder."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from prowess.errors import ConfigError
from support.processes import processes_end
from support.tool_calls import failure_message, make_tool_context, require_sandbox, tools_by_name

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


def script(**given: Any) -> dict[str, Any]:
    """Return the configuration of a script, with defaults."""
    base = {"name": "hello", "description": "", "path": None, "body": None, "interpreter": None}
    return {**base, "parameters": (), "timeout_seconds": None, **given}


def parameter(name: str, **given: Any) -> dict[str, Any]:
    return {"name": name, "description": "", "required": False, "default": "", **given}


def scripts(folder: Path, *configs: dict[str, Any], **given: Any) -> dict[str, Any]:
    return tools_by_name("script", make_tool_context(folder, **given.pop("around", {})), scripts=configs, **given)


def test_a_script_gets_its_parameters_as_variables(tmp_path: Path) -> None:
    """In capitals, with any text as value."""
    parameters = (parameter("who", required=True), parameter("greeting", default="hei"))
    tool = scripts(tmp_path, script(body='echo "$GREETING $WHO"', description="Greet.", parameters=parameters))["hello"]
    assert (tool.description, tool.ask, tool.kind) == ("Greet.", False, "script")
    assert tool.parameters["required"] == ["who"]
    hostile = "'; id; \" $(id) `id`\n-x"
    assert tool.call(who=hostile) == f"exit code 0\nstdout:\nhei {hostile}"
    assert tool.call(who="you", greeting="bye") == "exit code 0\nstdout:\nbye you"
    assert failure_message(tool) == "`who` is missing; hello takes `who`, `greeting`"
    assert failure_message(tool, who="a\0b") == "`who` contains a NUL character; leave it out"
    assert failure_message(tool, who="x" * 100_001) == "`who` is longer than 100,000 bytes; give a shorter value"
    assert failure_message(tool, who="x", PATH="/").startswith("unknown argument `PATH`")


@pytest.mark.parametrize(
    ("name", "text", "interpreter", "message"),
    [
        ("a.py", "import sys; print(sys.version_info[0])", None, "3"),
        ("a", "echo shell", None, "shell"),
        ("a.py", "#!/bin/sh\necho shell", None, "shell"),
        ("a", "#!/usr/bin/env python3\nprint('env')", None, "env"),
        ("a", "#! /bin/sh -e\r\necho dash", None, "dash"),
        ("a.txt", "print('named')", "python3 -I", "named"),
        ("a", "#!\necho none", None, "none"),
    ],
)
def test_the_first_line_or_the_extension_decides_the_interpreter(
    name: str, text: str, interpreter: str | None, message: str, tmp_path: Path
) -> None:
    """Unless the configuration does; the file need not be executable."""
    (tmp_path / name).write_text(text)
    tool = scripts(tmp_path, script(path=name, interpreter=interpreter))["hello"]
    assert tool.call().replace("\\x0d", "") == f"exit code 0\nstdout:\n{message}"


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "a b"}, "invalid script name: `a b`"),
        ({"name": ""}, "invalid script name: ``"),
        ({"name": "../x"}, "invalid script name: `../x`"),
        ({"name": "é"}, "invalid script name: `é`"),
        ({"body": None}, "the script `hello` has neither `path` nor `body`"),
        ({"path": "a"}, "the script `hello` has both `path` and `body`"),
        ({"body": None, "path": "../out"}, "the script `hello`: `../out` is outside"),
        ({"body": None, "path": "/etc/passwd"}, "the script `hello`: `/etc/passwd` is outside"),
        ({"body": None, "path": "missing"}, "the script `hello`: `missing` does not exist"),
        ({"body": None, "path": "link"}, "the script `hello`: `link` is a link"),
        ({"body": None, "path": "fifo"}, "the script `hello`: `fifo` is a FIFO"),
        ({"body": None, "path": "."}, "the script `hello`: `.` is not a file"),
        ({"body": None, "path": "a\0"}, "the script `hello` has a NUL character in its path"),
        ({"interpreter": "'sh"}, "invalid interpreter of the script `hello`"),
        ({"parameters": (parameter("a-b"),)}, "the parameter `a-b` of the script `hello` has an invalid name"),
        ({"parameters": (parameter("a=b"),)}, "the parameter `a=b` of the script `hello` has an invalid name"),
        ({"parameters": (parameter("a"), parameter("A"))}, "the parameter `A` of the script `hello` is defined twice"),
        ({"parameters": (parameter("path"),)}, "would set the reserved variable `PATH`"),
        ({"parameters": (parameter("ld_preload"),)}, "would set the reserved variable `LD_PRELOAD`"),
        ({"parameters": (parameter("Bash_Env"),)}, "would set the reserved variable `BASH_ENV`"),
        ({"parameters": (parameter("gconv_path"),)}, "would set the reserved variable `GCONV_PATH`"),
        ({"parameters": (parameter("java_tool_options"),)}, "would set the reserved variable `JAVA_TOOL_OPTIONS`"),
        ({"parameters": (parameter("openssl_conf"),)}, "would set the reserved variable `OPENSSL_CONF`"),
        ({"parameters": (parameter("https_proxy"),)}, "would set the reserved variable `HTTPS_PROXY`"),
        ({"parameters": (parameter("no_proxy"),)}, "would set the reserved variable `NO_PROXY`"),
    ],
)
def test_an_invalid_configuration_is_an_error(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Before anything runs."""
    (tmp_path / "link").symlink_to("/bin/sh")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ConfigError) as caught:
        scripts(tmp_path, script(**{"body": "true", **given}))
    assert message in str(caught.value)
    assert caught.value.hint


def test_two_scripts_with_one_name_are_an_error(tmp_path: Path) -> None:
    """A model could call only one."""
    with pytest.raises(ConfigError, match="two scripts have the name `hello`"):
        scripts(tmp_path, script(body="a"), script(body="b"))


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
    body = f"python3 -c 'import os,time; os.setsid(); time.sleep(60)' {mark} & yes"
    tool = scripts(tmp_path, script(body=body, timeout_seconds=0.4), max_output_bytes=1000)["hello"]
    message = tool.call()
    assert message.startswith("stopped: it took longer than 0.4 seconds\nstdout:\ny\n")
    assert message.endswith("are left out; ask for less]")
    assert processes_end(mark)


def test_a_missing_interpreter_is_a_failed_tool_call(tmp_path: Path) -> None:
    tool = scripts(tmp_path, script(body="#!/usr/bin/nothing-like-it\n"))["hello"]
    assert failure_message(tool).startswith("program not found: `/usr/bin/nothing-like-it`; ")
