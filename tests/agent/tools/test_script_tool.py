"""Scripts as tools: arguments in their environment, and files only from their own folder."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.files import write_files
from support.processes import processes_end
from support.tool_calls import failure_message, make_tool_context, require_sandbox, tools_by_name
from support.web_server import static_server
from support.wheels import point_to_tarballs, write_npm_package, write_wheel

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


# ── packages ─────────────────────────────────────────────────────────────────────────────────────────────────────────

CODE = "import lifelines, shapely_of_tests\nprint(lifelines.YEARS + shapely_of_tests.AREA)\n"
PACKAGES = "lifelines\nshapely-of-tests\n"
COMMENT = "# /// script\n# dependencies = ['lifelines>=1', 'shapely-of-tests']\n# ///\n"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, the only place from which packages come."""
    folder = tmp_path / "wheels"
    write_wheel(folder, "lifelines", "1.5", {"lifelines.py": "YEARS = 80\n"})
    write_wheel(folder, "shapely_of_tests", "1.0", {"shapely_of_tests.py": "AREA = 4\n"})
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    return folder


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    ("files", "config"),
    [
        pytest.param({"x.py": f"{COMMENT}{CODE}"}, {"path": "x.py"}, id="comment-of-a-file-in-the-folder-of-the-role"),
        pytest.param({}, {"body": f"{COMMENT}{CODE}", "interpreter": "python3"}, id="comment-of-a-body"),
        pytest.param(
            {"x.py": f"#!/usr/bin/python3\n{COMMENT}{CODE}"}, {"path": "x.py"}, id="first-line-with-the-system-s-python"
        ),
        pytest.param(
            {"jobs/x.py": CODE, "jobs/requirements.txt": PACKAGES},
            {"path": "jobs/x.py"},
            id="requirements-beside-it",
        ),
        pytest.param(
            {
                "jobs/x.sh": f"#!/bin/sh\npython3 -c '{CODE}'\n",
                "jobs/requirements.txt": PACKAGES,
            },
            {"path": "jobs/x.sh"},
            id="a-shell-script-that-starts-python",
        ),
    ],
)
def test_what_a_role_s_script_needs_is_installed_before_it_runs(
    tmp_path: Path, wheels: Path, files: dict[str, str], config: dict[str, Any]
) -> None:
    """The second time no index is needed."""
    role = tmp_path / "role"
    role.mkdir()
    write_files(role, files)
    tool = scripts(role, script(**config), around={"sandbox": require_sandbox()})["hello"]
    assert tool.call() == "exit code 0\nstdout:\n84"
    shutil.rmtree(wheels)
    assert tool.call() == "exit code 0\nstdout:\n84"


@pytest.mark.needs("bwrap")
def test_what_a_skill_requires_is_installed_for_its_script_tools(tmp_path: Path, wheels: Path) -> None:
    front = "---\nname: ages\ndescription: Ages.\nrequires: {packages: [lifelines, shapely-of-tests]}\n---\n"
    write_files(tmp_path / "ages", {"SKILL.md": front, "scripts/x.py": CODE})
    about = {"skill": str(tmp_path / "ages"), "sandbox": require_sandbox()}
    tool = scripts(tmp_path, script(path="scripts/x.py"), around=about)["hello"]
    assert tool.call() == "exit code 0\nstdout:\n84"


@pytest.mark.needs("bwrap")
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_packages_of_node_are_installed_for_a_role_s_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = tmp_path / "registry"
    write_npm_package(registry, {"name": "shapes", "version": "1.5.0", "main": "i.js"}, {"i.js": "module.exports = 4"})
    code = {"jobs/x.mjs": "import area from 'shapes'; console.log(area)"}
    needs = {"jobs/package.json": json.dumps({"dependencies": {"shapes": "^1.0.0"}})}
    (tmp_path / "role").mkdir()
    write_files(tmp_path / "role", {**code, **needs})
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    tool = scripts(tmp_path / "role", script(path="jobs/x.mjs"), around={"sandbox": require_sandbox()})["hello"]
    with static_server(registry) as server:
        monkeypatch.setenv("npm_config_registry", f"{server.url}/")
        point_to_tarballs(registry, server.url)
        assert tool.call() == "exit code 0\nstdout:\n4"


def test_what_cannot_be_installed_for_a_role_s_script_is_named(tmp_path: Path, wheels: Path) -> None:
    """Offline, what is not in the cache is what is missing; an import may be one that the script can do without."""
    declared = scripts(tmp_path, script(body="# /// script\n# dependencies = ['nosuch']\n# ///", interpreter="python3"))
    message = failure_message(declared["hello"])
    assert message.startswith("`hello` cannot run: `nosuch` cannot be installed: ")
    assert "network was disabled" in message or "not found in the cache" in message
    imported = scripts(tmp_path, script(body="import pymoo", interpreter="python3"))["hello"].call()
    assert "\n[not installed for the script: `pymoo` cannot be installed: " in imported
    assert imported.endswith("hint: the Python package of the module `pymoo` is missing: `pip install pymoo`")


def test_nothing_is_installed_for_an_interpreter_with_a_folder(tmp_path: Path, wheels: Path) -> None:
    """It is the user's own choice, with what that has."""
    tool = scripts(tmp_path, script(body=f"{COMMENT}print(1)", interpreter=sys.executable))["hello"]
    assert tool.call() == "exit code 0\nstdout:\n1"
    assert not (tmp_path / "cache/environments").exists()
