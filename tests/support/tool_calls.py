"""Make tools of a role and call them as a model does."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.policy import AgentTool, Policy, ToolContext, ToolFailedError
from prowess.agent.role import TOOL_FIELDS
from prowess.agent.tools import make_tools
from support.suites import require_backend

if TYPE_CHECKING:
    from pathlib import Path


def options_with_defaults(kind: str, **given: Any) -> dict[str, Any]:
    """Return the options of a tool type, with defaults for those that are not given."""
    for name in given:
        assert name in TOOL_FIELDS[kind]
    return {name: given.get(name, key.default) for name, key in TOOL_FIELDS[kind].items()}


def make_tool_context(folder: Path, **more: Any) -> ToolContext:
    """Return the context of a role in a folder; without a sandbox unless one is given."""
    roots = tuple(str(root) for root in more.pop("roots", (folder,)))
    policy = Policy(roots=roots, **more.pop("policy", {}))
    return ToolContext(folder=str(folder), policy=policy, **{"sandbox": "none", **more})


def tools_by_name(kind: str, about: ToolContext, **given: Any) -> dict[str, AgentTool]:
    """Return the tools of a tool type by name."""
    return {tool.name: tool for tool in make_tools(kind, options_with_defaults(kind, **given), about)}


def failure_message(tool: AgentTool, **given: Any) -> str:
    """Call a tool that fails, and return the message that the model gets."""
    with pytest.raises(ToolFailedError) as caught:
        tool.call(**given)
    assert caught.value.hint is None, "a model sees the message alone"
    return str(caught.value)


def run_as_owner(folder: Path, line: str) -> str:
    """Run a line of a shell in a folder as the owner of its repository, and return what it prints."""
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.com"), ("DATE", "2026-01-02T03:04:05Z"))
    }
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1", **who}
    command = ["/bin/sh", "-ec", line]
    return subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


def require_sandbox() -> str:
    """Return the name of a sandbox that works; see `require_backend`."""
    return require_backend("bwrap")
