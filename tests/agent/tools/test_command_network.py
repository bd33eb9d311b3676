"""The network of scripts, code and programs: the same rules as for the tools that send requests."""

from __future__ import annotations

import shlex
import sys
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import ConfigError
from support.loopback import LoopbackServer
from support.tool_calls import make_tool_context, require_sandbox, tools_by_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bwrap is of Linux")

CODE = """
import os, urllib.request
os.environ["NO_PROXY"] = os.environ["no_proxy"] = ""
try:
    print(urllib.request.urlopen("{url}/").read())
except OSError as error:
    print(error)
"""


class Site(BaseHTTPRequestHandler):
    """Answers each request."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"reached")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def site() -> Iterator[LoopbackServer]:
    with LoopbackServer(Site) as server:
        yield server


def output(kind: str, folder: Path, url: str, policy: dict[str, Any], **around: Any) -> str:
    """Return what code prints that a tool with the network runs."""
    code, context = CODE.format(url=url), make_tool_context(folder, sandbox=require_sandbox(), policy=policy, **around)
    if kind == "python":
        return tools_by_name(kind, context, network=True)["run_python"].call(code=code)
    if kind == "shell":
        return tools_by_name(kind, context, network=True)["run_shell"].call(command=f"python3 -c {shlex.quote(code)}")
    script = {"name": "hello", "description": "", "path": None, "interpreter": "python3", "parameters": ()}
    scripts = [{**script, "body": code, "timeout_seconds": None}]
    return tools_by_name(kind, context, scripts=scripts, network=True)["hello"].call()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["python", "script", "shell"])
@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ({}, "`127.0.0.1` is an address of this machine or its network"),
        ({"allowed_hosts": ("example.invalid",)}, "`127.0.0.1` is not an allowed host: allowed are example.invalid"),
        ({"allowed_hosts": ("example.invalid",), "allow_private": True}, "`127.0.0.1` is not an allowed host"),
        ({"allowed_hosts": ("localhost",)}, "`127.0.0.1` is not an allowed host"),
    ],
)
def test_the_policy_of_the_role_applies_to_commands(
    kind: str, policy: dict[str, Any], reason: str, tmp_path: Path, site: LoopbackServer
) -> None:
    for skill in (None, str(tmp_path)):
        assert f"Refused by Prowess: {reason}" in output(kind, tmp_path, site.url, policy, skill=skill)


@pytest.mark.parametrize("kind", ["python", "script", "shell"])
@pytest.mark.parametrize("policy", [{"allow_private": True}, {"allowed_hosts": ("127.0.0.1",)}])
def test_a_role_opens_this_machine(kind: str, policy: dict[str, Any], tmp_path: Path, site: LoopbackServer) -> None:
    """By the setting, or by naming the address."""
    assert "reached" in output(kind, tmp_path, site.url, policy)


@pytest.mark.parametrize("kind", ["python", "script", "shell"])
def test_metadata_stays_closed(kind: str, tmp_path: Path) -> None:
    """`allow_private` is not enough."""
    assert "is a link-local address" in output(kind, tmp_path, "http://169.254.169.254", {"allow_private": True})


def test_the_model_sees_which_host_was_refused(tmp_path: Path) -> None:
    """Even if the program prints nothing."""
    policy = {"allowed_hosts": ("example.invalid",)}
    context = make_tool_context(tmp_path, sandbox=require_sandbox(), policy=policy)
    code = "import urllib.request as u\ntry: u.urlopen('https://8.8.8.8/')\nexcept OSError: pass"
    assert tools_by_name("python", context, network=True)["run_python"].call(code=code) == (
        "exit code 0\nnetwork: `8.8.8.8` is not an allowed host: allowed are example.invalid"
    )


def test_a_result_shows_few_refused_hosts(tmp_path: Path) -> None:
    """A command may try thousands."""
    context = make_tool_context(tmp_path, sandbox=require_sandbox(), policy={"allowed_hosts": ("example.invalid",)})
    code = (
        "import urllib.request as u\nfor n in range(9):\n try: u.urlopen(f'http://{n}.example/')\n except OSError: pass"
    )
    lines = tools_by_name("python", context, network=True)["run_python"].call(code=code).splitlines()
    assert (len(lines), lines[-1]) == (5, "network: 6 more hosts were refused")


def test_a_tool_has_domains_of_its_own(tmp_path: Path) -> None:
    """They make the role's list stricter; without the network they are an error."""
    context = make_tool_context(tmp_path, sandbox=require_sandbox(), policy={"allowed_hosts": ("example",)})
    own: dict[str, Any] = {"allowed_domains": ("a.example", "b.example"), "blocked_domains": ("x.a.example",)}
    tool = tools_by_name("python", context, network=True, **own)["run_python"]
    code = "import urllib.request as u\nfor host in ('c.example', 'x.a.example'):\n"
    code += " try: u.urlopen(f'https://{host}/')\n except OSError: pass"
    assert tool.call(code=code).splitlines() == [
        "exit code 0",
        "network: `c.example` is not an allowed host: allowed are a.example, b.example",
        "network: `x.a.example` is a blocked host",
    ]
    for name, domains in own.items():
        with pytest.raises(ConfigError, match=f"`{name}` has no effect without the network"):
            tools_by_name("python", context, **{name: domains})


def test_an_invalid_domain_of_a_role_is_found_when_the_tool_is_made(tmp_path: Path) -> None:
    context = make_tool_context(tmp_path, policy={"allowed_hosts": ("https://example.com",)})
    assert tools_by_name("python", context)
    with pytest.raises(ConfigError, match="invalid domain"):
        tools_by_name("python", context, network=True)


def test_the_model_learns_about_the_proxy(tmp_path: Path) -> None:
    context = make_tool_context(tmp_path)
    assert "no network" in tools_by_name("python", context)["run_python"].description
    assert "HTTPS_PROXY" in tools_by_name("python", context, network=True)["run_python"].description
