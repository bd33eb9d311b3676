"""Tools of real MCP servers, as processes and on the loopback address."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent, models
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from prowess.agent.policy import Policy, RefusedError, ToolContext, ToolFailedError
from prowess.agent.role import TOOL_FIELDS
from prowess.agent.tools import make_mcp_toolset
from prowess.errors import ConfigError
from support.growth import ends
from support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.function import AgentInfo


@pytest.fixture(autouse=True)
def _no_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prevent requests to real models."""
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)


DEFAULTS = {name: key.default for name, key in TOOL_FIELDS["mcp"].items()}
SERVER = """
import os, sys, time
from mcp.server import MCPServer
server = MCPServer("small")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

@server.tool()
def variables() -> str:
    return " ".join(sorted(os.environ))

@server.tool()
def flood() -> str:
    return "x" * 100_000

@server.tool()
def hang() -> str:
    time.sleep(600)
    return "late"

@server.tool()
def die() -> str:
    os._exit(3)

@server.tool()
def fail() -> str:
    raise ValueError("nothing \\x1b[31mcan be done")

print("\\x1b[31mon the terminal", file=sys.stderr)
if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run(sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small MCP server."""
    path = tmp_path_factory.mktemp("mcp") / "server.py"
    path.write_text(SERVER, encoding="utf-8")
    return path


def is_listening(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@pytest.fixture(scope="module", params=["streamable-http", "sse"])
def remote(request: pytest.FixtureRequest, program: Path) -> Iterator[dict[str, Any]]:
    """The configuration of the same server on the loopback address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, str(program), request.param, str(port)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as process:
        wait_until(lambda: is_listening(port))
        path = "mcp" if request.param == "streamable-http" else "sse"
        yield {"transport": request.param, "url": f"http://127.0.0.1:{port}/{path}", "allow_private": True}
        process.kill()


def around(**more: Any) -> ToolContext:
    return ToolContext(**{"folder": str(Path.cwd()), "policy": Policy(), "env": dict(os.environ), **more})


def stdio(program: Path, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": (str(program), "stdio"), **more}


def run(
    options: dict[str, Any],
    *calls: tuple[str, Mapping[str, Any]],
    around: ToolContext | None = None,
    permit: Any = None,
    notes: list[str] | None = None,
) -> tuple[list[str], list[str]]:
    """Let an agent call tools one after another; return the offered names, and the result of each call."""
    left = list(calls)
    offered: list[str] = []
    text: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> Any:
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

        offered[:] = [tool.name for tool in info.function_tools]
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        text.extend(str(part.content) for part in last.parts if isinstance(part, ToolReturnPart))
        if not left:
            return ModelResponse(parts=[TextPart("done")])
        name, arguments = left.pop(0)
        return ModelResponse(parts=[ToolCallPart(name, dict(arguments))])

    made = make_mcp_toolset(
        {**DEFAULTS, **options},
        around or globals()["around"](),
        permit=permit,
        note=None if notes is None else notes.append,
    )
    asyncio.run(Agent(FunctionModel(model), toolsets=[made]).run("go"))
    return offered, text


def test_tools_of_a_process_can_be_called(program: Path) -> None:
    """An error in a tool is text, and the next call works."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("add", {"a": 1, "b": 2}),
        ("fail", {}),
        ("add", {"a": "x"}),
        ("add", {"a": 2, "b": 2}),
    ]
    offered, text = run(stdio(program), *calls)
    assert offered == ["add", "variables", "flood", "hang", "die", "fail"]
    assert (text[0], text[3]) == ("3", "4")
    assert text[1].startswith("error: ")
    assert text[2].startswith("error: ")


def test_tools_of_a_server_on_the_network_can_be_called(remote: dict[str, Any]) -> None:
    """With either transport."""
    offered, text = run({**remote, "tool_prefix": "my", "tool_filter": ("add",)}, ("my_add", {"a": 1, "b": 2}))
    assert (offered, text) == (["my_add"], ["3"])


def test_tools_can_be_filtered_excluded_and_prefixed(program: Path) -> None:
    """The filters use the server's names; the policy uses the prefixed ones."""
    options = stdio(program, tool_filter=("add", "fail", "hang"), tool_exclude=("hang",), tool_prefix="small")
    assert run(options)[0] == ["small_add", "small_fail"]
    assert run(options, around=around(policy=Policy(deny=frozenset({"small_fail"}))))[0] == ["small_add"]


def test_a_process_gets_few_variables_and_those_of_its_configuration(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other secret of the user's environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    env = {"PATH": os.environ["PATH"], "HOME": "/h", "SECRET": "s", "TOKEN": "t"}
    _, text = run(stdio(program, env={"MINE": "${TOKEN}"}), ("variables", {}), around=around(env=env))
    assert {"MINE", "PATH", "HOME"} <= set(text[0].split())
    assert not {"SECRET", "TOKEN", "OPENAI_API_KEY"} & set(text[0].split())


def test_a_process_s_output_does_not_reach_the_terminal(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It could contain control sequences."""
    run(stdio(program), ("add", {"a": 1, "b": 2}))
    assert "terminal" not in "".join(capfd.readouterr())


def test_a_call_that_hangs_floods_or_kills_its_server_is_an_error(program: Path) -> None:
    """The run goes on."""
    with ends():
        assert run(stdio(program, timeout_seconds=1.0), ("hang", {}))[1] == ["error: no answer within 1 seconds"]
    (text,) = run(stdio(program), ("flood", {}), around=around(policy=Policy(max_result_bytes=100)))[1]
    assert text == "x" * 100 + "\n[cut after 100 bytes]"
    died, after = run(stdio(program, timeout_seconds=5.0), ("die", {}), ("add", {"a": 1, "b": 2}))[1]
    assert died.startswith("error: ")
    assert after


def test_permit_is_asked_before_each_call(program: Path) -> None:
    """With the name, whether it needs confirmation, and the arguments; a refusal becomes the result."""
    asked: list[Any] = []

    async def permit(name: str, ask: bool, arguments: Mapping[str, Any]) -> None:
        await asyncio.sleep(0)
        asked.append((name, ask, dict(arguments)))
        if name == "fail":
            raise ToolFailedError("the user says no", hint="ask what to do")

    options = stdio(program, require_confirmation=True)
    _, text = run(options, ("add", {"a": 1, "b": 2}), ("fail", {}), permit=permit)
    assert text == ["3", "error: the user says no (ask what to do)"]
    assert asked == [("add", True, {"a": 1, "b": 2}), ("fail", True, {})]


def test_without_permit_a_call_that_needs_confirmation_is_refused(program: Path) -> None:
    """The configuration or the policy may require it."""
    words = "error: `add` needs the user's confirmation, and the user cannot be asked here"
    assert run(stdio(program, require_confirmation=True), ("add", {"a": 1, "b": 2}))[1] == [words]
    policy = Policy(ask=frozenset({"mcp"}))
    assert run(stdio(program), ("add", {"a": 1, "b": 2}), around=around(policy=policy))[1] == [words]


def test_an_exception_in_permit_ends_the_run(program: Path) -> None:
    """Such as the user's Ctrl-C."""

    class EnoughError(Exception):
        pass

    async def permit(name: str, ask: bool, arguments: Mapping[str, Any]) -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        run(stdio(program), ("add", {"a": 1, "b": 2}), permit=permit)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.exit('no such \\x1b[31mmodule')", "no such"),
        ("print('hello')", "did not start"),
        ("import time; print('{}', flush=True); time.sleep(0.2)", "did not start"),
    ],
)
def test_a_server_that_does_not_start_is_an_error_with_its_last_output(code: str, words: str) -> None:
    """Without control characters."""
    with pytest.raises(ConfigError, match=words) as caught:
        run({"command": sys.executable, "args": ("-c", code)})
    assert "\x1b" not in str(caught.value)


def test_a_missing_program_is_named() -> None:
    with pytest.raises(ConfigError, match="the MCP server `no-such-program-here` did not start"):
        run({"command": "no-such-program-here"})


@pytest.mark.parametrize("transport", ["sse", "streamable-http"])
def test_an_unreachable_server_is_named(transport: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        with pytest.raises(ConfigError, match="did not start"):
            run({"transport": transport, "url": url, "allow_private": True})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"transport": "sse", "url": "ftp://x"}, "invalid `url`"),
        ({"transport": "sse", "url": "http://127.0.0.1/"}, "invalid `url`"),
        ({"transport": "sse", "url": "https://x.example", "headers": {"A": "${NOT_SET_HERE}"}}, "NOT_SET_HERE"),
        ({"command": "x", "env": {"A": "${NOT_SET_HERE}"}}, "NOT_SET_HERE"),
    ],
)
def test_an_invalid_configuration_is_an_error(options: dict[str, Any], words: str) -> None:
    """Before anything runs."""
    with pytest.raises(ConfigError, match=words):
        make_mcp_toolset({**DEFAULTS, **options}, around())


def test_an_untrusted_skill_s_process_is_not_started(tmp_path: Path) -> None:
    """It would run without a sandbox."""
    with pytest.raises(ConfigError, match="the skill is untrusted"):
        make_mcp_toolset({**DEFAULTS, "command": "x"}, around(skill=str(tmp_path)))


def test_a_name_that_becomes_private_is_refused(remote: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The MCP client connects under the same policy as `http`."""
    url = remote["url"].replace("127.0.0.1", "rebind.example")
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **more: real("127.0.0.1" if host == "rebind.example" else host, *rest, **more),
    )
    with pytest.raises((ConfigError, RefusedError), match="address of this machine or its network"):
        run({**remote, "url": url, "allow_private": False})
