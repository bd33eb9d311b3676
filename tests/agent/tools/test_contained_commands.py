"""Every tool that starts a program starts it with the whole sandbox, and so do tests of skills."""

from __future__ import annotations

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
