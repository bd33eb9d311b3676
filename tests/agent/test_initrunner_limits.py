"""What limits an agent in InitRunner's roles limits it here: permissions, approval, the network and the memory."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from prowess.agent import Assembly, assemble
from prowess.agent.policy import AgentTool, RefusedError
from prowess.agent.tools._commands import command_network
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

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

DENY = "tools:\n- filesystem:\n    permissions: {deny: ['path=*.env', 'path=secrets/*']}\n"
ALLOW = "tools:\n- filesystem:\n    permissions: {default: deny, allow: ['path=docs/*']}\n"


@pytest.mark.parametrize(
    "path", ["key.env", "./key.env", "docs/../key.env", "KEY.env", "{role}/key.env", "secrets/b.md", "docs/link"]
)
def test_a_denied_path_is_refused_however_it_is_written(top: Path, path: str) -> None:
    """Also under a link, with other case, and as an absolute path."""
    (top / "role/docs/link").symlink_to("../key.env")
    read = tool_of(top, DENY, "read_file")
    with pytest.raises(RefusedError, match="refuse calls with"):
        read.call(path=path.format(role=top / "role"), offset=0, limit=None)


@pytest.mark.parametrize("path", ["docs/../notes.md", "notes.md", "docs", "docs/link", "{role}/notes.md"])
def test_only_an_allowed_path_is_read(top: Path, path: str) -> None:
    """A path that begins with an allowed folder and leads out of it is not allowed."""
    (top / "role/docs/link").symlink_to("../notes.md")
    read = tool_of(top, ALLOW, "read_file")
    assert read.call(path="docs/a.md", offset=0, limit=None).startswith("docs/a.md")
    assert read.call(path="./docs/a.md", offset=0, limit=None).startswith("docs/a.md")
    with pytest.raises(RefusedError, match="allow only some calls"):
        read.call(path=path.format(role=top / "role"), offset=0, limit=None)


COMMANDS = (
    "tools:\n- shell:\n    require_confirmation: false\n"
    "    permissions: {default: deny, allow: ['command=echo *', 'command=true'], deny: ['*hidden*', 'command=rm *']}\n"
)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls .", "allow only some calls"),
        ("/tmp/echo x", "allow only some calls"),
        ("echo hidden", "refuse calls with `[*]hidden[*]`"),
        ("rm x", "refuse calls with `command=rm"),
        (" rm x", "refuse calls with `command=rm"),
        ("'rm' x", "refuse calls with `command=rm"),
        ("/bin/rm x", "refuse calls with `command=rm"),
    ],
)
def test_a_command_is_refused_by_pattern(top: Path, command: str, words: str) -> None:
    """Deny comes before allow; a denied program has no other spelling."""
    run = tool_of(top, COMMANDS, "run_shell")
    with pytest.raises(RefusedError, match=words):
        run.call(command=command)


def test_an_allowed_command_runs(top: Path) -> None:
    assert "exit code 0" in tool_of(top, COMMANDS, "run_shell").call(command="echo shown")


@pytest.mark.parametrize(
    ("options", "blocked"),
    [("", True), ("blocked_commands: []", False), ("allowed_commands: [rm]", False), ("blocked_commands: [dd]", False)],
)
def test_some_programs_are_blocked_unless_the_role_says_otherwise(top: Path, options: str, blocked: bool) -> None:
    """InitRunner blocks `rm` and others by default, and roles that ask no confirmation rely on it."""
    run = tool_of(top, f"tools:\n- shell: {{require_confirmation: false, {options}}}\n", "run_shell")
    (top / "role/old").write_text("x")
    if blocked:
        with pytest.raises(RefusedError, match="the program `rm` is blocked"):
            run.call(command="rm old")
    else:
        assert "exit code 0" in run.call(command="rm old")
    assert (top / "role/old").exists() is blocked


def test_permissions_are_for_values_inside_an_argument_too(top: Path) -> None:
    """A pattern of its own counts for every argument, in lists and maps; a dotted name is one value inside."""
    rules = "permissions: {deny: ['*token*', 'query.id=1']}"
    tool = tool_of(top, f"tools:\n- http:\n    base_url: https://example.com\n    {rules}\n", "http_request")
    for arguments in ({"json": {"a": ["x", {"b": "my token"}]}}, {"query": {"id": 1}}):
        with pytest.raises(RefusedError, match="refuse calls with"):
            tool.call(method="GET", path="/", **arguments)


def test_permissions_apply_to_a_skill_s_tool(top: Path) -> None:
    skill(top / "role/skills/notes", more="tools:\n- type: filesystem\n  permissions: {deny: ['path=*.env']}\n")
    read = tool_of(top, "skills: [notes]\n", "read_file")
    with pytest.raises(RefusedError, match="refuse calls with"):
        read.call(path="key.env", offset=0, limit=None)


@pytest.mark.parametrize("pattern", ["=x", "path=", ""])
def test_an_incomplete_pattern_is_an_error(top: Path, pattern: str) -> None:
    _, (problem,) = assemble_role(top, f"tools:\n- git:\n    permissions: {{deny: ['{pattern}']}}\n")
    assert f"the pattern `{pattern}` in `permissions` is incomplete" in problem


# ── approval ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("approval", "asks"), [("auto", False), ("required", True), ("judged", True)])
def test_approval_asks_before_each_call(top: Path, approval: str, asks: bool) -> None:
    """Also of a tool that only reads."""
    assert tool_of(top, f"tools:\n- filesystem: {{approval: {approval}}}\n", "read_file").ask is asks


def test_approval_of_an_mcp_server_asks_before_each_call(top: Path) -> None:
    assembly, problems = assemble_role(top, "tools:\n- mcp: {command: python3, approval: required}\n")
    assert problems == []
    ((_, config, _),) = assembly.toolbox.mcp_servers
    assert config.options["require_confirmation"] is True


# ── scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("df -h\nrm -r x", 2),
        ("# sizes\n\ndf -h | rm x", 3),
        ("df -h > x", 1),
        ("df 'x", 1),
        ("/usr/bin/df -h\n/bin/sh -c df", 2),
        ("df;rm x", 1),
    ],
)
def test_a_script_has_only_its_allowed_commands(top: Path, body: str, line: int) -> None:
    script = {"name": "sizes", "body": body, "allowed_commands": ["df"]}
    _, (problem,) = assemble_role(top, f"tools:\n- script: {{scripts: [{json.dumps(script)}]}}\n")
    assert f"line {line} of the script `sizes` is not one of its `allowed_commands`" in problem


def test_a_script_of_allowed_commands_is_offered(top: Path) -> None:
    body = '# of a folder\n\n  df -h "$PLACE"\n/usr/bin/df .\n'
    script = {"name": "sizes", "body": body, "allowed_commands": ["df"]}
    tool_of(top, f"tools:\n- script: {{scripts: [{json.dumps(script)}]}}\n", "sizes")


# ── the sandbox ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tool", "security", "is_open"),
    [
        ("network: true", "", True),
        ("network: true", "security: {sandbox: {network: bridge}}", True),
        ("network: true", "security: {sandbox: {network: none}}", False),
        ("network_disabled: false", "", True),
        ("network_disabled: false", "security: {sandbox: {network: none}}", False),
        ("network: true, network_disabled: true", "", False),
        ("", "", False),
    ],
)
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
