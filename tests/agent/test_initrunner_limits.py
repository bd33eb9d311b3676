"""What limits an agent in InitRunner's roles limits it here: permissions, approval, the network and the memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prowess.agent import Assembly, assemble
from prowess.agent.tools._commands import command_network
from support.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.agent.policy import AgentTool

HEAD = "name: a\nprompt: You help.\nmodel: openai:m\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for name in ("role/docs", "role/secrets", "home"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("docs/a.md", "secrets/b.md", "key.env", "notes.md"):
        (tmp_path / "role" / name).write_text(name)
    return tmp_path.resolve()


def assemble_role(top: Path, more: str) -> tuple[Assembly, list[str]]:
    """Write a role and assemble it; return it and what is wrong."""
    file = top / "role/role.yaml"
    file.write_text(HEAD + more, encoding="utf-8")
    assembly, findings = assemble(file, home=str(top / "home"), env={"PATH": os.environ["PATH"]})
    assert assembly is not None
    return assembly, [item.message for item in findings]


def tool_of(top: Path, more: str, name: str) -> AgentTool:
    assembly, problems = assemble_role(top, more)
    assert problems == []
    (tool,) = (tool for tool in assembly.toolbox.tools if tool.name == name)
    return tool


# ── permissions ──────────────────────────────────────────────────────────────────────────────────────────────────────


# ── approval ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_approval_of_an_mcp_server_asks_before_each_call(top: Path) -> None:
    assembly, problems = assemble_role(top, "tools:\n- mcp: {command: python3, approval: required}\n")
    assert problems == []
    ((_, config, _),) = assembly.toolbox.mcp_servers
    assert config.options["require_confirmation"] is True


# ── scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


# ── the sandbox ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("tool", "security", "is_open"), rows(__file__, "the_network_is_closed_if_any_key_closes_it"))
def test_the_network_is_closed_if_any_key_closes_it(top: Path, tool: str, security: str, is_open: bool) -> None:
    """`sandbox.network: none` and `network_disabled: true` come before `network: true`."""
    assembly, problems = assemble_role(top, f"tools:\n- python: {{{tool}}}\n{security}\n")
    assert problems == []
    (config,) = assembly.role.tools
    assert bool(command_network(config.options, assembly.toolbox.context)) is is_open


def test_a_command_has_no_more_memory_than_the_role_says(top: Path) -> None:
    """256 MB are not enough for 500 MB; without the limit they are."""
    code = "print(len(bytearray(500_000_000)))"
    tools = "tools:\n- python: {require_confirmation: false}\n"
    assert "500000000" in tool_of(top, tools, "run_python").call(code=code)
    limited = tool_of(top, f"{tools}security: {{sandbox: {{memory_limit: 256m}}}}\n", "run_python").call(code=code)
    assert "500000000" not in limited
    assert "exit code 0" not in limited


def test_an_mcp_server_outside_the_sandbox_is_refused_if_the_role_demands_one(top: Path) -> None:
    server = "tools:\n- mcp: {command: python3}\n"
    _, (problem,) = assemble_role(top, server + "security: {sandbox: {backend: auto}}\n")
    assert problem == "`tools[0]` would run outside the sandbox that `security.sandbox` demands"
    assert assemble_role(top, server + "security: {sandbox: {backend: none}}\n")[1] == []
