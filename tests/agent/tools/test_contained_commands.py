"""Every tool that starts a program starts it with the whole sandbox, and so do tests of skills."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prowess.testing import run_tests
from support.suites import write_suite
from support.tool_calls import make_tool_context, require_sandbox, tools_by_name

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bwrap is of Linux")

LINE = "grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status"
EXPECTED = "NoNewPrivs:\t1\nSeccomp:\t2"


def output_of_route(route: str, folder: Path) -> str:
    """Return what a program prints that is started in one way."""
    sandbox = require_sandbox()
    if route == "test":
        results = run_tests(write_suite(folder / "pdf", {"a": LINE}))
        return results.skills[0].cases[0].stdout
    script = {"name": "hello", "description": "", "path": None, "interpreter": None, "parameters": ()}
    code = "print(*(line for line in open('/proc/self/status') if line[:7] in ('Seccomp', 'NoNewPr')), sep='')"
    calls: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
        "shell": ("run_shell", {}, {"command": LINE}),
        "script": ("hello", {"scripts": [{**script, "body": LINE, "timeout_seconds": None}]}, {}),
        "python": ("run_python", {}, {"code": code}),
    }
    name, options, arguments = calls[route]
    return tools_by_name(route, make_tool_context(folder, sandbox=sandbox), **options)[name].call(**arguments)


@pytest.mark.parametrize("route", ["shell", "script", "python", "test"])
def test_every_route_into_the_sandbox_has_the_filter(route: str, tmp_path: Path) -> None:
    """Of system calls."""
    lines = [line for line in output_of_route(route, tmp_path).splitlines() if ":\t" in line]
    assert [line for line in lines if "filters" not in line] == EXPECTED.split("\n")


@pytest.mark.parametrize(
    ("skill", "named", "expected"), [(False, True, "reached"), (False, False, "97"), (True, True, "97")]
)
@pytest.mark.parametrize("kind", ["shell", "script", "python"])
def test_programs_reach_the_sockets_that_the_role_names(
    kind: str, skill: bool, named: bool, expected: str, tmp_path: Path
) -> None:
    """Those of the role's own tools; a skill's tool reaches none, and a neighbour in the same folder is hidden."""
    code = (
        "import socket\n"
        "for name in ('db', 'other'):\n"
        "    try:\n"
        f"        client = socket.socket(socket.AF_UNIX); client.connect('{tmp_path}/' + name)\n"
        "        print('reached')\n"
        "    except OSError as error: print(error.errno)\n"
    )
    (tmp_path / "skill").mkdir()
    for place in (tmp_path, tmp_path / "skill"):
        (place / "run.py").write_text(code)
    servers = []
    for name in ("db", "other"):
        servers.append(server := socket.socket(socket.AF_UNIX))
        server.bind(str(tmp_path / name))
        server.listen()
    policy = {"unix_sockets": (str(tmp_path / "db"),) if named else ()}
    context = make_tool_context(
        tmp_path, sandbox=require_sandbox(), policy=policy, skill=str(tmp_path / "skill") if skill else None
    )
    script = {"name": "hello", "description": "", "path": "run.py", "body": None, "interpreter": None}
    calls: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
        "shell": ("run_shell", {}, {"command": "python3 run.py"}),
        "script": ("hello", {"scripts": [{**script, "parameters": (), "timeout_seconds": None}]}, {}),
        "python": ("run_python", {"working_dir": "."}, {"code": code}),
    }
    tool, options, arguments = calls[kind]
    try:
        output = tools_by_name(kind, context, **options)[tool].call(**arguments)
    finally:
        for server in servers:
            server.close()
    other = "111" if expected == "reached" else expected
    if skill and kind == "script":
        expected = other = "2"  # it may make sockets, and sees no folder but its copy
    assert output.split()[-2:] == [expected, other], output
